// SPDX-License-Identifier: BSD-3-Clause
// Counters of a Nic at the two ends of a phase, and the result that their difference is.
#pragma once

#include <vector>

#include "fabric/fabric.h"
#include "nic/nic.h"
#include "phase_runner.h"
#include "report/result.h"

namespace mrc::endpoint {

struct Snapshot {
  std::vector<nic::WorkerStats> workers;
  std::vector<nic::QpSnapshot> qps;
  std::vector<nic::DriverStats> ports;       ///< by plane
  std::vector<nic::CcSnapshot> controllers;  ///< by worker
  report::Counters fabric;                   ///< of the virtual one; empty: there is none
};

/// Control thread of the Nic, and of `fabric`, which may be null.
Snapshot take_snapshot(nic::Nic& nic, const QpSet& qps, const fabric::Fabric* fabric);

/// What the session measured besides.
struct PhaseObservation {
  report::Windows goodput_windows_bps;
  double window_s = 0;
  std::vector<bool> link_up;            ///< by plane
  std::vector<std::string> port_names;  ///< by plane
  std::string no_verify_reason;
  Time since;  ///< when the counters of this phase begin
};

/// What became of EVs since the last call; the oldest `kMostEvEvents` of each phase, others are counted as
/// dropped. Control thread of the Nic.
inline constexpr std::size_t kMostEvEvents = 1024;
report::EvEvents take_ev_events(nic::Nic& nic, const QpSet& qps, Time since);

report::PhaseResult make_result(const PhaseRunner& phase, nic::Nic& nic, const QpSet& qps,
                                const Snapshot& before, const Snapshot& after, const PhaseObservation& seen);

}  // namespace mrc::endpoint
