// SPDX-License-Identifier: BSD-3-Clause
// Values by hand from the published algorithm.
#include "sim/dcqcn.h"

#include <gtest/gtest.h>

#include <cmath>

namespace mrc::sim {
namespace {

Time us(std::int64_t t) {
  return Time{} + microseconds(t);
}
constexpr double kLine = 100e9;

TEST(Dcqcn, TheFirstCnpHalvesAndRecoveryHalvesTheWayBack) {
  Dcqcn d(DcqcnParams::paper(kLine), us(0));
  EXPECT_EQ(d.rate_bps(us(100)), kLine);
  d.on_cnp(us(100));
  EXPECT_EQ(d.rate_bps(us(100)), 50e9) << "alpha is 1";
  EXPECT_EQ(d.target_bps(), kLine);
  EXPECT_EQ(d.rate_bps(us(154)), 50e9);
  const double steps[] = {75e9, 87.5e9, 93.75e9, 96.875e9};
  std::int64_t t = 100;
  for (const double rate : steps) EXPECT_EQ(d.rate_bps(us(t += 55)), rate) << t;
}

TEST(Dcqcn, AlphaRisesWithCnpsAndDecaysWithoutThem) {
  Dcqcn d(DcqcnParams::paper(kLine), us(0));
  d.on_cnp(us(0));
  EXPECT_EQ(d.alpha(), 1.0);
  (void)d.rate_bps(us(55 * 4));
  EXPECT_NEAR(d.alpha(), std::pow(255.0 / 256, 4), 1e-12);
  const double before = d.alpha();
  const double rate = d.rate_bps(us(220));
  d.on_cnp(us(220));
  EXPECT_NEAR(d.rate_bps(us(220)), rate * (1 - before / 2), 1) << "cut by the alpha before this CNP";
  EXPECT_NEAR(d.alpha(), before * 255 / 256 + 1.0 / 256, 1e-12);
}

TEST(Dcqcn, AfterFastRecoveryTheTargetClimbs) {
  DcqcnParams p = DcqcnParams::paper(kLine);
  p.initial_alpha = 0.5;
  Dcqcn d(p, us(0));
  d.on_cnp(us(0));
  d.on_cnp(us(0));  // twice, so that the target lies below the line rate
  const double target = d.target_bps();
  EXPECT_EQ(target, 75e9);
  (void)d.rate_bps(us(55 * 4));
  EXPECT_EQ(d.target_bps(), target) << "fast recovery leaves the target";
  (void)d.rate_bps(us(55 * 5));
  EXPECT_EQ(d.target_bps(), target + 40e6) << "additive";
  (void)d.rate_bps(us(55 * 6));
  EXPECT_EQ(d.target_bps(), target + 80e6);
  // The byte counter catches up; with both past F the strides grow: 1, then 2 times R_HAI.
  d.on_sent(5 * 10'000'000, us(55 * 6));
  const double additive = d.target_bps();
  EXPECT_EQ(additive, target + (2 + 5) * 40e6) << "one of the two is not past F yet";
  d.on_sent(10'000'000, us(55 * 6));
  EXPECT_EQ(d.target_bps(), additive + 400e6);
}

TEST(Dcqcn, ReturnsToLineRateAndStopsCounting) {
  Dcqcn d(DcqcnParams::paper(kLine), us(0));
  d.on_cnp(us(0));
  EXPECT_EQ(d.rate_bps(us(55 * 40)), kLine);
  EXPECT_EQ(d.target_bps(), kLine);
}

TEST(Dcqcn, NicDefaultsSpaceTheirCuts) {
  Dcqcn d(DcqcnParams::nic(kLine), us(0));
  d.on_cnp(us(10));
  const double once = d.rate_bps(us(10));
  EXPECT_NEAR(once, kLine * (1 - 1023.0 / 2048), 1);
  d.on_cnp(us(13));
  EXPECT_EQ(d.rate_bps(us(13)), once) << "within 4 us";
  d.on_cnp(us(14));
  EXPECT_LT(d.rate_bps(us(14)), once);
  EXPECT_EQ(d.target_bps(), kLine) << "a burst of CNPs does not forget the way back";
  EXPECT_GT(d.rate_bps(us(314)), kLine / 2);
  const double grown = d.rate_bps(us(314));
  d.on_cnp(us(315));
  EXPECT_EQ(d.target_bps(), grown) << "after a step of the timer it is news";
}

TEST(Dcqcn, NeverBelowTheMinimum) {
  Dcqcn d(DcqcnParams::paper(kLine), us(0));
  for (int i = 0; i < 100; ++i) d.on_cnp(us(i));
  EXPECT_EQ(d.rate_bps(us(100)), 1e6);
}

TEST(Dcqcn, RefusesWhatMakesNoSense) {
  EXPECT_TRUE(DcqcnParams::paper(kLine).check());
  EXPECT_TRUE(DcqcnParams::nic(kLine).check());
  EXPECT_FALSE(DcqcnParams::paper(0).check());
  const auto bad = [](auto change) {
    DcqcnParams p = DcqcnParams::paper(kLine);
    change(p);
    return !p.check();
  };
  EXPECT_TRUE(bad([](DcqcnParams& p) { p.g = 0; }));
  EXPECT_TRUE(bad([](DcqcnParams& p) { p.min_rate_bps = 2 * kLine; }));
  EXPECT_TRUE(bad([](DcqcnParams& p) { p.timer = {}; }));
  EXPECT_TRUE(bad([](DcqcnParams& p) { p.byte_counter = 0; }));
  EXPECT_TRUE(bad([](DcqcnParams& p) { p.min_decrease = 0; }));
  EXPECT_TRUE(bad([](DcqcnParams& p) { p.hyper_bps = -1; }));
}

}  // namespace
}  // namespace mrc::sim
