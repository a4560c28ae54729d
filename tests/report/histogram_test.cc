// SPDX-License-Identifier: BSD-3-Clause
#include "report/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/rng.h"

namespace mrc::report {
namespace {

/// Nearest rank on the sorted samples themselves.
std::uint64_t exact(const std::vector<std::uint64_t>& sorted, double percent) {
  const double rank = std::ceil(percent / 100 * static_cast<double>(sorted.size()));
  return sorted[std::max<std::size_t>(1, static_cast<std::size_t>(rank)) - 1];
}

void compare(std::vector<std::uint64_t> values) {
  Histogram h;
  for (const std::uint64_t v : values) h.record(v);
  std::sort(values.begin(), values.end());
  ASSERT_EQ(h.samples(), values.size());
  EXPECT_EQ(h.min(), values.front());
  EXPECT_EQ(h.max(), values.back());
  for (const double p : {0.0, 1.0, 25.0, 50.0, 90.0, 99.0, 99.9, 99.99, 100.0}) {
    const auto want = static_cast<double>(exact(values, p));
    const auto got = static_cast<double>(h.percentile(p));
    EXPECT_LE(std::abs(got - want), want * Histogram::kMaxRelativeError)
        << "p" << p << " of " << values.size();
  }
}

TEST(Histogram, StaysWithinItsBoundOnManyShapes) {
  Rng rng(7);
  for (const std::size_t n : {std::size_t{1}, std::size_t{2}, std::size_t{100}, std::size_t{20000}}) {
    std::vector<std::uint64_t> uniform(n);
    std::vector<std::uint64_t> log_uniform(n);
    std::vector<std::uint64_t> bimodal(n);
    for (std::size_t i = 0; i < n; ++i) {
      uniform[i] = rng.below(1'000'000);
      log_uniform[i] = rng.next() >> rng.below(64);
      bimodal[i] = rng.chance(0.98) ? 2000 + rng.below(300) : 60'000'000 + rng.below(1'000'000);
    }
    compare(uniform);
    compare(log_uniform);
    compare(bimodal);
  }
}

TEST(Histogram, SmallValuesAreExact) {
  Histogram h;
  for (std::uint64_t v = 0; v < 128; ++v) h.record(v);
  for (int p = 1; p <= 100; ++p) {
    EXPECT_EQ(h.percentile(p), static_cast<std::uint64_t>(std::ceil(p / 100.0 * 128)) - 1) << p;
  }
}

TEST(Histogram, KeepsBoundariesAndTheLargestValue) {
  for (unsigned bit = 7; bit < 64; ++bit) {
    for (const std::uint64_t v :
         {(std::uint64_t{1} << bit) - 1, std::uint64_t{1} << bit, (std::uint64_t{1} << bit) + 1}) {
      Histogram h;
      h.record(v);
      EXPECT_EQ(h.percentile(50), v) << "a single sample is clamped to min and max";
    }
  }
  Histogram h;
  h.record(~std::uint64_t{0});
  EXPECT_EQ(h.max(), ~std::uint64_t{0});
}

TEST(Histogram, MergesAndClears) {
  Histogram a;
  Histogram b;
  for (std::uint64_t v = 1; v <= 100; ++v) (v <= 50 ? a : b).record(v);
  a.merge(b);
  EXPECT_EQ(a.samples(), 100U);
  EXPECT_EQ(a.percentile(50), 50U);
  EXPECT_EQ(a.min(), 1U);
  EXPECT_DOUBLE_EQ(a.mean(), 50.5);
  a.clear();
  EXPECT_EQ(a.samples(), 0U);
  EXPECT_EQ(a.percentile(99), 0U);
  a.record(9);
  EXPECT_EQ(a.min(), 9U);
}

TEST(Histogram, BucketsHoldWhatWasRecorded) {
  Histogram h;
  const std::vector<std::uint64_t> values{0,   1,   127,  128,         129,
                                          255, 256, 1000, 123'456'789, std::uint64_t{1} << 62};
  for (const std::uint64_t v : values) h.record(v);
  std::uint64_t samples = 0;
  std::uint64_t last = 0;
  h.for_each_bucket([&](std::uint64_t low, std::uint64_t high, std::uint64_t count) {
    EXPECT_GE(low, last);
    EXPECT_LT(low, high);
    const auto within =
        std::count_if(values.begin(), values.end(), [&](auto v) { return v >= low && v < high; });
    EXPECT_EQ(count, static_cast<std::uint64_t>(within)) << low;
    last = high;
    samples += count;
  });
  EXPECT_EQ(samples, values.size());
}

}  // namespace
}  // namespace mrc::report
