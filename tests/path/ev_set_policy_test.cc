// SPDX-License-Identifier: BSD-3-Clause
// The selectors that MRC's own is compared with, inside the EV set.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>

#include "path/ev_set.h"

namespace mrc::path {
namespace {

std::shared_ptr<const EvTable> table(std::size_t n, std::size_t planes) {
  std::vector<EvValue> values(n);
  std::vector<std::uint8_t> ports(n);
  for (std::size_t i = 0; i < n; ++i) {
    values[i][1] = static_cast<std::uint8_t>(i);
    ports[i] = static_cast<std::uint8_t>(i % planes);
  }
  return std::make_shared<EvTable>(*EvTable::create(EvFormat::kUdp, EvOrder::kB, true, values, ports));
}

EvSet make(Selector selector, std::size_t n = 16, std::size_t planes = 2) {
  EvSetConfig config;
  config.selector = selector;
  return {table(n, planes), config, 7};
}

TEST(EvSetPolicy, EveryOneServesItsPlanesInTurnAndNeverAnotherPlanesEv) {
  for (const Selector s :
       {Selector::kOblivious, Selector::kBitmap, Selector::kScore, Selector::kReps, Selector::kSingle}) {
    EvSet set = make(s);
    std::map<int, int> by_port;
    for (int i = 0; i < 64; ++i) {
      const EvChoice c = set.choose(Time{i + 1}, 3);
      ASSERT_NE(c.ev, kNoEv);
      EXPECT_EQ(c.port, set.table()[c.ev].port);
      ++by_port[c.port];
    }
    EXPECT_EQ(by_port[0], 32);
    EXPECT_EQ(by_port[1], 32);
    EXPECT_EQ(set.choose(Time{99}, 2).port, 1) << "only the free port";
  }
}

TEST(EvSetPolicy, SilenceCondemnsNothingAndScoreStaysAwayForAWhile) {
  EvSet set = make(Selector::kScore, 4, 1);
  EXPECT_FALSE(set.on_loss(1, EvCause::kLoss, Time{1}, Time{1}).bad);
  EXPECT_EQ(set.state(1), EvState::kGood);
  for (int i = 0; i < 12; ++i) EXPECT_NE(set.choose(Time{i + 2}, 1).ev, 1) << "15 points, one a pass";
}

TEST(EvSetPolicy, MarksReachTheBitmapAndGoodNewsReachReps) {
  EvSet bitmap = make(Selector::kBitmap, 8, 1);
  bitmap.on_mark(3, wire::EvMark::kSkipOnce, Time{1});
  std::set<EvIndex> pass;
  for (int i = 0; i < 7; ++i) pass.insert(bitmap.choose(Time{i + 2}, 1).ev);
  EXPECT_FALSE(pass.contains(3));

  EvSet reps = make(Selector::kReps, 64, 1);
  const std::array<EvIndex, 3> good{10, 11, 12};
  for (const EvIndex ev : good) reps.on_clean(ev, Time{1});
  for (const EvIndex ev : good) EXPECT_EQ(reps.choose(Time{2}, 1).ev, ev);
}

TEST(EvSetPolicy, DeniedEvsAreNotChosenAndRetransmissionsAvoidTheLostOne) {
  EvSet set = make(Selector::kOblivious, 4, 1);
  set.set_state(2, EvState::kDenied, Time{1});
  for (int i = 0; i < 100; ++i) {
    EXPECT_NE(set.choose(Time{i + 2}, 1).ev, 2);
    const EvIndex again = set.choose_for_retransmission(Time{i + 2}, 1, {.ev = 0, .port = 0}).ev;
    EXPECT_TRUE(again == 1 || again == 3);
  }
  EvSet single = make(Selector::kSingle, 1, 1);
  EXPECT_EQ(single.choose_for_retransmission(Time{5}, 1, {.ev = 0, .port = 0}).ev, 0) << "there is no other";
}

}  // namespace
}  // namespace mrc::path
