// SPDX-License-Identifier: BSD-3-Clause
#include "path/ev_table.h"

#include <gtest/gtest.h>

#include <vector>

#include "tables.h"

namespace mrc::path {
namespace {

EvTable make(EvFormat format, EvOrder order, bool ipv6, const std::vector<EvValue>& values,
             const std::vector<std::uint8_t>& ports) {
  auto t = EvTable::create(format, order, ipv6, values, ports);
  EXPECT_TRUE(t) << t.error().message;
  return std::move(*t);
}

struct PlacementCase {
  const char* name;
  EvFormat format;
  EvOrder order;
  bool ipv6;
  std::uint16_t sport, flow_label;
  std::uint32_t entropy;
};

class Placement : public ::testing::TestWithParam<PlacementCase> {};

// One EV, 12 34 56 78, under every placement of 5.1 and C7.
TEST_P(Placement, HalvesGoWhereTheOrderSays) {
  const PlacementCase& c = GetParam();
  const EvValue value =
      c.format == EvFormat::kUdp ? value_of({0x12, 0x34}) : value_of({0x12, 0x34, 0x56, 0x78});
  const EvTable t = make(c.format, c.order, c.ipv6, {value}, {0});
  EXPECT_EQ(t[0].udp_sport, c.sport);
  EXPECT_EQ(t[0].flow_label, c.flow_label);
  EXPECT_EQ(t[0].entropy, c.entropy);
  EXPECT_EQ(t[0].value, value);
}

INSTANTIATE_TEST_SUITE_P(
    C7, Placement,
    ::testing::Values(
        PlacementCase{"stev_B_v6", EvFormat::kStev, EvOrder::kB, true, 0x1234, 0x5678, 0x12345678},
        PlacementCase{"stev_A_v6", EvFormat::kStev, EvOrder::kA, true, 0x5678, 0x1234, 0x12345678},
        PlacementCase{"stev_B_v4", EvFormat::kStev, EvOrder::kB, false, 0x1234, 0, 0x12340000},
        PlacementCase{"stev_A_v4", EvFormat::kStev, EvOrder::kA, false, 0x5678, 0, 0x00005678},
        PlacementCase{"udp_B_v6", EvFormat::kUdp, EvOrder::kB, true, 0x1234, 0, 0x12340000},
        PlacementCase{"udp_A_v6", EvFormat::kUdp, EvOrder::kA, true, 0x1234, 0, 0x00001234},
        PlacementCase{"udp_B_v4", EvFormat::kUdp, EvOrder::kB, false, 0x1234, 0, 0x12340000}),
    [](const auto& param_info) { return param_info.param.name; });

// The reflected form of an SRv6 EV is private to the sender (C36); ours leads back to the index.
TEST(EvTable, Srv6EntropyLeadsBackToTheIndex) {
  for (const EvFormat format : {EvFormat::kSrv6, EvFormat::kSrv6Srh}) {
    const std::vector<EvValue> same(kMaxEvs, value_of({0xFC, 0, 1, 2, 3, 4, 5, 6}));
    const EvTable t = make(format, EvOrder::kB, true, same, std::vector<std::uint8_t>(kMaxEvs, 0));
    for (std::size_t i = 0; i < t.size(); ++i) {
      EXPECT_GE(t[i].udp_sport, 0xC000);
      ASSERT_EQ(t.find_unique(t[i].entropy), static_cast<int>(i));
    }
  }
}

TEST(EvTable, FindUniqueRefusesToGuess) {  // D12
  const EvValue a = value_of({0xC0, 1});
  const EvValue b = value_of({0xC0, 2});
  const EvValue c = value_of({0xC0, 3});
  const EvTable t = make(EvFormat::kUdp, EvOrder::kB, false, {a, b, a, c, c}, {0, 0, 1, 1, 1});
  EXPECT_EQ(t.find_unique(0xC0010000), -1) << "on two planes";
  EXPECT_EQ(t.find_unique(0xC0010000, 0), 0);
  EXPECT_EQ(t.find_unique(0xC0010000, 1), 2);
  EXPECT_EQ(t.find_unique(0xC0010000, 2), -1);
  EXPECT_EQ(t.find_unique(0xC0020000), 1);
  EXPECT_EQ(t.find_unique(0xC0020000, 1), -1) << "not on that plane";
  EXPECT_EQ(t.find_unique(0xC0030000, 1), -1) << "twice on one plane";
  EXPECT_EQ(t.find_unique(0xDEAD0000), -1);
  EXPECT_EQ(t.planes(), 2U);
}

TEST(EvTable, RefusalsSayWhatWhereAndTheLimit) {
  const EvValue v = value_of({1, 2});
  const auto message = [](EvFormat f, const std::vector<EvValue>& values,
                          const std::vector<std::uint8_t>& ports) {
    auto r = EvTable::create(f, EvOrder::kB, true, values, ports);
    EXPECT_FALSE(r);
    return r ? std::string() : r.error().message;
  };
  EXPECT_NE(message(EvFormat::kUdp, {}, {}).find("0 EVs"), std::string::npos);
  EXPECT_NE(
      message(EvFormat::kUdp, std::vector<EvValue>(4097, v), std::vector<std::uint8_t>(4097, 0)).find("4096"),
      std::string::npos);
  EXPECT_NE(message(EvFormat::kUdp, {v, v}, {0}).find("2 values but 1 ports"), std::string::npos);
  EXPECT_NE(message(EvFormat::kUdp, {v}, {16}).find("plane 16"), std::string::npos);
  EXPECT_NE(message(EvFormat::kUdp, {value_of({1, 2, 3})}, {0}).find("beyond the 16"), std::string::npos);
}

}  // namespace
}  // namespace mrc::path
