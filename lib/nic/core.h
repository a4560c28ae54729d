// SPDX-License-Identifier: BSD-3-Clause
// Private to lib/nic: the state that the files of the datapath share. Set-up fills it (nic.cc, control.cc),
// rx.cc and tx.cc run on it, worker.cc strings them together.
#pragma once

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <array>
#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "base/spsc_ring.h"
#include "nic/app_queue.h"
#include "nic/capture.h"
#include "nic/clock.h"
#include "nic/config.h"
#include "nic/memory_table.h"
#include "nic/nic.h"
#include "nic/peers.h"
#include "nic/port_stage.h"
#include "nic/qp_home.h"
#include "nic/slot_ring.h"
#include "nic/stats.h"
#include "nic/timer_wheel.h"
#include "wire/encode.h"
#include "wire/frame.h"

namespace mrc::nic {

/// An mbuf on its way between workers, with the plane it belongs to.
struct HandOver {
  rte_mbuf* m;
  std::uint64_t plane;
};
using HandOverRing = SpscRing<HandOver>;

/// One packet of a received burst, between the passes over it.
struct Arrival {
  rte_mbuf* m;
  std::size_t plane;
  std::span<const std::uint8_t> frame;
  wire::FrameView f;
  wire::DropReason r;
  bool chained;           ///< in several segments
  std::uint32_t covered;  ///< bytes from the IP header on that `crc` covers; 0: the ICRC is not begun
  std::uint32_t crc;
};

/// Packets a receive queue may hold when its driver does not say: the largest power of two that nb_desc
/// holds.
inline constexpr std::uint32_t kDeepestRxQueue = 1U << 15;

/// One plane as one worker uses it.
struct WorkerPort {
  PortStage stage;
  std::uint16_t dpdk_port = 0;
  std::uint16_t rx_queue = 0;
  std::uint16_t tx_queue = 0;
  bool polls_rx = false;
  bool owns_tx = false;
  bool asks_link = false;
  unsigned tx_owner = 0;  ///< worker that transmits for us when we own no queue
  bool up = true;
  Time stuck_since =
      Time::never();          ///< no place for control packets was left then, and nothing has left since
  bool own_turn = false;      ///< others' packets were forwarded last: our own data first
  std::size_t next_from = 0;  ///< whose packets are forwarded first
  std::vector<std::unique_ptr<HandOverRing>>
      tx_in;  ///< by sending worker; empty unless others need our queue
  BurstFn rx_burst = nullptr;
  BurstFn tx_burst = nullptr;
  // D13: packets that arrived before `drained_at` have been seen. An empty burst proves it, or two short ones
  // in a row; else a full queue's worth of packets since `mark` does.
  Time drained_at;
  Time short_at = Time::never();  ///< the last burst was short, and this is when
  std::uint32_t rx_depth = kDeepestRxQueue;
  const rte_mempool* rx_pool = nullptr;  ///< null: not known
  Time mark;
  std::uint32_t since_mark = 0;
};

/// A control call on its way to a running worker.
struct WorkerCall {
  void (*fn)(void*) = nullptr;
  void* arg = nullptr;
  std::atomic<bool> done{false};
};

/// An application queue as its worker sees it: what could not be delivered yet.
struct AppDoor {
  explicit AppDoor(std::unique_ptr<AppQueue> q) : queue(std::move(q)) {}
  std::unique_ptr<AppQueue> queue;
  std::array<AppPost, kBurst> posts{};
  std::size_t post_at = 0;
  std::size_t posts_held = 0;
  std::array<QpCompletion, kBurst> completions{};
  std::size_t completion_at = 0;
  std::size_t completions_held = 0;
};

inline constexpr std::size_t kLinearBytes = 10240;  ///< largest frame that may arrive in several segments

struct WorkerCore {
  WorkerCore(NicCore& n, unsigned i, Time start);

  NicCore& nic;
  const unsigned index;
  std::vector<WorkerPort> ports;  ///< by plane
  std::vector<std::unique_ptr<QpHome>> slots;
  std::vector<std::uint8_t> generations;
  std::uint32_t next_slot = 0;  ///< control thread: the slot given last
  TimerWheel wheel;
  SlotRing ready;
  Time busy_since = Time::never();  ///< no port has had room for data since then
  SlotRing control;                 ///< QPs with control packets
  std::vector<std::uint32_t> dirty;
  std::vector<std::uint32_t> completion;
  std::vector<std::unique_ptr<AppDoor>> doors;
  std::list<CcGroup>
      groups;  ///< of controllers given by the application; a list, so that nothing is allocated here

  rte_mempool* payload_pool = nullptr;
  rte_mempool* control_pool = nullptr;
  std::array<rte_mbuf*, kBurst> stash{};  ///< payload mbufs taken before next_packets is asked (D1)
  std::size_t stashed = 0;
  std::array<rte_mbuf*, kBurst> control_stash{};  ///< the same for next_control
  std::size_t control_stashed = 0;

