// SPDX-License-Identifier: BSD-3-Clause
// From the faults of a scenario to the changes of a fabric.
#pragma once

#include <string>
#include <vector>

#include "fabric/change.h"
#include "fabric/topology.h"
#include "path/ev_table.h"
#include "sim/scenario.h"

namespace mrc::sim {

/// When faults begin and what they are, in order of time.
struct FaultPlan {
  std::vector<fabric::ScheduledChange> schedule;
  struct Begin {
    Time at;
    std::uint32_t label = 0;
  };
  std::vector<Begin> begins;
  std::vector<std::string> texts;  ///< by label
};

/// Draws the random places. Errors: a place that the topology does not have.
Result<FaultPlan> plan_faults(const Scenario& scenario, const fabric::Topology& topology,
                              const path::EvTable& evs);

/// Link number k of the uplinks of a tier, switch after switch; kNil when there are fewer.
fabric::LinkId uplink_of(const fabric::Topology& topology, std::uint32_t plane, std::uint32_t tier,
                         std::uint32_t index, std::uint32_t uplink, std::uint32_t k);
/// The other direction of the cable: builders put it right behind (topology.h).
fabric::LinkId reverse_link(const fabric::Topology& topology, fabric::LinkId id);

}  // namespace mrc::sim
