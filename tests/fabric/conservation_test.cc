// SPDX-License-Identifier: BSD-3-Clause
// Whole fabrics under random traffic and random changes: nothing vanishes, nothing appears, runs repeat.
#include <algorithm>
#include <map>

#include "base/rng.h"
#include "harness.h"

namespace mrc::fabric::test {
namespace {

PortConfig random_port(Rng& rng) {
  PortConfig p;
  if (rng.chance(0.7)) p.rate_bps = (25ULL << rng.below(5)) * kGbps;
  if (rng.chance(0.7)) p.delay = nanoseconds(static_cast<std::int64_t>(rng.below(3000)));
  if (rng.chance(0.2)) p.jitter = nanoseconds(static_cast<std::int64_t>(rng.below(500)));
  if (rng.chance(0.7)) p.data_queue_bytes = static_cast<std::uint32_t>(rng.between(5000, 60000));
  if (rng.chance(0.5)) p.control_queue_bytes = static_cast<std::uint32_t>(rng.between(200, 3000));
  p.ecn = {.enabled = rng.chance(0.5), .min_bytes = 4000, .max_bytes = 20000, .on_last_hop = rng.chance(0.5)};
  p.trim = {.enabled = rng.chance(0.6), .last_hop_class = rng.chance(0.5), .fair_coin = rng.chance(0.5)};
  return p;
}

ClosSpec random_spec(Rng& rng) {
  ClosSpec s;
  s.tiers = rng.chance(0.5) ? 2 : 3;
  s.planes = static_cast<std::uint32_t>(rng.between(1, 4));
  s.hosts_per_t0 = static_cast<std::uint32_t>(rng.between(1, 3));
  s.t1 = static_cast<std::uint32_t>(rng.between(1, 4));
  s.parallel = static_cast<std::uint32_t>(rng.between(1, 2));
  s.t0_per_pod = static_cast<std::uint32_t>(rng.between(1, 3));
  s.t2_per_t1 = static_cast<std::uint32_t>(rng.between(1, 3));
  s.hosts =
      s.hosts_per_t0 * (s.tiers == 3 ? s.t0_per_pod : 1) * static_cast<std::uint32_t>(rng.between(1, 4));
  s.host_port = random_port(rng);
  s.t0_down = random_port(rng);
  s.t0_up = random_port(rng);
  s.t1_down = random_port(rng);
  s.t1_up = random_port(rng);
  s.t2_down = random_port(rng);
  return s;
}

Change random_change(Rng& rng, const Topology& t) {
  Change c;
  c.action = static_cast<Action>(rng.below(9));
  c.target.scope = static_cast<Scope>(rng.below(6));
  c.target.id = static_cast<std::uint32_t>(rng.below(t.links.size() + 2));
  c.faults = {.loss = rng.unit() * 0.3,
              .corrupt = rng.unit() * 0.3,
              .duplicate = rng.unit() * 0.3,
              .reorder = rng.unit() * 0.3,
              .reorder_delay = nanoseconds(static_cast<std::int64_t>(rng.below(5000)))};
  c.rate_bps = rng.chance(0.3) ? 0 : rng.between(10, 400) * kGbps;
  c.duration = nanoseconds(static_cast<std::int64_t>(rng.below(4000)));
  c.ev = {.plane = static_cast<std::uint8_t>(rng.below(t.planes)),
          .sport = static_cast<std::uint16_t>(rng.below(32)),
          .label = 0,
          .probability = rng.unit()};
  return c;
}

/// What a run left behind: enough to tell two runs apart.
struct Trace {
  std::uint64_t hash = 0;
  std::uint64_t outcomes = 0;
  FabricCounters counters;
  std::uint64_t marked = 0;
  std::uint64_t trimmed = 0;

