// SPDX-License-Identifier: BSD-3-Clause
// A scenario made real: fabric, hosts, QPs, controllers, and the workload that drives them.
#pragma once

#include <cassert>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "sim/ev_tables.h"
#include "sim/rc_simulation.h"
#include "sim/scenario.h"
#include "sim/simulation.h"
#include "sim/workload.h"

namespace mrc::sim {

/// Longer than any answer or repeated question about a packet of the past (D14).
inline constexpr Duration kSettle = milliseconds(10);

struct WorldOptions {
  bool check_invariants = true;
};

/// One message of the workload: a flow, or several when it is striped over the QPs of its pair.
struct Message {
  std::uint32_t connection = 0;
  std::uint64_t bytes = 0;
  Time start;
  Time completed = Time::never();  ///< the sender knows of all parts
  bool failed = false;
  std::uint32_t parts_to_complete = 0;
  std::uint32_t parts_to_receive = 0;
};

/// One run, of MRC or of the baseline. Thread rule: one owner. Everything follows from the scenario, seed
/// included.
class World {
 public:
  /// Reads the matrix file, builds everything. Precondition: resolve_scenario passed. Errors: the workload's,
  /// what would take more than run.memory, a fabric or faults that do not fit, no EV left that is not denied.
  static Result<std::unique_ptr<World>> create(const Scenario& scenario, const WorldOptions& options = {});
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  /// To the end of the workload, run.until_us or a violation. What must hold at rest is checked then: also
  /// while probes of dead paths go on for ever, once the workload has been over for kSettle and for
  /// longer than a packet can be inside.
  RunEnd run();
  /// Whether every message of every round has ended.
  [[nodiscard]] bool done() const { return workload_.done(); }
  /// Connections of the last round that have not ended, or not even started.
  [[nodiscard]] std::size_t unfinished() const { return workload_.done() ? 0 : workload_.open(); }

  [[nodiscard]] const Scenario& scenario() const { return scenario_; }
  [[nodiscard]] const Matrix& matrix() const { return workload_.matrix(); }
  /// Whether it runs the single-path baseline: rc() then, else sim().
  [[nodiscard]] bool is_rc() const { return rc_ != nullptr; }
  [[nodiscard]] Simulation& sim() {
    assert(!is_rc());
    return *sim_;
  }
  [[nodiscard]] const Simulation& sim() const {
    assert(!is_rc());
    return *sim_;
  }
  [[nodiscard]] const RcSimulation& rc() const {
    assert(is_rc());
    return *rc_;
  }
  [[nodiscard]] const fabric::Fabric& network() const { return is_rc() ? rc_->network() : sim_->network(); }
  [[nodiscard]] std::uint64_t placed_bytes() const {
    return is_rc() ? rc_->placed_bytes() : sim_->placed_bytes();
  }
  /// Called every `turns` turns of the loop; false ends the run there.
  void on_tick(std::uint64_t turns, std::function<bool(Time)> callback);
  /// Bytes of all rounds.
  [[nodiscard]] std::uint64_t total_bytes() const { return workload_.total_bytes(); }
  /// In the order in which they were to start.
  [[nodiscard]] const std::vector<Message>& messages() const { return messages_; }
  [[nodiscard]] const std::vector<Duration>& rounds() const { return workload_.rounds(); }
  /// Where a fault of the log is.
  [[nodiscard]] const std::string& fault_text(FaultId id) const { return fault_texts_[id]; }
  /// Bytes on the wire of one message of `bytes`, every packet once, with MRC's headers.
  [[nodiscard]] std::uint64_t wire_bytes(std::uint64_t bytes) const;
  /// No run can be shorter: the busiest port's bytes at line rate, and one base RTT.
  [[nodiscard]] Duration ideal() const;
  [[nodiscard]] const cc::Qpcc* controller(std::uint32_t src, std::uint32_t dst) const;
  /// EVs denied at the start, all QPs.
  [[nodiscard]] std::uint64_t denied_evs() const { return denied_evs_; }

 private:
  struct Pair {
    std::vector<QpId> qps;
    std::size_t next = 0;
    cc::Qpcc* qpcc = nullptr;
  };

  World(const Scenario& scenario, Workload workload)
      : scenario_(scenario), workload_(std::move(workload)), evs_(scenario_) {}
  Result<void> build(const WorldOptions& options);
  Result<void> make_nscc();
  Result<void> make_pair(std::uint32_t src, std::uint32_t dst);
  Result<QpId> connect_mrc(std::uint32_t src, std::uint32_t dst, cc::Qpcc* qpcc);
  Result<QpId> connect_rc(std::uint32_t src, std::uint32_t dst, std::uint32_t number);
  cc::Qpcc* make_controller(bool sends);
  Result<void> deny_dead_paths();
  void start(std::uint32_t connection, Time at);
  void on_received(const Flow& flow);
  void on_complete(const Flow& flow);
  [[nodiscard]] Time now() const { return is_rc() ? rc_->now() : sim_->now(); }

  Scenario scenario_;
  Workload workload_;
  EvTables evs_;
  std::deque<cc::Qpcc> controllers_;  ///< addresses stay; they outlive the QPs, which leave them at their end
  std::unique_ptr<Simulation> sim_;
  std::unique_ptr<RcSimulation> rc_;
  cc::NsccParams nscc_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Pair> pairs_;
  std::vector<Message> messages_;
  std::vector<std::uint32_t> message_of_flow_;
  std::vector<std::string> fault_texts_;
  std::uint64_t denied_evs_ = 0;
};

}  // namespace mrc::sim
