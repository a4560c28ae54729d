// SPDX-License-Identifier: BSD-3-Clause
// Placement, delivery of WriteIMMs, NAK (3.3, 3.4; D4, D15, D17).
#include <gtest/gtest.h>

#include "solo.h"

namespace mrc::transport::test {
namespace {

using wire::NackReason;
using wire::Opcode;
using wire::Syndrome;

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

// D5. Like everything that answers a packet.
TEST(Responder, ANakLeavesOnThePlaneOfThePacketThatMadeItDue) {
  for (const bool hole : {false, true}) {
    Receiver r;
    auto asking = r.only(0);
    asking.bth.a = true;
    r.write(asking, 1);
    r.drain();
    ASSERT_EQ(r.acks().size(), 1U);
    if (hole) {
      r.write(r.only(2), 2, false, Access::kDenied);
      r.write(r.only(1), 3);
    } else {
      r.write(r.only(1), 3, false, Access::kDenied);
    }
    r.drain();
    ASSERT_EQ(r.last.size(), 1U);
    EXPECT_EQ(r.last[0].ack.syndrome, 0x62);
    EXPECT_EQ(r.last[0].port, 3);
  }
}

// A WriteIMM that finds no receive fails when its turn comes.
TEST(Responder, ANakOfAWriteImmLeavesOnThePlaneOfThePacketBeforeIt) {
  Receiver r;
  r.write(r.only(1, 1024, true), 1);
  r.write(r.only(0), 2);
  r.drain();
  ASSERT_EQ(r.acks().size(), 1U);
  EXPECT_EQ(r.acks()[0].syndrome, 0x63);
  EXPECT_EQ(r.last[0].port, 2);
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

}  // namespace
}  // namespace mrc::transport::test
