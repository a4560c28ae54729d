// SPDX-License-Identifier: BSD-3-Clause
#include "endpoint_bench/two_cores.h"

#include <cstdio>
#include <string>
#include <utility>

#include "endpoint_bench/bench.h"
#include "endpoint_bench/c2c.h"
#include "endpoint_bench/summary.h"
#include "limit/stopwatch.h"

namespace mrc::perf {
namespace {

struct Sample {
  double seconds;
  double c2c_ns;
};

}  // namespace

Result<Verdict> measure_on_two_cores(const Scenario& s, const ring::RingPair& rings, const Options& o) {
  auto ends = Ends::create(rings, s.memory_bytes, s.pmtu);
  if (!ends) return ends.error();
  const StopwatchClock clock = std::exchange(stopwatch_clock, StopwatchClock::kWall);
  std::vector<Sample> samples;
  Troubles troubles;
  int disturbed = 0;
  for (int i = -1; static_cast<int>(samples.size()) < o.pairs; ++i) {  // -1: warms up
    const double before_ns = measure_c2c_ns(o.cpu, o.other_cpu);
    (*ends)->poison();
    const RunResult r = (*ends)->run_on_two_cores(s.messages, s.message_bytes, o.other_cpu);
    const double after_ns = measure_c2c_ns(o.cpu, o.other_cpu);
    if (r.seconds <= 0)
      return Error{std::string(s.name) + ", two cores: a write did not complete with success"};
    if (!(*ends)->verify(std::min<std::uint64_t>(s.messages * s.message_bytes, s.memory_bytes))) {
      return Error{std::string(s.name) + ", two cores: target differs from source after a run"};
    }
    if (i < 0) continue;
    // Such a run tells of another process.
    if (r.troubles.poll_gaps != 0 && disturbed < o.pairs) {
      ++disturbed;
      continue;
    }
    troubles += r.troubles;
    samples.push_back({r.seconds, (before_ns + after_ns) / 2});
  }
  stopwatch_clock = clock;
  const Summary rate =
      Summary::over(samples, [&](const Sample& x) { return s.bytes() * 8 / x.seconds / 1e9; });
  const Summary mops = Summary::over(
      samples, [&](const Sample& x) { return static_cast<double>(s.messages) / x.seconds / 1e6; });
  const Summary c2c = Summary::over(samples, [](const Sample& x) { return x.c2c_ns; });
  std::printf(
      "%-10s two cores %6.1f (%.1f..%.1f) Gb/s   %.3f (%.3f..%.3f) M writes/s   core to core %.0f "
      "(%.0f..%.0f) ns "
      "one way (CPU %u to %u)\n%-10s %llu retransmissions, %llu timer expiries, %llu poll gaps, %d runs "
      "measured again\n",
      s.name, rate.median, rate.min, rate.max, mops.median, mops.min, mops.max, c2c.median, c2c.min, c2c.max,
      o.cpu, o.other_cpu, "", static_cast<unsigned long long>(troubles.retransmissions),
      static_cast<unsigned long long>(troubles.timer_expiries),
      static_cast<unsigned long long>(troubles.poll_gaps), disturbed);
  Verdict v;
  v.good = !troubles.repaired() && troubles.poll_gaps == 0;
  if (!v.good) {
    std::printf("%-10s not clean: the runs repaired losses or a CPU was away; free both CPUs\n", "");
  }
  std::fflush(stdout);
  v.json = {{"scenario", s.name},
            {"runs", samples.size()},
            {"endpoint_goodput_gbps", rate.json()},
            {"writes_mops", mops.json()},
            {"core_to_core_ns", c2c.json()},
            {"troubles", to_json(troubles)},
            {"runs_measured_again", disturbed},
            {"clean", v.good}};
  return v;
}

}  // namespace mrc::perf
