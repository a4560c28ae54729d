// SPDX-License-Identifier: BSD-3-Clause
// Latency histogram with log-linear buckets: 128 linear steps in each power of two, so that any value from 0
// to 2^63 is kept with a relative error of at most 1/128 in 58 KiB. Recording is a few instructions and takes
// no memory. One writer; merge to combine.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

namespace mrc::report {

class Histogram {
 public:
  static constexpr unsigned kSubBits = 7;
  /// |percentile - exact percentile| <= exact * kMaxRelativeError; values below 128 are exact, min and max
  /// always.
  static constexpr double kMaxRelativeError = 1.0 / (1U << kSubBits);

  Histogram() : counts_(std::make_unique<Counts>()) {}

  void record(std::uint64_t value) {
    ++(*counts_)[index_of(value)];
    ++samples_;
    sum_ += static_cast<double>(value);
    if (value < min_) min_ = value;
    if (value > max_) max_ = value;
  }
  void merge(const Histogram& other);
  void clear();

  [[nodiscard]] std::uint64_t samples() const { return samples_; }
  [[nodiscard]] std::uint64_t min() const { return samples_ == 0 ? 0 : min_; }
  [[nodiscard]] std::uint64_t max() const { return max_; }
  [[nodiscard]] double mean() const { return samples_ == 0 ? 0 : sum_ / static_cast<double>(samples_); }
  /// Nearest rank: the smallest recorded value that at least `percent` of the samples do not exceed, as its
  /// bucket's middle. 0 without samples: ask samples() first. percent in [0, 100].
  [[nodiscard]] std::uint64_t percentile(double percent) const;

  /// Calls `f(low, high, count)` for every bucket [low, high) that holds samples, in rising order.
  template <class F>
  void for_each_bucket(F f) const {
    for (std::size_t i = 0; i < kBuckets; ++i)
      if ((*counts_)[i] != 0) f(lowest_of(i), lowest_of(i + 1), (*counts_)[i]);
  }

 private:
  static constexpr std::size_t kSteps = 1U << kSubBits;
  static constexpr std::size_t kBuckets = (64 - kSubBits + 1) * kSteps;
  using Counts = std::array<std::uint64_t, kBuckets>;

  static std::size_t index_of(std::uint64_t value);
  static std::uint64_t middle_of(std::size_t index);
  static std::uint64_t lowest_of(std::size_t index);

  std::unique_ptr<Counts> counts_;
  std::uint64_t samples_ = 0;
  double sum_ = 0;
  std::uint64_t min_ = ~std::uint64_t{0};
  std::uint64_t max_ = 0;
};

}  // namespace mrc::report
