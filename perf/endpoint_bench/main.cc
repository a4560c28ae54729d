// SPDX-License-Identifier: BSD-3-Clause
// endpoint_bench: both ends of the endpoint on one core beside what the machine allows without a protocol.
// The two are measured in turn, so that a machine that slows down slows both; ratios are taken within a pair.
#include <rte_cycles.h>
#include <rte_eal.h>
#include <sched.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "endpoint_bench/bench.h"
#include "endpoint_bench/c2c.h"
#include "limit/limit.h"
#include "limit/stopwatch.h"

namespace mrc::perf {
namespace {

struct Scenario {
  const char* name;
  std::uint32_t message_bytes;
  std::size_t memory_bytes;  ///< of source and of target
  std::uint16_t pmtu;
  std::uint64_t messages;  ///< of one measurement
};

constexpr std::size_t kMiB = 1 << 20;
// Warm: source and target together fit the second-level cache or nearly so. Cold: they fit none.
constexpr Scenario kScenarios[] = {
    {"1MiB-warm", 1 << 20, 1 * kMiB, 4096, 512},
    {"1MiB-cold", 1 << 20, 256 * kMiB, 4096, 512},
    {"64B-warm", 64, 1 * kMiB, 4096, 1'000'000},
};

struct Options {
  int pairs = 15;
  std::vector<std::string> only;
  double min_ratio = 0;
  double min_mops = 0;
  std::string json;
  unsigned cpu = 0;
  bool cpu_time = false;
  bool endpoint_only = false;
  bool stages = false;
};

struct Sample {
  double limit_s;
  double endpoint_s;
};

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}
template <class F>
std::vector<double> map(const std::vector<Sample>& samples, F f) {
  std::vector<double> out;
  for (const Sample& s : samples) out.push_back(f(s));
  return out;
}

struct Summary {
  double median, min, max;
};
Summary summarize(const std::vector<double>& v) {
  return {median(v), *std::min_element(v.begin(), v.end()), *std::max_element(v.begin(), v.end())};
}

nlohmann::json to_json(const Summary& s) {
  return {{"median", s.median}, {"min", s.min}, {"max", s.max}};
}

/// One scenario: pairs of (limit, endpoint), order alternating.
Result<std::vector<Sample>> measure(const Scenario& s, const ring::RingPair& rings, const Options& o) {
  auto ends = Ends::create(rings, s.memory_bytes, s.pmtu);
  if (!ends) return ends.error();
  LimitConfig lc;
  for (unsigned p = 0; p < kPlanes; ++p) {
    lc.tx_ports.push_back(rings.port(0, p));
    lc.rx_ports.push_back(rings.port(1, p));
  }
  lc.payload_bytes = std::min<std::uint32_t>(s.message_bytes, s.pmtu);
  auto limit = Limit::create(lc);
  if (!limit) return limit.error();
  Buffer& source = (*ends)->source();
  Buffer& target = (*ends)->target();
  const std::uint64_t bytes = s.messages * s.message_bytes;
  const std::uint64_t packets = bytes / lc.payload_bytes;

  std::vector<Sample> samples;
  for (int i = -1; i < o.pairs; ++i) {  // -1: both warm up, not counted
    Sample x{};
    for (int half = 0; half < 2; ++half) {
      (*ends)->poison();  // before both, so that both find the same caches
      if ((half == 0) == (i % 2 == 0)) {
        if (o.endpoint_only) continue;
        x.limit_s = (*limit)->run(packets, {source.data(), source.size()}, {target.data(), target.size()});
      } else {
        x.endpoint_s = (*ends)->run(s.messages, s.message_bytes);
        if (!(*ends)->verify(std::min<std::uint64_t>(bytes, s.memory_bytes))) {
          return Error{std::string(s.name) + ": target differs from source after the endpoint's run"};
        }
      }
    }
    if (x.limit_s <= 0 && !o.endpoint_only)
      return Error{std::string(s.name) + ": the limit program saw a wrong CRC"};
    if (x.endpoint_s <= 0) return Error{std::string(s.name) + ": a write did not complete with success"};
    if (i >= 0) samples.push_back(x);
  }
  return samples;
}

/// Nanoseconds a packet of each stage, from a run of its own with the stages timed: the TSC reads cost too.
Result<nlohmann::json> report_stages(const Scenario& s, const ring::RingPair& rings) {
  auto ends = Ends::create(rings, s.memory_bytes, s.pmtu, true);
  if (!ends) return ends.error();
  std::array<nic::WorkerStats, 2> before;
  (*ends)->run(s.messages / 4 + 1, s.message_bytes);
  for (unsigned e = 0; e < 2; ++e) before[e] = (*ends)->nic(e).snapshot(0);
  const double seconds = (*ends)->run(s.messages, s.message_bytes);
  if (seconds <= 0) return Error{std::string(s.name) + ": a write did not complete with success"};
  const double packets =
      static_cast<double>(s.messages) * std::max<std::uint32_t>(1, s.message_bytes / s.pmtu);
  const double ns_per_tick = 1e9 / static_cast<double>(rte_get_tsc_hz());
  nlohmann::json out = nlohmann::json::object();
  double total = 0;
  std::printf("%-10s ns/packet     requestor responder\n", s.name);
  for (std::size_t stage = 0; stage < nic::kStages; ++stage) {
    std::array<double, 2> ns{};
    for (unsigned e = 0; e < 2; ++e) {
      const auto ticks = (*ends)->nic(e).snapshot(0).stage_ticks[stage] - before[e].stage_ticks[stage];
      ns[e] = static_cast<double>(ticks) * ns_per_tick / packets;
      total += ns[e];
    }
    out[nic::kStageNames[stage]] = {{"requestor_ns", ns[0]}, {"responder_ns", ns[1]}};
    std::printf("           %-12s  %9.1f %9.1f\n", nic::kStageNames[stage], ns[0], ns[1]);
  }
  std::uint64_t preempted = 0;
  for (unsigned e = 0; e < 2; ++e) {
    preempted += (*ends)->nic(e).snapshot(0).stage_preemptions - before[e].stage_preemptions;
  }
  const double whole = seconds * 1e9 / packets;
  std::printf(
      "           %-12s  %9.1f (posting and polling; %llu preempted stages are left out above and count "
      "here)\n",
      "the rest", whole - total, static_cast<unsigned long long>(preempted));
  out["rest_ns"] = whole - total;
  out["preempted_stages"] = preempted;
  return out;
}

struct Verdict {
  nlohmann::json json;
  bool good = true;
};

Verdict report(const Scenario& s, const std::vector<Sample>& samples, const Options& o) {
  const double bits = static_cast<double>(s.messages) * s.message_bytes * 8;
  const double packets = static_cast<double>(s.messages) *
                         static_cast<double>(std::max<std::uint32_t>(1, s.message_bytes / s.pmtu));
  const Summary limit = summarize(map(samples, [&](const Sample& x) { return bits / x.limit_s / 1e9; }));
  const Summary ours = summarize(map(samples, [&](const Sample& x) { return bits / x.endpoint_s / 1e9; }));
  const Summary ratio = summarize(map(samples, [](const Sample& x) { return x.limit_s / x.endpoint_s; }));
  const Summary excess =
      summarize(map(samples, [&](const Sample& x) { return (x.endpoint_s - x.limit_s) * 1e9 / packets; }));
  const Summary mops = summarize(
      map(samples, [&](const Sample& x) { return static_cast<double>(s.messages) / x.endpoint_s / 1e6; }));
  std::printf(
      "%-10s limit %6.1f (%.1f..%.1f) Gb/s   endpoint %6.1f (%.1f..%.1f) Gb/s   ratio %.2f (%.2f..%.2f)   "
      "excess %.0f (%.0f..%.0f) ns/packet   %.3f (%.3f..%.3f) M writes/s\n",
      s.name, limit.median, limit.min, limit.max, ours.median, ours.min, ours.max, ratio.median, ratio.min,
      ratio.max, excess.median, excess.min, excess.max, mops.median, mops.min, mops.max);
  std::fflush(stdout);
  Verdict v;
  v.json = {{"scenario", s.name},
            {"message_bytes", s.message_bytes},
            {"pmtu_bytes", s.pmtu},
            {"memory_bytes", s.memory_bytes},
            {"pairs", samples.size()},
            {"limit_goodput_gbps", to_json(limit)},
            {"endpoint_goodput_gbps", to_json(ours)},
            {"ratio", to_json(ratio)},
            {"excess_ns_per_packet", to_json(excess)},
            {"writes_mops", to_json(mops)}};
  if (s.message_bytes >= s.pmtu && ratio.median < o.min_ratio) v.good = false;
  if (s.message_bytes < s.pmtu && mops.median < o.min_mops) v.good = false;
  return v;
}

bool start_eal(unsigned cpu) {
  std::vector<std::string> args{"endpoint_bench",    "--no-huge",      "--no-pci",     "-m", "1024", "-l",
                                std::to_string(cpu), "--no-telemetry", "--log-level=3"};
  std::vector<char*> argv;
  for (auto& a : args) argv.push_back(a.data());
  return rte_eal_init(static_cast<int>(argv.size()), argv.data()) >= 0;  // pins this thread to the CPU
}

int run(const Options& o) {
  if (o.cpu_time) stopwatch_clock = StopwatchClock::kThreadCpu;
  const C2c c2c = o.endpoint_only ? C2c{} : measure_c2c();
  if (!start_eal(o.cpu)) {
    std::fprintf(stderr, "endpoint_bench: EAL does not start on CPU %u; try --cpu\n", o.cpu);
    return 2;
  }
  ring::RingPairConfig rc;
  rc.planes = kPlanes;
  auto rings = ring::RingPair::create(rc);
  if (!rings) {
    std::fprintf(stderr, "endpoint_bench: %s\n", rings.error().message.c_str());
    return 2;
  }
  const char* clock = o.cpu_time ? "CPU" : "wall";
  std::printf(
      "one core (CPU %u) serves both ends: %u planes over ring ports, %u EVs, TSETH, ICRC verified\n"
      "%d pairs, %s time, median (min..max); goodput; core to core: %s\n",
      o.cpu, kPlanes, kEvs, o.pairs, clock, c2c.text().c_str());
  nlohmann::json out = {
      {"schema", "softmrc-bench-1"}, {"clock", clock}, {"scenarios", nlohmann::json::array()}};
  bool good = true;
  for (const Scenario& s : kScenarios) {
    if (!o.only.empty() && std::find(o.only.begin(), o.only.end(), s.name) == o.only.end()) continue;
    const auto samples = measure(s, **rings, o);
    if (!samples) {
      std::fprintf(stderr, "endpoint_bench: %s\n", samples.error().message.c_str());
      return 1;
    }
    Verdict v = report(s, *samples, o);
    good = good && v.good;
    if (o.stages) {
      auto stages = report_stages(s, **rings);
      if (!stages) {
        std::fprintf(stderr, "endpoint_bench: %s\n", stages.error().message.c_str());
        return 1;
      }
      v.json["stages"] = *stages;
    }
    out["scenarios"].push_back(v.json);
  }
  if (!o.json.empty()) {
    std::FILE* f = std::fopen(o.json.c_str(), "w");
    if (f == nullptr) {
      std::fprintf(stderr, "endpoint_bench: cannot write %s\n", o.json.c_str());
      return 2;
    }
    std::fputs((out.dump(2) + "\n").c_str(), f);
    std::fclose(f);
  }
  if (!good) std::printf("below --min-ratio or --min-mops\n");
  return good ? 0 : 1;
}

}  // namespace
}  // namespace mrc::perf

int main(int argc, char** argv) {
  mrc::perf::Options o;
  CLI::App app{"Both ends of the endpoint on one core, beside the limit of the machine"};
  app.add_option("--pairs", o.pairs, "measurements of each")->check(CLI::Range(1, 1000));
  app.add_option("--only", o.only, "scenarios: 1MiB-warm, 1MiB-cold, 64B-warm");
  app.add_option("--min-ratio", o.min_ratio, "fail when the median ratio of a 1 MiB scenario is below");
  app.add_option("--min-mops", o.min_mops, "fail when fewer million writes a second complete at 64 B");
  app.add_option("--json", o.json, "write the results here as well");
  app.add_option("--cpu", o.cpu, "the core");
  app.add_flag("--stages", o.stages, "also ns a packet by stage, from a run with stage timing (wall time)");
  app.add_flag("--endpoint-only", o.endpoint_only, "leave the limit out: for profiling");
  app.add_flag("--cpu-time", o.cpu_time,
               "measure the thread's CPU time, not wall time: for a machine that is shared");
  CLI11_PARSE(app, argc, argv);
  return mrc::perf::run(o);
}
