// SPDX-License-Identifier: BSD-3-Clause
// Reverse EVs kept alive by EV Probes (MRC 6.5.2, 7.4.7; D19).
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <set>

#include "base/rng.h"
#include "solo.h"

namespace mrc::transport::test {
namespace {

constexpr Duration kBase = microseconds(10);

PairConfig probing(std::size_t evs = 16, std::size_t planes = 4) {
  PairConfig config = Receiver::defaults();
  config.policy.reverse_probes = true;
  config.policy.base_rtt = kBase;
  config.policy.learn_base_rtt = false;
  config.evs = evs;
  config.planes = planes;
  return config;
}

/// A receiver, Writes that keep arriving, and a peer's endpoint that answers probes unless their EV is dead.
struct Listener {
  explicit Listener(const PairConfig& config) : r(config), planes(config.planes) {}

  struct Probe {
    Time sent;
    path::EvIndex ev;
    std::uint8_t port;
  };
  /// For `d`: a Write every `gap`, the host at work every microsecond.
  void run(Duration d, Duration gap = microseconds(1)) {
    for (const Time end = r.now + d; r.now < end; r.now = r.now + microseconds(1)) {
      for (; !answers.empty() && answers.front().first <= r.now; answers.pop_front())
        answer(answers.front().second);
      if (gap.ns != 0 && r.now >= next_write) {
        next_write = r.now + gap;
        r.write(r.only(static_cast<std::int32_t>(written)), static_cast<std::uint8_t>(written % planes));
        ++written;
      }
      if (asked.ns != 0 && r.now >= next_question) {
        next_question = r.now + asked;
        r.qp.on_probe({}, r.meta(static_cast<std::uint8_t>(questions++ % planes)));
      }
      if (r.qp.wake().deadline <= r.now) r.qp.on_timer(r.now);
      if (r.qp.wake().control_ready) take(r.control(up_mask));
    }
  }
  void answer(std::uint16_t id) {
    wire::EndpointResponseView response;
    response.op = wire::EndpointOp::kEvProbe;
    response.request_id = id;
    r.qp.on_ev_probe_answer(response, r.now);
  }
  void take(const std::vector<ControlDesc>& descs) {
    for (const ControlDesc& d : descs) {
      if (d.opcode != wire::Opcode::kEndpointRequest) continue;
      EXPECT_EQ(d.request.op, wire::EndpointOp::kEvProbe);
      EXPECT_EQ((*r.table)[d.ev].port, d.port);
      EXPECT_EQ(d.dscp, wire::DscpClass::kControl);
      probes.push_back({r.now, d.ev, d.port});
      const bool lost = mute || dead.count(d.ev) != 0 || (loss > 0 && rng.chance(loss));
      if (!lost) answers.emplace_back(r.now + kBase, d.request.request_id);
    }
  }
  [[nodiscard]] path::EvIndex reverse(std::uint8_t port) const {
    return r.qp.ev_set().choose_for_control(1U << port, port).ev;
  }
  [[nodiscard]] std::uint64_t replaced() const { return r.qp.ev_set().counters().reverse_replaced; }

