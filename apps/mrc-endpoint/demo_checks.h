// SPDX-License-Identifier: BSD-3-Clause
// From counters to the numbers and verdicts of the demo.
#pragma once

#include "demo.h"
#include "demo_world.h"

namespace mrc::endpoint {

/// Fills the counters of `report` from the world, ends what is under way there, and judges. What the run
/// itself measured is in the report already.
Result<void> measure(DemoWorld& world, DemoReport& report);

/// What must hold, by the figures of `report` alone. `balanced`: no packet and no mbuf is missing.
std::vector<DemoCheck> judge(const DemoReport& report, bool balanced);

}  // namespace mrc::endpoint
