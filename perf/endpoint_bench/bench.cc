// SPDX-License-Identifier: BSD-3-Clause
#include "endpoint_bench/bench.h"

#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <new>
#include <string>
#include <thread>

#include "base/rng.h"
#include "config/endpoint_config.h"
#include "ethdev/eal.h"
#include "limit/stopwatch.h"

namespace mrc::perf {

Buffer::Buffer(std::size_t bytes) : bytes_(bytes) {
  constexpr std::size_t kHugePage = 2 << 20;
  const std::size_t rounded = (bytes + kHugePage - 1) / kHugePage * kHugePage;
  void* p = std::aligned_alloc(kHugePage, rounded);
  if (p == nullptr) throw std::bad_alloc();
  madvise(p, rounded, MADV_HUGEPAGE);
  data_ = static_cast<std::uint8_t*>(p);
  std::memset(data_, 0, rounded);
}
Buffer::~Buffer() {
  std::free(data_);
}

namespace {

std::shared_ptr<const path::EvTable> make_evs() {
  std::vector<path::EvValue> values(kEvs);
  std::vector<std::uint8_t> ports(kEvs);
  for (unsigned i = 0; i < kEvs; ++i) {
    values[i][0] = 0xC0;
    values[i][1] = static_cast<std::uint8_t>(i);
    ports[i] = static_cast<std::uint8_t>(i % kPlanes);
  }
  auto table = path::EvTable::create(path::EvFormat::kUdp, path::EvOrder::kB, false, values, ports);
  return table ? std::make_shared<const path::EvTable>(std::move(*table)) : nullptr;
}

nic::NicConfig make_config(const ring::RingPair& rings, unsigned end, bool stage_timing) {
  nic::NicConfig c;
  c.stage_timing = stage_timing;
  for (unsigned p = 0; p < kPlanes; ++p) {
    nic::PlanePort port;
    port.dpdk_port = rings.port(end, p);
    port.mac.bytes = {2, 0, 0, static_cast<std::uint8_t>(end), 0, static_cast<std::uint8_t>(p)};
    port.ips = {*IpAddress::parse("10." + std::to_string(p) + ".0." + std::to_string(end + 1))};
    c.planes.push_back(port);
  }
  return c;
}

}  // namespace

Result<std::unique_ptr<Ends>> Ends::create(const ring::RingPair& rings, std::size_t bytes, std::uint16_t pmtu,
                                           bool stage_timing) {
  auto ends = std::unique_ptr<Ends>(new Ends(bytes));
  Rng rng(bytes);
  for (std::size_t i = 0; i + 8 <= bytes; i += 8) {
    const std::uint64_t word = rng.next();
    std::memcpy(ends->source_.data() + i, &word, 8);
  }
  if (auto r = ends->open(rings, pmtu, stage_timing); !r) return r.error();
  return ends;
}

Result<void> Ends::open(const ring::RingPair& rings, std::uint16_t pmtu, bool stage_timing) {
  std::array<std::vector<nic::PeerPlane>, 2> addresses;
  const auto evs = make_evs();
  for (unsigned e = 0; e < 2; ++e) {
    auto nic = nic::Nic::create(make_config(rings, e, stage_timing));
    if (!nic) return nic.error();
    nics_[e] = std::move(*nic);
    nic::QpParams params;
    params.policy.reverse_probes = true;  // as mrc-endpoint, and so is the window
    params.fixed_window_bytes = static_cast<std::int64_t>(config::CcConfig{}.window_bytes);
    params.evs = evs;
    auto qpn = nics_[e]->create_qp(0, params);
    if (!qpn) return qpn.error();
    qpns_[e] = *qpn;
    for (unsigned p = 0; p < kPlanes; ++p) addresses[e].push_back(nics_[e]->address(0, p));
  }
  auto source = nics_[0]->register_memory(source_.data(), source_.size(), nic::kAccessLocal);
  auto target = nics_[1]->register_memory(target_.data(), target_.size(), nic::kAccessRemoteWrite);
  if (!source) return source.error();
  if (!target) return target.error();
  source_keys_ = *source;
  target_keys_ = *target;
  for (unsigned e = 0; e < 2; ++e) {
    transport::QpAttr attr;
    attr.dest_qpn = qpns_[1 - e];
    attr.path_mtu = pmtu;
    if (auto r = nics_[e]->connect_qp(qpns_[e], attr, addresses[1 - e]); !r) return r;
  }
  return {};
}

// An end may hold the other's mbufs: both drain before either pool goes.
Ends::~Ends() {
  for (auto& nic : nics_) {
    if (nic != nullptr) nic->drain();
  }
}

Troubles& Troubles::operator+=(const Troubles& o) {
  retransmissions += o.retransmissions;
  timer_expiries += o.timer_expiries;
  poll_gaps += o.poll_gaps;
  return *this;
}
Troubles Troubles::operator-(const Troubles& o) const {
  return {retransmissions - o.retransmissions, timer_expiries - o.timer_expiries, poll_gaps - o.poll_gaps};
}

Troubles Ends::troubles() {
  Troubles sum;
  for (unsigned e = 0; e < 2; ++e) {
    const transport::QpCounters& c = nics_[e]->worker(0).qp(qpns_[e])->counters();
    sum += {c.tx_rtx, c.timer_expiries, nics_[e]->snapshot(0).poll_gaps};
  }
  return sum;
}

RunResult Ends::run(std::uint64_t messages, std::uint32_t message_bytes) {
  // The first poll after what lay between two runs tells of that, not of this run.
  for (auto& nic : nics_) nic->worker(0).poll();
  const Troubles before = troubles();
  RunResult r;
  r.seconds = drive(messages, message_bytes, true);
  r.troubles = troubles() - before;
  return r;
}

RunResult Ends::run_on_two_cores(std::uint64_t messages, std::uint32_t message_bytes, unsigned cpu) {
  for (auto& nic : nics_) nic->worker(0).poll();
  const Troubles before = troubles();
  std::atomic<bool> stop{false};
  std::atomic<bool> polls{false};
  std::thread target([&] {
    ethdev::set_this_thread_cpus({cpu});
    polls = true;
    nics_[1]->worker(0).run(stop);
  });
  while (!polls) std::this_thread::yield();
  RunResult r;
  r.seconds = drive(messages, message_bytes, false);
  stop = true;
  target.join();
  r.troubles = troubles() - before;
  return r;
}

double Ends::drive(std::uint64_t messages, std::uint32_t message_bytes, bool poll_target) {
  nic::Worker& a = nics_[0]->worker(0);
  nic::Worker& b = nics_[1]->worker(0);
  std::array<transport::Completion, 64> wc;
  transport::WorkRequest wr;
  wr.length_bytes = message_bytes;
  wr.rkey = target_keys_.rkey;
  std::size_t at = 0;
  std::uint64_t posted = 0;
  std::uint64_t done = 0;
  const Stopwatch watch;
  while (done < messages) {
    for (int burst = 0; burst < 64 && posted < messages; ++burst) {
      wr.wr_id = posted;
      wr.local = reinterpret_cast<std::uint64_t>(source_.data()) + at;
      wr.remote_va = reinterpret_cast<std::uint64_t>(target_.data()) + at;
      if (a.post_send(qpns_[0], source_keys_.lkey, wr) != nic::PostStatus::kOk) break;
      ++posted;
      at += message_bytes;
      if (at + message_bytes > source_.size()) at = 0;
    }
    a.poll();
    if (poll_target) b.poll();
    const std::size_t n = a.poll_cq(qpns_[0], wc);
    for (std::size_t i = 0; i < n; ++i) {
      if (wc[i].status != transport::WcStatus::kSuccess) return 0;
    }
    done += n;
  }
  return watch.seconds();
}

bool Ends::verify(std::size_t bytes) const {
  return std::memcmp(source_.data(), target_.data(), bytes) == 0;
}

void Ends::poison() {
  std::memset(target_.data(), 0xEE, target_.size());
}

}  // namespace mrc::perf
