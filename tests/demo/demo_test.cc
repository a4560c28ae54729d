// SPDX-License-Identifier: BSD-3-Clause
// The demo in small: it passes, and each thing that can go wrong in it makes it fail.
#include "demo.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "demo_checks.h"
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
  o.loss = 0.01;  // so few packets lose none of a thousand
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

// Nothing but the size keeps the path's story short: data moves on until it is told.
TEST(Demo, ASmallOneGoesOnUntilDataIsBackOnTheDeadPath) {
  DemoOptions o = small();
  o.bytes = 16ULL << 20;
  const DemoReport r = run(o);
  EXPECT_GT(r.bytes_verified, o.bytes);
  EXPECT_EQ(r.bytes_verified, r.bytes_posted);
  EXPECT_GT(r.death.data_lost, 0U) << "it died with data on it";
  EXPECT_GT(r.death.probes_after_detection, 0U);
  EXPECT_NE(r.death.data_again.ns, 0);
  EXPECT_NE(to_text(r).find("beyond the 16 asked for"), std::string::npos) << to_text(r);
}

TEST(Demo, TheSmallestSizeFollowsFromTheDistance) {
  DemoOptions o;
  EXPECT_TRUE(check_options(o));
  EXPECT_EQ(smallest_bytes(o), 64ULL << 20);
  o.delay = milliseconds(2);
  const std::uint64_t least = smallest_bytes(o);
  EXPECT_GT(least, 400ULL << 20);
  o.bytes = least;
  EXPECT_TRUE(check_options(o));
  o.bytes = least - 1;
  const auto refused = check_options(o);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find(fmt::format("at least {}MB", least >> 20)), std::string::npos)
      << refused.error().message;
  o.path_gbps = 0.05;  // slow paths move less in a round trip
  EXPECT_LT(smallest_bytes(o), least);
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

// --- interrupted
// ------------------------------------------------------------------------------------------------

TEST(Demo, InterruptedBeforeThePathDiedItJudgesWhatRan) {
  DemoOptions o = small();
  o.stop = [](double progress) { return progress > 0.1; };
  const DemoReport r = run(o);
  EXPECT_TRUE(r.interrupted);
  EXPECT_TRUE(r.pass()) << to_text(r);
  EXPECT_GT(r.bytes_verified, o.bytes / 20);
  EXPECT_LT(r.bytes_verified, o.bytes / 2);
  EXPECT_EQ(r.bytes_verified, r.bytes_posted) << "what was posted is finished and checked";
  EXPECT_EQ(r.death.down.ns, 0);
  const auto judged = std::count_if(r.checks.begin(), r.checks.end(), [](const auto& c) { return c.judged; });
  EXPECT_EQ(judged, 3) << to_text(r);
  EXPECT_NE(to_text(r).find("demo: pass (interrupted"), std::string::npos) << to_text(r);
  EXPECT_EQ(nlohmann::json::parse(to_json(r))["interrupted"], true);
}

TEST(Demo, InterruptedWhileThePathIsDeadItStillEnds) {
  DemoOptions o = small();
  o.stop = [](double progress) { return progress > 0.26; };
  const DemoReport r = run(o);
  EXPECT_TRUE(r.interrupted);
  EXPECT_NE(r.death.down.ns, 0);
  EXPECT_TRUE(r.pass()) << to_text(r);
}

TEST(Demo, InterruptedBeforeAnythingArrivedItFails) {
  DemoOptions o = small();
  o.stop = [](double /*progress*/) { return true; };
  const DemoReport r = run(o);
  EXPECT_EQ(r.bytes_verified, 0U);
  EXPECT_FALSE(r.pass()) << "nothing was verified";
}

TEST(Demo, InterruptionExcusesNoWrongByte) {
  DemoOptions o = small();
  o.forget_message = 5;
  o.stop = [](double progress) { return progress > 0.1; };
  EXPECT_FALSE(run(o).pass());
}

// --- each check by itself
// ------------------------------------------------------------------------------------------------

/// As a run that is all right would report.
DemoReport all_right() {
  DemoReport r;
  r.bytes_posted = r.bytes_verified = r.options.bytes;
  r.plane_pkts = {1000, 1010, 990, 1000};
  r.evs = 128;
  r.evs_healthy = 120;
  r.ev_min_pkts = 900;
  r.ev_mean_pkts = 1000;
  r.ev_max_pkts = 1100;
  r.rtx_by_cause = {{"inferred loss", 60}, {"EV flush", 10}};
  r.rtx = 70;
  r.lost_on_dead_path = 50;
  r.lost_at_random = 10;
  r.carried_by_lossy_path = 10000;
  r.base_rtt = microseconds(500);
  r.death.down = Time{1'000'000};
  r.death.detected = Time{3'000'000};
  r.death.repaired = Time{4'000'000};
  r.death.up = Time{40'000'000};
  r.death.data_again = Time{45'000'000};
  r.death.data_lost = 50;
  r.death.probes_after_detection = 9;
  return r;
}

