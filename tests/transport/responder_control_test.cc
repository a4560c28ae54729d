// SPDX-License-Identifier: BSD-3-Clause
// What the responder sends and when: SACK, NACK and Transport ACK (3.5 - 3.7; D5, D14, D16).
#include <gtest/gtest.h>

#include <algorithm>

#include "solo.h"

namespace mrc::transport::test {
namespace {

using wire::NackReason;
using wire::Opcode;

// 3.5 trigger 1, C18: the threshold, with at least 1024 a packet.
TEST(Responder, SackEveryThreshold) {
  Receiver r;
  for (int i = 0; i < 15; ++i) r.write(r.only(i, 64));
  r.drain();
  EXPECT_TRUE(r.last.empty());
  r.write(r.only(15, 64), 3);
  r.drain();
  ASSERT_EQ(r.sacks().size(), 1U);
  const auto sack = r.sacks()[0];
  EXPECT_EQ(sack.cack_psn, r.first + 15);
  EXPECT_EQ(sack.ack_psn_offset, 0);
  EXPECT_EQ(sack.entropy, 0xABCD0003U);
  EXPECT_EQ(sack.tx_timestamp, Tick{115});
  EXPECT_EQ(sack.sack_offset, 1);
  EXPECT_EQ(sack.sack_bitmap, 0U);
  EXPECT_EQ(sack.mpr, 0);  // Dynamic MPR is off
  EXPECT_EQ(sack.m, wire::EvMark::kNone);
  EXPECT_FALSE(sack.pr || sack.rtx);
  EXPECT_EQ(sack.spdcid, 0x101);  // C10. Sender first
  EXPECT_EQ(sack.dpdcid, 0x100);
  EXPECT_EQ(r.last[0].port, 3);
  const std::uint32_t bytes = 16 * wire::write_nominal_bytes(Opcode::kWriteOnly, true, 64);
  EXPECT_EQ(sack.rcvd_bytes.value(), (bytes + 255) / 256);
  EXPECT_TRUE(r.acks().empty());  // nobody asked
}

// C18. With the other reading of the threshold it is every fifth.
TEST(Responder, ThresholdMayHaveToBeExceeded) {
  PairConfig config = Receiver::defaults();
  config.attr.path_mtu = 4096;
  config.policy.sack_beyond_threshold = true;
  Receiver r(config);
  for (int i = 0; i < 5; ++i) {
    r.drain();
    EXPECT_TRUE(r.last.empty());
    r.write(r.only(i, 4096));
  }
  r.drain();
  EXPECT_EQ(r.sacks().size(), 1U);
}

// Vector 29 of congestion control, its five cases: every fourth packet of 4096 B; every sixteenth of 64 B,
// which count 1024 each; a CE mark at once, after which the count begins anew; an AckReq above a hole at
// once, and once more when the hole closes.
TEST(Responder, V29_AckGeneration) {
  PairConfig config = Receiver::defaults();
  config.attr.path_mtu = 4096;
  // The packets, counted from 1, behind which a SACK left.
  const auto sacked = [&](int packets, std::uint32_t bytes, int ce) {
    Receiver r(config);
    std::vector<int> after;
    for (int i = 1; i <= packets; ++i) {
      r.write(r.only(i - 1, bytes), 0, i == ce);
      r.drain();
      for (std::size_t n = r.sacks().size(); n > 0; --n) after.push_back(i);
    }
    return after;
  };
  EXPECT_EQ(sacked(12, 4096, 0), (std::vector{4, 8, 12}));
  EXPECT_EQ(sacked(48, 64, 0), (std::vector{16, 32, 48}));
  EXPECT_EQ(sacked(10, 4096, 2), (std::vector{2, 6, 10})) << "without the new count it would be 2, 4, 8";

  Receiver r(config);
  auto asking = r.only(1, 4096);
  asking.bth.a = true;
  r.write(asking);
  r.drain();
  EXPECT_EQ(r.sacks().size(), 1U) << "an AckReq above a hole";
  r.write(r.only(0, 4096));
  r.drain();
  ASSERT_EQ(r.sacks().size(), 1U) << "and the hole closes";
  EXPECT_EQ(r.sacks()[0].cack_psn, r.first + 1);
}

// 3.5 triggers 2 - 4, each with SACK at once; Transport ACK for AckReq alone.
TEST(Responder, AckReqRtxAndCeTriggerASack) {
  Receiver r;
  auto w = r.only(0);
  w.bth.a = true;
  r.write(w);
  r.drain();
  EXPECT_EQ(r.sacks().size(), 1U);
  ASSERT_EQ(r.acks().size(), 1U);
  EXPECT_EQ(r.acks()[0].psn, r.first);  // C37. The last packet acknowledged
  EXPECT_EQ(r.acks()[0].msn, 1U);
  EXPECT_EQ(r.acks()[0].syndrome, 0x1F);
  w = r.only(1);
  w.bth.rtx = true;
  r.write(w);
  r.drain();
  EXPECT_EQ(r.sacks().size(), 1U);
  EXPECT_TRUE(r.acks().empty());
  r.write(r.only(2), 0, true);
  r.drain();
  ASSERT_EQ(r.sacks().size(), 1U);
  EXPECT_EQ(r.sacks()[0].m, wire::EvMark::kSkipOnce);
  r.write(r.only(3));
  r.drain();
  EXPECT_TRUE(r.last.empty());
}

// Triggers may merge, CE marks and probes may not.
TEST(Responder, EachMarkAndEachProbeHasItsSack) {
  Receiver r;
  for (int i = 0; i < 40; ++i) r.write(r.only(i), static_cast<std::uint8_t>(i % 4), i % 4 == 1);
  for (std::uint16_t id = 0; id < 5; ++id) {
    wire::ProbeView probe;
    probe.probe_id = static_cast<std::uint16_t>(0xFFF0 + id);
    probe.tx_timestamp = Tick{7};
    r.qp.on_probe(probe, r.meta(1, id == 2));
  }
  r.drain();
  std::size_t marks = 0, answers = 0;
  for (const auto& s : r.sacks()) {
    marks += s.m == wire::EvMark::kSkipOnce && !s.pr ? 1 : 0;
    if (!s.pr) continue;
    EXPECT_EQ(s.probe_id(), 0xFFF0 + answers);
    EXPECT_EQ(s.m, answers == 2 ? wire::EvMark::kSkipOnce : wire::EvMark::kNone);
    EXPECT_EQ(s.tx_timestamp, Tick{7});
    EXPECT_EQ(s.cack_psn, r.first + 39);
    ++answers;
  }
  EXPECT_EQ(marks, 10U);
  EXPECT_EQ(answers, 5U);
  EXPECT_EQ(r.sacks().size(), 15U);  // the threshold triggers merged into them
  EXPECT_EQ(r.acks().size(), 1U);    // D14. With a probe the newest Transport ACK is repeated
  EXPECT_EQ(r.qp.counters().rx_probe, 5U);
  EXPECT_EQ(r.qp.counters().rx_ce, 11U);
}

TEST(Responder, ProbeBeforeTheFirstMessageRepeatsNoAck) {
  Receiver r;
  r.qp.on_probe({}, r.meta());
  r.drain();
  EXPECT_EQ(r.sacks().size(), 1U);
  EXPECT_TRUE(r.acks().empty());
}

TEST(Responder, ControlQueueIsBoundedAndCounted) {
  Receiver r;
  for (int i = 0; i < 200; ++i) r.qp.on_probe({}, r.meta());
  r.drain();
  EXPECT_EQ(r.sacks().size(), ControlQueue::kCapacity);
  EXPECT_EQ(r.qp.counters().control_overflow, 200 - ControlQueue::kCapacity);
}

// Nothing is lost when the ports have no room: it waits.
TEST(Responder, ControlWaitsForCredits) {
  Receiver r;
  auto w = r.only(0);
  w.bth.a = true;
  r.write(w, 0, true);
  EXPECT_TRUE(r.control(0).empty());
  EXPECT_TRUE(r.qp.wake().control_ready);
  EXPECT_EQ(r.control(0xF, 1).size(), 1U);
  EXPECT_TRUE(r.qp.wake().control_ready);
  EXPECT_EQ(r.control().size(), 1U);
  EXPECT_FALSE(r.qp.wake().control_ready);
}

// D5. Another plane when that port is down.
TEST(Responder, ControlLeavesOnThePlaneOfItsTrigger) {
  Receiver r;
  r.write(r.only(0), 2, true);
  EXPECT_EQ(r.control(0xF).at(0).port, 2);
  r.write(r.only(1), 2, true);
  EXPECT_NE(r.control(0b1011).at(0).port, 2);
}

// D5. An ACK that waited leaves with the SACK of the same moment, over the plane of the packet that closed
// the hole; what asked later, and is not answered yet, has no say.
TEST(Responder, WhatWaitsForABusyPortHoldsUpNobodyElse) {
  Receiver r;
  for (int i = 0; i < 6; ++i) r.write(r.only(i), static_cast<std::uint8_t>(i % 3), true);  // a SACK each
  wire::WriteView asking = r.only(6);
  asking.bth.a = true;
  r.write(asking, 3);
  PortCredits credits;
  credits.up_mask = 0xF;
  credits.credits = {0, 100, 100, 100};
  std::vector<ControlDesc> out(64);
  out.resize(r.qp.next_control(r.now, credits, out));
  const auto over = [&](std::uint8_t port, Opcode op) {
    return std::count_if(out.begin(), out.end(),
                         [&](const ControlDesc& c) { return c.port == port && c.opcode == op; });
  };
  EXPECT_EQ(over(0, Opcode::kSack), 0);
  EXPECT_EQ(over(1, Opcode::kSack), 2);
  EXPECT_EQ(over(2, Opcode::kSack), 2);
  EXPECT_EQ(over(3, Opcode::kAck), 1);
  EXPECT_TRUE(r.qp.wake().control_ready);
  out = r.control();  // free again
  EXPECT_EQ(over(0, Opcode::kSack), 2);
  EXPECT_FALSE(r.qp.wake().control_ready);
}

TEST(Responder, AnAckLeavesOnThePlaneOfThePacketThatMadeItDue) {
  Receiver r;
  auto asking = r.only(1), far = r.only(50);
  asking.bth.a = far.bth.a = true;
  r.write(asking, 1);
  r.write(far, 3);
  r.drain();
  EXPECT_TRUE(r.acks().empty());
  r.write(r.only(0), 2);
  r.write(r.only(60), 0);  // draws nothing
  r.drain();
  ASSERT_EQ(r.acks().size(), 1U);
  EXPECT_EQ(r.acks()[0].psn, r.first + 1);
  for (const ControlDesc& c : r.last) EXPECT_EQ(c.port, 2);
}

TEST(Responder, AProbeDecidesNotWhereALaterAckLeaves) {
  Receiver r;
  r.write(r.only(0), 1);
  auto asking = r.only(1);
  asking.bth.a = true;
  r.qp.on_probe({}, r.meta(3));
  r.drain();
  ASSERT_EQ(r.acks().size(), 1U);
  for (const ControlDesc& c : r.last) EXPECT_EQ(c.port, 3);
  r.write(asking, 2);
  r.drain();
  ASSERT_EQ(r.acks().size(), 1U);
  for (const ControlDesc& c : r.last) EXPECT_EQ(c.port, 2);
}

// D5, C31, ar_psn: the hole below an AckReq closes by a packet that triggers nothing by itself.
TEST(Responder, SackWhenTheHoleBelowAnAckReqCloses) {
  Receiver r;
  auto asking = r.only(2);
  asking.bth.a = true;
  r.write(asking);
  r.drain();
  EXPECT_EQ(r.sacks().size(), 1U);
  EXPECT_TRUE(r.acks().empty());  // C28. A gap exists
  r.write(r.only(0));
  r.drain();
  EXPECT_TRUE(r.last.empty());
  r.write(r.only(1));
  r.drain();
  ASSERT_EQ(r.sacks().size(), 1U);
  EXPECT_EQ(r.sacks()[0].cack_psn, r.first + 2);
  EXPECT_EQ(r.sacks()[0].ack_psn_offset, -1);
  ASSERT_EQ(r.acks().size(), 1U);
  EXPECT_EQ(r.acks()[0].psn, r.first + 2);
  EXPECT_EQ(r.acks()[0].msn, 3U);
  r.write(r.only(3));
  r.drain();
  EXPECT_TRUE(r.last.empty());  // shown once
}

// A middle of the stream asked: it is acknowledged although a later AckReq still waits.
TEST(Responder, EachAckReqIsOwedAnAck) {
  Receiver r;
  auto first = r.only(0);
  first.bth.a = true;
  auto far = r.only(50);
  far.bth.a = true;
  r.write(far);
  r.drain();
  r.write(first);
  r.drain();
  ASSERT_EQ(r.acks().size(), 1U);
  EXPECT_EQ(r.acks()[0].psn, r.first);
}

// 3.7: one NACK per trimmed packet, with its reason, EV and timestamp.
TEST(Responder, TrimmedPacketsAreNacked) {
  Receiver r;
  for (int i = 0; i < 3; ++i) {
    auto meta = r.meta(static_cast<std::uint8_t>(i));
    meta.trim = i == 2 ? wire::Trim::kTrimmedLasthop : wire::Trim::kTrimmed;
    const auto w = r.only(i);
    r.qp.on_trimmed({w.bth, w.tx_timestamp}, meta);
  }
  r.drain();
  const auto nacks = r.nacks();
  ASSERT_EQ(nacks.size(), 3U);
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(nacks[i].reason, i == 2 ? NackReason::kTrimmedLasthop : NackReason::kTrimmed);
    EXPECT_EQ(nacks[i].nack_psn, r.first + static_cast<std::int32_t>(i));
    EXPECT_EQ(nacks[i].entropy, 0xABCD0000U + i);
    EXPECT_EQ(nacks[i].tx_timestamp, Tick{100 + i});
    EXPECT_EQ(nacks[i].cc_type, 2);  // C11
    EXPECT_EQ(r.last[i].port, i);
  }
  EXPECT_EQ(r.write(r.only(0)), WriteVerdict::kPlace);  // not marked received
}

TEST(Responder, TrimmedDuplicateIsSacked) {
  Receiver r;
  r.write(r.only(0));
  auto meta = r.meta();
  meta.trim = wire::Trim::kTrimmed;
  const auto w = r.only(0);
  r.qp.on_trimmed({w.bth, w.tx_timestamp}, meta);
  r.drain();
  EXPECT_TRUE(r.nacks().empty());
  EXPECT_EQ(r.sacks().size(), 1U);
}

TEST(Responder, TrimNackOffIgnoresTrims) {
  PairConfig config = Receiver::defaults();
  config.attr.trim_nack = false;
  Receiver r(config);
  auto meta = r.meta();
  meta.trim = wire::Trim::kTrimmed;
  const auto w = r.only(0);
  r.qp.on_trimmed({w.bth, w.tx_timestamp}, meta);
  r.drain();
  EXPECT_TRUE(r.last.empty());
  EXPECT_EQ(r.qp.counters().rx_trimmed_ignored, 1U);
}

// D16. With Dynamic MPR each SACK tells the current value.
TEST(Responder, DynamicMprIsAdvertised) {
  PairConfig config = Receiver::defaults();
  config.attr.dynamic_mpr = true;
  Receiver r(config);
  r.write(r.only(0), 0, true);
  r.drain();
  EXPECT_EQ(r.sacks().at(0).mpr, 8);
}

// C25. Rcvd_bytes counts distinct accepted packets, in 256 B, and wraps.
TEST(Responder, RcvdBytesWraps) {
  PairConfig config = Receiver::defaults();
  config.policy.first_rcvd_bytes = RcvdUnits{0xFFFFFF};
  Receiver r(config);
  r.write(r.only(0), 0, true);
  r.drain();
  const std::uint32_t nominal = wire::write_nominal_bytes(Opcode::kWriteOnly, true, 1024);
  EXPECT_EQ(r.sacks().at(0).rcvd_bytes.value(), (nominal + 255) / 256 - 1);
}

}  // namespace
}  // namespace mrc::transport::test
