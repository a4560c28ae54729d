// SPDX-License-Identifier: BSD-3-Clause
// The table of D11, row by row, and what a NACK may not do.
#include <gtest/gtest.h>

#include "solo.h"

namespace mrc::transport::test {
namespace {

using wire::NackReason;

PairConfig config_1k() {
  PairConfig config;
  config.attr.path_mtu = 1024;
  return config;
}

class Nack : public ::testing::Test {
 protected:
  explicit Nack(const PairConfig& config = config_1k()) : s(config) {
    s.post(64 * 1024);
    out = s.send(20);
    s.wait(microseconds(10));
  }
  std::vector<TxDesc> retransmitted() {
    std::vector<TxDesc> again;
    for (const TxDesc& d : s.send(8)) {
      if (d.rtx) again.push_back(d);
    }
    return again;
  }
  Sender s;
  std::vector<TxDesc> out;
};

TEST_F(Nack, TrimmedIsSentAgainAtOnceAndSkipsTheEv) {
  s.nack(out[3], NackReason::kTrimmed);
  EXPECT_EQ(s.qp.ev_set().state(out[3].ev), path::EvState::kSkip);
  const auto again = retransmitted();
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].psn, out[3].psn);
  EXPECT_NE(again[0].ev, out[3].ev);
  EXPECT_EQ(s.rtx(RtxCause::kNackTrimmed), 1U);
  EXPECT_EQ(s.qp.retry_count(), 0U);
}

TEST_F(Nack, TrimmedAtTheLastHopLeavesTheEvAlone) {
  s.nack(out[3], NackReason::kTrimmedLasthop);
  EXPECT_EQ(s.qp.ev_set().state(out[3].ev), path::EvState::kGood);
  EXPECT_EQ(retransmitted().size(), 1U);
}

// Trims never count, however many (an incast has more of them than any budget).
TEST_F(Nack, TrimsDoNotCount) {
  TxDesc packet = out[0];
  for (int i = 0; i < 200; ++i) {
    s.nack(packet, NackReason::kTrimmed);
    s.wait(microseconds(2));
    const auto again = retransmitted();
    ASSERT_EQ(again.size(), 1U) << i;
    packet = again[0];
    s.wait(microseconds(2));
  }
  EXPECT_EQ(s.qp.retry_count(), 0U);
  EXPECT_EQ(s.qp.state(), QpState::kRts);
}

TEST_F(Nack, ResourceReasonsWaitABaseRttAndSpareTheEv) {
  for (const NackReason reason : {NackReason::kNoBitmap, NackReason::kNoPktBuffer, NackReason::kNoResource}) {
    const TxDesc& packet = out[static_cast<std::size_t>(reason)];
    s.nack(packet, reason);
    EXPECT_TRUE(retransmitted().empty());
    EXPECT_EQ(s.qp.ev_set().state(packet.ev), path::EvState::kGood);
    EXPECT_LE(s.qp.wake().deadline, s.now + microseconds(10));
    s.wait(nanoseconds(9999));
    s.tick();
    EXPECT_TRUE(retransmitted().empty());
    s.wait(nanoseconds(1));
    s.tick();
    const auto again = retransmitted();
    ASSERT_EQ(again.size(), 1U);
    EXPECT_EQ(again[0].psn, packet.psn);
  }
  EXPECT_EQ(s.rtx(RtxCause::kNackResource), 3U);
}

TEST_F(Nack, ResourceDelayDoubles) {
  TxDesc packet = out[5];
  for (int n = 0; n < 4; ++n) {
    s.nack(packet, NackReason::kNoResource);
    s.wait(microseconds(10 << n) - nanoseconds(1));
    s.tick();
    ASSERT_TRUE(retransmitted().empty()) << n;
    s.wait(nanoseconds(1));
    s.tick();
    const auto again = retransmitted();
    ASSERT_EQ(again.size(), 1U) << n;
    packet = again[0];
    s.wait(microseconds(1));
  }
}

// What else happened to the packet does not count: only resource NACKs in a row do.
TEST_F(Nack, ResourceDelayDoesNotGrowWithTrims) {
  TxDesc packet = out[5];
  for (int n = 0; n < 9; ++n) {
    s.nack(packet, n == 4 ? NackReason::kNoBitmap : NackReason::kTrimmedLasthop);
    s.wait(n == 4 ? microseconds(10) : nanoseconds(200));
    s.tick();
    const auto again = retransmitted();
    ASSERT_EQ(again.size(), 1U) << n;
    packet = again[0];
  }
  s.nack(packet, NackReason::kNoPktBuffer);
  s.wait(microseconds(10));
  s.tick();
  EXPECT_EQ(retransmitted().size(), 1U) << "waits longer than one base RTT";
}

// Counted for cack + 1, at most once a base RTT.
TEST_F(Nack, ResourceNackOfTheOldestCounts) {
  s.nack(out[0], NackReason::kNoResource);
  EXPECT_EQ(s.qp.retry_count(), 1U);
  s.nack(out[1], NackReason::kNoResource);
  EXPECT_EQ(s.qp.retry_count(), 1U);
}

