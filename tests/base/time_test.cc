// SPDX-License-Identifier: BSD-3-Clause
#include "base/time.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace mrc {
namespace {

TEST(Time, TicksAre128NanosecondsAndWrapAfter8Milliseconds) {
  EXPECT_EQ(tick_of(Time{127}).value(), 1U) << "0 would read as no timestamp";
  EXPECT_EQ(tick_of(Time{128 * 65536}).value(), 1U);
  EXPECT_EQ(tick_of(Time{128}).value(), 1U);
  EXPECT_EQ(tick_of(Time{128 * 65536 + 256}).value(), 2U);
  EXPECT_EQ(tick_of(Time{5000} + kTick * 17) - tick_of(Time{5000}), 17);
}

TEST(Time, NeverIsLaterThanEverything) {
  EXPECT_TRUE(Time::never().is_never());
  EXPECT_EQ(earlier(Time::never(), Time{5}).ns, 5);
  EXPECT_EQ(later(Time{4}, Time{5}).ns, 5);
}

TEST(Rng, SameSeedSameSequenceAndBoundsHold) {
  Rng a(42), b(42), c(43);
  EXPECT_NE(a.next(), c.next());
  b.next();
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(a.below(17), b.below(17));
    const auto v = a.between(3, 5);
    EXPECT_EQ(v, b.between(3, 5));
    EXPECT_GE(v, 3U);
    EXPECT_LE(v, 5U);
  }
  EXPECT_EQ(a.below(0), 0U);
}

TEST(Rng, IsRoughlyUniform) {
  Rng r(7);
  int buckets[8] = {};
  for (int i = 0; i < 80'000; ++i) ++buckets[r.below(8)];
  for (const int n : buckets) EXPECT_NEAR(n, 10'000, 500);
}

}  // namespace
}  // namespace mrc
