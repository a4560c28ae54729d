// SPDX-License-Identifier: BSD-3-Clause
// The choice at send time: D10, and what serves when nothing is usable (D9).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <vector>

#include "path/ev_set.h"
#include "tables.h"

namespace mrc::path {
namespace {

using wire::EvMark;

std::vector<EvIndex> choose_n(EvSet& set, std::size_t n, std::uint32_t ports = kAll) {
  std::vector<EvIndex> out;
  for (std::size_t i = 0; i < n; ++i) out.push_back(set.choose(at_us(1), ports).ev);
  return out;
}

TEST(Choice, PlanesTakeTurnsAndEachEvServesOncePerPass) {
  for (const auto& [evs, planes] : {std::pair{32, 4}, {128, 4}, {256, 8}, {4096, 4}, {12, 3}}) {
    EvSet set(table_of(static_cast<std::size_t>(evs), static_cast<std::size_t>(planes)), {}, 7);
    for (int pass = 0; pass < 3; ++pass) {
      std::vector<int> per_ev(static_cast<std::size_t>(evs));
      std::vector<int> per_plane(static_cast<std::size_t>(planes));
      for (int i = 0; i < evs; ++i) {
        const EvChoice c = set.choose(at_us(1), kAll);
        ASSERT_EQ(c.port, set.table()[c.ev].port);
        ++per_ev[c.ev];
        ++per_plane[c.port];
        const auto [lo, hi] = std::minmax_element(per_plane.begin(), per_plane.end());
        ASSERT_LE(*hi - *lo, 1) << "each plane within one packet of its share";
      }
      ASSERT_TRUE(std::all_of(per_ev.begin(), per_ev.end(), [](int n) { return n == 1; }));
    }
  }
}

TEST(Choice, OrderIsNewInEachPassAndForEachSeed) {
  EvSet a(table_of(64, 1), {}, 1);
  EvSet same(table_of(64, 1), {}, 1);
  EvSet other(table_of(64, 1), {}, 2);
  const auto first = choose_n(a, 64);
  EXPECT_EQ(choose_n(same, 64), first);
  EXPECT_NE(choose_n(other, 64), first);
  EXPECT_NE(choose_n(a, 64), first);
}

double chi_square(const double (&count)[8][8], double expected) {
  double chi2 = 0;
  for (const auto& row : count)
    for (const double n : row) chi2 += (n - expected) * (n - expected) / expected;
  return chi2;
}

// Each EV is equally likely at each place of a pass, and its place says nothing about the next pass:
// chi-square over 8 x 8 cells, 49 degrees of freedom, 0.1 % point; below 20 a pattern would be too even.
TEST(Choice, ReshuffleIsUniformAndForgetsTheLastPass) {
  constexpr int kPasses = 8000;
  EvSet set(table_of(8, 1), {}, 3);
  double ev_at_place[8][8] = {};
  double place_after_place[8][8] = {};
  std::array<std::size_t, 8> last{};
  for (int pass = 0; pass < kPasses; ++pass) {
    for (std::size_t place = 0; place < 8; ++place) {
      const EvIndex ev = set.choose(at_us(1), kAll).ev;
      ev_at_place[place][ev] += 1;
      if (pass > 0) place_after_place[last[ev]][place] += 1;
      last[ev] = place;
    }
  }
  for (const double chi2 :
       {chi_square(ev_at_place, kPasses / 8.0), chi_square(place_after_place, (kPasses - 1) / 8.0)}) {
    EXPECT_LT(chi2, 85.4);
    EXPECT_GT(chi2, 20.0);
  }
}

TEST(Choice, OneEvServesAlways) {
  EvSet set(table_of(1, 1), {}, 1);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(set.choose(at_us(i), kAll).ev, 0);
    set.on_mark(0, EvMark::kSkipOnce, at_us(i));
    EXPECT_EQ(set.choose(at_us(i), kAll).ev, 0) << "SKIP and nothing else: restored and taken";
    EXPECT_FALSE(set.on_loss(0, EvCause::kLoss, at_us(i), at_us(i)).bad) << "the floor keeps the last one";
    EXPECT_EQ(set.choose_for_retransmission(at_us(i), kAll, {.ev = 0, .port = 0}).ev, 0);
  }
  EXPECT_EQ(set.choose(at_us(9), 0).ev, kNoEv);
}

TEST(Choice, SkipCostsOneTurn) {  // D10, MRC 11.2.2
  EvSet set(table_of(8, 1), {}, 1);
  choose_n(set, 8);
  set.on_mark(5, EvMark::kSkipOnce, at_us(1));
  const auto pass = choose_n(set, 7);
  EXPECT_EQ(std::set<EvIndex>(pass.begin(), pass.end()).size(), 7U);
  // It is met in this pass, or by the next choice when it was to come last.
  EXPECT_EQ(std::count(pass.begin(), pass.end(), 5), 0);
  choose_n(set, 1);
  EXPECT_EQ(set.state(5), EvState::kGood);
  EXPECT_EQ(set.counters().skip_restored, 1U);
}

TEST(Choice, OneCallRestoresAtMostOneSkip) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    EvSet set(table_of(16, 1), {}, seed);
    for (EvIndex ev = 0; ev < 16; ++ev)
      if (ev % 4 != 0) set.on_mark(ev, EvMark::kSkipOnce, at_us(1));
    for (int i = 0; i < 12; ++i) {
      const auto before = set.counters().skip_restored;
      const EvIndex ev = set.choose(at_us(1), kAll).ev;
      ASSERT_LE(set.counters().skip_restored - before, 1U);
      ASSERT_EQ(set.state(ev), EvState::kGood);
    }
  }
}

