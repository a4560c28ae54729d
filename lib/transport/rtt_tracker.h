// SPDX-License-Identifier: BSD-3-Clause
// Round-trip times as loss inference and the probe timer need them (D8, D14, D18).
#pragma once

#include <array>
#include <cstdint>

#include "base/time.h"

namespace mrc::transport {

/// srtt, the reordering allowance reo, and the base RTT they scale with. Value type, one owner.
class RttTracker {
 public:
  RttTracker(Duration configured_base, bool learn)
      : configured_(configured_base), srtt_(configured_base), learn_(learn) {}

  /// One sample. `full_path`: from a Write; probes are smaller and never teach the base (D18).
  void add(Duration rtt, Time now, bool full_path);
  /// A loss that was none: tolerate more reordering (D9).
  void on_spurious(Time now);

  /// The configured base RTT; with `learn` the smallest RTT seen when that is larger.
  [[nodiscard]] Duration base() const {
    return learn_ && seen_ && smallest_ > configured_ ? smallest_ : configured_;
  }
  /// For so long a sample counts in reo.
  [[nodiscard]] Duration memory() const { return base() * 4; }
  [[nodiscard]] Duration srtt() const { return srtt_; }
  /// D8. 1.25 x the spread of the samples of 4 base RTTs, within 1 to 4 of these; grows with spurious losses.
  [[nodiscard]] Duration reo(Time now) const { return grown(allowance_, now); }
  /// The largest it can be now.
  [[nodiscard]] Duration largest_reo(Time now) const { return grown(base() * 4, now); }

 private:
  static constexpr std::int64_t kOne = 256;  // fixed point of the spurious factor
  static constexpr std::int64_t kMaxFactor = 8 * kOne;
  static constexpr unsigned kSlots = 5;  // four full base RTTs and the running one
  struct Slot {
    Duration lo, hi;
    bool used = false;
  };
  [[nodiscard]] Duration grown(Duration allowance, Time now) const {
    return factor_ == kOne ? allowance : allowance * factor(now) / kOne;
  }
  [[nodiscard]] std::int64_t factor(Time now) const;
  void rotate(Time now);
  void refresh();

  Duration configured_;
  Duration srtt_;
  Duration smallest_;
  Duration allowance_ = configured_;
  std::int64_t factor_ = kOne;
  Time factor_at_;
  Time slot_start_;
  std::array<Slot, kSlots> slots_{};
  std::uint8_t current_ = 0;
  bool seen_ = false;
  bool learn_;
};

}  // namespace mrc::transport
