// SPDX-License-Identifier: BSD-3-Clause
// From a scenario to the fabric it runs on: topology, queues, marks, forwarding.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/result.h"
#include "fabric/fabric.h"
#include "fabric/usid.h"
#include "sim/scenario.h"

namespace mrc::sim {

/// Switches and links of a scenario, slow ones included; with uSIDs when its EVs are SRv6. Errors: a shape
/// that does not divide, or more switches than the uSID plan has numbers.
Result<fabric::Topology> make_topology(const Scenario& scenario);
/// The uSID plan of a scenario.
fabric::UsidPlan usid_plan(const Scenario& scenario);
/// How many links that topology will have.
std::uint64_t links_of(const Scenario& scenario);
/// A fabric with room for so many packets. Errors: as Fabric::create.
Result<std::unique_ptr<fabric::Fabric>> make_fabric(const Scenario& scenario, fabric::Topology topology,
                                                    std::vector<fabric::ScheduledChange> schedule,
                                                    std::uint32_t max_packets);

}  // namespace mrc::sim
