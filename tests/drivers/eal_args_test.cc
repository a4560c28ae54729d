// SPDX-License-Identifier: BSD-3-Clause
#include "ethdev/eal_args.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace mrc::ethdev {
namespace {

constexpr std::uint64_t kGib = 1ULL << 30;

MachineFacts machine(std::uint64_t free_hugepages = 0) {
  MachineFacts facts;
  facts.hugepages = {{2U << 20, free_hugepages, free_hugepages}};
  facts.cpus = {0, 1, 4};
  facts.memory_available_bytes = 8 * kGib;
  facts.memlock_bytes = 8U << 20;
  facts.pci_root = "/nonexistent";
  return facts;
}

bool has(const EalPlan& plan, const std::string& arg) {
  return std::ranges::find(plan.args, arg) != plan.args.end();
}

std::string after(const EalPlan& plan, const std::string& option) {
  auto at = std::ranges::find(plan.args, option);
  return at == plan.args.end() || at + 1 == plan.args.end() ? "" : *(at + 1);
}

std::string failure(const EalConfig& config, const MachineFacts& facts) {
  auto plan = plan_eal(config, facts);
  return plan ? "" : plan.error().message;
}

TEST(EalArgs, NothingConfiguredGivesAStartThatNeedsNothing) {
  auto plan = plan_eal({}, machine());
  ASSERT_TRUE(plan);
  EXPECT_TRUE(has(*plan, "--no-huge"));
  EXPECT_TRUE(has(*plan, "--no-pci"));
  EXPECT_TRUE(has(*plan, "--no-telemetry"));
  EXPECT_EQ(after(*plan, "-m"), "256");
  EXPECT_EQ(after(*plan, "--lcores"), "0@0");
  EXPECT_FALSE(has(*plan, "--in-memory")) << "EAL refuses it together with --no-huge";
  EXPECT_FALSE(plan->uses_hugepages);
}

TEST(EalArgs, HugepagesAreTakenWhenEnoughAreFree) {
  auto plan = plan_eal({}, machine(128));
  ASSERT_TRUE(plan);
  EXPECT_TRUE(has(*plan, "--in-memory"));
  EXPECT_TRUE(has(*plan, "--single-file-segments"));
  EXPECT_FALSE(has(*plan, "--no-huge"));
  EXPECT_TRUE(plan->uses_hugepages);

  auto one_short = plan_eal({}, machine(127));
  ASSERT_TRUE(one_short);
  EXPECT_TRUE(has(*one_short, "--no-huge"));

  EalConfig never;
  never.hugepages = Hugepages::kNever;
  EXPECT_TRUE(has(*plan_eal(never, machine(1024)), "--no-huge"));
}

TEST(EalArgs, RequiredHugepagesThatAreMissingAreAnErrorWithTheCommand) {
  EalConfig config;
  config.hugepages = Hugepages::kRequire;
  EXPECT_NE(failure(config, machine(3)).find("echo 128 > /sys/kernel/mm/hugepages"), std::string::npos);
}

TEST(EalArgs, LcoresMayShareACpu) {
  EalConfig config;
  config.cpus = {1, 1, 4, 0};
  auto plan = plan_eal(config, machine());
  ASSERT_TRUE(plan);
  EXPECT_EQ(after(*plan, "--lcores"), "0@1,1@1,2@4,3@0");
  EXPECT_TRUE(std::ranges::any_of(plan->notes,
                                  [](auto& n) { return n.find("4 on CPU 0-1,4") != std::string::npos; }));
}

TEST(EalArgs, AnUnusableCpuIsNamedWithTheUsableOnes) {
  EalConfig config;
  config.cpus = {0, 2};
  EXPECT_NE(failure(config, machine()).find("CPU 2 is not usable: this process may run on CPUs 0-1,4"),
            std::string::npos);
}

TEST(EalArgs, TooMuchMemoryIsRefusedBeforeEalTries) {
  EalConfig config;
  config.memory_mib = 9000;
  EXPECT_NE(failure(config, machine()).find("9000 MiB needed, 8192 MiB available"), std::string::npos);
  config.memory_mib = 1;
  EXPECT_NE(failure(config, machine()).find("outside 64.."), std::string::npos);
}

TEST(EalArgs, WhatTheUserGivesReplacesOurs) {
  EalConfig config;
  config.extra_args = {"-l",          "0,1", "--in-memory", "--file-prefix=mine", "--log-level=7",
                       "--telemetry", "-a",  "0000:01:00.0"};
  auto plan = plan_eal(config, machine(128));
  ASSERT_TRUE(plan);
  EXPECT_FALSE(has(*plan, "--lcores"));
  EXPECT_FALSE(has(*plan, "--no-huge"));
  EXPECT_FALSE(has(*plan, "--no-pci"));
  EXPECT_FALSE(has(*plan, "--no-telemetry"));
  EXPECT_FALSE(has(*plan, "--log-level=error"));
  EXPECT_EQ(std::ranges::count_if(plan->args, [](auto& a) { return a.starts_with("--file-prefix"); }), 1);
  EXPECT_TRUE(std::equal(config.extra_args.begin(), config.extra_args.end(), plan->args.end() - 8));
}

TEST(EalArgs, ArgumentsThatWouldEndTheProcessAreRefused) {
  for (const char* arg : {"-h", "--help", "--hel", "--he", "-v", "--version", "--ver", "--"}) {
    EalConfig config;
    config.extra_args = {arg};
    EXPECT_NE(failure(config, machine()).find(arg), std::string::npos) << arg;
  }
}

TEST(EalArgs, ASecondaryProcessIsRefusedInsteadOfWaitedFor) {
  for (const std::vector<std::string>& args :
       std::vector<std::vector<std::string>>{{"--proc-type=secondary"},
                                             {"--proc-type", "secondary"},
                                             {"--proc=secondary"},
                                             {"--proc-type=auto"}}) {
    EalConfig config;
    config.extra_args = args;
    EXPECT_NE(failure(config, machine()).find("a secondary one would wait"), std::string::npos) << args[0];
  }
  EalConfig config;
  config.extra_args = {"--proc-type=primary"};
  EXPECT_EQ(failure(config, machine()), "");
}

TEST(EalArgs, PciDevicesMustExistAndBeBound) {
  EalConfig config;
  config.pci_allow = {"0000:17:00.0"};
  EXPECT_NE(failure(config, machine()).find("0000:17:00.0: not on this machine"), std::string::npos);
}

TEST(EalArgs, ADeviceListedTwiceIsAnError) {
  EalConfig config;
  config.vdevs = {"net_ring0", "net_ring0,x=1"};
  EXPECT_NE(failure(config, machine()).find("listed twice"), std::string::npos);
}

TEST(EalArgs, TheCommandLineCanBePastedIntoAShell) {
  EalPlan plan;
  plan.args = {"mrc", "--lcores", "(0-1)@0", "it's"};
  EXPECT_EQ(plan.command_line(), "mrc --lcores '(0-1)@0' 'it'\\''s'");
}

TEST(EalArgs, FailuresOfEalAreExplained) {
  EXPECT_NE(explain_eal_failure("EAL: lcore 2 unavailable\nEAL: invalid core list, please check", "x")
                .find("taskset"),
            std::string::npos);
  EXPECT_NE(explain_eal_failure("", "No such device").find("No such device"), std::string::npos);
  const std::string text =
      explain_eal_failure("test: unrecognized option '--bogus'\nUsage: test", "Invalid argument");
  EXPECT_NE(text.find("--bogus"), std::string::npos);
  EXPECT_EQ(text.find('\n'), std::string::npos);
}

TEST(EalArgs, WhatTheUserLeavesOpenOfTheMemoryIsFilledIn) {
  EalConfig config;
  config.memory_mib = 300;
  config.extra_args = {"--no-huge"};
  auto plan = plan_eal(config, machine());
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(after(*plan, "-m"), "300") << "EAL's 64 MiB hold no pool";
  EXPECT_FALSE(plan->uses_hugepages);

  for (const std::vector<std::string>& sized :
       {std::vector<std::string>{"--no-huge", "-m", "512"}, {"--no-huge", "-m512"}}) {
    config.extra_args = sized;
    plan = plan_eal(config, machine());
    ASSERT_TRUE(plan);
    EXPECT_FALSE(has(*plan, "300")) << "the user's size counts";
  }
  for (const char* option : {"--in-memory", "--legacy-mem", "--huge-dir=/mnt/huge"}) {
    config.extra_args = {option};
    EXPECT_NE(failure(config, machine(149)).find("298 MiB of them are free, 300 MiB are needed"),
              std::string::npos)
        << option << ": " << failure(config, machine(149));
    plan = plan_eal(config, machine(150));
    ASSERT_TRUE(plan) << option;
    EXPECT_EQ(after(*plan, "-m"), "300") << option;
    EXPECT_TRUE(plan->uses_hugepages);
  }
  for (const char* option : {"-m", "--socket-mem"}) {
    config.extra_args = {option, "64"};
    EXPECT_NE(failure(config, machine()).find("0 MiB of them are free"), std::string::npos) << option;
    EXPECT_TRUE(plan_eal(config, machine(32))) << option;
  }
}

TEST(EalArgs, TheBannerIsNoCause) {
  const std::string banner =
      "EAL: Detected CPU lcores: 2\nEAL: Detected NUMA nodes: 1\n"
      "EAL: No available 1048576 kB hugepages reported\n";
  const std::string locked =
      explain_eal_failure(banner + "EAL: Cannot create lock on '/var/run/dpdk/x/config'.\n", "x");
  EXPECT_NE(locked.find("--file-prefix"), std::string::npos) << locked;
  EXPECT_NE(locked.find("EAL says: Cannot create lock on"), std::string::npos) << locked;
  const std::string mount =
      explain_eal_failure(banner + "EAL: no mounted hugetlbfs found for that size\n", "x");
  EXPECT_NE(mount.find("--in-memory"), std::string::npos) << mount;
  EXPECT_NE(explain_eal_failure(banner, "No such device").find("No such device"), std::string::npos);
}

// EAL calls its memory hugepage memory whatever the pages are.
TEST(EalArgs, WantOfMemoryIsNoWantOfHugepages) {
  const std::string limited = explain_eal_failure(
      "EAL: Cannot get a virtual area: Cannot allocate memory\n"
      "EAL: Cannot reserve memory for hugepages\nEAL: FATAL: Cannot init memory\n",
      "x");
  EXPECT_NE(limited.find("ulimit -v"), std::string::npos) << limited;
  EXPECT_EQ(limited.find("--no-huge"), std::string::npos) << limited;
  const std::string pages = explain_eal_failure("EAL: Not enough free hugepages\n", "x");
  EXPECT_NE(pages.find("too few hugepages"), std::string::npos) << pages;
}

TEST(MachineFacts, CpuListsGoBothWays) {
  EXPECT_EQ(parse_cpu_list("0-2,5"), (std::vector<unsigned>{0, 1, 2, 5}));
  EXPECT_EQ(format_cpu_list({0, 1, 2, 5, 7, 8}), "0-2,5,7-8");
  for (const char* bad : {"", "a", "3-1", "0-", "1,,2", "99999", "-1", "0x1"})
    EXPECT_FALSE(parse_cpu_list(bad)) << bad;
}

TEST(MachineFacts, ThisMachineHasACpuAndMemory) {
  const MachineFacts facts = read_machine_facts();
  EXPECT_FALSE(facts.cpus.empty());
  EXPECT_GT(facts.memory_available_bytes, 0U);
}

}  // namespace
}  // namespace mrc::ethdev
