// SPDX-License-Identifier: BSD-3-Clause
// Acceptance, placement, SACK, NACK, Transport ACK and NAK (3.1 - 3.7; D4, D5, D15, D17).
#include <gtest/gtest.h>

#include <algorithm>

#include "solo.h"

namespace mrc::transport::test {
namespace {

using wire::NackReason;
using wire::Opcode;
using wire::Syndrome;

// 3.2, first row.
TEST(Responder, AcceptsTheWholeWindowOnce) {
  PairConfig config = Receiver::defaults();
  config.attr.mpr_dest = 1;
  Receiver r(config);
  EXPECT_EQ(r.write(r.only(127)), WriteVerdict::kPlace);  // cack + MPR, the highest (C9)
  EXPECT_EQ(r.write(r.only(127)), WriteVerdict::kDuplicate);
  EXPECT_EQ(r.write(r.only(128)), WriteVerdict::kDrop);
  EXPECT_EQ(r.write(r.only(0)), WriteVerdict::kPlace);
  EXPECT_EQ(r.qp.cack_psn(), r.first);
  EXPECT_EQ(r.write(r.only(128)), WriteVerdict::kPlace);  // the window moved
  EXPECT_EQ(r.write(r.only(0)), WriteVerdict::kDuplicate);
  EXPECT_EQ(r.qp.counters().rx_duplicate, 2U);
  EXPECT_EQ(r.qp.counters().rx_out_of_window, 1U);
}

// C6. Above the window NACK PSN_OOR_WINDOW, by policy silent.
TEST(Responder, AboveTheWindowIsNacked) {
  for (const bool nack : {true, false}) {
    PairConfig config = Receiver::defaults();
    config.attr.mpr_dest = 1;
    config.policy.oow_nack = nack;
    Receiver r(config);
    EXPECT_EQ(r.write(r.only(500), 2), WriteVerdict::kDrop);
    r.drain();
    ASSERT_EQ(r.nacks().size(), nack ? 1U : 0U);
    if (!nack) continue;
    EXPECT_EQ(r.nacks()[0].reason, NackReason::kPsnOorWindow);
    EXPECT_EQ(r.nacks()[0].nack_psn, r.first + 500);
    EXPECT_EQ(r.nacks()[0].entropy, 0xABCD0002U);
    EXPECT_EQ(r.nacks()[0].tx_timestamp, Tick{600});
    EXPECT_EQ(r.last[0].port, 2);  // the plane of the trigger (D5)
    EXPECT_EQ(r.last[0].dscp, wire::DscpClass::kControl);
  }
}

// D4. 2^23 behind is a duplicate, not "outside".
TEST(Responder, FarBelowIsADuplicate) {
  Receiver r;
  r.write(r.only(0));
  r.drain();
  EXPECT_EQ(r.write(r.only(-(1 << 22))), WriteVerdict::kDuplicate);
  r.drain();
  ASSERT_EQ(r.sacks().size(), 1U);
  EXPECT_EQ(r.sacks()[0].ack_psn_offset, 0);  // D4. Does not fit s16
  ASSERT_EQ(r.acks().size(), 1U);             // 3.2: Transport ACK and SACK
  EXPECT_EQ(r.acks()[0].psn, r.first);
}

TEST(Responder, DuplicatesTouchNoCounter) {
  Receiver r;
  r.write(r.only(0));
  r.write(r.only(2));
  auto again = r.only(2);
  again.bth.rtx = true;
  r.drain();
  r.write(again);
  r.drain();
  ASSERT_EQ(r.sacks().size(), 1U);  // C39. An rtx duplicate is answered
  EXPECT_TRUE(r.sacks()[0].rtx);    // C41
  const auto before = r.sacks()[0];
  EXPECT_EQ(before.ooo_count, 1);
  EXPECT_EQ(before.ack_psn_offset, 2);
  r.write(r.only(2));  // a plain duplicate: by the threshold only
  r.drain();
  EXPECT_TRUE(r.sacks().empty());
  EXPECT_EQ(r.qp.counters().rx_placed, 2U);
}

struct Form {
  const char* name;
  Opcode op;
  std::uint32_t payload, dmalen;
  bool ok;
};
class Malformed : public ::testing::TestWithParam<Form> {};

// 3.3: length and dmalen must fit the place in the message; else NAK 0x61.
TEST_P(Malformed, IsRefused) {
  const Form& form = GetParam();
  Receiver r;
  const auto verdict = r.write(r.packet(form.op, 0, form.payload, form.dmalen));
  EXPECT_EQ(verdict, form.ok ? WriteVerdict::kPlace : WriteVerdict::kError);
  if (form.ok) return;
  EXPECT_EQ(r.qp.state(), QpState::kError);
  EXPECT_EQ(r.qp.counters().rx_invalid, 1U);
  r.drain();
  ASSERT_EQ(r.acks().size(), 1U);
  EXPECT_EQ(r.acks()[0].syndrome, static_cast<std::uint8_t>(Syndrome::kInvalidRequest));
  EXPECT_EQ(r.acks()[0].psn, r.first);
}

INSTANTIATE_TEST_SUITE_P(Rules, Malformed,
                         ::testing::Values(Form{"first", Opcode::kWriteFirst, 1024, 5000, true},
                                           Form{"first_short", Opcode::kWriteFirst, 1020, 5000, false},
                                           Form{"first_long", Opcode::kWriteFirst, 1028, 5000, false},
                                           Form{"first_of_one", Opcode::kWriteFirst, 1024, 1024, false},
                                           Form{"middle", Opcode::kWriteMiddle, 1024, 5000, true},
                                           Form{"middle_short", Opcode::kWriteMiddle, 1, 5000, false},
                                           Form{"last", Opcode::kWriteLast, 904, 5000, true},
                                           Form{"last_full", Opcode::kWriteLastImm, 1024, 4096, true},
                                           Form{"last_wrong", Opcode::kWriteLast, 1024, 5000, false},
                                           Form{"last_of_one", Opcode::kWriteLast, 5, 5, false},
                                           Form{"only", Opcode::kWriteOnly, 77, 77, true},
                                           Form{"only_empty", Opcode::kWriteOnly, 0, 0, true},
                                           Form{"only_wrong", Opcode::kWriteOnly, 76, 77, false},
                                           Form{"only_long", Opcode::kWriteOnly, 1025, 1025, false},
                                           Form{"too_long", Opcode::kWriteFirst, 1024, kMaxMessageBytes + 1,
                                                false}),
                         [](const auto& form) { return form.param.name; });

// C3. 77 bytes padded to 80, with the padding counted in BTH.pad, not counted, or counted wrongly.
TEST(Responder, LengthFollowsFromDmalen) {
  for (const std::uint32_t pad : {3U, 0U, 1U}) {
    Receiver r;
    auto w = r.packet(Opcode::kWriteLast, 0, 80 - pad, 1024 + 77);
    w.pad_bytes = pad;
    r.qp.settle_length(w);
    EXPECT_EQ(w.payload_bytes, 77U);
    EXPECT_EQ(w.pad_bytes, 3U);
    EXPECT_EQ(r.write(w), WriteVerdict::kPlace);
  }
  Receiver r;
  auto w = r.packet(Opcode::kWriteLast, 0, 84, 1024 + 77);  // four bytes too many
  r.qp.settle_length(w);
  EXPECT_EQ(w.payload_bytes, 84U);
  EXPECT_EQ(r.write(w), WriteVerdict::kError);
}

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

TEST(Responder, EveryFourthPacketOfFourKilobytes) {
  PairConfig config = Receiver::defaults();
  config.attr.path_mtu = 4096;
  Receiver r(config);
  for (int i = 0; i < 4; ++i) {
    r.drain();
    EXPECT_TRUE(r.last.empty());
    r.write(r.only(i, 4096));
  }
  r.drain();
  EXPECT_EQ(r.sacks().size(), 1U);
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

// D4. SACK follows what is received, Transport ACK what is in memory.
TEST(Responder, TransportAckWaitsForPlacement) {
  Receiver r;
  for (int i = 0; i < 4; ++i) {
    auto w = r.only(i);
    w.bth.a = i == 3;
    ASSERT_EQ(r.qp.on_write(w, r.meta(), Access::kOk), WriteVerdict::kPlace);
  }
  r.drain();
  EXPECT_EQ(r.sacks().at(0).cack_psn, r.first + 3);
  EXPECT_TRUE(r.acks().empty());
  r.qp.placed(r.first + 3);
  r.qp.placed(r.first + 1);
  r.qp.placed(r.first + 0);
  EXPECT_EQ(r.qp.placed_psn(), r.first + 1);
  r.drain();
  EXPECT_TRUE(r.acks().empty());
  r.qp.placed(r.first + 2);
  r.drain();
  ASSERT_EQ(r.acks().size(), 1U);
  EXPECT_EQ(r.acks()[0].psn, r.first + 3);
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

// NO_BITMAP: placement lags so far that a packet of the window has no bit left.
TEST(Responder, LaggingPlacementIsNackedNotForgotten) {
  PairConfig config = Receiver::defaults();
  config.limits.max_mpr_dest = 1;
  config.attr.mpr_dest = 1;
  Receiver r(config);
  std::int32_t i = 0;
  for (; i < 4096; ++i) {
    if (r.qp.on_write(r.only(i), r.meta(), Access::kOk) != WriteVerdict::kPlace) break;
  }
  ASSERT_LT(i, 4096);
  EXPECT_GE(i, 128);
  r.drain();
  ASSERT_EQ(r.nacks().size(), 1U);
  EXPECT_EQ(r.nacks()[0].reason, NackReason::kNoBitmap);
  for (std::int32_t p = 0; p < i; ++p) r.qp.placed(r.first + p);
  EXPECT_EQ(r.write(r.only(i)), WriteVerdict::kPlace);
}

// 3.4, D15: WriteIMMs are delivered in message order, whatever the order of arrival.
TEST(Responder, WriteImmsAreDeliveredInOrder) {
  Receiver r;
  for (std::uint64_t i = 0; i < 3; ++i) r.qp.post_recv({i});
  for (const int i : {2, 0, 1}) {
    auto w = r.only(i, 100 + static_cast<std::uint32_t>(i), true);
    w.rqmsn = Rqmsn{static_cast<std::uint32_t>(i)};
    w.bth.se = i == 1;
    r.write(w);
  }
  const auto got = r.poll();
  ASSERT_EQ(got.size(), 3U);
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(got[i].wr_id, i);
    EXPECT_EQ(got[i].immdt, 0xF000 + i);
    EXPECT_EQ(got[i].byte_len, 100 + i);
    EXPECT_EQ(got[i].solicited, i == 1);
    EXPECT_EQ(got[i].status, WcStatus::kSuccess);
  }
  EXPECT_EQ(r.qp.counters().rx_rqmsn_mismatch, 0U);
}

TEST(Responder, WriteImmWaitsForEveryEarlierRequest) {
  Receiver r;
  r.qp.post_recv({1});
  r.write(r.only(1, 10, true));
  EXPECT_TRUE(r.poll().empty());
  r.write(r.only(0));
  EXPECT_EQ(r.poll().size(), 1U);
}

// D15. A delivered WriteIMM that arrives again consumes nothing.
TEST(Responder, DuplicateWriteImmConsumesNothing) {
  Receiver r;
  r.qp.post_recv({1});
  r.qp.post_recv({2});
  const auto w = r.only(0, 10, true);
  EXPECT_EQ(r.write(w), WriteVerdict::kPlace);
  EXPECT_EQ(r.write(w), WriteVerdict::kDuplicate);
  EXPECT_EQ(r.poll().size(), 1U);
}

// C14. One WriteIMM more than the stash holds: NAK 0x61 when its turn comes.
TEST(Responder, StashOverflowIsInvalidRequest) {
  PairConfig config = Receiver::defaults();
  config.attr.max_wimm_dest = 2;
  Receiver r(config);
  for (std::uint64_t i = 0; i < 8; ++i) r.qp.post_recv({i});
  EXPECT_EQ(r.write(r.only(1, 10, true)), WriteVerdict::kPlace);
  EXPECT_EQ(r.write(r.only(2, 10, true)), WriteVerdict::kPlace);
  EXPECT_EQ(r.write(r.only(3, 10, true)), WriteVerdict::kError);
  EXPECT_EQ(r.qp.state(), QpState::kRts);  // C28. Earlier packets may still come
  EXPECT_EQ(r.write(r.only(0)), WriteVerdict::kPlace);
  EXPECT_EQ(r.qp.state(), QpState::kError);
  r.drain();
  ASSERT_EQ(r.acks().size(), 1U);
  EXPECT_EQ(r.acks()[0].syndrome, 0x61);
  EXPECT_EQ(r.acks()[0].psn, r.first + 3);
  EXPECT_EQ(r.acks()[0].msn, 3U);
  const auto done = r.poll();
  ASSERT_EQ(done.size(), 8U);
  EXPECT_EQ(
      std::count_if(done.begin(), done.end(), [](const auto& c) { return c.status == WcStatus::kSuccess; }),
      2);
}

// C15. No receive posted: NAK 0x63.
TEST(Responder, NoReceiveIsRemoteOperational) {
  Receiver r;
  EXPECT_EQ(r.write(r.only(0, 10, true)), WriteVerdict::kPlace);
  EXPECT_EQ(r.qp.state(), QpState::kError);
  r.drain();
  ASSERT_EQ(r.acks().size(), 1U);
  EXPECT_EQ(r.acks()[0].syndrome, 0x63);
  EXPECT_EQ(r.acks()[0].psn, r.first);
  EXPECT_EQ(r.acks()[0].msn, 0U);
}

// D15. RQMSN is a cross-check, strict by policy.
TEST(Responder, RqmsnMismatch) {
  for (const bool strict : {false, true}) {
    PairConfig config = Receiver::defaults();
    config.policy.strict_rqmsn = strict;
    Receiver r(config);
    r.qp.post_recv({1});
    auto w = r.only(0, 10, true);
    w.rqmsn = Rqmsn{5};
    r.write(w);
    EXPECT_EQ(r.qp.counters().rx_rqmsn_mismatch, 1U);
    EXPECT_EQ(r.qp.state(), strict ? QpState::kError : QpState::kRts);
  }
}

// C23. RQMSN wraps.
TEST(Responder, RqmsnWraps) {
  PairConfig config = Receiver::defaults();
  config.policy.first_rqmsn = Rqmsn{0xFFFF};
  Receiver r(config);
  for (std::int32_t i = 0; i < 3; ++i) {
    r.qp.post_recv({1});
    auto w = r.only(i, 10, true);
    w.rqmsn = Rqmsn{0xFFFF} + i;
    r.write(w);
  }
  EXPECT_EQ(r.qp.counters().rx_rqmsn_mismatch, 0U);
  EXPECT_EQ(r.poll().size(), 3U);
}

// D17, C28. The NAK of a failing packet waits for what is before it, then both halves end.
TEST(Responder, AccessFailureWaitsForItsTurn) {
  Receiver r;
  r.qp.post_recv({9});
  EXPECT_EQ(r.write(r.only(2), 0, false, Access::kDenied), WriteVerdict::kError);
  EXPECT_EQ(r.write(r.only(3)), WriteVerdict::kPlace);
  EXPECT_EQ(r.write(r.only(0)), WriteVerdict::kPlace);
  EXPECT_EQ(r.qp.state(), QpState::kRts);
  EXPECT_EQ(r.write(r.only(2), 0, false, Access::kDenied), WriteVerdict::kError);
  EXPECT_EQ(r.write(r.only(1)), WriteVerdict::kPlace);
  EXPECT_EQ(r.qp.state(), QpState::kError);
  EXPECT_EQ(r.qp.counters().rx_access, 1U);
  r.drain();
  ASSERT_EQ(r.acks().size(), 1U);
  EXPECT_EQ(r.acks()[0].syndrome, 0x62);
  EXPECT_EQ(r.acks()[0].psn, r.first + 2);
  EXPECT_EQ(r.acks()[0].msn, 2U);
  EXPECT_TRUE(r.sacks().empty());
  EXPECT_EQ(r.poll().at(0).status, WcStatus::kWrFlushErr);
}

TEST(Responder, TheLowestFailingPacketIsNamed) {
  Receiver r;
  r.write(r.only(3), 0, false, Access::kDenied);
  r.write(r.packet(Opcode::kWriteFirst, 1, 5, 5000));
  r.write(r.only(0));
  r.drain();
  ASSERT_EQ(r.acks().size(), 1U);
  EXPECT_EQ(r.acks()[0].syndrome, 0x61);
  EXPECT_EQ(r.acks()[0].psn, r.first + 1);
}

// 2.1: a Write of no bytes needs no memory.
TEST(Responder, ZeroLengthNeedsNoAccess) {
  Receiver r;
  EXPECT_EQ(r.write(r.only(0, 0), 0, false, Access::kDenied), WriteVerdict::kPlace);
}

// 3.3: a local failure after acceptance: NAK 0x63, or what the host says.
TEST(Responder, PlaceFailedEndsTheQp) {
  Receiver r;
  ASSERT_EQ(r.qp.on_write(r.only(0), r.meta(), Access::kOk), WriteVerdict::kPlace);
  ASSERT_EQ(r.qp.on_write(r.only(1), r.meta(), Access::kOk), WriteVerdict::kPlace);
  r.qp.place_failed(r.first + 1, Syndrome::kRemoteOperational);
  EXPECT_EQ(r.qp.state(), QpState::kRts);
  r.qp.placed(r.first);
  EXPECT_EQ(r.qp.state(), QpState::kError);
  r.drain();
  EXPECT_EQ(r.acks().at(0).psn, r.first + 1);
  EXPECT_EQ(r.acks().at(0).syndrome, 0x63);
}

// D17. The NAK is repeated for what still comes, at most once a base RTT; nothing else is said in ERROR.
TEST(Responder, NakIsRepeated) {
  Receiver r;
  r.write(r.only(0), 0, false, Access::kDenied);
  r.drain();
  ASSERT_EQ(r.acks().size(), 1U);
  r.write(r.only(1));
  r.drain();
  EXPECT_TRUE(r.last.empty());
  r.now = r.now + microseconds(10);
  EXPECT_EQ(r.write(r.only(1)), WriteVerdict::kDrop);
  r.drain();
  ASSERT_EQ(r.acks().size(), 1U);
  EXPECT_EQ(r.acks()[0].psn, r.first);
  r.now = r.now + microseconds(10);
  r.qp.on_probe({}, r.meta());
  r.drain();
  EXPECT_EQ(r.acks().size(), 1U);
  EXPECT_TRUE(r.sacks().empty());
  EXPECT_EQ(r.qp.counters().rx_bad_state, 3U);
}

// An ERROR that did not come from a NAK is silent.
TEST(Responder, ErrorByCommandIsSilent) {
  Receiver r;
  r.write(r.only(0), 0, true);
  ASSERT_TRUE(r.qp.modify(QpState::kError, {}, 0, r.now));
  r.now = r.now + microseconds(100);
  r.write(r.only(1));
  r.drain();
  EXPECT_TRUE(r.last.empty());
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

// The whole window wraps around PSN 2^24.
TEST(Responder, PsnWraps) {
  PairConfig config = Receiver::defaults();
  config.attr.rq_psn = Psn{0xFFFFFE};
  Receiver r(config);
  for (const int i : {3, 1, 2, 0, 4}) EXPECT_EQ(r.write(r.only(i)), WriteVerdict::kPlace);
  for (const int i : {0, 1, 2, 3, 4}) EXPECT_EQ(r.write(r.only(i)), WriteVerdict::kDuplicate);
  EXPECT_EQ(r.qp.cack_psn(), Psn{2});
  EXPECT_EQ(r.qp.placed_psn(), Psn{2});
}

}  // namespace
}  // namespace mrc::transport::test
