// SPDX-License-Identifier: BSD-3-Clause
#include "nic/port_stage.h"

#include <gtest/gtest.h>

#include <array>

namespace mrc::nic {
namespace {

// The stage only carries pointers, so any distinct addresses will do.
struct PortStageTest : ::testing::Test {
  rte_mbuf* mbuf(std::size_t i) { return reinterpret_cast<rte_mbuf*>(&bytes[i]); }
  std::array<char, PortStage::kCapacity> bytes{};
  PortStage stage;
};

using Kind = PortStage::Kind;

TEST_F(PortStageTest, DataHasRoomOnlyWhenEmptyControlHasItsOwnShare) {
  EXPECT_EQ(stage.data_room(), kBurst);
  for (std::size_t i = 0; i < PortStage::kControlShare; ++i) {
    EXPECT_EQ(stage.control_room(), PortStage::kControlShare - i);
    EXPECT_TRUE(stage.push(mbuf(i), 100, Kind::kControl));
  }
  EXPECT_EQ(stage.control_room(), 0U);
  EXPECT_EQ(stage.data_room(), 0U);
  EXPECT_FALSE(stage.push(mbuf(63), 100, Kind::kControl));
  EXPECT_EQ(stage.size(), PortStage::kControlShare);
}

TEST_F(PortStageTest, DataThatWaitsLeavesTheControlShareAlone) {
  for (std::size_t i = 0; i < kBurst; ++i) ASSERT_TRUE(stage.push(mbuf(i), 100, Kind::kData));
  EXPECT_FALSE(stage.push(mbuf(63), 100, Kind::kData));
  EXPECT_EQ(stage.control_room(), PortStage::kControlShare);
  for (std::size_t i = kBurst; i < PortStage::kCapacity; ++i) {
    ASSERT_TRUE(stage.push(mbuf(i), 100, Kind::kControl));
  }
  EXPECT_EQ(stage.control_room(), 0U);
  stage.taken(kBurst + 3);
  EXPECT_EQ(stage.control_room(), 3U);
  EXPECT_EQ(stage.forward_room(), kBurst);
  stage.taken(PortStage::kControlShare - 3);
  EXPECT_EQ(stage.control_room(), PortStage::kControlShare);
}

TEST_F(PortStageTest, ShortBurstsKeepOrderAndLoseNothing) {
  for (std::size_t i = 0; i < 40; ++i) {
    ASSERT_TRUE(stage.push(mbuf(i), 100, i % 4 == 0 ? Kind::kControl : Kind::kData));
  }
  std::size_t next = 0;
  for (const std::size_t took :
       {std::size_t{0}, std::size_t{7}, std::size_t{1}, std::size_t{30}, std::size_t{2}}) {
    for (std::size_t i = 0; i < stage.size(); ++i) ASSERT_EQ(stage.staged()[i], mbuf(next + i));
    EXPECT_EQ(stage.bytes_of_first(took), 100 * took);
    stage.taken(took);
    next += took;
    EXPECT_EQ(stage.data_room(), next == 40 ? kBurst : 0);
    EXPECT_EQ(stage.control_room(), PortStage::kControlShare - (10 - (next + 3) / 4));
  }
  EXPECT_TRUE(stage.empty());
}

}  // namespace
}  // namespace mrc::nic