struct Broken {
  const char* name;
  const char* check;  ///< in its words
  void (*how)(DemoReport&);
};

constexpr Broken kBroken[] = {
    {"a wrong message", "every byte", [](DemoReport& r) { r.messages_bad = 1; }},
    {"a byte short", "every byte", [](DemoReport& r) { --r.bytes_verified; }},
    {"nothing to move", "every byte", [](DemoReport& r) { r.options.bytes = r.bytes_verified = 0; }},
    {"interrupted, and a message short", "every byte",
     [](DemoReport& r) {
       r.interrupted = true;
       r.bytes_verified = r.bytes_posted - 1;
     }},
    {"a plane with too much", "each plane", [](DemoReport& r) { r.plane_pkts[0] = 1200; }},
    {"a plane with too little", "each plane", [](DemoReport& r) { r.plane_pkts[3] = 850; }},
    {"no packet on any plane", "each plane",
     [](DemoReport& r) {
       r.plane_pkts = {0, 0, 0, 0};
     }},
    {"an EV with too little", "each EV", [](DemoReport& r) { r.ev_min_pkts = 499; }},
    {"an EV with too much", "each EV", [](DemoReport& r) { r.ev_max_pkts = 2001; }},
    {"no healthy EV", "each EV", [](DemoReport& r) { r.evs_healthy = 0; }},
    {"EVs that carried nothing", "each EV",
     [](DemoReport& r) { r.ev_min_pkts = r.ev_max_pkts = 0, r.ev_mean_pkts = 0; }},
    {"a packet not sent again", "every lost packet", [](DemoReport& r) { r.lost_on_dead_path = 61; }},
    {"a retransmission without a cause", "every lost packet",
     [](DemoReport& r) { r.rtx_by_cause[0].second = 59; }},
    {"too much random loss", "plane 0 path 0 lost",
     [](DemoReport& r) {
       r.lost_at_random = 10 + 17;
       r.rtx = r.rtx_by_cause[0].second = 90;
     }},
    {"no random loss", "plane 0 path 0 lost",
     [](DemoReport& r) { r.lost_at_random = 0, r.carried_by_lossy_path = 100000; }},
    {"nothing on the lossy path", "plane 0 path 0 lost",
     [](DemoReport& r) { r.lost_at_random = r.carried_by_lossy_path = 0; }},
    {"a repair that took too long", "what died on",
     [](DemoReport& r) { r.death.repaired = r.death.down + r.base_rtt * 16 + nanoseconds(1); }},
    {"no repair", "what died on", [](DemoReport& r) { r.death.repaired = {}; }},
    {"nothing that died", "what died on", [](DemoReport& r) { r.death.data_lost = 0; }},
    {"data on the dead path", "once noticed", [](DemoReport& r) { r.death.data_after_detection = 1; }},
    {"control on the dead path", "once noticed", [](DemoReport& r) { r.death.control_after_detection = 1; }},
    {"no probe on the dead path", "once noticed", [](DemoReport& r) { r.death.probes_after_detection = 0; }},
    {"a death not noticed", "once noticed", [](DemoReport& r) { r.death.detected = {}; }},
    {"observations that were lost", "once noticed", [](DemoReport& r) { r.death.observations_lost = 1; }},
    {"no data after the return", "data went over it", [](DemoReport& r) { r.death.data_again = {}; }},
    {"no return", "data went over it", [](DemoReport& r) { r.death.up = {}; }}};

TEST(DemoReport, EachBrokenFigureFailsItsCheckAlone) {
  DemoReport good = all_right();
  good.checks = judge(good, true);
  ASSERT_TRUE(good.pass()) << to_text(good);
  for (const Broken& b : kBroken) {
    SCOPED_TRACE(b.name);
    DemoReport r = all_right();
    b.how(r);
    r.checks = judge(r, true);
    EXPECT_FALSE(r.pass());
    const std::vector<std::string> names = missed(r);
    ASSERT_EQ(names.size(), 1U) << to_text(r);
    EXPECT_TRUE(names[0].starts_with(b.check)) << names[0];
  }
}

TEST(DemoReport, BooksThatDoNotBalanceFailIt) {
  DemoReport r = all_right();
  r.checks = judge(r, false);
  EXPECT_FALSE(r.pass());
  ASSERT_EQ(missed(r).size(), 1U);
  EXPECT_TRUE(missed(r)[0].starts_with("the books"));
}

TEST(DemoReport, WithoutChecksNothingPasses) {
  EXPECT_FALSE(all_right().pass());
}

// The death makes up for the time that the thread was away, and for no more.
TEST(DemoReport, AnAbsenceOfTheThreadIsAllowedForTwice) {
  for (const std::int64_t over : {0, 1}) {
    DemoReport r = all_right();
    r.absent = microseconds(300);
    r.death.repaired = r.death.down + r.base_rtt * 16 + microseconds(600) + nanoseconds(over);
    r.checks = judge(r, true);
    EXPECT_EQ(r.pass(), over == 0) << to_text(r);
  }
}

}  // namespace
}  // namespace mrc::endpoint
