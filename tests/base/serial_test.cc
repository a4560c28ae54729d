// SPDX-License-Identifier: BSD-3-Clause
#include "base/serial.h"

#include <gtest/gtest.h>

#include <type_traits>

namespace mrc {
namespace {

template <class T>
concept HasLess = requires(T a, T b) {
  a < b;
};
template <class T>
concept ComparesWithInt = requires(T a, int b) {
  a == b;
};

static_assert(!HasLess<Psn>, "order of serial numbers must be asked for by name");
static_assert(!ComparesWithInt<Psn>, "a bare integer is no PSN");
static_assert(!std::is_convertible_v<int, Psn>);
static_assert(!std::is_convertible_v<Psn, Tick>);

TEST(Serial, ArithmeticWrapsAtTheWidth) {
  EXPECT_EQ((Psn{0xFFFFFF} + 1).value(), 0U);
  EXPECT_EQ((Psn{0} - 1).value(), 0xFFFFFFU);
  EXPECT_EQ((Msn{0xFFFF} + 2).value(), 1U);
  EXPECT_EQ(Psn{0x1000005}.value(), 5U) << "construction masks";
}

TEST(Serial, DistanceIsSignedAndSymmetricAroundTheWrap) {
  for (const std::uint32_t base : {0U, 1U, 0x7FFFFFU, 0x800000U, 0xFFFFFEU, 0xFFFFFFU}) {
    for (const std::int32_t d : {0, 1, -1, 2, 32640, -32640, 0x7FFFFF, -0x7FFFFF}) {
      EXPECT_EQ((Psn{base} + d) - Psn{base}, d) << base << " " << d;
      EXPECT_EQ((Psn{base} + d).after(Psn{base}), d > 0);
      EXPECT_EQ((Psn{base} + d).before(Psn{base}), d < 0);
      EXPECT_EQ((Psn{base} + d).at_or_before(Psn{base}), d <= 0);
      EXPECT_EQ((Psn{base} + d).at_or_after(Psn{base}), d >= 0);
    }
  }
}

TEST(Serial, HalfTheRangeAwayIsTheOldest) {
  EXPECT_EQ(Psn{0x800000} - Psn{0}, -0x800000);
}

}  // namespace
}  // namespace mrc
