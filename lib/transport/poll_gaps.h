// SPDX-License-Identifier: BSD-3-Clause
// Times in which the host did not poll (D13): a deadline set before such a gap moves by its length.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/time.h"

namespace mrc::transport {

/// The last few gaps; older ones are merged into the oldest kept, which can only move deadlines further.
class PollGaps {
 public:
  void add(Time end, Duration length) {
    if (count_ == kKept) {
      gaps_[1].length += gaps_[0].length;
      std::move(gaps_.begin() + 1, gaps_.end(), gaps_.begin());
      --count_;
    }
    gaps_[count_++] = {end, length};
  }
  /// How far a deadline moves whose timer was started at `start`.
  [[nodiscard]] Duration shift(Time start) const {
    Duration sum;
    for (std::size_t i = count_; i-- > 0 && gaps_[i].end > start;) sum += gaps_[i].length;
    return sum;
  }
  /// Samples of packets sent before this are no RTTs.
  [[nodiscard]] Time last_end() const { return count_ == 0 ? Time{} : gaps_[count_ - 1].end; }
  /// Nothing waits any more: forget.
  void reset() { count_ = 0; }

 private:
  static constexpr std::size_t kKept = 4;
  struct Gap {
    Time end;
    Duration length;
  };
  std::array<Gap, kKept> gaps_{};
  std::size_t count_ = 0;
};

}  // namespace mrc::transport
