// SPDX-License-Identifier: BSD-3-Clause
// What the transport costs, without packets' bytes: SACK building, SACK processing, and the whole life of a
// packet through both ends. The limit beside it moves the same descriptors, views and completions through
// the same loop with no protocol in between, in the same run.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

#include "transport/qp.h"
#include "wire/sizes.h"

namespace {

using namespace mrc;             // NOLINT(google-build-using-namespace): a program, not a header
using namespace mrc::transport;  // NOLINT(google-build-using-namespace)

constexpr std::size_t kBurst = 32;
constexpr std::size_t kEvs = 128;
constexpr std::size_t kPlanes = 4;

std::shared_ptr<const path::EvTable> make_table() {
  std::vector<path::EvValue> values(kEvs);
  std::vector<std::uint8_t> ports(kEvs);
  for (std::size_t i = 0; i < kEvs; ++i) {
    values[i][0] = 0xC0;
    values[i][1] = static_cast<std::uint8_t>(i);
    ports[i] = static_cast<std::uint8_t>(i % kPlanes);
  }
  auto table = path::EvTable::create(path::EvFormat::kUdp, path::EvOrder::kB, true, values, ports);
  if (!table) throw std::runtime_error(table.error().message);
  return std::make_shared<const path::EvTable>(*table);
}

void bring_up(Qp& qp) {
  QpAttr attr;
  attr.dest_qpn = 0x100;
  const std::uint32_t masks[] = {
      kAttrHint | kAttrEvProfileId | kAttrCcProfileId,
      kAttrMaxWimmDest | kAttrMprDest | kAttrCap | kAttrAv | kAttrPathMtu | kAttrDestQpn | kAttrRqPsn,
      kAttrMaxWimm | kAttrMpr | kAttrRetryCnt | kAttrTimeout | kAttrSqPsn};
  const QpState states[] = {QpState::kInit, QpState::kRtr, QpState::kRts};
  for (std::size_t i = 0; i < 3; ++i) {
    if (auto r = qp.modify(states[i], attr, masks[i], Time{1000}); !r)
      throw std::runtime_error(r.error().message);
  }
}

/// Two QPs of the product's defaults, joined by function calls.
struct Ends {
  std::shared_ptr<const path::EvTable> table = make_table();
  cc::Qpcc cc_a{cc::FixedWindow(64 << 20)};
  cc::Qpcc cc_b{cc::FixedWindow(64 << 20)};
  Qp a{0x100, {}, {}, table, cc_a, 1};
  Qp b{0x101, {}, {}, table, cc_b, 2};
  Time now{1'000'000};

