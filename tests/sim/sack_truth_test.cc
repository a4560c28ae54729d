// SPDX-License-Identifier: BSD-3-Clause
#include "sim/sack_truth.h"

#include <gtest/gtest.h>

namespace mrc::sim {
namespace {

constexpr Psn kFirst{0xFFFFF0};
constexpr std::uint32_t kNominal = 1100;

/// Packets 0, 1, 2, 5 and 7 of a window of 128 are accepted.
SackTruth truth() {
  SackTruth t(kFirst, 128, RcvdUnits{3});
  for (const int i : {5, 0, 1, 7, 2}) t.accept(kFirst + i, kNominal);
  return t;
}

wire::SackView good() {
  wire::SackView s;
  s.cack_psn = kFirst + 2;
  s.sack_offset = 1;
  s.sack_bitmap = 0b10100;
  s.ack_psn_offset = 5;
  s.ooo_count = 2;
  s.rcvd_bytes = RcvdUnits{3 + (5 * kNominal + 255) / 256};
  return s;
}

TEST(SackTruth, TheTruthPasses) {
  SackTruth t = truth();
  EXPECT_EQ(t.objection(good()), "");
  EXPECT_EQ(t.cack_index(), 2);
  EXPECT_EQ(t.highest_index(), 7);
  EXPECT_EQ(t.out_of_order(), 2);
  EXPECT_TRUE(t.accepted(kFirst + 7));
  EXPECT_FALSE(t.accepted(kFirst + 6));
  EXPECT_FALSE(t.accepted(kFirst + (-1)));
  wire::SackView below = good();  // a bitmap that begins below cack
  below.sack_offset = -1;
  below.sack_bitmap = 0b1010011;
  EXPECT_EQ(t.objection(below), "");
}

TEST(SackTruth, EachFieldThatLiesIsNamed) {
  const auto wrong = [](auto change) {
    SackTruth t = truth();
    wire::SackView s = good();
    change(s);
    return t.objection(s);
  };
  using S = wire::SackView;
  EXPECT_NE(wrong([](S& s) { s.cack_psn = kFirst + 1; }).find("cack_psn"), std::string::npos);
  EXPECT_NE(wrong([](S& s) { s.sack_bitmap = 0b00100; }).find("bit 4"), std::string::npos);
  EXPECT_NE(wrong([](S& s) { s.sack_bitmap = 0b10101; }).find("bit 0"), std::string::npos);
  EXPECT_NE(wrong([](S& s) { s.sack_offset = 2; }).find("bitmap"), std::string::npos);
  EXPECT_NE(wrong([](S& s) { s.ooo_count = 3; }).find("ooo_count"), std::string::npos);
  EXPECT_NE(wrong([](S& s) { ++s.rcvd_bytes; }).find("rcvd_bytes"), std::string::npos);
  EXPECT_NE(wrong([](S& s) { s.ack_psn_offset = 4; }).find("ack_psn"), std::string::npos);
}

// In any W / 64 + 1 consecutive SACKs, all of a window of W is shown.
TEST(SackTruth, AWalkThatStandsStillIsFound) {
  const auto sacks_until_objection = [](bool walks) {
    SackTruth t(kFirst, 256, RcvdUnits{});
    for (int i = 1; i < 256; ++i) t.accept(kFirst + i, 256);
    for (int n = 0; n < 40; ++n) {
      wire::SackView s;
      s.cack_psn = kFirst + (-1);
      s.sack_offset = static_cast<std::int16_t>(1 + (walks ? n % 4 * 64 : 64));
      s.sack_bitmap = s.sack_offset == 1 ? ~std::uint64_t{1} : ~std::uint64_t{0};
      s.ack_psn_offset = 2;
      s.ooo_count = 255;
      s.rcvd_bytes = RcvdUnits{255};
      if (!t.objection(s).empty()) return n;
    }
    return -1;
  };
  EXPECT_EQ(sacks_until_objection(true), -1);
  EXPECT_GE(sacks_until_objection(false), 0);
}

}  // namespace
}  // namespace mrc::sim
