// SPDX-License-Identifier: BSD-3-Clause
#include "nic/timer_wheel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/rng.h"

namespace mrc::nic {
namespace {

std::vector<std::uint32_t> expire_all(TimerWheel& wheel, Time now) {
  std::vector<std::uint32_t> fired;
  std::array<std::uint32_t, 3> some{};  // small on purpose: the rest must come with the next call
  for (std::size_t n = some.size(); n == some.size();) {
    n = wheel.expire(now, some);
    fired.insert(fired.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(n));
  }
  return fired;
}

TEST(TimerWheel, NeverFiresEarlyAndAtMostOneTickLate) {
  TimerWheel wheel(1, Time{1000});
  wheel.schedule(0, Time{1'000'000});
  EXPECT_TRUE(expire_all(wheel, Time{999'999}).empty());
  EXPECT_EQ(wheel.scheduled(0), Time{1'000'000});
  EXPECT_EQ(expire_all(wheel, Time{1'001'024}), std::vector<std::uint32_t>{0});
  EXPECT_TRUE(wheel.scheduled(0).is_never());
  EXPECT_TRUE(wheel.next().is_never());
}

TEST(TimerWheel, MovingAndCancelling) {
  TimerWheel wheel(2, Time{0});
  wheel.schedule(0, Time{5'000'000});
  wheel.schedule(1, Time{5'000'000});
  wheel.schedule(0, Time{2'000'000});
  wheel.cancel(1);
  EXPECT_EQ(expire_all(wheel, Time{3'000'000}), std::vector<std::uint32_t>{0});
  EXPECT_TRUE(expire_all(wheel, Time{9'000'000}).empty());
}

TEST(TimerWheel, PastDeadlinesFireAtOnceAndFarOnesSurviveTheSpan) {
  TimerWheel wheel(2, Time{1'000'000'000});
  wheel.schedule(0, Time{5});
  EXPECT_EQ(expire_all(wheel, Time{1'000'002'048}), std::vector<std::uint32_t>{0});
  const Time far{3'600LL * 5 * 1'000'000'000};  // five hours: beyond the 18 minutes of the wheel
  wheel.schedule(1, far);
  for (Time t{2'000'000'000}; t < far; t.ns += 30'000'000'000)
    ASSERT_TRUE(expire_all(wheel, t).empty()) << t.ns;
  EXPECT_EQ(expire_all(wheel, far + kTick * 16), std::vector<std::uint32_t>{1});
}

// Against a plain list, over all levels, with jumps of any size.
TEST(TimerWheel, AgreesWithAList) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Rng rng(seed);
    constexpr std::uint32_t kTimers = 64;
    Time now{static_cast<std::int64_t>(rng.below(1ULL << 40))};
    TimerWheel wheel(kTimers, now);
    std::vector<Time> model(kTimers, Time::never());
    for (int step = 0; step < 400; ++step) {
      const auto id = static_cast<std::uint32_t>(rng.below(kTimers));
      if (rng.chance(0.1)) {
        wheel.cancel(id);
        model[id] = Time::never();
      } else {
        const Time at = now + nanoseconds(static_cast<std::int64_t>(rng.below(1ULL << rng.below(40))));
        wheel.schedule(id, at);
        model[id] = at;
      }
      now.ns += static_cast<std::int64_t>(rng.below(1ULL << rng.below(34)));
      const std::vector<std::uint32_t> fired = expire_all(wheel, now);
      for (const std::uint32_t f : fired) {
        ASSERT_LE(model[f], now) << "early, seed " << seed;
        model[f] = Time::never();
      }
      Time earliest = Time::never();
      for (const Time t : model) {
        ASSERT_GT(t.ns, now.ns - 1024) << "late, seed " << seed << " step " << step;
        earliest = earlier(earliest, t);
      }
      if (earliest.is_never()) {
        ASSERT_TRUE(wheel.next().is_never());
      } else {
        ASSERT_LT(wheel.next().ns, earliest.ns + 1024) << "seed " << seed;
      }
    }
  }
}

}  // namespace
}  // namespace mrc::nic
