// SPDX-License-Identifier: BSD-3-Clause
// The active set and its backups (D9), and rerouting by RTT.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>
#include <vector>

#include "path/ev_set.h"
#include "tables.h"

namespace mrc::path {
namespace {

using wire::EvMark;

/// 32 EVs on 4 planes, 16 of them in rotation.
EvSet half_active() {
  EvSetConfig config;
  config.active_evs = 16;
  return EvSet(table_of(32, 4), config, 7);
}
std::set<EvIndex> in_rotation(EvSet& set, int picks = 200) {
  std::set<EvIndex> evs;
  for (int i = 0; i < picks; ++i) evs.insert(set.choose(at_us(1), kAll).ev);
  return evs;
}
std::map<int, int> per_plane(const EvSet& set, const std::set<EvIndex>& evs) {
  std::map<int, int> n;
  for (const EvIndex ev : evs) ++n[set.table()[ev].port];
  return n;
}

TEST(ActiveSet, SamePlaceCountOnEveryPlane) {
  EvSet set = half_active();
  const auto evs = in_rotation(set);
  EXPECT_EQ(evs.size(), 16U);
  EXPECT_EQ(set.active(), 16U);
  EXPECT_EQ(per_plane(set, evs), (std::map<int, int>{{0, 4}, {1, 4}, {2, 4}, {3, 4}}));
}

TEST(ActiveSet, ACondemnedEvIsReplacedByTheMostRecentlyProvenBackupOfItsPlane) {  // D9
  EvSet set = half_active();
  const auto before = in_rotation(set);
  const EvIndex lost = *before.begin();
  const std::uint8_t port = set.table()[lost].port;
  std::vector<EvIndex> backups;
  for (EvIndex ev = 0; ev < 32; ++ev)
    if (set.table()[ev].port == port && !before.contains(ev)) backups.push_back(ev);
  ASSERT_EQ(backups.size(), 4U);
  set.on_delivered(backups[1], at_us(50), at_us(60));
  set.on_delivered(backups[2], at_us(70), at_us(80));
  EXPECT_TRUE(set.on_loss(lost, EvCause::kLoss, at_us(90), at_us(100)).bad);
  EXPECT_EQ(set.counters().replaced, 1U);
  EXPECT_TRUE(set.listed(backups[2]));
  EXPECT_EQ(set.active(), 16U);
  // It returns as a backup and stays one.
  set.on_probe_answer(lost, EvMark::kNone, at_us(120));
  EXPECT_EQ(set.state(lost), EvState::kGood);
  EXPECT_FALSE(set.listed(lost));
  EXPECT_FALSE(in_rotation(set).contains(lost));
  EXPECT_EQ(set.active(), 16U);
}

TEST(ActiveSet, WithoutBackupsTheSetShrinksAndFillsAgain) {
  EvSet set = half_active();
  for (EvIndex ev = 0; ev < 32; ev += 4)
    if (!set.listed(ev)) set.set_state(ev, EvState::kDenied, at_us(1));
  EvIndex lost = 0;
  while (!set.listed(lost)) lost = static_cast<EvIndex>(lost + 4);
  set.on_loss(lost, EvCause::kLoss, at_us(10), at_us(20));
  EXPECT_EQ(set.active(), 15U);
  set.on_probe_answer(lost, EvMark::kNone, at_us(30));
  EXPECT_TRUE(set.listed(lost));
  EXPECT_EQ(set.active(), 16U);
}

// What the same-plane rule is compared with: planes end up with different numbers of EVs, and of packets.
TEST(ActiveSet, BackupsOfAnyPlaneShiftTheLoad) {
  for (const bool any : {false, true}) {
    EvSetConfig config;
    config.active_evs = 64;
    config.share_by_ev = true;
    config.any_plane_backup = any;
    config.plane_rule = false;
    EvSet set(table_of(256, 4), config, 7);
    for (EvIndex ev = 0; ev < 256; ev += 4)  // three quarters of plane 0 are dead
      if (ev % 16 != 0 && set.listed(ev)) set.on_loss(ev, EvCause::kLoss, at_us(10), at_us(20));
    for (int more = 0; more < 64; ++more)  // and so are the backups that came instead
      for (EvIndex ev = 0; ev < 256; ev += 4)
        if (ev % 16 != 0 && set.listed(ev)) set.on_loss(ev, EvCause::kLoss, at_us(30), at_us(40));
    EXPECT_EQ(set.active(), 64U);
    std::map<int, int> packets;
    for (int i = 0; i < 64000; ++i) ++packets[set.choose(at_us(50), kAll).port];
    if (!any) {
      for (int port = 0; port < 4; ++port) EXPECT_NEAR(packets[port], 16000, 500);
      continue;
    }
    int evs = 0;
    for (EvIndex ev = 0; ev < 256; ev += 4) evs += set.listed(ev) ? 1 : 0;
    EXPECT_LT(evs, 12);
    EXPECT_NEAR(packets[0], evs * 1000, 500) << "every EV has the same share";
    for (int i = 0; i < 100; ++i) {  // and waits for its port
      const EvChoice first = set.choose(at_us(55), 0b0010);
      if (first.ev == kNoEv) {
        const EvChoice others = set.choose(at_us(55), 0b1101);
        EXPECT_TRUE(others.ev != kNoEv && others.port != 1);
      } else {
        EXPECT_EQ(first.port, 1);
      }
    }
    // One returns: there is no place free, on whatever plane.
    set.on_probe_answer(4, EvMark::kNone, at_us(60));
    EXPECT_EQ(set.active(), 64U);
  }
}

TEST(ActiveSet, ABackupServesInsteadOfTheFloor) {
  EvSetConfig config;
  config.active_evs = 8;
  config.ev_min_active = 8;
  EvSet set(table_of(16, 4), config, 3);
  EvIndex lost = 0;
  while (!set.listed(lost)) ++lost;
  EXPECT_TRUE(set.on_loss(lost, EvCause::kLoss, at_us(1), at_us(2)).bad);
  EXPECT_EQ(set.active(), 8U);
  EXPECT_EQ(set.counters().floor_hits, 0U);
}

TEST(ActiveSet, MoreThanTheProfileIsRefused) {
  EvSetConfig config;
  config.active_evs = 9;
  EXPECT_FALSE(config.check(8));
  config.active_evs = 8;
  EXPECT_TRUE(config.check(8));
}

TEST(ActiveSet, IsNeverSmallerThanTheFloor) {
  EvSetConfig config;
  config.active_evs = 4;
  config.ev_min_active = 5;
  EXPECT_FALSE(config.check(8));
  config.ev_min_active = 4;
  ASSERT_TRUE(config.check(8));
  const EvSet set(table_of(8, 3), config, 1);
  EXPECT_EQ(set.active(), 6U);  // two of each plane
}

TEST(ActiveSet, AMarkOnABackupIsNoTurnToMiss) {
  EvSet set = half_active();
  for (EvIndex ev = 0; ev < 32; ++ev)
    if (!set.listed(ev)) set.on_mark(ev, EvMark::kSkipOnce, at_us(1));
  for (EvIndex ev = 0; ev < 32; ++ev) EXPECT_EQ(set.state(ev), EvState::kGood);
}

EvSet rerouting(bool on = true) {
  EvSetConfig config;
  config.rtt_reroute = on;
  return EvSet(table_of(32, 4), config, 7);
}
/// One sample of every EV; EV `slow` has `extra` on top.
void round(EvSet& set, std::int64_t us, EvIndex slow, Duration extra) {
  for (EvIndex ev = 0; ev < 32; ++ev)
    set.on_rtt(ev, microseconds(10) + nanoseconds(ev * 20) + (ev == slow ? extra : Duration{}), at_us(us));
}

TEST(RttRerouting, AnEvThatStandsOutRests) {
  EvSet set = rerouting();
  for (int i = 0; i < 8; ++i) round(set, 10 * i, 5, microseconds(20));
  EXPECT_FALSE(set.listed(5));
  EXPECT_EQ(set.counters().passed_over, 1U);
  EXPECT_EQ(set.state(5), EvState::kGood) << "no verdict";
  EXPECT_EQ(set.active(), 32U);
  EXPECT_FALSE(in_rotation(set).contains(5));
  EXPECT_EQ(in_rotation(set).size(), 31U);
}

TEST(RttRerouting, OffByDefaultAndHarmlessAmongEquals) {
  EvSet off = rerouting(false);
  for (int i = 0; i < 20; ++i) round(off, 10 * i, 5, microseconds(50));
  EXPECT_EQ(off.counters().passed_over, 0U);
  EvSet set = rerouting();
  for (int i = 0; i < 1000; ++i) round(set, 10 * i, 5, microseconds(2));
  EXPECT_EQ(set.counters().passed_over, 0U) << "a fifth more is no reason";
}

TEST(RttRerouting, ComesBackAndRestsLongerWhenItRelapses) {  // hysteresis
  EvSet set = rerouting();
  std::vector<std::int64_t> rests;
  std::int64_t began = 0;
  bool was = true;
  for (std::int64_t us = 0; us < 60'000; us += 10) {
    for (EvIndex ev = 0; ev < 32; ++ev)
      if (ev == 0 || set.listed(ev)) set.on_rtt(ev, microseconds(ev == 5 ? 40 : 10), at_us(us));
    const bool now = set.listed(5);
    if (was && !now) began = us;
    if (!was && now) rests.push_back((us - began) / 10);
    was = now;
  }
  ASSERT_GE(rests.size(), 3U);
  EXPECT_EQ(rests[0], 64);
  EXPECT_EQ(rests[1], 128);
  EXPECT_EQ(rests[2], 256);
}

TEST(RttRerouting, HalfOfAPlaneStaysInRotation) {
  EvSet set = rerouting();
  // Five of the eight EVs of plane 0 are slow: the three others would carry everything.
  for (int i = 0; i < 50; ++i)
    for (EvIndex ev = 0; ev < 32; ++ev)
      set.on_rtt(ev, microseconds(ev % 4 == 0 && ev < 20 ? 100 + 40 * ev : 10), at_us(10 * i));
  int listed = 0;
  for (EvIndex ev = 0; ev < 32; ev += 4) listed += set.listed(ev) ? 1 : 0;
  EXPECT_GE(listed, 4);
}

TEST(RttRerouting, ARestingEvThatIsCondemnedComesBackAsUsual) {
  EvSet set = rerouting();
  for (int i = 0; i < 8; ++i) round(set, 10 * i, 5, microseconds(20));
  ASSERT_FALSE(set.listed(5));
  set.on_loss(5, EvCause::kLoss, at_us(90), at_us(100));
  EXPECT_EQ(set.active(), 31U);
  set.on_probe_answer(5, EvMark::kNone, at_us(110));
  EXPECT_TRUE(set.listed(5));
  EXPECT_EQ(set.active(), 32U);
}

}  // namespace
}  // namespace mrc::path
