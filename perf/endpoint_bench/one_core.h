// SPDX-License-Identifier: BSD-3-Clause
// Both ends on the calling thread's core, in turn with the limit.
#pragma once

#include "base/result.h"
#include "endpoint_bench/scenario.h"
#include "endpoint_bench/verdict.h"
#include "ring/ring_pair.h"

namespace mrc::perf {

/// Measures, prints a line, and the stages beside the sketch if asked for. Not good: below what the options
/// demand, or a run that repaired losses. Errors: a wrong byte, a failed write, a CPU that others use.
Result<Verdict> measure_on_one_core(const Scenario& s, const ring::RingPair& rings, const Options& o);

}  // namespace mrc::perf
