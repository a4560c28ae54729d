// SPDX-License-Identifier: BSD-3-Clause
// Serial numbers that wrap: PSN (24 bits), MSN and RQMSN (16), rcvd_bytes (24), timestamps (16).
// A bare integer compare does not compile: order exists only as a signed distance (MRC 6.3.1).
#pragma once

#include <cstdint>

namespace mrc {

/// A number of `Bits` bits counted modulo 2^Bits. `Tag` keeps different kinds apart.
/// Distances are signed `Bits`-bit values in [-2^(Bits-1), 2^(Bits-1)). Plain value type, any thread.
template <unsigned Bits, class Tag>
class Serial {
  static_assert(Bits >= 2 && Bits <= 31);

 public:
  static constexpr unsigned kBits = Bits;
  static constexpr std::uint32_t kMask = (std::uint32_t{1} << Bits) - 1;

  constexpr Serial() = default;
  constexpr explicit Serial(std::uint32_t value) : value_(value & kMask) {}

  [[nodiscard]] constexpr std::uint32_t value() const { return value_; }

  /// Signed distance from `other` to this: positive when this is newer.
  [[nodiscard]] constexpr std::int32_t distance_from(Serial other) const {
    const std::uint32_t d = (value_ - other.value_) << (32 - Bits);
    return static_cast<std::int32_t>(d) >> (32 - Bits);
  }
  [[nodiscard]] constexpr bool before(Serial o) const { return distance_from(o) < 0; }
  [[nodiscard]] constexpr bool after(Serial o) const { return distance_from(o) > 0; }
  [[nodiscard]] constexpr bool at_or_before(Serial o) const { return distance_from(o) <= 0; }
  [[nodiscard]] constexpr bool at_or_after(Serial o) const { return distance_from(o) >= 0; }

  constexpr Serial& operator+=(std::int32_t n) {
    value_ = (value_ + static_cast<std::uint32_t>(n)) & kMask;
    return *this;
  }
  constexpr Serial& operator++() { return *this += 1; }
  friend constexpr Serial operator+(Serial a, std::int32_t n) { return a += n; }
  friend constexpr Serial operator-(Serial a, std::int32_t n) { return a += -n; }
  /// `a - b` is a.distance_from(b).
  friend constexpr std::int32_t operator-(Serial a, Serial b) { return a.distance_from(b); }
  friend constexpr bool operator==(Serial, Serial) = default;
  // Deliberately absent: operator<. A wrap makes it wrong; say before()/after().

 private:
  std::uint32_t value_ = 0;
};

using Psn = Serial<24, struct PsnTag>;              ///< packet sequence number
using Msn = Serial<16, struct MsnTag>;              ///< message sequence number of METH
using Rqmsn = Serial<16, struct RqmsnTag>;          ///< number of the WriteIMM on its QP
using RcvdUnits = Serial<24, struct RcvdUnitsTag>;  ///< CC_STATE.rcvd_bytes, units of 256 B
using Tick = Serial<16, struct TickTag>;            ///< TSETH.tx_timestamp, units of 128 ns

static_assert(Psn{0}.distance_from(Psn{0xFFFFFF}) == 1 && Psn{0xFFFFFF}.before(Psn{0}));
static_assert(Psn{0x800000}.distance_from(Psn{0}) == -0x800000);

}  // namespace mrc
