// SPDX-License-Identifier: BSD-3-Clause
// The simulator on one core: the 1024-host permutation of 2 MB over three tiers of 100G, preset htsim-compat.
// With invariants, without, and once more with a profile, each in a process of its own so that memory counts.
// The limit beside it is the fabric alone: what of the same run the links and switches take.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "sim/world.h"
#include "speed.h"

namespace mrc {
namespace {

constexpr std::uint64_t kMostMib = 1024;
// What is published for UEC's simulator and the same run, on a machine like the one RESULTS.md names.
constexpr double kMostCpuSeconds = 18.5;
constexpr std::uint64_t kDataPackets = 500'000;
constexpr std::uint64_t kSacks = 172'000;

// Another workload would make the speed that of something else.
bool is_the_same_run(const char* what, std::uint64_t packets, std::uint64_t expected) {
  const bool same = packets >= expected - expected / 20 && packets <= expected + expected / 20;
  if (!same)
    fmt::print(stderr, "sim_bench: {} {} packets, {} within 5 % are expected\n", packets, what, expected);
  return same;
}

constexpr const char* kScenario =
    "preset: htsim-compat\n"
    "network: {hosts: 1024, hosts_per_t0: 8, t1: 8, t0_per_pod: 8, t2_per_t1: 8}\n";

bool one_run(bool invariants, bool with_profile) {
  auto scenario = sim::load_scenario_text(kScenario, "sim_bench", {});
  auto world = scenario ? sim::World::create(*scenario, {.check_invariants = invariants})
                        : Result<std::unique_ptr<sim::World>>(scenario.error());
  if (!world) {
    fmt::print(stderr, "sim_bench: {}\n", world.error().message);
    return false;
  }
  sim::Profile profile(simapp::profile_ticks);
  if (with_profile) (*world)->sim().set_profile(&profile);
  const auto start = std::chrono::steady_clock::now();
  const sim::RunEnd end = (*world)->run();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  const simapp::Usage usage = simapp::usage_so_far();
  const std::uint64_t hops = (*world)->network().counters().hops;
  const sim::SimCounters& c = (*world)->sim().counters();
  if (with_profile) {
    fmt::print("{}", simapp::profile_line(profile, usage.cpu_seconds));
    fmt::print(
        "the whole over the fabric alone: {:.2f}\n",
        static_cast<double>(profile.total()) / static_cast<double>(profile.ticks(sim::Stage::kFabric)));
  } else {
    fmt::print("{} data and {} control packets; {}", c.data_sent, c.control_sent,
               simapp::speed_line(hops, seconds.count(), usage, invariants));
  }
  std::fflush(stdout);
  const bool held = end.quiet && end.violation.empty() && (*world)->sim().open_flows() == 0;
  if (!held) fmt::print(stderr, "sim_bench: {}\n", end.violation.empty() ? "did not finish" : end.violation);
  if (usage.peak_mib > kMostMib)
    fmt::print(stderr, "sim_bench: {} MiB, at most {} are allowed\n", usage.peak_mib, kMostMib);
  if (with_profile) return held && usage.peak_mib <= kMostMib;
  std::uint64_t sacks = 0;
  for (sim::QpId id = 0; id < (*world)->sim().qps(); ++id) sacks += (*world)->sim().qp(id).counters().tx_sack;
  fmt::print("CPU seconds over those published for UEC's simulator: {:.2f} (at most 1)\n",
             usage.cpu_seconds / kMostCpuSeconds);
  std::fflush(stdout);
  const bool fast = usage.cpu_seconds <= kMostCpuSeconds;
  if (!fast)
    fmt::print(stderr, "sim_bench: {:.1f} CPU seconds, at most {} are allowed\n", usage.cpu_seconds,
               kMostCpuSeconds);
  const bool same = is_the_same_run("data", c.data_sent, kDataPackets);
  return is_the_same_run("SACK", sacks, kSacks) && same && fast && held && usage.peak_mib <= kMostMib;
}

bool in_a_process(bool invariants, bool with_profile) {
  const pid_t child = ::fork();
  if (child == 0) std::_Exit(one_run(invariants, with_profile) ? 0 : 1);
  int status = 1;
  return child > 0 && ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace
}  // namespace mrc

// sim_bench [runs of each kind]
int main(int argc, char** argv) {
  const int runs = argc > 1 ? std::atoi(argv[1]) : 1;
  if (runs < 1) {
    fmt::print(stderr, "sim_bench [runs of each kind, 1 or more]\n");
    return 2;
  }
  bool ok = true;
  for (int i = 0; i < runs; ++i) {
    ok = mrc::in_a_process(true, false) && ok;
    ok = mrc::in_a_process(false, false) && ok;
  }
  ok = mrc::in_a_process(true, true) && ok;
  return ok ? 0 : 1;
}
