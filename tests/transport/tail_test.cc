// SPDX-License-Identifier: BSD-3-Clause
// Nothing hangs: tails, lost Transport ACKs, closed windows (D14; I3).
#include <gtest/gtest.h>

#include "solo.h"

namespace mrc::transport::test {
namespace {

PairConfig config_1k() {
  PairConfig config;
  config.attr.path_mtu = 1024;
  return config;
}

// D14 line 13: everything is SACKed, the Transport ACK is lost: after two answered probes the last packet of
// the oldest request is repeated, with rtx = a = 1 and not charged.
TEST(Tail, LostTransportAckIsRepairedByARepeat) {
  Sender s(config_1k());
  s.post(3 * 1024);
  const auto out = s.send();
  s.wait(microseconds(10));
  s.count(out);
  s.sack(s.sack_for(out[2], out[2].psn));
  EXPECT_EQ(s.qp.charged_bytes(), 0);
  EXPECT_FALSE(s.qp.wake().deadline.is_never());
  std::vector<TxDesc> again;
  int answered = 0;
  while (again.empty()) {
    ASSERT_LT(answered, 4);
    s.now = s.qp.wake().deadline;
    s.tick();
    for (const ControlDesc& probe : s.control()) {
      s.wait(microseconds(10));
      s.answer(probe, out[2].psn);
      ++answered;
    }
    again = s.send();
  }
  EXPECT_EQ(answered, 2);
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].psn, out[2].psn);
  EXPECT_TRUE(again[0].rtx && again[0].a);
  EXPECT_EQ(s.qp.charged_bytes(), 0);
  EXPECT_EQ(s.qp.retry_count(), 1U);
  EXPECT_EQ(s.rtx(RtxCause::kTailRepeat), 1U);
  s.ack(out[2].psn, 1);
  EXPECT_EQ(s.poll().size(), 1U);
  EXPECT_EQ(s.qp.retry_count(), 0U);
  EXPECT_TRUE(s.qp.wake().deadline.is_never());
}

// The repeat asks for the acknowledgement whatever may follow it.
TEST(Tail, ARepeatAsksAlsoWhenThereIsNewWork) {
  Sender s(config_1k());
  s.post(3 * 1024);
  const auto out = s.send();
  s.wait(microseconds(10));
  s.count(out);
  s.sack(s.sack_for(out[2], out[2].psn));
  for (int i = 0; i < 4 && !s.qp.wake().tx_ready; ++i) {
    s.now = s.qp.wake().deadline;
    s.tick();
    for (const ControlDesc& probe : s.control()) {
      s.wait(microseconds(10));
      s.answer(probe, out[2].psn);
    }
  }
  s.post(20 * 1024);
  const auto again = s.send(4);
  ASSERT_EQ(again.size(), 4U);
  EXPECT_EQ(again[0].psn, out[2].psn);
  EXPECT_TRUE(again[0].rtx && again[0].a);
  EXPECT_FALSE(again[1].rtx || again[1].a);
}

// D7. Everything is acknowledged, the SACK that reports the bytes is lost, and the peer is gone: the QP does
// not ask for ever.
TEST(Tail, TheAccountOfAGonePeerIsClosed) {
  Sender s(config_1k());
  s.post(1024);
  const auto out = s.send();
  s.wait(microseconds(10));
  s.ack(out[0].psn, 1);
  EXPECT_GT(s.qp.inflight_share_bytes(), 0);
  int probes = 0;
  while (!s.qp.wake().deadline.is_never()) {
    ASSERT_LT(probes, 100);
    s.now = s.qp.wake().deadline;
    s.tick();
    probes += static_cast<int>(s.control().size());
  }
  EXPECT_GE(probes, 16);
  EXPECT_EQ(s.qp.inflight_share_bytes(), 0);
  EXPECT_EQ(s.cc.inflight_bytes(), 0);
  EXPECT_EQ(s.qp.state(), QpState::kRts);
}

// The same with a responder that answers no probe: the timer repeats.
TEST(Tail, LostTransportAckIsRepairedByTheTimer) {
  PairConfig config = config_1k();
  config.policy.tail_probe = false;
  Sender s(config);
  s.post(1024);
  const auto out = s.send();
  s.sack(s.sack_for(out[0], out[0].psn));
  for (int i = 0; i < 3; ++i) {
    s.now = s.qp.wake().deadline;
    s.tick();
    const auto again = s.send();
    ASSERT_EQ(again.size(), 1U);
    EXPECT_EQ(again[0].psn, out[0].psn);
  }
  EXPECT_EQ(s.qp.retry_count(), 3U);
}

