// SPDX-License-Identifier: BSD-3-Clause
// What a congestion controller met and what it did: counters, and the window over all its news.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace mrc::cc {

/// Windows by size, sixteen steps an octave: the median is right within 1/32. Value type.
class WindowHistogram {
 public:
  void add(std::int64_t window_bytes) {
    const std::int64_t w = std::max<std::int64_t>(window_bytes, 1);
    min_ = count_ == 0 ? w : std::min(min_, w);
    max_ = std::max(max_, w);
    ++count_;
    ++counts_[bucket(static_cast<std::uint64_t>(w))];
  }
  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] std::int64_t min_bytes() const { return min_; }
  [[nodiscard]] std::int64_t max_bytes() const { return max_; }
  /// What came after `earlier`, a copy of this of some time ago; the extremes are then those of the buckets.
  [[nodiscard]] WindowHistogram since(const WindowHistogram& earlier) const {
    if (earlier.count_ == 0) return *this;
    WindowHistogram out;
    for (std::size_t at = 0; at < kBuckets; ++at) {
      out.counts_[at] = counts_[at] - earlier.counts_[at];
      if (out.counts_[at] == 0) continue;
      const std::int64_t w = std::clamp(middle(at), min_, max_);
      if (out.count_ == 0) out.min_ = w;
      out.max_ = w;
      out.count_ += out.counts_[at];
    }
    return out;
  }
  /// The middle of the bucket that holds it, within the extremes; 0 without samples.
  [[nodiscard]] std::int64_t median_bytes() const {
    if (count_ == 0) return 0;
    std::uint64_t left = (count_ + 1) / 2;
    std::size_t at = 0;
    while (left > counts_[at]) left -= counts_[at++];
    return std::clamp(middle(at), min_, max_);
  }

 private:
  static constexpr unsigned kStepBits = 4;
  static constexpr unsigned kOctaves = 44;  ///< larger windows are never closed
  static std::size_t bucket(std::uint64_t w) {
    const unsigned octave = static_cast<unsigned>(std::bit_width(w)) - 1;
    if (octave >= kOctaves) return kBuckets - 1;
    const std::uint64_t step = octave >= kStepBits ? w >> (octave - kStepBits) : w << (kStepBits - octave);
    return (octave << kStepBits) + (step & ((1U << kStepBits) - 1U));
  }
  static std::int64_t middle(std::size_t at) {
    const std::uint64_t step = 2 * ((at & ((1U << kStepBits) - 1U)) + (1U << kStepBits)) + 1;
    const unsigned octave = static_cast<unsigned>(at >> kStepBits);
    const unsigned down = kStepBits + 1;
    return static_cast<std::int64_t>(octave >= down ? step << (octave - down) : step >> (down - octave));
  }
  static constexpr std::size_t kBuckets = std::size_t{kOctaves} << kStepBits;

  std::uint64_t count_ = 0;
  std::int64_t min_ = 0;
  std::int64_t max_ = 0;
  std::array<std::uint32_t, kBuckets> counts_{};
};

/// Monotone; the owner reads them.
struct CcFigures {
  std::uint64_t acks = 0;
  std::uint64_t marked = 0;  ///< of these, with m = SKIP_ONCE
  std::uint64_t trims = 0;   ///< NACKs TRIMMED and TRIMMED_LASTHOP
  std::uint64_t losses = 0;  ///< inferred, or by the ACK timer
  std::uint64_t cuts = 0;    ///< times the window became smaller
};

}  // namespace mrc::cc
