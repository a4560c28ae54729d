// SPDX-License-Identifier: BSD-3-Clause
// The published-by-hand vectors of NSCC, each under its number. Values are exact rationals; kTol absorbs the
// rounding of double arithmetic and of the printed digits.
#include <gtest/gtest.h>

#include "bench.h"

namespace mrc::cc {
namespace {

using wire::NackReason;
constexpr double kTol = 5e-3;
constexpr std::int64_t kMtu = 4096;

TEST(NsccVector, V02_Proportional) {
  Bench b(vector_params(), 100000);
  b.acks(8, 1000, kMtu, false, 3000);
  EXPECT_EQ(b.cwnd(), 100000);
  EXPECT_NEAR(b.s().inc, 268435456, kTol);
  EXPECT_EQ(b.s().rcv, 32768) << "the threshold is exceeded, not met";
  b.ack(9000, kMtu, false, 3000);
  EXPECT_NEAR(b.cwnd(), 103019.89888, kTol);
  EXPECT_EQ(b.s().inc, 0);
  EXPECT_EQ(b.s().rcv, 0);
  EXPECT_EQ(b.s().qa_end, at(22000)) << "opened by the first ACK";
}

TEST(NsccVector, V03_Fair) {
  Bench b(vector_params(), 100000);
  b.acks(9, 1000, kMtu, false, 9000);
  EXPECT_NEAR(b.cwnd(), 107549.7472, kTol);
}

TEST(NsccVector, V04_NoOp) {
  Bench b(vector_params(), 100000);
  b.acks(9, 1000, kMtu, true, 8999);
  EXPECT_EQ(b.cwnd(), 100000);
  EXPECT_EQ(b.s().rcv, 0) << "the adjustment ran, with nothing gathered";
}

TEST(NsccVector, V05_DecreaseDepth) {
  const std::pair<std::int64_t, double> depth[] = {{9000, 100000}, {9128, 98878.177}, {10000, 92000},
                                                   {12000, 80000}, {13500, 73333.33}, {18000, 60000},
                                                   {24000, 50000}, {36000, 50000}};
  for (const auto& [delay, cwnd] : depth) {
    Bench b(vector_params(), 100000);
    b.ack(12001, kMtu, true, delay);
    EXPECT_NEAR(b.cwnd(), cwnd, kTol) << delay;
  }
}

TEST(NsccVector, V06_DecreaseSpacing) {
  Bench b(vector_params(), 100000);
  const std::pair<std::int64_t, double> steps[] = {
      {12000, 100000}, {12001, 60000}, {24001, 60000}, {24002, 36000}};
  for (const auto& [t, cwnd] : steps) {
    b.ack(t, kMtu, true, 18000);
    EXPECT_NEAR(b.cwnd(), cwnd, kTol) << t;
  }
}

TEST(NsccVector, V07_AverageAgainstSample) {
  NsccParams p = vector_params();
  p.choices.average = DelayAverage::kEwmaQuarter;
  Bench low(p, 100000);
  low.acks(4, 9000, kMtu, false, 0);
  NsccState fast = low.s();
  fast.fast = true;
  fast.clean = 5000;
  Nscc n(p, Time{});
  n.set_state(fast);
  const double before = fast.cwnd;
  n.on_ack({.newly_received_bytes = kMtu, .marked = true, .rtt = p.base_rtt + nanoseconds(9000)}, 0,
           at(14000));
  EXPECT_LE(n.state().avg_ns, 9000);
  EXPECT_EQ(n.state().cwnd, before) << "average at or below target: no cut";
  EXPECT_FALSE(n.state().fast);
  EXPECT_EQ(n.state().clean, 0);

  NsccState queued = n.state();
  queued.avg_ns = 50000;
  n.set_state(queued);
  n.on_ack({.newly_received_bytes = kMtu, .marked = true, .rtt = p.base_rtt + nanoseconds(8999)}, 0,
           at(15000));
  EXPECT_GT(n.state().avg_ns, 9000);
  EXPECT_EQ(n.state().cwnd, before) << "marked below target: left to the paths";
}

TEST(NsccVector, V08_Eta) {
  NsccParams p = vector_params();
  p.adjust_period_threshold = nanoseconds(12000);
  Bench b(p, 100000);
  const std::pair<std::int64_t, double> steps[] = {
      {11999, 100000}, {12000, 100614.4}, {23999, 100614.4}, {24000, 101228.8}};
  for (const auto& [t, cwnd] : steps) {
    b.ack(t, kMtu, true, 3000);
    EXPECT_NEAR(b.cwnd(), cwnd, kTol) << t;
  }
  EXPECT_EQ(b.s().t_adj, at(24000));
}

TEST(NsccVector, V10_FastIncrease) {
  Bench b(vector_params(), 12288);
  b.acks(3, 1000, kMtu, false, 0);
  EXPECT_EQ(b.cwnd(), 12288);
  EXPECT_EQ(b.s().clean, 12288);
  EXPECT_NEAR(b.s().inc, 150994944, kTol);
  EXPECT_FALSE(b.s().fast);
  const double grown[] = {13312, 14336, 15360};
  std::int64_t t = 4000;
  for (const double cwnd : grown) {
    b.ack(t, kMtu, false, 0);
    t += 1000;
    EXPECT_EQ(b.cwnd(), cwnd);
    EXPECT_TRUE(b.s().fast);
  }
  b.ack(t, kMtu, false, 1000);
  EXPECT_FALSE(b.s().fast);
  EXPECT_EQ(b.s().clean, 0);
  EXPECT_NEAR(b.s().inc, 195734186.67, kTol);
  EXPECT_EQ(b.cwnd(), 15360);
  b.ack(t + 1000, kMtu, false, 0);
  EXPECT_FALSE(b.s().fast);
  EXPECT_EQ(b.s().clean, 4096);
}

// The common part of 11, 13 and 15: a trim at 5000, then ACKs up to 10000.
Bench trimmed(const NsccParams& p) {
  Bench b(p, 225000, 120000);
  b.nack(5000, NackReason::kTrimmed, kMtu);
  EXPECT_EQ(b.cwnd(), 220904);
  EXPECT_EQ(b.inflight(), 115904);
  return b;
}

TEST(NsccVector, V11_QuickAdaptFires) {
  Bench b = trimmed(vector_params());
  EXPECT_EQ(b.s().ign_done, 4096);
  EXPECT_TRUE(b.s().trig);
  EXPECT_EQ(b.s().qa_end, at(26000)) << "the first window: opened, not judged";
  b.acks(5, 6000, kMtu, true, 3000);
  Bench early = b;
  early.ack(25999, kMtu, true, 3000);
  EXPECT_EQ(early.cwnd(), 220904);
  EXPECT_EQ(early.s().ach, 24576);
  b.ack(26000, kMtu, true, 3000);
  EXPECT_EQ(b.cwnd(), 24576);
  EXPECT_EQ(b.s().ign_goal, 91328);
  EXPECT_EQ(b.s().ign_goal, b.inflight());
  EXPECT_EQ(b.s().ign_done, 0);
  EXPECT_FALSE(b.s().trig);
  EXPECT_EQ(b.s().ach, 0);
  EXPECT_EQ(b.s().qa_end, at(47000));
}

TEST(NsccVector, V13_QuickAdaptGate) {
  Bench b = trimmed(vector_params());
  b.acks(6, 6000, kMtu, true, 3000);
  b.ack(26000, kMtu, true, 3000);
  EXPECT_EQ(b.cwnd(), 220904) << "28672 B arrived, the gate is 28125";
  EXPECT_TRUE(b.s().trig) << "sticky";
  EXPECT_EQ(b.s().ach, 0);
  EXPECT_EQ(b.s().qa_end, at(47000));
}

TEST(NsccVector, V15_QuickAdaptDisabled) {
  NsccParams p = vector_params();
  p.disable_qa = true;
  Bench b = trimmed(p);
  b.acks(5, 6000, kMtu, true, 3000);
  b.ack(26000, kMtu, true, 3000);
  EXPECT_EQ(b.cwnd(), 220904);
}

TEST(NsccVector, V16_NackReasons) {
  for (const NackReason reason : {NackReason::kTrimmed, NackReason::kTrimmedLasthop}) {
    Bench b(vector_params(), 50000, 40000);
    b.nack(5000, reason, 4136);
    EXPECT_EQ(b.cwnd(), 45864);
    EXPECT_EQ(b.inflight(), 35864);
    EXPECT_EQ(b.s().ign_done, 4136);
    EXPECT_EQ(b.s().avg_ns, 12000);
    EXPECT_TRUE(b.s().trig);
    EXPECT_EQ(b.s().qa_end, at(26000));
  }
  NsccParams credited = vector_params();
  credited.choices.lasthop_credited = true;
  Bench c(credited, 50000, 40000);
  c.nack(5000, NackReason::kTrimmedLasthop, 4136);
  EXPECT_EQ(c.cwnd(), 50000);
  EXPECT_EQ(c.inflight(), 35864);
  EXPECT_EQ(c.s().ign_done, 4136);
  EXPECT_EQ(c.s().avg_ns, 12000);
  EXPECT_FALSE(c.s().trig);
  for (const NackReason reason : {NackReason::kNoPktBuffer, NackReason::kNoBitmap, NackReason::kNoResource,
                                  NackReason::kPsnOorWindow, NackReason::kUnexpEvent}) {
    Bench b(vector_params(), 50000, 40000);
    b.nack(5000, reason, 4136);
    EXPECT_EQ(b.cwnd(), 50000);
    EXPECT_EQ(b.inflight(), 35864);
    EXPECT_EQ(b.s().ign_done, 0);
    EXPECT_EQ(b.s().avg_ns, 0);
    EXPECT_EQ(b.s().qa_end, Time{});
  }
}

TEST(NsccVector, V17_Floor) {
  Bench trim(vector_params(), 5000, 10000);
  trim.nack(5000, NackReason::kTrimmed, 4136);
  EXPECT_EQ(trim.cwnd(), 4096);
  Bench lost(vector_params(), 5000, 10000);
  lost.loss(5000, 4136);
  EXPECT_EQ(lost.cwnd(), 4096);
}

TEST(NsccVector, V18_InferredLoss) {
  Bench b(vector_params(), 50000, 40000);
  b.loss(5000, 4136);
  EXPECT_EQ(b.cwnd(), 45864);
  EXPECT_EQ(b.inflight(), 35864);
  EXPECT_EQ(b.s().ign_done, 4136);
  EXPECT_EQ(b.s().qa_end, Time{}) << "no quick-adapt window";
  EXPECT_FALSE(b.s().trig);
}

TEST(NsccVector, V19_ResponderPenalty) {
  Bench b(vector_params(), 100000, 64096);
  b.ack(1000, kMtu, false, 3000, 64);
  EXPECT_EQ(b.inflight(), 60000);
  EXPECT_EQ(b.cwnd(), 57952);
  EXPECT_EQ(b.s().saved, 100000);
  EXPECT_EQ(b.s().inc, 0);
  b.ack(2000, kMtu, false, 3000, 127);
  EXPECT_EQ(b.inflight(), 55904);
  EXPECT_EQ(b.cwnd(), 51840);
  b.ack(3000, kMtu, false, 3000, 0, true);
  EXPECT_EQ(b.cwnd(), 100000);
  EXPECT_EQ(b.s().saved, 0);
  EXPECT_NEAR(b.s().inc, 33554432, kTol);

  Bench blind(vector_params(), 100000, 64096);
  blind.ack(1000, kMtu, false, Bench::kNoRtt, 64);
  EXPECT_EQ(blind.cwnd(), 57952);
  EXPECT_EQ(blind.s().qa_end, Time{});
}

// --- Rules that no numbered vector shows

// Quick Adapt that handled an event throws away what increase was gathered (2.6).
TEST(NsccRule, AHandledEventDropsTheGatheredIncrease) {
  Bench b = trimmed(vector_params());
  b.acks(4, 6000, kMtu, false, 3000);
  EXPECT_GT(b.s().inc, 0);
  EXPECT_GT(b.s().rcv, 0);
  Bench unhandled = b;
  unhandled.ack(25999, kMtu, true, 3000);
  EXPECT_GT(unhandled.s().inc, 0);
  EXPECT_GT(unhandled.s().rcv, 0);
  b.ack(26000, kMtu, true, 3000);
  EXPECT_EQ(b.s().inc, 0);
  EXPECT_EQ(b.s().rcv, 0);
}

// While what was in flight at the cut drains, marked SACKs are ignored and unmarked ones are not (2.6).
TEST(NsccRule, OnlyMarkedSacksAreIgnoredAfterQuickAdapt) {
  Bench b = trimmed(vector_params());
  b.acks(5, 6000, kMtu, true, 3000);
  b.ack(26000, kMtu, true, 3000);
  ASSERT_LT(b.s().ign_done, b.s().ign_goal);
  Bench marked = b;
  marked.ack(27000, kMtu, true, 18000);
  EXPECT_EQ(marked.cwnd(), 24576) << "18 us of delay would halve it";
  EXPECT_EQ(marked.s().rcv, 0) << "handled";
  b.ack(27000, kMtu, false, 3000);
  EXPECT_NEAR(b.s().inc, 33554432, kTol);
  EXPECT_EQ(b.s().rcv, kMtu);
}

// The RTT of a NACK lowers base and, with it, the ceiling (2.7).
TEST(NsccRule, ANackLowersTheBaseRtt) {
  for (const NackReason reason : {NackReason::kTrimmed, NackReason::kNoPktBuffer}) {
    Bench b(vector_params(), 50000, 40000);
    b.nack(5000, reason, 4136, -6000);
    EXPECT_EQ(b.s().base, nanoseconds(6000));
    EXPECT_EQ(b.s().wmax, 112500) << "1.5 BDP of what is the base RTT now";
    b.nack(6000, reason, 4136, 1000);
    EXPECT_EQ(b.s().base, nanoseconds(6000)) << "it only falls";
  }
}

// A trim counts as one sample of the configured base RTT, whatever was learnt since (2.7).
TEST(NsccRule, ATrimIsASampleOfTheConfiguredBaseRtt) {
  Bench b(vector_params(), 50000, 40000);
  b.ack(1000, kMtu, false, -6000);
  ASSERT_EQ(b.s().base, nanoseconds(6000));
  b.nack(5000, NackReason::kTrimmed, 4136);
  EXPECT_EQ(b.s().avg_ns, 12000);
}

// Quick Adapt fires below its gate and not at it (2.6).
TEST(NsccRule, QuickAdaptNeedsLessThanItsGate) {
  for (const std::int64_t arrived : {28124, 28125}) {
    Bench b = trimmed(vector_params());
    b.ack(26000, arrived, true, 3000);
    EXPECT_EQ(b.cwnd(), arrived == 28124 ? 28124 : 220904) << arrived;
  }
}

// The window is cut when the average exceeds target, not at it (2.5).
TEST(NsccRule, TheAverageHasToExceedTarget) {
  Bench at_target(vector_params(), 100000);
  at_target.ack(12001, kMtu, true, 9000);
  EXPECT_EQ(at_target.s().t_dec, Time{}) << "no decrease, so the next one need not wait";
  at_target.ack(12002, kMtu, true, 18000);
  EXPECT_NEAR(at_target.cwnd(), 60000, kTol);
  EXPECT_EQ(at_target.s().t_dec, at(12002));
}

// 33: the unit checks another implementation publishes; MTU 1000, BDP 1500000 B, base 10 us.
NsccParams v33() {
  return vector_params({.rate_bps = 1.2e12, .base_rtt = microseconds(10), .mtu_bytes = 1000});
}

TEST(NsccVector, V33_Quadrants) {
  EXPECT_EQ(v33().target_delay, nanoseconds(7500));
  EXPECT_EQ(v33().max_cwnd_bytes, 2250000);
  const auto after = [](bool marked, std::int64_t delay) {
    Bench b(v33(), 1000000);
    b.acks(9, 11000, 1000, marked, delay);
    return b.cwnd();
  };
  EXPECT_NEAR(after(false, 2000), 1000165, kTol);
  EXPECT_NEAR(after(false, 15000), 1000450, kTol);
  EXPECT_NEAR(after(true, 15000), 600000, kTol);
  EXPECT_EQ(after(true, 2000), 1000000);
}

TEST(NsccVector, V33_QuickAdapt) {
  Bench b(v33(), 1000000, 40000 + 1000 + 12 * 1000);
  b.nack(1000, NackReason::kTrimmed, 1000);
  std::int64_t t = b.acks(11, 2000, 1000, true, 2000);
  b.ack(18500, 1000, true, 2000);
  EXPECT_EQ(b.inflight(), 40000);
  EXPECT_EQ(b.cwnd(), 12000);
  t = b.acks(39, 19500, 1000, true, 20000);
  EXPECT_EQ(b.cwnd(), 12000) << "they were in flight when quick adapt cut";
  b.ack(t, 1000, true, 20000);
  EXPECT_EQ(b.cwnd(), 6000);
}

TEST(NsccVector, V33_FastIncrease) {
  EXPECT_EQ(v33().fi_scale, 2.5);
  Bench b(v33(), 3000);
  b.acks(3, 1000, 1000, false, 0);
  EXPECT_EQ(b.cwnd(), 3000);
  b.ack(4000, 1000, false, 0);
  EXPECT_EQ(b.cwnd(), 5500);
}

}  // namespace
}  // namespace mrc::cc
