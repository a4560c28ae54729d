// SPDX-License-Identifier: BSD-3-Clause
// Faults on a schedule and from the seed.
#include <map>

#include "harness.h"

namespace mrc::fabric::test {
namespace {

PortConfig delayed() {
  PortConfig p;
  p.delay = microseconds(1);
  return p;
}

std::unique_ptr<Fabric> one_path(std::vector<ScheduledChange> schedule = {}) {
  FabricConfig config;
  config.schedule = std::move(schedule);
  return make_fabric(checked(make_parallel_paths(2, 1, 1, delayed())), config);
}

TEST(Faults, FlapsHappenAtTheirTimes) {
  std::vector<ScheduledChange> schedule;
  // The spine is switch 2: two T0s come first.
  add_flaps(schedule, {Scope::kSwitch, 2}, Time{10'000}, microseconds(2), microseconds(5), 3);
  auto f = one_path(schedule);
  EXPECT_EQ(f->next_event(), Time{10'000});
  std::vector<std::int64_t> lost_at;
  for (int t = 0; t < 30; ++t) {
    const Time now{t * 1000 + 500};
    run(*f, now);
    f->inject(0, 0, data(t, 1, 0), now);
    for (const Outcome& o : run(*f, now)) {
      if (!o.delivered()) lost_at.push_back(now.ns / 1000);
    }
  }
  // 10..12, 15..17, 20..22; what is in the air when a flap begins is gone as well.
  EXPECT_EQ(lost_at, (std::vector<std::int64_t>{10, 11, 15, 16, 20, 21}));
  EXPECT_EQ(f->counters().dropped[static_cast<std::size_t>(DropReason::kLinkDown)][0], 9U);
}

TEST(Faults, ABlackHoleEatsPacketsWhileItsLinksStayUp) {
  auto f = one_path();
  ASSERT_TRUE(f->apply(on(Action::kBlackHole, Scope::kSwitch, 2), Time{1}));
  EXPECT_FALSE(f->apply(on(Action::kBlackHole, Scope::kLink, 0), Time{1}));
  EXPECT_FALSE(f->apply(on(Action::kBlackHole, Scope::kSwitch, 9), Time{1}));
  f->inject(0, 0, data(1, 1, 0), Time{1});
  auto out = run_out(*f);
  ASSERT_EQ(out.size(), 1U);
  EXPECT_EQ(out[0].reason, DropReason::kBlackHole);
  f->apply(on(Action::kHeal, Scope::kSwitch, 2), Time{5000});
  f->inject(0, 0, data(2, 1, 0), Time{5000});
  out = run_out(*f);
  ASSERT_EQ(out.size(), 1U);
  EXPECT_TRUE(out[0].delivered());
}

TEST(Faults, ALossRuleHitsOneEntropyValueOnOnePlane) {
  auto f = make_fabric(checked(make_parallel_paths(2, 2, 2, {})));
  Change c;
  c.action = Action::kEvLoss;
  c.ev = {.plane = 1, .sport = 50000, .label = 3, .probability = 1.0};
  ASSERT_TRUE(f->apply(c, Time{1}));
  for (std::uint8_t plane = 0; plane < 2; ++plane) {
    for (const std::uint16_t sport : {std::uint16_t{50000}, std::uint16_t{50001}}) {
      for (const std::uint16_t label : {std::uint16_t{3}, std::uint16_t{4}}) {
        Packet p = data(1, 1, sport);
        p.label = label;
        f->inject(0, plane, p, Time{1});
        const auto out = run(*f, Time{1});
        ASSERT_EQ(out.size(), 1U);
        const bool hit = plane == 1 && sport == 50000 && label == 3;
        EXPECT_EQ(out[0].reason, hit ? DropReason::kEvLoss : DropReason::kNone);
      }
    }
  }
  c.ev.probability = 0;
  ASSERT_TRUE(f->apply(c, Time{1}));
  Packet p = data(1, 1, 50000);
  p.label = 3;
  f->inject(0, 1, p, Time{1});
  EXPECT_TRUE(run(*f, Time{1}).at(0).delivered());
}

TEST(Faults, TheTableOfLossRulesHasALimit) {
  auto f = one_path();
  Change c;
  c.action = Action::kEvLoss;
  c.ev.probability = 0.5;
  for (std::size_t i = 0; i < kMaxEvRules; ++i) {
    c.ev.sport = static_cast<std::uint16_t>(i);
    ASSERT_TRUE(f->apply(c, Time{1}));
    ASSERT_TRUE(f->apply(c, Time{1})) << "replacing needs no room";
  }
  c.ev.sport = 9999;
  EXPECT_FALSE(f->apply(c, Time{1}));
}

TEST(Faults, ASlowLinkTakesItsTime) {
  auto f = one_path();
  Change c = on(Action::kRate, Scope::kSwitch, 2);
  c.rate_bps = 25 * kGbps;
  f->apply(c, Time{1});
  for (int i = 0; i < 10; ++i) f->inject(0, 0, data(i, 1, 0), Time{1});
  const auto out = run_out(*f);
  ASSERT_EQ(out.size(), 10U);
  EXPECT_EQ(out.back().at.ns, 1 + 10 * 1328 + 1000);
}

TEST(Faults, DuplicatesShareTheHandleAndTheLastOneEndsIt) {
  auto f = one_path();
  Change c = on(Action::kFaults, Scope::kSwitch, 2);
  c.faults.duplicate = 1.0;
  f->apply(c, Time{1});
  for (int i = 0; i < 5; ++i) f->inject(0, 0, data(i, 1, 0), Time{1});
  std::map<std::uint64_t, std::vector<bool>> shared;
  for (const Outcome& o : run_out(*f)) shared[o.packet.handle].push_back(o.shared);
  ASSERT_EQ(shared.size(), 5U);
  for (const auto& [handle, s] : shared) EXPECT_EQ(s, (std::vector<bool>{true, false})) << handle;
  EXPECT_EQ(f->counters().duplicated, 5U);
}

TEST(Faults, CorruptionAndReorderingAreCountedAndSeen) {
  auto f = one_path();
  Change c = on(Action::kFaults, Scope::kSwitch, 2);
  c.faults.corrupt = 0.25;
  c.faults.reorder = 0.25;
  c.faults.reorder_delay = nanoseconds(500);
  f->apply(c, Time{1});
  constexpr int kPackets = 4000;
  int corrupted = 0;
  int late = 0;
  std::uint64_t next = 0;
  for (int i = 0; i < kPackets; ++i) {
    run(*f, Time{i * 100});
    f->inject(0, 0, data(i, 1, 0), Time{i * 100});
  }
  for (const Outcome& o : run_out(*f)) (void)o;
  const Link& link = f->link(f->topology().switches[0].up[0]);
  EXPECT_NEAR(static_cast<double>(link.counters.corrupted), kPackets / 4.0, 5 * 27.4);
  EXPECT_NEAR(static_cast<double>(link.counters.reordered), kPackets / 4.0, 5 * 27.4);
  for (int i = 0; i < kPackets; ++i) {
    const Time now{1'000'000 + i * 100};
    for (const Outcome& o : run(*f, now)) {
      corrupted += o.packet.corrupted ? 1 : 0;
      late += o.packet.handle < next ? 1 : 0;
      next = std::max(next, o.packet.handle);
    }
    f->inject(0, 0, data(i, 1, 0), now);
  }
  run_out(*f);
  EXPECT_NEAR(corrupted, kPackets / 4.0, 5 * 27.4);
  EXPECT_NEAR(late, kPackets / 4.0, 5 * 27.4) << "held back by five places, so it is passed by others";
}

TEST(Faults, AStrayDiesWithItsLink) {
  auto f = one_path();
  Change c = on(Action::kFaults, Scope::kSwitch, 2);
  c.faults.reorder = 1.0;
  c.faults.reorder_delay = microseconds(100);
  f->apply(c, Time{1});
  f->inject(0, 0, data(1, 1, 0), Time{1});
  run(*f, Time{5000});
  f->apply(on(Action::kDown, Scope::kSwitch, 2), Time{5000});
  const auto out = run_out(*f);
  ASSERT_EQ(out.size(), 1U);
  EXPECT_EQ(out[0].reason, DropReason::kLinkDown);
  EXPECT_EQ(f->in_flight(), 0U);
}

TEST(Faults, ACableIsBothDirectionsALinkIsOne) {
  auto f = one_path();
  const LinkId up = f->topology().switches[0].up[0];
  f->apply(on(Action::kDown, Scope::kLink, up), Time{1});
  f->inject(0, 0, data(1, 1, 0), Time{1});
  f->inject(1, 0, data(2, 0, 0), Time{1});
  int delivered = 0;
  for (const Outcome& o : run_out(*f)) delivered += o.delivered() ? 1 : 0;
  EXPECT_EQ(delivered, 1);
  f->apply(on(Action::kUp, Scope::kLink, up), Time{3000});
  f->apply(on(Action::kDown, Scope::kCable, up), Time{3000});
  f->inject(0, 0, data(3, 1, 0), Time{3000});
  f->inject(1, 0, data(4, 0, 0), Time{3000});
  for (const Outcome& o : run_out(*f)) EXPECT_EQ(o.reason, DropReason::kLinkDown);
}

}  // namespace
}  // namespace mrc::fabric::test
