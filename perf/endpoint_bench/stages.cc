// SPDX-License-Identifier: BSD-3-Clause
#include "endpoint_bench/stages.h"

#include <rte_cycles.h>

#include <array>
#include <cstdio>
#include <string>

#include "endpoint_bench/bench.h"

namespace mrc::perf {
namespace {

/// Both ends together. Short: 250 ns in all, four million writes a second. Long, 4 KiB: what may come on top
/// of the limit for 0.7 of it where the limit takes 245 ns; half of the limit's time stands in each of the
/// stages that copy. Explained in lib/nic/README.md.
struct Sketch {
  double short_ns;
  double long_ns;
  bool copies;
};
constexpr std::array<Sketch, nic::kStages> kSketch = {{
    {0, 0, false},    // posts: none without an application queue
    {10, 5, false},   // rx_burst
    {45, 30, false},  // inspect
    {50, 15, true},   // deliver
    {5, 5, false},    // free
    {10, 5, false},   // settle
    {10, 5, false},   // control
    {40, 20, false},  // transport
    {45, 15, true},   // encode
    {10, 5, false},   // tx_burst
}};
constexpr double kPostingShortNs = 25;

double sketch_ns(std::size_t stage, const Scenario& s, double limit_ns) {
  const Sketch& k = kSketch[stage];
  return s.is_long() ? k.long_ns + (k.copies ? limit_ns / 2 : 0) : k.short_ns;
}

}  // namespace

Result<nlohmann::json> report_stages(const Scenario& s, const ring::RingPair& rings, double limit_ns) {
  auto ends = Ends::create(rings, s.memory_bytes, s.pmtu, true);
  if (!ends) return ends.error();
  std::array<nic::WorkerStats, 2> before;
  (*ends)->run(s.messages / 4 + 1, s.message_bytes);
  for (unsigned e = 0; e < 2; ++e) before[e] = (*ends)->nic(e).snapshot(0);
  const double seconds = (*ends)->run(s.messages, s.message_bytes).seconds;
  if (seconds <= 0) return Error{std::string(s.name) + ": a write did not complete with success"};
  const double ns_per_tick = 1e9 / static_cast<double>(rte_get_tsc_hz());
  nlohmann::json out = nlohmann::json::object();
  double sum = 0;
  double sketch_sum = 0;
  std::uint64_t preempted = 0;
  std::printf("%-10s ns/packet        sketch    both ends   requestor   responder\n", "");
  for (std::size_t stage = 0; stage < nic::kStages; ++stage) {
    std::array<double, 2> ns{};
    for (unsigned e = 0; e < 2; ++e) {
      const auto ticks = (*ends)->nic(e).snapshot(0).stage_ticks[stage] - before[e].stage_ticks[stage];
      ns[e] = static_cast<double>(ticks) * ns_per_tick / s.packets();
    }
    const double sketch = sketch_ns(stage, s, limit_ns);
    sum += ns[0] + ns[1];
    sketch_sum += sketch;
    out[nic::kStageNames[stage]] = {{"sketch_ns", sketch}, {"requestor_ns", ns[0]}, {"responder_ns", ns[1]}};
    std::printf("%-10s %-12s  %9.0f    %9.1f   %9.1f   %9.1f\n", "", nic::kStageNames[stage], sketch,
                ns[0] + ns[1], ns[0], ns[1]);
  }
  for (unsigned e = 0; e < 2; ++e) {
    preempted += (*ends)->nic(e).snapshot(0).stage_preemptions - before[e].stage_preemptions;
  }
  const double whole = seconds * 1e9 / s.packets();
  const double posting = s.is_long() ? 0 : kPostingShortNs;
  std::printf("%-10s %-12s  %9.0f    %9.1f   posting, completions, and %llu stages that were interrupted\n",
              "", "the rest", posting, whole - sum, static_cast<unsigned long long>(preempted));
  std::printf("%-10s %-12s  %9.0f    %9.1f\n", "", "sum", sketch_sum + posting, whole);
  out["rest"] = {{"sketch_ns", posting}, {"ns", whole - sum}, {"interrupted_stages", preempted}};
  out["sum"] = {{"sketch_ns", sketch_sum + posting}, {"ns", whole}};
  return out;
}

}  // namespace mrc::perf