TEST(Choice, APassWithoutGoodTakesTheRestoredOne) {
  EvSet set(table_of(8, 2), {}, 1);
  for (EvIndex ev = 0; ev < 8; ++ev) set.on_mark(ev, EvMark::kSkipOnce, at_us(1));
  const EvChoice c = set.choose(at_us(2), 0b01);
  ASSERT_NE(c.ev, kNoEv);
  EXPECT_EQ(c.port, 0);
  EXPECT_FALSE(c.fallback);
  EXPECT_EQ(set.state(c.ev), EvState::kGood);
  int skips = 0;
  for (EvIndex ev = 0; ev < 8; ++ev) skips += set.state(ev) == EvState::kSkip ? 1 : 0;
  EXPECT_EQ(skips, 7);
}

TEST(Choice, BusyPortsKeepPlaceAndSkip) {
  EvSet set(table_of(16, 2), {}, 5);
  for (EvIndex ev = 1; ev < 16; ev += 2) set.on_mark(ev, EvMark::kSkipOnce, at_us(1));
  set.set_state(1, EvState::kGood, at_us(1));
  const auto before = choose_n(set, 3, 0b11);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(set.choose(at_us(2), 0b01).port, 0);
  int skips = 0;
  for (EvIndex ev = 1; ev < 16; ev += 2) skips += set.state(ev) == EvState::kSkip ? 1 : 0;
  EXPECT_GE(skips, 4) << "a busy plane's SKIPs are not restored";
  // The plane that was busy goes on where it stood: no EV twice within its pass.
  EvSet busy(table_of(16, 2), {}, 6);
  std::multiset<EvIndex> seen;
  for (int i = 0; i < 4; ++i) seen.insert(busy.choose(at_us(1), 0b10).ev);
  for (int i = 0; i < 9; ++i) busy.choose(at_us(1), 0b01);
  for (int i = 0; i < 4; ++i) seen.insert(busy.choose(at_us(1), 0b10).ev);
  EXPECT_EQ(std::set<EvIndex>(seen.begin(), seen.end()).size(), 8U);
}

TEST(Choice, NothingOnFreePortsMeansWaitNotFallback) {
  EvSet set(table_of(4, 2), {}, 1);
  set.on_loss(0, EvCause::kLoss, at_us(1), at_us(1));
  set.on_loss(2, EvCause::kLoss, at_us(1), at_us(1));
  EXPECT_EQ(set.choose(at_us(2), 0b01).ev, kNoEv) << "plane 1 is busy, not gone";
  EXPECT_TRUE(set.next_fallback().is_never());
  EXPECT_EQ(set.counters().fallback_picks, 0U);
  EXPECT_EQ(set.choose(at_us(2), 0b11).port, 1);
}

