// SPDX-License-Identifier: BSD-3-Clause
// EV expansion: what a case is, and those that no published program gives (see README.md in this directory).
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "path/profile.h"

namespace mrc::path {

struct ExpansionCase {
  std::string name;
  EvFormat format;
  std::vector<std::uint8_t> format_widths;
  std::vector<EvField> fields;
  std::string ev;        ///< hex, left-aligned
  std::string expanded;  ///< hex, left-aligned
};

/// profile_test.cc has the tests, ev_expansion_vectors.cc more cases.
class Expansion : public ::testing::TestWithParam<ExpansionCase> {};
inline std::string name_of(const ::testing::TestParamInfo<ExpansionCase>& info) {
  return info.param.name;
}

inline EvField constant(std::uint32_t width, std::uint32_t value) {
  return {.width = width, .init_val = value};
}
inline EvField masked(std::uint32_t width, std::uint32_t init, std::uint32_t mask) {
  return {.width = width, .init_val = init, .mask = mask};
}

inline std::vector<ExpansionCase> own_expansion_cases() {
  const EvField usid = masked(16, 0, 0xFFFF);
  return {
      {"stev_fixed_upper_bits_with_range",
       EvFormat::kStev,
       {16, 16},
       {{16, 0x0100, 1, 15, 0xF}, {16, 0x0200, 1, 15, 0xF}},
       "a4",
       "010a0204"},
      {"srv6_narrow_fields_with_range",
       EvFormat::kSrv6,
       {32, 16, 16, 16, 16},
       {constant(32, 0x42424242),
        {4, 0, 1, 15, 0xF},
        {4, 0, 1, 15, 0xF},
        {4, 0, 1, 15, 0xF},
        {4, 0, 1, 15, 0xF}},
       "1a2f",
       "424242420001000a0002000f"},
      {"split_mask", EvFormat::kStev, {16}, {{16, 0x1000, 0, 0xFF, 0x0F0F}}, "33", "1303"},
      {"full_32_bit_field", EvFormat::kStev, {32}, {masked(32, 0, 0xFFFFFFFF)}, "80000001", "80000001"},
      {"three_of_five_format_fields",
       EvFormat::kSrv6,
       {32, 16, 16, 16, 16},
       {constant(32, 0xFC000001), usid, usid},
       "aaaabbbb",
       "fc000001aaaabbbb"},
      {"mask_bits_replace_init_bits", EvFormat::kStev, {8}, {masked(8, 0xFF, 0x3C)}, "50", "d7"},
  };
}

}  // namespace mrc::path
