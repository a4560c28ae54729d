// SPDX-License-Identifier: BSD-3-Clause
// Encode, decode and ICRC, each beside a limit measured in the same run: a copy of the same header bytes, a
// read of the same cache lines, the bare CRC of the same bytes. `ratio` is measured time / limit time (1 = as
// fast as the limit). All warm: 64 packets in turn, as in a burst or two.
#include <benchmark/benchmark.h>
#include <isa-l/crc.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <ctime>
#include <vector>

#include "base/rng.h"
#include "wire/decode.h"
#include "wire/encode.h"
#include "wire/icrc.h"

namespace {

using namespace mrc::wire;

constexpr std::size_t kBurst = 64;
constexpr std::size_t kBufferBytes = 256 + 4096 + 64;

struct Shape {
  const char* name;
  bool ipv6;
  std::uint8_t tags;
  Encap encap;
};
constexpr std::array<Shape, 4> kShapes = {{{"ipv4", false, 0, Encap::kNone},
                                           {"ipv6", true, 0, Encap::kNone},
                                           {"srv6", true, 0, Encap::kSrv6},
                                           {"qinq_srv6_srh", true, 2, Encap::kSrv6Srh}}};
const std::uint8_t kEv[32] = {0xCA, 0xFE, 0xCA, 0xFE, 1, 2, 3, 4};

HeaderTemplate path_of(const Shape& s) {
  PathAddress a;
  a.src_ip.v6 = a.dst_ip.v6 = s.ipv6;
  a.vlan_tags = s.tags;
  a.vlans[0].tpid = kEthertypeQinq;
  a.encap = s.encap;
  a.src_ip.bytes[0] = a.dst_ip.bytes[0] = 10;
  return *HeaderTemplate::create(a);
}

WriteView write_of(std::uint32_t i, std::uint32_t payload) {
  WriteView w;
  w.bth = {
      i % 8 == 0 ? Opcode::kWriteFirst : Opcode::kWriteMiddle, false, i % 32 == 0, false, true, mrc::Psn{i}};
  w.msn = mrc::Msn{i};
  w.tx_timestamp = mrc::Tick{i * 7};
  w.va = 0x7F0000000000ULL + i * 4096;
  w.rkey = 0xA1B2C3D4;
  w.dmalen = 1U << 20;
  w.payload_bytes = payload;
  return w;
}
SackView sack_of(std::uint32_t i) {
  SackView s;
  s.ack_psn_offset = 3;
  s.entropy = i * 0x10001;
  s.cack_psn = mrc::Psn{i};
  s.sack_offset = 1;
  s.sack_bitmap = i;
  return s;
}
SendMeta meta_of(std::uint32_t i) {
  return {0xB2, 0x12, {static_cast<std::uint16_t>(i * 77), (i * 31) & 0xFFFF, kEv}};
}

/// A burst of buffers, as mbufs lie in memory.
struct Burst {
  std::vector<std::uint8_t> memory = std::vector<std::uint8_t>(kBurst * kBufferBytes);
  std::array<std::uint32_t, kBurst> header_bytes{};
  std::array<std::uint32_t, kBurst> frame_bytes{};
  [[nodiscard]] std::uint8_t* payload(std::size_t i) { return &memory[i * kBufferBytes + kPayloadOffset]; }
  [[nodiscard]] std::span<const std::uint8_t> frame(std::size_t i) {
    return {payload(i) - header_bytes[i], frame_bytes[i]};
  }
};

Burst writes(const HeaderTemplate& path, std::uint32_t payload_bytes) {
  Burst b;
  for (std::uint32_t i = 0; i < kBurst; ++i) {
    b.header_bytes[i] = encode_write(path, meta_of(i), write_of(i, payload_bytes), b.payload(i));
    b.frame_bytes[i] =
        b.header_bytes[i] + payload_bytes + seal(path, b.payload(i), b.header_bytes[i], payload_bytes);
  }
  return b;
}
Burst sacks(const HeaderTemplate& path) {
  Burst b;
  for (std::uint32_t i = 0; i < kBurst; ++i) {
    b.header_bytes[i] = encode_sack(path, meta_of(i), sack_of(i), b.payload(i));
    b.frame_bytes[i] = b.header_bytes[i] + seal(path, b.payload(i), b.header_bytes[i], 0);
  }
  return b;
}

/// CPU time of this thread: neighbours then cost cache, not a time slice.
double cpu_ns() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

/// One block: `f` over the burst, kRounds times. Nanoseconds a packet.
constexpr int kRounds = 16;
template <class F>
double block_ns(F f) {
  const double start = cpu_ns();
  for (int r = 0; r < kRounds; ++r) {
    for (std::size_t i = 0; i < kBurst; ++i) f(i);
    benchmark::ClobberMemory();
  }
  return (cpu_ns() - start) / (kRounds * kBurst);
}

/// Runs `work` and `limit` in turn, so that a slow minute of the machine slows both. The counters are those
/// of the fastest blocks (what the code costs), `mean_ns` of all blocks (what the machine made of it).
template <class Work, class Limit>
void compare(benchmark::State& state, Work work, Limit limit) {
  double best_ns = 1e9;
  double best_limit_ns = 1e9;
  double sum_ns = 0;
  for (auto _ : state) {
    const double work_ns = block_ns(work);
    best_ns = std::min(best_ns, work_ns);
    sum_ns += work_ns;
    best_limit_ns = std::min(best_limit_ns, block_ns(limit));
    state.SetIterationTime(work_ns * kRounds * kBurst * 1e-9);
  }
  state.counters["ns_per_packet"] = best_ns;
  state.counters["mean_ns"] = sum_ns / static_cast<double>(state.iterations());
  state.counters["limit_ns"] = best_limit_ns;
  state.counters["x_limit"] = best_ns / best_limit_ns;
}

void encode_write_bench(benchmark::State& state) {
  const HeaderTemplate path = path_of(kShapes[static_cast<std::size_t>(state.range(0))]);
  Burst b = writes(path, 4096);
  Burst copy = b;
  std::array<WriteView, kBurst> views;
  std::array<SendMeta, kBurst> metas;
  for (std::uint32_t i = 0; i < kBurst; ++i) {
    views[i] = write_of(i, 4096);
    metas[i] = meta_of(i);
  }
  state.SetLabel(kShapes[static_cast<std::size_t>(state.range(0))].name);
  compare(
      state, [&](std::size_t i) { b.header_bytes[i] = encode_write(path, metas[i], views[i], b.payload(i)); },
      [&](std::size_t i) {
        std::memcpy(copy.payload(i) - b.header_bytes[i], b.payload(i) - b.header_bytes[i], b.header_bytes[i]);
      });
}

void encode_sack_bench(benchmark::State& state) {
  const HeaderTemplate path = path_of(kShapes[static_cast<std::size_t>(state.range(0))]);
  Burst b = sacks(path);
  Burst copy = b;
  std::array<SackView, kBurst> views;
  std::array<SendMeta, kBurst> metas;
  for (std::uint32_t i = 0; i < kBurst; ++i) {
    views[i] = sack_of(i);
    metas[i] = meta_of(i);
  }
  state.SetLabel(kShapes[static_cast<std::size_t>(state.range(0))].name);
  compare(
      state, [&](std::size_t i) { b.header_bytes[i] = encode_sack(path, metas[i], views[i], b.payload(i)); },
      [&](std::size_t i) {
        std::memcpy(copy.payload(i) - b.header_bytes[i], b.payload(i) - b.header_bytes[i], b.header_bytes[i]);
      });
}

/// The limit of decoding: read every cache line of the headers once.
void read_lines(std::span<const std::uint8_t> headers) {
  std::uint64_t sum = 0;
  for (std::size_t k = 0; k + 8 <= headers.size(); k += 8) {
    std::uint64_t w;
    std::memcpy(&w, headers.data() + k, 8);
    sum += w;
  }
  benchmark::DoNotOptimize(sum);
}

void decode_bench(benchmark::State& state, bool sack) {
  const HeaderTemplate path = path_of(kShapes[static_cast<std::size_t>(state.range(0))]);
  Burst b = sack ? sacks(path) : writes(path, 4096);
  DecodeOptions options;
  benchmark::DoNotOptimize(options);
  std::uint64_t failed = 0;
  state.SetLabel(kShapes[static_cast<std::size_t>(state.range(0))].name);
  compare(
      state,
      [&](std::size_t i) {
        FrameView f;
        const auto frame = b.frame(i);
        failed += decode_frame(frame, options, f) != DropReason::kNone;
        if (sack) {
          SackView s;
          failed += decode_sack(frame, f, s) != DropReason::kNone;
          benchmark::DoNotOptimize(s);
        } else {
          WriteView w;
          failed += decode_write(frame, f, w) != DropReason::kNone;
          benchmark::DoNotOptimize(w);
        }
      },
      [&](std::size_t i) { read_lines(b.frame(i).first(b.header_bytes[i])); });
  if (failed != 0) state.SkipWithError("packets were dropped");
}

void decode_frame_bench(benchmark::State& state) {
  const HeaderTemplate path = path_of(kShapes[static_cast<std::size_t>(state.range(0))]);
  Burst b = writes(path, 4096);
  DecodeOptions options;
  benchmark::DoNotOptimize(options);
  std::uint64_t failed = 0;
  state.SetLabel(kShapes[static_cast<std::size_t>(state.range(0))].name);
  compare(
      state,
      [&](std::size_t i) {
        FrameView f;
        failed += decode_frame(b.frame(i), options, f) != DropReason::kNone;
        benchmark::DoNotOptimize(f);
      },
      [&](std::size_t i) { read_lines(b.frame(i).first(b.header_bytes[i])); });
  if (failed != 0) state.SkipWithError("packets were dropped");
}

/// ICRC of headers and a payload of range(1) bytes against the bare CRC of as many bytes.
void icrc_seal_bench(benchmark::State& state) {
  const HeaderTemplate path = path_of(kShapes[static_cast<std::size_t>(state.range(0))]);
  const auto payload = static_cast<std::uint32_t>(state.range(1));
  Burst b = writes(path, payload);
  state.SetLabel(kShapes[static_cast<std::size_t>(state.range(0))].name);
  const std::uint32_t covered = path.inner_bytes() + kMaxWriteHeaderBytes - 4 + payload;
  compare(
      state, [&](std::size_t i) { seal(path, b.payload(i), b.header_bytes[i], payload); },
      [&](std::size_t i) {
        benchmark::DoNotOptimize(crc32_gzip_refl(0, b.payload(i) + payload - covered, covered));
      });
}

void icrc_check_bench(benchmark::State& state) {
  const HeaderTemplate path = path_of(kShapes[static_cast<std::size_t>(state.range(0))]);
  const auto payload = static_cast<std::uint32_t>(state.range(1));
  Burst b = writes(path, payload);
  std::array<FrameView, kBurst> views;
  for (std::size_t i = 0; i < kBurst; ++i) {
    if (decode_frame(b.frame(i), {}, views[i]) != DropReason::kNone) return state.SkipWithError("dropped");
  }
  std::uint64_t failed = 0;
  state.SetLabel(kShapes[static_cast<std::size_t>(state.range(0))].name);
  const std::uint32_t covered = path.inner_bytes() + kMaxWriteHeaderBytes - 4 + payload;
  compare(
      state, [&](std::size_t i) { failed += check_icrc(b.frame(i), views[i]).ok() ? 0 : 1; },
      [&](std::size_t i) {
        benchmark::DoNotOptimize(crc32_gzip_refl(0, b.payload(i) + payload - covered, covered));
      });
  if (failed != 0) state.SkipWithError("an ICRC was wrong");
}

void shapes(benchmark::internal::Benchmark* b) {
  b->UseManualTime()->DenseRange(0, kShapes.size() - 1);
}
void sizes(benchmark::internal::Benchmark* b) {
  b->UseManualTime()->ArgsProduct({{0, 1}, {0, 64, 1024, 4096}});
}

BENCHMARK(encode_write_bench)->Apply(shapes)->Name("encode/write");
BENCHMARK(encode_sack_bench)->Apply(shapes)->Name("encode/sack");
BENCHMARK(decode_frame_bench)->Apply(shapes)->Name("decode/frame");
BENCHMARK_CAPTURE(decode_bench, write, false)->Apply(shapes)->Name("decode/frame_and_write");
BENCHMARK_CAPTURE(decode_bench, sack, true)->Apply(shapes)->Name("decode/frame_and_sack");
BENCHMARK(icrc_seal_bench)->Apply(sizes)->Name("icrc/seal");
BENCHMARK(icrc_check_bench)->Apply(sizes)->Name("icrc/check");

}  // namespace

BENCHMARK_MAIN();
