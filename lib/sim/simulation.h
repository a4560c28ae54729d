// SPDX-License-Identifier: BSD-3-Clause
// Virtual time: hosts made of lib/transport around a network made of lib/fabric. The same seed gives the same
// run.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "cc/qpcc.h"
#include "fabric/fabric.h"
#include "sim/flow.h"
#include "sim/size_model.h"
#include "sim/timer_heap.h"
#include "sim/token.h"
#include "transport/port_status.h"
#include "transport/qp.h"

namespace mrc::sim {

using fabric::HostId;
using QpId = std::uint32_t;

/// One end of a connection. `ev_order` of the table is what both ends reflect with.
struct QpSetup {
  transport::QpLimits limits;
  transport::QpPolicy policy;
  transport::QpAttr attr;  ///< dest_qpn is filled in
  std::shared_ptr<const path::EvTable> evs;
  cc::Qpcc* qpcc = nullptr;  ///< shared by the QPs to one destination; outlives the run
};

struct SimOptions {
  std::uint64_t seed = 1;
  SizeModel sizes = SizeModel::real(false);
  bool check_invariants = true;
  bool port_status = true;  ///< hosts tell each other when a port of theirs goes down or up (D19)
};

/// What ended a run.
struct RunEnd {
  Time at;
  bool quiet = false;     ///< nothing left to do
  std::string violation;  ///< empty, or the invariant that broke; the run stopped there
};

/// Counters of the hosts; the fabric and each QP have their own.
struct SimCounters {
  std::uint64_t data_sent = 0;
  std::uint64_t control_sent = 0;
  std::uint64_t delivered = 0;
  std::uint64_t corrupt_dropped = 0;  ///< what a failing ICRC keeps from the transport
};

/// A run. Thread rule: one owner. Completion order, drops and choices depend on the seed alone.
class Simulation {
 public:
  Simulation(std::unique_ptr<fabric::Fabric> fabric, const SimOptions& options);
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  /// Two QPs in RTS that know each other; returns the one at `a`, the other is peer_of() it.
  Result<QpId> connect(HostId a, const QpSetup& at_a, HostId b, const QpSetup& at_b);
  [[nodiscard]] QpId peer_of(QpId qp) const { return qps_[qp]->peer; }

  /// A message of `bytes` from `qp` to its peer at `at`; it waits for room in the send queue if need be.
  FlowId send(QpId qp, std::uint64_t bytes, Time at, bool with_immediate = false);
  /// Called at the sender's completion of a flow; may send more.
  void on_flow_complete(std::function<void(const Flow&)> callback) { flow_complete_ = std::move(callback); }

  /// Called with every packet that left the fabric, delivered or dropped, before the transport sees it.
  using Watch = std::function<void(const fabric::Outcome&, const Token&)>;
  void on_outcome(Watch callback) { outcome_ = std::move(callback); }
  /// Called when a host accepts a packet of a Write and its payload is in place.
  using Placed = std::function<void(const transport::TxDesc&, Time)>;
  void on_placed(Placed callback) { placed_ = std::move(callback); }

  /// Runs until nothing is left to do, `until`, or a violation.
  RunEnd run(Time until);

  [[nodiscard]] Time now() const { return now_; }
  [[nodiscard]] fabric::Fabric& network() { return *fabric_; }
  [[nodiscard]] const transport::Qp& qp(QpId id) const { return *qps_[id]->qp; }
  [[nodiscard]] transport::Qp& qp(QpId id) { return *qps_[id]->qp; }
  [[nodiscard]] std::size_t qps() const { return qps_.size(); }
  [[nodiscard]] HostId host_of(QpId id) const { return qps_[id]->host; }
  [[nodiscard]] const std::vector<Flow>& flows() const { return flows_; }
  [[nodiscard]] const SimCounters& counters() const { return counters_; }
  [[nodiscard]] std::uint64_t sent_on(QpId id, path::EvIndex ev) const { return qps_[id]->sent_by_ev[ev]; }

 private:
  struct Node {
    std::unique_ptr<transport::Qp> qp;
    cc::Qpcc* qpcc = nullptr;
    std::shared_ptr<const path::EvTable> evs;
    HostId host = 0;
    QpId peer = 0;
    std::uint32_t flow_hash = 0;
    Time armed = Time::never();  ///< when its entry in the heap is due
    bool in_tx = false;
    bool in_control = false;
    std::deque<FlowId> waiting;  ///< flows that the send queue has no room for
    std::vector<std::uint64_t> sent_by_ev;
    std::vector<FlowId> posted;  ///< by wr_id order; the oldest incomplete first
    std::size_t next_complete = 0;
  };
  /// What a host keeps of each host it has QPs with: port status both ways (D19).
  struct Peer {
    HostId host = 0;
    QpId via = 0;  ///< a QP to it: its EVs carry what belongs to no QP
    transport::PortReport report;
    transport::PeerPorts ports;
    std::deque<std::pair<std::uint8_t, wire::EndpointResponseView>>
        answers;  ///< and the planes they go back on
  };
  struct Host {
    std::deque<QpId> tx;       ///< QPs that may have packets, round robin
    std::deque<QpId> control;  ///< QPs with control packets
    Time armed = Time::never();
    bool dirty = false;
    std::uint32_t ports_up = 0;
    std::vector<Peer> peers;
    std::uint16_t next_request_id = 0;
  };

  void deliver(const fabric::Outcome& outcome);
  void deliver_data(Node& node, const Token& token, const wire::RxMeta& meta);
  void deliver_endpoint(Node& node, const transport::ControlDesc& d, const wire::RxMeta& meta);
  void add_peer(HostId host, HostId peer, QpId via);
  void report_ports(HostId host);
  bool pump_endpoint(HostId host, transport::PortCredits& credits);
  void send_endpoint(const Peer& peer, std::uint8_t plane, const transport::ControlDesc& d);
  [[nodiscard]] static Time endpoint_deadline(const Host& host);
  static void deliver_control(Node& node, const transport::ControlDesc& d, const wire::RxMeta& meta);
  void after_events(QpId id);
  void start_flow(FlowId id);
  void post_waiting(QpId id);
  void collect_completions(QpId id);
  void mark_dirty(HostId host);
  void pump(HostId host);
  bool pump_control(HostId host, transport::PortCredits& credits);
  bool pump_data(HostId host, transport::PortCredits& credits);
  [[nodiscard]] transport::PortCredits free_ports(HostId host) const;
  void watch_ports();
  void inject(QpId from, path::EvIndex ev, std::uint32_t entropy, std::uint8_t port, TokenId token,
              fabric::Packet view);
  void on_time(std::uint32_t target);
  void violate(const std::string& what);
  void check(QpId id);

  std::unique_ptr<fabric::Fabric> fabric_;
  SimOptions options_;
  std::vector<std::unique_ptr<Node>> qps_;
  std::vector<Host> hosts_;
  std::vector<Flow> flows_;
  std::vector<HostId> dirty_;
  TokenPool tokens_;
  TimerHeap timers_;
  std::function<void(const Flow&)> flow_complete_;
  Watch outcome_;
  Placed placed_;
  SimCounters counters_;
  Time now_{1};
  std::string violation_;
};

}  // namespace mrc::sim
