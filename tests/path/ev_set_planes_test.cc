// SPDX-License-Identifier: BSD-3-Clause
// Planes in and out of service (D9): silence, the local link, the peer's report; what serves when nothing is
// usable; the way back.
#include <gtest/gtest.h>

#include <array>
#include <set>
#include <vector>

#include "path/ev_set.h"
#include "tables.h"

namespace mrc::path {
namespace {

using wire::EvMark;

/// 16 EVs on 4 planes: EV i on plane i % 4. Base RTT 10 us.
EvSet four_planes(EvSetConfig config = {}) {
  return EvSet(table_of(16, 4), config, 7);
}
/// EVs 1, 5 and 9 of plane 1 lose packets that left at 100, 104 and 108 us.
LossVerdict silence_plane_1(EvSet& set) {
  LossVerdict v;
  for (EvIndex i = 0; i < 3; ++i)
    v = set.on_loss(static_cast<EvIndex>(1 + 4 * i), EvCause::kLoss, at_us(100 + 4 * i), at_us(120));
  return v;
}

TEST(Planes, ThreeSilentEvsTakeTheirPlaneDown) {  // D9
  EvSet set = four_planes();
  EXPECT_TRUE(set.on_loss(1, EvCause::kLoss, at_us(100), at_us(120)).plane_down_since.is_never());
  EXPECT_TRUE(set.on_loss(5, EvCause::kLoss, at_us(104), at_us(120)).plane_down_since.is_never());
  EXPECT_EQ(set.silent_planes(), 0U);
  EXPECT_EQ(set.on_loss(9, EvCause::kLoss, at_us(108), at_us(120)).plane_down_since, at_us(100));
  EXPECT_EQ(set.silent_planes(), 0b10U);
  EXPECT_FALSE(set.port_usable(1));
  EXPECT_EQ(set.counters().planes_down, 1U);
  EXPECT_EQ(set.state(13), EvState::kGood) << "no verdict on the others";
  for (int i = 0; i < 300; ++i) EXPECT_NE(set.choose(at_us(130), kAll).port, 1);
}

TEST(Planes, LossesFarApartAreNoSilence) {  // D9: within 2 base RTTs
  EvSet set = four_planes();
  set.on_loss(1, EvCause::kLoss, at_us(100), at_us(150));
  set.on_loss(5, EvCause::kLoss, at_us(110), at_us(150));
  EXPECT_TRUE(set.on_loss(9, EvCause::kLoss, at_us(121), at_us(150)).plane_down_since.is_never());
  EXPECT_EQ(set.silent_planes(), 0U);
  // The newest three count: 110, 121, 130 lie within 20 us.
  EXPECT_EQ(set.on_loss(13, EvCause::kLoss, at_us(130), at_us(150)).plane_down_since, at_us(110));
}

TEST(Planes, SomethingDeliveredLaterKeepsThePlaneUp) {  // D9
  EvSet set = four_planes();
  set.on_delivered(13, at_us(100), at_us(110));
  EXPECT_TRUE(silence_plane_1(set).plane_down_since.is_never()) << "what left with the first loss arrived";
  EvSet other = four_planes();
  other.on_delivered(13, at_us(99), at_us(110));
  EXPECT_EQ(silence_plane_1(other).plane_down_since, at_us(100));
}

TEST(Planes, TheLastUsablePlaneStays) {  // D9
  EvSet set = four_planes();
  for (const std::uint8_t p : std::array<std::uint8_t, 3>{0, 2, 3}) set.set_port_usable(p, false);
  EXPECT_TRUE(silence_plane_1(set).plane_down_since.is_never());
  EXPECT_EQ(set.choose(at_us(130), kAll).ev, 13);
}

TEST(Planes, TheFloorDoesNotKeepAPlaneUp) {  // D9: a plane's state is outside ev_min_active
  EvSetConfig config;
  config.ev_min_active = 16;
  EvSet set = four_planes(config);
  EXPECT_EQ(silence_plane_1(set).plane_down_since, at_us(100));
  EXPECT_EQ(set.counters().floor_hits, 3U);
  EXPECT_EQ(set.active(), 16U);
  for (int i = 0; i < 300; ++i) EXPECT_NE(set.choose(at_us(130), kAll).port, 1);
}

TEST(Planes, TheRuleCanBeSwitchedOff) {
  EvSetConfig config;
  config.plane_rule = false;
  EvSet set = four_planes(config);
  EXPECT_TRUE(silence_plane_1(set).plane_down_since.is_never());
}

TEST(Planes, OneProbeAtATimeOnRotatingEvs) {  // D9
  EvSetConfig config;
  config.probe_backoff_max = microseconds(100);
  EvSet set = four_planes(config);
  set.set_pace(microseconds(10), microseconds(25));
  silence_plane_1(set);
  std::vector<EvIndex> probed;
  std::vector<std::int64_t> at;
  for (int us = 120; us < 420; ++us)
    for (EvIndex ev = set.next_probe(at_us(us), kAll); ev != kNoEv; ev = set.next_probe(at_us(us), kAll)) {
      probed.push_back(ev);
      at.push_back(us - 120);
    }
  // An answer's time, then 2, 4, 8 base RTTs, at most the configured maximum.
  EXPECT_EQ(at, (std::vector<std::int64_t>{0, 25, 45, 85, 165, 265}));
  EXPECT_EQ(probed, (std::vector<EvIndex>{9, 13, 1, 5, 9, 13}));
}

// Most EVs of a plane die and the rest has no turn meanwhile: what delivered before is asked first, and every
// other time, so that neither a living one nor a return of the others is missed.
TEST(Planes, EveryOtherProbeGoesToAnEvThatDelivered) {  // D9
  EvSetConfig config;
  config.probe_backoff_max = microseconds(20);
  EvSet set(table_of(32, 4), config, 7);
  for (const EvIndex ev : std::array<EvIndex, 3>{5, 17, 25}) set.on_delivered(ev, at_us(50 + ev), at_us(90));
  silence_plane_1(set);
  ASSERT_EQ(set.silent_planes(), 0b10U);
  std::vector<EvIndex> probed;
  for (int us = 120; us < 280; ++us)
    for (EvIndex ev = set.next_probe(at_us(us), kAll); ev != kNoEv; ev = set.next_probe(at_us(us), kAll))
      probed.push_back(ev);
  // 25 delivered last; 5 has, but is condemned. The others in table order from the newest verdict on.
  EXPECT_EQ(probed, (std::vector<EvIndex>{25, 9, 17, 13, 25, 17, 17, 21}));
}

TEST(Planes, TheFirstAnswerBringsThePlaneBackAndTheRestIsProbedInTurn) {  // D9
  EvSet set = four_planes();
  silence_plane_1(set);
  ASSERT_EQ(set.next_probe(at_us(120), kAll), 9);
  set.on_delivered(9, at_us(120), at_us(130));
  set.on_probe_answer(9, EvMark::kNone, at_us(130));
  EXPECT_EQ(set.silent_planes(), 0U);
  EXPECT_EQ(set.counters().planes_up, 1U);
  EXPECT_EQ(set.state(9), EvState::kGood);
  EXPECT_EQ(set.state(1), EvState::kAssumedBad);
  std::vector<std::int64_t> at;
  std::set<EvIndex> probed;
  for (int us = 130; us < 145; ++us)
    for (EvIndex ev = set.next_probe(at_us(us), kAll); ev != kNoEv; ev = set.next_probe(at_us(us), kAll)) {
      probed.insert(ev);
      at.push_back(us);
    }
  EXPECT_EQ(probed, (std::set<EvIndex>{1, 5}));
  EXPECT_EQ(at, (std::vector<std::int64_t>{130, 140})) << "one a base RTT";
}

TEST(Planes, WhatLeftBeforeTheFirstLossProvesNothing) {
  EvSet set = four_planes();
  silence_plane_1(set);
  set.on_delivered(13, at_us(99), at_us(130));
  EXPECT_EQ(set.silent_planes(), 0b10U);
  set.on_delivered(13, at_us(101), at_us(131));
  EXPECT_EQ(set.silent_planes(), 0U) << "a verdict in error is taken back";
}

TEST(Planes, ADownPortIsNotProbed) {
  EvSet set = four_planes();
  silence_plane_1(set);
  set.set_port_usable(1, false);
  EXPECT_TRUE(set.next_probe_deadline().is_never());
  EXPECT_EQ(set.next_probe(at_us(200), kAll), kNoEv);
  set.set_port_usable(1, true);
  EXPECT_EQ(set.silent_planes(), 0b10U) << "a link here says nothing about the way";
  EXPECT_NE(set.next_probe(at_us(200), kAll), kNoEv);
}

TEST(Planes, ThePeersReportTakesPlanesOutWithoutProbes) {  // D9, D19
  EvSet set = four_planes();
  EXPECT_EQ(set.set_peer_ports(0b1011), 0b100U);
  for (int i = 0; i < 300; ++i) EXPECT_NE(set.choose(at_us(1), kAll).port, 2);
  EXPECT_TRUE(set.next_probe_deadline().is_never());
  EXPECT_EQ(set.active(), 16U);
  EXPECT_EQ(set.set_peer_ports(0b1111), 0U);
  std::set<int> ports;
  for (int i = 0; i < 8; ++i) ports.insert(set.choose(at_us(1), kAll).port);
  EXPECT_EQ(ports.size(), 4U);
  // A peer that speaks to us is reachable somehow: nothing left is not believed.
  EXPECT_EQ(set.set_peer_ports(0), 0U);
  EXPECT_NE(set.choose(at_us(1), kAll).ev, kNoEv);
}

TEST(Planes, LastResorts) {  // D9: GOOD on a silent plane, then the condemned, then what the peer calls down
  EvSetConfig config;
  config.ev_min_active = 0;
  EvSet set(table_of(12, 3), config, 7);
  for (const EvIndex ev : std::array<EvIndex, 3>{1, 4, 7})
    set.on_loss(ev, EvCause::kLoss, at_us(100), at_us(110));
  ASSERT_EQ(set.silent_planes(), 0b10U);
  set.set_peer_ports(0b011);
  for (const EvIndex ev : std::array<EvIndex, 4>{0, 3, 6, 9})
    set.on_loss(ev, EvCause::kLoss, at_us(111 + 10 * ev), at_us(200 + ev));
  ASSERT_EQ(set.silent_planes(), 0b10U) << "plane 0 was the last";
  const auto pick = [&](int us) { return set.choose(at_us(us), kAll); };
  const EvChoice first = pick(300);
  EXPECT_EQ(first.ev, 10) << "GOOD, of the silent plane";
  EXPECT_TRUE(first.fallback);
  EXPECT_EQ(pick(309).ev, kNoEv) << "one packet a base RTT";
  EXPECT_EQ(pick(310).ev, 10);
  set.on_loss(10, EvCause::kLoss, at_us(310), at_us(320));
  EXPECT_EQ(pick(320).ev, 1) << "the oldest verdict";
  for (const EvIndex ev : std::array<EvIndex, 8>{1, 4, 7, 10, 0, 3, 6, 9})
    set.set_state(ev, EvState::kDenied, at_us(321));
  EXPECT_EQ(pick(330).port, 2) << "what the peer calls down, at last";
  for (const EvIndex ev : std::array<EvIndex, 4>{2, 5, 8, 11})
    set.set_state(ev, EvState::kDenied, at_us(331));
  EXPECT_EQ(pick(400).ev, kNoEv) << "DENIED never";
  EXPECT_TRUE(set.next_fallback().is_never());
}

TEST(Planes, RetransmissionAndControlAvoidASilentPlane) {
  EvSet set = four_planes();
  silence_plane_1(set);
  for (int i = 0; i < 100; ++i) {
    EXPECT_NE(set.choose_for_retransmission(at_us(130), kAll, {.ev = 0, .port = 0}).port, 1);
  }
  EXPECT_NE(set.choose_for_control(kAll, 1).port, 1);
  EXPECT_EQ(set.choose_for_control(0b10, 1).port, 1) << "an answer is worth trying when nothing else is free";
}

// D9. The EV of the probe that brings the plane back is GOOD with that one answer, however often it relapsed.
TEST(Planes, TheAnswerThatBringsThePlaneBackIsEnoughForItsEv) {
  EvSet set = four_planes();
  set.on_loss(9, EvCause::kLoss, at_us(10), at_us(20));
  set.on_probe_answer(9, EvMark::kNone, at_us(30));
  ASSERT_EQ(set.state(9), EvState::kGood);
  silence_plane_1(set);  // a relapse of 9: alone it would need two answers
  ASSERT_EQ(set.silent_planes(), 0b10U);
  ASSERT_EQ(set.next_probe(at_us(120), kAll), 9);
  set.on_delivered(9, at_us(120), at_us(130));
  set.on_probe_answer(9, EvMark::kNone, at_us(130));
  EXPECT_EQ(set.state(9), EvState::kGood);
  EXPECT_EQ(set.silent_planes(), 0U);
}

}  // namespace
}  // namespace mrc::path
