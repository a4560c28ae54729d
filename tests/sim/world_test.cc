// SPDX-License-Identifier: BSD-3-Clause
// Whole scenarios: the same seed gives the same bytes, counts add up, workloads do what their names say.
#include "sim/world.h"

#include <gtest/gtest.h>

#include <set>

#include "sim/outcome.h"

namespace mrc::sim {
namespace {

Outcome run(const std::string& text, const config::Settings& settings = {}) {
  const auto s = load_scenario_text(text, "test", settings);
  EXPECT_TRUE(s) << s.error().message;
  auto world = World::create(*s);
  EXPECT_TRUE(world) << world.error().message;
  const RunEnd end = (*world)->run();
  return collect(**world, end, "test");
}

constexpr const char* kFaulty =
    "network: {planes: 4, hosts: 8, hosts_per_t0: 4, t1: 4}\n"
    "workload: {shape: permutation, bytes: 1M}\n"
    "faults:\n"
    "  - {kind: loss, place: fabric, probability: 0.005}\n"
    "  - {at_us: 20, for_us: 100, kind: down, place: uplink, random: true}\n"
    "  - {kind: duplicate, place: plane, plane: 1, probability: 0.01}\n"
    "  - {kind: corrupt, place: plane, plane: 2, probability: 0.01}\n"
    "  - {kind: reorder, place: plane, plane: 3, probability: 0.02, delay_us: 3}\n";

TEST(World, TheSameSeedGivesTheSameBytesAndAnotherSeedOthers) {
  const Outcome a = run(kFaulty);
  EXPECT_TRUE(a.pass()) << to_table(a);
  EXPECT_EQ(to_json(a), to_json(run(kFaulty)));
  EXPECT_NE(to_json(a), to_json(run(kFaulty, {{"seed", "2"}})));
}

TEST(World, EveryPacketIsAccountedForUnderFaultsOfAllKinds) {
  for (const char* seed : {"1", "2", "3", "4", "5", "6", "7", "8"}) {
    const Outcome o = run(kFaulty, {{"seed", seed}});
    EXPECT_TRUE(o.pass()) << to_table(o);
    EXPECT_EQ(o.completed, 8U);
    std::uint64_t dropped = 0;
    for (const auto& [name, n] : o.network)
      if (name.starts_with("dropped_") && name != "dropped_port_down") dropped += n;
    EXPECT_EQ(o.count(o.network, "sent") + o.count(o.network, "duplicated"),
              o.count(o.network, "delivered") + dropped + o.count(o.network, "refused_at_port"));
    EXPECT_GT(dropped, 0U);
    EXPECT_GT(o.count(o.network, "corrupt_dropped"), 0U);
    EXPECT_GT(o.count(o.packets, "rtx"), 0U);
  }
}

TEST(World, AHealthyNetworkLosesNothingCondemnsNothingAndRunsAtLineRate) {
  const Outcome o = run("network: {hosts: 4}\nworkload: {bytes: 16M, dst: 3}\n");
  EXPECT_TRUE(o.pass()) << to_table(o);
  EXPECT_EQ(o.count(o.packets, "rtx"), 0U);
  EXPECT_EQ(o.count(o.evs, "assumed_bad"), 0U);
  EXPECT_LT(o.tail_over_ideal(), 1.03);
}

TEST(World, FaultsAreAttributedAndRepaired) {
  const Outcome o =
      run("network: {planes: 4, hosts: 4, delay_us: 1}\nworkload: {bytes: 8M, dst: 3}\n"
          "faults: [{at_us: 50, kind: down, place: uplink, plane: 1, index: 0, uplink: 2}]\n");
  EXPECT_TRUE(o.pass()) << to_table(o);
  ASSERT_EQ(o.faults.size(), 1U);
  EXPECT_GT(o.faults[0].lost_data, 0U);
  EXPECT_EQ(o.faults[0].open, 0U);
  EXPECT_GT(o.faults[0].last_sent_into_ns, 0);
  EXPECT_GT(o.faults[0].last_repair_ns, 0);
  EXPECT_LT(o.faults[0].last_repair_ns, 8 * o.base_rtt_ns) << to_table(o);
  EXPECT_GT(o.count(o.evs, "assumed_bad"), 0U);
  EXPECT_EQ(o.count(o.evs, "false_assumed_bad"), 0U);
  EXPECT_EQ(o.count(o.packets, "timer_expiries"), 0U);
}

TEST(World, WorkloadsCompleteAndShareControllers) {
  for (const char* shape : {"permutation", "incast", "ring_all_reduce", "all_to_all", "mix"}) {
    const Outcome o = run("network: {hosts: 8, hosts_per_t0: 4}\n", {{"workload.shape", shape},
                                                                     {"workload.senders", "7"},
                                                                     {"workload.bytes", "256K"},
                                                                     {"workload.qps", "3"},
                                                                     {"workload.rounds", "3"}});
    EXPECT_TRUE(o.pass()) << shape << "\n" << to_table(o);
    EXPECT_EQ(o.rounds.samples, 3U) << shape;
    EXPECT_EQ(o.completed, o.flows.size()) << shape;
  }
}

TEST(World, ARingPassesAChunkOnOnlyWhenItHasArrived) {
  const Outcome o = run("network: {hosts: 4}\nworkload: {shape: ring_all_reduce, bytes: 64K}\n");
  ASSERT_TRUE(o.pass()) << to_table(o);
  ASSERT_EQ(o.flows.size(), 24U);
  std::set<std::int64_t> starts;
  for (const FlowOutcome& f : o.flows) starts.insert(f.start_ns);
  EXPECT_GE(starts.size(), 6U) << "six steps, one after the other";
}

TEST(World, EverySelectorRunsAndOnlySingleUsesOneEv) {
  for (const char* selector : {"mrc", "oblivious", "bitmap", "score", "reps", "single"}) {
    const Outcome o = run("network: {planes: 1, hosts: 8, hosts_per_t0: 4}\nworkload: {shape: permutation}\n",
                          {{"paths.selector", selector}});
    EXPECT_TRUE(o.pass()) << selector << to_table(o);
    if (std::string(selector) == "single")
      EXPECT_EQ(o.ev.median_pkts, 0U);
    else
      EXPECT_GT(o.ev.largest_pkts, 0U);
  }
}

TEST(World, DenylistCoversWhatIsDeadAtTheStart) {
  const char* text =
      "network: {planes: 2, hosts: 4, t1: 8}\nworkload: {bytes: 1M, dst: 3}\npaths: {evs: 64}\n"
      "faults: [{kind: down, place: uplink, plane: 0, index: 0, uplink: 1, number: 2}]\n";
  const Outcome none = run(text);
  const Outcome full = run(text, {{"paths.denylist_coverage", "1"}});
  EXPECT_TRUE(none.pass() && full.pass());
  EXPECT_GT(full.count(full.evs, "denied_at_start"), 0U);
  EXPECT_EQ(full.count(full.packets, "rtx"), 0U);
  EXPECT_GT(none.count(none.packets, "rtx"), 0U);
}

// I3. With UET's send test a packet larger than the window would wait for ever, and no timer would run.
TEST(World, TheSmallestWindowTakesAFullPacketWithImmediateData) {
  const char* text =
      "network: {planes: 1, hosts: 8, hosts_per_t0: 4}\nworkload: {shape: incast, senders: 7, bytes: 1M,\n"
      "  with_immediate: true}\ncc: {send_test: uet, max_cwnd: 4188}\n";
  EXPECT_TRUE(run(text).pass()) << to_table(run(text));
  const auto smaller = load_scenario_text(text, "test", {{"cc.max_cwnd", "4184"}});
  ASSERT_TRUE(smaller) << smaller.error().message;
  const auto world = World::create(*smaller);
  ASSERT_FALSE(world);
  EXPECT_NE(world.error().message.find("one packet of 4188 bytes"), std::string::npos)
      << world.error().message;
}

TEST(World, PeersLearnOfADeadPortWhenToldTo) {
  const char* text =
      "network: {planes: 4, hosts: 4}\nworkload: {bytes: 16M, dst: 3}\n"
      "faults: [{at_us: 60, kind: down, place: host_port, host: 3, plane: 2}]\n";
  const Outcome o = run(text);
  EXPECT_TRUE(o.pass()) << to_table(o);
  ASSERT_EQ(o.faults.size(), 1U);
  EXPECT_LT(o.faults[0].last_sent_into_ns, 25'000) << to_table(o);
}

}  // namespace
}  // namespace mrc::sim
