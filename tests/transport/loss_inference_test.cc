// SPDX-License-Identifier: BSD-3-Clause
// Which packets are held for lost, who is blamed, and what a needless verdict costs (D8, D9, D10).
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "solo.h"

namespace mrc::transport::test {
namespace {

PairConfig config_1k() {
  PairConfig config;
  config.attr.path_mtu = 1024;
  config.policy.base_rtt = microseconds(10);
  config.policy.learn_base_rtt = false;
  return config;
}

/// Sends one packet every `gap`; returns them.
std::vector<TxDesc> paced(Sender& s, std::size_t n, Duration gap) {
  std::vector<TxDesc> out;
  for (std::size_t i = 0; i < n; ++i) {
    const auto one = s.send(1);
    if (one.size() != 1) throw std::runtime_error("window closed");
    out.push_back(one[0]);
    s.wait(gap);
  }
  return out;
}

// D8. Full queues trim what comes and hold what came: until a Write from behind tells how long, the allowance
// of the plane is the largest.
TEST(LossInference, WhileNothingTellsHowLongAFullQueueIsTheAllowanceIsTheLargest) {
  for (const wire::NackReason reason : {wire::NackReason::kTrimmed, wire::NackReason::kTrimmedLasthop}) {
    Sender s(config_1k());
    s.post(64 * 1024);
    const auto out = paced(s, 20, microseconds(1));
    const auto trimmed =
        std::find_if(out.begin() + 12, out.end(), [&](const TxDesc& d) { return d.port == out[1].port; });
    ASSERT_NE(trimmed, out.end());
    s.nack(*trimmed, reason);
    s.sack(s.sack_for(out[11], out[0].psn, 0b11111111110));  // as below, where PSN 1 is lost by it
    const auto again = s.send(1);
    ASSERT_EQ(again.size(), 1U);
    EXPECT_EQ(again[0].psn, trimmed->psn) << "the trimmed one alone";
    (void)s.send(1);
    EXPECT_EQ(s.rtx(RtxCause::kInferredLoss), 0U);
    EXPECT_EQ(s.qp.ev_set().counters().assumed_bad, 0U);
  }
}

// D8. A 0 bit inside the bitmap, sent reo before the trigger: lost.
TEST(LossInference, TimeOrder) {
  Sender s(config_1k());
  s.post(64 * 1024);
  const auto out = paced(s, 20, microseconds(1));
  s.sack(s.sack_for(out[11], out[0].psn, 0b11111111110));  // 1 is missing; 11 left 10 us = reo after it
  EXPECT_EQ(s.rtx(RtxCause::kInferredLoss), 0U);           // queued, not sent
  const auto again = s.send(1);
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].psn, out[1].psn);
  EXPECT_TRUE(again[0].rtx);
  EXPECT_EQ(s.rtx(RtxCause::kInferredLoss), 1U);
  EXPECT_EQ(s.qp.ev_set().state(out[1].ev), path::EvState::kAssumedBad);  // D9. At once
  EXPECT_NE(again[0].ev, out[1].ev);
}

TEST(LossInference, YoungerThanReoIsNotLost) {
  Sender s(config_1k());
  s.post(64 * 1024);
  const auto out = paced(s, 20, microseconds(1));
  ASSERT_NE(out[1].ev, out[10].ev);
  s.sack(s.sack_for(out[10], out[0].psn, 0b1111111110));  // 9 us apart
  EXPECT_FALSE(s.send(1).at(0).rtx);
}

// D8. The coverage condition. What the bitmap does not reach is unknown, never lost.
TEST(LossInference, OutsideTheBitmapIsUnknown) {
  Sender s(config_1k());
  s.post(200 * 1024);
  const auto out = paced(s, 150, microseconds(1));
  auto sack = s.sack_for(out[140], out[0].psn);
  sack.sack_offset = 80;  // covers 80..143 of the stream
  sack.sack_bitmap = ~0ULL >> 3;
  s.sack(sack);
  EXPECT_FALSE(s.send(1).at(0).rtx);
}

