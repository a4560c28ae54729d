// SPDX-License-Identifier: BSD-3-Clause
// States, required attributes and their errors, flush (2.5, 2.6; D17; T10-1).
#include <gtest/gtest.h>

#include "solo.h"

namespace mrc::transport::test {
namespace {

constexpr std::uint32_t kInitMask = kAttrHint | kAttrEvProfileId | kAttrCcProfileId;
constexpr std::uint32_t kRtrMask =
    kAttrMaxWimmDest | kAttrMprDest | kAttrCap | kAttrAv | kAttrPathMtu | kAttrDestQpn | kAttrRqPsn;
constexpr std::uint32_t kRtsMask = kAttrMaxWimm | kAttrMpr | kAttrRetryCnt | kAttrTimeout | kAttrSqPsn;

class States : public ::testing::Test {
 protected:
  std::string modify(QpState to, std::uint32_t mask) {
    const auto result = qp.modify(to, attr, mask, Time{1});
    return result ? "" : result.error().message;
  }
  cc::Qpcc cc{cc::FixedWindow(1 << 20)};
  Qp qp{0x77, {}, {}, make_table(4, 4), cc, 1};
  QpAttr attr = default_attr();
};

TEST_F(States, TheThreeSteps) {
  EXPECT_EQ(qp.state(), QpState::kReset);
  EXPECT_EQ(modify(QpState::kInit, kInitMask | kAttrState), "");
  EXPECT_EQ(modify(QpState::kRtr, kRtrMask), "");
  EXPECT_EQ(qp.state(), QpState::kRtr);
  EXPECT_EQ(modify(QpState::kRts, kRtsMask), "");
  EXPECT_EQ(qp.state(), QpState::kRts);
  EXPECT_EQ(qp.attributes().dest_qpn, 0x100U);
}

// Each required attribute is named when it is missing, and nothing changes.
TEST_F(States, EveryRequiredAttributeIsRequired) {
  const auto check = [&](QpState to, std::uint32_t mask) {
    for (std::uint32_t bit = 1; bit != 0; bit <<= 1) {
      if ((mask & bit) == 0) continue;
      const QpState before = qp.state();
      const std::string error = modify(to, mask & ~bit);
      EXPECT_NE(error.find("missing attributes"), std::string::npos) << error;
      EXPECT_EQ(qp.state(), before);
    }
    EXPECT_EQ(modify(to, mask), "");
  };
  check(QpState::kInit, kInitMask);
  check(QpState::kRtr, kRtrMask);
  check(QpState::kRts, kRtsMask);
}

TEST_F(States, NamesWhatIsMissing) {
  EXPECT_EQ(modify(QpState::kInit, kAttrHint),
            "RESET -> INIT: missing attributes EV_PROFILE_ID, CC_PROFILE_ID");
}

// 2.6: tolerant where OCP contradicts itself.
TEST_F(States, MprAndMaxWimmMayComeAtRtr) {
  modify(QpState::kInit, kInitMask);
  EXPECT_EQ(modify(QpState::kRtr, kRtrMask | kAttrMpr | kAttrMaxWimm), "");
  EXPECT_EQ(modify(QpState::kRts, kRtsMask & ~(kAttrMpr | kAttrMaxWimm)), "");
}

// C35. What a transition does not take is refused by name.
TEST_F(States, WrongTransitionsAndForeignAttributesAreRefused) {
  EXPECT_NE(modify(QpState::kRts, kRtsMask), "");
  EXPECT_NE(modify(QpState::kRtr, kRtrMask), "");
  EXPECT_NE(modify(QpState::kError, 0), "");
  EXPECT_NE(modify(QpState::kInit, kInitMask | kAttrSqPsn).find("not allowed here: SQ_PSN"),
            std::string::npos);
  EXPECT_NE(modify(QpState::kInit, kInitMask | 1U << 30).find("bit 30"), std::string::npos);
  EXPECT_EQ(qp.state(), QpState::kReset);
}

TEST_F(States, ValuesOutOfRangeAreRefusedWithValueAndLimit) {
  modify(QpState::kInit, kInitMask);
  const QpAttr good = attr;
  const auto refused = [&](QpState to, std::uint32_t mask, const char* part) {
    const std::string error = modify(to, mask);
    EXPECT_NE(error.find(part), std::string::npos) << error;
    attr = good;
  };
  attr.path_mtu = 1500;
  refused(QpState::kRtr, kRtrMask, "path_mtu = 1500: must be 256, 512, 1024, 2048 or 4096");
  attr.dest_qpn = 2;
  refused(QpState::kRtr, kRtrMask, "dest_qpn = 2");
  attr.dest_qpn = 1 << 24;
  refused(QpState::kRtr, kRtrMask, "dest_qpn = 16777216");
  attr.mpr_dest = 9;
  refused(QpState::kRtr, kRtrMask, "mpr_dest = 9: must be 1..8");
  attr.mpr_dest = 0;
  refused(QpState::kRtr, kRtrMask, "mpr_dest = 0");
  attr.max_wimm_dest = 33;
  refused(QpState::kRtr, kRtrMask, "max_wimm_dest = 33: must be 1..32");
  EXPECT_EQ(qp.state(), QpState::kInit);
  ASSERT_EQ(modify(QpState::kRtr, kRtrMask), "");
  attr.mpr = 0;
  refused(QpState::kRts, kRtsMask, "mpr = 0");  // D2. 0 is refused
  attr.max_wimm = 0;
  refused(QpState::kRts, kRtsMask, "max_wimm = 0");
  attr.timeout = 25;
  refused(QpState::kRts, kRtsMask, "timeout = 25: must be 0..24");
  attr.linear_cnt = 8;
  refused(QpState::kRts, kRtsMask, "linear_cnt = 8");
  attr.exp_cnt = 26;
  refused(QpState::kRts, kRtsMask, "exp_cnt = 26");
  EXPECT_EQ(qp.state(), QpState::kRtr);
}

TEST_F(States, TimersMayChangeInRts) {
  ASSERT_EQ(bring_up(qp, attr, Time{1}), "");
  attr.timeout = 14;
  EXPECT_EQ(modify(QpState::kRts, kAttrTimeout), "");
  EXPECT_EQ(qp.attributes().timeout, 14);
  EXPECT_NE(modify(QpState::kRts, kAttrSqPsn), "");
}

// Receives from INIT on (a superset of 2.6), sends from RTS on; in ERROR both flush.
TEST_F(States, WhoMayPostWhen) {
  const WorkRequest wr{};
  EXPECT_EQ(qp.post_recv({1}), PostResult::kBadState);
  EXPECT_EQ(qp.post_send(wr), PostResult::kBadState);
  modify(QpState::kInit, kInitMask);
  EXPECT_EQ(qp.post_recv({1}), PostResult::kOk);
  EXPECT_EQ(qp.post_send(wr), PostResult::kBadState);
  modify(QpState::kRtr, kRtrMask);
  EXPECT_EQ(qp.post_send(wr), PostResult::kBadState);
  modify(QpState::kRts, kRtsMask);
  EXPECT_EQ(qp.post_send(wr), PostResult::kOk);
}

// A responder works from RTR on; in RESET and INIT packets are dropped and counted.
TEST_F(States, ResponderWorksInRtr) {
  wire::WriteView w;
  w.bth.opcode = wire::Opcode::kWriteOnly;
  w.bth.psn = attr.rq_psn;
  EXPECT_EQ(qp.on_write(w, {}, Access::kOk), WriteVerdict::kDrop);
  modify(QpState::kInit, kInitMask);
  EXPECT_EQ(qp.on_write(w, {}, Access::kOk), WriteVerdict::kDrop);
  EXPECT_EQ(qp.counters().rx_bad_state, 2U);
  modify(QpState::kRtr, kRtrMask);
  EXPECT_EQ(qp.on_write(w, {}, Access::kOk), WriteVerdict::kPlace);
}

// Feedback for a QP that is not in RTS changes nothing.
TEST_F(States, FeedbackOutsideRtsIsIgnored) {
  qp.on_sack({}, {});
  qp.on_nack({}, {});
  qp.on_ack({}, {});
  qp.on_timer(Time{5});
  EXPECT_EQ(qp.state(), QpState::kReset);
  EXPECT_EQ(qp.counters().rx_sack, 0U);
}

TEST(Flush, ErrorByCommandFlushesInPostingOrder) {
  Sender s;
  for (std::uint64_t i = 0; i < 4; ++i) s.post(64, false, i);
  const auto out = s.send();
  s.ack(out[1].psn, 2);
  for (std::uint64_t i = 0; i < 3; ++i) s.qp.post_recv({100 + i});
  ASSERT_TRUE(s.qp.modify(QpState::kError, {}, 0, s.now));
  EXPECT_EQ(s.post(64, false, 4), PostResult::kOk);  // posts in ERROR flush
  EXPECT_EQ(s.qp.post_recv({103}), PostResult::kOk);
  std::vector<Completion> sends, receives;
  for (const Completion& c : s.poll()) (c.opcode == WcOpcode::kRdmaWrite ? sends : receives).push_back(c);
  ASSERT_EQ(sends.size(), 5U);
  ASSERT_EQ(receives.size(), 4U);
  for (std::uint64_t i = 0; i < 5; ++i) {
    EXPECT_EQ(sends[i].wr_id, i);
    EXPECT_EQ(sends[i].status, i < 2 ? WcStatus::kSuccess : WcStatus::kWrFlushErr);
  }
  for (std::uint64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(receives[i].wr_id, 100 + i);
    EXPECT_EQ(receives[i].status, WcStatus::kWrFlushErr);
  }
  EXPECT_TRUE(s.poll().empty());
  EXPECT_TRUE(s.send().empty());
  EXPECT_TRUE(s.qp.wake().deadline.is_never());
}

// D17. What is before the NAKed packet succeeds, its request carries the error, the rest is flushed.
struct NakCase {
  wire::Syndrome syndrome;
  WcStatus status;
};
class Nak : public ::testing::TestWithParam<NakCase> {};

TEST_P(Nak, EndsTheRequestThatHoldsThePacket) {
  PairConfig config;
  config.attr.path_mtu = 1024;
  Sender s(config);
  s.post(2048, false, 1);
  s.post(3072, false, 2);
  s.post(1024, false, 3);
  const auto out = s.send();
  ASSERT_EQ(out.size(), 6U);
  s.ack(out[3].psn, 1, GetParam().syndrome);
  EXPECT_EQ(s.qp.state(), QpState::kError);
  const auto done = s.poll();
  ASSERT_EQ(done.size(), 3U);
  EXPECT_EQ(done[0].status, WcStatus::kSuccess);
  EXPECT_EQ(done[1].status, GetParam().status);
  EXPECT_EQ(done[2].status, WcStatus::kWrFlushErr);
  EXPECT_EQ(s.qp.counters().rx_nak, 1U);
  EXPECT_EQ(s.cc.inflight_bytes(), 0);
}

INSTANTIATE_TEST_SUITE_P(Codes, Nak,
                         ::testing::Values(NakCase{wire::Syndrome::kInvalidRequest, WcStatus::kRemInvReqErr},
                                           NakCase{wire::Syndrome::kRemoteAccess, WcStatus::kRemAccessErr},
                                           NakCase{wire::Syndrome::kRemoteOperational, WcStatus::kRemOpErr}));

TEST(Flush, NakWithoutAMeaningIsDropped) {
  Sender s;
  s.post(64);
  const auto out = s.send();
  s.ack(out[0].psn, 0, static_cast<wire::Syndrome>(0x60));  // PSN sequence error has no use in MRC (1.4)
  s.ack(out[0].psn, 0, static_cast<wire::Syndrome>(0x25));  // RNR neither
  EXPECT_EQ(s.qp.counters().rx_ack_range, 2U);
  s.ack(out[0].psn, 1);
  s.poll();
  s.ack(out[0].psn, 0, wire::Syndrome::kRemoteAccess);  // its request is complete
  EXPECT_EQ(s.qp.counters().rx_ack_range, 3U);
  EXPECT_EQ(s.qp.state(), QpState::kRts);
}

// The whole way: an access failure at the far end becomes the right status here, even if the NAK is lost.
TEST(Flush, AccessFailureReachesTheRequestor) {
  Pair pair;
  int lost = 0;
  pair.on_wire = [&](const Pair::Packet& p) {
    Fate fate;
    fate.drop = p.control() != nullptr && p.control()->opcode == wire::Opcode::kAck && lost++ < 2;
    return fate;
  };
  pair.end[Pair::kB].access = Access::kDenied;
  pair.write(1, 100);
  pair.write(2, 100);
  pair.run_for(milliseconds(50));
  const auto& done = pair.end[Pair::kA].completions;
  ASSERT_EQ(done.size(), 2U);
  EXPECT_EQ(done[0].status, WcStatus::kRemAccessErr);
  EXPECT_EQ(done[1].status, WcStatus::kWrFlushErr);
  EXPECT_EQ(pair.b().state(), QpState::kError);
  EXPECT_GT(lost, 2);
}

TEST(Flush, ResetStartsAnew) {
  Pair pair;
  pair.write(1, 5000);
  pair.run_for(milliseconds(1));
  for (Qp* qp : {&pair.a(), &pair.b()}) {
    ASSERT_TRUE(qp->modify(QpState::kError, {}, 0, pair.now()));
    ASSERT_TRUE(qp->modify(QpState::kReset, {}, 0, pair.now()));
    QpAttr attr = default_attr();
    attr.sq_psn = attr.rq_psn = Psn{77};
    ASSERT_EQ(bring_up(*qp, attr, pair.now()), "");
  }
  pair.write(2, 5000, 8192);
  pair.run_for(milliseconds(1));
  EXPECT_TRUE(pair.arrived(8192, 5000));
  EXPECT_EQ(pair.end[Pair::kA].completions.back().wr_id, 2U);
  EXPECT_EQ(pair.end[Pair::kA].completions.back().status, WcStatus::kSuccess);
}

// The next peer is another one, or the same one anew: what its predecessor said of its ports is not known of
// it.
TEST(Flush, ResetForgetsPathsAndPeer) {
  Pair pair;
  pair.write(1, 50000);
  pair.run_for(milliseconds(1));
  Qp& qp = pair.a();
  const Time now = pair.now();
  qp.on_port_change(3, false, now);
  qp.on_peer_ports(0b1101, now);
  qp.ev_set().set_state(1, path::EvState::kDenied, now);
  qp.ev_set().on_loss(2, path::EvCause::kLoss, now, now);
  ASSERT_FALSE(qp.ev_set().port_usable(1));
  ASSERT_NE(qp.ev_set().plane_proof(0), Time{});
  ASSERT_TRUE(qp.modify(QpState::kReset, {}, 0, now));
  const path::EvSet& evs = qp.ev_set();
  for (std::uint8_t p = 0; p < 4; ++p) {
    EXPECT_EQ(evs.port_usable(p), p != 3) << "plane " << int{p};
    EXPECT_EQ(evs.plane_proof(p), Time{});
  }
  for (std::size_t ev = 0; ev < pair.table().size(); ++ev) {
    const auto i = static_cast<path::EvIndex>(ev);
    EXPECT_EQ(evs.state(i), ev == 1 ? path::EvState::kDenied : path::EvState::kGood) << "EV " << ev;
  }
  EXPECT_TRUE(evs.next_probe_deadline().is_never());
  // And it works on.
  for (Qp* end : {&pair.a(), &pair.b()}) {
    ASSERT_TRUE(end->modify(QpState::kReset, {}, 0, now));
    ASSERT_EQ(bring_up(*end, default_attr(), now), "");
  }
  pair.write(2, 50000);
  pair.run_for(milliseconds(1));
  EXPECT_EQ(pair.end[Pair::kA].completions.back().wr_id, 2U);
}

}  // namespace
}  // namespace mrc::transport::test