  std::vector<std::unique_ptr<HandOverRing>> rx_in;  ///< by sending worker; null for itself
  std::vector<Time> rx_in_seen;  ///< by sending worker: what its queues held before this has been taken here
  std::unique_ptr<CaptureRing> capture;
  std::unique_ptr<std::uint8_t[]> linear;  ///< kLinearBytes
  std::unique_ptr<Arrival[]> batch;        ///< kBurst
  // Between the transport and the encoder; here because building them anew costs more than filling them.
  std::array<transport::TxDesc, kBurst> data_descs{};
  std::array<transport::ControlDesc, kBurst> control_descs{};

  std::uint64_t stage_start = 0;
  std::size_t first_plane = 0;  ///< whose packet comes first in the next batch
  Time now;                     ///< the newest that was read; never goes back
  Time poll_began;              ///< or when an absence in the midst of the poll was over
  Duration gap_debt;            ///< time to be present before the next absence counts (D13)
  Time next_link_poll;
  WorkerStats stats;
  std::list<PeerLink> peer_links;
  EvProbeTable ev_probes;
  Time reports_due = Time::never();
  std::uint32_t peers_seen = 0;  ///< NicCore::peers_version whose content our QPs know

  /// What arrived at our receive queues before this is handled or handed over; for the other workers (D13).
  alignas(64) std::atomic<std::int64_t> drained_ns{0};

  // Control calls from other threads.
  alignas(64) std::mutex entry;
  bool running = false;  ///< guarded by entry
  std::atomic<WorkerCall*> mailbox{nullptr};

  [[nodiscard]] QpHome* find(std::uint32_t qpn) {
    const std::uint32_t slot = slot_of(qpn);
    if (worker_of(qpn) != index || slot >= slots.size()) return nullptr;
    QpHome* home = slots[slot].get();
    return home != nullptr && home->qpn == qpn ? home : nullptr;
  }
  /// The stage that ends here, when stages are timed.
  void end_stage(Stage stage);
  /// Something happened to the QP: its wake() is read once at the end of the batch.
  void touch(QpHome& home) {
    if (home.dirty) return;
    home.dirty = true;
    dirty.push_back(slot_of(home.qpn));
  }
};

struct NicCore {
  NicCore(const NicConfig& c);
  ~NicCore();
  NicCore(const NicCore&) = delete;
  NicCore& operator=(const NicCore&) = delete;

