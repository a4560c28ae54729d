// SPDX-License-Identifier: BSD-3-Clause
// The demo in small: it passes, and each thing that can go wrong in it makes it fail.
#include "demo.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "demo_page.h"

namespace mrc::endpoint {
namespace {

DemoReport run(const DemoOptions& o) {
  auto r = run_demo(o);
  if (!r) throw std::runtime_error(r.error().message);
  return *std::move(r);
}

// In virtual time: what is checked is the protocol, not how often this thread gets a CPU.
DemoOptions small() {
  DemoOptions o;
  o.bytes = 256ULL << 20;
  o.poll_step = microseconds(5);
  return o;
}

std::vector<std::string> missed(const DemoReport& r) {
  std::vector<std::string> names;
  for (const DemoCheck& c : r.checks) {
    if (!c.ok) names.push_back(c.what);
  }
  return names;
}

TEST(Demo, PassesAndTellsWhatItMeasured) {
  const DemoReport r = run(small());
  EXPECT_TRUE(r.pass()) << to_text(r);
  EXPECT_GT(r.death.data_lost, 0U);
  EXPECT_GT(r.lost_at_random, 0U);
  EXPECT_GT(r.rates.goodput_bps, 0);
  EXPECT_GT(r.rates.l1_bps, r.rates.l2_bps);
  const auto j = nlohmann::json::parse(to_json(r));
  EXPECT_EQ(j["schema"], "softmrc.demo/1");
  EXPECT_EQ(j["pass"], true);
  EXPECT_EQ(j["checks"].size(), r.checks.size());
}

TEST(Demo, ItsReportTellsTheStory) {
  DemoOptions o = small();
  o.sample = true;
  const DemoReport r = run(o);
  EXPECT_TRUE(r.pass()) << to_text(r);
  ASSERT_NE(r.samples, nullptr);
  const report::html::Page page = page_of(r);
  const std::size_t n = page.times_ns.size();
  EXPECT_GT(n, 20U);
  EXPECT_LE(n, report::Timeline::kMostSamples);
  // What the samples say arrived is what was verified.
  const report::html::Series& placed = page.charts.at(0).series.at(0);
  double bits = 0;
  for (std::size_t i = 0; i < n; ++i)
    bits += placed.values[i] * (page.times_ns[i] - (i == 0 ? 0 : page.times_ns[i - 1])) / 1e9;
  EXPECT_NEAR(bits / 8, static_cast<double>(r.bytes_verified), 1e-6 * static_cast<double>(r.bytes_verified));
  // The dead path's EVs are condemned after its death and not before; a path that loses nothing is never.
  ASSERT_EQ(page.markers.size(), 5U);
  const report::html::EvMap& map = page.maps.at(0);
  const auto condemned = [&](std::uint32_t plane, std::uint32_t path, double from_ns, double to_ns) {
    const std::string of = fmt::format("plane {}, path {}", plane, path);
    std::uint64_t found = 0;
    for (std::size_t row = 0; row < map.rows.size(); ++row)
      for (std::size_t s = 0; s < n; ++s)
        found += map.rows[row].label.ends_with(of) && page.times_ns[s] > from_ns &&
                 page.times_ns[s] <= to_ns &&
                 map.states[row * n + s] == static_cast<std::uint8_t>(report::html::EvCell::kAssumedBad);
    return found;
  };
  const double dies = page.markers[0].t_ns;
  EXPECT_EQ(condemned(r.dead_plane, r.dead_path, 0, dies), 0U);
  EXPECT_GT(condemned(r.dead_plane, r.dead_path, dies, page.times_ns.back()), 0U);
  EXPECT_EQ(condemned(3, 0, 0, page.times_ns.back()), 0U);
  std::uint64_t sent = 0;
  for (const std::uint32_t pkts : map.pkts) sent += pkts;
  std::uint64_t counted = 0;
  for (const std::uint64_t pkts : r.plane_pkts) counted += pkts;
  EXPECT_EQ(sent, counted) << "every data packet is in one cell of the map";
  EXPECT_EQ(page.distributions.at(0).figures.size(), 4U);
  EXPECT_GT(report::html::write(page).size(), 50'000U);
}

TEST(Demo, OnePlacementThatIsMissingFailsIt) {
  DemoOptions o = small();
  o.forget_message = 100;
  const DemoReport r = run(o);
  EXPECT_FALSE(r.pass());
  EXPECT_EQ(r.messages_bad, 1U);
  EXPECT_NE(r.first_bad.find("message 100"), std::string::npos) << r.first_bad;
  EXPECT_EQ(missed(r).front(), "every byte arrived as it was sent");
}

TEST(Demo, ADeathThatNobodyNoticedFailsIt) {
  DemoOptions o = small();
  o.spare_path = true;
  const DemoReport r = run(o);
  EXPECT_FALSE(r.pass());
  const auto names = missed(r);
  EXPECT_EQ(std::count(names.begin(), names.end(),
                       "once noticed at both ends, the dead path carried nothing but probes"),
            1);
}

}  // namespace
}  // namespace mrc::endpoint
