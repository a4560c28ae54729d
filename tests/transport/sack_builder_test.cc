// SPDX-License-Identifier: BSD-3-Clause
// The bitmap's base and the walk (MRC 7.5.2.2; D5, C19).
#include "transport/sack_builder.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/rng.h"

namespace mrc::transport {
namespace {

constexpr Seq kBase = first_seq(Psn{100});

TEST(SackWalk, NothingAboveCack) {
  BitRing ring(1024);
  SackWalk walk;
  walk.reset(kBase);
  for (int i = 0; i < 3; ++i) {
    const auto map = walk.next(ring, kBase, kBase);
    EXPECT_EQ(map.base, kBase + 1);
    EXPECT_EQ(map.bits, 0U);
  }
}

TEST(SackWalk, BitIsBasePlusI) {
  BitRing ring(1024);
  SackWalk walk;
  walk.reset(kBase);
  ring.set(kBase + 2);
  ring.set(kBase + 5);
  const auto map = walk.next(ring, kBase, kBase + 5);
  EXPECT_EQ(map.base, kBase + 1);
  EXPECT_EQ(map.bits, 0b10010U);
}

// The highest packet received is inside the bitmap, and a wide window is walked through.
TEST(SackWalk, WalksAWideWindowAndStartsAgain) {
  BitRing ring(1024);
  SackWalk walk;
  walk.reset(kBase);
  const Seq max = kBase + 200;
  for (Seq s = kBase + 2; s <= max; ++s) ring.set(s);
  std::vector<Seq> bases;
  for (int i = 0; i < 8; ++i) bases.push_back(walk.next(ring, kBase, max).base - kBase);
  EXPECT_EQ(bases, (std::vector<Seq>{1, 65, 129, 137, 1, 65, 129, 137}));
}

// D5. From low, not from base: the walk must not stick at the top while the window grows.
TEST(SackWalk, ShowsAnOldHoleAgainWhileTheWindowGrows) {
  BitRing ring(1024);
  SackWalk walk;
  walk.reset(kBase);
  Seq max = kBase + 70;
  int shown = 0;
  for (int i = 0; i < 20; ++i, max += 4) {
    if (walk.next(ring, kBase, max).base == kBase + 1) ++shown;
  }
  EXPECT_GE(shown, 5);
}

// I6. W/64 + 1 SACKs in a row show every PSN above cack up to max_rcv.
TEST(SackWalk, CoversEverythingWithinOneRound) {
  Rng rng(3);
  for (int run = 0; run < 500; ++run) {
    BitRing ring(1024);
    SackWalk walk;
    walk.reset(kBase);
    const Seq width = 1 + rng.below(1024);
    const Seq max = kBase + width;
    ring.set(max);
    for (std::uint64_t skip = rng.below(20); skip > 0; --skip) walk.next(ring, kBase, max);
    std::vector<bool> covered(width, false);
    for (Seq i = 0; i < width / 64 + 2; ++i) {
      const auto map = walk.next(ring, kBase, max);
      ASSERT_GT(map.base, kBase);
      for (Seq s = map.base; s < map.base + 64; ++s) {
        if (s <= max) covered[s - kBase - 1] = true;
      }
    }
    for (std::size_t i = 0; i < covered.size(); ++i) ASSERT_TRUE(covered[i]) << width << " " << i;
  }
}

}  // namespace
}  // namespace mrc::transport