  const NicConfig config;
  const TscClock clock;
  wire::DecodeOptions decode;
  wire::DscpMap dscp;
  MemoryTable memory;
  std::vector<std::unique_ptr<WorkerCore>> workers;
  std::vector<Worker> faces;
  /// A stage that takes longer was interrupted: the CPU was away, and the time is not the stage's.
  const std::uint64_t preempted_ticks = rte_get_tsc_hz() / 10'000;
  std::uint64_t qps_created = 0;
  struct SharedCc {
    std::weak_ptr<cc::Qpcc> cc;
    unsigned worker;
  };
  std::vector<SharedCc> shared_ccs;  ///< which worker a given controller lives on; control thread only
  std::uint32_t id = 0;              ///< names the pools
  /// By plane, written by the worker that asks the port: control calls of a port are for one thread.
  std::array<std::atomic<bool>, kMaxPlanes> link_up;
  std::array<std::atomic<std::uint32_t>, kMaxPlanes> link_mbps{};  ///< 0: not known
  // Port status (D19), for all workers: requests and answers arrive wherever the port steers them. Seldom
  // written; the datapath only tries the lock, since what it misses is told again within a millisecond.
  std::mutex peers_entry;
  std::list<PeerEntry> peers;
  std::atomic<std::uint32_t> peers_version{0};
  std::atomic<std::uint32_t> next_request_id{0};
  static constexpr std::size_t kAnswers = 64;
  std::array<std::atomic<std::uint32_t>, kAnswers> answered{};  ///< 0x10000 | request id, by id
};

inline void WorkerCore::end_stage(Stage stage) {
  if (!nic.config.stage_timing) [[likely]]
    return;
  const std::uint64_t tsc = rte_rdtsc();
  const std::uint64_t ticks = tsc - stage_start;
  stage_start = tsc;
  if (ticks > nic.preempted_ticks) {
    ++stats.stage_preemptions;
  } else {
    stats.stage_ticks[static_cast<std::size_t>(stage)] += ticks;
  }
}

// ---- rx.cc
/// One burst from every RX queue of ours and from the hand-over rings. Returns packets taken. In real time
/// `w.now` moves on: they arrived when the last burst was over, not when the first began.
std::size_t receive_all(WorkerCore& w, bool real_time);
/// Time up to which every packet that had arrived for us, at any worker's queue, is known to have been
/// processed (D13).
Time drained_until(const WorkerCore& w);

// ---- tx.cc
/// Control packets, then data of ready QPs, then tx bursts. Returns packets the ports took.
std::size_t transmit_all(WorkerCore& w, Time now);
/// An mbuf for one control packet, or null when the pool is empty.
rte_mbuf* take_control_mbuf(WorkerCore& w);
/// Puts a finished frame on its port's stage, which has room for its kind, and shows it to the capture. The
/// mbuf itself is touched for the capture only.
void stage(WorkerCore& w, std::size_t plane, rte_mbuf* m, std::uint16_t frame_bytes, PortStage::Kind kind);

// ---- tx_encode.cc
/// One mbuf a descriptor; all are staged.
void encode_data(WorkerCore& w, QpHome& home, std::span<const transport::TxDesc> descs, rte_mbuf** mbufs);
/// False: no way to address it (SRv6 without an EV on that plane); `m` stays unused.
bool encode_control(WorkerCore& w, QpHome& home, const transport::ControlDesc& c, rte_mbuf* m);
/// Stages a control frame whose headers end at kPayloadOffset and whose trailer follows.
void stage_control(WorkerCore& w, std::size_t plane, rte_mbuf* m, std::uint32_t header_bytes,
                   std::uint32_t trailer_bytes);

// ---- deliver.cc
/// A packet whose home is here.
wire::DropReason deliver(WorkerCore& w, const Arrival& a, Time now);

// ---- endpoint_ops.cc
/// Endpoint Requests: EV probes and port status updates are answered in the control class. Endpoint Responses
/// go to whom they answer.
wire::DropReason answer_endpoint(WorkerCore& w, std::size_t plane, std::span<const std::uint8_t> frame,
                                 const wire::FrameView& view, Time now);
/// The worker that is to take a packet to our endpoint: who asked, when it is the answer to an EV Probe.
unsigned endpoint_home(const WorkerCore& w, std::span<const std::uint8_t> frame, const wire::FrameView& view);
/// ARP and neighbour solicitations. True: it was one for us, answered or counted as lost.
bool answer_neighbours(WorkerCore& w, std::size_t plane, std::span<const std::uint8_t> frame);

// ---- port_reports.cc
/// An EV of that plane that is not denied, another one each time; null: there is none.
const path::EvEntry* next_ev(PeerLink& link, std::uint8_t plane);
/// Port status of somebody we have a QP with. What cannot be noted is not to be answered, so that the peer
/// says it again (D19): another worker has the entry at this moment, or no QP with that peer is connected
/// yet.
wire::DropReason note_port_status(WorkerCore& w, std::size_t plane, std::span<const std::uint8_t> frame,
                                  const wire::FrameView& f, const wire::EndpointRequestView& request);
/// The answer of a peer to what it was told. One that is not noted comes again, for we ask again.
wire::DropReason note_port_answer(WorkerCore& w, std::size_t plane, std::span<const std::uint8_t> frame,
                                  const wire::FrameView& f, std::uint16_t request_id);
NewPeer make_peer(const PeerIps& ips, std::size_t planes);
/// A QP knows its peer: its worker tells that peer of our ports from now on, and the QP what the peer told.
void meet_peer(WorkerCore& w, QpHome& home, NewPeer& peer);
/// The QP ends, or is reset. What the worker has no QP for any more goes to `out`, to be freed by the caller.
void leave_peer(WorkerCore& w, QpHome& home, NewPeer& out);
/// A link changed: every peer is to be told.
void ports_changed(WorkerCore& w, Time now);
/// Sends what is due to be told, and tells our QPs what peers told. Cheap when there is nothing.
void run_reports(WorkerCore& w, Time now);

// ---- worker.cc
/// The clock, in the midst of an iteration.
void read_clock(WorkerCore& w);
/// Asked for each frame, so the cheapest of tests. perf/capture_bench has the datapath without it, too, to
/// tell what it costs.
inline bool is_captured([[maybe_unused]] const WorkerCore& w) {
#ifdef MRC_NIC_WITHOUT_CAPTURE
  return false;
#else
  return w.capture != nullptr;
#endif
}
/// Tells the capture; only if there is one.
void capture_frame(WorkerCore& w, Time now, std::size_t plane, bool outbound, wire::DropReason drop,
                   const rte_mbuf* m);

// ---- settle.cc
/// Reads wake() of every touched QP once: ready ring, control list, timer, completions.
void settle(WorkerCore& w);
/// Window came free, or may have: the next blocked QPs of the group get their turn.
void release_blocked(WorkerCore& w, CcGroup& group);
/// Fires what is due at `safe` (D13), and has it judged at `now`.
void run_timers(WorkerCore& w, Time safe, Time now);

// ---- doors.cc
void take_posts(WorkerCore& w);
void deliver_completions(WorkerCore& w);

// ---- links.cc
/// Before a worker runs.
void ask_all_links(NicCore& nic);
/// Every link_poll_interval: asks the ports that are ours to ask, and tells our QPs what changed at any.
void poll_links(WorkerCore& w, Time now);

/// Runs `fn(arg)` as the worker's owner: at once, or inside run() between two iterations.
void call_worker(WorkerCore& w, void (*fn)(void*), void* arg);
template <class F>
void on_worker(WorkerCore& w, F&& f) {
  call_worker(
      w, [](void* arg) { (*static_cast<std::remove_reference_t<F>*>(arg))(); }, &f);
}

}  // namespace mrc::nic
