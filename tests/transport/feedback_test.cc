// SPDX-License-Identifier: BSD-3-Clause
// What SACKs do at the requestor (3.6; D6, D7, D12, D18).
#include <gtest/gtest.h>

#include "solo.h"

namespace mrc::transport::test {
namespace {

PairConfig small_packets() {
  PairConfig config;
  config.attr.path_mtu = 1024;
  return config;
}

std::int64_t size_of(const TxDesc& d) {
  return wire::write_nominal_bytes(d.opcode, d.ts, d.payload_bytes);
}

// D6 rule 1: beyond what was sent, or too old: dropped and counted, nothing changes.
TEST(Feedback, SackOutsideTheSentRangeIsDropped) {
  Sender s(small_packets());
  s.post(10 * 1024);
  const auto out = s.send();
  const auto good = s.sack_for(out[4], out[2].psn, 0b10);
  auto bad = good;
  bad.cack_psn = out[9].psn + 1;
  s.sack(bad);
  bad = good;
  bad.ack_psn_offset = 100;
  s.sack(bad);
  bad = good;
  bad.sack_bitmap = 1ULL << 63;
  s.sack(bad);
  bad = good;
  bad.cack_psn = s.first - 1 - (1 << 15);
  bad.ack_psn_offset = 0;
  bad.sack_bitmap = 0;
  s.sack(bad);
  EXPECT_EQ(s.qp.counters().rx_sack_range, 4U);
  EXPECT_EQ(s.qp.unack_psn(), s.first - 1);
  s.sack(good);
  EXPECT_EQ(s.qp.counters().rx_sack_range, 4U);
  EXPECT_EQ(s.qp.unack_psn(), out[2].psn);
}

// D6 rule 3: an old SACK's positive facts are used.
TEST(Feedback, OldSackStillTellsWhatArrived) {
  Sender s(small_packets());
  s.post(10 * 1024);
  const auto out = s.send();
  s.sack(s.sack_for(out[3], out[3].psn));
  const std::int64_t before = s.qp.charged_bytes();
  auto old = s.sack_for(out[7], out[1].psn, 0);  // older cack, newer trigger
  s.sack(old);
  EXPECT_EQ(s.qp.unack_psn(), out[3].psn);
  EXPECT_EQ(before - s.qp.charged_bytes(), size_of(out[7]));
  EXPECT_EQ(s.qp.counters().rx_sack_old, 1U);
}

// Bits below cack and any base are accepted (3.5: accept any offset).
TEST(Feedback, AnyBitmapBaseIsAccepted) {
  Sender s(small_packets());
  s.post(10 * 1024);
  const auto out = s.send();
  auto sack = s.sack_for(out[5], out[1].psn);
  sack.sack_offset = -40;
  sack.sack_bitmap = ~0ULL >> (63 - 44);  // ... up to cack + 4
  s.sack(sack);
  // 0..1 by cack, 2..5 by bits
  std::int64_t left = 0;
  for (std::size_t i = 6; i < 10; ++i) left += size_of(out[i]);
  EXPECT_EQ(s.qp.charged_bytes(), left);
}

// A base far away must not alias into the window.
TEST(Feedback, FarBaseTouchesNothing) {
  Sender s(small_packets());
  s.post(10 * 1024);
  const auto out = s.send();
  const std::int64_t all = s.qp.charged_bytes();
  auto sack = s.sack_for(out[0], s.first - 1);
  sack.ack_psn_offset = 0;
  for (const int offset : {-32768, -2048, -1024, -64}) {
    sack.sack_offset = static_cast<std::int16_t>(offset);
    sack.sack_bitmap = ~0ULL;
    s.sack(sack);
  }
  EXPECT_EQ(s.qp.counters().rx_sack_range, 0U);
  EXPECT_EQ(s.qp.charged_bytes(), all);
}

// D6. A SACK that comes twice changes nothing the second time but counters.
TEST(Feedback, SackTwiceEqualsOnce) {
  Sender s(small_packets());
  s.post(10 * 1024);
  const auto out = s.send();
  s.wait(microseconds(10));
  s.count(std::span(out).first(5));
  auto sack = s.sack_for(out[4], out[3].psn, 1);
  sack.m = wire::EvMark::kSkipOnce;
  s.sack(sack);
  const auto share = s.qp.inflight_share_bytes();
  const auto marks = s.qp.ev_set().counters().skip_marks;
  EXPECT_EQ(marks, 1U);
  s.qp.ev_set().set_state(out[4].ev, path::EvState::kGood, s.now);
  s.sack(sack);
  EXPECT_EQ(s.qp.inflight_share_bytes(), share);
  EXPECT_EQ(s.qp.ev_set().counters().skip_marks, marks);
  EXPECT_EQ(s.qp.ev_set().state(out[4].ev), path::EvState::kGood);
}

// D12. The record of ack_psn names the EV, even where its entropy is not unique.
TEST(Feedback, MarkHitsTheEvOfTheTrigger) {
  Sender s(small_packets());
  s.post(10 * 1024);
  const auto out = s.send();
  auto sack = s.sack_for(out[4], out[4].psn);
  sack.m = wire::EvMark::kSkipOnce;
  sack.entropy = 0;  // what is reflected does not matter for a PSN sent once
  s.sack(sack);
  EXPECT_EQ(s.qp.ev_set().state(out[4].ev), path::EvState::kSkip);
}

// D12. After a retransmission the entropy tells which of the two is meant.
TEST(Feedback, MarkHitsTheTransmissionThatArrived) {
  Sender s(small_packets());
  s.post(10 * 1024);
  const auto out = s.send();
  s.nack(out[4], wire::NackReason::kTrimmedLasthop);
  s.wait(microseconds(10));
  const auto again = s.send();
  ASSERT_EQ(again.size(), 1U);
  auto sack = s.sack_for(again[0], out[4].psn);
  sack.m = wire::EvMark::kAlwaysSkip;
  s.sack(sack);
  EXPECT_EQ(s.qp.ev_set().state(again[0].ev), path::EvState::kAssumedBad);
  EXPECT_EQ(s.qp.ev_set().state(out[4].ev), path::EvState::kGood);
}

// D18, C41. Three transmissions over EVs a, b, a: a late SACK of the first one is not taken for one of the
// third, whose send time would blame packets that left in between. With timestamps, and without them by rtx.
TEST(Feedback, ALateSackOfAnOldTransmissionIsNotTakenForTheLastOnTheSameEv) {
  for (const bool timestamps : {true, false}) {
    PairConfig config = small_packets();
    config.evs = 2;
    config.planes = 1;
    config.policy.use_timestamps = timestamps;
    Sender s(config);
    s.post(20 * 1024);
    const auto first = s.send(1);
    s.nack(first[0], wire::NackReason::kTrimmedLasthop);
    s.wait(microseconds(15));
    const auto second = s.send(1);
    const auto others = s.send(3);
    ASSERT_EQ(others.size(), 3U);
    s.nack(second[0], wire::NackReason::kTrimmedLasthop);
    s.wait(microseconds(60));  // beyond the allowance while queues trim
    const auto third = s.send(1);
    ASSERT_EQ(third.size(), 1U);
    ASSERT_EQ(third[0].psn, first[0].psn);
    ASSERT_EQ(third[0].ev, first[0].ev);
    ASSERT_NE(second[0].ev, first[0].ev);
    s.wait(microseconds(1));
    auto late = first[0];
    if (!timestamps) late.tx_timestamp = Tick{0};
    s.sack(s.sack_for(late, first[0].psn));  // bits of the others are 0
    EXPECT_EQ(s.qp.ev_set().counters().assumed_bad, 0U)
        << "blames packets of 61 us ago by a trigger of 76 us ago";
    EXPECT_FALSE(s.send(1)[0].rtx);

    // The SACK of the third itself does judge them.
    auto good = third[0];
    if (!timestamps) good.tx_timestamp = Tick{0};
    s.sack(s.sack_for(good, first[0].psn));
    EXPECT_TRUE(s.send(1)[0].rtx);
  }
}

// C32. The reserved m = 3 counts as 0.
TEST(Feedback, ReservedMarkIsIgnored) {
  Sender s(small_packets());
  s.post(1024);
  const auto out = s.send();
  auto sack = s.sack_for(out[0], out[0].psn);
  sack.m = wire::EvMark::kReserved;
  s.sack(sack);
  EXPECT_EQ(s.qp.ev_set().state(out[0].ev), path::EvState::kGood);
}

// D7. SENT charges; rcvd_bytes discharges; at rest the share is 0 (resync) or in [-255, 0].
TEST(Feedback, ShareFollowsRcvdBytes) {
  for (const bool resync : {true, false}) {
    PairConfig config = small_packets();
    config.policy.inflight_resync = resync;
    Sender s(config);
    s.post(10 * 1024);
    const auto out = s.send();
    std::int64_t sum = 0;
    for (const TxDesc& d : out) sum += size_of(d);
    EXPECT_EQ(s.qp.inflight_share_bytes(), sum);
    EXPECT_EQ(s.cc.inflight_bytes(), sum);
    s.count(out);
    s.sack(s.sack_for(out[9], out[9].psn));
    EXPECT_LE(s.qp.inflight_share_bytes(), 0);
    EXPECT_GE(s.qp.inflight_share_bytes(), resync ? 0 : -255);
    EXPECT_EQ(s.cc.inflight_bytes(), s.qp.inflight_share_bytes());
  }
}

// D7's table: given up and then received counts once.
TEST(Feedback, GivenUpThenReceivedBalances) {
  PairConfig config = small_packets();
  config.policy.inflight_resync = false;
  Sender s(config);
  s.post(10 * 1024);
  const auto out = s.send();
  s.nack(out[2], wire::NackReason::kTrimmed);
  s.nack(out[2], wire::NackReason::kTrimmed);  // twice: subtracts once
  s.count(out);
  s.sack(s.sack_for(out[9], out[9].psn));
  EXPECT_LE(s.qp.inflight_share_bytes(), 0);
  EXPECT_GE(s.qp.inflight_share_bytes(), -255);
  EXPECT_EQ(s.qp.charged_bytes(), 0);
}

// D7. A peer that counts 8 B less a packet would leak the window away.
TEST(Feedback, ResyncForgivesAPeerThatCountsLess) {
  for (const bool resync : {true, false}) {
    PairConfig config = small_packets();
    config.policy.inflight_resync = resync;
    Sender s(config);
    for (int i = 0; i < 100; ++i) {
      s.post(1024);
      const auto out = s.send();
      ASSERT_EQ(out.size(), 1U);
      s.bytes += static_cast<std::uint64_t>(size_of(out[0])) - 8;
      s.rcvd = RcvdUnits{static_cast<std::uint32_t>((s.bytes + 255) >> 8)};
      s.sack(s.sack_for(out[0], out[0].psn));
      s.ack(out[0].psn, static_cast<std::uint32_t>(i + 1));
      s.poll();
    }
    if (resync) {
      EXPECT_EQ(s.qp.inflight_share_bytes(), 0);
    } else {
      EXPECT_GE(s.qp.inflight_share_bytes(), 100 * 8 - 255);
    }
  }
}

// The same for one that counts more, which would leave congestion control without effect; its bitmap may
// begin at or below cack (C19): ones there are no news.
TEST(Feedback, ResyncCorrectsAPeerThatCountsMore) {
  PairConfig config = small_packets();
  Sender s(config);
  s.post(20 * 1024);
  const auto out = s.send();
  for (int i = 0; i < 20; ++i) {
    s.wait(microseconds(1));
    s.bytes += 2 * static_cast<std::uint64_t>(size_of(out[static_cast<std::size_t>(i)]));
    s.rcvd = RcvdUnits{static_cast<std::uint32_t>((s.bytes + 255) >> 8)};
    auto sack = s.sack_for(out[static_cast<std::size_t>(i)], out[static_cast<std::size_t>(i)].psn);
    sack.sack_offset = -7;
    sack.sack_bitmap = 0xFF;
    s.sack(sack);
    EXPECT_EQ(s.qp.inflight_share_bytes(), s.qp.charged_bytes());
  }
}

// C25, 3.5. The field rcvd_bytes wraps at 2^24 units.
TEST(Feedback, RcvdBytesWraps) {
  PairConfig config = small_packets();
  config.policy.first_rcvd_bytes = RcvdUnits{0xFFFFFF};
  config.policy.inflight_resync = false;
  Sender s(config);
  s.post(10 * 1024);
  const auto out = s.send();
  const std::int64_t before = s.qp.inflight_share_bytes();
  s.rcvd = RcvdUnits{3};
  s.sack(s.sack_for(out[0], out[0].psn));
  EXPECT_EQ(before - s.qp.inflight_share_bytes(), 4 * 256);
  EXPECT_EQ(s.qp.counters().rx_sack_old, 0U);
}

// D6 rule 4: an older byte count changes nothing.
TEST(Feedback, OlderRcvdBytesIsIgnored) {
  PairConfig config = small_packets();
  config.policy.inflight_resync = false;
  Sender s(config);
  s.post(10 * 1024);
  const auto out = s.send();
  s.rcvd = RcvdUnits{20};
  s.sack(s.sack_for(out[4], out[4].psn));
  const std::int64_t share = s.qp.inflight_share_bytes();
  s.rcvd = RcvdUnits{10};
  s.sack(s.sack_for(out[2], out[2].psn));
  EXPECT_EQ(s.qp.inflight_share_bytes(), share);
}

// D7. The share leaves with the QP.
TEST(Feedback, ShareReturnsOnErrorResetAndDestruction) {
  const auto table = make_table(16, 4);
  cc::Qpcc shared{cc::FixedWindow(1 << 20)};
  const auto send_ten = [&](Qp& qp) {
    ASSERT_EQ(bring_up(qp, default_attr(), Time{1000}), "");
    ASSERT_EQ(qp.post_send({1, WrOpcode::kRdmaWrite, false, 40960, 1, 0, 0, 0}), PostResult::kOk);
    PortCredits credits;
    credits.up_mask = 0xF;
    credits.credits.fill(64);
    TxDesc out[32];
    ASSERT_EQ(qp.next_packets(Time{1000}, credits, out), 10U);
    ASSERT_GT(shared.inflight_bytes(), 40960);
  };
  {
    Qp qp(5, {}, {}, table, shared, 1);
    send_ten(qp);
  }
  EXPECT_EQ(shared.inflight_bytes(), 0);
  Qp qp(5, {}, {}, table, shared, 1);
  send_ten(qp);
  ASSERT_TRUE(qp.modify(QpState::kError, {}, 0, Time{2000}));
  EXPECT_EQ(shared.inflight_bytes(), 0);
  ASSERT_TRUE(qp.modify(QpState::kReset, {}, 0, Time{2000}));
  EXPECT_EQ(shared.inflight_bytes(), 0);
  send_ten(qp);
  ASSERT_TRUE(qp.modify(QpState::kReset, {}, 0, Time{3000}));
  EXPECT_EQ(shared.inflight_bytes(), 0);
}

/// The RTT that NSCC was told, by the base RTT it learns from a sample below the configured one.
class RttSample : public ::testing::Test {
 protected:
  static PairConfig config(bool timestamps) {
    PairConfig c = with_mtu(1024);
    c.policy.use_timestamps = timestamps;
    cc::NsccLink link;
    link.rate_bps = 400e9;
    link.base_rtt = milliseconds(20);
    link.mtu_bytes = wire::write_nominal_bytes(wire::Opcode::kWriteMiddle, true, 1024);
    c.nscc = *cc::derive_nscc(link);
    return c;
  }
  /// After `age`, with the timestamp reflected `ticks` later than the packet left.
  static std::int64_t told_ns(Duration age, std::int32_t ticks, bool nacked = false, bool timestamps = true) {
    Sender s(config(timestamps));
    s.wait(nanoseconds(77));  // not on a tick
    s.post(1024);
    TxDesc d = s.send().at(0);
    s.wait(age);
    d.tx_timestamp = d.tx_timestamp + ticks;
    if (nacked) {
      s.nack(d, wire::NackReason::kTrimmed);
    } else {
      s.sack(s.sack_for(d, d.psn));
    }
    return std::get<cc::Nscc>(s.cc.algorithm()).state().base.ns;
  }
};

// D18. The reflected timestamp counts while the packet left less than 8.3 ms ago and the record agrees within
// two ticks of 128 ns; else the record does. Below a tick the record tells.
TEST_F(RttSample, TheReflectedTimestampCountsWhereTheRecordAgrees) {
  for (const bool nacked : {false, true}) {
    EXPECT_EQ(told_ns(microseconds(10), 0, nacked), 10'000);
    EXPECT_EQ(told_ns(microseconds(10), 1, nacked), 10'000 - 128);
    EXPECT_EQ(told_ns(microseconds(10), 2, nacked), 10'000 - 256);
    EXPECT_EQ(told_ns(microseconds(10), -2, nacked), 10'000 + 256);
    EXPECT_EQ(told_ns(nanoseconds(8'299'999), 2, nacked), 8'299'999 - 256);
    EXPECT_EQ(told_ns(microseconds(8300), 2, nacked), 8'300'000) << "soon it would be another one's again";
  }
  for (const std::int32_t other : {3, -3}) {
    EXPECT_EQ(told_ns(microseconds(10), other), 10'000) << "it can not be that packet's";
    EXPECT_EQ(told_ns(microseconds(10), other, true), 20'000'000) << "D12. A NACK of nothing that was sent";
  }
  EXPECT_EQ(told_ns(microseconds(10), 2, false, false), 10'000) << "there was none";
}

// D18. Probes are smaller than data: NSCC hears nothing of their RTT, nor does the base RTT follow it.
TEST_F(RttSample, ProbesTellNsccNothing) {
  PairConfig c = config(true);
  c.policy.learn_base_rtt = true;
  Sender s(c);
  s.post(1024);
  s.send();
  s.wait(microseconds(20));
  s.tick();
  const auto probes = s.control();
  ASSERT_FALSE(probes.empty());
  s.wait(microseconds(50));
  s.answer(probes[0], s.first - 1);
  const cc::NsccState& state = std::get<cc::Nscc>(s.cc.algorithm()).state();
  EXPECT_EQ(state.base, milliseconds(20));
  EXPECT_EQ(state.qa_end, Time{}) << "a sample opens a window";
  s.send();  // the answer showed that the packet is missing
  s.post(1024);
  const auto next = s.send();
  ASSERT_EQ(next.size(), 1U);
  s.nack(next[0], wire::NackReason::kNoResource);
  s.wait(microseconds(10));
  s.tick();
  EXPECT_EQ(s.send().size(), 1U) << "after one base RTT (D11), which still is the configured one";
}

// 6.2, C38. SKIP_ONCE is the mark of congestion; "always skip" speaks of the path alone.
TEST_F(RttSample, OnlySkipOnceIsACongestionMark) {
  for (const auto mark : {wire::EvMark::kNone, wire::EvMark::kSkipOnce, wire::EvMark::kAlwaysSkip}) {
    Sender s(config(true));
    s.post(1024);
    const auto out = s.send();
    auto sack = s.sack_for(out[0], out[0].psn);
    sack.m = mark;
    s.sack(sack);
    EXPECT_EQ(s.cc.figures().acks, 1U);
    EXPECT_EQ(s.cc.figures().marked, mark == wire::EvMark::kSkipOnce ? 1U : 0U);
  }
}

// D7. A SACK that a Transport ACK has overtaken does not yet count what the ACK told of: the share stays
// until the SACK that does.
TEST(Feedback, ResyncWaitsForTheSackBehindATransportAck) {
  Sender s(small_packets());
  s.post(2 * 1024);
  const auto out = s.send();
  s.wait(microseconds(10));
  s.ack(out[1].psn, 1);
  EXPECT_EQ(s.qp.charged_bytes(), 0);
  s.count(std::span(out).first(1));
  s.sack(s.sack_for(out[0], out[0].psn));
  const std::int64_t second = size_of(out[1]);
  EXPECT_GT(s.qp.inflight_share_bytes(), second - 256);
  EXPECT_LE(s.qp.inflight_share_bytes(), second);
  s.count(std::span(out).last(1));
  s.sack(s.sack_for(out[1], out[1].psn));
  EXPECT_EQ(s.qp.inflight_share_bytes(), 0);
}

}  // namespace
}  // namespace mrc::transport::test
