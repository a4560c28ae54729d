// SPDX-License-Identifier: BSD-3-Clause
// Responder flow control (6.5): what the responder asks for, and what the sender makes of it.
#include <gtest/gtest.h>

#include "solo.h"

namespace mrc::transport::test {
namespace {

PairConfig with_penalty(PairConfig config = Receiver::defaults()) {
  config.policy.receive_penalty = true;
  return config;
}

/// The SACK that one more packet draws.
wire::SackView next_sack(Receiver& r, std::int32_t index) {
  auto w = r.only(index);
  w.bth.rtx = true;  // draws a SACK at once
  r.write(w);
  r.drain();
  return r.sacks().at(0);
}

TEST(ReceivePenalty, IsLinearBetweenAQuarterAndThreeQuarters) {
  Receiver r(with_penalty());
  std::int32_t i = 0;
  const std::pair<unsigned, int> expected[] = {{0, 0},    {25, 0},   {26, 2},    {35, 25}, {50, 63},
                                               {74, 124}, {75, 127}, {100, 127}, {25, 0}};
  for (const auto& [percent, penalty] : expected) {
    r.qp.set_receive_occupancy(percent);
    EXPECT_EQ(r.qp.receive_penalty(), penalty);
    EXPECT_EQ(next_sack(r, i++).rcv_cwnd_pen, penalty) << percent;
  }
}

// restore_cwnd belongs to the end of a penalty that a SACK has told. It stays set until the next penalty: the
// first SACK with it may be lost, or be overtaken by one of before.
TEST(ReceivePenalty, RestoresWhatItTook) {
  Receiver r(with_penalty());
  EXPECT_FALSE(next_sack(r, 0).restore_cwnd) << "there was no penalty";
  r.qp.set_receive_occupancy(50);
  r.qp.set_receive_occupancy(0);
  EXPECT_FALSE(next_sack(r, 1).restore_cwnd) << "nobody was told";
  r.qp.set_receive_occupancy(50);
  EXPECT_FALSE(next_sack(r, 2).restore_cwnd);
  r.qp.set_receive_occupancy(10);
  for (const std::int32_t i : {3, 4}) {
    EXPECT_TRUE(next_sack(r, i).restore_cwnd);
    EXPECT_EQ(r.sacks().at(0).rcv_cwnd_pen, 0);
  }
  r.qp.set_receive_occupancy(60);
  EXPECT_FALSE(next_sack(r, 5).restore_cwnd);
}

TEST(ReceivePenalty, IsOffUnlessAskedFor) {
  Receiver r;
  r.qp.set_receive_occupancy(100);
  EXPECT_EQ(next_sack(r, 0).rcv_cwnd_pen, 0);
  Receiver on(with_penalty());
  on.qp.set_receive_occupancy(100);
  EXPECT_NE(next_sack(on, 0).rcv_cwnd_pen, 0);
  ASSERT_TRUE(on.qp.modify(QpState::kReset, {}, kAttrState, on.now));
  EXPECT_EQ(on.qp.receive_penalty(), 0);
}

// Both ends, NSCC for 400 Gb/s and 10 us, over a wire that has no rate: windows leave in one piece.
class ReceivePenaltyPair : public ::testing::Test {
 protected:
  static PairConfig config() {
    PairConfig c = with_penalty(PairConfig{});
    cc::NsccLink link;
    link.rate_bps = 400e9;
    link.base_rtt = microseconds(10);
    link.mtu_bytes = wire::write_nominal_bytes(wire::Opcode::kWriteMiddle, true, 4096);
    c.nscc = *cc::derive_nscc(link);
    return c;
  }
  std::int64_t window() { return pair.cc(Pair::kA).cwnd_bytes(); }
  Pair pair{config()};
};

TEST_F(ReceivePenaltyPair, ShrinksTheSendersWindowAndGivesItBack) {
  for (std::uint64_t i = 0; i < 200; ++i) pair.write(i, 1 << 20);
  pair.run_for(microseconds(100));
  const std::int64_t before = window();
  const std::int64_t mtu = config().nscc->mtu_bytes;
  EXPECT_GT(before, 100 * mtu);

  pair.b().set_receive_occupancy(50);
  pair.run_for(microseconds(20));
  EXPECT_LE(window(), before / 2) << "64 in all SACKs of a round trip takes half at least";
  pair.b().set_receive_occupancy(100);
  pair.run_for(microseconds(300));
  EXPECT_GE(window(), mtu);
  EXPECT_LE(window(), 2 * mtu) << "at last a packet or two a round trip";

  pair.b().set_receive_occupancy(0);
  pair.run_for(microseconds(30));
  EXPECT_GE(window(), before);
  pair.run_for(milliseconds(20));
  EXPECT_EQ(pair.end[Pair::kA].completions.size(), 200U);
}

// The SACKs that first say "back" are lost, and one of before comes late: the window comes back all the same.
TEST_F(ReceivePenaltyPair, ALostRestoreIsSaidAgain) {
  for (std::uint64_t i = 0; i < 200; ++i) pair.write(i, 1 << 20);
  pair.run_for(microseconds(100));
  const std::int64_t before = window();
  pair.b().set_receive_occupancy(60);
  pair.run_for(microseconds(100));
  EXPECT_LT(window(), before / 4);
  int lost = 0;
  int late = 0;
  pair.on_wire = [&](const Pair::Packet& p) {
    Fate fate;
    const ControlDesc* c = p.control();
    if (c == nullptr || c->opcode != wire::Opcode::kSack) return fate;
    if (c->sack.rcv_cwnd_pen != 0) {
      fate.extra = microseconds(40);
      ++late;
    } else if (c->sack.restore_cwnd && lost < 2) {
      fate.drop = true;
      ++lost;
    }
    return fate;
  };
  pair.run_for(microseconds(6));
  pair.b().set_receive_occupancy(0);
  pair.run_for(microseconds(400));
  EXPECT_GT(late, 0);
  EXPECT_EQ(lost, 2);
  EXPECT_GE(window(), before);
}

}  // namespace
}  // namespace mrc::transport::test
