// SPDX-License-Identifier: BSD-3-Clause
// Each claim over ten seeds, and its control.
#include "sim/claims.h"

#include <gtest/gtest.h>

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
}
TEST(Claims, C06AnIncastDoesNotHurtItsNeighbour) {
  expect_holds("6 victim");
}
TEST(Claims, C07OneOfEightPortsCostsAnEighth) {
  expect_holds("7 port");
}
TEST(Claims, C08ASwallowingSwitchIsHarmless) {
  expect_holds("8 reboot");
}
TEST(Claims, C09ADeadEvCostsAboutOnePacket) {
  expect_holds("9 start");
}
TEST(Claims, C11RandomLossCostsLittle) {
  expect_holds("11 loss 0.1 %");
  expect_holds("11 loss 1 %");
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

// Claim 3: a curve with its best point inside.
TEST(Claims, C03TheBestNumberOfEvsLiesInside) {
  std::vector<double> medians;
  for (const char* evs : {"8", "32", "512"}) {
    Claim point;
    point.name = "3 active set";
    point.file = "claim-03-active-set.yaml";
    point.settings = {{"paths.evs", evs}};
    point.number = [](const World&, const Outcome& o) { return o.tail_over_ideal(); };
    ClaimResult r;
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      const auto number = measure(point, MRC_SIM_CONFIG_DIR, false, seed);
      ASSERT_TRUE(number) << number.error().message;
      r.with.push_back(*number);
    }
    medians.push_back(r.median_with());
  }
  EXPECT_LT(medians[1], 0.9 * medians[0]) << "few EVs collide";
  EXPECT_LT(medians[1], 0.97 * medians[2]) << "many EVs take long to be found dead";
}

}  // namespace
}  // namespace mrc::sim
