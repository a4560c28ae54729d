// SPDX-License-Identifier: BSD-3-Clause
// Each end on a core of its own. Such a figure says little without how far apart the two cores are at that
// moment.
#pragma once

#include "base/result.h"
#include "endpoint_bench/scenario.h"
#include "endpoint_bench/verdict.h"
#include "ring/ring_pair.h"

namespace mrc::perf {

/// The calling thread is pinned to o.cpu and serves the source's end; the target's is polled on o.other_cpu.
/// Prints a line with the core-to-core latency measured beside each run. Always wall time. Not good: a run
/// that repaired losses, or whose CPUs were away in more runs than were measured again. Errors: a wrong byte,
/// a failed write.
Result<Verdict> measure_on_two_cores(const Scenario& s, const ring::RingPair& rings, const Options& o);

}  // namespace mrc::perf
