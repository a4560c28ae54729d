// SPDX-License-Identifier: BSD-3-Clause
// What an EV choice costs, beside the cheapest choice there is: plain round robin over the same table, timed
// in alternating blocks of the same run. Counters: ns_per_choice, limit_ns (round robin), x_limit (their
// ratio). 4 planes, all free. `skip10`: every tenth packet is answered with a mark (the cost of on_mark
// included). `halfbad`: half of the EVs ASSUMED_BAD.
#include <benchmark/benchmark.h>

#include <ctime>
#include <memory>
#include <vector>

#include "path/ev_set.h"
#include "path/profile.h"

namespace {

using mrc::Time;
using mrc::path::EvChoice;
using mrc::path::EvIndex;
using mrc::path::EvSet;
using mrc::path::EvTable;

constexpr int kBlock = 4096;
constexpr std::uint32_t kPorts = 0xF;
enum Scenario : std::int64_t { kHealthy, kSkip10, kHalfBad, kRetransmit };

std::shared_ptr<const EvTable> make_table(std::int64_t evs) {
  mrc::path::EvProfile p;
  p.ev_count = static_cast<std::uint32_t>(evs);
  p.api_ports = {1, 2, 3, 4};
  auto table = mrc::path::build_table(p);
  return std::make_shared<const EvTable>(std::move(*table));
}

// CPU time of this thread: neighbours on the machine then cost cache, not the whole time slice.
double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

double seconds_of(const auto& block) {
  const double start = cpu_seconds();
  block();
  return cpu_seconds() - start;
}

struct RoundRobin {
  const EvTable* table;
  std::size_t next = 0;
  EvChoice choose(std::uint32_t free_ports) {
    for (;;) {
      const std::size_t ev = next;
      next = next + 1 == table->size() ? 0 : next + 1;
      const std::uint8_t port = (*table)[ev].port;
      if ((free_ports >> port & 1U) != 0) return {static_cast<EvIndex>(ev), port, false};
    }
  }
};

void BM_Choose(benchmark::State& state) {
  const auto table = make_table(state.range(0));
  const std::int64_t scenario = state.range(1);
  EvSet set(table, {}, 42);
  RoundRobin limit{table.get()};
  const Time now = Time{} + mrc::seconds(1);
  if (scenario == kHalfBad)
    for (EvIndex ev = 0; ev < table->size(); ++ev)
      if (ev / 4 % 2 == 0) set.on_loss(ev, mrc::path::EvCause::kLoss, now, now);
  for (EvIndex ev = 0; ev < table->size(); ++ev)
    set.on_delivered(ev, now + mrc::nanoseconds(ev), now + mrc::nanoseconds(ev));

  double limit_s = 0;
  double choice_s = 0;
  for (auto _ : state) {
    std::uint32_t ports = kPorts;
    benchmark::DoNotOptimize(ports);
    const double s = seconds_of([&] {
      for (int i = 0; i < kBlock; ++i) {
        const EvChoice c = scenario == kRetransmit
                               ? set.choose_for_retransmission(now, ports, {.ev = 0, .port = 0})
                               : set.choose(now, ports);
        benchmark::DoNotOptimize(c);
        if (scenario == kSkip10 && i % 10 == 0) set.on_mark(c.ev, mrc::wire::EvMark::kSkipOnce, now);
      }
    });
    limit_s += seconds_of([&] {
      for (int i = 0; i < kBlock; ++i) benchmark::DoNotOptimize(limit.choose(ports));
    });
    choice_s += s;
    state.SetIterationTime(s);
  }
  const double choices = static_cast<double>(state.iterations()) * kBlock;
  state.counters["ns_per_choice"] = choice_s / choices * 1e9;
  state.counters["limit_ns"] = limit_s / choices * 1e9;
  state.counters["x_limit"] = choice_s / limit_s;
}
BENCHMARK(BM_Choose)
    ->ArgNames({"evs", "healthy0_skip1_halfbad2_rtx3"})
    ->ArgsProduct({{32, 128, 256}, {kHealthy, kSkip10, kHalfBad, kRetransmit}})
    ->UseManualTime();

// The reflected entropy back to its EV (D12).
void BM_FindUnique(benchmark::State& state) {
  const auto table = make_table(state.range(0));
  std::size_t i = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(table->find_unique((*table)[i].entropy, -1));
    i = (i + 7) % table->size();
  }
}
BENCHMARK(BM_FindUnique)->Arg(32)->Arg(256);

}  // namespace

BENCHMARK_MAIN();
