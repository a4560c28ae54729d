// SPDX-License-Identifier: BSD-3-Clause
// What a run would take is told, or refused, before anything is built.
#include "sim/run_memory.h"

#include <gtest/gtest.h>

#include <fstream>

#include "sim/world.h"

namespace mrc::sim {
namespace {

// What is refused, or empty. Builds nothing.
std::string refused(const std::string& text, const config::Settings& settings = {}) {
  const auto s = load_scenario_text(text, "s.yaml", settings);
  if (!s) return s.error().message;
  const auto w = Workload::create(*s);
  if (!w) return w.error().message;
  const auto packets = packets_within_memory(*s, *w);
  return packets ? "" : packets.error().message;
}

std::string matrix_file(const std::string& text) {
  const std::string path = ::testing::TempDir() + "mrc_run_memory.cm";
  std::ofstream(path) << text;
  return path;
}

Scenario with_matrix(const std::string& text) {
  const auto s = load_scenario_text("workload: {shape: matrix}\n", "s.yaml",
                                    {{"workload.matrix", matrix_file("Nodes 4\n" + text)}});
  EXPECT_TRUE(s) << s.error().message;
  return *s;
}

constexpr const char* kMost = "network: {planes: 1, hosts: 131072, hosts_per_t0: 4096, t1: 1}\n";
constexpr const char* k4096 = "network: {planes: 1, hosts: 4096, hosts_per_t0: 64, t1: 64}\n";

TEST(RunMemory, WhatIsTooMuchIsRefusedWithKeyAndLimit) {
  const std::string most(kMost);
  const std::string some(k4096);
  const std::pair<std::string, const char*> cases[] = {
      {most + "workload: {shape: all_to_all, bytes: 1}\n",
       "workload.shape: 131072 network.hosts make 17179738112 connections; the limit is 4194304"},
      {most + "workload: {shape: ring_all_reduce}\n", "connections; the limit is 4194304"},
      {some + "workload: {shape: all_to_all, bytes: 1}\n",
       "workload.shape: 4096 network.hosts make 16773120"},
      {most + "workload: {shape: permutation, bytes: 8M}\n", "run.memory: allows 8192 MiB, but 131072 pairs"},
      {some + "workload: {shape: mix, flows: 200000}\n", "run.memory: allows 8192 MiB"},
      {"workload: {shape: permutation, qps: 4096}\npaths: {evs: 4096}\n",
       "4 pairs of hosts with 4096 QPs of 4096 EVs"},
      {"workload: {shape: permutation, qps: 4096}\nqp: {send_queue: 32768}\n", "run.memory: allows"},
      {"workload: {shape: permutation, rounds: 1048576, qps: 65, stripe: true}\n", "268435456 are possible"},
      {some + "workload: {shape: permutation, rounds: 60000}\npaths: {evs: 1}\n", "245760000 messages"},
      {"network: {max_packets: 67108864}\n", "67108864 packets"},
      {"network: {planes: 8, hosts: 128, hosts_per_t0: 1, t1: 4096}\nrun: {memory: 1G}\n", "8390656 links"},
  };
  for (const auto& [text, expected] : cases) {
    const std::string said = refused(text);
    EXPECT_NE(said.find(expected), std::string::npos) << text << said;
    EXPECT_EQ(said.find('\n'), std::string::npos);
  }
  const auto s = load_scenario_text(cases[3].first, "s.yaml");
  EXPECT_FALSE(World::create(*s)) << "a world asks before it builds";
}

TEST(RunMemory, WhatFitsIsLetThrough) {
  EXPECT_EQ(refused(""), "");
  EXPECT_EQ(refused("preset: htsim-compat\nnetwork: {hosts: 1024, hosts_per_t0: 8, t0_per_pod: 8, t1: 8, "
                    "t2_per_t1: 8}\n"),
            "");
  const std::string ring =
      "network: {planes: 1, hosts: 1024, hosts_per_t0: 64, t1: 1}\n"
      "workload: {shape: ring_all_reduce}\n";
  EXPECT_EQ(refused(ring), "");
  EXPECT_NE(refused(ring, {{"run.memory", "512M"}}), "") << "the limit is a key";
  EXPECT_EQ(refused(std::string(kMost) + "transport: rc\nworkload: {shape: permutation}\n"), "");
}

TEST(RunMemory, PacketsAreAsManyAsWereAskedForOrAsWindowsSay) {
  const auto packets = [](const std::string& text) {
    const auto s = load_scenario_text(text, "s.yaml");
    return *packets_within_memory(*s, *Workload::create(*s));
  };
  EXPECT_EQ(packets("network: {max_packets: 77}\n"), 77U);
  EXPECT_EQ(packets(""), 1U << 18);
  EXPECT_EQ(packets("workload: {shape: permutation, qps: 4}\n"), 4U * 4 * 1024 * 32);
  EXPECT_LT(packets("run: {memory: 64M}\n"), 1U << 18) << "what else is left of the limit";
}

// --- Triggers

TEST(RunMemory, AMultishotTriggerThatFeedsItselfIsRefused) {
  for (const char* text :
       {"0->1 start 0 send_done_trigger 1 size 1\n1->2 trigger 1 size 1 send_done_trigger 1\n"
        "trigger id 1 multishot\n",
        "0->1 trigger 1 size 1 recv_done_trigger 2\n1->2 trigger 2 size 1 send_done_trigger 1\n"
        "trigger id 1 multishot\ntrigger id 2 multishot\n"}) {
    const auto w = Workload::create(with_matrix(text));
    ASSERT_FALSE(w);
    EXPECT_NE(w.error().message.find("it would never come to an end"), std::string::npos)
        << w.error().message;
  }
  // A oneshot trigger in the ring ends it.
  const auto w = Workload::create(with_matrix(
      "0->1 start 0 send_done_trigger 1 size 1\n1->2 trigger 1 size 1 send_done_trigger 2\n"
      "2->3 trigger 2 size 1 send_done_trigger 1\ntrigger id 1 oneshot\ntrigger id 2 multishot\n"));
  ASSERT_TRUE(w) << w.error().message;
  EXPECT_EQ(w->starts(), 3U);
}

TEST(RunMemory, WhatMultishotTriggersStartIsCountedBeforehand) {
  std::string text = "0->1 start 0 send_done_trigger 1 size 1\n0->1 start 0 send_done_trigger 1 size 1\n";
  const auto stage = [&](int i, bool last) {
    const std::string id = std::to_string(i);
    const std::string next = last ? "" : " send_done_trigger " + std::to_string(i + 1);
    for (int twice = 0; twice < 2; ++twice) text += "1->2 trigger " + id + " size 1" + next + "\n";
    text += "trigger id " + id + " multishot\n";
  };
  for (int i = 1; i <= 5; ++i) stage(i, i == 5);
  auto world = World::create(with_matrix(text));
  ASSERT_TRUE(world) << world.error().message;
  (void)(*world)->run();
  EXPECT_EQ((*world)->messages().size(), 2U + 4 + 8 + 16 + 32 + 64);
  EXPECT_EQ(Workload::create(with_matrix(text))->starts(), 126U);

  text.clear();
  text = "0->1 start 0 send_done_trigger 1 size 1\n";
  for (int i = 1; i <= 60; ++i) stage(i, i == 60);
  const auto s = with_matrix(text);
  EXPECT_FALSE(packets_within_memory(s, *Workload::create(s)));
}

TEST(RunMemory, AFileThatIsNoMatrixIsToldInOneLine) {
  for (const char* path : {"/dev/zero", "/", "/no/such/file"}) {
    const std::string said = refused("workload: {shape: matrix}\n", {{"workload.matrix", path}});
    EXPECT_NE(said.find(path), std::string::npos) << said;
    EXPECT_LT(said.size(), 200U);
  }
}

}  // namespace
}  // namespace mrc::sim
