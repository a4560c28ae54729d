// SPDX-License-Identifier: BSD-3-Clause
// Source routing by micro-segments.
#include "fabric/usid.h"

#include "harness.h"

namespace mrc::fabric::test {
namespace {

constexpr std::uint32_t kLocator = 0xFCBBBBBB;

TEST(Usid, CarriesUpToSixInOrder) {
  const std::uint16_t ids[] = {1, 0x1001, 2, 0xb001, 0xfe09, 0x6666};
  EXPECT_EQ(make_carrier(kLocator, ids), (Address{0xFCBBBBBB00011001ULL, 0x0002b001fe096666ULL}));
  EXPECT_EQ(make_carrier(kLocator, std::span(ids, 2)), (Address{0xFCBBBBBB00011001ULL, 0}));
}

TEST(Usid, EachShiftConsumesOne) {
  const std::uint16_t ids[] = {1, 2, 3, 4, 5, 6};
  Address a = make_carrier(kLocator, ids);
  for (std::uint16_t want = 1; want <= 6; ++want) {
    EXPECT_EQ(active48(a), prefix48(kLocator, want));
    EXPECT_EQ(has_more_usids(a), want < 6);
    a = shift_usid(a);
  }
  EXPECT_EQ(a, (Address{std::uint64_t{kLocator} << 32, 0}));
}

TEST(Usid, PlansLeaveZeroAndTheLocalRangeAlone) {
  for (const PlaneEncoding encoding : {PlaneEncoding::kInUsid, PlaneEncoding::kInLocator}) {
    const UsidPlan plan{.planes = encoding};
    int fitting = 0;
    for (std::uint32_t plane = 0; plane < 20; ++plane) {
      for (std::uint32_t code = 0; code < 6; ++code) {
        for (const std::uint32_t index : {0U, 7U, 1021U, 1022U, 16382U, 16383U}) {
          if (!plan.fits(plane, code, index)) continue;
          ++fitting;
          const std::uint16_t usid = plan.usid(plane, code, index);
          EXPECT_NE(usid, 0);
          EXPECT_LT(usid, kFirstLocalUsid);
        }
      }
    }
    // In the uSID: planes 0 to 13, four codes, four indices. In the locator: any plane; codes 0
    // to 2 with indices up to 16382, code 3 only below 0xe000.
    EXPECT_EQ(fitting, encoding == PlaneEncoding::kInUsid ? 14 * (4 * 4) : 20 * (3 * 5 + 4));
  }
}

ClosSpec tiers(std::uint32_t n) {
  ClosSpec s;
  s.tiers = n;
  s.planes = 3;
  s.hosts_per_t0 = s.t1 = s.t0_per_pod = s.t2_per_t1 = 2;
  s.hosts = n == 2 ? 8 : 16;
  s.parallel = 1;
  return s;
}

/// All switches on the way, in order.
std::vector<SwitchId> way(const Topology& t, const ClosSpec& s, std::uint32_t plane, HostId from, HostId to,
                          std::uint32_t t1, std::uint32_t t2) {
  const auto pod = [&](HostId h) { return h / (s.hosts_per_t0 * s.t0_per_pod); };
  if (s.tiers == 2) {
    return {t.find(plane, 0, from / s.hosts_per_t0), t.find(plane, 1, t1),
            t.find(plane, 0, to / s.hosts_per_t0)};
  }
  return {t.find(plane, 0, from / s.hosts_per_t0), t.find(plane, 1, pod(from) * s.t1 + t1),
          t.find(plane, 2, t1 * s.t2_per_t1 + t2), t.find(plane, 1, pod(to) * s.t1 + t1),
          t.find(plane, 0, to / s.hosts_per_t0)};
}

TEST(Usid, APathTemplateVisitsExactlyItsSwitches) {
  for (const std::uint32_t n : {2U, 3U}) {
    for (const PlaneEncoding encoding : {PlaneEncoding::kInUsid, PlaneEncoding::kInLocator}) {
      const ClosSpec spec = tiers(n);
      const UsidPlan plan{.planes = encoding};
      Topology t = checked(make_clos(spec));
      ASSERT_TRUE(number_usids(t, plan));
      auto f = make_fabric(t);
      for (std::uint8_t plane = 0; plane < spec.planes; ++plane) {
        for (std::uint32_t path = 0; path < 4; ++path) {
          const HostId to = spec.hosts - 1 - path % 2;
          const auto via = way(t, spec, plane, 0, to, path / 2, path % 2);
          const auto address = usid_path(t, plan, via, to);
          ASSERT_TRUE(address) << address.error().message;
          Packet p = data(1, /*ignored*/ 0, static_cast<std::uint16_t>(path));
          p.srv6 = true;
          p.usid = *address;
          std::vector<std::uint64_t> before;
          for (const SwitchId s : via) before.push_back(sum(f->counters_into(s).sent));
          f->inject(0, plane, p, Time{1});
          const auto out = run(*f, Time{1});
          ASSERT_EQ(out.size(), 1U);
          EXPECT_EQ(out[0].host, to) << name(out[0].reason);
          EXPECT_EQ(out[0].packet.hops, via.size());
          EXPECT_FALSE(has_more_usids(out[0].packet.usid)) << "only the host's own uSID is left";
          for (std::size_t i = 0; i < via.size(); ++i)
            EXPECT_EQ(sum(f->counters_into(via[i]).sent), before[i] + 1);
        }
      }
    }
  }
}

TEST(Usid, AnAdjacencyNamesOneOfParallelCables) {
  ClosSpec spec = tiers(2);
  spec.parallel = 3;
  const UsidPlan plan;
  Topology t = checked(make_clos(spec));
  ASSERT_TRUE(number_usids(t, plan));
  auto f = make_fabric(t);
  const SwitchId t0 = t.find(1, 0, 0);
  for (const LinkId cable : t.switches[t0].up) {
    // uN of the T0, its uA, then the rest of the way.
    const SwitchId t1 = t.links[cable].to.id;
    const SwitchId last = t.find(1, 0, 3);
    const auto tail = usid_path(t, plan, std::array{t0, t1, last}, 7);
    ASSERT_TRUE(tail);
    const std::uint16_t ids[] = {static_cast<std::uint16_t>(active48(*tail)), adjacency_usid(t, cable),
                                 static_cast<std::uint16_t>(tail->hi),
                                 static_cast<std::uint16_t>(tail->lo >> 48),
                                 static_cast<std::uint16_t>(tail->lo >> 32)};
    Packet p = data(1, 0, 9);
    p.srv6 = true;
    p.usid = make_carrier(kLocator, ids);
    f->inject(0, 1, p, Time{1});
    const auto out = run(*f, Time{1});
    ASSERT_EQ(out.size(), 1U);
    EXPECT_EQ(out[0].host, 7U) << name(out[0].reason);
    EXPECT_EQ(sum(f->link(cable).counters.sent), 1U);
  }
}

TEST(Usid, ASegmentContinuesWhereTheCarrierEnds) {
  const ClosSpec spec = tiers(3);
  const UsidPlan plan;
  Topology t = checked(make_clos(spec));
  ASSERT_TRUE(number_usids(t, plan));
  auto f = make_fabric(t);
  const auto via = way(t, spec, 0, 0, 15, 1, 1);
  const auto rest = usid_path(t, plan, std::span(via).subspan(2), 15);
  ASSERT_TRUE(rest);
  const std::uint16_t first[] = {static_cast<std::uint16_t>(t.switches[via[0]].usid48),
                                 static_cast<std::uint16_t>(t.switches[via[1]].usid48)};
  Packet p = data(1, 0, 9);
  p.srv6 = true;
  p.usid = make_carrier(kLocator, first);
  p.segment = *rest;
  p.segments_left = 1;
  f->inject(0, 0, p, Time{1});
  const auto out = run(*f, Time{1});
  ASSERT_EQ(out.size(), 1U);
  EXPECT_EQ(out[0].host, 15U) << name(out[0].reason);
  EXPECT_EQ(out[0].packet.segments_left, 0);
}

TEST(Usid, AListThatEndsOrErrsOnTheWayIsDropped) {
  const ClosSpec spec = tiers(2);
  const UsidPlan plan;
  Topology t = checked(make_clos(spec));
  ASSERT_TRUE(number_usids(t, plan));
  auto f = make_fabric(t);
  const auto own = static_cast<std::uint16_t>(t.switches[t.find(0, 0, 0)].usid48);
  const std::vector<std::vector<std::uint16_t>> lists = {{own},    {own, 0, 5}, {own, 0xDFFF},
                                                         {0x7777}, {},          {own, 0xFFFF}};
  for (const auto& ids : lists) {
    Packet p = data(1, 7, 9);
    p.srv6 = true;
    p.usid = make_carrier(kLocator, ids);
    f->inject(0, 0, p, Time{1});
    const auto out = run(*f, Time{1});
    ASSERT_EQ(out.size(), 1U);
    EXPECT_EQ(out[0].reason, DropReason::kNoRoute);
  }
  // Back and forth between two switches: each visit spends a uSID, so it ends.
  const auto t1 = static_cast<std::uint16_t>(t.switches[t.find(0, 1, 0)].usid48);
  Packet p = data(1, 7, 9);
  p.srv6 = true;
  p.usid = make_carrier(kLocator, std::array<std::uint16_t, 6>{own, t1, own, t1, own, t1});
  f->inject(0, 0, p, Time{1});
  const auto out = run(*f, Time{1});
  ASSERT_EQ(out.size(), 1U);
  EXPECT_EQ(out[0].reason, DropReason::kNoRoute);
  EXPECT_EQ(out[0].packet.hops, 6);
}

TEST(Usid, RefusesPlansWithoutRoomAndPathsThatAreNone) {
  Topology t = checked(make_clos(tiers(2)));
  UsidPlan narrow;
  narrow.tier_bits = 11;
  EXPECT_FALSE(number_usids(t, narrow));
  UsidPlan few_planes;
  few_planes.plane_bits = 1;
  EXPECT_FALSE(number_usids(t, few_planes));
  const UsidPlan plan;
  ASSERT_TRUE(number_usids(t, plan));
  EXPECT_FALSE(usid_path(t, plan, {}, 0));
  EXPECT_FALSE(usid_path(t, plan, std::array<SwitchId, 1>{9999}, 0));
  EXPECT_FALSE(usid_path(t, plan, std::array<SwitchId, 1>{t.find(0, 1, 0)}, 0)) << "a spine has no hosts";
  EXPECT_FALSE(usid_path(t, plan, std::array<SwitchId, 1>{t.find(0, 0, 0)}, 7)) << "another T0's host";
  EXPECT_FALSE(usid_path(t, plan, std::vector<SwitchId>(6, t.find(0, 0, 0)), 0));
}

}  // namespace
}  // namespace mrc::fabric::test
