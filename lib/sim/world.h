// SPDX-License-Identifier: BSD-3-Clause
// A scenario made real: fabric, hosts, QPs, controllers, and the workload that drives them.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "sim/matrix.h"
#include "sim/scenario.h"
#include "sim/simulation.h"

namespace mrc::sim {

struct WorldOptions {
  bool check_invariants = true;
};

/// One run. Thread rule: one owner. Everything follows from the scenario, seed included.
class World {
 public:
  /// Reads the matrix file, builds everything. Precondition: resolve_scenario passed.
  static Result<std::unique_ptr<World>> create(const Scenario& scenario, const WorldOptions& options = {});
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  /// To the end of the workload, run.until_us or a violation; what must hold at rest is checked then.
  RunEnd run();

  [[nodiscard]] const Scenario& scenario() const { return scenario_; }
  [[nodiscard]] const Matrix& matrix() const { return matrix_; }
  [[nodiscard]] Simulation& sim() { return *sim_; }
  [[nodiscard]] const Simulation& sim() const { return *sim_; }
  /// Bytes of all rounds.
  [[nodiscard]] std::uint64_t total_bytes() const {
    return matrix_.total_bytes() * scenario_.workload.rounds;
  }
  /// The connection of a flow, and how long each finished round took.
  [[nodiscard]] const Connection& connection_of(FlowId flow) const {
    return matrix_.connections[flow_connection_[flow]];
  }
  [[nodiscard]] const std::vector<Duration>& rounds() const { return rounds_; }
  /// What a fault's label (FaultRecord) says.
  [[nodiscard]] const std::string& fault_text(std::uint32_t label) const { return fault_texts_[label]; }
  /// Bytes on the wire of one message of `bytes`, every packet once.
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
  struct TriggerState {
    Trigger trigger;
    std::uint32_t counted = 0;
    bool fired = false;
    std::vector<std::uint32_t> starts;  ///< connections
  };

  explicit World(const Scenario& scenario) : scenario_(scenario) {}
  Result<void> build(const WorldOptions& options);
  Result<void> make_matrix();
  Result<void> make_fabric(const WorldOptions& options);
  Result<void> make_evs();
  Result<void> make_nscc();
  Result<Pair*> pair_of(std::uint32_t src, std::uint32_t dst);
  cc::Qpcc* make_controller(bool sends);
  void deny_dead_paths();
  void start_round();
  void start(std::uint32_t connection, Time at);
  void count(std::uint32_t trigger);
  void on_complete(const Flow& flow);

  Scenario scenario_;
  Matrix matrix_;
  std::unique_ptr<Simulation> sim_;
  std::shared_ptr<const path::EvTable> evs_;
  cc::NsccParams nscc_;
  std::deque<cc::Qpcc> controllers_;  ///< addresses stay
  std::map<std::pair<std::uint32_t, std::uint32_t>, Pair> pairs_;
  std::map<std::uint32_t, TriggerState> triggers_;
  std::vector<std::uint32_t> flow_connection_;
  std::vector<Duration> rounds_;
  std::vector<std::string> fault_texts_;
  Time round_start_;
  std::uint32_t rounds_started_ = 0;
  std::size_t open_ = 0;  ///< connections of this round not completed
  std::uint64_t denied_evs_ = 0;
};

}  // namespace mrc::sim
