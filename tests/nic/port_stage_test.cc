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

TEST_F(PortStageTest, DataHasRoomOnlyWhenEmptyControlHasItsOwnShare) {
  EXPECT_EQ(stage.data_room(), kBurst);
  for (std::size_t i = 0; i < PortStage::kControlShare; ++i) {
    EXPECT_EQ(stage.control_room(), PortStage::kControlShare - i);
    stage.push(mbuf(i), 100);
  }
  EXPECT_EQ(stage.control_room(), 0U);
  EXPECT_EQ(stage.data_room(), 0U);
}

TEST_F(PortStageTest, ShortBurstsKeepOrderAndLoseNothing) {
  for (std::size_t i = 0; i < 40; ++i) stage.push(mbuf(i), 100);
  std::size_t next = 0;
  for (const std::size_t took :
       {std::size_t{0}, std::size_t{7}, std::size_t{1}, std::size_t{30}, std::size_t{2}}) {
    for (std::size_t i = 0; i < stage.size(); ++i) ASSERT_EQ(stage.staged()[i], mbuf(next + i));
    EXPECT_EQ(stage.bytes_of_first(took), 100 * took);
    stage.taken(took);
    next += took;
    EXPECT_EQ(stage.data_room(), next == 40 ? kBurst : 0);
  }
  EXPECT_TRUE(stage.empty());
}

TEST_F(PortStageTest, ControlReturnsToABackedUpPortAsRoomAppears) {
  for (std::size_t i = 0; i < 50; ++i) stage.push(mbuf(i), 100);
  EXPECT_EQ(stage.control_room(), 0U);
  stage.taken(30);
  EXPECT_EQ(stage.control_room(), PortStage::kControlShare - 20);
  EXPECT_EQ(stage.data_room(), 0U) << "data waits for an empty stage";
}

}  // namespace
}  // namespace mrc::nic