// D8. Packets on the trigger's own EV keep their order: no allowance needed.
TEST(LossInference, EvOrder) {
  PairConfig config = config_1k();
  config.evs = 4;
  Sender s(config);
  s.post(64 * 1024);
  const auto out = paced(s, 8, nanoseconds(200));
  std::size_t later = 1;
  while (out[later].ev != out[0].ev) ++later;
  s.sack(s.sack_for(out[later], s.first - 1, 0xFFULL & ~1ULL));
  const auto again = s.send(1);
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].psn, out[0].psn);
}

// D8. Another DSCP class may overtake on the same EV.
TEST(LossInference, EvOrderNeedsTheSameClass) {
  PairConfig config = config_1k();
  config.evs = 1;
  config.planes = 1;
  Sender s(config);
  s.post(64 * 1024);
  const auto first = paced(s, 2, nanoseconds(200));
  s.nack(first[0], wire::NackReason::kTrimmedLasthop);
  const auto again = paced(s, 1, nanoseconds(200));
  ASSERT_TRUE(again[0].rtx);
  // The retransmission arrives; packet 1 left before it on the same EV, but as ordinary data.
  auto sack = s.sack_for(again[0], first[0].psn, 0);
  s.sack(sack);
  EXPECT_FALSE(s.send(1).at(0).rtx);
}

TEST(LossInference, TimeOrderCanBeSwitchedOff) {
  PairConfig config = config_1k();
  config.policy.time_order = false;
  Sender s(config);
  s.post(64 * 1024);
  const auto out = paced(s, 20, microseconds(1));
  s.sack(s.sack_for(out[19], out[0].psn, 0b111111111111111110));
  std::set<path::EvIndex> later;
  for (std::size_t i = 2; i < 20; ++i) later.insert(out[i].ev);
  const bool same_ev_as_trigger = out[1].ev == out[19].ev;
  EXPECT_EQ(s.send(1).at(0).rtx, same_ev_as_trigger);
}

// D9. What else went over that EV since shares its fate.
TEST(LossInference, EvFlush) {
  for (const bool flush : {true, false}) {
    PairConfig config = config_1k();
    config.evs = 4;
    config.policy.ev_flush = flush;
    Sender s(config);
    s.post(64 * 1024);
    const auto out = paced(s, 32, microseconds(1));
    std::set<std::uint32_t> on_ev;
    for (const TxDesc& d : out) {
      if (d.ev == out[0].ev) on_ev.insert(d.psn.value());
    }
    ASSERT_GE(on_ev.size(), 7U);
    std::size_t trigger = 12;
    while (out[trigger].ev == out[0].ev) ++trigger;
    // All but those of the dead EV arrived, up to the trigger.
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i <= trigger; ++i) bits |= (out[i].ev != out[0].ev ? 1ULL : 0ULL) << i;
    s.sack(s.sack_for(out[trigger], s.first - 1, bits));
    std::size_t again = 0;
    for (const TxDesc& d : s.send()) again += d.rtx ? 1 : 0;
    if (flush) {
      EXPECT_EQ(again, on_ev.size());
    } else {
      EXPECT_LT(again, on_ev.size());
      EXPECT_GE(again, 1U);
    }
  }
}

// D9, floor. The last EV is never condemned, and one loss does not resend the window.
TEST(LossInference, SingleEvLosesOnePacketOnly) {
  PairConfig config = config_1k();
  config.evs = 1;
  config.planes = 1;
  Sender s(config);
  s.post(64 * 1024);
  const auto out = paced(s, 30, microseconds(1));
  s.sack(s.sack_for(out[15], out[0].psn, 0b111111111111110));
  std::size_t again = 0;
  for (const TxDesc& d : s.send()) again += d.rtx ? 1 : 0;
  EXPECT_EQ(again, 1U);
  EXPECT_EQ(s.qp.ev_set().counters().floor_hits, 1U);
  EXPECT_EQ(s.qp.ev_set().counters().assumed_bad, 0U);
}

