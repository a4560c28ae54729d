// SPDX-License-Identifier: BSD-3-Clause
#include "sim/claims_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace mrc::sim {

namespace {

using report::html::Range;

Range range_of(const std::vector<double>& v) {
  if (v.empty()) return {};
  const auto [low, high] = std::minmax_element(v.begin(), v.end());
  return {*low, median_of(v), *high};
}

std::string settings_text(const config::Settings& settings) {
  std::string out;
  for (const auto& [key, value] : settings) out += (out.empty() ? "" : ", ") + key + " " + value;
  return out;
}

report::html::Comparison comparison_of(const MeasuredClaims& m) {
  report::html::Comparison c;
  c.id = "claims";
  c.title = "Every number beside its limit";
  c.about =
      "How often the limit fits into the number, on a logarithmic scale; where the limit is a floor, how "
      "often the "
      "number fits into it. Each claim with the feature it speaks of, and with that switched off.";
  c.with_name = "with";
  c.without_name = "control";
  for (const auto& [claim, r] : m.claims)
    c.rows.push_back({claim.name, claim.what, range_of(r.with), range_of(r.without), claim.limit,
                      claim.at_most, r.failures.empty()});
  c.absent = "No claim was chosen.";
  return c;
}

report::html::Curve curve_of(const ClaimCurve& curve, const CurveResult& r) {
  report::html::Curve c;
  c.id = "curve-" + curve.name.substr(0, curve.name.find(' '));
  c.title = "Claim " + curve.name;
  c.about =
      curve.what + ": medians, and a band from the least to the most of all seeds. Its best lies inside.";
  c.x_name = curve.key;
  c.y_name = curve.what;
  for (std::size_t i = 0; i < r.by_point.size(); ++i)
    if (!r.by_point[i].empty())
      c.points.push_back({std::strtod(curve.points[i].c_str(), nullptr), range_of(r.by_point[i])});
  return c;
}

report::html::Table table_of(const MeasuredClaims& m) {
  report::html::Table t{
      "What was run", {"claim", "scenario", "control", "control / with", "verdict"}, {}, true};
  for (const auto& [claim, r] : m.claims) {
    const double with = r.median_with();
    t.rows.push_back({claim.name, claim.file, settings_text(claim.control),
                      with > 0 ? fmt::format("{:.3g}", r.median_without() / with) : "–",
                      r.failures.empty() ? "holds" : fmt::format("{}", fmt::join(r.failures, "; "))});
  }
  for (const auto& [curve, r] : m.curves)
    t.rows.push_back({curve.name, curve.file,
                      fmt::format("{}, {} from {} to {}", settings_text(curve.control), curve.key,
                                  curve.points.front(), curve.points.back()),
                      "–", r.failures.empty() ? "holds" : fmt::format("{}", fmt::join(r.failures, "; "))});
  return t;
}

template <class Results>
std::size_t held(const Results& results) {
  return static_cast<std::size_t>(
      std::count_if(results.begin(), results.end(), [](const auto& c) { return c.second.failures.empty(); }));
}

}  // namespace

bool MeasuredClaims::hold() const {
  return held(claims) == claims.size() && held(curves) == curves.size();
}

report::html::Page claims_page(const MeasuredClaims& m) {
  report::html::Page page;
  page.title = "What the field claims of MRC";
  page.subtitle = fmt::format("mrc-sim claims: seeds {} to {} of each, with the feature and without",
                              m.first_seed, m.first_seed + std::max(m.seeds, 1U) - 1);
  page.clock = "virtual time";
  page.pass = m.hold();
  page.verdict = page.pass ? "all hold" : "not all hold";
  const std::size_t all = m.claims.size() + m.curves.size();
  page.figures = {
      {"claims that hold", fmt::format("{}", held(m.claims) + held(m.curves)), fmt::format("of {}", all)},
      {"runs of each", fmt::format("{}", m.seeds), "seeds, with and without"}};
  page.comparisons.push_back(comparison_of(m));
  for (const auto& [curve, r] : m.curves) page.curves.push_back(curve_of(curve, r));
  page.tables.push_back(table_of(m));
  page.footer = "mrc-sim claims. The same seeds give the same page.";
  return page;
}

}  // namespace mrc::sim
