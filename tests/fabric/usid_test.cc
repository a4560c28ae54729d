// SPDX-License-Identifier: BSD-3-Clause
// Source routing by micro-segments.
#include "fabric/usid.h"

#include "harness.h"

namespace mrc::fabric::test {
namespace {

constexpr std::uint32_t kLocator = 0xFCBBBBBB;

TEST(Usid, CarriesUpToSixInOrder) {
  const std::uint16_t ids[] = {1, 0x1001, 2, 0xb001, 0xfe09, 0x6666};
  EXPECT_EQ(make_carrier(kLocator, ids), (Address{0xFCBBBBBB00011001ULL, 0x0002b001fe096666ULL}));
  EXPECT_EQ(make_carrier(kLocator, std::span(ids, 2)), (Address{0xFCBBBBBB00011001ULL, 0}));
}

TEST(Usid, EachShiftConsumesOne) {
  const std::uint16_t ids[] = {1, 2, 3, 4, 5, 6};
  Address a = make_carrier(kLocator, ids);
  for (std::uint16_t want = 1; want <= 6; ++want) {
    EXPECT_EQ(active48(a), prefix48(kLocator, want));
    EXPECT_EQ(has_more_usids(a), want < 6);
    a = shift_usid(a);
  }
  EXPECT_EQ(a, (Address{std::uint64_t{kLocator} << 32, 0}));
}

TEST(Usid, BothPlaneEncodingsGiveDistinctPrefixes) {
  UsidPlan in_usid;
  EXPECT_EQ(in_usid.capacity(), 2047U);
  EXPECT_EQ(in_usid.usid(5, 1, 0), 0xA801);
  EXPECT_EQ(in_usid.locator_of(5), kLocator);
  UsidPlan in_locator{.planes = PlaneEncoding::kInLocator, .locator = 0xFC000000};
  EXPECT_EQ(in_locator.capacity(), 16383U);
  EXPECT_EQ(in_locator.usid(5, 1, 0), 0x4001);
  EXPECT_EQ(in_locator.locator_of(5), 0xFC000005U);
}

}  // namespace
}  // namespace mrc::fabric::test
