// SPDX-License-Identifier: BSD-3-Clause
// Seeds in order, shared out to processes: a run that crashes, trips an assertion or never ends is a failure
// of its seed, like one that breaks a rule.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "coverage.h"

namespace mrc::fault {

struct PoolOptions {
  std::uint64_t first_seed = 1;
  std::uint64_t runs = 0;  ///< runs that count; 0: until stopped
  unsigned jobs = 1;
  bool stop_at_failure = true;
  double seconds = 0;              ///< of real time, 0: no limit
  double seconds_a_run = 60;       ///< of processor time: then it is taken for endless
  std::uint64_t report_every = 0;  ///< counted runs between two calls of `report`; 0: none
  bool quiet = false;              ///< what a dying process says goes into the failure, not to stderr
};

struct Failure {
  std::uint64_t seed = 0;
  std::string what;
};

struct PoolResult {
  std::vector<Failure> failures;  ///< in order of seeds
  std::uint64_t counted = 0;
  std::uint64_t idle = 0;  ///< runs in which no fault met a packet
  std::uint64_t packets = 0;
  std::uint64_t next_seed = 0;  ///< all below were run
  double seconds = 0;
  Coverage coverage;
};

/// Runs seeds until `runs` counted, a failure, the time or a signal (SIGINT, SIGTERM) ends it. Every seed
/// below the lowest that failed has been run to its end.
PoolResult run_seeds(const PoolOptions& options, const std::function<void(const PoolResult&)>& report = {},
                     const std::function<void(const Failure&)>& failed = {});

}  // namespace mrc::fault
