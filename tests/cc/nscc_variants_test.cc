// SPDX-License-Identifier: BSD-3-Clause
// Where the UEC simulator departs from the UET text: each row once with either choice, and the delay
// averages.
#include <gtest/gtest.h>

#include <cmath>

#include "bench.h"

namespace mrc::cc {
namespace {

using wire::NackReason;
constexpr std::int64_t kMtu = 4096;

NsccParams with(void (*choose)(NsccChoices&)) {
  NsccParams p = vector_params();
  choose(p.choices);
  return p;
}

TEST(NsccVariant, AckWithoutRtt) {
  Bench u(vector_params(), 100000);
  u.ack(1000, kMtu, false, Bench::kNoRtt);
  EXPECT_EQ(u.s().inc, 0);
  EXPECT_EQ(u.s().ach, kMtu) << "it counts";
  Bench h(with([](NsccChoices& c) { c.act_without_rtt = true; }), 100000);
  h.ack(1000, kMtu, false, 3000);
  const double inc = h.s().inc;
  h.ack(2000, kMtu, false, Bench::kNoRtt);
  EXPECT_NEAR(h.s().inc, 2 * inc, 1e-3) << "as if the delay were the average";
}

TEST(NsccVariant, DueAtOrAfter) {
  NsccParams p = with([](NsccChoices& c) { c.strict_due = true; });
  p.adjust_period_threshold = nanoseconds(12000);
  Bench b(p, 100000);
  b.ack(12000, kMtu, true, 3000);
  EXPECT_EQ(b.cwnd(), 100000);
  b.ack(12001, kMtu, true, 3000);
  EXPECT_NEAR(b.cwnd(), 100614.4, 1e-6);
  // Quick adapt: vector 11's sixth ACK at 26000 is early, at 26001 it fires.
  for (const auto& [t, cwnd] : {std::pair{26000, 220904.0}, {26001, 24576.0}}) {
    Bench q(with([](NsccChoices& c) { c.strict_due = true; }), 225000, 120000);
    q.nack(5000, NackReason::kTrimmed, kMtu);
    q.acks(5, 6000, kMtu, true, 3000);
    q.ack(t, kMtu, true, 3000);
    EXPECT_EQ(q.cwnd(), cwnd) << t;
  }
}

TEST(NsccVariant, ClampOnEveryAck) {
  const auto after_base_fell = [](const NsccParams& p) {
    Bench b(p, 225000);
    b.ack(1000, kMtu, true, -6000);  // RTT 6 us: wmax halves
    EXPECT_EQ(b.s().wmax, 112500);
    return b.cwnd();
  };
  EXPECT_EQ(after_base_fell(vector_params()), 225000) << "until the next adjustment";
  EXPECT_EQ(after_base_fell(with([](NsccChoices& c) { c.clamp_every_ack = true; })), 112500);
}

TEST(NsccVariant, InflightAtNack) {
  const auto goal = [](const NsccParams& p) {
    Bench b(p, 225000, 120000);
    b.nack(5000, NackReason::kTrimmed, kMtu);
    b.nack(26000, NackReason::kTrimmed, kMtu);
    return b.s().ign_goal;
  };
  EXPECT_EQ(goal(vector_params()), 120000 - 2 * kMtu);
  EXPECT_EQ(goal(with([](NsccChoices& c) { c.quick_sees_nacked = true; })), 120000 - kMtu);
}

TEST(NsccVariant, LossCountsAsDrained) {
  const auto done = [](const NsccParams& p) {
    Bench b(p, 225000, 120000);
    b.loss(5000, kMtu);
    return b.s().ign_done;
  };
  EXPECT_EQ(done(vector_params()), kMtu);
  EXPECT_EQ(done(with([](NsccChoices& c) { c.loss_counts_as_drained = false; })), 0);
}

TEST(NsccVariant, CreditedLasthopStillArmsQuickAdapt) {
  Bench b(with([](NsccChoices& c) { c.lasthop_credited = c.lasthop_arms_quick = true; }), 50000, 40000);
  b.nack(5000, NackReason::kTrimmedLasthop, 4136);
  EXPECT_TRUE(b.s().trig);
  EXPECT_EQ(b.s().qa_end, at(26000));
  EXPECT_EQ(b.cwnd(), 50000) << "only the cut of the packet is left out";
}

TEST(NsccVariant, PenaltyWithoutCapAndSave) {
  Bench b(with([](NsccChoices& c) { c.penalty_caps_at_inflight = c.penalty_saves_window = false; }), 100000,
          64096);
  b.ack(1000, kMtu, false, 3000, 64);
  EXPECT_EQ(b.cwnd(), 100000 - 2048);
  b.ack(2000, kMtu, false, 3000, 0, true);
  EXPECT_EQ(b.cwnd(), 100000 - 2048) << "nothing saved, nothing restored";
}

TEST(NsccVariant, SavedWindowWithoutRestore) {
  const auto second_save = [](const NsccParams& p) {
    Bench b(p, 100000, 64096);
    b.ack(1000, kMtu, false, 3000, 64);
    b.ack(2000, kMtu, false, 3000, 0, false);
    EXPECT_EQ(b.cwnd(), 57952) << "the reduced window stays";
    b.ack(3000, kMtu, false, 3000, 64);
    return b.s().saved;
  };
  EXPECT_EQ(second_save(vector_params()), 57952);
  EXPECT_EQ(second_save(with([](NsccChoices& c) { c.drop_saved_without_restore = false; })), 100000);
}

TEST(NsccVariant, IntegerArithmetic) {
  Bench b(with([](NsccChoices& c) { c.integer_arithmetic = true; }), 100000);
  b.acks(9, 1000, kMtu, false, 3000);
  EXPECT_EQ(b.cwnd(), 103019);
  b.ack(10000, kMtu, false, -500);
  EXPECT_EQ(b.s().wmax, std::floor(225000.0 * 11000 / 12000)) << "11.5 us counts as 11";
}

TEST(NsccVariant, GrowthOnlyOfAUsedWindow) {
  NsccParams p = with([](NsccChoices& c) { c.grow_only_when_used = true; });
  Bench idle(p, 100000, 49999);
  idle.ack(1000, kMtu, false, 3000);
  EXPECT_EQ(idle.s().inc, 0);
  Bench busy(p, 100000, 50000);
  busy.ack(1000, kMtu, false, 3000);
  EXPECT_GT(busy.s().inc, 0);
}

TEST(NsccVariant, QuickAdaptOnDelay) {
  for (const bool always : {false, true}) {
    NsccChoices c;
    c.quick_on_delay_always = always;
    EXPECT_EQ(derived(kV1, c).qa_threshold, always ? microseconds(36) : NsccParams::kNever);
  }
  NsccLink no_trim = kV1;
  no_trim.trimming = false;
  NsccParams p = vector_params(no_trim);
  EXPECT_EQ(p.qa_threshold, microseconds(48));
  for (const std::int64_t delay : {48000, 48001}) {
    Bench b(p, 225000, 120000);
    b.ack(1000, kMtu, false, 0);
    b.ack(25000, kMtu, false, delay);
    EXPECT_EQ(b.cwnd(), delay > 48000 ? 4096 : 225000)
        << "strictly above; what arrived since the window opened";
  }
}

TEST(NsccVariant, DelayAverages) {
  const auto average = [](DelayAverage how,
                          std::initializer_list<std::pair<std::int64_t, std::int64_t>> samples, bool marked) {
    NsccParams p = vector_params();
    p.choices.average = how;
    Bench b(p, 225000);
    for (const auto& [t, delay] : samples) b.ack(t, kMtu, marked, delay);
    return b.s().avg_ns;
  };
  // A window of one base RTT: a quarter of it weighs a quarter; a longer gap forgets everything.
  EXPECT_NEAR(average(DelayAverage::kWindow, {{3000, 8000}}, true), 2000, 1e-9);
  EXPECT_NEAR(average(DelayAverage::kWindow, {{3000, 8000}, {6000, 8000}}, true), 3500, 1e-9);
  EXPECT_NEAR(average(DelayAverage::kWindow, {{3000, 8000}, {50000, 1000}}, true), 1000, 1e-9);
  EXPECT_NEAR(average(DelayAverage::kEwmaQuarter, {{1, 8000}, {2, 8000}}, true), 3500, 1e-9);
  EXPECT_NEAR(average(DelayAverage::kEwmaHtsim, {{1, 8000}}, false), 100, 1e-9);
  EXPECT_NEAR(average(DelayAverage::kEwmaHtsim, {{1, 16000}}, true), 200, 1e-9);
  EXPECT_NEAR(average(DelayAverage::kEwmaHtsim, {{1, 16000}}, false), 0.0125 * 3000, 1e-9)
      << "unmarked above target enters as a quarter of the base RTT";
}

TEST(NsccVariant, SmallSamplesCannotShrinkTheCeiling) {  // D18
  NsccParams p = vector_params();
  p.min_base_rtt = microseconds(10);
  Bench b(p, 100000, 50000);
  b.ack(1000, kMtu, false, -2001);
  b.nack(2000, NackReason::kTrimmed, kMtu, -9000);
  EXPECT_EQ(b.s().base, microseconds(12));
  EXPECT_EQ(b.s().wmax, 225000);
  b.ack(3000, kMtu, false, -2000);
  EXPECT_EQ(b.s().base, microseconds(10));
  EXPECT_EQ(b.s().wmax, 187500);
}

}  // namespace
}  // namespace mrc::cc
