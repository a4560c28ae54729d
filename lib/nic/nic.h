// SPDX-License-Identifier: BSD-3-Clause
// A software NIC for MRC on DPDK ports: memory regions, QPs and the poll-mode workers that serve them.
//
//   auto nic = Nic::create(config);                       ports are started, EAL is up
//   auto keys = (*nic)->register_memory(p, n, kAccessRemoteWrite);
//   auto qpn = (*nic)->create_qp(0, params);              then exchange QPN, first PSN, addresses, rkeys
//   (*nic)->modify_qp(*qpn, QpState::kInit, ...); ... kRtr, ... kRts
//   inline:   worker.post_send(...); worker.poll(); worker.poll_cq(...)          all on one thread
//   threaded: std::thread([&]{ worker.run(stop); }); app->post_send(...); app->poll_cq(...)
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "nic/app_queue.h"
#include "nic/capture.h"
#include "nic/config.h"
#include "nic/stats.h"

namespace mrc::nic {

struct NicCore;     // shared, immutable after create but for the region and QP tables
struct WorkerCore;  // one worker's own state

/// One poll-mode worker. Thread rule: everything here belongs to the one thread that polls it.
class Worker {
 public:
  explicit Worker(WorkerCore& core) : core_(&core) {}

  /// One iteration: posts, RX of every port, placement, control, timers, TX. Returns packets received plus
  /// sent; 0 means idle. Never blocks. One core can serve several Nics by polling them in turn.
  std::size_t poll();
  /// The same at a time of the caller's choosing (> 0, never backwards): for tests in virtual time.
  std::size_t poll_at(Time now);
  /// Polls until `stop`, obeying the idle policy; serves control calls of other threads meanwhile. Registers
  /// the thread with EAL so that mbuf caches work. The caller sets the CPU affinity.
  void run(const std::atomic<bool>& stop);

  /// Inline posting. `wr.local` is an address inside the region of `lkey`; the bytes belong to the Nic until
  /// the completion. Any length-0 request needs no key.
  PostStatus post_send(std::uint32_t qpn, std::uint32_t lkey, const transport::WorkRequest& wr);
  PostStatus post_recv(std::uint32_t qpn, const transport::RecvRequest& rr);
  /// Completions of one QP that has no AppQueue.
  std::size_t poll_cq(std::uint32_t qpn, std::span<transport::Completion> out);
  /// The QP's state machine, for looking at (tests, reports); null when the QPN is not ours.
  [[nodiscard]] const transport::Qp* qp(std::uint32_t qpn) const;
  [[nodiscard]] const WorkerStats& stats() const;
  [[nodiscard]] unsigned index() const;
  /// The earliest deadline of this worker's QPs, never() when none.
  [[nodiscard]] Time next_deadline() const;

 private:
  std::size_t iterate(Time now, bool real_time);

  WorkerCore* core_;
};

/// The NIC. Thread rule: control calls (everything but Worker) come from one thread at a time; while a worker
/// is inside run() they are carried out by that worker between two iterations and the call waits for it.
/// Without run() the caller must be the thread that polls.
class Nic {
 public:
  /// Checks the configuration against the ports; takes all memory. Ports must be started and outlive the Nic.
  static Result<std::unique_ptr<Nic>> create(const NicConfig& config);
  ~Nic();
  Nic(const Nic&) = delete;
  Nic& operator=(const Nic&) = delete;

  [[nodiscard]] const NicConfig& config() const;
  [[nodiscard]] unsigned workers() const;
  [[nodiscard]] Worker& worker(unsigned index);

  /// Memory that sends may read (lkey) and, with kAccessRemoteWrite, peers may write (rkey). The bytes stay
  /// the caller's and must outlive the registration.
  Result<MemoryKeys> register_memory(void* address, std::size_t bytes, std::uint32_t access);
  /// Returns when no worker uses the region any more. Later packets with its rkey get NAK 0x62. Refused, and
  /// nothing changes, while posted requests that have not completed read any of its bytes: they may be sent
  /// again at any time.
  Result<void> deregister_memory(const MemoryKeys& keys);

  /// Rings for one application thread; lives as long as the Nic. Capacity is posts, 1..65536.
  Result<AppQueue*> create_app_queue(unsigned worker, std::size_t capacity);

  /// A QP in RESET on `worker`; gives its QPN (worker | slot | generation, > 2). Refused when the worker's
  /// slots are full, an EV names a plane we do not have, or a limit is out of range.
  Result<std::uint32_t> create_qp(unsigned worker, const QpParams& params);
  /// What a QP of these takes of memory, found by making one; they are such as create_qp takes. Any thread.
  static std::size_t qp_bytes(const QpParams& params);
  /// transport::Qp::modify; `peer` (one per plane) goes with kAttrAv and is needed before RTR.
  Result<void> modify_qp(std::uint32_t qpn, transport::QpState to, const transport::QpAttr& attr,
                         std::uint32_t mask, std::span<const PeerPlane> peer = {});
  /// RESET -> INIT -> RTR -> RTS in one call, with everything that `attr` holds.
  Result<void> connect_qp(std::uint32_t qpn, const transport::QpAttr& attr, std::span<const PeerPlane> peer);
  /// The slot is free again under another generation: late packets to the old QPN are counted drops.
  Result<void> destroy_qp(std::uint32_t qpn);
  Result<QpSnapshot> query_qp(std::uint32_t qpn);
  Result<CcSnapshot> query_cc(std::uint32_t qpn);

  /// MODIFY_EV_STATE (5.5): DENIED takes an EV of the QP out for good, GOOD gives it back.
  Result<void> set_ev_state(std::uint32_t qpn, path::EvIndex ev, path::EvState state);
  /// Dynamic MPR (D16): how many blocks of 128 PSNs the QP's peer may have outstanding from the next SACK on,
  /// 1 to the attribute mpr_dest. Refused before RTR and without the attribute dynamic_mpr.
  Result<void> set_mpr_dest(std::uint32_t qpn, std::uint8_t blocks);
  /// Responder flow control (6.5): how full, 0 to 100 percent, is what takes in the QP's packets. Refused
  /// before RTR and without QpPolicy::receive_penalty.
  Result<void> set_receive_occupancy(std::uint32_t qpn, unsigned percent);
  /// The oldest transitions of the QP's EVs that were not read yet, at most `most` (5.6).
  Result<EvEvents> poll_ev_events(std::uint32_t qpn, std::size_t most);

  /// What the worker that asks the plane's port heard last; at first, what create() heard. Any thread.
  [[nodiscard]] bool link_up(unsigned plane) const;
  /// The same for its speed; 0 when it is down or the driver does not know.
  [[nodiscard]] double link_bps(unsigned plane) const;

  /// Our address of a plane, as the peer must write it into its PeerPlane: depends on the worker.
  [[nodiscard]] PeerPlane address(unsigned worker, unsigned plane) const;

  WorkerStats snapshot(unsigned worker);
  DriverStats driver_stats(unsigned plane);
  /// The worker's capture, for one reader thread; null when capture is off.
  [[nodiscard]] CaptureRing* capture(unsigned worker);
  /// Valid when no worker polls: after run() has returned, or inline.
  [[nodiscard]] MbufAccount mbuf_account() const;
  /// Frees what is staged or in hand-over rings and drains the RX queues; the last step before the account.
  void drain();

  /// Start-up lines for people: ports, queues, workers, steering, offloads and fallbacks, memory.
  [[nodiscard]] std::vector<std::string> describe() const;

 private:
  explicit Nic(std::unique_ptr<NicCore> core);
  std::unique_ptr<NicCore> core_;
};

}  // namespace mrc::nic
