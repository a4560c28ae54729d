// SPDX-License-Identifier: BSD-3-Clause
// The virtual fabric as configured, and the ways through it that SRv6 EVs name.
#include "fabric_paths.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "config/ev_profile.h"
#include "fabric/fabric.h"

namespace mrc::endpoint {
namespace {

config::EndpointConfig of_format(path::EvFormat format) {
  config::EndpointConfig c;
  c.ev.format = format;
  c.plane_count = 3;
  c.fabric.paths_per_plane = 5;
  config::fill_addresses(c, 1);
  return c;
}

fabric::Address address_at(const std::string& hex, std::size_t digit) {
  return {std::stoull(hex.substr(2 + digit, 16), nullptr, 16),
          std::stoull(hex.substr(2 + digit + 16, 16), nullptr, 16)};
}

// Each EV is a way of its own, and the fabric takes it to the other host.
TEST(FabricPaths, EachEvOfSrv6IsOneWayToTheOtherHost) {
  for (const auto format : {path::EvFormat::kSrv6, path::EvFormat::kSrv6Srh}) {
    for (const fabric::HostId from : {0U, 1U}) {
      config::EndpointConfig c = of_format(format);
      auto topology = virtual_topology(c);
      ASSERT_TRUE(topology) << topology.error().message;
      ASSERT_TRUE(name_ways(c, *topology, from));
      ASSERT_EQ(c.ev.values.size(), 15U);
      ASSERT_TRUE(path::build_table(config::ev_profile_of(c, true, 1)));
      auto net = fabric::Fabric::create(*std::move(topology), {});
      ASSERT_TRUE(net);
      std::set<std::vector<fabric::LinkId>> ways;
      for (const config::EvValueConfig& v : c.ev.values) {
        fabric::Packet p;
        p.srv6 = true;
        p.usid = address_at(v.ev, 0);
        if (format == path::EvFormat::kSrv6Srh) {
          p.segment = address_at(v.ev, 32);
          p.segments_left = 1;
        }
        const std::vector<fabric::LinkId> way = (*net)->path_of(from, v.plane, p);
        ASSERT_EQ(way.back(), (*net)->topology().down_of(1 - from, v.plane)) << v.ev;
        ways.insert(way);
      }
      EXPECT_EQ(ways.size(), 15U);
    }
  }
}

TEST(FabricPaths, OtherFormatsAreLeftAlone) {
  config::EndpointConfig c = of_format(path::EvFormat::kUdp);
  const auto topology = virtual_topology(c);
  ASSERT_TRUE(topology);
  ASSERT_TRUE(name_ways(c, *topology, 0));
  EXPECT_TRUE(c.ev.values.empty());
  EXPECT_EQ(c.ev.mode, config::EvMode::kAuto);
}

TEST(FabricPaths, PathsHaveTheConfiguredQueues) {
  config::EndpointConfig c = of_format(path::EvFormat::kUdp);
  c.fabric.link_gbps = 2;
  c.fabric.queue_bytes = 100000;
  c.fabric.ecn = c.fabric.trim = true;
  c.fabric.trim_bytes = 200;
  const auto topology = virtual_topology(c);
  ASSERT_TRUE(topology);
  const auto path = std::find_if(topology->links.begin(), topology->links.end(),
                                 [](const fabric::LinkSpec& l) { return l.port.rate_bps != 0; });
  ASSERT_NE(path, topology->links.end());
  EXPECT_EQ(path->port.rate_bps, 2'000'000'000U);
  EXPECT_EQ(path->port.data_queue_bytes, 100000U);
  EXPECT_TRUE(path->port.ecn.enabled && path->port.trim.enabled);
  EXPECT_EQ(path->port.ecn.min_bytes, 25000U);
  EXPECT_EQ(path->port.ecn.max_bytes, 75000U);
  EXPECT_EQ(path->port.trim.size_bytes, 200U);
}

}  // namespace
}  // namespace mrc::endpoint
