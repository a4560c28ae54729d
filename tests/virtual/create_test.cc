// SPDX-License-Identifier: BSD-3-Clause
// A fabric that can not be made leaves nothing behind.
#include <rte_ring.h>

#include "fixture.h"
#include "ring/ring_pair.h"

namespace mrc::virt::test {
namespace {

TEST(Create, AFabricThatFailsHalfwayTakesItsPortsWithIt) {
  VirtualConfig config;
  config.name = "half";
  config.hosts = 2;
  config.planes = 2;
  config.paths = 1;
  const unsigned before = rte_eth_dev_count_avail();
  // A ring of that name exists: the last port can not have it, when three are open already.
  rte_ring* taken = rte_ring_create("half_h1p1r0", 64, SOCKET_ID_ANY, 0);
  ASSERT_NE(taken, nullptr);
  EXPECT_FALSE(VirtualFabric::create(config));
  EXPECT_EQ(rte_eth_dev_count_avail(), before) << "ports over freed rings";
  rte_ring_free(taken);
  for (int i = 0; i < 2; ++i) {
    const auto again = VirtualFabric::create(config);
    ASSERT_TRUE(again) << again.error().message;
  }
  EXPECT_EQ(rte_eth_dev_count_avail(), before);
}

TEST(Create, RingPairsThatFailHalfwayTakeTheirPortsWithThem) {
  ring::RingPairConfig config;
  config.planes = RTE_MAX_ETHPORTS / 2 + 1;
  const unsigned before = rte_eth_dev_count_avail();
  EXPECT_FALSE(ring::RingPair::create(config));
  EXPECT_EQ(rte_eth_dev_count_avail(), before);
  config.planes = 4;
  for (int i = 0; i < 3; ++i) {
    const auto pair = ring::RingPair::create(config);
    ASSERT_TRUE(pair) << pair.error().message;
    EXPECT_EQ(rte_eth_dev_count_avail(), before + 8);
  }
  EXPECT_EQ(rte_eth_dev_count_avail(), before);
}

}  // namespace
}  // namespace mrc::virt::test