TEST(Choice, PortDownAndUp) {
  EvSet set(table_of(8, 4), {}, 1);
  set.set_port_usable(2, false);
  std::map<int, int> per_plane;
  for (int i = 0; i < 30; ++i) ++per_plane[set.choose(at_us(1), kAll).port];
  EXPECT_EQ(per_plane, (std::map<int, int>{{0, 10}, {1, 10}, {3, 10}}));
  EXPECT_EQ(set.active(), 8U) << "a down port is not a verdict on its EVs (D9)";
  set.set_port_usable(2, true);
  per_plane.clear();
  for (int i = 0; i < 40; ++i) ++per_plane[set.choose(at_us(1), kAll).port];
  EXPECT_EQ(per_plane[2], 10);
}

TEST(Choice, FallbackOldestVerdictFirstOnePerBaseRtt) {  // D9
  EvSetConfig config;
  config.ev_min_active = 0;
  config.base_rtt = microseconds(10);
  EvSet set(table_of(4, 2), config, 1);
  set.set_state(1, EvState::kDenied, at_us(1));
  set.on_loss(2, EvCause::kLoss, at_us(20), at_us(20));
  set.on_loss(0, EvCause::kLoss, at_us(30), at_us(30));
  set.on_loss(3, EvCause::kLoss, at_us(40), at_us(40));
  std::vector<EvIndex> served;
  for (int us = 50; us < 110; ++us) {
    const EvChoice c = set.choose(at_us(us), kAll);
    if (c.ev == kNoEv) {
      EXPECT_EQ(set.next_fallback(), at_us(us / 10 * 10 + 10));
      continue;
    }
    EXPECT_TRUE(c.fallback);
    EXPECT_EQ(us % 10, 0);
    served.push_back(c.ev);
  }
  EXPECT_EQ(served, (std::vector<EvIndex>{2, 0, 3, 2, 0, 3}));
  EXPECT_EQ(set.counters().fallback_picks, 6U);
  EXPECT_EQ(set.state(2), EvState::kAssumedBad) << "serving is no recovery";
  for (const EvIndex ev : std::vector<EvIndex>{0, 2, 3}) set.set_state(ev, EvState::kDenied, at_us(200));
  EXPECT_EQ(set.choose(at_us(300), kAll).ev, kNoEv) << "DENIED never";
  EXPECT_TRUE(set.next_fallback().is_never());
}

TEST(Retransmission, AnotherPlaneThenTheNewestProof) {  // D10
  EvSet set(table_of(8, 2), {}, 1);
  for (EvIndex ev = 0; ev < 8; ++ev) set.on_delivered(ev, at_us(10 + ev), at_us(10 + ev));
  EXPECT_EQ(set.choose_for_retransmission(at_us(50), kAll, {.ev = 7, .port = 1}).ev, 6);
  EXPECT_EQ(set.choose_for_retransmission(at_us(50), kAll, {.ev = 6, .port = 0}).ev, 7);
  EXPECT_EQ(set.choose_for_retransmission(at_us(50), 0b10, {.ev = 7, .port = 1}).ev, 5)
      << "only its own plane is free: another EV there";
  set.on_delivered(3, at_us(5), at_us(5));
  EXPECT_EQ(set.proof(3), at_us(13)) << "an older proof changes nothing";
  set.on_mark(6, EvMark::kSkipOnce, at_us(50));
  EXPECT_EQ(set.choose_for_retransmission(at_us(50), kAll, {.ev = 7, .port = 1}).ev, 4) << "GOOD before SKIP";
}

