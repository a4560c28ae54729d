// SPDX-License-Identifier: BSD-3-Clause
// The report of a run as values; how it looks is tests/integration/html_report_test.py's.
#include "sim/outcome_page.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "run_scenario.h"

namespace mrc::sim {
namespace {

constexpr const char* kText =
    "network: {planes: 2, hosts: 4, hosts_per_t0: 2}\nworkload: {shape: permutation, bytes: 4M, qps: 4}\n";

report::html::Page page_of(const config::Settings& settings, Outcome& outcome) {
  outcome = run(kText, settings);
  const auto scenario = load_scenario_text(kText, "test", settings);
  EXPECT_TRUE(scenario);
  return series_page(outcome, *scenario);
}

bool has_table(const report::html::Page& page, const std::string& title) {
  return std::any_of(page.tables.begin(), page.tables.end(),
                     [&](const report::html::Table& t) { return t.title == title; });
}

TEST(OutcomePage, TheBaselinesPlotsHoldEveryByte) {
  Outcome o;
  const report::html::Page page = page_of({{"transport", "rc"}, {"workload.stripe", "true"}}, o);
  ASSERT_TRUE(o.pass()) << to_table(o);
  EXPECT_TRUE(page.pass);
  ASSERT_EQ(page.charts.size(), 2U);
  ASSERT_EQ(page.charts[0].series.size(), 1U);
  ASSERT_EQ(page.charts[1].series.size(), 2U);
  const auto placed = [&](const report::html::Series& s) {
    EXPECT_EQ(s.values.size(), page.times_ns.size());
    return std::accumulate(s.values.begin(), s.values.end(), 0.0) * static_cast<double>(o.series_step_ns) /
           8e9;
  };
  EXPECT_NEAR(placed(page.charts[0].series[0]), static_cast<double>(o.received_bytes), 1);
  for (std::size_t plane = 0; plane < 2; ++plane) {
    EXPECT_GT(o.planes_out[plane].received_bytes, 0U);
    EXPECT_NEAR(placed(page.charts[1].series[plane]), static_cast<double>(o.planes_out[plane].received_bytes),
                1);
  }
  EXPECT_FALSE(has_table(page, "EVs")) << "it has none";
  EXPECT_TRUE(has_table(page, "Packets"));
  EXPECT_NE(page.title.find("RC"), std::string::npos);
}

TEST(OutcomePage, SaysWhatFailedAndWhatMrcAloneHas) {
  Outcome o;
  const report::html::Page page =
      page_of({{"faults", "[{kind: down, place: uplink, plane: 1, at_us: 20}]"}, {"run.until_us", "60"}}, o);
  EXPECT_FALSE(page.pass) << "flows are open";
  EXPECT_EQ(page.verdict, o.verdict());
  EXPECT_TRUE(has_table(page, "EVs"));
  EXPECT_TRUE(has_table(page, "Faults"));
  ASSERT_FALSE(page.markers.empty());
  EXPECT_NEAR(page.markers[0].t_ns, 20'000, 1) << "the clock starts at 1 ns";
}

}  // namespace
}  // namespace mrc::sim
