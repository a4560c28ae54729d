// SPDX-License-Identifier: BSD-3-Clause
// Pairs of (limit, endpoint), their order alternating, so that a machine that slows down slows both; ratios
// are taken within a pair.
#include "endpoint_bench/one_core.h"

#include <cstdio>
#include <string>

#include "endpoint_bench/bench.h"
#include "endpoint_bench/stages.h"
#include "endpoint_bench/summary.h"
#include "limit/limit.h"

namespace mrc::perf {
namespace {

struct Sample {
  double limit_s = 0;
  double endpoint_s = 0;
};
struct Measured {
  std::vector<Sample> samples;
  Troubles troubles;
  int disturbed = 0;  ///< pairs that were measured again because the CPU was away
};

Result<std::unique_ptr<Limit>> make_limit(const Scenario& s, const ring::RingPair& rings) {
  LimitConfig lc;
  for (unsigned p = 0; p < kPlanes; ++p) {
    lc.tx_ports.push_back(rings.port(0, p));
    lc.rx_ports.push_back(rings.port(1, p));
  }
  lc.payload_bytes = s.payload_bytes();
  return Limit::create(lc);
}

/// One pair; `limit_first` alternates.
Result<Sample> measure_pair(const Scenario& s, Ends& ends, Limit* limit, bool limit_first,
                            Troubles& troubles) {
  Sample x;
  for (const bool of_limit : {limit_first, !limit_first}) {
    ends.poison();  // before both, so that both find the same caches
    if (of_limit) {
      if (limit == nullptr) continue;
      x.limit_s =
          limit->run(static_cast<std::uint64_t>(s.packets()), {ends.source().data(), ends.source().size()},
                     {ends.target().data(), ends.target().size()});
      if (x.limit_s <= 0) return Error{std::string(s.name) + ": the limit program saw a wrong CRC"};
      continue;
    }
    const RunResult r = ends.run(s.messages, s.message_bytes);
    if (r.seconds <= 0) return Error{std::string(s.name) + ": a write did not complete with success"};
    const auto written = std::min<std::uint64_t>(s.messages * s.message_bytes, s.memory_bytes);
    if (!ends.verify(written)) return Error{std::string(s.name) + ": target differs from source after a run"};
    x.endpoint_s = r.seconds;
    troubles = r.troubles;
  }
  return x;
}

Result<Measured> measure(const Scenario& s, const ring::RingPair& rings, const Options& o) {
  auto ends = Ends::create(rings, s.memory_bytes, s.pmtu);
  if (!ends) return ends.error();
  auto limit = make_limit(s, rings);
  if (!limit) return limit.error();
  Measured m;
  for (int i = -1; static_cast<int>(m.samples.size()) < o.pairs; ++i) {  // -1: both warm up, not counted
    Troubles troubles;
    const auto x = measure_pair(s, **ends, o.endpoint_only ? nullptr : limit->get(), i % 2 == 0, troubles);
    if (!x) return x.error();
    if (i < 0) continue;
    // CPU time does not run while the CPU is away, wall time does: such a pair tells of another process.
    if (!o.cpu_time && troubles.poll_gaps != 0 && m.disturbed < o.pairs) {
      ++m.disturbed;
      continue;
    }
    m.troubles += troubles;
    m.samples.push_back(*x);
  }
  return m;
}

}  // namespace

Result<Verdict> measure_on_one_core(const Scenario& s, const ring::RingPair& rings, const Options& o) {
  const auto m = measure(s, rings, o);
  if (!m) return m.error();
  const double bits = s.bytes() * 8;
  const auto over = [&](auto of) { return Summary::over(m->samples, of); };
  const Summary ours = over([&](const Sample& x) { return bits / x.endpoint_s / 1e9; });
  const Summary mops =
      over([&](const Sample& x) { return static_cast<double>(s.messages) / x.endpoint_s / 1e6; });
  Verdict v;
  v.json = {{"scenario", s.name},
            {"message_bytes", s.message_bytes},
            {"pmtu_bytes", s.pmtu},
            {"memory_bytes", s.memory_bytes},
            {"pairs", m->samples.size()},
            {"endpoint_goodput_gbps", ours.json()},
            {"writes_mops", mops.json()},
            {"troubles", to_json(m->troubles)},
            {"pairs_measured_again", m->disturbed}};
  std::printf("%-10s endpoint %6.1f (%.1f..%.1f) Gb/s   %.3f (%.3f..%.3f) M writes/s", s.name, ours.median,
              ours.min, ours.max, mops.median, mops.min, mops.max);
  double limit_ns = 0;
  if (!o.endpoint_only) {
    const Summary limit = over([&](const Sample& x) { return bits / x.limit_s / 1e9; });
    const Summary ratio = over([](const Sample& x) { return x.limit_s / x.endpoint_s; });
    const Summary excess =
        over([&](const Sample& x) { return (x.endpoint_s - x.limit_s) * 1e9 / s.packets(); });
    limit_ns = over([&](const Sample& x) { return x.limit_s * 1e9 / s.packets(); }).median;
    std::printf(
        "   limit %6.1f (%.1f..%.1f) Gb/s   ratio %.2f (%.2f..%.2f)   excess %.0f (%.0f..%.0f) ns/packet",
        limit.median, limit.min, limit.max, ratio.median, ratio.min, ratio.max, excess.median, excess.min,
        excess.max);
    v.json["limit_goodput_gbps"] = limit.json();
    v.json["ratio"] = ratio.json();
    v.json["excess_ns_per_packet"] = excess.json();
    if (s.is_long() && ratio.median < o.min_ratio) v.good = false;
  }
  if (!s.is_long() && mops.median < o.min_mops) v.good = false;
  std::printf("\n%-10s %llu retransmissions, %llu timer expiries, %llu poll gaps, %d pairs measured again\n",
              "", static_cast<unsigned long long>(m->troubles.retransmissions),
              static_cast<unsigned long long>(m->troubles.timer_expiries),
              static_cast<unsigned long long>(m->troubles.poll_gaps), m->disturbed);
  if (m->troubles.repaired() || (!o.cpu_time && m->troubles.poll_gaps != 0)) {
    std::printf(
        "%-10s not clean: the runs repaired losses or the CPU was away; free the CPU, or use --cpu-time\n",
        "");
    v.good = false;
  }
  if (o.stages) {
    auto stages = report_stages(s, rings, limit_ns);
    if (!stages) return stages.error();
    v.json["stages"] = *stages;
  }
  std::fflush(stdout);
  return v;
}

}  // namespace mrc::perf