  Receiver r;
  std::size_t planes;
  std::uint32_t written = 0;
  Time next_write;
  Duration asked{};  ///< a Reliability Probe of the peer every so often; 0: none
  std::uint32_t questions = 0;
  Time next_question;
  std::uint32_t up_mask = 0xF;
  bool mute = false;
  double loss = 0;
  Rng rng{1};
  std::set<path::EvIndex> dead;
  std::deque<std::pair<Time, std::uint16_t>> answers;
  std::vector<Probe> probes;
};

TEST(ReverseProbes, OffUnlessTheHostCarriesThem) {
  PairConfig config = probing();
  config.policy.reverse_probes = false;
  Listener l(config);
  l.run(milliseconds(1));
  EXPECT_TRUE(l.probes.empty());
  EXPECT_EQ(l.r.qp.counters().tx_ev_probe, 0U);
}

TEST(ReverseProbes, OneABaseRttPlanesInTurn) {
  Listener l(probing());
  l.run(milliseconds(2));
  ASSERT_GE(l.probes.size(), 190U);
  ASSERT_LE(l.probes.size(), 201U);
  for (std::size_t i = 1; i < l.probes.size(); ++i) {
    EXPECT_GE(l.probes[i].sent - l.probes[i - 1].sent, kBase);
    EXPECT_EQ(l.probes[i].port, (l.probes[i - 1].port + 1) % 4);
  }
  EXPECT_EQ(l.replaced(), 0U);
  EXPECT_EQ(l.r.qp.counters().tx_ev_probe, l.probes.size());
  EXPECT_GE(l.r.qp.counters().rx_ev_answer + 1, l.probes.size());
  for (std::uint8_t port = 0; port < 4; ++port)
    EXPECT_NE(l.r.qp.ev_set().proof(l.reverse(port)), Time{}) << "the answer is a proof of delivery";
}

TEST(ReverseProbes, OnlyWhilePacketsArrive) {
  Listener l(probing());
  l.run(milliseconds(1));
  const std::size_t before = l.probes.size();
  l.run(milliseconds(5), Duration{});
  EXPECT_LE(l.probes.size(), before + 1) << "at most the one that was due";
  EXPECT_TRUE(l.r.qp.wake().deadline.is_never());
  l.run(milliseconds(1));
  EXPECT_GT(l.probes.size(), before + 50);
}

// All ways back are dead: the peer hears nothing, so that it sends next to no Writes and asks instead.
TEST(ReverseProbes, WhatThePeerAsksKeepsThemGoing) {
  Listener l(probing());
  l.run(microseconds(200));
  std::array<path::EvIndex, 4> was{};
  for (std::uint8_t port = 0; port < 4; ++port) l.dead.insert(was[port] = l.reverse(port));
  l.asked = kBase * 4;
  l.run(kBase * 80, Duration{});
  for (std::uint8_t port = 0; port < 4; ++port) EXPECT_NE(l.reverse(port), was[port]);
  const std::size_t before = l.probes.size();
  l.run(kBase * 400, Duration{});
  EXPECT_GE(l.probes.size(), before + 90) << "one a question";
  EXPECT_LE(l.probes.size(), before + 101);
  l.asked = Duration{};
  l.run(kBase * 400, Duration{});
  EXPECT_LE(l.probes.size(), before + 102) << "nobody asks any more";
}

// A question that arrived is worth more than one probe: the next one may be long in coming.
TEST(ReverseProbes, OneQuestionIsEnoughToFindAnEvThatWorks) {
  Listener l(probing(4, 1));
  l.run(microseconds(200));
  l.run(microseconds(50), Duration{});
  for (path::EvIndex ev = 0; ev < 4; ++ev) l.dead.insert(ev);
  const path::EvIndex was = l.reverse(0);
  l.dead.erase(static_cast<path::EvIndex>((was + 3) % 4));  // the last one that is tried
  const std::size_t before = l.probes.size();
  l.r.qp.on_probe({}, l.r.meta(0));
  l.run(kBase * 20, Duration{});
  EXPECT_EQ(l.reverse(0), (was + 3) % 4);
  EXPECT_EQ(l.probes.size(), before + 7) << "two on each dead one, and one that is answered";
  EXPECT_TRUE(l.r.qp.wake().deadline.is_never());
}

TEST(ReverseProbes, OneQuestionDrawsEightProbesAtMost) {
  Listener l(probing(16, 1));
  l.run(microseconds(200));
  l.mute = true;
  l.run(microseconds(50), Duration{});
  const std::size_t before = l.probes.size();
  l.r.qp.on_probe({}, l.r.meta(0));
  l.run(milliseconds(50), Duration{});
  EXPECT_LE(l.probes.size(), before + 8);
  EXPECT_TRUE(l.r.qp.wake().deadline.is_never());
}

TEST(ReverseProbes, QuestionsDoNotMakeThemMoreThanOneABaseRtt) {
  Listener l(probing());
  l.asked = microseconds(1);
  l.run(milliseconds(2), Duration{});
  EXPECT_GE(l.probes.size(), 190U);
  for (std::size_t i = 1; i < l.probes.size(); ++i) EXPECT_GE(l.probes[i].sent - l.probes[i - 1].sent, kBase);
}

TEST(ReverseProbes, FewerThanWhatTheyProtect) {
  Listener l(probing());
  l.run(milliseconds(8), microseconds(20));  // 400 Writes, two RTTs apart
  EXPECT_LE(l.probes.size(), 400U / 8 + 1);
  EXPECT_GE(l.probes.size(), 400U / 8 - 2);
}

TEST(ReverseProbes, TwoUnansweredAndTheNextEvServes) {
  Listener l(probing());
  l.run(microseconds(200));
  const path::EvIndex was = l.reverse(2);
  l.dead.insert(was);
  const Time died = l.r.now;
  while (l.reverse(2) == was && l.r.now - died < milliseconds(1)) l.run(microseconds(1));
  EXPECT_NE(l.reverse(2), was);
  EXPECT_EQ((*l.r.table)[l.reverse(2)].port, 2);
  EXPECT_LE(l.r.now - died, kBase * 10);
  EXPECT_EQ(l.replaced(), 1U);
  const auto lost = std::count_if(l.probes.begin(), l.probes.end(),
                                  [&](const auto& p) { return p.sent >= died && p.ev == was; });
  EXPECT_EQ(lost, 2) << "two probes on it were not answered";
  EXPECT_EQ(l.r.qp.ev_set().state(was), path::EvState::kGood) << "no verdict: the answer may have died";
  std::array<path::EvSet::Event, 4> events;
  std::uint64_t dropped = 0;
  EXPECT_EQ(l.r.qp.ev_set().poll_events(events, dropped), 0U) << "and no event, as no state changed";
  l.run(milliseconds(2));
  EXPECT_EQ(l.replaced(), 1U) << "the next one answers";
}

TEST(ReverseProbes, ALateAnswerCounts) {
  Listener l(probing());
  l.run(microseconds(200));
  const path::EvIndex was = l.reverse(1);
  l.dead.insert(was);
  const Time died = l.r.now;
  while (l.replaced() == 0) l.run(microseconds(1));
  l.dead.clear();
  // The second of the two answers was only slow. Ids count from 0 as probes do.
  std::uint16_t id = 0;
  for (std::size_t i = 0; i < l.probes.size(); ++i)
    if (l.probes[i].ev == was && l.probes[i].sent > died) id = static_cast<std::uint16_t>(i);
  l.answer(id);
  EXPECT_EQ(l.reverse(1), was);
  const std::uint64_t answers = l.r.qp.counters().rx_ev_answer;
  l.answer(id);
  l.answer(60000);
  EXPECT_EQ(l.r.qp.counters().rx_ev_answer, answers) << "each once, and only what was asked";
}

TEST(ReverseProbes, APeerThatAnswersNothingProvesNothing) {
  Listener l(probing());
  l.mute = true;
  std::array<path::EvIndex, 4> was{};
  for (std::uint8_t port = 0; port < 4; ++port) was[port] = l.reverse(port);
  l.run(milliseconds(200));
  for (std::uint8_t port = 0; port < 4; ++port) EXPECT_EQ(l.reverse(port), was[port]);
  EXPECT_EQ(l.replaced(), 0U);
  EXPECT_LE(l.probes.size(), 200U) << "ever more rarely";
  EXPECT_GE(l.probes.back().sent - l.r.now, milliseconds(-20)) << "but without end";
}

// One that asks again and again lacks our answers, whether or not it answers EV Probes: a way back that was
// dead from the start would else be kept for ever.
TEST(ReverseProbes, APeerThatAsksWhileNothingIsAnsweredIsToldOverOtherEvs) {
  Listener l(probing(4, 1));
  l.mute = true;
  l.run(milliseconds(1));
  ASSERT_EQ(l.replaced(), 0U);
  l.asked = kBase * 3;
  std::set<path::EvIndex> served;
  for (int i = 0; i < 200; ++i) {
    l.run(kBase, Duration{});
    served.insert(l.reverse(0));
  }
  EXPECT_EQ(served.size(), 4U);
  l.asked = Duration{};
  const std::uint64_t replaced = l.replaced();
  l.run(milliseconds(5));
  EXPECT_EQ(l.replaced(), replaced) << "Writes come again and nobody asks: what serves is good enough";
}

TEST(ReverseProbes, PlanesOutOfServiceAreLeftOut) {
  Listener l(probing());
  l.run(microseconds(100));
  l.r.qp.on_port_change(3, false, l.r.now);
  l.up_mask = 0b0111;
  const std::size_t before = l.probes.size();
  l.run(milliseconds(1));
  for (std::size_t i = before; i < l.probes.size(); ++i) EXPECT_NE(l.probes[i].port, 3);
  EXPECT_EQ(l.replaced(), 0U);
}

TEST(ReverseProbes, OwnDataNeedsNoProbes) {
  PairConfig config;
  config.policy = probing().policy;
  Pair pair(config);
  std::uint64_t probes = 0;
  pair.on_sent = [&](const Pair::Packet& p) {
    if (p.control() != nullptr && p.control()->opcode == wire::Opcode::kEndpointRequest) ++probes;
  };
  for (int i = 0; i < 200; ++i) {
    for (const auto side : {Pair::kA, Pair::kB}) pair.write(static_cast<std::uint64_t>(i), 1 << 15, 0, side);
    pair.run_for(microseconds(6));
  }
  EXPECT_LE(probes, 12U) << "before the first SACKs, and after the last";
}

TEST(ReverseProbes, AnAbsenceOfTheHostIsNoSilence) {
  Listener l(probing());
  l.run(microseconds(200));
  for (int i = 0; i < 20; ++i) {
    l.run(microseconds(35));
    const Time back = l.r.now + milliseconds(3);
    for (auto& [at, id] : l.answers) at = back;  // they lie in the receive queue
    l.r.now = back;
    l.r.qp.on_poll_gap(back, milliseconds(3));
    if (l.r.qp.wake().deadline <= back) l.r.qp.on_timer(back);
    l.take(l.r.control());
  }
  EXPECT_EQ(l.replaced(), 0U);
}

TEST(ReverseProbes, ResetForgets) {
  Listener l(probing());
  l.run(microseconds(200));
  ASSERT_TRUE(l.r.qp.modify(QpState::kReset, {}, 0, l.r.now));
  EXPECT_TRUE(l.r.qp.wake().deadline.is_never());
  EXPECT_FALSE(l.r.qp.wake().control_ready);
  l.answer(static_cast<std::uint16_t>(l.probes.size() - 1));
  EXPECT_LE(l.r.qp.counters().rx_ev_answer, l.probes.size() - 1);
}

// What comes late from before the RESET is no reason to probe, and takes none away from what comes after it.
TEST(ReverseProbes, LatePacketsInResetAndInitDoNotEndThem) {
  for (const bool question : {false, true}) {
    SCOPED_TRACE(question);
    Listener l(probing());
    l.run(microseconds(200));
    Qp& qp = l.r.qp;
    const QpAttr attr = qp.attributes();
    const auto late = [&] {
      question ? qp.on_probe({}, l.r.meta(0)) : static_cast<void>(l.r.write(l.r.only(0), 0));
      if (qp.wake().deadline <= l.r.now) qp.on_timer(l.r.now);
      EXPECT_TRUE(qp.wake().deadline.is_never());
    };
    ASSERT_TRUE(qp.modify(QpState::kReset, {}, 0, l.r.now));
    late();
    ASSERT_TRUE(qp.modify(QpState::kInit, attr, kAttrHint | kAttrEvProfileId | kAttrCcProfileId, l.r.now));
    late();
    ASSERT_TRUE(qp.modify(
        QpState::kRtr, attr,
        kAttrMaxWimmDest | kAttrMprDest | kAttrCap | kAttrAv | kAttrPathMtu | kAttrDestQpn | kAttrRqPsn,
        l.r.now));
    l.probes.clear();
    l.written = 0;
    l.run(microseconds(200));
    EXPECT_GT(l.probes.size(), 8U);
  }
}

// Random tables, deaths, denied EVs and losses: what may be said of every run.
class ReverseProbesProperty : public ::testing::Test {
 protected:
  struct Setup {
    std::size_t planes, evs;
    double loss;
  };
  static Setup draw(Rng& rng) {
    const auto planes = static_cast<std::size_t>(rng.between(1, 6));
    return {planes, planes * static_cast<std::size_t>(rng.between(2, 12)), rng.chance(0.5) ? 0.0 : 0.2};
  }
};

TEST_F(ReverseProbesProperty, FindsALivingEvOnEveryPlane) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    Rng rng(seed);
    const Setup s = draw(rng);
    Listener l(probing(s.evs, s.planes));
    l.up_mask = (1U << s.planes) - 1U;
    l.loss = s.loss;
    l.rng = rng.fork(1);
    std::set<path::EvIndex> denied;
    for (std::size_t ev = s.planes; ev < s.evs; ++ev) {  // one a plane is left
      if (!rng.chance(0.2)) continue;
      denied.insert(static_cast<path::EvIndex>(ev));
      l.r.qp.ev_set().set_state(static_cast<path::EvIndex>(ev), path::EvState::kDenied, l.r.now);
    }
    l.run(microseconds(300));
    for (std::size_t ev = 0; ev < s.evs; ++ev)
      if (rng.chance(0.4)) l.dead.insert(static_cast<path::EvIndex>(ev));
    // Two probes an EV that is tried, each waited for two base RTTs, planes in turn; lost answers make it
    // longer.
    const auto tried = static_cast<std::int64_t>(s.evs / s.planes);
    l.run(kBase * (tried * (static_cast<std::int64_t>(s.planes) * 2 + 8) * (s.loss > 0 ? 3 : 1)));
    for (std::size_t i = 1; i < l.probes.size(); ++i)
      ASSERT_GE(l.probes[i].sent - l.probes[i - 1].sent, kBase) << "seed " << seed;
    for (const auto& p : l.probes) ASSERT_EQ(denied.count(p.ev), 0U) << "seed " << seed;
    for (std::uint8_t port = 0; port < s.planes; ++port) {
      bool any = false;
      for (std::size_t ev = port; ev < s.evs; ev += s.planes)
        any = any || (l.dead.count(static_cast<path::EvIndex>(ev)) == 0 &&
                      denied.count(static_cast<path::EvIndex>(ev)) == 0);
      if (!any) continue;
      // With losses the living one may just have been given up; then the next look finds one.
      bool alive = false;
      for (int look = 0; look < (s.loss > 0 ? 20 : 1) && !alive; ++look) {
        alive = l.dead.count(l.reverse(port)) == 0;
        if (!alive) l.run(kBase * 20);
      }
      EXPECT_TRUE(alive) << "seed " << seed << ", plane " << int{port};
      EXPECT_EQ(denied.count(l.reverse(port)), 0U) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace mrc::transport::test
