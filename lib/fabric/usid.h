// SPDX-License-Identifier: BSD-3-Clause
// SRv6 micro-segments: a 32-bit locator and up to six 16-bit uSIDs in one address (F3216 of RFC 9800).
#pragma once

#include <cstdint>
#include <span>

#include "fabric/packet.h"

namespace mrc::fabric {

inline constexpr std::size_t kUsidsPerAddress = 6;

/// Locator and active uSID: what a switch compares with its own.
constexpr std::uint64_t active48(Address a) {
  return a.hi >> 16;
}
constexpr std::uint64_t prefix48(std::uint32_t locator, std::uint16_t usid) {
  return std::uint64_t{locator} << 16 | usid;
}
/// Whether anything follows the active uSID (the argument of NEXT-C-SID).
constexpr bool has_more_usids(Address a) {
  return (a.hi & 0xFFFF) != 0 || a.lo != 0;
}
/// The address after its active uSID is consumed: the rest moves up by 16 bits, zeros follow.
constexpr Address shift_usid(Address a) {
  const std::uint64_t locator = a.hi & 0xFFFFFFFF00000000ULL;
  return {locator | (a.hi & 0xFFFF) << 16 | a.lo >> 48, a.lo << 16};
}
/// locator:u1:u2:...:: ; at most kUsidsPerAddress uSIDs, further ones are an own bug.
Address make_carrier(std::uint32_t locator, std::span<const std::uint16_t> usids);

static_assert(shift_usid({0xfcbbbbbbd100d001ULL, 0xd1e000a000000000ULL}) ==
              Address{0xfcbbbbbbd001d1e0ULL, 0x00a0000000000000ULL});

/// Where the plane of a fabric shows in its addresses; both are in use.
enum class PlaneEncoding : std::uint8_t {
  kInUsid,     ///< one locator, plane bits inside every uSID
  kInLocator,  ///< one /32 per plane
};

/// A 16-bit uSID plan: plane, tier and index side by side, widths by configuration.
struct UsidPlan {
  PlaneEncoding planes = PlaneEncoding::kInUsid;
  std::uint32_t locator = 0xFCBBBBBB;  ///< kInLocator: plane p has locator + (p << locator_plane_shift)
  std::uint8_t locator_plane_shift = 0;
  std::uint8_t plane_bits = 3;  ///< kInUsid: the highest bits
  std::uint8_t tier_bits = 2;   ///< below the plane; values: 1 T0, 2 T1, 3 hosts, 0 adjacencies
  // The rest of the 16 bits is the index within the tier, from 1 (0000 would end the list).

  [[nodiscard]] std::uint32_t locator_of(std::uint32_t plane) const;
  [[nodiscard]] std::uint16_t usid(std::uint32_t plane, std::uint32_t tier, std::uint32_t index) const;
  /// How many indices fit.
  [[nodiscard]] std::uint32_t capacity() const;
};

}  // namespace mrc::fabric