  Ends() {
    bring_up(a);
    bring_up(b);
  }
};

wire::WriteView view_of(const TxDesc& d) {
  wire::WriteView w;
  w.bth = {d.opcode, d.se, d.a, d.rtx, d.ts, d.psn};
  w.rqmsn = d.rqmsn;
  w.msn = d.msn;
  w.tx_timestamp = d.tx_timestamp;
  w.va = d.va;
  w.rkey = d.rkey;
  w.dmalen = d.dmalen;
  w.immdt = d.immdt;
  w.payload_bytes = d.payload_bytes;
  w.nominal_bytes = wire::write_nominal_bytes(d.opcode, d.ts, d.payload_bytes);
  return w;
}

PortCredits credits() {
  PortCredits c;
  c.up_mask = (1U << kPlanes) - 1;
  c.credits.fill(kBurst);
  return c;
}

using Clock = std::chrono::steady_clock;
double ns_since(Clock::time_point& t) {
  const Clock::time_point now = Clock::now();
  const double ns = std::chrono::duration<double, std::nano>(now - t).count();
  t = now;
  return ns;
}

/// Stages of one packet's life, ns.
enum Stage : std::size_t { kPost, kSend, kReceive, kAnswer, kFeedback, kPoll, kStages };
constexpr std::array<const char*, kStages> kStageNames = {
    "1_post", "2_next_packets", "3_write_placed", "4_next_control", "5_sack_ack", "6_poll_wake"};
using Stages = std::array<double, kStages>;

/// One batch through both ends; returns packets sent.
std::size_t one_batch(Ends& e, std::uint32_t message_bytes, Stages& stages) {
  std::array<TxDesc, kBurst> descs;
  std::array<ControlDesc, kBurst> controls;
  std::array<Completion, kBurst> completions;
  wire::RxMeta meta;
  std::size_t posted = 0;
  Clock::time_point t = Clock::now();
  while (e.a.post_send({1, WrOpcode::kRdmaWrite, false, message_bytes, 1, 0, 0, 0}) == PostResult::kOk) {
    if (message_bytes > kMaxPmtu || ++posted == kBurst) break;
  }
  stages[kPost] += ns_since(t);
  PortCredits c = credits();
  const std::size_t n = e.a.next_packets(e.now, c, descs);
  stages[kSend] += ns_since(t);
  meta.arrival = e.now = e.now + microseconds(3);
  for (std::size_t i = 0; i < n; ++i) {
    meta.port = descs[i].port;
    meta.entropy = descs[i].ev;
    if (e.b.on_write(view_of(descs[i]), meta, Access::kOk) == WriteVerdict::kPlace) e.b.placed(descs[i].psn);
  }
  stages[kReceive] += ns_since(t);
  c = credits();
  const std::size_t m = e.b.next_control(e.now, c, controls);
  stages[kAnswer] += ns_since(t);
  meta.arrival = e.now = e.now + microseconds(3);
  for (std::size_t i = 0; i < m; ++i) {
    if (controls[i].opcode == wire::Opcode::kSack) e.a.on_sack(controls[i].sack, meta);
    if (controls[i].opcode == wire::Opcode::kAck) e.a.on_ack(controls[i].ack, meta);
  }
  stages[kFeedback] += ns_since(t);
  while (e.a.poll_completions(completions) == kBurst) {
  }
  benchmark::DoNotOptimize(e.a.wake());
  benchmark::DoNotOptimize(e.b.wake());
  stages[kPoll] += ns_since(t);
  return n;
}

/// The same loop without a protocol: descriptors, views and completions are moved and nothing is decided.
double limit_ns_per_packet(std::uint32_t payload, std::size_t batches) {
  static std::vector<WorkRequest> ring(256);
  std::array<TxDesc, kBurst> descs;
  std::array<Completion, kBurst> completions;
  std::uint64_t seen = 0;
  Clock::time_point t = Clock::now();
  for (std::size_t batch = 0; batch < batches; ++batch) {
    for (std::size_t i = 0; i < kBurst; ++i) {
      WorkRequest& wr = ring[(batch * kBurst + i) & 255];
      wr = {batch, WrOpcode::kRdmaWrite, false, payload, 1, 0, 0, 0};
      TxDesc& d = descs[i];
      d = TxDesc{};
      d.source = wr.local;
      d.dmalen = wr.length_bytes;
      d.payload_bytes = static_cast<std::uint16_t>(wr.length_bytes);
      d.psn = Psn{static_cast<std::uint32_t>(batch + i)};
      d.opcode = wire::Opcode::kWriteOnly;
    }
    benchmark::DoNotOptimize(descs);
    for (std::size_t i = 0; i < kBurst; ++i) {
      const wire::WriteView w = view_of(descs[i]);
      seen += w.payload_bytes + w.bth.psn.value();
      completions[i] = Completion{batch, WcStatus::kSuccess, WcOpcode::kRdmaWrite, false, w.dmalen, 0};
    }
    benchmark::DoNotOptimize(completions);
  }
  benchmark::DoNotOptimize(seen);
  return ns_since(t) / static_cast<double>(batches * kBurst);
}

/// Middle of the blocks: a neighbour that takes the core for a while does not count.
double median(std::vector<double> v) {
  if (v.empty()) return 0;
  const auto middle = v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2);
  std::nth_element(v.begin(), middle, v.end());
  return *middle;
}

