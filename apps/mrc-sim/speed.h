// SPDX-License-Identifier: BSD-3-Clause
// How fast a run was, and where its time went.
#pragma once

#include <cstdint>
#include <string>

#include "sim/profile.h"

namespace mrc::simapp {

/// For sim::Profile: cheap, and steady over a run. Ticks have no unit; shares of their sum mean something.
std::uint64_t profile_ticks();

/// What the process has used so far.
struct Usage {
  double cpu_seconds = 0;  ///< user time
  std::uint64_t peak_mib = 0;
};
Usage usage_so_far();

/// One line: hops, time, rate, memory.
std::string speed_line(std::uint64_t hops, double seconds, const Usage& usage, bool invariants);
/// One line: share of each stage, and its part of `cpu_seconds`.
std::string profile_line(const sim::Profile& profile, double cpu_seconds);

}  // namespace mrc::simapp
