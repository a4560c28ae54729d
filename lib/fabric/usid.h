// SPDX-License-Identifier: BSD-3-Clause
// SRv6 micro-segments: a 32-bit locator and up to six 16-bit uSIDs in one address (F3216 of RFC 9800).
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "fabric/packet.h"
#include "fabric/topology.h"

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

/// uSIDs from here on mean something on one switch only: its adjacencies (uA).
inline constexpr std::uint16_t kFirstLocalUsid = 0xE000;
/// Tier code of hosts.
inline constexpr std::uint32_t kHostCode = 0;

/// A 16-bit uSID plan: plane (kInUsid), tier and index side by side. All but the widths is fixed:
/// uN of a switch: tier code 1 + its tier, index its number in that tier and plane;
/// a host: tier code 0, index its downlink number at its T0, the same at every T0;
/// uA of a link: kFirstLocalUsid + its number among the links of its switch.
struct UsidPlan {
  PlaneEncoding planes = PlaneEncoding::kInUsid;
  std::uint32_t locator = 0xFCBBBBBB;  ///< kInLocator: plane p has locator + (p << locator_plane_shift)
  std::uint8_t locator_plane_shift = 0;
  std::uint8_t plane_bits = 4;  ///< kInUsid: the highest bits; below 0xE000 14 of 16 values are usable
  std::uint8_t tier_bits = 2;

  [[nodiscard]] std::uint32_t locator_of(std::uint32_t plane) const;
  /// Precondition: fits(plane, code, index).
  [[nodiscard]] std::uint16_t usid(std::uint32_t plane, std::uint32_t code, std::uint32_t index) const;
  [[nodiscard]] bool fits(std::uint32_t plane, std::uint32_t code, std::uint32_t index) const;

 private:
  [[nodiscard]] unsigned used_plane_bits() const {
    return planes == PlaneEncoding::kInUsid ? plane_bits : 0U;
  }
  [[nodiscard]] unsigned index_bits() const { return 16U - used_plane_bits() - tier_bits; }
};

/// Gives every switch its uN, a static route to each neighbour's uN and to the hosts below, and a uA for each
/// of its links. Refuses a topology that the plan has not bits enough for.
Result<void> number_usids(Topology& topology, const UsidPlan& plan);

/// The template of a path: the uSIDs of the switches it visits, then the host's. At most six; the host must
/// hang on the last switch.
Result<Address> usid_path(const Topology& topology, const UsidPlan& plan, std::span<const SwitchId> via,
                          HostId to);
/// The uA of a link at the switch it begins at.
std::uint16_t adjacency_usid(const Topology& topology, LinkId link);

}  // namespace mrc::fabric
