// SPDX-License-Identifier: BSD-3-Clause
// The local ACK timeout, its phases and budget (MRC 7.4.1; D13), poll gaps, the stall without EVs (D9).
#include <gtest/gtest.h>

#include "solo.h"
#include "transport/retry_clock.h"

namespace mrc::transport::test {
namespace {

PairConfig timers(std::uint8_t timeout, std::uint8_t linear, std::uint8_t exponential) {
  PairConfig config;
  config.attr.path_mtu = 1024;
  config.attr.timeout = timeout;
  config.attr.linear_cnt = linear;
  config.attr.exp_cnt = exponential;
  config.policy.tail_probe = false;
  config.policy.ev.probe_interval = seconds(1000000);  // EV probes have tests of their own
  return config;
}

constexpr Duration kT = nanoseconds(1024 << 10);

// C16. Linear, then doubling, the exponent capped at 24.
TEST(RetryClock, Intervals) {
  const RetryClock clock(10, 2, 5);
  EXPECT_EQ(clock.interval(0), kT);
  EXPECT_EQ(clock.interval(2), kT);
  EXPECT_EQ(clock.interval(3), kT * 2);
  EXPECT_EQ(clock.interval(5), kT * 8);
  EXPECT_FALSE(clock.exhausted(7));
  EXPECT_TRUE(clock.exhausted(8));
  EXPECT_EQ(clock.total(), kT * (3 + 2 + 4 + 8 + 16 + 32));
  EXPECT_EQ(RetryClock(24, 0, 24).interval(24), nanoseconds(1024LL << 24));
  EXPECT_FALSE(RetryClock(10, 7, 25).exhausted(1000000));
  EXPECT_FALSE(RetryClock(0, 7, 7).enabled());
}

// D13. Silence: linear_cnt + exp_cnt retransmissions at the right times, then RETRY_EXC for the oldest
// request.
TEST(Timers, DeadChannelEndsAtTheComputedTime) {
  Sender s(timers(10, 2, 3));
  s.post(100, false, 1);
  s.post(100, false, 2);
  const Time start = s.now;
  ASSERT_EQ(s.send().size(), 2U);
  Time due = start;
  for (unsigned k = 0; k <= 5; ++k) {
    due = due + RetryClock(10, 2, 3).interval(k);
    EXPECT_EQ(s.qp.wake().deadline, due) << k;
    s.now = due - nanoseconds(1);
    s.tick();
    EXPECT_TRUE(s.send().empty()) << k;
    s.now = due;
    s.tick();
    s.control();
    if (k < 5) {
      EXPECT_EQ(s.send().size(), 2U) << k;
    }
  }
  EXPECT_EQ(s.qp.state(), QpState::kError);
  EXPECT_EQ(s.qp.counters().timer_expiries, 6U);
  const auto done = s.poll();
  ASSERT_EQ(done.size(), 2U);
  EXPECT_EQ(done[0].status, WcStatus::kRetryExcErr);
  EXPECT_EQ(done[1].status, WcStatus::kWrFlushErr);
  EXPECT_TRUE(s.qp.wake().deadline.is_never());
  EXPECT_EQ(s.rtx(RtxCause::kAckTimeout), 10U);
}

// D9. The timeout condemns the EV; the retransmission avoids it.
TEST(Timers, TimeoutCondemnsTheEv) {
  Sender s(timers(10, 7, 7));
  s.post(100);
  const auto out = s.send();
  s.wait(kT);
  s.tick();
  EXPECT_EQ(s.qp.ev_set().state(out[0].ev), path::EvState::kAssumedBad);
  const auto again = s.send();
  ASSERT_EQ(again.size(), 1U);
  EXPECT_NE(again[0].ev, out[0].ev);
}

// C17. The counter starts anew whenever cack advances.
TEST(Timers, ProgressResetsTheCounter) {
  Sender s(timers(10, 1, 1));
  s.post(3 * 1024);
  auto out = s.send();
  for (int round = 0; round < 3; ++round) {
    for (int expiry = 0; expiry < 2; ++expiry) {
      s.now = s.qp.wake().deadline;
      s.tick();
      s.control();
      out = s.send();
      ASSERT_FALSE(out.empty());
    }
    EXPECT_EQ(s.qp.retry_count(), 2U);
    s.sack(s.sack_for(out[0], out[0].psn));
    EXPECT_EQ(s.qp.retry_count(), 0U);
  }
  EXPECT_EQ(s.qp.state(), QpState::kRts);
}

// D13. Only expiries of cack + 1 count.
TEST(Timers, YoungerPacketsDoNotCount) {
  Sender s(timers(10, 7, 7));
  s.post(2 * 1024);
  const auto first = s.send(1);
  s.wait(microseconds(500));
  const auto second = s.send(1);
  ASSERT_EQ(second.size(), 1U);
  s.nack(first[0], wire::NackReason::kTrimmedLasthop);  // its timer starts anew
  s.wait(microseconds(1));
  ASSERT_EQ(s.send().size(), 1U);
  s.now = s.now + kT - microseconds(1);
  s.tick();
  EXPECT_EQ(s.send().size(), 1U);
  EXPECT_EQ(s.qp.retry_count(), 0U);
}

TEST(Timers, TimeoutZeroHasNoTimer) {
  Sender s(timers(0, 7, 7));
  s.post(100);
  s.send();
  EXPECT_TRUE(s.qp.wake().deadline.is_never());
  s.wait(seconds(3600));
  s.tick();
  EXPECT_TRUE(s.send().empty());
  EXPECT_EQ(s.qp.state(), QpState::kRts);
}

// A timeout changed in RTS holds for what is under way too.
TEST(Timers, TimeoutMayChangeWhileWaiting) {
  for (const std::uint8_t timeout : {std::uint8_t{8}, std::uint8_t{12}, std::uint8_t{0}}) {
    Sender s(timers(10, 7, 7));
    s.post(100);
    s.send();
    QpAttr attr = s.qp.attributes();
    attr.timeout = timeout;
    ASSERT_TRUE(s.qp.modify(QpState::kRts, attr, kAttrTimeout, s.now));
    s.tick();
    const Time due = s.qp.wake().deadline;
    if (timeout == 0) {
      EXPECT_TRUE(due.is_never());
    } else {
      EXPECT_EQ(due, s.now + nanoseconds(1024 << timeout));
    }
  }
}

// exp_cnt 25: never gives up, the interval stops growing at 2^24.
TEST(Timers, ExpCnt25NeverGivesUp) {
  Sender s(timers(20, 0, 25));
  s.post(100);
  s.send();
  for (int i = 0; i < 60; ++i) {
    const Time deadline = s.qp.wake().deadline;
    ASSERT_FALSE(deadline.is_never());
    ASSERT_LE(deadline - s.now, nanoseconds(1024LL << 24));
    s.now = deadline;
    s.tick();
    s.control();
    s.send();
  }
  EXPECT_EQ(s.qp.state(), QpState::kRts);
  EXPECT_EQ(s.qp.counters().timer_expiries, 60U);
}

// D13. Trims without end are no progress: RETRY_EXC after the sum of all intervals.
TEST(Timers, EndlessTrimsEndTheQp) {
  Sender s(timers(10, 1, 2));
  s.post(100);
  auto out = s.send();
  const Time end = s.now + RetryClock(10, 1, 2).total();
  while (s.now < end && s.qp.state() == QpState::kRts) {
    s.wait(microseconds(100));
    s.nack(out[0], wire::NackReason::kTrimmed);
    s.wait(microseconds(1));
    s.tick();
    const auto again = s.send();
    if (!again.empty()) out = again;
  }
  s.tick();
  EXPECT_EQ(s.qp.state(), QpState::kError);
  EXPECT_EQ(s.poll().at(0).status, WcStatus::kRetryExcErr);
  EXPECT_EQ(s.qp.counters().timer_expiries, 0U);
}

// D13. After a poll gap all deadlines move by it.
TEST(Timers, PollGapMovesDeadlines) {
  Sender s(timers(10, 7, 7));
  s.post(100);
  s.send();
  const Time due = s.qp.wake().deadline;
  s.wait(milliseconds(5));
  s.qp.on_poll_gap(s.now, milliseconds(5));
  s.tick();
  EXPECT_TRUE(s.send().empty());
  EXPECT_EQ(s.qp.wake().deadline, due + milliseconds(5));
  s.now = due + milliseconds(5);
  s.tick();
  EXPECT_EQ(s.send().size(), 1U);
}

// ... and a packet sent after the gap is not affected by it.
TEST(Timers, PollGapDoesNotMoveLaterPackets) {
  Sender s(timers(10, 7, 7));
  s.post(2 * 1024);
  s.send(1);
  s.wait(microseconds(500));
  s.qp.on_poll_gap(s.now, microseconds(400));
  s.wait(microseconds(10));
  const auto second = s.send(1);
  s.now = s.now + kT;
  s.tick();
  const auto again = s.send();
  ASSERT_EQ(again.size(), 2U);  // both are due: the first since kT + 400 us
}

// D9. All EVs DENIED: nothing is sent, each interval counts, the QP ends.
TEST(Timers, NoEvAtAllEndsTheQp) {
  Sender s(timers(10, 1, 1));
  for (path::EvIndex ev = 0; ev < 16; ++ev) s.qp.ev_set().set_state(ev, path::EvState::kDenied, s.now);
  s.post(100, false, 9);
  EXPECT_TRUE(s.send().empty());
  for (int i = 0; i < 3; ++i) {
    ASSERT_FALSE(s.qp.wake().deadline.is_never());
    s.now = s.qp.wake().deadline;
    s.tick();
    EXPECT_TRUE(s.send().empty());
  }
  EXPECT_EQ(s.qp.state(), QpState::kError);
  EXPECT_EQ(s.poll().at(0).status, WcStatus::kRetryExcErr);
}

// A port that is merely busy is no stall.
TEST(Timers, BusyPortsAreNoStall) {
  Sender s(timers(10, 1, 1));
  s.post(100);
  PortCredits none;
  none.up_mask = 0xF;
  TxDesc out[4];
  EXPECT_EQ(s.qp.next_packets(s.now, none, out), 0U);
  EXPECT_TRUE(s.qp.wake().tx_ready);
  EXPECT_TRUE(s.qp.wake().deadline.is_never());
}

// D9. A local port goes down: what is on its way over it is sent again over the others, and no EV is blamed.
TEST(Timers, PortDownResendsItsPackets) {
  Sender s(timers(10, 7, 7));
  s.post(16 * 1024);
  const auto out = s.send();
  std::size_t on_port = 0;
  for (const TxDesc& d : out) on_port += d.port == 2 ? 1 : 0;
  ASSERT_GT(on_port, 0U);
  s.qp.on_port_change(2, false, s.now);
  const auto again = s.send(100, 0b1011);
  EXPECT_EQ(again.size(), on_port);
  for (const TxDesc& d : again) EXPECT_NE(d.port, 2);
  EXPECT_EQ(s.qp.ev_set().counters().assumed_bad, 0U);
  s.qp.on_port_change(2, true, s.now);
  EXPECT_TRUE(s.qp.ev_set().port_usable(2));
}

// D18, D13. Samples of packets sent before a gap are no RTTs; of others they are exact.
TEST(Timers, RttSamples) {
  PairConfig config = timers(10, 7, 7);
  config.policy.tail_probe = true;
  Sender s(config);
  s.post(4 * 1024);
  const auto out = s.send();
  const Time sent = s.now;
  EXPECT_EQ(s.qp.wake().deadline, sent + nanoseconds(12500));  // 1.25 x base before the first sample
  s.wait(microseconds(40));
  s.sack(s.sack_for(out[0], out[0].psn));
  s.post(1024);
  s.send();
  EXPECT_EQ(s.qp.wake().deadline, s.now + microseconds(50));  // 1.25 x 40 us
}

}  // namespace
}  // namespace mrc::transport::test
