// SPDX-License-Identifier: BSD-3-Clause
// The shape of the virtual port: planes of parallel paths.
#include <cmath>
#include <map>

#include "harness.h"

namespace mrc::fabric::test {
namespace {

constexpr std::uint32_t kPlanes = 4;
constexpr std::uint32_t kPaths = 8;

FabricConfig modulo() {
  FabricConfig c;
  c.forwarding.mode = Forwarding::kModulo;
  return c;
}
PortConfig delayed(Duration d) {
  PortConfig p;
  p.delay = d;
  return p;
}
std::uint64_t carried(const Fabric& f, std::uint32_t plane, std::uint32_t path) {
  return sum(f.counters_into(f.topology().find(plane, 1, path)).sent);
}

TEST(ParallelPaths, TheSourcePortPicksThePathAndThePortThePlane) {
  auto f = make_fabric(checked(make_parallel_paths(2, kPlanes, kPaths, delayed(microseconds(3)))), modulo());
  for (std::uint32_t plane = 0; plane < kPlanes; ++plane) {
    for (std::uint16_t sport = 0; sport < 64; ++sport) {
      f->inject(sport % 2, static_cast<std::uint8_t>(plane), data(sport, 1 - sport % 2, sport), Time{1});
    }
  }
  for (const Outcome& o : run_out(*f)) {
    EXPECT_EQ(o.host, o.packet.dst_host);
    EXPECT_EQ(o.at.ns, 3001);
  }
  for (std::uint32_t plane = 0; plane < kPlanes; ++plane) {
    for (std::uint32_t path = 0; path < kPaths; ++path) EXPECT_EQ(carried(*f, plane, path), 8U);
  }
}

TEST(ParallelPaths, HashingSpreadsEntropyEvenlyAndDifferentlyPerPlane) {
  auto f = make_fabric(checked(make_parallel_paths(2, 2, kPaths, {})));
  constexpr std::uint32_t kPorts = 16384;
  for (std::uint32_t sport = 0; sport < kPorts; ++sport) {
    for (std::uint8_t plane = 0; plane < 2; ++plane) {
      f->inject(0, plane, data(sport, 1, static_cast<std::uint16_t>(49152 + sport)), Time{1});
    }
    run(*f, Time{1});
  }
  const double mean = double{kPorts} / kPaths;
  const double five_sigma = 5 * std::sqrt(mean * (1 - 1.0 / kPaths));
  int equal = 0;
  for (std::uint32_t path = 0; path < kPaths; ++path) {
    EXPECT_NEAR(static_cast<double>(carried(*f, 0, path)), mean, five_sigma);
    equal += carried(*f, 0, path) == carried(*f, 1, path) ? 1 : 0;
  }
  EXPECT_LT(equal, 4) << "every switch has its own salt";
}

TEST(ParallelPaths, DelayLossAndStateOfOnePathLeaveTheOthersAlone) {
  auto f = make_fabric(checked(make_parallel_paths(2, 1, 4, delayed(microseconds(2)))), modulo());
  const auto path = [&](std::uint32_t k) { return f->topology().find(0, 1, k); };
  Change slow = on(Action::kDelay, Scope::kSwitch, path(1));
  slow.duration = microseconds(50);
  Change lossy = on(Action::kFaults, Scope::kSwitch, path(2));
  lossy.faults.loss = 1.0;
  ASSERT_TRUE(f->apply(slow, Time{1}));
  ASSERT_TRUE(f->apply(lossy, Time{1}));
  ASSERT_TRUE(f->apply(on(Action::kDown, Scope::kSwitch, path(3)), Time{1}));
  for (std::uint16_t sport = 0; sport < 4; ++sport) f->inject(0, 0, data(sport, 1, sport), Time{1});
  std::map<std::uint64_t, Outcome> by_path;
  for (const Outcome& o : run_out(*f)) by_path[o.packet.handle] = o;
  ASSERT_EQ(by_path.size(), 4U);
  EXPECT_EQ(by_path[0].at.ns, 2001);
  EXPECT_EQ(by_path[1].at.ns, 50001);
  EXPECT_EQ(by_path[2].reason, DropReason::kRandomLoss);
  EXPECT_EQ(by_path[3].reason, DropReason::kLinkDown);
  ASSERT_TRUE(f->apply(on(Action::kUp, Scope::kSwitch, path(3)), Time{60'000}));
  f->inject(0, 0, data(9, 1, 3), Time{60'000});
  const auto out = run_out(*f);
  ASSERT_EQ(out.size(), 1U);
  EXPECT_TRUE(out[0].delivered());
}

TEST(ParallelPaths, LosesTheConfiguredShareAndTheSameSeedLosesTheSamePackets) {
  std::vector<std::uint64_t> lost[3];
  constexpr std::uint64_t kPackets = 200'000;
  for (int run_no = 0; run_no < 3; ++run_no) {
    FabricConfig config = modulo();
    config.seed = run_no == 2 ? 99 : 42;
    auto f = make_fabric(checked(make_parallel_paths(2, 1, 1, delayed(microseconds(1)))), config);
    Change lossy = on(Action::kFaults, Scope::kSwitch, f->topology().find(0, 1, 0));
    lossy.faults.loss = 0.001;
    f->apply(lossy, Time{1});
    for (std::uint64_t i = 0; i < kPackets; ++i) {
      f->inject(0, 0, data(i, 1, 0), Time{static_cast<std::int64_t>(i)});
      for (const Outcome& o : run(*f, Time{static_cast<std::int64_t>(i)})) {
        if (!o.delivered()) lost[run_no].push_back(o.packet.handle);
      }
    }
    // Binomial: mean 200, sigma 14.1.
    EXPECT_NEAR(static_cast<double>(lost[run_no].size()), 200.0, 5 * 14.2);
  }
  EXPECT_EQ(lost[0], lost[1]);
  EXPECT_NE(lost[0], lost[2]);
}

TEST(ParallelPaths, APathThatDiesTakesWhatIsOnItAlong) {
  auto f = make_fabric(checked(make_parallel_paths(2, 1, 2, delayed(microseconds(10)))), modulo());
  for (int i = 0; i < 10; ++i) f->inject(0, 0, data(i, 1, 0), Time{i});
  for (int i = 10; i < 20; ++i) f->inject(0, 0, data(i, 1, 1), Time{i});
  run(*f, Time{20});
  f->apply(on(Action::kDown, Scope::kSwitch, f->topology().find(0, 1, 0)), Time{20});
  int dead = 0;
  for (const Outcome& o : run_out(*f)) {
    EXPECT_EQ(o.delivered(), o.packet.handle >= 10);
    dead += o.reason == DropReason::kLinkDown ? 1 : 0;
  }
  EXPECT_EQ(dead, 10);
  EXPECT_EQ(f->in_flight(), 0U);
}

TEST(ParallelPaths, OnlyTheHostsOwnPortIsRefused) {
  auto f = make_fabric(checked(make_parallel_paths(2, 2, 2, {})), modulo());
  ASSERT_TRUE(f->apply(on(Action::kDown, Scope::kHostPort, 0 * 2 + 1), Time{1}));
  EXPECT_FALSE(f->host_port_up(0, 1));
  EXPECT_TRUE(f->host_port_up(1, 1));
  EXPECT_EQ(f->inject(0, 1, data(1, 1, 0), Time{1}), DropReason::kPortDown);
  EXPECT_EQ(f->inject(1, 1, data(2, 0, 0), Time{1}), DropReason::kNone) << "the peer cannot know";
  const auto out = run_out(*f);
  ASSERT_EQ(out.size(), 1U);
  EXPECT_EQ(out[0].reason, DropReason::kLinkDown);
}

TEST(ParallelPaths, RefusesShapesItCannotBuild) {
  EXPECT_FALSE(make_parallel_paths(2, 17, 1, {}));
  EXPECT_FALSE(make_parallel_paths(2, 0, 1, {}));
  EXPECT_FALSE(make_parallel_paths(0, 1, 1, {}));
  EXPECT_FALSE(make_parallel_paths(2, 1, 0, {}));
  EXPECT_FALSE(make_parallel_paths(1000, 16, 1000, {}));
  FabricConfig config;
  config.max_packets = 0;
  EXPECT_FALSE(Fabric::create(checked(make_parallel_paths(2, 1, 1, {})), config));
}

TEST(ParallelPaths, FullPacketMemoryIsARefusalNotALoss) {
  FabricConfig config = modulo();
  config.max_packets = 4;
  auto f = make_fabric(checked(make_parallel_paths(2, 1, 1, delayed(microseconds(1)))), config);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(f->inject(0, 0, data(i, 1, 0), Time{1}), DropReason::kNone);
  EXPECT_FALSE(f->can_inject(0, 0, 100, Time{1}));
  EXPECT_EQ(f->inject(0, 0, data(4, 1, 0), Time{1}), DropReason::kNoSlot);
  EXPECT_EQ(run_out(*f).size(), 4U);
  EXPECT_EQ(f->inject(0, 0, data(5, 1, 0), Time{2000}), DropReason::kNone);
}

}  // namespace
}  // namespace mrc::fabric::test