// D9. Without trimming the first loss within 8 base RTTs is forgiven.
TEST(LossInference, WithoutTrimmingTheSecondLossCondemns) {
  PairConfig config = config_1k();
  config.attr.trim_nack_dest = false;
  config.evs = 4;
  Sender s(config);
  s.post(64 * 1024);
  const auto out = paced(s, 32, microseconds(1));
  s.sack(s.sack_for(out[11], out[0].psn, 0b11111111110));
  EXPECT_EQ(s.qp.ev_set().state(out[1].ev), path::EvState::kGood);
  EXPECT_TRUE(s.send(1).at(0).rtx);
  std::size_t second = 12;  // the first SACK told that up to 11 arrived
  while (out[second].ev != out[1].ev) ++second;
  // `second` is missing too; a trigger 12 us younger proves it.
  const std::size_t trigger = second + 12;
  std::uint64_t bits = 0;
  for (std::size_t i = 2; i <= trigger; ++i) bits |= (i != second ? 1ULL : 0ULL) << (i - 1);
  s.sack(s.sack_for(out[trigger], out[0].psn, bits));
  EXPECT_EQ(s.qp.ev_set().state(out[1].ev), path::EvState::kAssumedBad);
}

// D9. A base RTT that proves shorter brings the repeated probes nearer. One that is due by it is sent when
// the timer runs, and no deadline stays behind in the past.
TEST(LossInference, AShorterBaseRttLeavesNoProbeOverdue) {
  PairConfig config = config_1k();
  config.evs = 4;
  config.policy.base_rtt = microseconds(10);
  config.policy.learn_base_rtt = true;
  config.policy.ev.probe_interval = microseconds(10);
  config.policy.ev.probe_backoff_max = {};
  Sender s(config);
  s.post(20 * 1024);
  const auto out = paced(s, 20, microseconds(1));
  std::size_t trigger = 19;
  while (out[trigger].ev != out[1].ev) --trigger;
  s.wait(microseconds(200));
  s.sack(s.sack_for(out[trigger], out[0].psn, 0b1111111111111111110));
  ASSERT_EQ(s.qp.ev_set().state(out[1].ev), path::EvState::kAssumedBad);
  ASSERT_EQ(s.control().size(), 1U);
  ASSERT_EQ(s.send().size(), 1U);
  s.wait(microseconds(10));
  s.tick();
  ASSERT_EQ(s.control().size(), 1U);  // the second one, and the next a base RTT later
  Psn cack = out[19].psn;
  for (int i = 0; i < 12; ++i) {
    s.post(1024);
    const auto next = s.send();
    ASSERT_EQ(next.size(), 1U);
    s.wait(microseconds(10));
    cack = next[0].psn;
    s.sack(s.sack_for(next[0], cack));
  }
  for (int i = 0; i < 8; ++i) {
    s.now = s.qp.wake().deadline;
    s.tick();
    EXPECT_FALSE(s.control().empty());
    ASSERT_GT(s.qp.wake().deadline, s.now);
  }
}

// D9. A verdict brings a probe at once, on that EV, in the data class (4.1).
TEST(LossInference, VerdictIsProbedAtOnce) {
  Sender s(config_1k());
  s.post(64 * 1024);
  const auto out = paced(s, 20, microseconds(1));
  EXPECT_TRUE(s.control().empty());
  s.sack(s.sack_for(out[11], out[0].psn, 0b11111111110));
  EXPECT_TRUE(s.qp.wake().control_ready);
  const auto probes = s.control();
  ASSERT_EQ(probes.size(), 1U);
  EXPECT_EQ(probes[0].opcode, wire::Opcode::kProbe);
  EXPECT_EQ(probes[0].ev, out[1].ev);
  EXPECT_EQ(probes[0].dscp, wire::DscpClass::kTrimmable);
  EXPECT_EQ(probes[0].probe.dpdcid, 0x100);
  s.wait(microseconds(10));
  s.answer(probes[0], out[0].psn, 0b11111111110);
  EXPECT_EQ(s.qp.ev_set().state(out[1].ev), path::EvState::kGood);
}

