// SPDX-License-Identifier: BSD-3-Clause
// What a run will take of the machine's memory, known before anything of it is built.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "sim/scenario.h"
#include "sim/workload.h"

namespace mrc::sim {

inline constexpr std::uint64_t kMaxFlows = 1U << 28;  ///< messages and parts of striped ones, all rounds

/// How many packets may be inside the network at one time: network.max_packets, or by the windows as far as
/// run.memory goes. Error, one line with all factors: the run may take more than run.memory allows.
Result<std::uint32_t> packets_within_memory(const Scenario& scenario, const Workload& workload);

}  // namespace mrc::sim
