// SPDX-License-Identifier: BSD-3-Clause
// The one table that many runs go into, whether they ran here or in a batch system.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/endpoint_config.h"

namespace mrc::simapp {

/// What of a run goes into the table.
struct SweepRun {
  std::uint64_t seed = 0;
  bool ok = false;
  std::string verdict;
  double tail_us = 0, median_us = 0, round_p999_us = 0, goodput_gbps = 0;
  double rtx = 0, false_bad = 0, core_p99 = 0, repair_us = 0;
};

/// Runs of one scenario with the same settings, in order of seed.
struct SweepPoint {
  std::string scenario;
  config::Settings settings;
  std::vector<SweepRun> runs;
};

/// From the JSON of a run (sim::kOutcomeSchema) without its flows. Errors: not that, or keys missing.
Result<SweepRun> sweep_run_of(const std::string& json);
/// The results of runs, one JSON file each, by point in the order in which they come; settings that all have
/// in common are left out. Errors: a file that cannot be read or is no result, a point that has a seed twice.
Result<std::vector<SweepPoint>> collect_points(const std::vector<std::string>& files);

/// Medians, a line a point; failures behind them.
std::string sweep_text(const std::vector<SweepPoint>& points);
/// Every run's numbers (softmrc.sweep/1).
std::string sweep_json(const std::vector<SweepPoint>& points);
bool all_pass(const std::vector<SweepPoint>& points);

}  // namespace mrc::simapp
