// SPDX-License-Identifier: BSD-3-Clause
// What lib/fabric costs without any mbuf: ns a packet and packet-hops a second.
#include <benchmark/benchmark.h>

#include <array>
#include <cstdlib>
#include <memory>

#include "base/rng.h"
#include "fabric/fabric.h"

namespace mrc::fabric {
namespace {

constexpr std::uint64_t kRate = 100'000'000'000;

std::unique_ptr<Fabric> make(Result<Topology> topology, Forwarding mode) {
  FabricConfig config;
  config.forwarding.mode = mode;
  if (!topology) std::abort();
  auto f = Fabric::create(*std::move(topology), config);
  if (!f) std::abort();
  return *std::move(f);
}

Packet data(HostId to, std::uint16_t sport) {
  Packet p;
  p.size_bytes = 4150;
  p.dst_host = to;
  p.sport = sport;
  p.kind = Kind::kData;
  p.dscp = wire::DscpClass::kTrimmable;
  p.ect = true;
  return p;
}

/// Bursts of 32 over planes of parallel paths, as the virtual port does it. Argument: delay in ns.
void BM_ParallelPaths(benchmark::State& state) {
  PortConfig path;
  path.delay = nanoseconds(state.range(0));
  auto f = make(make_parallel_paths(2, 4, 8, path), Forwarding::kEcmp);
  std::array<Outcome, 32> out;
  Time now{1};
  std::uint16_t sport = 0;
  std::uint64_t delivered = 0;
  for (auto _ : state) {
    now = now + nanoseconds(1000);
    for (std::size_t n = out.size(); n == out.size();) delivered += n = f->advance(now, out);
    for (int i = 0; i < 32; ++i, ++sport)
      f->inject(sport & 1, sport / 2 & 3, data(1 - (sport & 1), sport), now);
  }
  benchmark::DoNotOptimize(delivered);
  state.SetItemsProcessed(state.iterations() * 32);
}
BENCHMARK(BM_ParallelPaths)->Arg(0)->Arg(10'000)->Arg(1'000'000);

/// A fat tree of 100G links under a permutation at line rate: every hop queues, serialises and flies.
/// Argument: k.
void BM_FatTree(benchmark::State& state) {
  const auto k = static_cast<std::uint32_t>(state.range(0));
  ClosSpec s;
  s.tiers = 3;
  s.hosts_per_t0 = s.t1 = s.t0_per_pod = s.t2_per_t1 = k / 2;
  s.hosts = k * k * k / 4;
  PortConfig port;
  port.rate_bps = kRate;
  port.delay = microseconds(1);
  port.data_queue_bytes = 178'450;
  port.control_queue_bytes = 356'900;
  port.ecn = {.enabled = true, .min_bytes = 37'350, .max_bytes = 145'250};
  port.trim.enabled = true;
  s.host_port = s.t0_down = s.t0_up = s.t1_down = s.t1_up = s.t2_down = port;
  auto f = make(make_clos(s), Forwarding::kEcmp);
  std::array<Outcome, 64> out;
  Rng rng(1);
  Time now{1};
  for (auto _ : state) {
    for (HostId h = 0; h < s.hosts; ++h) {
      f->inject(h, 0, data((h + s.hosts / 2) % s.hosts, static_cast<std::uint16_t>(rng.next())), now);
    }
    now = now + nanoseconds(332);
    while (f->advance(now, out) == out.size()) {
    }
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(f->counters().hops));
  state.SetLabel("items are packet-hops");
}
BENCHMARK(BM_FatTree)->Arg(4)->Arg(8)->Arg(16);

}  // namespace
}  // namespace mrc::fabric

BENCHMARK_MAIN();