// An ASSUMED_BAD EV that stays silent is probed again at the fixed interval.
TEST(LossInference, SilentEvIsProbedAgain) {
  PairConfig config = config_1k();
  config.policy.ev.probe_interval = microseconds(100);
  config.policy.ev.probe_backoff_max = {};
  Sender s(config);
  s.post(64 * 1024);
  const auto out = paced(s, 20, microseconds(1));
  s.sack(s.sack_for(out[11], out[0].psn, 0b11111111110));
  ASSERT_EQ(s.control().size(), 1U);
  s.send();
  for (int i = 0; i < 3; ++i) {
    s.wait(microseconds(99));
    s.tick();
    for (const ControlDesc& c : s.control()) EXPECT_NE(c.ev, out[1].ev);
    s.wait(microseconds(1));
    EXPECT_LE(s.qp.wake().deadline, s.now);
    s.tick();
    bool probed = false;
    for (const ControlDesc& c : s.control()) probed = probed || c.ev == out[1].ev;
    EXPECT_TRUE(probed);
  }
}

// D9. The transmission given up arrives after all: its EV is GOOD without a probe, reo grows.
TEST(LossInference, SpuriousLossRestoresTheEv) {
  Sender s(config_1k());
  s.post(64 * 1024);
  const auto out = paced(s, 20, microseconds(1));
  s.sack(s.sack_for(out[11], out[0].psn, 0b11111111110));
  ASSERT_EQ(s.qp.ev_set().state(out[1].ev), path::EvState::kAssumedBad);
  s.sack(s.sack_for(out[1], out[11].psn));
  EXPECT_EQ(s.qp.ev_set().state(out[1].ev), path::EvState::kGood);
  EXPECT_EQ(s.qp.counters().spurious_rtx, 1U);
  for (const TxDesc& d : s.send()) EXPECT_NE(d.psn, out[1].psn);  // the SACK cancelled it (2.4)
}

TEST(LossInference, SpuriousLossIsSeenAfterTheRetransmissionLeft) {
  Sender s(config_1k());
  s.post(64 * 1024);
  const auto out = paced(s, 20, microseconds(1));
  s.sack(s.sack_for(out[11], out[0].psn, 0b11111111110));
  const auto again = s.send(1);
  ASSERT_TRUE(again.at(0).rtx);
  s.wait(microseconds(1));
  s.sack(s.sack_for(out[1], out[11].psn));  // rtx = 0, the first EV, the first timestamp
  EXPECT_EQ(s.qp.counters().spurious_rtx, 1U);
  EXPECT_EQ(s.qp.ev_set().state(out[1].ev), path::EvState::kGood);
}

// A probe's SACK is a SACK: the tail of a message is found by it (D14 line 12).
TEST(LossInference, ProbeAnswerJudgesWhatIsAboveMaxReceived) {
  Sender s(config_1k());
  s.post(4 * 1024);
  const auto out = s.send();
  ASSERT_EQ(out.size(), 4U);
  s.wait(microseconds(13));
  s.tick();
  const auto probes = s.control();
  ASSERT_EQ(probes.size(), 2U);
  EXPECT_NE(probes[0].port, probes[1].port);  // D14 line 11: two planes
  s.wait(microseconds(10));
  s.answer(probes[0], out[1].psn);
  const auto again = s.send();
  ASSERT_EQ(again.size(), 2U);
  EXPECT_EQ(again[0].psn, out[2].psn);
  EXPECT_EQ(again[1].psn, out[3].psn);
  EXPECT_EQ(s.qp.counters().timer_expiries, 0U);
}

