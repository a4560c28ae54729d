// SPDX-License-Identifier: BSD-3-Clause
// Segmentation, numbers, windows, retransmissions, bursts (2.1, 2.2, 2.4; D2, D16).
#include <gtest/gtest.h>

#include "solo.h"

namespace mrc::transport::test {
namespace {

using wire::NackReason;
using wire::Opcode;

struct Cut {
  std::uint32_t length;
  bool imm;
  std::vector<Opcode> opcodes;
  std::uint32_t last_payload;
};

class Segmentation : public ::testing::TestWithParam<Cut> {};

// 2.1: opcodes, lengths, va, dmalen, rkey, immediate, solicited.
TEST_P(Segmentation, CutsAtPmtu) {
  const Cut& cut = GetParam();
  Sender s(with_mtu(1024));
  ASSERT_EQ(s.post(cut.length, cut.imm), PostResult::kOk);
  const auto out = s.send();
  ASSERT_EQ(out.size(), cut.opcodes.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    const bool last = i + 1 == out.size();
    EXPECT_EQ(out[i].opcode, cut.opcodes[i]);
    EXPECT_EQ(out[i].payload_bytes, last ? cut.last_payload : 1024U);
    EXPECT_EQ(out[i].source, 0x10000U + i * 1024);
    EXPECT_EQ(out[i].va, 0x2000U + i * 1024);
    EXPECT_EQ(out[i].dmalen, cut.length);
    EXPECT_EQ(out[i].rkey, 0x77U);
    EXPECT_EQ(out[i].psn, Psn{1000} + static_cast<std::int32_t>(i));
    EXPECT_EQ(out[i].msn, Msn{0});
    EXPECT_FALSE(out[i].rtx);
    EXPECT_TRUE(out[i].ts);
    EXPECT_EQ(out[i].tx_timestamp, tick_of(s.now));
    EXPECT_EQ(out[i].se, cut.imm && last);
    if (cut.imm && last) {
      EXPECT_EQ(out[i].immdt, 0xFEEDU);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Rules, Segmentation,
    ::testing::Values(Cut{0, false, {Opcode::kWriteOnly}, 0}, Cut{0, true, {Opcode::kWriteOnlyImm}, 0},
                      Cut{1, false, {Opcode::kWriteOnly}, 1}, Cut{1024, false, {Opcode::kWriteOnly}, 1024},
                      Cut{1024, true, {Opcode::kWriteOnlyImm}, 1024},
                      Cut{1025, false, {Opcode::kWriteFirst, Opcode::kWriteLast}, 1},
                      Cut{2048, true, {Opcode::kWriteFirst, Opcode::kWriteLastImm}, 1024},
                      Cut{3000, false, {Opcode::kWriteFirst, Opcode::kWriteMiddle, Opcode::kWriteLast}, 952},
                      Cut{4096,
                          true,
                          {Opcode::kWriteFirst, Opcode::kWriteMiddle, Opcode::kWriteMiddle,
                           Opcode::kWriteLastImm},
                          1024}));

TEST(Requestor, LongestMessageIsTakenALongerOneIsNot) {
  Sender s;
  EXPECT_EQ(s.post(kMaxMessageBytes), PostResult::kOk);
  EXPECT_EQ(s.post(kMaxMessageBytes + 1), PostResult::kTooLong);
}

// The longest message at the smallest PMTU has 2^23 packets: its end must not look older than its start.
TEST(Requestor, MessageOfHalfThePsnSpaceDoesNotCompleteEarly) {
  PairConfig config = with_mtu(256);
  Sender s(config);
  ASSERT_EQ(s.post(kMaxMessageBytes), PostResult::kOk);
  const auto out = s.send();
  ASSERT_FALSE(out.empty());
  s.ack(out[0].psn, 0);
  EXPECT_TRUE(s.poll().empty());
}

// C23, 2.1. MSN counts messages, RQMSN WriteIMMs; both repeated in all packets; 0 for plain Writes.
TEST(Requestor, MsnAndRqmsnCountMessages) {
  Sender s(with_mtu(1024));
  s.post(2048);
  s.post(2048, true);
  s.post(10);
  s.post(10, true);
  const auto out = s.send();
  ASSERT_EQ(out.size(), 6U);
  const std::uint32_t msn[] = {0, 0, 1, 1, 2, 3};
  const std::uint32_t rqmsn[] = {0, 0, 0, 0, 0, 1};
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(out[i].msn, Msn{msn[i]});
    EXPECT_EQ(out[i].rqmsn, Rqmsn{rqmsn[i]});
  }
}

TEST(Requestor, PsnMsnRqmsnWrap) {
  PairConfig config = with_mtu(1024);
  config.attr.sq_psn = Psn{0xFFFFFE};
  config.policy.first_msn = Msn{0xFFFF};
  config.policy.first_rqmsn = Rqmsn{0xFFFF};
  Sender s(config);
  for (int i = 0; i < 4; ++i) s.post(1024, true);
  const auto out = s.send();
  ASSERT_EQ(out.size(), 4U);
  const std::uint32_t psn[] = {0xFFFFFE, 0xFFFFFF, 0, 1};
  const std::uint32_t number[] = {0xFFFF, 0, 1, 2};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(out[i].psn.value(), psn[i]);
    EXPECT_EQ(out[i].msn.value(), number[i]);
    EXPECT_EQ(out[i].rqmsn.value(), number[i]);
  }
  s.count(out);
  s.sack(s.sack_for(out[3], out[3].psn));
  s.ack(Psn{1}, 4);
  EXPECT_EQ(s.poll().size(), 4U);
  EXPECT_EQ(s.qp.unack_psn(), Psn{1});
  EXPECT_EQ(s.qp.counters().rx_ack_msn_mismatch, 0U);
}

// D2. The highest PSN is cack + MPR.
TEST(Requestor, MprWindowIsExact) {
  PairConfig config = with_mtu(256);
  config.attr.mpr = 2;
  config.window_bytes = 1 << 30;
  Sender s(config);
  s.post(1 << 20);
  const auto out = s.send();
  ASSERT_EQ(out.size(), 256U);
  EXPECT_EQ(s.qp.max_psn_sent() - s.qp.unack_psn(), 256);
  EXPECT_TRUE(out.back().a);  // D3. The window is closed
  EXPECT_FALSE(s.qp.wake().tx_ready);
  s.sack(s.sack_for(out[2], out[2].psn));
  EXPECT_EQ(s.send().size(), 3U);
}

// D2. Inflight < cwnd before the send; one packet may overshoot.
TEST(Requestor, MrcSendTestIsInflightBelowCwnd) {
  PairConfig config;
  config.window_bytes = 10000;
  Sender s(config);
  s.post(1 << 20);
  const auto out = s.send();
  EXPECT_EQ(out.size(), 3U);  // 4184 and 8368 are below, 12552 is not
  EXPECT_GE(s.cc.inflight_bytes(), 10000);
}

TEST(Requestor, UetSendTestNeverOvershoots) {
  PairConfig config;
  config.window_bytes = 10000;
  config.send_test = cc::SendTest::kUet;
  Sender s(config);
  s.post(1 << 20);
  EXPECT_EQ(s.send().size(), 2U);
  EXPECT_LE(s.cc.inflight_bytes(), 10000);
}

// D2. Retransmissions before new data, lowest PSN first.
TEST(Requestor, RetransmissionsGoFirstLowestPsnFirst) {
  Sender s(with_mtu(1024));
  s.post(64 * 1024);
  const auto out = s.send(20);
  s.nack(out[9], wire::NackReason::kTrimmed);
  s.nack(out[4], wire::NackReason::kTrimmed);
  s.nack(out[7], wire::NackReason::kTrimmed);
  const auto again = s.send(4);
  ASSERT_EQ(again.size(), 4U);
  EXPECT_EQ(again[0].psn, out[4].psn);
  EXPECT_EQ(again[1].psn, out[7].psn);
  EXPECT_EQ(again[2].psn, out[9].psn);
  EXPECT_TRUE(again[0].rtx && again[1].rtx && again[2].rtx);
  EXPECT_FALSE(again[3].rtx);
}

// 2.4: a retransmission repeats everything but EV, rtx, timestamp, class.
TEST(Requestor, RetransmissionRepeatsThePacket) {
  Sender s(with_mtu(1024));
  s.post(2500, true);
  const auto out = s.send();
  ASSERT_EQ(out.size(), 3U);
  for (const TxDesc& d : out) s.nack(d, wire::NackReason::kTrimmed);
  s.wait(microseconds(20));
  const auto again = s.send();
  ASSERT_EQ(again.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(again[i].opcode, out[i].opcode);
    EXPECT_EQ(again[i].psn, out[i].psn);
    EXPECT_EQ(again[i].msn, out[i].msn);
    EXPECT_EQ(again[i].rqmsn, out[i].rqmsn);
    EXPECT_EQ(again[i].va, out[i].va);
    EXPECT_EQ(again[i].source, out[i].source);
    EXPECT_EQ(again[i].payload_bytes, out[i].payload_bytes);
    EXPECT_EQ(again[i].immdt, out[i].immdt);
    EXPECT_EQ(again[i].tx_timestamp, tick_of(s.now));
    EXPECT_EQ(again[i].dscp, wire::DscpClass::kTrimmableRetx);
    EXPECT_NE(again[i].ev, out[i].ev);
    EXPECT_NE(again[i].port, out[i].port);  // D10. Another plane if one is usable
  }
}

// D1. NEW, SENT, RTX, SENT, RCVD; SENT alone is charged, and RCVD is the end whatever comes later.
TEST(Requestor, APacketIsChargedWhileItIsSentAndNeverAgainOnceReceived) {
  Sender s(with_mtu(1024));
  s.post(1024);
  EXPECT_EQ(s.qp.charged_bytes(), 0) << "NEW";
  const auto out = s.send();
  ASSERT_EQ(out.size(), 1U);
  const std::int64_t size = wire::write_nominal_bytes(out[0].opcode, out[0].ts, out[0].payload_bytes);
  EXPECT_EQ(s.qp.charged_bytes(), size) << "SENT";
  s.wait(microseconds(20));
  s.nack(out[0], NackReason::kTrimmed);
  EXPECT_EQ(s.qp.charged_bytes(), 0) << "RTX";
  const auto again = s.send();
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(s.qp.charged_bytes(), size) << "SENT again";
  s.wait(microseconds(20));
  s.sack(s.sack_for(again[0], s.first));
  EXPECT_EQ(s.qp.charged_bytes(), 0) << "RCVD";
  s.nack(again[0], NackReason::kTrimmed);
  EXPECT_TRUE(s.send().empty()) << "a late NACK brings nothing back";
  EXPECT_EQ(s.qp.charged_bytes(), 0);
}

// 1.15: TRIMMABLE only towards a responder that answers trims.
TEST(Requestor, ClassFollowsThePeersTrimNack) {
  PairConfig config;
  Sender with(config);
  with.post(10);
  EXPECT_EQ(with.send().at(0).dscp, wire::DscpClass::kTrimmable);
  config.attr.trim_nack_dest = false;
  Sender without(config);
  without.post(10);
  EXPECT_EQ(without.send().at(0).dscp, wire::DscpClass::kNoTrim);
}

// Credits: one packet per credit, never on a port without.
TEST(Requestor, CreditsAreTakenOnePerPacket) {
  Sender s(with_mtu(1024));
  s.post(100 * 1024);
  PortCredits credits;
  credits.up_mask = 0b1010;
  credits.credits = {9, 3, 9, 2};
  std::vector<TxDesc> out(64);
  out.resize(s.qp.next_packets(s.now, credits, out));
  EXPECT_EQ(out.size(), 5U);
  for (const TxDesc& d : out) EXPECT_TRUE(d.port == 1 || d.port == 3);
  EXPECT_EQ(credits.credits[1], 0);
  EXPECT_EQ(credits.credits[3], 0);
  EXPECT_EQ(credits.credits[0], 9);
}

// Bursts are an interface, not a hint: 64 calls for one packet send what one call for 64 does.
TEST(Requestor, BurstSizeChangesNothing) {
  Sender one(with_mtu(1024)), many(with_mtu(1024));
  for (Sender* s : {&one, &many}) {
    for (int i = 0; i < 20; ++i) s->post(static_cast<std::uint32_t>(i * 500), i % 3 == 0);
  }
  const auto burst = one.send();
  std::vector<TxDesc> single;
  while (true) {
    const auto next = many.send(1);
    if (next.empty()) break;
    single.push_back(next[0]);
  }
  ASSERT_EQ(burst.size(), single.size());
  for (std::size_t i = 0; i < burst.size(); ++i) {
    EXPECT_EQ(burst[i].psn, single[i].psn);
    EXPECT_EQ(burst[i].opcode, single[i].opcode);
    EXPECT_EQ(burst[i].ev, single[i].ev);
    EXPECT_EQ(burst[i].a, single[i].a);
    EXPECT_EQ(burst[i].va, single[i].va);
  }
}

// D16. A peer's MPR is adopted from the newest SACK; 0 means no change; retransmissions beyond it wait.
TEST(Requestor, DynamicMprShrinksAndGrows) {
  PairConfig config = with_mtu(256);
  config.attr.dynamic_mpr = true;
  config.window_bytes = 1 << 30;
  Sender s(config);
  s.post(1 << 20);
  const auto out = s.send();
  ASSERT_EQ(out.size(), 1024U);
  auto sack = s.sack_for(out[0], out[0].psn);
  sack.mpr = 1;
  s.sack(sack);
  EXPECT_TRUE(s.send().empty());
  s.nack(out[1], wire::NackReason::kTrimmed);    // cack + 1: always inside
  s.nack(out[600], wire::NackReason::kTrimmed);  // beyond the edge
  const auto again = s.send();
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].psn, out[1].psn);
  sack = s.sack_for(out[1], out[1].psn);
  sack.mpr = 0;
  s.sack(sack);
  EXPECT_TRUE(s.send().empty());
  sack.mpr = 8;
  s.sack(sack);
  const auto rest = s.send();
  ASSERT_EQ(rest.size(), 3U);
  EXPECT_EQ(rest[0].psn, out[600].psn);
  EXPECT_TRUE(rest[0].rtx);
}

