// SPDX-License-Identifier: BSD-3-Clause
#include "fabric/link.h"

#include "harness.h"

namespace mrc::fabric::test {
namespace {

// host 0 -> T0 -> spine -> T0 -> host 1, every link with the same speed and distance.
Topology line(const PortConfig& port) {
  ClosSpec s;
  s.host_port = s.t0_down = s.t0_up = s.t1_down = port;
  return checked(make_clos(s));
}

TEST(Link, StoreAndForwardAddsSerialisationAndDistanceOfEachHop) {
  PortConfig port;
  port.rate_bps = 100 * kGbps;
  port.delay = microseconds(1);
  auto f = make_fabric(line(port));
  ASSERT_EQ(f->inject(0, 0, data(1, 1, 7), Time{100}), DropReason::kNone);
  const auto out = run_out(*f);
  ASSERT_EQ(out.size(), 1U);
  EXPECT_EQ(out[0].at.ns, 100 + 4 * (1000 + 332));  // 4150 B at 100G are 332 ns
  EXPECT_EQ(out[0].host, 1U);
  EXPECT_EQ(out[0].packet.hops, 3);
}

TEST(Link, SixHopsGiveTheBaseRttOfThePublishedTopology) {
  ClosSpec s;
  s.tiers = 3;
  s.hosts = 16;
  s.hosts_per_t0 = s.t1 = s.t0_per_pod = s.t2_per_t1 = 2;
  PortConfig port;
  port.rate_bps = 100 * kGbps;
  port.delay = microseconds(1);
  s.host_port = s.t0_down = s.t0_up = s.t1_down = s.t1_up = s.t2_down = port;
  auto f = make_fabric(checked(make_clos(s)));
  f->inject(0, 0, data(1, 15, 7), Time{1});
  const auto there = run_out(*f);
  ASSERT_EQ(there.size(), 1U);
  f->inject(15, 0, control(2, 0, 7), there[0].at);
  const auto back = run_out(*f);
  ASSERT_EQ(back.size(), 1U);
  // 12 us + 6 x (4150 + 64) B at 100G = 14.02272 us; each port rounds to its own nanosecond.
  EXPECT_NEAR(static_cast<double>(back[0].at.ns - 1), 14022.72, 6.0);
}

TEST(Link, KeepsItsNominalRateWhenPacketsTakeFractionsOfANanosecond) {
  PortConfig port;
  port.rate_bps = 800 * kGbps;  // 64 B: 0.64 ns
  auto f = make_fabric(line(port));
  constexpr int kPackets = 10000;
  for (int i = 0; i < kPackets; ++i) f->inject(0, 0, control(i, 1, 7), Time{1});
  const auto out = run_out(*f);
  ASSERT_EQ(out.size(), std::size_t{kPackets});
  EXPECT_NEAR(static_cast<double>(out.back().at.ns - 1), kPackets * 0.64, 4.0);
}

TEST(Link, WithoutSpeedAndDistanceAPacketPassesWithinItsInjection) {
  auto f = make_fabric(line({}));
  f->inject(0, 0, data(1, 1, 7), Time{5});
  EXPECT_EQ(f->next_event(), Time{});
  const auto out = run(*f, Time{5});
  ASSERT_EQ(out.size(), 1U);
  EXPECT_EQ(out[0].at.ns, 5);
  EXPECT_TRUE(f->next_event().is_never());
}

TEST(Link, AShorterDelayOvertakesNothing) {
  PortConfig port;
  port.delay = microseconds(50);
  auto f = make_fabric(line(port));
  f->inject(0, 0, data(1, 1, 7), Time{0});
  Change c = on(Action::kDelay, Scope::kFabric, 0);
  c.duration = nanoseconds(0);
  run(*f, Time{10});
  ASSERT_TRUE(f->apply(c, Time{10}));
  f->inject(0, 0, data(2, 1, 7), Time{10});
  const auto out = run_out(*f);
  ASSERT_EQ(out.size(), 2U);
  EXPECT_EQ(out[0].packet.handle, 1U);
  EXPECT_EQ(out[1].at, out[0].at) << "it waits behind the first, then follows it at once";
}

TEST(Link, JitterKeepsOrderAndStaysWithinItsBound) {
  PortConfig port;
  port.delay = microseconds(10);
  port.jitter = microseconds(5);
  auto f = make_fabric(checked(make_parallel_paths(2, 1, 1, port)));
  std::int64_t longest = 0;
  std::uint64_t expected = 0;
  for (int i = 0; i < 2000; ++i) {
    const Time t{i * 20'000};
    f->inject(0, 0, data(i, 1, 7), t);
    for (const Outcome& o : run(*f, t + microseconds(19))) {
      EXPECT_EQ(o.packet.handle, expected++);
      EXPECT_GE((o.at - t).ns, 10'000);
      longest = std::max(longest, (o.at - t).ns);
    }
  }
  EXPECT_EQ(expected, 2000U);
  EXPECT_LE(longest, 15'000);
  EXPECT_GT(longest, 14'900);
}

TEST(Link, HostPortTellsWhenItIsFreeAndWhenItIsFull) {
  PortConfig port;
  port.rate_bps = 100 * kGbps;
  port.data_queue_bytes = 2 * 4150;  // one in service, one waiting
  ClosSpec s;
  s.host_port = port;
  auto f = make_fabric(checked(make_clos(s)));
  EXPECT_LE(f->port_free_at(0, 0), Time{1000});
  f->inject(0, 0, data(1, 1, 7), Time{1000});
  EXPECT_EQ(f->port_free_at(0, 0), Time{1332});
  EXPECT_TRUE(f->can_inject(0, 0, 4150, Time{1000}));
  f->inject(0, 0, data(2, 1, 7), Time{1000});
  EXPECT_EQ(f->port_free_at(0, 0), Time{1664});
  EXPECT_FALSE(f->can_inject(0, 0, 4150, Time{1000}));
  EXPECT_EQ(f->inject(0, 0, data(3, 1, 7), Time{1000}), DropReason::kQueueFull);
  EXPECT_EQ(run_out(*f).size(), 2U);
  EXPECT_EQ(sum(f->counters().refused), 1U);
}

}  // namespace
}  // namespace mrc::fabric::test
