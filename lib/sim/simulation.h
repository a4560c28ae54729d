// SPDX-License-Identifier: BSD-3-Clause
// Virtual time: hosts made of lib/transport around a network made of lib/fabric. The same seed gives the same
// run.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "cc/qpcc.h"
#include "fabric/fabric.h"
#include "sim/fault_log.h"
#include "sim/flow.h"
#include "sim/outstanding.h"
#include "sim/profile.h"
#include "sim/queue_depths.h"
#include "sim/run_stats.h"
#include "sim/sack_truth.h"
#include "sim/size_model.h"
#include "sim/timer_heap.h"
#include "sim/token.h"
#include "sim/trace.h"
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

/// What a host answers a packet of a Write that arrives, and when its payload will be in memory. Hosts are
/// never short of anything unless a model says so.
struct Intake {
  transport::Access access = transport::Access::kOk;
  Duration to_memory;  ///< 0: at once
  bool fails = false;  ///< the placement fails: NAK 0x63 when its turn comes (D17)
};

struct SimOptions {
  std::uint64_t seed = 1;
  SizeModel sizes = SizeModel::real();
  bool check_invariants = true;
  Duration sample_interval = microseconds(1);  ///< of queue depths; 0: none
  Duration series_step = microseconds(10);
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
  std::uint64_t refused = 0;  ///< by the host's port: the packet is lost there
  std::uint64_t delivered = 0;
  std::uint64_t trimmed_opcode =
      0;  ///< of those delivered: trimmed and no Write, which no host has a use for
  std::uint64_t corrupt_dropped = 0;  ///< what a failing ICRC keeps from the transport
  std::uint64_t dropped = 0;          ///< outcomes of packets that ended inside the fabric
  std::uint64_t condemned = 0;        ///< EVs that went to ASSUMED_BAD
  std::uint64_t evs_hit = 0;          ///< EVs of QPs on which a fault swallowed data
  std::uint64_t false_condemned = 0;  ///< of those, no packet of the QP was lost to a fault on the EV
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
  /// Called when the receiver has all bytes of a flow; may send more.
  void on_flow_received(std::function<void(const Flow&)> callback) { flow_received_ = std::move(callback); }
  /// Called with every packet that left the fabric, delivered or dropped, before the transport sees it.
  using Watch = std::function<void(const fabric::Outcome&, const Token&)>;
  void on_outcome(Watch callback) { outcome_ = std::move(callback); }
  /// Called when a host accepts a packet of a Write and its payload is in place.
  using Placed = std::function<void(const transport::TxDesc&, Time)>;
  void on_placed(Placed callback) { placed_ = std::move(callback); }
  /// Asked for every packet of a Write that arrives at `to`.
  using IntakeModel = std::function<Intake(QpId to, const transport::TxDesc&)>;
  void on_intake(IntakeModel model) { intake_ = std::move(model); }
  /// Called with every change of state of an EV that EvSetConfig::report_skips lets through.
  using EvWatch = std::function<void(QpId, const path::EvSet::Event&)>;
  void on_ev_event(EvWatch callback) { ev_event_ = std::move(callback); }
  /// A SACK that the peer of `to` did not send arrives there.
  void forge_sack(QpId to, const wire::SackView& sack, const wire::RxMeta& meta);
  /// Called for every packet that is sent, delivered or dropped.
  void on_trace(std::function<void(const TraceEvent&)> callback) { trace_ = std::move(callback); }
  /// Tells `profile` what the run is at; it outlives the run.
  void set_profile(Profile* profile) { profile_ = profile; }
  /// Called every `events` turns of the loop; false ends the run there.
  void on_tick(std::uint64_t turns, std::function<bool(Time)> callback);
  /// Called when time has come to `first`, with the state that stands then, and again at each time it
  /// returns.
  void on_look(Time first, std::function<Time(Time)> callback);
  /// Who answers for what is lost in silence.
  void set_faults(FaultLog faults) { faults_ = std::move(faults); }

  /// Runs until nothing is left to do, `until`, or a violation.
  RunEnd run(Time until);
  /// What must hold when the run is over: everything completed, nothing charged, nothing inside, nothing
  /// lost. Empty when it does. Not `quiet`: only probes of dead paths and their answers may still fly.
  [[nodiscard]] std::string check_at_rest(bool quiet = true) const;

