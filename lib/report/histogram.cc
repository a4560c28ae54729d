// SPDX-License-Identifier: BSD-3-Clause
#include "report/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace mrc::report {

std::size_t Histogram::index_of(std::uint64_t value) {
  if (value < kSteps) return value;
  const unsigned shift = static_cast<unsigned>(std::bit_width(value)) - 1 - kSubBits;  // 0: values 128..255
  return (shift + 1) * kSteps + ((value >> shift) - kSteps);
}

std::uint64_t Histogram::lowest_of(std::size_t index) {
  if (index == kBuckets) return ~std::uint64_t{0};  // where the last bucket ends
  if (index < kSteps) return index;
  return (kSteps + index % kSteps) << (index / kSteps - 1);
}

std::uint64_t Histogram::middle_of(std::size_t index) {
  if (index < kSteps) return index;
  return lowest_of(index) + ((std::uint64_t{1} << (index / kSteps - 1)) >> 1);
}

void Histogram::merge(const Histogram& other) {
  for (std::size_t i = 0; i < kBuckets; ++i) (*counts_)[i] += (*other.counts_)[i];
  samples_ += other.samples_;
  sum_ += other.sum_;
  min_ = std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
}

void Histogram::clear() {
  counts_->fill(0);
  samples_ = 0;
  sum_ = 0;
  min_ = ~std::uint64_t{0};
  max_ = 0;
}

std::uint64_t Histogram::percentile(double percent) const {
  if (samples_ == 0) return 0;
  const double wanted = std::ceil(percent / 100.0 * static_cast<double>(samples_));
  const auto rank = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(wanted), 1, samples_);
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    seen += (*counts_)[i];
    if (seen >= rank) return std::clamp(middle_of(i), min_, max_);
  }
  return max_;
}

}  // namespace mrc::report
