// SPDX-License-Identifier: BSD-3-Clause
// Looks at every packet of a run and at the states of EVs and planes: judges what the invariants of lib/sim
// leave open, and counts the transitions.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "coverage.h"
#include "scenario.h"

namespace mrc::fault {

/// One run's. Hooks itself into the simulation's trace and EV events.
class Watch {
 public:
  /// `trace`: every packet to stdout.
  Watch(const Scenario& scenario, sim::Simulation& sim, bool trace);
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  /// Every few turns of the loop: planes in and out of service.
  void look();
  [[nodiscard]] const std::string& failure() const { return failure_; }
  void count(Coverage& out) const;

 private:
  enum class Plane : std::uint8_t { kUp, kSilent, kOwnPort, kPeersPort };
  struct Sender {
    std::vector<sim::FlowId> immediates;  ///< WriteIMMs begun and not completed
    std::array<Plane, kMaxPlanes> planes{};
    Time first_data = Time::never();
    Time last_data;
  };

  void on_trace(const sim::TraceEvent& e);
  void on_delivered(const sim::TraceEvent& e);
  void on_data_sent(sim::QpId id, const transport::TxDesc& d);
  void check_limit(sim::QpId id, const transport::TxDesc& d);
  void on_ev_event(sim::QpId id, const path::EvSet::Event& e);
  [[nodiscard]] Plane state_of(sim::QpId id, std::uint8_t plane) const;
  void violate(sim::QpId id, const std::string& what);

  const Scenario& s_;
  const bool trace_;
  sim::Simulation& sim_;
  Rng rng_;
  std::vector<Sender> senders_;
  std::array<std::array<std::array<std::uint64_t, 16>, 4>, 4> ev_transitions_{};  ///< from, to, cause
  std::array<std::array<std::uint64_t, 4>, 4> plane_transitions_{};
  std::string failure_;
};

}  // namespace mrc::fault