  [[nodiscard]] Time now() const { return now_; }
  [[nodiscard]] fabric::Fabric& network() { return *fabric_; }
  [[nodiscard]] const fabric::Fabric& network() const { return *fabric_; }
  [[nodiscard]] const transport::Qp& qp(QpId id) const { return *qps_[id]->qp; }
  [[nodiscard]] transport::Qp& qp(QpId id) { return *qps_[id]->qp; }
  [[nodiscard]] std::size_t qps() const { return qps_.size(); }
  [[nodiscard]] HostId host_of(QpId id) const { return qps_[id]->host; }
  [[nodiscard]] const path::EvTable& evs_of(QpId id) const { return *qps_[id]->evs; }
  [[nodiscard]] const std::vector<Flow>& flows() const { return flows_; }
  [[nodiscard]] std::size_t open_flows() const { return open_flows_; }
  [[nodiscard]] const SimCounters& counters() const { return counters_; }
  [[nodiscard]] std::uint64_t sent_on(QpId id, path::EvIndex ev) const { return qps_[id]->sent_by_ev[ev]; }
  [[nodiscard]] std::uint64_t placed_bytes() const { return placed_bytes_; }
  [[nodiscard]] const QueueDepths& depths() const { return depths_; }
  [[nodiscard]] QueueClass class_of(fabric::LinkId id) const { return depths_.class_of(id); }
  [[nodiscard]] const Series& series() const { return series_; }
  [[nodiscard]] const FaultLog& faults() const { return faults_; }
  /// What a packet of `qp` on `ev` looks like to the fabric, for Fabric::path_of.
  [[nodiscard]] fabric::Packet view_of(QpId id, path::EvIndex ev) const;

 private:
  /// What the checks remember of a QP; the models are made with the first packet that they judge.
  struct Checks {
    std::unique_ptr<Outstanding> sent;
    std::unique_ptr<SackTruth> accepted;
    std::uint64_t fallbacks = 0;  ///< counters of the QP as they were seen last
    std::uint64_t tail_repeats = 0;
    std::uint64_t skip_marks = 0;
    std::uint64_t skips_restored = 0;
    std::uint64_t planes_down = 0;
  };
  struct Node {
    std::unique_ptr<transport::Qp> qp;
    cc::Qpcc* qpcc = nullptr;
    std::shared_ptr<const path::EvTable> evs;
    HostId host = 0;
    QpId peer = 0;
    std::uint32_t group = 0;  ///< QPs that share the controller
    std::uint32_t flow_hash = 0;
    Time armed = Time::never();  ///< when its entry in the heap is due
    bool in_tx = false;
    bool in_control = false;
    std::uint64_t condemned_seen = 0;
    Checks checks;
    std::uint32_t peer_index = 0;  ///< of its peer's host in Host::peers
    std::deque<FlowId> waiting;    ///< flows that the send queue has no room for, or that have no receive yet
    std::deque<FlowId> unposted;   ///< flows to it whose receives its queue has no room for
    std::deque<FlowId> expected;   ///< posted, in the order in which they must complete
    std::uint32_t receives = 0;    ///< posted and not completed
    std::deque<FlowId> immediates;  ///< of these WriteIMMs, in the order in which the peer must deliver them
    std::vector<std::uint64_t> sent_by_ev;
    std::vector<std::uint32_t> fault_losses;  ///< by EV, since its last verdict
    std::vector<std::uint8_t> hit;            ///< by EV: a data packet was lost to a fault on it
  };
  /// To an Endpoint Request: goes back as the request came.
  struct EndpointAnswer {
    wire::EndpointResponseView response;
    QpId via = 0;  ///< where the request arrived: its peer asked
    std::uint8_t plane = 0;
    std::uint32_t entropy = 0;  ///< of the request
  };
  /// What a host keeps of each host it has QPs with: port status both ways (D19).
  struct Peer {
    HostId host = 0;
    QpId via = 0;  ///< a QP to it: its EVs carry what belongs to no QP
    transport::PortReport report;
    transport::PeerPorts ports;
    std::deque<EndpointAnswer> answers;
  };
  struct Host {
    std::deque<QpId> tx;       ///< QPs that may have packets, round robin
    std::deque<QpId> control;  ///< QPs with control packets
    std::vector<QpId> qps;
    Time armed = Time::never();
    bool dirty = false;
    std::uint32_t ports_up = 0;
    std::vector<Peer> peers;
    std::uint16_t next_request_id = 0;
  };
  struct Group {
    const cc::Qpcc* qpcc = nullptr;
    std::vector<QpId> members;
  };
  struct Placement {
    QpId to = 0;
    bool fails = false;
    transport::TxDesc desc;
    wire::RxMeta meta;
    std::uint64_t payload_word = 0;
  };

  template <class Function>
  auto in(Stage stage, Function&& f) {
    const InStage now_in(profile_, stage);
    return f();
  }

