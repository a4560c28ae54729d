// SPDX-License-Identifier: BSD-3-Clause
#include "fabric/usid.h"

#include <cassert>

namespace mrc::fabric {

Address make_carrier(std::uint32_t locator, std::span<const std::uint16_t> usids) {
  assert(usids.size() <= kUsidsPerAddress);
  Address a{std::uint64_t{locator} << 32, 0};
  for (std::size_t i = 0; i < usids.size(); ++i) {
    if (i < 2) {
      a.hi |= std::uint64_t{usids[i]} << (16 * (1 - i));
    } else {
      a.lo |= std::uint64_t{usids[i]} << (16 * (5 - i));
    }
  }
  return a;
}

std::uint32_t UsidPlan::locator_of(std::uint32_t plane) const {
  return planes == PlaneEncoding::kInLocator ? locator + (plane << locator_plane_shift) : locator;
}

std::uint32_t UsidPlan::capacity() const {
  const unsigned bits = planes == PlaneEncoding::kInUsid ? plane_bits : 0U;
  return (1U << (16U - bits - tier_bits)) - 1;
}

std::uint16_t UsidPlan::usid(std::uint32_t plane, std::uint32_t tier, std::uint32_t index) const {
  assert(index < capacity() && tier < (1U << tier_bits));
  const unsigned used = planes == PlaneEncoding::kInUsid ? plane_bits : 0U;
  const unsigned index_bits = 16U - used - tier_bits;
  const std::uint32_t high = used == 0 ? 0 : plane << (16U - used);
  return static_cast<std::uint16_t>(high | tier << index_bits | (index + 1));
}

}  // namespace mrc::fabric
