// SPDX-License-Identifier: BSD-3-Clause
// Faults of a scenario: what several make of one link, what is left when they end, who answers for a loss,
// and what the seed draws.
#include "sim/faults.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "run_scenario.h"
#include "sim/network.h"
#include "sim/outcome.h"

namespace mrc::sim {
namespace {

constexpr const char* kNetwork =
    "network: {planes: 2, hosts: 4, hosts_per_t0: 2, t1: 4, link_gbps: 100, uplink_gbps: 25, delay_us: 1}\n";

Scenario scenario_of(const std::string& faults, const config::Settings& settings = {},
                     const std::string& rest = kNetwork) {
  const auto s = load_scenario_text(rest + "faults:\n" + faults, "test", settings);
  EXPECT_TRUE(s) << s.error().message;
  return *s;
}

Result<FaultPlan> plan_of(const Scenario& s, const fabric::Topology& t) {
  EvTables evs(s);
  return plan_faults(s, t, **evs.between(t, 0, s.network.hosts - 1));
}

/// The network alone, with the faults of a list, looked at as time passes.
class Links {
 public:
  explicit Links(const std::string& faults) {
    const Scenario s = scenario_of(faults);
    auto topology = make_topology(s);
    auto plan = plan_of(s, *topology);
    EXPECT_TRUE(plan) << plan.error().message;
    fabric_ = std::move(*make_fabric(s, std::move(*topology), plan->schedule, 1U << 14));
  }
  const Links& at_us(double us) {
    std::array<fabric::Outcome, 4> none;
    (void)fabric_->advance(Time{} + nanoseconds(std::llround(us * 1e3)), none);
    return *this;
  }
  /// Uplink k of T0 0 of a plane; the other direction of it; the host port of host 0.
  [[nodiscard]] const fabric::Link& up(std::uint32_t plane, std::uint32_t k) const {
    return fabric_->link(id(plane, k));
  }
  [[nodiscard]] const fabric::Link& back(std::uint32_t plane, std::uint32_t k) const {
    return fabric_->link(reverse_link(fabric_->topology(), id(plane, k)));
  }
  [[nodiscard]] const fabric::Link& host(std::uint32_t plane) const {
    return fabric_->link(fabric_->topology().up_of(0, plane));
  }