TEST(Retransmission, NeverTheLostEvWhileAnotherIsUsable) {
  EvSetConfig config;
  EvSet set(table_of(4, 2), config, 1);
  for (const EvIndex ev : std::vector<EvIndex>{0, 1, 2}) set.set_state(ev, EvState::kDenied, at_us(1));
  EXPECT_EQ(set.choose_for_retransmission(at_us(2), kAll, {.ev = 3, .port = 1}).ev, 3)
      << "the last one serves";
  set.set_state(0, EvState::kGood, at_us(2));
  EXPECT_EQ(set.choose_for_retransmission(at_us(3), kAll, {.ev = 3, .port = 1}).ev, 0);
  EXPECT_EQ(set.choose_for_retransmission(at_us(3), 0b10, {.ev = 3, .port = 1}).ev, kNoEv)
      << "EV 0 only waits for its port";
  set.on_mark(0, EvMark::kSkipOnce, at_us(4));
  EXPECT_EQ(set.choose_for_retransmission(at_us(5), kAll, {.ev = 3, .port = 1}).ev, 0) << "SKIP is usable";
  EXPECT_EQ(set.state(0), EvState::kGood);
  EXPECT_NE(set.choose_for_retransmission(at_us(5), kAll, {}).ev, kNoEv) << "nothing to avoid: any";
}

TEST(Control, NewestProofOnTheWantedPlane) {  // C30, D19
  EvSet set(table_of(8, 2), {}, 1);
  const EvChoice any = set.choose_for_control(kAll, 1);
  EXPECT_EQ(any.port, 1);
  set.on_delivered(3, at_us(10), at_us(10));
  set.on_delivered(5, at_us(9), at_us(9));
  set.on_delivered(2, at_us(50), at_us(50));
  EXPECT_EQ(set.choose_for_control(kAll, 1).ev, 3);
  EXPECT_EQ(set.choose_for_control(0b01, 1).ev, 2) << "its plane is busy: the next one";
  set.set_port_usable(1, false);
  EXPECT_EQ(set.choose_for_control(kAll, 1).ev, 2);
  set.set_port_usable(1, true);
  set.on_loss(3, EvCause::kLoss, at_us(60), at_us(60));
  EXPECT_EQ(set.choose_for_control(kAll, 1).ev, 5);
  EXPECT_EQ(set.choose_for_control(0, 1).ev, kNoEv);
}

// D19. Nobody answers over EV 1, EV 3 takes over and is condemned: EV 5 is next, not EV 1 again.
TEST(Choice, AReverseEvThatFailedIsNotTakenUpAgainBeforeTheOthers) {
  EvSet set(table_of(8, 2), {}, 1);
  set.on_delivered(1, at_us(1), at_us(2));
  ASSERT_EQ(set.choose_for_control(kAll, 1).ev, 1);
  set.replace_reverse(1, at_us(10));
  ASSERT_EQ(set.choose_for_control(kAll, 1).ev, 3);
  ASSERT_TRUE(set.on_loss(3, EvCause::kLoss, at_us(11), at_us(12)).bad);
  EXPECT_EQ(set.choose_for_control(kAll, 1).ev, 5);
}

TEST(Control, AnswersGoOutEvenWhenAllEvsAreInDoubt) {
  EvSetConfig config;
  config.ev_min_active = 0;
  EvSet set(table_of(2, 2), config, 1);
  set.on_loss(0, EvCause::kLoss, at_us(1), at_us(1));
  set.on_loss(1, EvCause::kLoss, at_us(1), at_us(1));
  const EvChoice c = set.choose_for_control(kAll, 1);
  EXPECT_EQ(c.ev, 1);
  EXPECT_TRUE(c.fallback);
  set.set_state(0, EvState::kDenied, at_us(2));
  set.set_state(1, EvState::kDenied, at_us(2));
  EXPECT_EQ(set.choose_for_control(kAll, 1).ev, kNoEv);
}

TEST(Control, DoesNotMoveTheDataCursor) {
  EvSet a(table_of(32, 4), {}, 9);
  EvSet b(table_of(32, 4), {}, 9);
  for (int i = 0; i < 100; ++i) {
    (void)a.choose_for_control(kAll, static_cast<std::uint8_t>(i % 4));
    ASSERT_EQ(a.choose(at_us(i), kAll).ev, b.choose(at_us(i), kAll).ev);
  }
}

}  // namespace
}  // namespace mrc::path