// I2. Reordering by less than reo, with marks and duplicates: no retransmission, no verdict, no expiry.
TEST(LossInference, ReorderingBelowReoCostsNothing) {
  PairConfig config = config_1k();
  config.window_bytes = 200000;
  Pair pair(config);
  Rng rng(7);
  pair.on_wire = [&](const Pair::Packet& p) {
    Fate fate;
    const path::EvIndex ev = p.data() != nullptr ? p.data()->ev : p.control()->ev;
    fate.extra = nanoseconds(static_cast<std::int64_t>(mix64(ev) % 4000));  // paths differ, each keeps order
    fate.ce = rng.chance(0.05);
    fate.copies = rng.chance(0.05) ? 2 : 1;
    return fate;
  };
  pair.write(1, 1 << 20);
  pair.write(2, 1 << 20, 1 << 20);
  pair.run_for(milliseconds(20));
  EXPECT_EQ(pair.end[Pair::kA].completions.size(), 2U);
  EXPECT_TRUE(pair.arrived(0, 2 << 20));
  EXPECT_EQ(pair.a().counters().tx_rtx, 0U);
  EXPECT_EQ(pair.a().counters().timer_expiries, 0U);
  EXPECT_EQ(pair.a().ev_set().counters().assumed_bad, 0U);
  EXPECT_GT(pair.a().ev_set().counters().skip_marks, 0U);
  EXPECT_EQ(pair.a().inflight_share_bytes(), 0);
}

// One path dies for good in the middle of a stream: found and repaired without the ACK timer.
TEST(LossInference, DeadPathIsFoundWithoutTheTimer) {
  PairConfig config = config_1k();
  config.window_bytes = 200000;
  config.attr.timeout = 12;
  Pair pair(config);
  const Time death = pair.now() + microseconds(50);
  std::uint64_t dropped = 0;
  pair.on_wire = [&](const Pair::Packet& p) {
    Fate fate;
    const bool on_dead = p.data() != nullptr ? p.data()->ev == 5 : p.control()->ev == 5;
    fate.drop = on_dead && pair.now() >= death;
    dropped += fate.drop ? 1 : 0;
    return fate;
  };
  pair.write(1, 4 << 20 >> 1);
  pair.run_for(milliseconds(3));
  EXPECT_GT(dropped, 0U);
  EXPECT_EQ(pair.end[Pair::kA].completions.size(), 1U);
  EXPECT_TRUE(pair.arrived(0, 2 << 20));
  EXPECT_EQ(pair.a().counters().timer_expiries, 0U);
  EXPECT_EQ(pair.a().ev_set().state(5), path::EvState::kAssumedBad);
  EXPECT_EQ(pair.a().ev_set().counters().assumed_bad, 1U);
}

// D9. The flush takes what left over that EV with the lost packet or later: a burst leaves at one instant.
TEST(LossInference, EvFlushTakesWhatLeftAtTheSameInstant) {
  PairConfig config = config_1k();
  config.evs = 4;
  Sender s(config);
  s.post(100 * 1024);
  const auto burst = s.send(70);
  ASSERT_EQ(burst.size(), 70U);
  unsigned twins = 0;
  for (std::size_t i = 64; i < burst.size(); ++i) twins += burst[i].ev == burst[0].ev ? 1 : 0;
  ASSERT_GT(twins, 0U);
  s.wait(microseconds(10));
  const auto later = s.send(1);
  // The first is missing; what lies above the 64 PSNs shown is unknown.
  s.sack(s.sack_for(later[0], s.first - 1, ~1ULL));
  s.send();
  EXPECT_EQ(s.rtx(RtxCause::kInferredLoss), 1U);
  EXPECT_EQ(s.rtx(RtxCause::kEvFlush), twins);
}

// D9. At the peer's report that its port is down what left within the last base RTT is given up; what left
// before arrived while the port was up.
TEST(LossInference, APeersReportFlushesTheLastBaseRtt) {
  Sender s(config_1k());
  s.post(64 * 1024);
  const auto old = s.send(4);
  s.wait(nanoseconds(1));
  const auto fresh = s.send(4);
  s.wait(microseconds(10));
  const std::uint8_t plane = fresh[0].port;
  ASSERT_EQ(std::count_if(old.begin(), old.end(), [&](const TxDesc& d) { return d.port == plane; }), 1);
  s.qp.on_peer_ports(0xFU & ~(1U << plane), s.now);
  const auto again = s.send();
  ASSERT_FALSE(again.empty());
  EXPECT_EQ(again[0].psn, fresh[0].psn);
  EXPECT_EQ(s.rtx(RtxCause::kPlaneDown), 1U);
}

}  // namespace
}  // namespace mrc::transport::test
