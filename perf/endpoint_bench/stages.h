// SPDX-License-Identifier: BSD-3-Clause
// Nanoseconds a packet of each stage of the datapath, beside the sketch they are held against.
#pragma once

#include <nlohmann/json.hpp>

#include "base/result.h"
#include "endpoint_bench/scenario.h"
#include "ring/ring_pair.h"

namespace mrc::perf {

/// From a run of its own with the stages timed, as the TSC reads cost too. `limit_ns`: what a packet costs
/// the limit; the sketch of a long packet stands on it. 0: not measured.
Result<nlohmann::json> report_stages(const Scenario& s, const ring::RingPair& rings, double limit_ns);

}  // namespace mrc::perf