void BM_BothEnds(benchmark::State& state) {
  const auto message_bytes = static_cast<std::uint32_t>(state.range(0));
  constexpr std::size_t kBatches = 64;  // a block
  Ends ends;
  std::array<std::vector<double>, kStages + 1> blocks;  // ns per packet; last: their sum
  std::vector<double> limits;
  std::size_t packets = 0;
  for (auto _ : state) {
    Stages block{};
    std::size_t n = 0;
    for (std::size_t i = 0; i < kBatches; ++i) n += one_batch(ends, message_bytes, block);
    double sum = 0;
    for (std::size_t i = 0; i < kStages; ++i) {
      blocks[i].push_back(block[i] / static_cast<double>(n));
      sum += block[i] / static_cast<double>(n);
    }
    blocks[kStages].push_back(sum);
    limits.push_back(limit_ns_per_packet(std::min(message_bytes, kMaxPmtu), kBatches));
    packets += n;
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(packets));
  for (std::size_t i = 0; i < kStages; ++i) state.counters[kStageNames[i]] = median(blocks[i]);
  const double total = median(blocks[kStages]);
  state.counters["sum_ns"] = total;
  state.counters["limit_ns"] = median(limits);
  state.counters["x_limit"] = total / median(limits);
  state.counters["rtx"] = static_cast<double>(ends.a.counters().tx_rtx);
}
BENCHMARK(BM_BothEnds)->ArgName("message")->Arg(64)->Arg(4096)->Arg(1 << 20);

/// A SACK about a window with holes: every second packet is missing.
void BM_SackBuild(benchmark::State& state) {
  Ends e;
  const auto width = static_cast<std::int32_t>(state.range(0));
  wire::WriteView w;
  w.bth.opcode = wire::Opcode::kWriteOnly;
  w.payload_bytes = w.dmalen = 64;
  w.nominal_bytes = 160;
  for (std::int32_t i = 1; i < width; i += 2) {
    w.bth.psn = Psn{static_cast<std::uint32_t>(i)};
    if (e.b.on_write(w, {}, Access::kOk) == WriteVerdict::kPlace) e.b.placed(w.bth.psn);
  }
  ControlDesc out[4];
  for (auto _ : state) {
    wire::ProbeView probe;
    wire::RxMeta meta;
    meta.arrival = e.now;
    e.b.on_probe(probe, meta);
    PortCredits c = credits();
    benchmark::DoNotOptimize(e.b.next_control(e.now, c, out));
    benchmark::DoNotOptimize(out);
  }
}
BENCHMARK(BM_SackBuild)->ArgName("window")->Arg(2)->Arg(64)->Arg(1000);

/// SACKs that each tell of `step` new packets in order, the rate of a stream without loss.
void BM_SackProcess(benchmark::State& state) {
  const auto step = static_cast<std::int32_t>(state.range(0));
  Ends e;
  std::array<TxDesc, kBurst> descs;
  std::array<Completion, kBurst> completions;
  std::uint64_t bytes = 0;
  std::uint32_t msn = 0;
  std::vector<double> samples;
  for (auto _ : state) {
    for (std::int32_t i = 0; i < step; ++i) e.a.post_send({1, WrOpcode::kRdmaWrite, false, 4096, 1, 0, 0, 0});
    PortCredits c = credits();
    const std::size_t n = e.a.next_packets(e.now, c, std::span(descs).first(static_cast<std::size_t>(step)));
    if (n != static_cast<std::size_t>(step)) state.SkipWithError("window closed");
    const TxDesc& last = descs[n - 1];
    bytes += n * wire::write_nominal_bytes(last.opcode, last.ts, last.payload_bytes);
    wire::SackView s;
    s.cack_psn = last.psn;
    s.entropy = (*e.table)[last.ev].entropy;
    s.tx_timestamp = last.tx_timestamp;
    s.sack_offset = 1;
    s.rcvd_bytes = RcvdUnits{static_cast<std::uint32_t>(((bytes + 255) >> 8) & RcvdUnits::kMask)};
    wire::RxMeta meta;
    meta.arrival = e.now = e.now + microseconds(5);
    Clock::time_point t = Clock::now();
    e.a.on_sack(s, meta);
    samples.push_back(ns_since(t));
    msn += static_cast<std::uint32_t>(n);
    e.a.on_ack({last.psn, 0x1F, msn & 0xFFFFFF}, meta);
    while (e.a.poll_completions(completions) == kBurst) {
    }
  }
  Clock::time_point t = Clock::now();
  std::vector<double> clock;
  for (int i = 0; i < 1001; ++i) clock.push_back(ns_since(t));
  const double per_sack = median(samples) - median(clock);  // reading the clock is not the transport's
  state.counters["ns_per_sack"] = per_sack;
  state.counters["ns_per_packet"] = per_sack / step;
}
BENCHMARK(BM_SackProcess)->ArgName("new_packets")->Arg(1)->Arg(4)->Arg(16)->Arg(32);

}  // namespace

BENCHMARK_MAIN();
