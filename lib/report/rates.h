// SPDX-License-Identifier: BSD-3-Clause
// Rates whose names say what they count. All in bits per second:
//   goodput  bytes that the application asked to move and that arrived, each once
//   l2       frames with FCS
//   l1       l2 and per frame 20 bytes of preamble, start delimiter and inter-frame gap: never above the
//   link's speed
#pragma once

#include <cstdint>

namespace mrc::report {

inline constexpr std::uint64_t kFcsBytes = 4;
inline constexpr std::uint64_t kL1OverheadBytes = 20;

struct Rates {
  double goodput_bps = 0;
  double l2_bps = 0;
  double l1_bps = 0;
  double packets_per_s = 0;
  double messages_per_s = 0;
};

/// `frame_bytes` without FCS, as DPDK counts them. All zero when `seconds` is not positive.
Rates rates_of(std::uint64_t messages, std::uint64_t payload_bytes, std::uint64_t frames,
               std::uint64_t frame_bytes, double seconds);

/// now - before of two readings of a monotone counter; 0 when it seems to run backwards (a reset), never
/// huge.
constexpr std::uint64_t delta(std::uint64_t now, std::uint64_t before) {
  return now >= before ? now - before : 0;
}

/// Minimum, average and maximum of a rate over windows of equal width.
class Windows {
 public:
  void add(double value);
  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] double min() const { return count_ == 0 ? 0 : min_; }
  [[nodiscard]] double max() const { return max_; }
  [[nodiscard]] double average() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }

 private:
  std::uint64_t count_ = 0;
  double sum_ = 0;
  double min_ = 0;
  double max_ = 0;
};

}  // namespace mrc::report
