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
  SchedState now() { return schedule.resched(q.may_send(4096)); }
  void send(bool rtx = false) {
    schedule.sent(4096, rtx);
    q.on_sent(4096);
  }
  Qpcc q{FixedWindow(8192), SendTest::kUet};
  Schedule schedule;
};

TEST_F(V27, ScheduleStates) {  // C24
  EXPECT_EQ(schedule.state(), SchedState::kIdle);
  schedule.new_data(3 * 4096);
  EXPECT_EQ(now(), SchedState::kReady);
  send();
  EXPECT_EQ(now(), SchedState::kReady);
  send();
  EXPECT_EQ(now(), SchedState::kActive) << "the window is full, work is left";
  q.on_ack({.newly_received_bytes = 4096}, at(1));
  schedule.received(1);
  EXPECT_EQ(now(), SchedState::kReady);
  send();
  EXPECT_EQ(now(), SchedState::kPending) << "the last byte is sent";
  q.on_nack({.reason = wire::NackReason::kNoResource, .charged_bytes = 4096, .nominal_bytes = 4096}, at(2));
  schedule.given_up(4096);
  EXPECT_EQ(now(), SchedState::kReady);
  q.on_sent(4096);  // a sibling takes the room
  EXPECT_EQ(now(), SchedState::kActive);
  q.on_ack({.newly_received_bytes = 4096}, at(3));
  send(true);
  EXPECT_EQ(now(), SchedState::kPending);
  q.on_ack({.newly_received_bytes = 8192}, at(4));
  schedule.received(2);
  EXPECT_EQ(now(), SchedState::kIdle);
  EXPECT_EQ(schedule.outstanding_pkts(), 0);
}

TEST_F(V27, ALateArrivalCancelsTheRetransmission) {
  schedule.new_data(4096);
  send();
  schedule.given_up(4096);
  EXPECT_EQ(now(), SchedState::kReady);
  schedule.received_given_up(4096);
  EXPECT_EQ(now(), SchedState::kIdle);
}

}  // namespace
}  // namespace mrc::cc
