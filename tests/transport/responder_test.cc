// SPDX-License-Identifier: BSD-3-Clause
// Acceptance: window, duplicates, form, what the host lacks (3.1 - 3.3; C3, C6, C9; D4).
#include <gtest/gtest.h>

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

// D16. The window that SACKs advertise is the peer's to keep. It may know of a newer cack by a Transport ACK
// and not yet of the smaller window, so what lies inside the attribute's window is accepted.
TEST(Responder, AShrunkenWindowRefusesNothingThatTheAttributeAllows) {
  PairConfig config = Receiver::defaults();
  config.attr.mpr_dest = 2;
  config.attr.dynamic_mpr = true;
  Receiver r(config);
  r.qp.set_mpr_dest(1);
  for (std::int32_t i = 0; i < 10; ++i) ASSERT_EQ(r.write(r.only(i)), WriteVerdict::kPlace);
  EXPECT_EQ(r.write(r.only(10 + 256)), WriteVerdict::kDrop);
  EXPECT_EQ(r.write(r.only(10 + 255)), WriteVerdict::kPlace);
  EXPECT_EQ(r.qp.mpr_dest(), 1);
  EXPECT_EQ(r.qp.counters().rx_out_of_window, 1U);
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

// T7-3. A host that can not take a packet just now, or never again: a NACK with its reason, nothing kept.
TEST(Responder, WhatTheHostLacksIsNacked) {
  const std::pair<Access, NackReason> answers[] = {{Access::kNoPktBuffer, NackReason::kNoPktBuffer},
                                                   {Access::kNoResource, NackReason::kNoResource},
                                                   {Access::kUnexpEvent, NackReason::kUnexpEvent}};
  for (const auto& [access, reason] : answers) {
    Receiver r;
    EXPECT_EQ(r.write(r.only(0), 1, false, access), WriteVerdict::kDrop);
    r.drain();
    ASSERT_EQ(r.nacks().size(), 1U);
    EXPECT_EQ(r.nacks()[0].reason, reason);
    EXPECT_EQ(r.nacks()[0].nack_psn, r.first);
    EXPECT_EQ(r.last[0].port, 1);
    EXPECT_EQ(r.qp.cack_psn(), r.first - 1);
    EXPECT_EQ(r.qp.state(), QpState::kRts);
    EXPECT_EQ(r.write(r.only(0)), WriteVerdict::kPlace);  // sent again
    r.drain();
    EXPECT_EQ(r.write(r.only(0), 0, false, access), WriteVerdict::kDuplicate);  // what is there needs nothing
    r.drain();
    EXPECT_TRUE(r.nacks().empty());
    EXPECT_EQ(r.write(r.only(5000), 0, false, access), WriteVerdict::kDrop);
    r.drain();
    ASSERT_EQ(r.nacks().size(), 1U);
    EXPECT_EQ(r.nacks()[0].reason, NackReason::kPsnOorWindow);  // the window comes first (3.2)
  }
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
