// SPDX-License-Identifier: BSD-3-Clause
// The thinnest line: writes and WriteIMMs over a wire that loses nothing.
#include <gtest/gtest.h>

#include "pair.h"

namespace mrc::transport::test {
namespace {

TEST(Lossless, OneWriteArrivesAndCompletes) {
  Pair pair;
  ASSERT_EQ(pair.write(7, 10000, 100), PostResult::kOk);
  pair.run_for(milliseconds(1));
  EXPECT_TRUE(pair.arrived(100, 10000));
  ASSERT_EQ(pair.end[Pair::kA].completions.size(), 1U);
  EXPECT_EQ(pair.end[Pair::kA].completions[0].wr_id, 7U);
  EXPECT_EQ(pair.end[Pair::kA].completions[0].status, WcStatus::kSuccess);
  EXPECT_EQ(pair.end[Pair::kA].completions[0].byte_len, 10000U);
  EXPECT_EQ(pair.a().inflight_share_bytes(), 0);
  EXPECT_TRUE(pair.a().send_idle());
  EXPECT_TRUE(pair.a().wake().deadline.is_never());
}

TEST(Lossless, ManyMessagesInOrderWithoutRetransmission) {
  Pair pair;
  std::uint64_t posted = 0;
  for (int round = 0; round < 40; ++round) {
    while (posted < 200U * (static_cast<unsigned>(round) + 1) &&
           pair.write(posted, static_cast<std::uint32_t>(posted * 37 % 9000), posted) == PostResult::kOk)
      ++posted;
    pair.run_for(milliseconds(1));
  }
  const auto& done = pair.end[Pair::kA].completions;
  ASSERT_EQ(done.size(), posted);
  EXPECT_EQ(posted, 8000U);
  for (std::size_t i = 0; i < done.size(); ++i) {
    ASSERT_EQ(done[i].wr_id, i);
    ASSERT_EQ(done[i].status, WcStatus::kSuccess);
  }
  EXPECT_EQ(pair.a().counters().tx_rtx, 0U);
  EXPECT_EQ(pair.a().counters().timer_expiries, 0U);
  EXPECT_EQ(pair.b().counters().rx_duplicate, 0U);
}

TEST(Lossless, WriteImmTakesReceivesInOrder) {
  Pair pair;
  for (std::uint64_t i = 0; i < 100; ++i) ASSERT_EQ(pair.b().post_recv({1000 + i}), PostResult::kOk);
  for (std::uint32_t i = 0; i < 100; ++i) ASSERT_EQ(pair.write_imm(i, i * 100, 0xAB00 + i), PostResult::kOk);
  pair.run_for(milliseconds(5));
  const auto& got = pair.end[Pair::kB].completions;
  ASSERT_EQ(got.size(), 100U);
  for (std::uint32_t i = 0; i < 100; ++i) {
    EXPECT_EQ(got[i].wr_id, 1000U + i);
    EXPECT_EQ(got[i].opcode, WcOpcode::kRecvRdmaWithImm);
    EXPECT_EQ(got[i].immdt, 0xAB00U + i);
    EXPECT_EQ(got[i].byte_len, i * 100);
    EXPECT_TRUE(got[i].solicited);
  }
  EXPECT_EQ(pair.end[Pair::kA].completions.size(), 100U);
  EXPECT_EQ(pair.a().counters().tx_rtx, 0U);
  EXPECT_EQ(pair.b().counters().rx_rqmsn_mismatch, 0U);
}

TEST(Lossless, BothDirectionsAtOnce) {
  Pair pair;
  pair.write(1, 1 << 20, 0, Pair::kA);
  pair.write(2, 1 << 20, 0, Pair::kB);
  pair.run_for(milliseconds(10));
  EXPECT_TRUE(pair.arrived(0, 1 << 20, Pair::kA));
  EXPECT_TRUE(pair.arrived(0, 1 << 20, Pair::kB));
  EXPECT_EQ(pair.end[Pair::kA].completions.size(), 1U);
  EXPECT_EQ(pair.end[Pair::kB].completions.size(), 1U);
  EXPECT_EQ(pair.a().counters().tx_rtx + pair.b().counters().tx_rtx, 0U);
}

}  // namespace
}  // namespace mrc::transport::test