  void note(const Outcome& o) {
    ++outcomes;
    marked += o.packet.ce ? 1 : 0;
    trimmed += o.packet.trimmed() ? 1 : 0;
    for (const std::uint64_t v : {o.packet.handle, static_cast<std::uint64_t>(o.at.ns), std::uint64_t{o.link},
                                  static_cast<std::uint64_t>(o.reason), std::uint64_t{o.packet.size_bytes}}) {
      hash = mix64(hash ^ v);
    }
  }
};

void check(const Outcome& o, std::map<std::uint64_t, int>& references, std::uint64_t seed) {
  auto it = references.find(o.packet.handle);
  ASSERT_NE(it, references.end()) << "a handle came back that is not inside, seed " << seed;
  if (o.delivered()) {
    ASSERT_EQ(o.host, o.packet.dst_host) << "seed " << seed;
  }
  if (!o.shared) references.erase(it);
}

Trace run_once(std::uint64_t seed) {
  Rng rng(seed);
  FabricConfig config;
  config.seed = seed;
  config.forwarding.mode = static_cast<Forwarding>(rng.below(3));
  config.forwarding.fields[0] = {.shift = 16, .width = 3};
  config.max_packets = static_cast<std::uint32_t>(rng.between(20, 2000));
  config.max_strays = 16;
  Topology t = checked(make_clos(random_spec(rng)));
  for (int i = 0; i < 6; ++i) {
    config.schedule.push_back({Time{static_cast<std::int64_t>(rng.below(60'000))}, random_change(rng, t)});
  }
  auto f = make_fabric(std::move(t), config);
  Trace trace;
  std::map<std::uint64_t, int> inside;
  Time now{1};
  const auto drain = [&](Time until) {
    for (const Outcome& o : run(*f, until)) {
      check(o, inside, seed);
      trace.note(o);
    }
  };
  for (std::uint64_t i = 0; i < 400; ++i) {
    now = now + nanoseconds(static_cast<std::int64_t>(rng.below(300)));
    drain(now);
    if (rng.chance(0.02)) f->apply(random_change(rng, f->topology()), now);
    drain(now);
    const auto from = static_cast<HostId>(rng.below(f->topology().hosts));
    const auto to = static_cast<HostId>(rng.below(f->topology().hosts));
    const auto plane = static_cast<std::uint8_t>(rng.below(f->topology().planes));
    const auto sport = static_cast<std::uint16_t>(rng.below(32));
    Packet p = rng.chance(0.2) ? control(i, to, sport) : data(i, to, sport);
    p.ect = rng.chance(0.8);
    if (f->inject(from, plane, p, now) == DropReason::kNone) inside[i] = 1;
  }
  drain(Time{Time::never().ns - 1});
  EXPECT_TRUE(inside.empty()) << inside.size() << " handles never came back, seed " << seed;
  EXPECT_EQ(f->in_flight(), 0U) << "seed " << seed;
  EXPECT_TRUE(f->next_event().is_never()) << "seed " << seed;
  EXPECT_TRUE(f->conserves()) << "seed " << seed;
  trace.counters = f->counters();
  return trace;
}

TEST(Conservation, EveryHandleComesBackExactlyOnceWhateverHappens) {
  std::array<std::uint64_t, kDropReasons> seen{};
  std::uint64_t duplicated = 0;
  std::uint64_t marked = 0;
  std::uint64_t trimmed = 0;
  for (std::uint64_t seed = 1; seed <= 1500; ++seed) {
    const Trace t = run_once(seed);
    for (std::size_t r = 0; r < kDropReasons; ++r) seen[r] += sum(t.counters.dropped[r]);
    duplicated += t.counters.duplicated;
    marked += t.marked;
    trimmed += t.trimmed;
    if (::testing::Test::HasFailure()) break;
  }
  // The runs must have been hard enough to mean something.
  for (const DropReason r : {DropReason::kLinkDown, DropReason::kRandomLoss, DropReason::kEvLoss,
                             DropReason::kBlackHole, DropReason::kQueueFull, DropReason::kControlQueueFull}) {
    EXPECT_GT(seen[static_cast<std::size_t>(r)], 100U) << name(r);
  }
  EXPECT_GT(duplicated, 100U);
  EXPECT_GT(marked, 100U);
  EXPECT_GT(trimmed, 100U);
}

TEST(Conservation, TheSameSeedIsTheSameRun) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const Trace a = run_once(seed);
    const Trace b = run_once(seed);
    ASSERT_EQ(a.hash, b.hash) << "seed " << seed;
    ASSERT_EQ(a.outcomes, b.outcomes) << "seed " << seed;
  }
  EXPECT_NE(run_once(1).hash, run_once(2).hash);
}

}  // namespace
}  // namespace mrc::fabric::test
