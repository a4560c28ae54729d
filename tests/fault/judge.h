// SPDX-License-Identifier: BSD-3-Clause
// What must hold when a run is over.
#pragma once

#include <string>

#include "scenario.h"

namespace mrc::fault {

/// Empty when all holds; else what does not, and the rule.
std::string judge(const Scenario& scenario, const sim::Simulation& sim);

}  // namespace mrc::fault
