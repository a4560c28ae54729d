// SPDX-License-Identifier: BSD-3-Clause
// Virtual time for the single-path baseline: the same fabric, workloads and flows as Simulation, with RC
// senders and receivers at the hosts. The same seed gives the same run.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "fabric/fabric.h"
#include "sim/queue_depths.h"
#include "sim/rc_receiver.h"
#include "sim/rc_sender.h"
#include "sim/simulation.h"
#include "sim/timer_heap.h"

namespace mrc::sim {

/// One RC connection. Its one path: plane and UDP source port; unset, both follow from the seed, as a RoCE
/// stack hashes its QP numbers.
struct RcSetup {
  RcConfig config;
  std::optional<std::uint8_t> plane;
  std::optional<std::uint16_t> sport;
};

struct RcSimOptions {
  std::uint64_t seed = 1;
  SizeModel sizes = SizeModel::real();
  Duration sample_interval{};  ///< of queue depths; 0: none
  Duration series_step = microseconds(10);
};

/// A run; the shape of Simulation, so that a scenario may have either. One owner.
class RcSimulation {
 public:
  RcSimulation(std::unique_ptr<fabric::Fabric> fabric, const RcSimOptions& options);

  /// A connection that sends from `a` to `b`.
  Result<QpId> connect(HostId a, HostId b, const RcSetup& setup);
  /// A message from the connection's sender at `at`.
  FlowId send(QpId qp, std::uint64_t bytes, Time at);
  /// Called at the sender's completion of a flow; may send more.
  void on_flow_complete(std::function<void(const Flow&)> callback) { flow_complete_ = std::move(callback); }
  /// Called when the receiver has all bytes of a flow; may send more.
  void on_flow_received(std::function<void(const Flow&)> callback) { flow_received_ = std::move(callback); }

  /// Called every `events` turns of the loop; false ends the run there.
  void on_tick(std::uint64_t turns, std::function<bool(Time)> callback);
  /// Who answers for what is lost in silence.
  void set_faults(FaultLog faults) { faults_ = std::move(faults); }

  /// Runs until nothing is left to do, `until`, or a violation.
  RunEnd run(Time until);
  /// What must hold when the run is over: every flow ended, nothing inside, nothing lost. Empty when it does.
  [[nodiscard]] std::string check_at_rest() const;

  [[nodiscard]] Time now() const { return now_; }
  [[nodiscard]] fabric::Fabric& network() { return *fabric_; }
  [[nodiscard]] const fabric::Fabric& network() const { return *fabric_; }
  /// Of the hosts; what MRC alone has is 0.
  [[nodiscard]] const SimCounters& counters() const { return counters_; }
  [[nodiscard]] std::uint64_t placed_bytes() const { return placed_bytes_; }
  [[nodiscard]] const QueueDepths& depths() const { return depths_; }
  [[nodiscard]] const Series& series() const { return series_; }
  [[nodiscard]] const FaultLog& faults() const { return faults_; }
  [[nodiscard]] const std::vector<Flow>& flows() const { return flows_; }
  [[nodiscard]] std::size_t qps() const { return qps_.size(); }
  [[nodiscard]] RcSender& sender(QpId id) { return qps_[id].sender; }
  [[nodiscard]] const RcReceiver& receiver(QpId id) const { return qps_[id].receiver; }
  [[nodiscard]] HostId host_of(QpId id) const { return qps_[id].src; }
  [[nodiscard]] std::uint8_t plane_of(QpId id) const { return qps_[id].plane; }
  /// Both halves of all connections.
  [[nodiscard]] RcCounters total() const;

 private:
  struct Connection {
    RcSender sender;
    RcReceiver receiver;
    HostId src = 0;
    HostId dst = 0;
    std::uint8_t plane = 0;
    std::uint16_t sport = 0;
    std::uint32_t flow_hash = 0;
    Time armed = Time::never();
    bool in_tx = false;
    bool in_control = false;
  };
  struct Port {
    std::deque<QpId> tx;
    std::deque<QpId> control;
    Time armed = Time::never();
    bool dirty = false;
    bool stalled = false;  ///< wants to send, is down
  };
  struct Token {
    QpId qp = 0;
    Time sent;
    RcPacket packet;
  };

  [[nodiscard]] std::uint32_t port_id(HostId host, std::uint8_t plane) const {
    return host * fabric_->topology().planes + plane;
  }
  void deliver(const fabric::Outcome& outcome);
  void note_loss(const Token& token, const fabric::Outcome& outcome);
  [[nodiscard]] bool conserves() const;
  void place(QpId id, const RcPacket& p);
  void after_events(QpId id);
  void wake_stalled();
  void mark_dirty(std::uint32_t port);
  void pump(std::uint32_t port);
  bool pump_control(Port& port);
  bool pump_data(Port& port);
  void inject(QpId id, bool from_receiver, const RcPacket& packet);
  void on_time(std::uint32_t target);
  void violate(const std::string& what);

  std::unique_ptr<fabric::Fabric> fabric_;
  RcSimOptions options_;
  std::vector<Connection> qps_;
  std::vector<Port> ports_;
  std::vector<Flow> flows_;
  std::vector<std::uint32_t> dirty_;
  std::vector<std::uint32_t> stalled_;
  std::vector<Token> tokens_;
  std::vector<std::uint32_t> free_tokens_;
  TimerHeap timers_;
  std::function<void(const Flow&)> flow_complete_;
  std::function<void(const Flow&)> flow_received_;
  std::function<bool(Time)> tick_;
  std::uint64_t tick_turns_ = 0;
  std::uint64_t turns_ = 0;
  SimCounters counters_;
  std::uint64_t placed_bytes_ = 0;
  std::size_t open_flows_ = 0;
  QueueDepths depths_;
  Series series_;
  FaultLog faults_;
  Time now_{1};
  std::string violation_;
};

}  // namespace mrc::sim
