// SPDX-License-Identifier: BSD-3-Clause
// From the faults of a scenario to the changes of a fabric.
#pragma once

#include <string>
#include <vector>

#include "fabric/change.h"
#include "fabric/topology.h"
#include "path/ev_table.h"
#include "sim/fault_log.h"
#include "sim/scenario.h"

namespace mrc::sim {

/// What breaks and when, and the log that books losses to it.
struct FaultPlan {
  std::vector<fabric::ScheduledChange> schedule;
  FaultLog log;
  std::vector<std::string> texts;  ///< where, by FaultId
};

/// Beginnings of faults of a run times the links that each touches.
inline constexpr std::size_t kMaxFaultSpans = 1U << 20;

/// Draws random places and times, joins what meets on a link. Errors: a place that the topology does not
/// have, more places drawn than there are, kMaxFaultSpans, fabric::kMaxEvRules.
Result<FaultPlan> plan_faults(const Scenario& scenario, const fabric::Topology& topology,
                              const path::EvTable& evs);

/// Link number k of the uplinks of a tier, switch after switch; kNil when there are fewer.
fabric::LinkId uplink_of(const fabric::Topology& topology, std::uint32_t plane, std::uint32_t tier,
                         std::uint32_t index, std::uint32_t uplink, std::uint32_t k);
/// The other direction of the cable: builders put it right behind (topology.h).
fabric::LinkId reverse_link(const fabric::Topology& topology, fabric::LinkId id);

}  // namespace mrc::sim
