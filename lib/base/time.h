// SPDX-License-Identifier: BSD-3-Clause
// Time as a parameter: the protocol reads no clock, every entry takes a Time.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

#include "base/serial.h"

namespace mrc {

/// A span of time in nanoseconds, signed.
struct Duration {
  std::int64_t ns = 0;

  friend constexpr auto operator<=>(Duration, Duration) = default;
  friend constexpr Duration operator+(Duration a, Duration b) { return {a.ns + b.ns}; }
  friend constexpr Duration operator-(Duration a, Duration b) { return {a.ns - b.ns}; }
  friend constexpr Duration operator*(Duration a, std::int64_t k) { return {a.ns * k}; }
  friend constexpr Duration operator/(Duration a, std::int64_t k) { return {a.ns / k}; }
  constexpr Duration& operator+=(Duration d) {
    ns += d.ns;
    return *this;
  }
};

constexpr Duration nanoseconds(std::int64_t n) {
  return {n};
}
constexpr Duration microseconds(std::int64_t n) {
  return {n * 1000};
}
constexpr Duration milliseconds(std::int64_t n) {
  return {n * 1'000'000};
}
constexpr Duration seconds(std::int64_t n) {
  return {n * 1'000'000'000};
}

/// A point in time, nanoseconds since an epoch that the host chooses (> 0; virtual time starts where it
/// likes).
struct Time {
  std::int64_t ns = 0;

  static constexpr Time never() { return {std::numeric_limits<std::int64_t>::max()}; }
  [[nodiscard]] constexpr bool is_never() const { return ns == never().ns; }

  friend constexpr auto operator<=>(Time, Time) = default;
  friend constexpr Time operator+(Time t, Duration d) { return {t.ns + d.ns}; }
  friend constexpr Time operator-(Time t, Duration d) { return {t.ns - d.ns}; }
  friend constexpr Duration operator-(Time a, Time b) { return {a.ns - b.ns}; }
};

constexpr Time earlier(Time a, Time b) {
  return a < b ? a : b;
}
constexpr Time later(Time a, Time b) {
  return a < b ? b : a;
}

/// TSETH timestamp (MRC T6-6, tsr = 0): 16 bits of 128 ns, wraps after 8.39 ms. Never 0, which says "none"
/// where it is mirrored: tick 1 lasts twice as long.
inline constexpr Duration kTick = nanoseconds(128);
constexpr Tick tick_of(Time t) {
  const auto tick = static_cast<std::uint32_t>((t.ns >> 7) & 0xFFFF);
  return Tick{tick == 0 ? 1 : tick};
}

}  // namespace mrc
