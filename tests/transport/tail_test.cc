// SPDX-License-Identifier: BSD-3-Clause
// Nothing hangs: tails, lost Transport ACKs, closed windows (D14; I3).
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "solo.h"

namespace mrc::transport::test {
namespace {

PairConfig config_1k() {
  PairConfig config;
  config.attr.path_mtu = 1024;
  return config;
}

/// Three packets, all SACKed: only the Transport ACK is missing.
std::vector<TxDesc> three_sacked(Sender& s) {
  s.post(3 * 1024);
  auto out = s.send();
  s.wait(microseconds(10));
  s.count(out);
  s.sack(s.sack_for(out[2], out[2].psn));
  return out;
}

// D14 line 13: everything is SACKed, the Transport ACK is lost: after two answered probes the last packet of
// the oldest request is repeated, with rtx = a = 1 and not charged.
TEST(Tail, LostTransportAckIsRepairedByARepeat) {
  Sender s(config_1k());
  const auto out = three_sacked(s);
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
  const auto out = three_sacked(s);
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

// D14 line 11: one SACK shows 64 PSNs, the next one the next 64. Probes for all of them and one more, two to
// eight, their number prime to that of the SACKs; on a single plane one fewer.
TEST(Tail, ProbesShowTheWholeWindowAndOneMore) {
  struct Case {
    std::uint32_t packets;
    std::size_t probes, on_one_plane;
  };
  for (const Case c :
       {Case{1, 2, 1}, Case{64, 2, 1}, Case{65, 3, 2}, Case{128, 3, 2}, Case{192, 4, 3}, Case{384, 7, 6},
        Case{448, 8, 7}, Case{512, 7, 6}, Case{896, 5, 4}, Case{1024, 7, 6}}) {
    for (const std::size_t planes : {4U, 2U, 1U}) {
      PairConfig config = config_1k();
      config.window_bytes = 1 << 24;
      config.planes = planes;
      Sender s(config);
      s.post(c.packets * 1024);
      ASSERT_EQ(s.send().size(), c.packets);
      s.wait(microseconds(100));
      s.tick();
      const auto probes = s.control();
      EXPECT_EQ(probes.size(), planes == 1 ? c.on_one_plane : c.probes)
          << c.packets << " packets, " << planes;
      // The planes take turns.
      for (std::size_t i = 1; planes > 1 && i < std::min(planes, probes.size()); ++i)
        EXPECT_NE(probes[i].port, probes[i - 1].port);
      s.wait(microseconds(1));
      EXPECT_TRUE(s.control().empty());
    }
  }
}

// Two SACKs show the window, and what one of them would say goes to a plane whose way back is dead: another
// plane shows it the next time, long before the ACK timeout.
TEST(Tail, ADeadWayBackHidesNoHole) {
  for (int i = 0; i < 8; ++i) {
    const int dead = i % 4;
    const Psn hole{i < 4 ? 1076U : 1001U};
    Pair pair(config_1k());
    int lost = 0;
    pair.on_wire = [&](const Pair::Packet& p) {
      Fate fate;
      if (const TxDesc* d = p.data()) {
        fate.drop = d->psn == hole && !d->rtx;
        lost += fate.drop ? 1 : 0;
      } else {
        // What the data caused is lost, so that probes alone tell.
        const ControlDesc& c = *p.control();
        fate.drop = c.opcode == wire::Opcode::kSack && (!c.sack.pr || c.port == dead);
      }
      return fate;
    };
    pair.write(1, 78 * 1024);
    pair.run_for(microseconds(150));
    EXPECT_EQ(lost, 1);
    EXPECT_EQ(pair.end[Pair::kA].completions.size(), 1U) << "dead " << dead << ", hole " << hole.value();
    EXPECT_EQ(pair.a().counters().rtx_by_cause[static_cast<std::size_t>(RtxCause::kInferredLoss)], 1U);
  }
}

// A tail older than the records of the window is repeated over another plane each time: its answers may die
// on the way back.
TEST(Tail, RepeatsOfAnOldTailTakeTurnsOfPlanes) {
  PairConfig config = config_1k();
  config.policy.tail_probe = false;
  config.limits.max_mpr = config.attr.mpr = 1;
  Sender s(config);
  s.post(1024);
  const auto first = s.send();
  s.sack(s.sack_for(first[0], first[0].psn));
  s.post(256 * 1024);  // twice the window, so that the record of the first packet is somebody else's
  for (auto out = s.send(); !out.empty(); out = s.send()) s.sack(s.sack_for(out.back(), out.back().psn));
  std::vector<std::uint8_t> ports;
  while (ports.size() < 4) {
    s.now = s.qp.wake().deadline;
    s.tick();
    for (const TxDesc& d : s.send()) {
      EXPECT_EQ(d.psn, first[0].psn);
      ports.push_back(d.port);
    }
  }
  for (std::size_t i = 1; i < ports.size(); ++i) EXPECT_NE(ports[i], ports[i - 1]);
}

// What was proven before the silence may be what has died: without news the other EVs are asked.
TEST(Tail, TheNextProbesGoOverOtherEvs) {
  for (const std::size_t planes : {1U, 2U}) {
    SCOPED_TRACE(planes);
    PairConfig config = config_1k();
    config.planes = planes;
    config.evs = 4 * planes;
    Sender s(config);
    s.post(1024);
    s.send();
    std::vector<ControlDesc> probes;
    while (probes.size() < 4 * planes) {
      s.now = s.qp.wake().deadline;
      s.tick();
      for (const ControlDesc& probe : s.control()) probes.push_back(probe);
    }
    std::set<path::EvIndex> evs;
    for (std::size_t i = 0; i < probes.size(); ++i) {
      evs.insert(probes[i].ev);
      EXPECT_EQ(probes[i].port, probes[i % planes].port) << "planes in turn";
    }
    EXPECT_EQ(evs.size(), 4 * planes) << "all EVs have been asked";
    s.answer(probes.back(), s.first);
    const path::EvIndex proven = probes.back().ev;
    s.post(1024);
    s.send();
    s.now = s.qp.wake().deadline;
    s.tick();
    const auto next = s.control();
    ASSERT_FALSE(next.empty());
    EXPECT_EQ(next[0].ev, proven) << "news: the one most recently proven is the best again";
  }
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

// D14 line 13: one answer is not enough, a second one may not know what the first did.
TEST(Tail, OneAnswerIsNoReasonToRepeat) {
  Sender s(config_1k());
  const auto out = three_sacked(s);
  s.now = s.qp.wake().deadline;
  s.tick();
  const auto probes = s.control();
  ASSERT_EQ(probes.size(), 2U);
  s.wait(microseconds(10));
  s.answer(probes[0], out[2].psn);
  EXPECT_TRUE(s.send().empty());
  s.answer(probes[0], out[2].psn);
  EXPECT_TRUE(s.send().empty()) << "the same answer once more";
  s.answer(probes[1], out[2].psn);
  EXPECT_EQ(s.send().size(), 1U);
}

}  // namespace
}  // namespace mrc::transport::test
