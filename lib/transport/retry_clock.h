// SPDX-License-Identifier: BSD-3-Clause
// The local ACK timeout and its budget (MRC 7.4.1, D13, C16, C17).
#pragma once

#include <cstdint>

#include "base/time.h"

namespace mrc::transport {

/// interval(k): linear, then doubling, then capped. Value type.
class RetryClock {
 public:
  static constexpr unsigned kMaxTimeout = 24;  ///< 17.18 s
  static constexpr unsigned kMaxLinear = 7;
  static constexpr unsigned kMaxExp = 25;  ///< this many: never gives up

  RetryClock() = default;
  RetryClock(std::uint8_t timeout, std::uint8_t linear_cnt, std::uint8_t exp_cnt)
      : timeout_(timeout), linear_cnt_(linear_cnt), exp_cnt_(exp_cnt) {}

  [[nodiscard]] bool enabled() const { return timeout_ != 0; }
  /// T while k is at most linear_cnt, then doubling with each k, up to exponent 24 (C16).
  [[nodiscard]] Duration interval(unsigned k) const {
    const unsigned doublings = k > linear_cnt_ ? k - linear_cnt_ : 0;
    const unsigned exponent = timeout_ + doublings < kMaxTimeout ? timeout_ + doublings : kMaxTimeout;
    return {std::int64_t{1024} << exponent};
  }
  [[nodiscard]] bool exhausted(unsigned k) const {
    return exp_cnt_ < kMaxExp && k > static_cast<unsigned>(linear_cnt_) + exp_cnt_;
  }
  [[nodiscard]] bool gives_up() const { return enabled() && exp_cnt_ < kMaxExp; }
  /// Sum of all intervals: no progress for that long ends the QP even when nothing is counted (D13).
  [[nodiscard]] Duration total() const {
    Duration sum;
    for (unsigned k = 0; k <= static_cast<unsigned>(linear_cnt_) + exp_cnt_; ++k) sum += interval(k);
    return sum;
  }

 private:
  std::uint8_t timeout_ = 0;
  std::uint8_t linear_cnt_ = 0;
  std::uint8_t exp_cnt_ = 0;
};

}  // namespace mrc::transport
