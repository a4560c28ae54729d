// SPDX-License-Identifier: BSD-3-Clause
// One scenario from start to end, and what must hold then.
#pragma once

#include <string>

#include "coverage.h"
#include "scenario.h"

namespace mrc::fault {

struct RunResult {
  std::string failure;        ///< empty: all held
  bool counts = false;        ///< a fault dropped or changed a packet, and the run was large enough
  std::uint64_t packets = 0;  ///< data packets sent
  Duration virtual_time;
  Coverage coverage;
};

/// `trace`: every packet to stdout.
RunResult run(const Scenario& scenario, bool trace = false);

}  // namespace mrc::fault
