// SPDX-License-Identifier: BSD-3-Clause
#include "config/diagnostics.h"

#include <gtest/gtest.h>

#include <array>

namespace mrc::config {
namespace {

TEST(EditDistance, CountsEdits) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("abc", ""), 3U);
  EXPECT_EQ(edit_distance("timeout", "timout"), 1U);
  EXPECT_EQ(edit_distance("timeout", "tiemout"), 1U) << "neighbours swapped is one edit";
  EXPECT_EQ(edit_distance("MTU", "mtu"), 0U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
}

TEST(Nearest, PicksTypingErrorsOnly) {
  constexpr std::array<std::string_view, 3> keys{"timeout", "mtu", "mpr"};
  EXPECT_EQ(nearest("tiemout", keys), "timeout");
  EXPECT_EQ(nearest("mtuu", keys), "mtu");
  EXPECT_EQ(nearest("congestion", keys), "");
  EXPECT_EQ(suggestion("congestion", keys), "; known: timeout, mtu, mpr");
}

TEST(Diagnostics, ReportsTwentyAndCountsTheRest) {
  Diagnostics d("f");
  for (std::uint32_t i = 1; i <= 25; ++i) d.add(i, "k", "bad");
  EXPECT_EQ(d.count(), 25U);
  const std::string text = d.error().message;
  EXPECT_NE(text.find("f:20: k: bad"), std::string::npos);
  EXPECT_EQ(text.find("f:21: k: bad"), std::string::npos);
  EXPECT_NE(text.find("and 5 more"), std::string::npos);
}

}  // namespace
}  // namespace mrc::config
