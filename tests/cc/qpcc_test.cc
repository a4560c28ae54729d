// SPDX-License-Identifier: BSD-3-Clause
#include "cc/qpcc.h"

#include <gtest/gtest.h>

#include "bench.h"
#include "cc/schedule.h"

namespace mrc::cc {
namespace {

TEST(Qpcc, V23_NegativeInflight) {
  for (const SendTest test : {SendTest::kMrc, SendTest::kUet}) {
    Qpcc q(FixedWindow(4096), test);
    q.on_sent(300);
    RcvdUnits newest{0};
    const std::int64_t bytes = newly_received_bytes(newest, RcvdUnits{2});
    EXPECT_EQ(bytes, 512) << "300 B rounded up";
    q.on_ack({.newly_received_bytes = bytes}, at(1));
    EXPECT_EQ(q.inflight_bytes(), -212);
    EXPECT_TRUE(q.may_send(4096));
  }
}

TEST(Qpcc, V25_SendTests) {  // D2
  const auto may = [](SendTest test, std::int64_t inflight) {
    Qpcc q(FixedWindow(8192), test);
    q.on_sent(inflight);
    return q.may_send(4096);
  };
  EXPECT_TRUE(may(SendTest::kUet, 4096));
  EXPECT_FALSE(may(SendTest::kUet, 4097));
  EXPECT_TRUE(may(SendTest::kMrc, 8191));
  EXPECT_FALSE(may(SendTest::kMrc, 8192));
}

TEST(Qpcc, V26_AckRequest) {
  const auto wants = [](std::int64_t cwnd, std::int64_t inflight) {
    Qpcc q{FixedWindow(cwnd)};
    q.on_sent(inflight);
    return q.wants_ack(4096, 16384);
  };
  EXPECT_FALSE(wants(20000, 15904));
  EXPECT_TRUE(wants(20000, 15905));
  for (const std::int64_t inflight : {0, 100, 16383}) EXPECT_TRUE(wants(16383, inflight));
}

TEST(Qpcc, OffNeverCloses) {
  for (const SendTest test : {SendTest::kMrc, SendTest::kUet}) {
    Qpcc q(FixedWindow::off(), test);
    q.on_ack({.newly_received_bytes = 512}, at(1));
    EXPECT_FALSE(q.wants_ack(4096, 16384));
    q.on_sent(std::int64_t{1} << 50);
    EXPECT_TRUE(q.may_send(4096));
    q.on_nack({.reason = wire::NackReason::kTrimmed, .charged_bytes = 4096, .nominal_bytes = 4096}, at(2));
    q.on_loss(4096, at(3));
    EXPECT_TRUE(q.may_send(4096));
    EXPECT_EQ(q.inflight_bytes(), (std::int64_t{1} << 50) - 512 - 2 * 4096);
  }
}

// Two QPs to one destination share the window; one that leaves takes its share along (D7).
TEST(Qpcc, SharedByTwoQps) {
  Bench b(vector_params(), 20000, 0, SendTest::kMrc);
  b.qpcc().on_sent(12000);
  b.qpcc().on_sent(8000);
  EXPECT_FALSE(b.qpcc().may_send(4096));
  b.qpcc().adjust_inflight(-12000);
  EXPECT_EQ(b.inflight(), 8000);
  EXPECT_TRUE(b.qpcc().may_send(4096));
}

class V27 : public ::testing::Test {
 protected:
  SchedState now(bool queued, bool outstanding, int us = 0, std::uint32_t waiting = 4096) {
    q.on_work(
        told, {.queued = queued, .outstanding = outstanding}, [=] { return waiting; }, at(us));
    return q.state();
  }
  Qpcc q{FixedWindow(8192), SendTest::kMrc};
  QpWork told;
};

TEST_F(V27, ScheduleStates) {  // C24
  for (const SendTest test : {SendTest::kMrc, SendTest::kUet}) {
    q = Qpcc{FixedWindow(8192), test};
    told = {};
    EXPECT_EQ(q.state(), SchedState::kIdle);
    EXPECT_EQ(now(true, false), SchedState::kReady) << "NEW_DATA";
    q.on_sent(4096);
    EXPECT_EQ(now(true, true), SchedState::kReady);
    q.on_sent(4096);
    EXPECT_EQ(now(true, true), SchedState::kActive) << "the window is full, work is left";
    q.on_ack({.newly_received_bytes = 4096}, at(1));
    EXPECT_EQ(now(true, true), SchedState::kReady);
    q.on_sent(4096);
    EXPECT_EQ(now(false, true), SchedState::kPending) << "the last byte is sent";
    q.on_nack({.reason = wire::NackReason::kNoResource, .charged_bytes = 4096, .nominal_bytes = 4096}, at(2));
    EXPECT_EQ(now(true, true), SchedState::kReady);
    q.on_sent(4096);  // a sibling takes the room
    EXPECT_EQ(now(true, true), SchedState::kActive);
    q.on_ack({.newly_received_bytes = 4096}, at(3));
    q.on_sent(4096);
    EXPECT_EQ(now(false, true), SchedState::kPending);
    q.on_ack({.newly_received_bytes = 8192}, at(4));
    EXPECT_EQ(now(false, false), SchedState::kIdle);
  }
}

// In UET's form the window is closed as soon as the next packet does not fit: "ACTIVE" is said then, and not
// when the window is full.
TEST_F(V27, TheUetFormAsksWithTheWaitingPacket) {
  const auto state = [&](SendTest test, std::int64_t inflight, std::uint32_t waiting) {
    q = Qpcc{FixedWindow(8192), test};
    told = {};
    q.on_sent(inflight);
    const SchedState said = now(true, true, 1, waiting);
    EXPECT_EQ(said == SchedState::kReady, q.may_send(waiting)) << "the state and the send test agree";
    return said;
  };
  EXPECT_EQ(state(SendTest::kUet, 4096, 4096), SchedState::kReady);
  EXPECT_EQ(state(SendTest::kUet, 4097, 4096), SchedState::kActive);
  EXPECT_EQ(state(SendTest::kUet, 4097, 100), SchedState::kReady) << "a small packet fits";
  EXPECT_EQ(state(SendTest::kMrc, 4097, 4096), SchedState::kReady);
  EXPECT_EQ(state(SendTest::kMrc, 8191, 4096), SchedState::kReady);
  EXPECT_EQ(state(SendTest::kMrc, 8192, 4096), SchedState::kActive);
}

TEST_F(V27, ALateArrivalCancelsTheRetransmission) {
  EXPECT_EQ(now(true, false), SchedState::kReady);
  EXPECT_EQ(now(false, false), SchedState::kIdle);
}

TEST_F(V27, OneControllerTheWorkOfAllItsQps) {
  QpWork sibling;
  EXPECT_EQ(now(true, false), SchedState::kReady);
  q.on_work(
      sibling, {.queued = false, .outstanding = true}, [] { return 1U; }, at(1));
  EXPECT_EQ(q.state(), SchedState::kReady);
  EXPECT_EQ(now(false, false), SchedState::kPending) << "the sibling waits for news";
  q.forget_work(sibling);
  EXPECT_EQ(q.state(), SchedState::kIdle) << "it left";
}

TEST_F(V27, TellsHowOftenAndHowLong) {
  now(true, false, 10);
  q.on_sent(8192);
  now(true, true, 12);  // ACTIVE
  q.on_ack({.newly_received_bytes = 8192}, at(17));
  now(true, true, 17);  // READY
  now(false, true, 20);
  EXPECT_EQ(q.schedule().spent(SchedState::kReady, at(25)), nanoseconds(5));
  EXPECT_EQ(q.schedule().spent(SchedState::kActive, at(25)), nanoseconds(5));
  EXPECT_EQ(q.schedule().spent(SchedState::kPending, at(25)), nanoseconds(5));
  EXPECT_EQ(q.schedule().spent(SchedState::kIdle, at(25)), Duration{})
      << "time before the first work is nobody's";
  EXPECT_EQ(q.schedule().entered(SchedState::kReady), 2U);
  EXPECT_EQ(q.schedule().entered(SchedState::kActive), 1U);
}

TEST(Figures, CountWhatAControllerMet) {
  Bench b(vector_params(), 100000, 50000, SendTest::kMrc);
  Qpcc q = b.qpcc();
  q.on_ack({.newly_received_bytes = 4096, .marked = true}, at(1));
  q.on_nack({.reason = wire::NackReason::kTrimmed, .charged_bytes = 4096, .nominal_bytes = 4096}, at(2));
  q.on_nack({.reason = wire::NackReason::kNoResource, .charged_bytes = 4096, .nominal_bytes = 4096}, at(3));
  q.on_loss(4096, at(4));
  EXPECT_EQ(q.figures().acks, 1U);
  EXPECT_EQ(q.figures().marked, 1U);
  EXPECT_EQ(q.figures().trims, 1U);
  EXPECT_EQ(q.figures().losses, 1U);
  EXPECT_EQ(q.figures().cuts, 2U) << "the trim and the loss";
  ASSERT_NE(q.windows(), nullptr);
  EXPECT_EQ(q.windows()->count(), 4U);
  EXPECT_EQ(q.windows()->min_bytes(), q.cwnd_bytes());
  EXPECT_EQ(Qpcc(FixedWindow(1)).windows(), nullptr) << "a window that never moves has no statistics";
}

TEST(Figures, TheMedianIsRightWithinAThirtySecond) {
  WindowHistogram h;
  EXPECT_EQ(h.median_bytes(), 0);
  for (std::int64_t w = 1; w < 2'000'000'000'000; w = w + w / 3 + 1) {
    WindowHistogram one;
    for (int i = 0; i < 3; ++i) one.add(w);
    one.add(w / 2 + 1);
    one.add(w * 2);
    EXPECT_NEAR(static_cast<double>(one.median_bytes()), static_cast<double>(w),
                static_cast<double>(w) / 31 + 1);
    EXPECT_EQ(one.max_bytes(), w * 2);
  }
  WindowHistogram before;
  before.add(1000);
  WindowHistogram later = before;
  for (int i = 0; i < 5; ++i) later.add(50'000 + i);
  EXPECT_EQ(later.since(WindowHistogram{}).min_bytes(), 1000);
  EXPECT_EQ(later.since(before).count(), 5U);
  EXPECT_NEAR(static_cast<double>(later.since(before).min_bytes()), 50'000, 50'000 / 31);
  h.add(std::int64_t{1} << 62);
  EXPECT_EQ(h.median_bytes(), std::int64_t{1} << 62) << "never closed";
}

}  // namespace
}  // namespace mrc::cc
