// SPDX-License-Identifier: BSD-3-Clause
// Scenario files: what they accept, what they say of mistakes, presets, printing.
#include "sim/scenario.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "sim/network.h"

namespace mrc::sim {
namespace {

std::string error_of(const std::string& text, const config::Settings& settings = {}) {
  const auto s = load_scenario_text(text, "s.yaml", settings);
  return s ? "" : s.error().message;
}

TEST(Scenario, MistakesAreToldWithLineKeyAndLimit) {
  const std::pair<const char*, const char*> cases[] = {
      {"network: {hosts: 5}\n", "s.yaml:1: network.hosts: 5 is no multiple of 2"},
      {"netwrok: {hosts: 4}\n", "s.yaml:1: netwrok: unknown key; did you mean 'network'?"},
      {"seed: 1\npaths: {evs: 2}\n", "s.yaml:2: paths.evs: 2 EVs for 4 planes"},
      {"paths: {selector: rps}\n", "did you mean 'reps'?"},
      {"workload: {shape: incast, senders: 4}\n", "workload.senders: 4 but only 3 hosts"},
      {"workload: {dst: 9}\n", "workload.dst: 9 but hosts are 0 to 3"},
      {"workload: {victim_src: 1}\n", "a victim flow has two different ends"},
      {"workload: {shape: matrix}\n", "shape matrix needs a file"},
      {"faults:\n  - {kind: black_hole, place: uplink}\n",
       "s.yaml:2: faults[0].place: a black hole is a switch"},
      {"faults: [{kind: down, times: 3}]\n", "repeated faults need for_us"},
      {"slow_links: {number: 1, tier: 1}\n", "network.tiers is 2"},
      {"network: {forwarding: structured}\n", "set paths.format to stev"},
      {"seed: 1\ncc: {kind: fixed, window: 4187, send_test: uet}\n",
       "s.yaml:2: cc.window: 4187 holds no packet of 4188 bytes"},
      {"transport: rc\nfaults: [{kind: loss, place: ev}]\n",
       "s.yaml:2: faults[0].place: the baseline has no EVs"},
      {"network: {uplink_gbps: 1e-300}\n", "network.uplink_gbps: 1e-300 is below the limit 0.001"},
      {"network: {plane_speeds: [{plane: 0, link_gbps: 1e-9}]}\n",
       "link_gbps: 1e-9 is below the limit 0.001"},
      {"preset: htsim-compt\n", "did you mean 'htsim-compat'?"},
  };
  for (const auto& [text, expected] : cases) {
    const std::string message = error_of(text);
    EXPECT_NE(message.find(expected), std::string::npos) << text << "\n" << message;
  }
  EXPECT_NE(error_of("seed: 1\n", {{"paths.evs", "0"}}).find("command line: paths.evs"), std::string::npos);
}

TEST(Scenario, BaseRttQueuesAndMarksFollowFromTheNetwork) {
  const auto s = load_scenario_text("network: {planes: 2, link_gbps: 100, delay_us: 1}\n", "s.yaml");
  ASSERT_TRUE(s) << s.error().message;
  // Four links a way, a full packet out and a SACK back, at real sizes.
  const double bits = 8 * ((4096 + 8 + 12 + 4 + 4 + 16 + 4 + 78) + (60 + 78));
  EXPECT_NEAR(static_cast<double>(s->qp.policy.base_rtt.ns), 8000 + 4 * bits / 100, 1);
  const double bdp = 12.5 * static_cast<double>(s->qp.policy.base_rtt.ns);
  EXPECT_NEAR(static_cast<double>(s->queues.data_bytes), bdp, 1);
  EXPECT_NEAR(static_cast<double>(s->queues.last_hop_bytes), 1.5 * bdp, 1);
  EXPECT_NEAR(static_cast<double>(s->queues.ecn_min_bytes), 0.2 * bdp, 1);
}

// 0 bytes would be a queue without a limit, 2^32 and more would be few.
TEST(Scenario, QueuesHaveALimitAtAllSpeeds) {
  for (const char* text : {"network: {link_gbps: 3200, delay_us: 1e5}\n",
                           "network: {link_gbps: 0.001, plane_speeds: [{plane: 0, link_gbps: 3200}]}\n",
                           "network: {link_gbps: 3200, plane_speeds: [{plane: 0, link_gbps: 0.001}]}\n"
                           "queues: {data: 1, last_hop: 1, control: 1}\n",
                           "queues: {data: 1, last_hop: 1, control: 1}\n"
                           "slow_links: {number: 1, tier: 0, direction: both, fraction: 0.001}\n"}) {
    const auto s = load_scenario_text(text, "s.yaml");
    ASSERT_TRUE(s) << s.error().message;
    const auto t = make_topology(*s);
    ASSERT_TRUE(t) << t.error().message;
    for (const fabric::LinkSpec& l : t->links) {
      EXPECT_GT(l.port.rate_bps, 0U) << text;
      if (l.from.is_host) continue;
      for (const std::uint32_t bytes : {l.port.data_queue_bytes, l.port.control_queue_bytes}) {
        EXPECT_GT(bytes, 0U) << text;
        EXPECT_LE(bytes, kMaxQueueBytes) << text;
      }
    }
  }
}

TEST(Scenario, SpeedsAreOfATierAndOfAPlane) {
  const char* text =
      "network: {tiers: 3, planes: 3, hosts: 16, hosts_per_t0: 2, t1: 2, t0_per_pod: 2, t2_per_t1: 2,\n"
      "  link_gbps: 100, uplink_gbps: 50, core_gbps: 25,\n"
      "  plane_speeds: [{plane: 1, link_gbps: 40}, {plane: 2, link_gbps: 200, uplink_gbps: 400}]}\n";
  const auto s = load_scenario_text(text, "s.yaml");
  ASSERT_TRUE(s) << s.error().message;
  EXPECT_EQ(host_rate_bps(s->network), 340e9);
  const auto t = make_topology(*s);
  ASSERT_TRUE(t) << t.error().message;
  const double expected[3][3] = {{100, 50, 25}, {40, 50, 25}, {200, 400, 400}};
  for (const fabric::LinkSpec& l : t->links) {
    const bool host = l.from.is_host || l.to.is_host;
    const bool core = !host && (t->switches[l.from.id].tier == 2 || t->switches[l.to.id].tier == 2);
    EXPECT_EQ(l.port.rate_bps, static_cast<std::uint64_t>(expected[l.plane][host ? 0 : core ? 2 : 1] * 1e9));
  }
  // The slowest plane has the longest round trip, and smaller queues.
  const double bits = 8 * ((4096 + 8 + 12 + 4 + 4 + 16 + 4 + 78) + (60 + 78));
  EXPECT_NEAR(static_cast<double>(s->qp.policy.base_rtt.ns), 12000 + bits * (2 / 40. + 2 / 50. + 2 / 25.), 1);
  const auto queue = [&](std::uint32_t plane) {
    return t->links[t->down_of(0, plane)].port.data_queue_bytes;
  };
  EXPECT_NEAR(queue(1), 0.4 * queue(0), 1);
  EXPECT_NEAR(queue(2), 2.0 * queue(0), 1);
  const auto again = load_scenario_text(print_scenario(*s, false), "printed");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(print_scenario(*again, false), print_scenario(*s, false));
  EXPECT_NE(error_of("network: {planes: 2, plane_speeds: [{plane: 2}]}\n").find("planes are 0 to 1"),
            std::string::npos);
  EXPECT_NE(error_of("network: {plane_speeds: [{plane: 1}, {plane: 1}]}\n").find("is there twice"),
            std::string::npos);
}

TEST(Scenario, TheHtsimPresetHasThePublishedBaseRttAndKeysOverItWin) {
  const auto s = load_scenario_text("preset: htsim-compat\nqueues: {ecn_last_hop: false}\n", "s.yaml");
  ASSERT_TRUE(s) << s.error().message;
  EXPECT_EQ(s->qp.policy.base_rtt.ns, 14023);  // 12 us + 6 x (4150 + 64) B at 100G = 14022.72 ns
  EXPECT_EQ(s->queues.data_bytes, 178450U);
  EXPECT_FALSE(s->queues.ecn_last_hop);
  EXPECT_EQ(s->paths.selector, path::Selector::kScore);
  EXPECT_EQ(s->workload.bytes, 2'000'000U);
}

TEST(Scenario, WhatIsPrintedLoadsToTheSameScenario) {
  const auto s = load_scenario_text(
      "preset: htsim-compat\nfaults:\n  - {at_us: 5, kind: loss, place: plane, probability: 0.01}\n",
      "s.yaml");
  ASSERT_TRUE(s) << s.error().message;
  const std::string once = print_scenario(*s, false);
  const auto again = load_scenario_text(once, "printed");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(print_scenario(*again, false), once);
  EXPECT_TRUE(load_scenario_text(print_scenario(*s, true), "annotated"));
}

TEST(Scenario, EveryExampleLoads) {
  std::size_t seen = 0;
  for (const auto& e : std::filesystem::directory_iterator(MRC_SIM_CONFIG_DIR)) {
    if (e.path().extension() != ".yaml") continue;
    ++seen;
    const auto s = load_scenario_file(e.path().string());
    EXPECT_TRUE(s) << s.error().message;
  }
  EXPECT_GE(seen, 4U);
}

}  // namespace
}  // namespace mrc::sim
