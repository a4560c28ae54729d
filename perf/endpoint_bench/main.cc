// SPDX-License-Identifier: BSD-3-Clause
// endpoint_bench: both ends of the endpoint on one core beside what the machine allows without a protocol,
// and each end on a core of its own.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "endpoint_bench/bench.h"
#include "endpoint_bench/one_core.h"
#include "endpoint_bench/scenario.h"
#include "endpoint_bench/two_cores.h"
#include "ethdev/eal.h"
#include "limit/stopwatch.h"

namespace mrc::perf {
namespace {

constexpr int kFailed = 1;       // a wrong byte, a run that is not clean, or below what was demanded
constexpr int kCannotStart = 2;  // the machine or the command line does not allow the measurement

int complain(int code, const std::string& what) {
  std::fprintf(stderr, "endpoint_bench: %s\n", what.c_str());
  return code;
}

/// Which CPU serves what. `wanted`: --cpu, else the first that this process may use.
Result<void> choose_cpus(std::optional<unsigned> wanted, Options& o) {
  const std::vector<unsigned> cpus = ethdev::this_thread_cpus();
  if (cpus.empty()) return Error{"no CPU in the affinity mask of this process"};
  o.cpu = wanted.value_or(cpus.front());
  if (std::find(cpus.begin(), cpus.end(), o.cpu) == cpus.end()) {
    return Error{"--cpu " + std::to_string(o.cpu) +
                 ": not in the affinity mask of this process; see taskset -p"};
  }
  const auto other = std::find_if(cpus.begin(), cpus.end(), [&](unsigned c) { return c != o.cpu; });
  if (other == cpus.end()) {
    if (o.two_cores) return Error{"--two-cores: this process may use one CPU only; see taskset -p"};
    return {};
  }
  o.other_cpu = *other;
  return {};
}

Result<ethdev::Eal> start_eal(const Options& o) {
  ethdev::EalConfig config;
  config.program = "endpoint_bench";
  config.cpus = {o.cpu};
  config.memory_mib = 1024;
  auto eal = ethdev::Eal::init(config);
  if (eal) ethdev::set_this_thread_cpus({o.cpu});
  return eal;
}

/// The processor, as far as it says, and its caches: what warm and cold mean here.
nlohmann::json machine() {
  std::string model = "unknown";
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    if (!line.starts_with("model name")) continue;
    model = line.substr(line.find(':') + 2);
    break;
  }
  return {{"cpu", model},
          {"cpus", sysconf(_SC_NPROCESSORS_ONLN)},
          {"l2_bytes", sysconf(_SC_LEVEL2_CACHE_SIZE)},
          {"l3_bytes", sysconf(_SC_LEVEL3_CACHE_SIZE)}};
}

void print_head(const Options& o, const nlohmann::json& machine, const ethdev::Eal& eal) {
  std::printf(
      "%s, L2 %ld KiB, L3 %ld KiB; EAL: %s\n"
      "one core (CPU %u) serves both ends: %u planes over ring ports, %u EVs, TSETH, ICRC verified\n"
      "%d pairs, %s time, median (min..max); goodput; warm: buffers of 1 MiB, cold: of 256 MiB\n",
      machine["cpu"].get<std::string>().c_str(), machine["l2_bytes"].get<long>() / 1024,
      machine["l3_bytes"].get<long>() / 1024, eal.command_line().c_str(), o.cpu, kPlanes, kEvs, o.pairs,
      o.cpu_time ? "CPU" : "wall");
}

Result<bool> measure_all(const Options& o, const ring::RingPair& rings, nlohmann::json& out) {
  bool good = true;
  for (const Scenario& s : kScenarios) {
    if (!o.wants(s)) continue;
    auto v = measure_on_one_core(s, rings, o);
    if (!v) return v.error();
    good = good && v->good;
    out["scenarios"].push_back(v->json);
  }
  for (const Scenario& s : kScenarios) {
    if (!o.two_cores || !o.wants(s)) continue;
    auto two = measure_on_two_cores(s, rings, o);
    if (!two) return two.error();
    good = good && two->good;
    out["two_cores"].push_back(two->json);
  }
  return good;
}

int run(std::optional<unsigned> cpu, Options o) {
  if (auto r = choose_cpus(cpu, o); !r) return complain(kCannotStart, r.error().message);
  if (o.cpu_time) stopwatch_clock = StopwatchClock::kThreadCpu;
  auto eal = start_eal(o);
  if (!eal) return complain(kCannotStart, eal.error().message);
  ring::RingPairConfig rc;
  rc.planes = kPlanes;
  auto rings = ring::RingPair::create(rc);
  if (!rings) return complain(kCannotStart, rings.error().message);
  nlohmann::json out = {{"schema", "softmrc-bench-2"},          {"machine", machine()},
                        {"eal", eal->command_line()},           {"clock", o.cpu_time ? "cpu" : "wall"},
                        {"scenarios", nlohmann::json::array()}, {"two_cores", nlohmann::json::array()}};
  print_head(o, out["machine"], *eal);
  const auto good = measure_all(o, **rings, out);
  if (!good) return complain(kFailed, good.error().message);
  if (!o.json.empty()) {
    std::ofstream f(o.json);
    f << out.dump(2) << '\n';
    if (!f.flush()) return complain(kCannotStart, "cannot write " + o.json);
  }
  if (!*good) std::printf("not clean, or below --min-ratio or --min-mops\n");
  return *good ? 0 : kFailed;
}

}  // namespace
}  // namespace mrc::perf

int main(int argc, char** argv) {
  mrc::perf::Options o;
  std::optional<unsigned> cpu;
  CLI::App app{"Both ends of the endpoint on one core, beside the limit of the machine"};
  app.add_option("--pairs", o.pairs, "measurements of each")->check(CLI::Range(1, 1000));
  std::vector<std::string> names;
  for (const auto& s : mrc::perf::kScenarios) names.emplace_back(s.name);
  app.add_option("--only", o.only, "scenarios")->check(CLI::IsMember(names));
  app.add_option("--min-ratio", o.min_ratio, "fail when the median ratio of a 1 MiB scenario is below");
  app.add_option("--min-mops", o.min_mops, "fail when fewer million writes a second complete at 64 B");
  app.add_option("--json", o.json, "write the results here as well");
  app.add_option("--cpu", cpu, "the core; default: the first this process may use");
  app.add_flag("--stages", o.stages, "also ns a packet by stage, from a run with stage timing (wall time)");
  app.add_flag("--two-cores", o.two_cores, "also with each end on a core of its own");
  app.add_flag("--endpoint-only", o.endpoint_only, "leave the limit out: for profiling");
  app.add_flag("--cpu-time", o.cpu_time,
               "measure the thread's CPU time, not wall time: for a machine that is shared");
  CLI11_PARSE(app, argc, argv);
  return mrc::perf::run(cpu, o);
}