TEST(Requestor, MprFieldIsIgnoredWhenDynamicMprIsOff) {
  PairConfig config = with_mtu(256);
  config.window_bytes = 1 << 30;
  Sender s(config);
  s.post(1 << 20);
  const auto out = s.send();
  auto sack = s.sack_for(out[0], out[0].psn);
  sack.mpr = 1;
  s.sack(sack);
  EXPECT_EQ(s.send().size(), 1U);
}

// Figure 4 with UET's send test: READY is said of the packet that waits, by its size.
TEST(Requestor, ScheduleStateGoesByThePacketThatWaits) {
  const auto nominal = [](std::uint32_t payload) {
    return wire::write_nominal_bytes(wire::Opcode::kWriteOnly, true, payload);
  };
  PairConfig config = with_mtu(1024);
  config.send_test = cc::SendTest::kUet;
  config.window_bytes = 2 * nominal(1024) + nominal(8);
  for (const std::uint32_t third : {1024U, 8U}) {
    Sender s(config);
    s.post(2 * 1024);
    s.post(third);
    ASSERT_EQ(s.send(2).size(), 2U);
    EXPECT_EQ(s.cc.state(), third == 8 ? cc::SchedState::kReady : cc::SchedState::kActive);
    EXPECT_EQ(s.send().size(), third == 8 ? 1U : 0U);
  }
}

}  // namespace
}  // namespace mrc::transport::test