 private:
  [[nodiscard]] fabric::LinkId id(std::uint32_t plane, std::uint32_t k) const {
    return uplink_of(fabric_->topology(), plane, 0, 0, 0, k);
  }
  std::unique_ptr<fabric::Fabric> fabric_;
};

TEST(FaultMerge, ALinkIsDownWhileAnyFaultWantsItDown) {
  Links l(
      "  - {kind: down, place: uplink, uplink: 1, at_us: 10}\n"
      "  - {kind: down, place: switch, tier: 1, index: 1, at_us: 20, for_us: 10}\n"
      "  - {kind: down, place: uplink, uplink: 2, at_us: 20, for_us: 10}\n"
      "  - {kind: down, place: uplink, uplink: 2, at_us: 25, for_us: 10}\n");
  EXPECT_TRUE(l.at_us(9).up(0, 1).up);
  EXPECT_FALSE(l.at_us(15).up(0, 1).up);
  EXPECT_FALSE(l.at_us(25).up(0, 1).up);
  EXPECT_FALSE(l.at_us(31).up(0, 1).up) << "its switch is back, the cable is not";
  EXPECT_FALSE(l.up(0, 2).up) << "the second of two overlapping faults lasts";
  EXPECT_FALSE(l.back(0, 2).up);
  EXPECT_TRUE(l.at_us(35).up(0, 2).up && l.back(0, 2).up);
  EXPECT_TRUE(l.up(1, 1).up && l.up(0, 0).up) << "nobody touched them";
}

TEST(FaultMerge, ProbabilitiesJoinAndEachEndsAlone) {
  Links l(
      "  - {kind: loss, place: fabric, probability: 0.02}\n"
      "  - {kind: loss, place: plane, plane: 1, probability: 0.5, at_us: 10, for_us: 10}\n"
      "  - {kind: duplicate, place: plane, plane: 0, probability: 0.03, at_us: 10, for_us: 10}\n"
      "  - {kind: corrupt, place: host_port, host: 0, plane: 0, probability: 0.04, direction: up, at_us: "
      "10}\n"
      "  - {kind: reorder, place: plane, plane: 0, probability: 0.1, delay_us: 3, at_us: 10}\n");
  l.at_us(15);
  EXPECT_DOUBLE_EQ(l.host(0).faults().loss, 0.02);
  EXPECT_DOUBLE_EQ(l.host(0).faults().duplicate, 0.03);
  EXPECT_DOUBLE_EQ(l.host(0).faults().corrupt, 0.04);
  EXPECT_DOUBLE_EQ(l.host(0).faults().reorder, 0.1);
  EXPECT_EQ(l.host(0).faults().reorder_delay, microseconds(3));
  EXPECT_DOUBLE_EQ(l.host(1).faults().loss, 1 - 0.98 * 0.5);
  l.at_us(25);
  EXPECT_DOUBLE_EQ(l.host(0).faults().loss, 0.02);
  EXPECT_EQ(l.host(0).faults().duplicate, 0);
  EXPECT_DOUBLE_EQ(l.host(0).faults().corrupt, 0.04);
  EXPECT_EQ(l.host(1).faults().loss, 0.02) << "to the bit what it was";
}

TEST(FaultMerge, SlowTakesAFractionOfEachLinksOwnSpeed) {
  Links l(
      "  - {kind: slow, place: switch, tier: 1, index: 0, fraction: 0.5, at_us: 10, for_us: 10}\n"
      "  - {kind: slow, place: uplink, uplink: 0, fraction: 0.5, at_us: 15, for_us: 10}\n"
      "  - {kind: slow, place: plane, plane: 0, fraction: 0.1, at_us: 10, for_us: 10}\n"
      "  - {kind: delay, place: uplink, uplink: 3, delay_us: 5, at_us: 10, for_us: 10}\n"
      "  - {kind: delay, place: uplink, uplink: 3, delay_us: 2, at_us: 12, for_us: 10}\n");
  EXPECT_EQ(l.at_us(11).up(0, 0).config.rate_bps, 12'500'000'000U) << "half of 25G, not of a host's 100G";
  EXPECT_EQ(l.host(0).config.rate_bps, 10'000'000'000U);
  EXPECT_EQ(l.host(1).config.rate_bps, 100'000'000'000U);
  EXPECT_EQ(l.at_us(16).up(0, 0).config.rate_bps, 6'250'000'000U);
  EXPECT_EQ(l.up(0, 3).config.delay, microseconds(5));
  EXPECT_EQ(l.at_us(21).up(0, 0).config.rate_bps, 12'500'000'000U);
  EXPECT_EQ(l.up(0, 3).config.delay, microseconds(2)) << "the longest of those that last";
  EXPECT_EQ(l.host(0).config.rate_bps, 100'000'000'000U);
  EXPECT_EQ(l.at_us(26).up(0, 0).config.rate_bps, 25'000'000'000U);
  EXPECT_EQ(l.up(0, 3).config.delay, microseconds(1));
}

TEST(FaultMerge, ThePlanNamesItsLimits) {
  const auto error_of = [](const std::string& faults) {
    const Scenario s = scenario_of(faults, {{"paths.evs", "128"}});
    const auto t = make_topology(s);
    const auto plan = plan_of(s, *t);
    return plan ? std::string() : plan.error().message;
  };
  EXPECT_NE(error_of("  - {kind: loss, place: ev, random: true, number: 65}\n").find("65 EVs"),
            std::string::npos);
  EXPECT_EQ(error_of("  - {kind: loss, place: ev, random: true, number: 64}\n"), "");
  EXPECT_NE(error_of("  - {place: uplink, random: true, number: 17}\n").find("has 16"), std::string::npos);
  EXPECT_NE(error_of("  - {place: fabric, times: 100000, for_us: 1, period_us: 2}\n").find("fewer times"),
            std::string::npos);
  EXPECT_NE(error_of("  - {place: switch, tier: 2, random: true}\n").find("no such place"),
            std::string::npos);
}

// --- What the seed draws

TEST(FaultDraws, PlacesAreDrawnOnceEach) {
  for (const char* seed : {"1", "2", "3", "4", "5"}) {
    const Scenario s = scenario_of("  - {place: uplink, random: true, number: 16}\n", {{"seed", seed}});
    const auto plan = plan_of(s, *make_topology(s));
    ASSERT_TRUE(plan) << plan.error().message;
    const std::set<std::string> places(plan->texts.begin(), plan->texts.end());
    EXPECT_EQ(places.size(), 16U) << "all uplinks of both planes, none twice";
  }
}

TEST(FaultDraws, TimesLieInTheWindowAndFollowFromTheSeed) {
  const auto beginnings = [](const char* fault, const char* seed) {
    const Scenario s = scenario_of(fault, {{"seed", seed}});
    const auto plan = plan_of(s, *make_topology(s));
    EXPECT_TRUE(plan) << plan.error().message;
    std::vector<std::int64_t> at;
    for (const FaultRecord& r : plan->log.records()) at.push_back(r.at.ns);
    return at;
  };
  const char* uniform = "  - {place: uplink, random: true, number: 8, at_us: 100, window_us: 1000}\n";
  const auto a = beginnings(uniform, "1");
  EXPECT_EQ(a, beginnings(uniform, "1"));
  EXPECT_NE(a, beginnings(uniform, "2"));
  EXPECT_EQ(std::set<std::int64_t>(a.begin(), a.end()).size(), 8U) << "each its own";
  for (const std::int64_t at : a) {
    EXPECT_GE(at, 100'000);
    EXPECT_LE(at, 1'100'000);
  }
  // 20 a ms over 10 ms: 200 on average, and as irregular as a Poisson process.
  const char* rate = "  - {place: uplink, uplink: 1, for_us: 1, rate_per_ms: 20, window_us: 10000}\n";
  double sum = 0;
  double square = 0;
  for (int seed = 1; seed <= 100; ++seed) {
    const auto at = beginnings(rate, std::to_string(seed).c_str());
    EXPECT_TRUE(std::is_sorted(at.begin(), at.end()));
    const auto n = static_cast<double>(at.size());
    sum += n;
    square += n * n;
  }
  const double mean = sum / 100;
  const double variance = square / 100 - mean * mean;
  EXPECT_NEAR(mean, 200, 6) << "four standard errors";
  EXPECT_GT(variance, 100);
  EXPECT_LT(variance, 350);
}

TEST(FaultDraws, AtARateEveryPlaceIsDrawnBeforeOneComesAgain) {
  const Scenario s =
      scenario_of("  - {place: uplink, random: true, for_us: 1, rate_per_ms: 20, window_us: 10000}\n");
  const auto plan = plan_of(s, *make_topology(s));
  ASSERT_TRUE(plan) << plan.error().message;
  ASSERT_GT(plan->texts.size(), 64U);
  for (std::size_t i = 0; i + 16 <= plan->texts.size(); i += 16)
    EXPECT_EQ(std::set<std::string>(plan->texts.begin() + static_cast<std::ptrdiff_t>(i),
                                    plan->texts.begin() + static_cast<std::ptrdiff_t>(i + 16))
                  .size(),
              16U);
}

// --- Who answers for what, in whole runs

constexpr const char* kPermutation =
    "network: {planes: 4, hosts: 4, hosts_per_t0: 2, t1: 4}\nworkload: {shape: permutation, bytes: 8M}\n"
    "run: {until_us: 20000}\n";

std::uint64_t lost(const Outcome& o) {
  std::uint64_t n = o.count(o.network, "corrupt_dropped");
  for (const char* reason : {"link_down", "random_loss", "ev_loss", "black_hole"})
    n += o.count(o.network, std::string("dropped_") + reason);
  return n;
}

TEST(FaultAccount, TwoDeadLinksAnswerEachForItsOwn) {
  const std::string faults[] = {"{at_us: 20, kind: down, place: uplink, plane: 0, index: 0, uplink: 0}",
                                "{at_us: 30, kind: down, place: uplink, plane: 1, index: 1, uplink: 1}"};
  for (const char* seed : {"1", "2", "3", "4"}) {
    const Outcome o =
        run(std::string(kPermutation) + "faults: [" + faults[0] + ", " + faults[1] + "]\n", {{"seed", seed}});
    EXPECT_TRUE(o.pass()) << to_table(o);
    ASSERT_EQ(o.faults.size(), 2U);
    std::uint64_t booked = 0;
    for (const FaultOutcome& f : o.faults) {
      EXPECT_GT(f.lost_data, 0U) << to_table(o);
      EXPECT_EQ(f.open, 0U) << to_table(o);
      EXPECT_GT(f.last_repair_ns, f.last_sent_into_ns) << "lost, then had";
      EXPECT_LT(f.last_repair_ns, 8 * o.base_rtt_ns) << to_table(o);
      booked += f.lost_data + f.lost_other;
    }
    EXPECT_EQ(booked, lost(o));
  }
}

TEST(FaultAccount, EveryFlapIsRepaired) {
  const Outcome o =
      run(std::string(kPermutation) +
          "faults: [{at_us: 20, for_us: 15, times: 6, period_us: 25, kind: down, place: uplink}]\n");
  EXPECT_TRUE(o.pass()) << to_table(o);
  ASSERT_EQ(o.faults.size(), 6U);
  std::uint64_t lost_data = 0;
  for (const FaultOutcome& f : o.faults) {
    EXPECT_EQ(f.open, 0U) << to_table(o);
    if (f.lost_data == 0) continue;
    lost_data += f.lost_data;
    EXPECT_LT(f.last_sent_into_ns, 15'000) << "into this flap, not the next";
    EXPECT_GT(f.last_repair_ns, 0);
  }
  EXPECT_GT(lost_data, 0U);
}

// Losses of every kind at once, some on the same links: the sum over the faults is what the network lost.
TEST(FaultAccount, FaultsOfAllKindsAddUpAndThoseThatLoseNothingAreListed) {
  const Outcome o =
      run(std::string(kPermutation) +
          "faults:\n"
          "  - {kind: loss, place: fabric, probability: 0.004}\n"
          "  - {kind: loss, place: plane, plane: 0, probability: 0.01}\n"
          "  - {kind: loss, place: ev, ev: 5}\n"
          "  - {kind: corrupt, place: plane, plane: 1, probability: 0.01, at_us: 10, for_us: 100}\n"
          "  - {kind: duplicate, place: plane, plane: 2, probability: 0.01}\n"
          "  - {kind: reorder, place: plane, plane: 2, probability: 0.01, delay_us: 3}\n"
          "  - {kind: slow, place: plane, plane: 3, fraction: 0.5, at_us: 100}\n"
          "  - {kind: delay, place: uplink, plane: 3, delay_us: 2, at_us: 100}\n"
          "  - {kind: black_hole, place: switch, tier: 1, index: 2, plane: 3, at_us: 40, for_us: 50}\n"
          "  - {kind: down, place: uplink, plane: 3, uplink: 1, at_us: 60}\n"
          "  - {kind: down, place: uplink, plane: 3, uplink: 1, at_us: 19999999}\n");
  EXPECT_TRUE(o.pass()) << to_table(o);
  ASSERT_EQ(o.faults.size(), 10U) << "all but the one that never began";
  std::uint64_t booked = 0;
  std::size_t silent = 0;
  for (const FaultOutcome& f : o.faults) {
    booked += f.lost_data + f.lost_other;
    silent += f.lost_data + f.lost_other == 0 ? 1 : 0;
    EXPECT_EQ(f.open, 0U) << to_table(o);
  }
  EXPECT_EQ(booked, lost(o)) << to_table(o);
  EXPECT_EQ(silent, 4U) << "duplicate, reorder, slow, delay\n" << to_table(o);
  EXPECT_GT(o.count(o.network, "duplicated"), 0U);
  EXPECT_GT(o.count(o.network, "corrupt_dropped"), 0U);
}

TEST(FaultAccount, OnOneLinkTheStrongestAnswersAndOfEqualsTheFirst) {
  const Outcome o = run(std::string(kPermutation) +
                        "faults:\n"
                        "  - {kind: loss, place: plane, plane: 0, probability: 0.001}\n"
                        "  - {kind: loss, place: plane, plane: 0, probability: 0.1}\n"
                        "  - {kind: down, place: uplink, plane: 1, uplink: 1, at_us: 20}\n"
                        "  - {kind: down, place: switch, plane: 1, tier: 1, index: 1, at_us: 20}\n");
  ASSERT_EQ(o.faults.size(), 4U);
  EXPECT_EQ(o.faults[0].lost_data, 0U);
  EXPECT_GT(o.faults[1].lost_data, 0U);
  EXPECT_GT(o.faults[2].lost_data, 0U);
  EXPECT_GT(o.faults[3].lost_data, 0U) << "the switch's other links";
}

TEST(FaultAccount, PercentilesOfQueuesDoNotPassTheMaximum) {
  const Outcome o = run(kPermutation);
  std::size_t used = 0;
  for (const QueueOutcome& q : o.queues) {
    EXPECT_LE(q.p50_bytes, q.max_bytes) << q.where;
    EXPECT_LE(q.p999_bytes, q.max_bytes) << q.where;
    used += q.p50_bytes != 0 ? 1 : 0;
  }
  EXPECT_GT(used, 0U) << "ports that are busy all the time";
}

}  // namespace
}  // namespace mrc::sim
