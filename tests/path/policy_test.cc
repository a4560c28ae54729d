// SPDX-License-Identifier: BSD-3-Clause
// The comparison policies; V30 to V32 are the numbers of the public test vectors.
#include "path/policy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "tables.h"

namespace mrc::path {
namespace {

using Picks = std::vector<EvIndex>;

Picks pick(auto& policy, int n, Time now = at_us(1)) {
  Picks out;
  for (int i = 0; i < n; ++i) out.push_back(policy.next(now));
  return out;
}

TEST(Policies, V30_ScoreOneMark) {
  PenaltyScore p(4, PassOrder::kFixed, 1);
  p.feedback(1, PathFeedback::kEcn, at_us(1));
  EXPECT_EQ(pick(p, 5), (Picks{0, 2, 3, 0, 1}));
}

TEST(Policies, V30_ScoreTwoMarks) {
  PenaltyScore p(4, PassOrder::kFixed, 1);
  p.feedback(1, PathFeedback::kEcn, at_us(1));
  p.feedback(2, PathFeedback::kEcn, at_us(1));
  EXPECT_EQ(pick(p, 5), (Picks{0, 3, 0, 1, 3})) << "one selection clears 1 only, a later one 2";
}

TEST(Policies, V30_ScoreTrimCostsFourPasses) {
  PenaltyScore p(4, PassOrder::kFixed, 1);
  p.feedback(2, PathFeedback::kTrim, at_us(1));
  const Picks picks = pick(p, 4 * 3 + 4);
  EXPECT_EQ(std::count(picks.begin(), picks.begin() + 12, 2), 0);
  EXPECT_EQ(Picks(picks.end() - 4, picks.end()), (Picks{0, 1, 2, 3}));
}

TEST(Policies, ScoreSaturatesAndGivesUpSkipping) {
  PenaltyScore p(4, PassOrder::kFixed, 1);
  for (int i = 0; i < 3; ++i)
    for (EvIndex ev = 0; ev < 4; ++ev) p.feedback(ev, PathFeedback::kTimeout, at_us(1));
  EXPECT_EQ(pick(p, 1), (Picks{1})) << "after n + 1 skips the current one serves";
  PenaltyScore one(4, PassOrder::kFixed, 1);
  for (int i = 0; i < 3; ++i) one.feedback(2, PathFeedback::kTimeout, at_us(1));
  const Picks picks = pick(one, 15 * 3 + 3);
  EXPECT_EQ(std::count(picks.begin(), picks.end() - 1, 2), 0) << "15 passes, not 45";
  EXPECT_EQ(picks.back(), 2);
}

TEST(Policies, V31_BitmapOneMark) {
  CongestionBitmap p(4, PassOrder::kFixed, 1);
  p.feedback(1, PathFeedback::kEcn, at_us(1));
  EXPECT_EQ(pick(p, 5), (Picks{0, 2, 3, 0, 1}));
}

TEST(Policies, V31_BitmapSaturated) {
  CongestionBitmap p(4, PassOrder::kFixed, 1);
  for (EvIndex ev = 1; ev < 4; ++ev) p.feedback(ev, PathFeedback::kTrim, at_us(1));
  EXPECT_EQ(pick(p, 2), (Picks{0, 1})) << "3 of 4 are marked: 1 serves, its bit is cleared";
  EXPECT_EQ(pick(p, 2), (Picks{0, 1})) << "2 of 4 are not too many: 2 and 3 lose this turn";
  EXPECT_EQ(pick(p, 4), (Picks{2, 3, 0, 1}));
}

TEST(Policies, V32_RepsRecyclesThenExplores) {
  Reps p(64, {}, 1);
  for (const EvIndex ev : Picks{10, 11, 12}) p.feedback(ev, PathFeedback::kGood, at_us(1));
  p.feedback(13, PathFeedback::kEcn, at_us(1));
  EXPECT_EQ(pick(p, 3), (Picks{10, 11, 12}));
  const Picks random = pick(p, 64);
  EXPECT_GT(std::set<EvIndex>(random.begin(), random.end()).size(), 20U);
}

TEST(Policies, V32_RepsFrozenReplaysTheRing) {
  Reps p(64, {}, 1);
  for (const EvIndex ev : Picks{10, 11, 12}) p.feedback(ev, PathFeedback::kGood, at_us(1));
  pick(p, 3);
  p.feedback(40, PathFeedback::kTimeout, at_us(2));
  EXPECT_TRUE(p.frozen());
  EXPECT_EQ(pick(p, 4), (Picks{10, 11, 12, 10}));
}

TEST(Policies, RepsRingOverwritesTheOldest) {
  Reps p(64, {}, 1);
  for (EvIndex ev = 0; ev < 11; ++ev) p.feedback(ev, PathFeedback::kGood, at_us(1));
  EXPECT_EQ(pick(p, 8), (Picks{3, 4, 5, 6, 7, 8, 9, 10}));
}

TEST(Policies, RepsThawsOnGoodNewsAfterTheFreeze) {
  Reps p(64, {.freeze = microseconds(100), .explore_pkts = 16}, 1);
  p.feedback(5, PathFeedback::kGood, at_us(1));
  pick(p, 1);
  p.feedback(9, PathFeedback::kTimeout, at_us(10));
  p.feedback(6, PathFeedback::kGood, at_us(110));
  EXPECT_TRUE(p.frozen()) << "good news within the freeze";
  p.feedback(9, PathFeedback::kTimeout, at_us(109));
  p.feedback(7, PathFeedback::kGood, at_us(111));
  EXPECT_FALSE(p.frozen()) << "a timeout while frozen does not prolong it";
  const Picks explored = pick(p, 16);
  EXPECT_GT(std::set<EvIndex>(explored.begin(), explored.end()).size(), 8U);
  EXPECT_EQ(pick(p, 1), (Picks{7})) << "then what came back good since";
}

TEST(Policies, ObliviousVisitsAllOncePerPass) {
  for (const PassOrder order : {PassOrder::kShuffled, PassOrder::kXor, PassOrder::kFixed}) {
    Oblivious p(64, order, 3);
    const Picks first = pick(p, 64);
    for (EvIndex ev = 0; ev < 64; ++ev) p.feedback(ev, PathFeedback::kTimeout, at_us(1));
    const Picks second = pick(p, 64);
    EXPECT_EQ(std::set<EvIndex>(first.begin(), first.end()).size(), 64U);
    EXPECT_EQ(std::set<EvIndex>(second.begin(), second.end()).size(), 64U);
    EXPECT_EQ(first == second, order == PassOrder::kFixed);
  }
}

TEST(Policies, SinglePathStays) {
  std::set<EvIndex> over_seeds;
  for (std::uint64_t seed = 1; seed <= 64; ++seed) {
    SinglePath p(128, seed);
    const Picks picks = pick(p, 5);
    EXPECT_EQ(std::count(picks.begin(), picks.end(), picks[0]), 5);
    over_seeds.insert(picks[0]);
  }
  EXPECT_GT(over_seeds.size(), 32U);
}

TEST(Policies, ByName) {
  for (const char* name : {"oblivious", "bitmap", "score", "reps", "single"}) {
    for (const std::size_t n : {1U, 3U, 128U}) {
      auto p = Policy::create(name, n, 1);
      ASSERT_TRUE(p) << p.error().message;
      for (int i = 0; i < 300; ++i) {
        const EvIndex ev = p->next(at_us(i));
        ASSERT_LT(ev, n);
        p->feedback(ev, static_cast<PathFeedback>(i * 7 % 4), at_us(i));
        p->feedback(kNoEv, PathFeedback::kEcn, at_us(i));
      }
    }
  }
  EXPECT_NE(Policy::create("best", 4, 1).error().message.find("use oblivious, bitmap"), std::string::npos);
  EXPECT_FALSE(Policy::create("score", 0, 1));
  EXPECT_FALSE(Policy::create("score", 5000, 1));
  EXPECT_NE(Policy::create("score", 100, 1, PassOrder::kXor).error().message.find("use 64"),
            std::string::npos);
}

}  // namespace
}  // namespace mrc::path
