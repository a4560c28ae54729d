// SPDX-License-Identifier: BSD-3-Clause
// Two and three tiers: everyone reaches everyone over the shortest way, and ECMP uses all of it.
#include <cmath>
#include <set>

#include "harness.h"

namespace mrc::fabric::test {
namespace {

ClosSpec three_tiers(std::uint32_t k) {
  ClosSpec s;
  s.tiers = 3;
  s.planes = 2;
  s.hosts_per_t0 = s.t1 = s.t0_per_pod = s.t2_per_t1 = k / 2;
  s.hosts = k * k * k / 4;
  return s;
}

void expect_all_pairs(const ClosSpec& spec, std::uint32_t hosts_per_pod) {
  auto f = make_fabric(checked(make_clos(spec)));
  ASSERT_NE(f, nullptr);
  for (HostId a = 0; a < spec.hosts; ++a) {
    for (HostId b = 0; b < spec.hosts; ++b) {
      if (a == b) continue;
      const auto plane = static_cast<std::uint8_t>((a + b) % spec.planes);
      ASSERT_EQ(f->inject(a, plane, data(1, b, static_cast<std::uint16_t>(a * 7 + b)), Time{1}),
                DropReason::kNone);
      const auto out = run(*f, Time{1});
      ASSERT_EQ(out.size(), 1U);
      ASSERT_EQ(out[0].host, b) << a << " -> " << b << ": " << name(out[0].reason);
      const bool same_t0 = a / spec.hosts_per_t0 == b / spec.hosts_per_t0;
      const bool same_pod = spec.tiers == 2 || a / hosts_per_pod == b / hosts_per_pod;
      ASSERT_EQ(out[0].packet.hops, same_t0 ? 1 : same_pod ? 3 : 5);
    }
  }
}

TEST(Clos, ThreeTiersConnectEveryPairOverTheShortestWay) {
  expect_all_pairs(three_tiers(4), 4);
  expect_all_pairs(three_tiers(8), 16);
}

TEST(Clos, TwoTiersConnectEveryPairOverTheShortestWay) {
  ClosSpec s;
  s.planes = 3;
  s.hosts = 24;
  s.hosts_per_t0 = 4;
  s.t1 = 4;
  s.parallel = 2;
  expect_all_pairs(s, 24);
}

TEST(Clos, TheCoreOfAFatTreeCarriesEqualShares) {
  const ClosSpec s = three_tiers(8);
  auto f = make_fabric(checked(make_clos(s)));
  constexpr int kPackets = 32768;
  for (int i = 0; i < kPackets; ++i) {
    f->inject(0, 0, data(i, s.hosts - 1, static_cast<std::uint16_t>(i)), Time{1});
    run(*f, Time{1});
  }
  constexpr double kCores = 16;
  const double mean = kPackets / kCores;
  for (std::uint32_t c = 0; c < 16; ++c) {
    const auto n = sum(f->counters_into(f->topology().find(0, 2, c)).sent);
    EXPECT_NEAR(static_cast<double>(n), mean, 5 * std::sqrt(mean)) << "core " << c;
  }
}

TEST(Clos, CollisionsOfFlowsAreBallsInBins) {
  // One flow per host with one entropy value each: the expected number of unused uplinks is n (1 - 1/n)^n.
  ClosSpec s;
  s.hosts = 64;
  s.hosts_per_t0 = 32;
  s.t1 = 32;
  double empty = 0;
  constexpr int kRuns = 400;
  for (int run_no = 0; run_no < kRuns; ++run_no) {
    FabricConfig config;
    config.seed = static_cast<std::uint64_t>(run_no) + 7;
    config.max_packets = 64;
    auto f = make_fabric(checked(make_clos(s)), config);
    for (HostId h = 0; h < 32; ++h) {
      Packet p = data(h, h + 32, 4791);
      p.flow = h;
      f->inject(h, 0, p, Time{1});
    }
    std::set<LinkId> used;
    run(*f, Time{1});
    for (std::uint32_t j = 0; j < 32; ++j) {
      empty += sum(f->counters_into(f->topology().find(0, 1, j)).sent) == 0 ? 1 : 0;
    }
  }
  const double want = 32 * std::pow(1 - 1.0 / 32, 32);  // 11.6
  EXPECT_NEAR(empty / kRuns, want, 5 * 1.9 / std::sqrt(double{kRuns}));
}

TEST(Clos, AStructuredValueNamesTheWayHopByHop) {
  const ClosSpec s = three_tiers(8);
  FabricConfig config;
  config.forwarding.mode = Forwarding::kStructured;
  config.forwarding.fields[0] = {.shift = 28, .width = 4};  // most significant first
  config.forwarding.fields[1] = {.shift = 24, .width = 4};
  for (const bool low_half_in_sport : {false, true}) {
    config.forwarding.low_half_in_sport = low_half_in_sport;
    auto f = make_fabric(checked(make_clos(s)), config);
    for (std::uint32_t t1 = 0; t1 < 4; ++t1) {
      for (std::uint32_t up = 0; up < 4; ++up) {
        const std::uint32_t ev = t1 << 28 | up << 24 | 0xABCDE;
        Packet p = data(1, s.hosts - 1, static_cast<std::uint16_t>(low_half_in_sport ? ev : ev >> 16));
        p.label = static_cast<std::uint16_t>(low_half_in_sport ? ev >> 16 : ev);
        const SwitchId core = f->topology().find(0, 2, t1 * 4 + up);
        const auto before = sum(f->counters_into(core).sent);
        f->inject(0, 0, p, Time{1});
        run(*f, Time{1});
        EXPECT_EQ(sum(f->counters_into(core).sent), before + 1);
      }
    }
  }
}

TEST(Clos, RefusesHostsThatDoNotFillTheirPods) {
  ClosSpec s = three_tiers(4);
  s.hosts = 15;
  const auto r = make_clos(s);
  ASSERT_FALSE(r);
  EXPECT_NE(r.error().message.find("multiple of 4"), std::string::npos) << r.error().message;
}

TEST(Clos, AForeignTopologyWithBrokenTablesIsRefused) {
  Topology t = checked(make_clos({}));
  t.switches[0].up.push_back(0);  // begins at a host
  EXPECT_FALSE(Fabric::create(t, {}));
  t = checked(make_clos({}));
  t.links[0].to.id = 77;
  EXPECT_FALSE(Fabric::create(t, {}));
  t = checked(make_clos({}));
  t.host_up.pop_back();
  EXPECT_FALSE(Fabric::create(t, {}));
}

TEST(Clos, AHostThatDoesNotExistIsNoRoute) {
  ClosSpec s;
  s.hosts = 4;
  s.hosts_per_t0 = 2;
  s.t1 = 2;
  auto f = make_fabric(checked(make_clos(s)));
  f->inject(0, 0, data(1, 99, 3), Time{1});
  const auto out = run(*f, Time{1});
  ASSERT_EQ(out.size(), 1U);
  EXPECT_EQ(out[0].reason, DropReason::kNoRoute);
}

}  // namespace
}  // namespace mrc::fabric::test