  // simulation.cc: the loop, arrivals, flows
  void deliver(const fabric::Outcome& outcome);
  void deliver_data(QpId id, const Token& token, const wire::RxMeta& meta);
  void deliver_control(Node& node, const Token& token, const wire::RxMeta& meta);
  void place(QpId id, const transport::TxDesc& d, const wire::RxMeta& meta, std::uint64_t payload_word);
  void place_later(const Placement& placement, Duration wait);
  void placement_done(std::uint32_t index);
  void check_delivered(QpId receiver, const transport::Completion& done);
  void start_flow(FlowId id);
  bool post_receives(QpId id);
  void post_waiting(QpId id);
  void collect_completions(QpId id);
  void on_time(std::uint32_t target);
  void violate(const std::string& what);

  // simulation_hosts.cc: sending, ports
  void after_events(QpId id);
  void enlist(QpId id, Node& node);
  void mark_dirty(HostId host);
  void pump(HostId host);
  bool pump_control(HostId host, transport::PortCredits& credits);
  bool pump_data(HostId host, transport::PortCredits& credits);
  [[nodiscard]] transport::PortCredits free_ports(HostId host) const;
  void watch_ports();
  static void aim(fabric::Packet& view, const path::EvTable& evs, path::EvIndex ev);
  void inject(QpId from, path::EvIndex ev, std::uint32_t entropy, std::uint8_t port, TokenId token,
              fabric::Packet view);

  // simulation_endpoint.cc
  void deliver_endpoint(QpId id, const transport::ControlDesc& d, const wire::RxMeta& meta);
  void add_peer(HostId host, QpId via);
  void report_ports(HostId host);
  bool pump_endpoint(HostId host, transport::PortCredits& credits);
  void send_endpoint(QpId via, path::EvIndex ev, std::uint32_t entropy, std::uint8_t plane,
                     const transport::ControlDesc& d);
  [[nodiscard]] static Time endpoint_deadline(const Host& host);

  // simulation_watch.cc: what is measured
  void note_drop(const fabric::Outcome& outcome, const Token& token);
  void note_verdicts(QpId id, Node& node);
  void look(Time until);
  void trace(TraceEvent::What what, const fabric::Packet& packet, const Token& token,
             fabric::DropReason reason = fabric::DropReason::kNone);

  // simulation_check.cc: what must hold
  void check(QpId id, Node& node);
  void check_sender(QpId id, Node& node);
  void check_alive(QpId id, const Node& node);
  void check_sent(QpId id, Node& node, const transport::TxDesc& d);
  void check_ev_of(QpId id, Node& node, const transport::TxDesc& d);
  void check_again(QpId id, Node& node, const transport::TxDesc& d);
  static SackTruth& accepted_by(Node& node);
  void check_sack(QpId id, Node& node, const wire::SackView& sack);
  void check_event(QpId id, const Node& node, const path::EvSet::Event& event);
  void check_probes(QpId id, const Node& node);
  void check_conservation();
  [[nodiscard]] std::string text_of(QpId id) const;

  std::unique_ptr<fabric::Fabric> fabric_;
  SimOptions options_;
  std::vector<std::unique_ptr<Node>> qps_;
  std::vector<Host> hosts_;
  std::vector<Group> groups_;
  std::unordered_map<const cc::Qpcc*, std::uint32_t> group_of_;
  std::vector<Flow> flows_;
  std::size_t open_flows_ = 0;
  std::vector<HostId> dirty_;
  std::vector<HostId> pumping_;
  TokenPool tokens_;
  TimerHeap timers_;
  std::function<void(const Flow&)> flow_complete_;
  std::function<void(const Flow&)> flow_received_;
  Watch outcome_;
  Placed placed_;
  IntakeModel intake_;
  EvWatch ev_event_;
  std::vector<Placement> placements_;  ///< payloads on their way to memory
  std::vector<std::uint32_t> free_placements_;
  std::function<void(const TraceEvent&)> trace_;
  Profile* profile_ = nullptr;
  std::function<bool(Time)> tick_;
  std::uint64_t tick_turns_ = 0;
  std::uint64_t turns_ = 0;
  SimCounters counters_;
  std::uint64_t placed_bytes_ = 0;
  std::uint64_t port_changes_seen_ = ~std::uint64_t{0};
  QueueDepths depths_;
  Time next_look_ = Time::never();
  std::function<Time(Time)> look_;
  Series series_;
  FaultLog faults_;
  Duration least_rtt_ = Duration{std::numeric_limits<std::int64_t>::max()};  ///< no answer is faster
  Time now_{1};
  std::string violation_;
};

}  // namespace mrc::sim