// ... and a peer that never acknowledges ends the QP within the budget, not before the sum of the intervals.
TEST(Tail, ResponderThatNeverAcknowledgesEndsTheQp) {
  PairConfig config = config_1k();
  config.attr.linear_cnt = 2;
  config.attr.exp_cnt = 2;
  Sender s(config);
  s.post(1024);
  const auto out = s.send();
  const Time start = s.now;
  s.wait(microseconds(10));
  s.sack(s.sack_for(out[0], out[0].psn));
  while (s.qp.state() == QpState::kRts) {
    s.now = s.qp.wake().deadline;
    ASSERT_LT(s.now, start + seconds(1));
    s.tick();
    for (const ControlDesc& probe : s.control()) {
      s.wait(microseconds(5));
      s.answer(probe, out[0].psn);
    }
    for (const TxDesc& d : s.send()) {
      s.wait(microseconds(5));
      s.sack(s.sack_for(d, out[0].psn));
    }
  }
  EXPECT_EQ(s.poll().at(0).status, WcStatus::kRetryExcErr);
  EXPECT_GE(s.now - start, RetryClock(10, 2, 1).total());
}

// The whole way: every Transport ACK lost for a while, over a real responder.
TEST(Tail, AllTransportAcksLostForAWhile) {
  PairConfig config = config_1k();
  Pair pair(config);
  int lost = 0;
  pair.on_wire = [&](const Pair::Packet& p) {
    Fate fate;
    fate.drop = p.control() != nullptr && p.control()->opcode == wire::Opcode::kAck && lost < 5;
    lost += fate.drop ? 1 : 0;
    return fate;
  };
  pair.write(1, 5000);
  pair.run_for(milliseconds(20));
  EXPECT_EQ(lost, 5);
  EXPECT_EQ(pair.end[Pair::kA].completions.size(), 1U);
  EXPECT_TRUE(pair.a().wake().deadline.is_never());
}

// D14 lines 10 and 11: probes back off from the 4th on.
TEST(Tail, ProbesBackOff) {
  Sender s(config_1k());
  s.post(1024);
  s.send();
  std::vector<Duration> waits;
  Time last = s.now;
  while (waits.size() < 7) {
    s.now = s.qp.wake().deadline;
    s.tick();
    if (!s.control().empty()) {
      waits.push_back(s.now - last);
      last = s.now;
    }
  }
  EXPECT_EQ(waits[0], nanoseconds(12500));
  EXPECT_EQ(waits[1], microseconds(20));  // srtt + reo
  EXPECT_EQ(waits[2], microseconds(20));
  EXPECT_EQ(waits[3], microseconds(20));
  EXPECT_EQ(waits[4], microseconds(40));
  EXPECT_EQ(waits[5], microseconds(80));
}

// D14 line 10: while something may be sent nothing is probed.
TEST(Tail, NoProbeWhileSendingIsPossible) {
  Sender s(config_1k());
  s.post(10 * 1024);
  s.send(2);
  s.wait(microseconds(100));
  s.tick();
  EXPECT_TRUE(s.control().empty());
  s.send();
  s.wait(microseconds(100));
  s.tick();
  EXPECT_EQ(s.control().size(), 2U);
}

TEST(Tail, OneProbeWhereThereIsOnePlane) {
  PairConfig config = config_1k();
  config.planes = 1;
  Sender s(config);
  s.post(1024);
  s.send();
  s.wait(microseconds(100));
  s.tick();
  EXPECT_EQ(s.control().size(), 1U);
  EXPECT_FALSE(s.qp.wake().control_ready);
}

// A probe is answered once; a second answer is a plain SACK that judges nobody.
TEST(Tail, ProbeAnswersCountOnce) {
  Sender s(config_1k());
  s.post(2 * 1024);
  s.send();
  s.wait(microseconds(13));
  s.tick();
  const auto probes = s.control();
  ASSERT_EQ(probes.size(), 2U);
  s.wait(microseconds(10));
  s.answer(probes[0], s.first - 1, 0, wire::EvMark::kSkipOnce);
  EXPECT_EQ(s.qp.ev_set().counters().skip_marks, 1U);
  s.answer(probes[0], s.first - 1, 0, wire::EvMark::kSkipOnce);
  EXPECT_EQ(s.qp.ev_set().counters().skip_marks, 1U);
  EXPECT_EQ(s.qp.counters().rx_sack, 2U);
}

// The window is closed by packets that are all received, because the SACK that said so is lost.
TEST(Tail, LostSackDoesNotCloseTheWindowForEver) {
  PairConfig config = config_1k();
  config.attr.mpr = config.attr.mpr_dest = 1;
  Pair pair(config);
  int lost = 0;
  pair.on_wire = [&](const Pair::Packet& p) {
    Fate fate;
    fate.drop = p.control() != nullptr && lost < 60;
    lost += fate.drop ? 1 : 0;
    return fate;
  };
  pair.write(1, 1 << 20);
  pair.run_for(milliseconds(100));
  EXPECT_EQ(pair.end[Pair::kA].completions.size(), 1U);
  EXPECT_TRUE(pair.arrived(0, 1 << 20));
}

}  // namespace
}  // namespace mrc::transport::test
