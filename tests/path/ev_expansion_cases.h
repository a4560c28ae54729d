// SPDX-License-Identifier: BSD-3-Clause
// EV expansion, worked out elsewhere (see README.md in this directory).
#pragma once

#include <cstdint>
#include <vector>

#include "path/profile.h"

namespace mrc::path {

struct ExpansionCase {
  const char* name;
  EvFormat format;
  std::vector<std::uint8_t> format_widths;
  std::vector<EvField> fields;
  const char* ev;        ///< hex, left-aligned
  const char* expanded;  ///< hex, left-aligned
};

inline EvField constant(std::uint32_t width, std::uint32_t value) {
  return {.width = width, .init_val = value};
}
inline EvField masked(std::uint32_t width, std::uint32_t init, std::uint32_t mask) {
  return {.width = width, .init_val = init, .mask = mask};
}

inline std::vector<ExpansionCase> expansion_cases() {
  const EvField usid = masked(16, 0, 0xFFFF);
  const EvField nibble = masked(4, 0, 0xF);
  return {
      {"stev_full_mask", EvFormat::kStev, {16, 16}, {usid, usid}, "f3b04256", "f3b04256"},
      {"stev_fixed_upper_bits",
       EvFormat::kStev,
       {16, 16},
       {masked(16, 0x0100, 0xF), masked(16, 0x0200, 0xF)},
       "a4",
       "010a0204"},
      {"stev_fixed_upper_bits_with_range",
       EvFormat::kStev,
       {16, 16},
       {{16, 0x0100, 1, 15, 0xF}, {16, 0x0200, 1, 15, 0xF}},
       "a4",
       "010a0204"},
      {"three_tiers_8_4_4", EvFormat::kStev, {8, 4, 4}, {masked(8, 0, 0xFF), nibble, nibble}, "b35c", "b35c"},
      {"srv6_fixed_locator_four_usids",
       EvFormat::kSrv6,
       {32, 16, 16, 16, 16},
       {constant(32, 0xCAFECAFE), usid, usid, usid, usid},
       "43ba48d6a43de086",
       "cafecafe43ba48d6a43de086"},
      {"srv6_narrow_fields_in_wide_slots",
       EvFormat::kSrv6,
       {32, 16, 16, 16, 16},
       {constant(32, 0x42424242), nibble, nibble, nibble, nibble},
       "1a2f",
       "424242420001000a0002000f"},
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
      {"srv6_srh_two_carriers",
       EvFormat::kSrv6Srh,
       {32, 16, 16, 16, 16, 16, 16, 32, 16, 16},
       {constant(32, 0xCAFECAFE), usid, usid, usid, usid, usid, usid, constant(32, 0xDECAFBAD), usid, usid},
       "11112222333344445555666677778888",
       "cafecafe111122223333444455556666decafbad77778888"},
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
