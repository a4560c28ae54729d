// SPDX-License-Identifier: BSD-3-Clause
// Each claim over ten seeds, and its control.
#include "sim/claims.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "sim/claims_page.h"

namespace mrc::sim {
namespace {

void expect_holds(const char* name, unsigned seeds = 10) {
  const auto all = claims();
  const Claim& claim = claim_named(all, name);
  ClaimResult r;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    for (const bool control : {false, true}) {
      const auto number = measure(claim, MRC_SIM_CONFIG_DIR, control, seed);
      ASSERT_TRUE(number) << claim.name << " seed " << seed << ": " << number.error().message;
      (control ? r.without : r.with).push_back(*number);
    }
  }
  judge(claim, r);
  for (const std::string& f : r.failures)
    ADD_FAILURE() << f << "\n" << claims_header() << claim_line(claim, r);
}

TEST(Claims, C01AFailedLinkIsLeftAndRepairedInAFewRtts) {
  expect_holds("1 failover");
}
TEST(Claims, C04OneQpBeatsSixteenOfRoceInAPermutation) {
  expect_holds("4 permutation");
}
TEST(Claims, C04OneQpBeatsSixteenOfRoceInARing) {
  expect_holds("4 ring");
}
TEST(Claims, C05TheCoreStaysBelowItsMarks) {
  expect_holds("5 core");
  expect_holds("5 full load");
}
TEST(Claims, C06AnIncastDoesNotHurtItsNeighbour) {
  expect_holds("6 victim");
  expect_holds("6 victim, RoCE");
}
TEST(Claims, C07OneOfEightPortsCostsAnEighth) {
  expect_holds("7 port");
  expect_holds("7 notice");
}
TEST(Claims, C08ASwallowingSwitchIsHarmless) {
  expect_holds("8 reboot");
  expect_holds("8 losses");
}
TEST(Claims, C09ADeadEvCostsAboutOnePacket) {
  expect_holds("9 start");
}
TEST(Claims, C10CollectivesDoNotNoticeFlaps) {
  expect_holds("10 flaps");
}
TEST(Claims, C11RandomLossCostsLittle) {
  expect_holds("11 loss 0.1 %");
  expect_holds("11 loss 1 %");
  expect_holds("11 loss 1 %, RoCE");
}
TEST(Claims, C12TrimmingTellsCongestionFromFailure) {
  expect_holds("12 trimming");
}

TEST(Claims, C14BackupsOfTheSamePlaneAvoidAFalseIncast) {
  expect_holds("14 replacement");
}
TEST(Claims, C17UpkeepOfTheReverseSetImprovesTheTail) {
  expect_holds("17 reverse");
}

// A policy of our own: what it gains, and that it does no harm.
TEST(RttRerouting, LeavesASlowLink) {
  expect_holds("RTT slow link");
}
TEST(RttRerouting, LeavesLongQueues) {
  expect_holds("RTT queues");
}
TEST(RttRerouting, DoesNoHarmOnAHealthyFabric) {
  Claim healthy;
  healthy.name = "RTT healthy";
  healthy.file = "rtt-healthy.yaml";
  healthy.control = {{"paths.rtt_reroute", "false"}};
  healthy.number = [](const World&, const Outcome& o) { return 1 / o.goodput_bps; };  // the time it took
  ClaimResult times;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const auto with = measure(healthy, MRC_SIM_CONFIG_DIR, false, seed);
    const auto without = measure(healthy, MRC_SIM_CONFIG_DIR, true, seed);
    ASSERT_TRUE(with && without);
    EXPECT_LT(*with, 1.02 * *without) << "seed " << seed;
    times.with.push_back(*with);
    times.without.push_back(*without);
  }
  EXPECT_LT(times.median_with(), 1.005 * times.median_without());
}

TEST(Claims, AllThirteenAreInTheTable) {
  std::set<std::string> numbers;
  for (const Claim& c : claims()) numbers.insert(c.name.substr(0, c.name.find(' ')));
  const std::string curve = active_set_curve().name;
  numbers.insert(curve.substr(0, curve.find(' ')));
  numbers.erase("RTT");
  EXPECT_EQ(numbers,
            (std::set<std::string>{"1", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "14", "17"}));
}

TEST(Claims, ThePageSaysWhatHoldsAndWhatDoesNot) {
  MeasuredClaims m;
  m.seeds = 2;
  m.claims.emplace_back(claims()[0], ClaimResult{{3, 4}, {100, 101}, {}});
  m.curves.emplace_back(active_set_curve(), CurveResult{std::vector<std::vector<double>>(7, {1.5, 1.6}),
                                                        std::vector<std::vector<double>>(7, {1.5, 1.6}),
                                                        {}});
  judge(m.claims[0].first, m.claims[0].second);
  judge(m.curves[0].first, m.curves[0].second);
  EXPECT_TRUE(m.claims[0].second.failures.empty());
  EXPECT_FALSE(m.curves[0].second.failures.empty()) << "flat: no best inside";
  const report::html::Page page = claims_page(m);
  EXPECT_FALSE(page.pass);
  ASSERT_EQ(page.comparisons.size(), 1U);
  ASSERT_EQ(page.comparisons[0].rows.size(), 1U);
  EXPECT_DOUBLE_EQ(page.comparisons[0].rows[0].with.median, 3.5);
  EXPECT_DOUBLE_EQ(page.comparisons[0].rows[0].without.high, 101);
  ASSERT_EQ(page.curves.size(), 1U);
  ASSERT_EQ(page.curves[0].points.size(), 7U);
  EXPECT_DOUBLE_EQ(page.curves[0].points[6].x, 512);
  ClaimResult swapped{{100, 101}, {3, 4}, {}};
  judge(m.claims[0].first, swapped);
  EXPECT_EQ(swapped.failures.size(), 2U) << "the number misses, and the control keeps the limit";
}

TEST(Claims, C03TheBestNumberOfEvsLiesInside) {
  const ClaimCurve curve = active_set_curve();
  CurveResult r;
  for (std::size_t i = 0; i < curve.points.size(); ++i) {
    for (const bool control : {false, true}) {
      std::vector<double>& values = (control ? r.of_control : r.by_point).emplace_back();
      for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        const auto number = measure(curve.at(i), MRC_SIM_CONFIG_DIR, control, seed);
        ASSERT_TRUE(number) << number.error().message;
        values.push_back(*number);
      }
    }
  }
  judge(curve, r);
  EXPECT_TRUE(r.failures.empty()) << curve_lines(curve, r);
  CurveResult swapped{r.of_control, r.by_point, {}};
  judge(curve, swapped);
  EXPECT_EQ(swapped.failures.size(), 2U)
      << "the control has no best inside, and what should have none has one";
}

}  // namespace
}  // namespace mrc::sim