TEST_F(Nack, WindowNackWaitsForCack) {
  s.nack(out[7], NackReason::kPsnOorWindow);
  EXPECT_TRUE(retransmitted().empty());
  s.wait(microseconds(100));
  s.tick();
  EXPECT_TRUE(retransmitted().empty());
  s.sack(s.sack_for(out[2], out[2].psn));
  const auto again = retransmitted();
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].psn, out[7].psn);
  EXPECT_EQ(s.rtx(RtxCause::kNackWindow), 1U);
}

TEST_F(Nack, WindowNackIsSentAgainAfterAnIntervalAtTheLatest) {
  s.nack(out[7], NackReason::kPsnOorWindow);
  const Duration interval = RetryClock(10, 7, 7).interval(0);
  s.wait(interval - nanoseconds(1));
  s.tick();
  std::size_t window = s.rtx(RtxCause::kNackWindow);
  retransmitted();
  EXPECT_EQ(window, 0U);
  s.wait(nanoseconds(1));
  s.tick();
  s.send();
  EXPECT_EQ(s.rtx(RtxCause::kNackWindow), 1U);
}

TEST_F(Nack, UnexpectedEventEndsTheQp) {
  s.nack(out[3], NackReason::kUnexpEvent);
  EXPECT_EQ(s.qp.state(), QpState::kError);
  const auto done = s.poll();
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].status, WcStatus::kRemOpErr);
}

// C27, C32. There are seven; unknown codes are counted and ignored.
TEST_F(Nack, UnknownReasonIsCounted) {
  s.nack(out[3], static_cast<NackReason>(0x42));
  EXPECT_EQ(s.qp.counters().rx_nack_by_reason[7], 1U);
  EXPECT_TRUE(retransmitted().empty());
  EXPECT_EQ(s.qp.ev_set().state(out[3].ev), path::EvState::kGood);
}

TEST_F(Nack, ReceivedOrNeverSentIsStale) {
  s.sack(s.sack_for(out[3], out[3].psn));
  s.nack(out[1], NackReason::kTrimmed);
  EXPECT_EQ(s.qp.ev_set().state(out[1].ev), path::EvState::kSkip);  // feedback all the same
  TxDesc future = out[19];
  future.psn = out[19].psn + 5000;
  s.nack(future, NackReason::kUnexpEvent);
  EXPECT_EQ(s.qp.counters().rx_nack_stale, 2U);
  EXPECT_TRUE(retransmitted().empty());
  EXPECT_EQ(s.qp.state(), QpState::kRts);
}

// D7, D11. A NACK of an older transmission subtracts nothing and queues nothing.
TEST_F(Nack, OfAnOlderTransmissionChangesNothing) {
  s.nack(out[3], NackReason::kTrimmedLasthop);
  const auto again = retransmitted();
  ASSERT_EQ(again.size(), 1U);
  s.wait(microseconds(1));
  const std::int64_t share = s.qp.inflight_share_bytes();
  s.nack(out[3], NackReason::kTrimmedLasthop);
  EXPECT_EQ(s.qp.inflight_share_bytes(), share);
  EXPECT_TRUE(retransmitted().empty());
}

// D11. Without a timestamp (cut off by the trim, C26) the EV tells.
TEST_F(Nack, WithoutTimestampTheEvTells) {
  s.nack(out[3], NackReason::kTrimmed, false);
  const auto again = retransmitted();
  ASSERT_EQ(again.size(), 1U);
  TxDesc stranger = out[4];
  stranger.ev = again[0].ev == 0 ? 1 : 0;
  while (stranger.ev == out[4].ev) ++stranger.ev;
  s.nack(stranger, NackReason::kTrimmedLasthop, false);  // that PSN never used this EV
  EXPECT_TRUE(retransmitted().empty());
}

TEST_F(Nack, ChargesAreReturned) {
  const std::int64_t before = s.qp.inflight_share_bytes();
  const std::int64_t size = wire::write_nominal_bytes(out[3].opcode, true, out[3].payload_bytes);
  s.nack(out[3], NackReason::kTrimmed);
  EXPECT_EQ(before - s.qp.inflight_share_bytes(), size);
  s.nack(out[4], NackReason::kNoResource);
  s.nack(out[5], NackReason::kPsnOorWindow);
  EXPECT_EQ(before - s.qp.inflight_share_bytes(), 3 * size);
  EXPECT_EQ(s.cc.inflight_bytes(), s.qp.inflight_share_bytes());
}

// D11. However often it doubles, the delay ends at interval(0).
TEST(NackDelay, IsAtMostTheFirstInterval) {
  Sender s(config_1k());
  s.post(2 * 1024);
  auto out = s.send();
  s.wait(microseconds(10));
  s.sack(s.sack_for(out[0], out[0].psn));                  // nothing but the second is open
  const Duration most = RetryClock(10, 7, 7).interval(0);  // 1049 us
  for (int n = 0; n < 10; ++n) {
    s.nack(out.back(), NackReason::kNoResource);
    s.wait(std::min(microseconds(10 << n), most) - nanoseconds(1));
    s.tick();
    ASSERT_TRUE(s.send().empty()) << n;
    s.wait(nanoseconds(1));
    s.tick();
    out = s.send();
    ASSERT_EQ(out.size(), 1U) << n;
    s.wait(microseconds(1));
  }
}

}  // namespace
}  // namespace mrc::transport::test
