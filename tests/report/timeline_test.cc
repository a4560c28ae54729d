// SPDX-License-Identifier: BSD-3-Clause
#include "report/timeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace mrc::report {
namespace {

/// One column of each kind and two rows.
Timeline all_kinds() {
  return {{Join::kLast, Join::kMean, Join::kLeast, Join::kMost}, 2, microseconds(1)};
}

TEST(Timeline, AnyLengthFitsAndCountersKeepTheirSum) {
  Timeline t = all_kinds();
  const std::vector<double> zero(4);
  const std::vector<std::uint64_t> none(2);
  t.begin(Time{1}, zero, none);
  Time now{1};
  double counter = 0;
  std::uint64_t carried = 0;
  std::size_t samples = 0;
  while (now < Time{} + seconds(1)) {
    now = t.due();
    counter += 3;
    carried += 5;
    const bool bad = ++samples == 1000;  // one moment of a million: it must stay to be seen
    t.add(now, std::vector<double>{counter, 7, bad ? -1.0 : 2.0, bad ? 99.0 : 1.0},
          std::vector<std::uint8_t>{static_cast<std::uint8_t>(bad ? 2 : 0), 0},
          std::vector<std::uint64_t>{carried, 0});
  }
  EXPECT_LE(t.size(), Timeline::kMostSamples);
  EXPECT_GE(t.size(), Timeline::kMostSamples / 2);
  EXPECT_LT(samples, 10'000U) << "the interval grows with the run";
  double sum = 0;
  const std::vector<double> rate = t.rate(0);
  for (std::size_t i = 0; i < t.size(); ++i)
    sum += rate[i] * static_cast<double>((t.end(i) - (i == 0 ? t.start() : t.end(i - 1))).ns) / 1e9;
  EXPECT_NEAR(sum, counter, counter * 1e-9);
  std::uint64_t pkts = 0;
  int bad_samples = 0;
  for (std::size_t i = 0; i < t.size(); ++i) {
    pkts += t.carried(0, i);
    bad_samples += t.state(0, i) == 2;
    EXPECT_EQ(t.state(1, i), 0);
  }
  EXPECT_EQ(pkts, carried);
  EXPECT_EQ(bad_samples, 1);
  const std::vector<double> mean = t.column(1);
  EXPECT_EQ(std::accumulate(mean.begin(), mean.end(), 0.0), 7.0 * static_cast<double>(t.size()));
  const std::vector<double> least = t.column(2);
  const std::vector<double> most = t.column(3);
  EXPECT_EQ(*std::min_element(least.begin(), least.end()), -1);
  EXPECT_EQ(*std::max_element(most.begin(), most.end()), 99);
}

TEST(Timeline, LateSamplesComeBackToTheGrid) {
  Timeline t = all_kinds();
  EXPECT_TRUE(t.due().is_never());
  const std::vector<double> v(4);
  const std::vector<std::uint8_t> s(2);
  const std::vector<std::uint64_t> c(2);
  t.begin(Time{0}, v, c);
  EXPECT_EQ(t.due(), Time{1000});
  t.add(Time{7300}, v, s, c);
  EXPECT_EQ(t.due(), Time{8000});
  t.add(Time{7300}, v, s, c);  // no time has passed: no sample
  EXPECT_EQ(t.size(), 1U);
  t.add(Time{8000}, v, s, c);
  EXPECT_EQ(t.due(), Time{9000});
}

TEST(Timeline, GapsJoinWithNumbers) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  Timeline t = all_kinds();
  t.begin(Time{0}, std::vector<double>(4), std::vector<std::uint64_t>(2));
  for (std::size_t i = 0; i < Timeline::kMostSamples + 1; ++i) {
    const double v = i % 2 == 0 ? 4 : kNan;
    t.add(t.due(), std::vector<double>{0, v, v, v}, std::vector<std::uint8_t>(2),
          std::vector<std::uint64_t>(2));
  }
  for (std::size_t c = 1; c < 4; ++c) EXPECT_EQ(t.column(c)[0], 4) << c;
  EXPECT_TRUE(std::isnan(t.ratio(0, 0)[0])) << "nothing rose";
}

TEST(Timeline, CountersThatStartAnewDoNotRunBackwards) {
  Timeline t = all_kinds();
  t.begin(Time{0}, std::vector<double>{100, 0, 0, 0}, std::vector<std::uint64_t>{100, 0});
  t.add(t.due(), std::vector<double>{5, 0, 0, 0}, std::vector<std::uint8_t>(2),
        std::vector<std::uint64_t>{5, 0});
  EXPECT_EQ(t.rate(0)[0], 0);
  EXPECT_EQ(t.carried(0, 0), 0U);
}

}  // namespace
}  // namespace mrc::report
