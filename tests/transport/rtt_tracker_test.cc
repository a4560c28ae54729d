// SPDX-License-Identifier: BSD-3-Clause
// Figures of D8 and D18: base RTT, smoothed RTT and the reordering allowance. Base RTT 10 us.
#include "transport/rtt_tracker.h"
#include "transport/full_queues.h"

#include <gtest/gtest.h>

namespace mrc::transport {
namespace {

constexpr Time at_us(std::int64_t us) {
  return Time{} + microseconds(us);
}
RttTracker fixed_base() {
  return RttTracker(microseconds(10), false);
}

TEST(RttTracker, StartsFromTheConfiguredBase) {
  const RttTracker t = fixed_base();
  EXPECT_EQ(t.base(), microseconds(10));
  EXPECT_EQ(t.srtt(), microseconds(10));
  EXPECT_EQ(t.reo(at_us(100)), microseconds(10));
}

TEST(RttTracker, SmoothsByAnEighth) {
  RttTracker t = fixed_base();
  t.add(microseconds(20), at_us(100), true);
  EXPECT_EQ(t.srtt(), microseconds(20)) << "the first one is taken as it is";
  t.add(microseconds(28), at_us(101), true);
  EXPECT_EQ(t.srtt(), microseconds(21));
  t.add(microseconds(0), at_us(102), true);
  EXPECT_EQ(t.srtt(), microseconds(21)) << "no sample";
}

// D8. 1.25 x the spread, not below one base RTT and not above four.
TEST(RttTracker, AllowanceFollowsTheSpread) {
  const std::pair<std::int64_t, std::int64_t> spread_and_reo[] = {
      {0, 10'000},      {8'000, 10'000},  {8'800, 11'000},  {12'000, 15'000},
      {31'200, 39'000}, {32'000, 40'000}, {33'600, 40'000}, {90'000, 40'000}};
  for (const auto& [spread, reo] : spread_and_reo) {
    RttTracker t = fixed_base();
    t.add(microseconds(11), at_us(100), true);
    t.add(microseconds(11) + nanoseconds(spread), at_us(101), true);
    EXPECT_EQ(t.reo(at_us(102)), nanoseconds(reo)) << spread;
  }
}

// The extremes of the last four base RTTs and of the running one.
TEST(RttTracker, ExtremesAreForgottenAfterFourBaseRtts) {
  RttTracker t = fixed_base();
  t.add(microseconds(11), at_us(100), true);
  t.add(microseconds(27), at_us(101), true);
  for (int us = 110; us < 150; us += 10) {
    t.add(microseconds(11), at_us(us), true);
    EXPECT_EQ(t.reo(at_us(us)), microseconds(20)) << us;
  }
  t.add(microseconds(11), at_us(150), true);
  EXPECT_EQ(t.reo(at_us(150)), microseconds(10));
}

TEST(RttTracker, APauseForgetsEverything) {
  RttTracker t = fixed_base();
  t.add(microseconds(11), at_us(100), true);
  t.add(microseconds(27), at_us(101), true);
  t.add(microseconds(11), at_us(10'000), true);
  EXPECT_EQ(t.reo(at_us(10'000)), microseconds(10));
}

// D8, D9. Half as much again after each spurious loss, up to eight times; the excess falls by a sixteenth a
// base RTT, and reaches nothing.
TEST(RttTracker, ASpuriousLossWidensTheAllowanceForAWhile) {
  RttTracker t = fixed_base();
  t.on_spurious(at_us(100));
  EXPECT_EQ(t.reo(at_us(100)), microseconds(15));
  EXPECT_EQ(t.reo(at_us(109)), microseconds(15));
  EXPECT_EQ(t.reo(at_us(110)), nanoseconds(14'687)) << "a sixteenth of 5 us less";
  EXPECT_EQ(t.reo(at_us(120)), nanoseconds(14'375));
  EXPECT_GT(t.reo(at_us(300)), microseconds(10));
  EXPECT_EQ(t.reo(at_us(2000)), microseconds(10));
  t.on_spurious(at_us(2000));
  t.on_spurious(at_us(2000));
  EXPECT_EQ(t.reo(at_us(2000)), nanoseconds(22'500));
  for (int i = 0; i < 4; ++i) t.on_spurious(at_us(2000));
  EXPECT_EQ(t.reo(at_us(2000)), microseconds(80)) << "8 times, not 11";
  RttTracker decayed = fixed_base();
  decayed.on_spurious(at_us(100));
  decayed.on_spurious(at_us(110));
  EXPECT_EQ(decayed.reo(at_us(110)), nanoseconds(22'031))
      << "what is left of the first counts for the second";
}

// The smallest RTT of a Write where that is above the configured base, and only if asked for.
TEST(RttTracker, LearnsABaseThatWasSetTooSmall) {
  RttTracker t(microseconds(10), true);
  t.add(microseconds(30), at_us(100), true);
  EXPECT_EQ(t.base(), microseconds(30));
  t.add(microseconds(40), at_us(200), true);
  EXPECT_EQ(t.base(), microseconds(30));
  t.add(microseconds(25), at_us(300), true);
  EXPECT_EQ(t.base(), microseconds(25));
  EXPECT_EQ(t.reo(at_us(10'000)), microseconds(25)) << "the bounds scale with it";
  t.add(microseconds(5), at_us(400), true);
  EXPECT_EQ(t.base(), microseconds(10)) << "not below what was configured";
  RttTracker off = fixed_base();
  off.add(microseconds(30), at_us(100), true);
  EXPECT_EQ(off.base(), microseconds(10));
}

// D8. A trimmed packet tells of a full queue, and only what left later, over the same plane, how long it is.
TEST(FullQueues, AreUntoldUntilASampleComesFromBehind) {
  const Duration memory = microseconds(40);
  FullQueues q;
  q.on_trimmed(2, at_us(90), at_us(100), memory);
  EXPECT_TRUE(q.untold(2, at_us(100)));
  EXPECT_FALSE(q.untold(1, at_us(100))) << "another plane's queues are others";
  q.on_passed(2, at_us(89), at_us(105), memory);
  EXPECT_TRUE(q.untold(2, at_us(105))) << "it left before the trimmed one";
  q.on_passed(1, at_us(95), at_us(106), memory);
  EXPECT_TRUE(q.untold(2, at_us(106)));
  q.on_passed(2, at_us(90), at_us(110), memory);
  EXPECT_FALSE(q.untold(2, at_us(110)));
  q.on_trimmed(2, at_us(112), at_us(149), memory);
  EXPECT_FALSE(q.untold(2, at_us(149))) << "the samples know of a full queue";
  q.on_trimmed(2, at_us(140), at_us(150), memory);
  EXPECT_TRUE(q.untold(2, at_us(189))) << "and forget it";
  EXPECT_FALSE(q.untold(2, at_us(190))) << "nothing came from behind: the notice is old";
}

// D18. Probes are smaller than data: they count for srtt and reo and never for the base.
TEST(RttTracker, ProbesDoNotTeachTheBase) {
  RttTracker t(microseconds(10), true);
  t.add(microseconds(50), at_us(100), false);
  EXPECT_EQ(t.base(), microseconds(10));
  EXPECT_EQ(t.srtt(), microseconds(15));
  t.add(microseconds(30), at_us(101), true);
  EXPECT_EQ(t.base(), microseconds(30));
  EXPECT_EQ(t.srtt(), microseconds(30)) << "the first Write is taken as it is";
  t.add(microseconds(12), at_us(102), false);
  EXPECT_EQ(t.base(), microseconds(30));
  EXPECT_LT(t.srtt(), microseconds(30));
  EXPECT_EQ(t.reo(at_us(103)), nanoseconds(47'500)) << "they spread it: 1.25 x (50 - 12) us";
}

}  // namespace
}  // namespace mrc::transport
