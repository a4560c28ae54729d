// SPDX-License-Identifier: BSD-3-Clause
// Asking for acknowledgements and what they complete (2.3, 2.5; D3, D15).
#include <gtest/gtest.h>

#include "solo.h"

namespace mrc::transport::test {
namespace {

using wire::NackReason;

// D3. What leaves last asks, nothing before it.
TEST(Requestor, AckReqBeforeIdle) {
  Sender s(with_mtu(1024));
  s.post(8 * 1024);
  const auto out = s.send();
  ASSERT_EQ(out.size(), 8U);
  for (std::size_t i = 0; i + 1 < out.size(); ++i) EXPECT_FALSE(out[i].a) << i;
  EXPECT_TRUE(out.back().a);
}

// D3. A busy port is no reason to ask.
TEST(Requestor, NoAckReqForABusyPort) {
  Sender s(with_mtu(1024));
  s.post(8 * 1024);
  const auto out = s.send(3);
  ASSERT_EQ(out.size(), 3U);
  EXPECT_FALSE(out[2].a);
}

// D3. A closed congestion window asks; so does UET's "less than one MTU left".
TEST(Requestor, AckReqWhenTheWindowCloses) {
  PairConfig config;
  config.window_bytes = 40000;
  Sender s(config);
  s.post(1 << 20);
  const auto out = s.send();
  ASSERT_EQ(out.size(), 10U);
  EXPECT_TRUE(out.back().a);
  EXPECT_TRUE(out[out.size() - 2].a);  // 40000 - 9 x 4184 < 4096
  EXPECT_FALSE(out[out.size() - 3].a);
}

// D3, UET. Cwnd below the responder's SACK threshold: every packet asks.
TEST(Requestor, AckReqOnEveryPacketOfASmallWindow) {
  PairConfig config;
  config.window_bytes = 12000;
  Sender s(config);
  s.post(1 << 20);
  for (const TxDesc& d : s.send()) EXPECT_TRUE(d.a);
}

// D3. A stream that never idles asks before its send queue is full.
TEST(Requestor, AckReqInTheSecondHalfOfTheSendQueue) {
  PairConfig config;
  config.limits.max_send_wr = 64;
  Sender s(config);
  std::vector<TxDesc> all;
  for (int i = 0; i < 64; ++i) {
    ASSERT_EQ(s.post(64), PostResult::kOk);
    if (i > 0) {
      for (const TxDesc& d : s.send(1)) all.push_back(d);  // one stays posted: never idle
    }
  }
  EXPECT_EQ(s.post(64), PostResult::kQueueFull);
  ASSERT_EQ(all.size(), 63U);
  std::size_t asked = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i < 31) {
      EXPECT_FALSE(all[i].a) << i;
    }
    asked += all[i].a ? 1 : 0;
  }
  EXPECT_GE(asked, 3U);
  EXPECT_LE(asked, 8U);  // not every message: a SACK and an ACK each would be the price
}

// D15, C33. The limit holds back the WriteIMM and what is behind it, and the one before asked (D3).
TEST(Requestor, WriteImmLimitStallsSending) {
  PairConfig config;
  config.attr.max_wimm = 4;
  Sender s(config);
  for (int i = 0; i < 7; ++i) s.post(64, true);
  s.post(64);
  const auto out = s.send();
  ASSERT_EQ(out.size(), 4U);
  EXPECT_TRUE(out.back().a);
  EXPECT_EQ(s.qp.counters().wimm_stalls, 1U);
  EXPECT_TRUE(s.send().empty());
  EXPECT_EQ(s.qp.counters().wimm_stalls, 1U);  // counted once
  s.sack(s.sack_for(out[3], out[3].psn));
  EXPECT_TRUE(s.send().empty());  // a SACK ends nothing
  s.ack(out[1].psn, 2);
  EXPECT_EQ(s.send().size(), 2U);
}

// D3. Half of max_wimm outstanding asks.
TEST(Requestor, AckReqAtHalfOfMaxWimm) {
  PairConfig config;
  config.attr.max_wimm = 8;
  Sender s(config);
  for (int i = 0; i < 8; ++i) s.post(64, true);
  const auto out = s.send(6);
  ASSERT_EQ(out.size(), 6U);
  EXPECT_FALSE(out[0].a || out[1].a || out[2].a);
  EXPECT_TRUE(out[3].a);
}

// 2.5: in posting order, by Transport ACK alone; one may complete many.
TEST(Requestor, TransportAckCompletesInOrder) {
  Sender s;
  for (std::uint64_t i = 0; i < 5; ++i) s.post(64, false, 40 + i);
  const auto out = s.send();
  s.sack(s.sack_for(out[4], out[4].psn));
  EXPECT_TRUE(s.poll().empty());
  s.ack(out[2].psn, 3);
  const auto three = s.poll();
  ASSERT_EQ(three.size(), 3U);
  for (std::uint64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(three[i].wr_id, 40 + i);
    EXPECT_EQ(three[i].status, WcStatus::kSuccess);
    EXPECT_EQ(three[i].opcode, WcOpcode::kRdmaWrite);
  }
  s.ack(out[1].psn, 2);  // old: nothing happens
  EXPECT_TRUE(s.poll().empty());
  s.ack(out[4].psn, 5);
  EXPECT_EQ(s.poll().size(), 2U);
  EXPECT_EQ(s.qp.counters().rx_ack_msn_mismatch, 0U);
}

// D15. An ACK covers everything below it, whatever SACKs said.
TEST(Requestor, TransportAckEndsPendingRetransmissions) {
  Sender s;
  for (int i = 0; i < 5; ++i) s.post(64);
  const auto out = s.send();
  s.nack(out[1], wire::NackReason::kTrimmed);
  EXPECT_TRUE(s.qp.wake().tx_ready);
  s.ack(out[4].psn, 5);
  EXPECT_FALSE(s.qp.wake().tx_ready);
  EXPECT_TRUE(s.send().empty());
  EXPECT_EQ(s.qp.unack_psn(), out[4].psn);
}

TEST(Requestor, AckOutsideTheSentRangeIsDropped) {
  Sender s;
  s.post(64);
  const auto out = s.send();
  s.ack(out[0].psn + 1, 2);
  s.ack(s.first - 1 - (1 << 15), 0);
  EXPECT_EQ(s.qp.counters().rx_ack_range, 2U);
  EXPECT_TRUE(s.poll().empty());
  s.ack(s.first - (1 << 15), 0);  // the oldest that counts
  EXPECT_EQ(s.qp.counters().rx_ack_range, 2U);
}

TEST(Requestor, AckMsnIsOnlyChecked) {
  Sender s;
  s.post(64);
  const auto out = s.send();
  s.ack(out[0].psn, 9);
  EXPECT_EQ(s.qp.counters().rx_ack_msn_mismatch, 1U);
  EXPECT_EQ(s.poll().size(), 1U);
}

TEST(Requestor, SlotIsFreeWhenItsCompletionIsPolled) {
  PairConfig config;
  config.limits.max_send_wr = 2;
  Sender s(config);
  s.post(64);
  s.post(64);
  EXPECT_EQ(s.post(64), PostResult::kQueueFull);
  const auto out = s.send();
  s.ack(out[1].psn, 2);
  EXPECT_EQ(s.post(64), PostResult::kQueueFull);
  EXPECT_EQ(s.poll().size(), 2U);
  EXPECT_EQ(s.post(64), PostResult::kOk);
}

}  // namespace
}  // namespace mrc::transport::test
