// SPDX-License-Identifier: BSD-3-Clause
// A run that broke an invariant, once more: what its packets and EVs did around the violation.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "sim/world.h"

namespace mrc::sim {

/// Runs the scenario again, with its seed, and returns a line an event of the last `before`, the violation
/// last. An error when there is no violation to show: it was not one of this scenario.
Result<std::vector<std::string>> replay(const Scenario& scenario, const RunEnd& end, Duration before);

}  // namespace mrc::sim
