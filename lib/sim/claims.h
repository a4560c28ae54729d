// SPDX-License-Identifier: BSD-3-Clause
// What the field claims of MRC, each as a scenario, a number with a limit, and a control: the feature off, by
// which the number must miss the limit. Medians over seeds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/median.h"
#include "sim/outcome.h"

namespace mrc::sim {

struct Claim {
  std::string name;     ///< "1 failover"
  std::string what;     ///< the number, with its unit
  std::string file;     ///< under config/sim
  bool at_most = true;  ///< the limit is a ceiling, else a floor
  double limit = 0;
  config::Settings settings;  ///< over the file, for both
  config::Settings control;   ///< what switches the feature off
  double (*number)(const World& world, const Outcome& outcome) = nullptr;
  bool every_seed = false;  ///< the worst seed must keep the limit, not the median
  /// Not empty: the number is that of the run, divided by that of a run with these over it.
  config::Settings beside{};
};

std::vector<Claim> claims();
const Claim& claim_named(const std::vector<Claim>& all, std::string_view name);

/// A claim whose number has its best value inside a range of a setting: better than at either end.
struct ClaimCurve {
  std::string name;
  std::string what;
  std::string file;
  std::string key;
  std::vector<std::string> points;  ///< values of the key, numbers, rising
  config::Settings control;         ///< what takes away the reason for one of the ends
  double below_first = 1;           ///< the best median is at most this of the first point's,
  double below_last = 1;            ///< and this of the last one's
  double (*number)(const World& world, const Outcome& outcome) = nullptr;
  /// What measure() takes.
  [[nodiscard]] Claim at(std::size_t point) const;
  /// What of `by_point`, whole or not, is no such curve: empty when its best lies inside.
  [[nodiscard]] std::vector<std::string> objections(const std::vector<std::vector<double>>& by_point) const;
};
ClaimCurve active_set_curve();

struct CurveResult {
  std::vector<std::vector<double>> by_point;    ///< each by seed
  std::vector<std::vector<double>> of_control;  ///< the same points with ClaimCurve::control
  std::vector<std::string> failures;
};

struct ClaimResult {
  std::vector<double> with, without;  ///< by seed
  std::vector<std::string> failures;
  [[nodiscard]] double worst_with(bool at_most) const;
  [[nodiscard]] double median_with() const;
  [[nodiscard]] double median_without() const;
};

/// One seed's number. Errors: the scenario does not load, an invariant broke, or (but for the control) a flow
/// failed or never completed.
Result<double> measure(const Claim& claim, const std::string& config_dir, bool control, std::uint64_t seed);
/// Whether the median (the worst, if every_seed) keeps the limit and the control's misses it.
void judge(const Claim& claim, ClaimResult& result);
/// Whether the best lies inside, and the control's does not.
void judge(const ClaimCurve& curve, CurveResult& result);
std::string claims_header();
std::string claim_line(const Claim& claim, const ClaimResult& result);
std::string curve_lines(const ClaimCurve& curve, const CurveResult& result);

}  // namespace mrc::sim
