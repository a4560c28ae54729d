// SPDX-License-Identifier: BSD-3-Clause
// What the pump of the virtual fabric costs: real frames through real ring ports on one core.
#include <benchmark/benchmark.h>
#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <memory>

#include "ethdev/eal.h"
#include "ethdev/port.h"
#include "virtual/virtual_fabric.h"
#include "wire/encode.h"
#include "wire/icrc.h"

namespace mrc::virt {
namespace {

constexpr std::uint32_t kPlanes = 4;
constexpr std::uint16_t kBurst = 32;
rte_mempool* pool = nullptr;

/// A frame of the product's default shape, payload of `bytes`.
rte_mbuf* make_frame(std::uint16_t sport, std::uint32_t bytes) {
  wire::PathAddress a;
  a.src_ip.bytes = {10, 0, 0, 1};
  a.dst_ip.bytes = {10, 0, 0, 2};
  const auto path = wire::HeaderTemplate::create(a);
  rte_mbuf* m = rte_pktmbuf_alloc(pool);
  wire::WriteView w;
  w.bth.opcode = wire::Opcode::kWriteOnly;
  w.bth.ts = true;
  w.payload_bytes = w.dmalen = bytes;
  wire::SendMeta meta;
  meta.tos = wire::DscpMap{}.tos(wire::DscpClass::kTrimmable);
  meta.ev.udp_sport = sport;
  std::uint8_t* payload = static_cast<std::uint8_t*>(m->buf_addr) + 256;
  const std::uint32_t header = wire::encode_write(*path, meta, w, payload);
  const std::uint32_t trailer = wire::seal(*path, payload, header, bytes);
  m->data_off = static_cast<std::uint16_t>(256 - header);
  m->data_len = static_cast<std::uint16_t>(header + bytes + trailer);
  m->pkt_len = m->data_len;
  return m;
}

struct Bench {
  std::unique_ptr<VirtualFabric> net;
  std::array<std::array<rte_mbuf*, kBurst>, kPlanes> frames{};

  ~Bench() {
    for (auto& plane : frames) rte_pktmbuf_free_bulk(plane.data(), kBurst);
  }

  Bench(std::int64_t delay_ns, std::uint32_t bytes) {
    VirtualConfig c;
    c.path.delay = nanoseconds(delay_ns);
    auto made = VirtualFabric::create(c);
    if (!made) {
      std::fprintf(stderr, "%s\n", made.error().message.c_str());
      std::exit(1);
    }
    net = *std::move(made);
    for (std::uint32_t p = 0; p < kPlanes; ++p) {
      for (std::uint16_t i = 0; i < kBurst; ++i)
        frames[p][i] = make_frame(static_cast<std::uint16_t>(p * 32 + i), bytes);
    }
  }

  /// Host 0 sends a burst on each plane; what host 1 receives is what host 0 sends next.
  std::uint64_t round(Time now) {
    std::uint64_t received = 0;
    for (std::uint32_t p = 0; p < kPlanes; ++p) {
      rte_eth_tx_burst(net->port_id(0, p), 0, frames[p].data(), kBurst);
    }
    net->poll(now);
    for (std::uint32_t p = 0; p < kPlanes; ++p) {
      received += rte_eth_rx_burst(net->port_id(1, p), 0, frames[p].data(), kBurst);
    }
    return received;
  }
};

/// Ring in, pump, ring out; the frames never leave. Argument: payload bytes.
void BM_PumpWithoutDelay(benchmark::State& state) {
  Bench b(0, static_cast<std::uint32_t>(state.range(0)));
  std::uint64_t received = 0;
  std::int64_t t = 1;
  for (auto _ : state) received += b.round(Time{t += 1000});
  if (received != static_cast<std::uint64_t>(state.iterations()) * kPlanes * kBurst)
    state.SkipWithError("frames were lost");
  state.SetItemsProcessed(static_cast<std::int64_t>(received));
}
BENCHMARK(BM_PumpWithoutDelay)->Arg(64)->Arg(4096);

/// With a delay of one round every frame waits on a wire and costs an event; two sets of frames take turns.
/// Argument: payload bytes.
void BM_PumpWithDelay(benchmark::State& state) {
  const auto bytes = static_cast<std::uint32_t>(state.range(0));
  Bench b(1000, bytes);
  auto second_set = b.frames;
  std::uint16_t sport = 1000;
  for (auto& plane : second_set) {
    for (rte_mbuf*& m : plane) m = make_frame(sport++, bytes);
  }
  std::int64_t t = 1;
  b.round(Time{t});  // the first set leaves, nothing arrives
  b.frames = second_set;
  std::uint64_t received = 0;
  for (auto _ : state) received += b.round(Time{t += 1000});
  if (received != static_cast<std::uint64_t>(state.iterations()) * kPlanes * kBurst)
    state.SkipWithError("frames were lost");
  state.SetItemsProcessed(static_cast<std::int64_t>(received));
}
BENCHMARK(BM_PumpWithDelay)->Arg(64)->Arg(4096);

/// The floor: the same bursts through a plain ring, no pump.
void BM_PlainRing(benchmark::State& state) {
  rte_ring* ring = rte_ring_create("floor", 2048, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
  std::array<rte_mbuf*, kBurst> burst;
  for (std::uint16_t i = 0; i < kBurst; ++i) burst[i] = make_frame(i, 64);
  for (auto _ : state) {
    for (std::uint32_t p = 0; p < 2 * kPlanes; ++p) {
      rte_ring_sp_enqueue_burst(ring, reinterpret_cast<void**>(burst.data()), kBurst, nullptr);
      rte_ring_sc_dequeue_burst(ring, reinterpret_cast<void**>(burst.data()), kBurst, nullptr);
    }
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * kPlanes * kBurst);
  for (rte_mbuf* m : burst) rte_pktmbuf_free(m);
  rte_ring_free(ring);
}
BENCHMARK(BM_PlainRing);

}  // namespace
}  // namespace mrc::virt

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  mrc::ethdev::EalConfig config = mrc::ethdev::EalConfig::for_tests(1);
  auto eal = mrc::ethdev::Eal::init(config);
  if (!eal) {
    std::fprintf(stderr, "%s\n", eal.error().message.c_str());
    return 1;
  }
  auto pool = mrc::ethdev::make_pool("bench", 8191, 4096 + 512, 256);
  if (!pool) return 1;
  mrc::virt::pool = *pool;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
