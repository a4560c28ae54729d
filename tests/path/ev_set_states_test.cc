// SPDX-License-Identifier: BSD-3-Clause
// Every row of Figure 5 (5.5) and what D9 adds to it: the floor, the second loss, the way back.
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <vector>

#include "base/rng.h"
#include "path/ev_set.h"
#include "tables.h"

namespace mrc::path {
namespace {

using wire::EvMark;
constexpr EvIndex kEv = 3;

void put_in(EvSet& set, EvState state, Time now) {
  switch (state) {
    case EvState::kGood:
      break;
    case EvState::kSkip:
      set.on_mark(kEv, EvMark::kSkipOnce, now);
      break;
    case EvState::kAssumedBad:
      set.on_loss(kEv, EvCause::kLoss, now, now);
      break;
    case EvState::kDenied:
      set.set_state(kEv, EvState::kDenied, now);
      break;
  }
  ASSERT_EQ(set.state(kEv), state);
}

struct Transition {
  const char* name;
  EvState from;
  std::function<void(EvSet&, Time)> event;
  EvState to;
};

const auto mark = [](EvMark m) { return [m](EvSet& s, Time t) { s.on_mark(kEv, m, t); }; };
const auto trimmed = [](EvSet& s, Time t) { s.on_trimmed(kEv, t); };
const auto loss = [](EvSet& s, Time t) { s.on_loss(kEv, EvCause::kLoss, t, t); };
const auto timeout = [](EvSet& s, Time t) { s.on_loss(kEv, EvCause::kAckTimeout, t, t); };
const auto answer = [](EvMark m) { return [m](EvSet& s, Time t) { s.on_probe_answer(kEv, m, t); }; };
const auto spurious = [](EvSet& s, Time t) { s.on_spurious(kEv, t); };
const auto delivered = [](EvSet& s, Time t) { s.on_delivered(kEv, t, t); };
const auto control = [](EvState to) { return [to](EvSet& s, Time t) { s.set_state(kEv, to, t); }; };
// Rotation over the whole plane of kEv: every EV is met at least once.
const auto rotation = [](EvSet& s, Time t) {
  for (std::size_t i = 0; i < s.table().size(); ++i) s.choose(t, 1U << s.table()[kEv].port);
};

std::vector<Transition> transitions() {
  const EvState good = EvState::kGood;
  const EvState skip = EvState::kSkip;
  const EvState bad = EvState::kAssumedBad;
  const EvState denied = EvState::kDenied;
  return {
      {"good_m0", good, mark(EvMark::kNone), good},
      {"good_m1", good, mark(EvMark::kSkipOnce), skip},
      {"good_m2", good, mark(EvMark::kAlwaysSkip), bad},  // C38
      {"good_m3_as_m0", good, mark(EvMark::kReserved), good},
      {"good_trimmed", good, trimmed, skip},
      {"good_loss", good, loss, bad},
      {"good_timeout", good, timeout, bad},
      {"good_spurious", good, spurious, good},
      {"good_rotation", good, rotation, good},
      {"good_probe_m0", good, answer(EvMark::kNone), good},
      {"good_probe_m1", good, answer(EvMark::kSkipOnce), skip},
      {"good_probe_m2", good, answer(EvMark::kAlwaysSkip), bad},
      {"good_denied", good, control(denied), denied},
      {"skip_m0", skip, mark(EvMark::kNone), skip},
      {"skip_m1", skip, mark(EvMark::kSkipOnce), skip},
      {"skip_m2", skip, mark(EvMark::kAlwaysSkip), bad},
      {"skip_trimmed", skip, trimmed, skip},
      {"skip_loss", skip, loss, bad},
      {"skip_timeout", skip, timeout, bad},
      {"skip_delivered", skip, delivered, skip},
      {"skip_rotation", skip, rotation, good},
      {"skip_denied", skip, control(denied), denied},
      {"skip_controller_good", skip, control(good), good},
      {"bad_m0", bad, mark(EvMark::kNone), bad},
      {"bad_m1", bad, mark(EvMark::kSkipOnce), bad},
      {"bad_trimmed", bad, trimmed, bad},
      {"bad_loss", bad, loss, bad},
      {"bad_rotation", bad, rotation, bad},
      {"bad_delivered", bad, delivered, bad},
      {"bad_probe_m0", bad, answer(EvMark::kNone), good},
      {"bad_probe_m1", bad, answer(EvMark::kSkipOnce), good},  // C13
      {"bad_probe_m2", bad, answer(EvMark::kAlwaysSkip), bad},
      {"bad_spurious", bad, spurious, good},
      {"bad_controller_good", bad, control(good), good},
      {"bad_denied", bad, control(denied), denied},
      {"denied_m0", denied, mark(EvMark::kNone), denied},
      {"denied_m1", denied, mark(EvMark::kSkipOnce), denied},
      {"denied_m2", denied, mark(EvMark::kAlwaysSkip), denied},
      {"denied_trimmed", denied, trimmed, denied},
      {"denied_loss", denied, loss, denied},
      {"denied_timeout", denied, timeout, denied},
      {"denied_spurious", denied, spurious, denied},
      {"denied_probe", denied, answer(EvMark::kNone), denied},
      {"denied_rotation", denied, rotation, denied},
      {"denied_controller_good", denied, control(good), good},
      {"denied_denied", denied, control(denied), denied},
  };
}

class Figure5 : public ::testing::TestWithParam<Transition> {};

TEST_P(Figure5, Row) {
  const Transition& t = GetParam();
  EvSetConfig config;
  config.report_skips = true;
  EvSet set(table_of(8, 2), config, 1);
  put_in(set, t.from, at_us(1));
  std::vector<EvSet::Event> events(8);
  std::uint64_t dropped = 0;
  set.poll_events(events, dropped);
  t.event(set, at_us(2));
  EXPECT_EQ(set.state(kEv), t.to);
  for (EvIndex other = 0; other < 8; ++other)
    EXPECT_TRUE(other == kEv || set.state(other) == EvState::kGood) << other;
  const bool active = t.to == EvState::kGood || t.to == EvState::kSkip;
  EXPECT_EQ(set.active(), active ? 8U : 7U);
  // One event for a change, none without.
  const std::size_t n = set.poll_events(events, dropped);
  ASSERT_EQ(n, t.from == t.to ? 0U : 1U);
  EXPECT_EQ(dropped, 0U);
  if (n == 1) {
    EXPECT_EQ(events[0].ev, kEv);
    EXPECT_EQ(events[0].from, t.from);
    EXPECT_EQ(events[0].to, t.to);
    EXPECT_EQ(events[0].at, at_us(2));
  }
}

INSTANTIATE_TEST_SUITE_P(AllStates, Figure5, ::testing::ValuesIn(transitions()),
                         [](const auto& param_info) { return param_info.param.name; });

TEST(EvStates, UnknownEvIsIgnored) {
  EvSet set(table_of(4, 2), {}, 1);
  set.on_mark(kNoEv, EvMark::kSkipOnce, at_us(1));
  set.on_trimmed(kNoEv, at_us(1));
  EXPECT_FALSE(set.on_loss(kNoEv, EvCause::kLoss, at_us(1), at_us(1)).bad);
  set.on_spurious(kNoEv, at_us(1));
  set.on_probe_answer(kNoEv, EvMark::kNone, at_us(1));
  set.on_delivered(kNoEv, at_us(1), at_us(1));
  EXPECT_EQ(set.active(), 4U);
  EXPECT_EQ(set.counters().skip_marks, 0U);
}

TEST(EvStates, FloorTurnsDemotionIntoSkip) {  // D9
  EvSetConfig config;
  config.ev_min_active = 6;
  EvSet set(table_of(8, 2), config, 1);
  EXPECT_TRUE(set.on_loss(0, EvCause::kLoss, at_us(1), at_us(1)).bad);
  EXPECT_TRUE(set.on_loss(1, EvCause::kLoss, at_us(1), at_us(1)).bad);
  EXPECT_FALSE(set.on_loss(2, EvCause::kLoss, at_us(1), at_us(1)).bad);
  EXPECT_EQ(set.state(2), EvState::kSkip);
  set.on_mark(3, EvMark::kAlwaysSkip, at_us(1));
  EXPECT_EQ(set.state(3), EvState::kSkip);
  EXPECT_EQ(set.active(), 6U);
  EXPECT_EQ(set.counters().floor_hits, 2U);
  EXPECT_EQ(set.counters().assumed_bad, 2U);
  // The controller is not bound by the floor, and what it denies counts against the next verdict.
  set.set_state(4, EvState::kDenied, at_us(2));
  EXPECT_EQ(set.active(), 5U);
  EXPECT_FALSE(set.on_loss(5, EvCause::kLoss, at_us(3), at_us(3)).bad);
}

TEST(EvStates, WithoutTrimmingTheFirstLossIsForgiven) {  // D9
  EvSetConfig config;
  config.trimming = false;
  config.base_rtt = microseconds(10);
  EvSet set(table_of(8, 2), config, 1);
  EXPECT_FALSE(set.on_loss(0, EvCause::kLoss, at_us(100), at_us(100)).bad);
  EXPECT_EQ(set.state(0), EvState::kGood);
  EXPECT_FALSE(set.on_loss(0, EvCause::kLoss, at_us(181), at_us(181)).bad)
      << "81 us later: outside 8 base RTTs";
  EXPECT_TRUE(set.on_loss(0, EvCause::kLoss, at_us(261), at_us(261)).bad) << "80 us later: inside";
  EXPECT_EQ(set.state(0), EvState::kAssumedBad);
}

TEST(EvStates, ProbesAtOnceThenAtTheInterval) {
  EvSetConfig config;
  config.probe_interval = microseconds(50);
  config.probe_backoff_max = {};
  config.base_rtt = microseconds(10);
  EvSet set(table_of(8, 2), config, 1);
  EXPECT_TRUE(set.next_probe_deadline().is_never());
  set.on_loss(2, EvCause::kLoss, at_us(100), at_us(100));
  EXPECT_EQ(set.next_probe_deadline(), at_us(100)) << "immediate (D9)";
  EXPECT_EQ(set.next_probe(at_us(99), ~0U), kNoEv);
  EXPECT_EQ(set.next_probe(at_us(100), 0b10), kNoEv) << "its port is busy";
  EXPECT_EQ(set.next_probe(at_us(100), 0b01), 2);
  EXPECT_EQ(set.next_probe(at_us(100), ~0U), kNoEv);
  // Unanswered probes go on for ever: ASSUMED_BAD is not the end.
  for (int k = 1; k <= 1000; ++k) {
    EXPECT_EQ(set.next_probe_deadline(), at_us(100 + 50 * k));
    EXPECT_EQ(set.next_probe(at_us(100 + 50 * k), ~0U), 2);
  }
  set.on_probe_answer(2, EvMark::kNone, at_us(60000));
  EXPECT_TRUE(set.next_probe_deadline().is_never());
  EXPECT_EQ(set.counters().recovered, 1U);
}

TEST(EvStates, ProbeBackOffDoublesToItsMaximum) {  // D9
  EvSetConfig config;
  config.base_rtt = config.probe_interval = microseconds(10);
  config.probe_backoff_max = microseconds(60);
  EvSet set(table_of(4, 1), config, 1);
  set.on_loss(2, EvCause::kLoss, at_us(100), at_us(100));
  std::vector<std::int64_t> waits;
  Time last = at_us(100);
  EXPECT_EQ(set.next_probe(last, ~0U), 2);
  for (int k = 0; k < 5; ++k) {
    const Time due = set.next_probe_deadline();
    waits.push_back((due - last).ns / 1000);
    EXPECT_EQ(set.next_probe(due, ~0U), 2);
    last = due;
  }
  EXPECT_EQ(waits, (std::vector<std::int64_t>{10, 20, 40, 60, 60}));
}

TEST(EvStates, RepeatedProbesKeepOneBaseRttApart) {  // D9
  EvSetConfig config;
  config.base_rtt = microseconds(10);
  config.probe_interval = microseconds(10);
  config.probe_backoff_max = {};
  config.plane_rule = false;
  EvSet set(table_of(64, 4), config, 1);
  std::set<EvIndex> probed;
  for (EvIndex ev = 0; ev < 32; ++ev) set.on_loss(ev, EvCause::kLoss, at_us(100), at_us(100));
  for (EvIndex ev = set.next_probe(at_us(100), ~0U); ev != kNoEv; ev = set.next_probe(at_us(100), ~0U))
    probed.insert(ev);
  EXPECT_EQ(probed.size(), 32U) << "the immediate ones all go at once";
  probed.clear();
  int sent = 0;
  for (int us = 101; us <= 100 + 320; ++us)
    for (EvIndex ev = set.next_probe(at_us(us), ~0U); ev != kNoEv; ev = set.next_probe(at_us(us), ~0U)) {
      ++sent;
      probed.insert(ev);
    }
  EXPECT_EQ(sent, 32) << "one a base RTT";
  EXPECT_EQ(probed.size(), 32U) << "oldest first: each EV gets its turn";
}

TEST(EvStates, ARelapsingEvNeedsMoreAnswers) {  // D9
  EvSetConfig config;
  config.base_rtt = microseconds(10);
  EvSet set(table_of(4, 1), config, 1);
  Time now = at_us(1000);
  const auto answers_until_good = [&] {
    int n = 0;
    while (set.state(1) != EvState::kGood) {
      set.on_probe_answer(1, EvMark::kNone, now);
      ++n;
    }
    return n;
  };
  std::vector<int> needed;
  for (int k = 0; k < 6; ++k) {
    set.on_loss(1, EvCause::kLoss, now, now);
    needed.push_back(answers_until_good());
    now = now + microseconds(900);  // inside 100 base RTTs of the return
  }
  EXPECT_EQ(needed, (std::vector<int>{1, 2, 4, 8, 8, 8}));
  now = now + microseconds(5000);  // between 100 and 1000: as before
  set.on_loss(1, EvCause::kLoss, now, now);
  EXPECT_EQ(answers_until_good(), 8);
  now = now + microseconds(10001);
  set.on_loss(1, EvCause::kLoss, now, now);
  EXPECT_EQ(answers_until_good(), 1);
}

TEST(EvStates, ProbeIsNotScheduledOnAPortThatIsDown) {
  EvSet set(table_of(4, 2), {}, 1);
  set.on_loss(1, EvCause::kLoss, at_us(5), at_us(5));
  set.set_port_usable(1, false);
  EXPECT_TRUE(set.next_probe_deadline().is_never());
  EXPECT_EQ(set.next_probe(at_us(10), ~0U), kNoEv);
  set.set_port_usable(1, true);
  EXPECT_EQ(set.next_probe_deadline(), at_us(5));
  EXPECT_EQ(set.next_probe(at_us(10), ~0U), 1);
}

TEST(EvStates, EventsAreBoundedAndDropsAreCounted) {  // 5.6
  EvSetConfig config;
  config.event_capacity = 3;
  EvSet set(table_of(8, 1), config, 1);
  set.on_mark(0, EvMark::kSkipOnce, at_us(1));  // SKIP is GOOD to the API: no event
  for (EvIndex ev = 1; ev <= 5; ++ev) set.on_loss(ev, EvCause::kLoss, at_us(ev), at_us(ev));
  std::vector<EvSet::Event> out(2);
  std::uint64_t dropped = 0;
  EXPECT_EQ(set.poll_events(out, dropped), 2U);
  EXPECT_EQ(dropped, 2U);
  EXPECT_EQ(out[0].ev, 1);
  EXPECT_EQ(out[1].ev, 2);
  set.on_probe_answer(1, EvMark::kNone, at_us(9));
  EXPECT_EQ(set.poll_events(out, dropped), 2U);
  EXPECT_EQ(dropped, 0U);
  EXPECT_EQ(out[0].ev, 3);
  EXPECT_EQ(out[1].ev, 1);
  EXPECT_EQ(out[1].to, EvState::kGood);
  EXPECT_EQ(out[1].cause, EvCause::kProbeOk);
  EXPECT_EQ(set.poll_events(out, dropped), 0U);
}

TEST(EvStates, ConfigurationIsChecked) {
  EvSetConfig config;
  EXPECT_TRUE(config.check(1));
  config.ev_min_active = 9;
  auto r = config.check(8);
  ASSERT_FALSE(r);
  EXPECT_NE(r.error().message.find("ev_min_active is 9"), std::string::npos);
  config = {};
  config.base_rtt = {};
  EXPECT_FALSE(config.check(8));
  config = {};
  config.probe_interval = nanoseconds(-1);
  EXPECT_FALSE(config.check(8));
}

// D9. A relapse is a fall within 100 base RTTs of the return; at 100 it is none, and what was needed stays.
TEST(EvStates, ARelapseEndsAtAHundredBaseRtts) {
  const auto needed = [](Duration after) {
    EvSetConfig config;
    config.base_rtt = microseconds(10);
    EvSet set(table_of(4, 1), config, 1);
    set.on_loss(1, EvCause::kLoss, at_us(1000), at_us(1000));
    set.on_probe_answer(1, EvMark::kNone, at_us(1000));
    const Time falls = at_us(1000) + after;
    set.on_loss(1, EvCause::kLoss, falls, falls);
    int n = 0;
    for (; set.state(1) != EvState::kGood; ++n) set.on_probe_answer(1, EvMark::kNone, falls);
    return n;
  };
  EXPECT_EQ(needed(microseconds(990)), 2);
  EXPECT_EQ(needed(microseconds(1000) - nanoseconds(1)), 2);
  EXPECT_EQ(needed(microseconds(1000)), 1);
  EXPECT_EQ(needed(microseconds(1010)), 1);
}

// D9. A loss that was none is no first one.
TEST(EvStates, ASpuriousLossIsNotRemembered) {
  for (const bool arrived : {true, false}) {
    EvSetConfig config;
    config.trimming = false;
    config.base_rtt = microseconds(10);
    EvSet set(table_of(8, 2), config, 1);
    EXPECT_FALSE(set.on_loss(0, EvCause::kLoss, at_us(100), at_us(100)).bad);
    if (arrived) set.on_spurious(0, at_us(110));
    EXPECT_EQ(set.on_loss(0, EvCause::kLoss, at_us(120), at_us(120)).bad, !arrived);
  }
}

// C40. Two QPs with one profile: the values are shared, what either learns of them is not.
TEST(States, BelongToAQp) {
  const auto table = table_of(8, 2);
  EvSet a(table, {}, 1);
  EvSet b(table, {}, 1);
  EXPECT_EQ(&a.table(), &b.table());
  a.on_loss(kEv, EvCause::kLoss, at_us(10), at_us(20));
  a.on_mark(5, EvMark::kSkipOnce, at_us(20));
  a.set_state(6, EvState::kDenied, at_us(20));
  ASSERT_EQ(a.state(kEv), EvState::kAssumedBad);
  for (EvIndex ev = 0; ev < 8; ++ev) EXPECT_EQ(b.state(ev), EvState::kGood) << ev;
  EXPECT_EQ(b.next_probe(at_us(30), kAll), kNoEv);
  std::set<EvIndex> used;
  for (int i = 0; i < 32; ++i) used.insert(b.choose(at_us(30), kAll).ev);
  EXPECT_EQ(used.size(), 8U);
}

// Whatever was measured before, after forget() a set is as one that was just made, the denied EVs and the
// links apart.
TEST(EvStates, ForgetLeavesTheDeniedAndTheLinksOnly) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    EvSetConfig config;
    config.base_rtt = microseconds(10);
    config.rtt_reroute = seed % 2 == 0;
    config.active_evs = seed % 3 == 0 ? 12 : 0;
    EvSet set(table_of(24, 4), config, seed);
    std::set<EvIndex> denied;
    Time t = at_us(1000);
    for (int i = 0; i < 400; ++i) {
      t = t + microseconds(rng.between(1, 9));
      const auto ev = static_cast<EvIndex>(rng.below(24));
      switch (rng.below(7)) {
        case 0:
          set.on_loss(ev, EvCause::kLoss, t - microseconds(5), t);
          break;
        case 1:
          set.on_mark(ev, EvMark::kSkipOnce, t);
          break;
        case 2:
          set.on_delivered(ev, t - microseconds(10), t);
          break;
        case 3:
          set.on_rtt(ev, microseconds(rng.between(10, 90)), t);
          break;
        case 4:
          set.replace_reverse(static_cast<std::uint8_t>(rng.below(4)), t);
          break;
        case 5:
          set.set_peer_ports(static_cast<std::uint32_t>(rng.below(16)));
          break;
        default:
          set.choose(t, kAll);
          break;
      }
    }
    for (EvIndex ev = 0; ev < 3; ++ev) {
      set.set_state(ev, EvState::kDenied, t);
      denied.insert(ev);
    }
    set.set_port_usable(3, false);
    set.forget(t);
    EXPECT_TRUE(set.next_probe_deadline().is_never());
    EXPECT_EQ(set.silent_planes(), 0U);
    EXPECT_EQ(set.active(), config.active_evs != 0 ? 12U : 21U);
    for (std::uint8_t p = 0; p < 4; ++p) EXPECT_EQ(set.port_usable(p), p != 3);
    std::set<EvIndex> used;
    for (int i = 0; i < 200; ++i) used.insert(set.choose(t, kAll).ev);
    std::size_t in_rotation = 0;
    for (EvIndex ev = 0; ev < 24; ++ev) {
      EXPECT_EQ(set.state(ev), denied.count(ev) != 0 ? EvState::kDenied : EvState::kGood);
      EXPECT_EQ(set.proof(ev), Time{});
      const bool usable = set.listed(ev) && set.table()[ev].port != 3;
      in_rotation += usable ? 1 : 0;
      EXPECT_EQ(used.count(ev), usable ? 1U : 0U) << "EV " << ev;
    }
    EXPECT_EQ(used.size(), in_rotation);
  }
}

}  // namespace
}  // namespace mrc::path
