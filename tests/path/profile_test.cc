// SPDX-License-Identifier: BSD-3-Clause
#include "path/profile.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>
#include <string>

#include "ev_expansion_cases.h"
#include "tables.h"

namespace mrc::path {
namespace {

EvValue from_hex(const std::string& hex) {
  EvValue v{};
  for (std::size_t i = 0; i < hex.size() / 2; ++i)
    v[i] = static_cast<std::uint8_t>(std::stoi(hex.substr(2 * i, 2), nullptr, 16));
  return v;
}

TEST_P(Expansion, GivesThePublishedBytes) {
  const ExpansionCase& c = GetParam();
  const auto ok = check_fields(c.format, c.format_widths, c.fields);
  ASSERT_TRUE(ok) << ok.error().message;
  const auto value = expand(c.format_widths, c.fields, from_hex(c.ev));
  ASSERT_TRUE(value) << value.error().message;
  EXPECT_EQ(*value, from_hex(c.expanded));
}

// The same through a whole EXPLICIT profile.
TEST_P(Expansion, ReachesTheTable) {
  const ExpansionCase& c = GetParam();
  EvProfile p{.format = c.format, .mode = ProfileMode::kExplicit};
  p.format_widths = c.format_widths;
  p.fields = c.fields;
  p.evs = {{from_hex(c.ev), 2}};
  const auto t = build_table(p);
  ASSERT_TRUE(t) << t.error().message;
  EXPECT_EQ((*t)[0].value, from_hex(c.expanded));
  EXPECT_EQ((*t)[0].port, 1) << "the API counts ports from 1";
}

INSTANTIATE_TEST_SUITE_P(Own, Expansion, ::testing::ValuesIn(own_expansion_cases()), name_of);

EvProfile two_nibbles(std::uint32_t count, std::vector<std::uint8_t> ports) {
  EvProfile p{.format = EvFormat::kStev, .mode = ProfileMode::kGenerated};
  p.format_widths = {16, 16};
  p.fields = {{16, 0x0100, 1, 3, 0xF}, {16, 0x0200, 5, 8, 0xF}};
  p.ev_count = count;
  p.api_ports = std::move(ports);
  return p;
}

TEST(Generated, ProductWithTheLastFieldFastest) {  // C29
  const auto t = build_table(two_nibbles(12, {1}));
  ASSERT_TRUE(t) << t.error().message;
  std::size_t i = 0;
  for (std::uint32_t a = 1; a <= 3; ++a)
    for (std::uint32_t b = 5; b <= 8; ++b, ++i)
      EXPECT_EQ((*t)[i].entropy, (0x0100U | a) << 16 | 0x0200U | b) << i;
}

TEST(Generated, TruncatedToTheCount) {
  const auto t = build_table(two_nibbles(5, {1}));
  ASSERT_TRUE(t) << t.error().message;
  EXPECT_EQ(t->size(), 5U);
  EXPECT_EQ((*t)[4].entropy, 0x01020205U);
}

TEST(Generated, EveryPlaneGetsTheSameValuesAndAnEqualShare) {
  const auto t = build_table(two_nibbles(24, {1, 2, 4}));
  ASSERT_TRUE(t) << t.error().message;
  std::map<int, std::set<std::uint32_t>> per_plane;
  for (const EvEntry& e : t->entries()) per_plane[e.port].insert(e.entropy);
  ASSERT_EQ(per_plane.size(), 3U);
  EXPECT_EQ(per_plane[0].size(), 8U);
  EXPECT_EQ(per_plane[0], per_plane[1]);
  EXPECT_EQ(per_plane[0], per_plane[3]);
  EXPECT_EQ(t->find_unique((*t)[0].entropy), -1);
  EXPECT_EQ(t->find_unique((*t)[0].entropy, 1), 1);
}

TEST(Generated, MoreThanTheFieldsGiveIsRefused) {
  const auto t = build_table(two_nibbles(48, {1, 2, 3}));
  ASSERT_FALSE(t);
  EXPECT_NE(t.error().message.find("use ev_count 36"), std::string::npos) << t.error().message;
}

TEST(Generated, ZeroMinAndMaxMeansTheFullRange) {  // C29
  const std::vector<EvField> fields{masked(16, 0, 0x0F0F), constant(16, 7), masked(16, 0, 0xFFFF)};
  EXPECT_EQ(combinations(fields), 256U * 65536U);
  EXPECT_EQ(generated_ev(fields, 0), EvValue{});
  EXPECT_EQ(generated_ev(fields, 65536U * 0xA5 + 0x1234), value_of({0xA5, 0x12, 0x34}));
  const std::vector<EvField> wide(8, masked(32, 0, 0xFFFFFFFF));
  EXPECT_EQ(combinations(wide), std::uint64_t{1} << 63) << "saturates";
  EXPECT_EQ(generated_ev(wide, 0x100000002ULL)[31], 2);
  EXPECT_EQ(generated_ev(wide, 0x100000002ULL)[27], 1);
}

// Any generated EV expands, and distinct indices give distinct values.
TEST(Generated, RoundTripsThroughExpansion) {
  EvProfile p{.format = EvFormat::kSrv6, .mode = ProfileMode::kGenerated};
  p.format_widths = {32, 16, 16, 16};
  p.fields = {
      constant(32, 0xFC000000), {16, 0xE000, 1, 16, 0x0F1F}, {16, 0, 0, 3, 0x0300}, masked(16, 0x8001, 0x7E)};
  p.ev_count = kMaxEvs;
  p.api_ports = {1};
  ASSERT_EQ(combinations(p.fields), 16U * 4U * 64U);
  const auto t = build_table(p);
  ASSERT_TRUE(t) << t.error().message;
  std::set<EvValue> values;
  for (const EvEntry& e : t->entries()) values.insert(e.value);
  EXPECT_EQ(values.size(), kMaxEvs);
}

TEST(Auto, DistinctSeededAndInEqualShares) {
  for (const EvFormat format : {EvFormat::kUdp, EvFormat::kStev})
    for (const EvOrder order : {EvOrder::kA, EvOrder::kB})
      for (const bool ipv6 : {false, true}) {
        EvProfile p{.format = format, .order = order, .ipv6 = ipv6};
        p.ev_count = kMaxEvs;
        p.api_ports = {1, 2, 3, 4};
        const auto t = build_table(p);
        ASSERT_TRUE(t) << t.error().message;
        std::map<int, int> share;
        for (std::size_t i = 0; i < t->size(); ++i) {
          ++share[(*t)[i].port];
          EXPECT_GE((*t)[i].udp_sport, 0xC000);
          ASSERT_EQ(t->find_unique((*t)[i].entropy), static_cast<int>(i)) << "distinct, over IPv4 too";
        }
        EXPECT_EQ(share, (std::map<int, int>{{0, 1024}, {1, 1024}, {2, 1024}, {3, 1024}}));
        p.seed = 2;
        EXPECT_NE((*build_table(p))[0].entropy, (*t)[0].entropy);
      }
}

TEST(Explicit, WithoutFieldsTheEvIsTheExpandedValue) {  // C34
  EvProfile p{.format = EvFormat::kSrv6, .mode = ProfileMode::kExplicit};
  p.evs = {{value_of({0xFC, 0, 0, 1, 0, 2}), 1}, {value_of({0xFC, 0, 0, 1, 0, 3}), 2}};
  const auto t = build_table(p);
  ASSERT_TRUE(t) << t.error().message;
  EXPECT_EQ((*t)[1].value, p.evs[1].ev);
  EXPECT_EQ((*t)[1].port, 1);
}

struct Refusal {
  const char* name;
  std::function<void(EvProfile&)> spoil;
  const char* says;
};

class Refused : public ::testing::TestWithParam<Refusal> {};

// A sound EXPLICIT profile with one thing wrong; the message names it.
TEST_P(Refused, SaysWhatIsWrong) {
  EvProfile p{.format = EvFormat::kStev, .mode = ProfileMode::kExplicit};
  p.format_widths = {16, 16};
  p.fields = {{16, 0x0100, 1, 14, 0xF}, {8, 0x20, 0, 0xF, 0xF}};
  p.evs = {{value_of({0xA4}), 1}, {value_of({0xB5}), 2}};
  ASSERT_TRUE(build_table(p));
  GetParam().spoil(p);
  const auto t = build_table(p);
  ASSERT_FALSE(t);
  EXPECT_NE(t.error().message.find(GetParam().says), std::string::npos) << t.error().message;
}

const auto made = [](EvProfile& p, ProfileMode mode) {
  p.mode = mode;
  p.evs.clear();
  p.ev_count = 4;
  p.api_ports = {1, 2};
};

INSTANTIATE_TEST_SUITE_P(
    Checks, Refused,
    ::testing::Values(
        Refusal{"more_fields_than_format", [](EvProfile& p) { p.fields.push_back(constant(4, 1)); },
                "3 fields but the format has 2"},
        Refusal{"format_wider_than_ev",
                [](EvProfile& p) {
                  p.format_widths = {16, 17};
                },
                "add up to 33 bits"},
        Refusal{"format_slot_zero",
                [](EvProfile& p) {
                  p.format_widths = {16, 0};
                },
                "field 1 is 0 bits"},
        Refusal{"field_wider_than_slot",
                [](EvProfile& p) {
                  p.format_widths = {15, 16};
                },
                "slot has 15 bits"},
        Refusal{"width_zero", [](EvProfile& p) { p.fields[0].width = 0; }, "width is 0"},
        Refusal{"width_33", [](EvProfile& p) { p.fields[0].width = 33; }, "width is 33"},
        Refusal{"init_too_big", [](EvProfile& p) { p.fields[1].init_val = 256; }, "field 1: init_val is 256"},
        Refusal{"mask_above_width", [](EvProfile& p) { p.fields[1].mask = 0x10F; },
                "bits at or above its width of 8"},
        Refusal{"max_above_mask", [](EvProfile& p) { p.fields[0].max_val = 16; }, "hold at most 15"},
        Refusal{"min_above_max", [](EvProfile& p) { p.fields[0].min_val = 15; },
                "min_val 15 is above max_val 14"},
        Refusal{"range_on_constant", [](EvProfile& p) { p.fields[0].mask = 0; }, "mask is 0"},
        Refusal{"ev_below_min", [](EvProfile& p) { p.evs[1].ev = value_of({0x05}); }, "EV 1"},
        Refusal{"ev_above_max", [](EvProfile& p) { p.evs[0].ev = value_of({0xF5}); },
                "gives it 15; allowed is 1 to 14"},
        Refusal{"stray_ev_bits",
                [](EvProfile& p) {
                  p.evs[0].ev = value_of({0xA4, 1});
                },
                "bit 15"},
        Refusal{"unpopulated", [](EvProfile& p) { p.evs[1] = {}; }, "EV 1 is unpopulated"},
        Refusal{"port_zero", [](EvProfile& p) { p.evs[1].api_port = 0; }, "port 0"},
        Refusal{"port_17", [](EvProfile& p) { p.evs[1].api_port = 17; }, "port 17"},
        Refusal{"count_differs", [](EvProfile& p) { p.ev_count = 3; }, "ev_count is 3 but 2 EVs"},
        Refusal{"none", [](EvProfile& p) { p.evs.clear(); }, "ev_count is 0"},
        Refusal{"align", [](EvProfile& p) { p.ev_count_align = 8; }, "multiple of 8 (ev_count_align): use 8"},
        Refusal{"align_zero", [](EvProfile& p) { p.ev_count_align = 0; }, "ev_count_align is 0"},
        Refusal{"too_many",
                [](EvProfile& p) {
                  made(p, ProfileMode::kGenerated);
                  p.ev_count = 5000;
                },
                "limit is 4096"},
        Refusal{"unequal_shares",
                [](EvProfile& p) {
                  made(p, ProfileMode::kGenerated);
                  p.ev_count = 7;
                },
                "use 8"},
        Refusal{"auto_srv6",
                [](EvProfile& p) {
                  made(p, ProfileMode::kAuto);
                  p.fields.clear();
                  p.format = EvFormat::kSrv6;
                },
                "AUTO cannot make SRv6"},
        Refusal{"auto_fields", [](EvProfile& p) { made(p, ProfileMode::kAuto); }, "AUTO takes no fields"},
        Refusal{"generated_without_fields",
                [](EvProfile& p) {
                  made(p, ProfileMode::kGenerated);
                  p.fields.clear();
                },
                "GENERATED without fields"},
        Refusal{"evs_listed_but_generated", [](EvProfile& p) { p.mode = ProfileMode::kGenerated; },
                "not EXPLICIT"},
        Refusal{"port_listed_twice",
                [](EvProfile& p) {
                  made(p, ProfileMode::kGenerated);
                  p.api_ports = {2, 2};
                },
                "listed twice"},
        Refusal{"no_ports",
                [](EvProfile& p) {
                  made(p, ProfileMode::kGenerated);
                  p.api_ports.clear();
                },
                "no ports"}),
    [](const auto& param_info) { return param_info.param.name; });

}  // namespace
}  // namespace mrc::path
