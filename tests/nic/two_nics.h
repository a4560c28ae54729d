// SPDX-License-Identifier: BSD-3-Clause
// Two Nics in one process, wired back to back over ring ports: the fixture of lib/nic's end-to-end tests.
#pragma once

#include <gtest/gtest.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <array>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/rng.h"
#include "nic/nic.h"
#include "path/ev_table.h"
#include "ring/ring_pair.h"

namespace mrc::nic {

class TwoNics;

struct Wiring {
  unsigned planes = 4;
  unsigned workers = 1;
  std::uint16_t queues = 1;
  std::uint16_t ring_depth = 1024;
  bool ipv6 = false;
  unsigned evs = 32;
  path::EvFormat format = path::EvFormat::kUdp;
  transport::QpAttr attr;
  transport::QpLimits limits;
  transport::QpPolicy policy;
  std::int64_t window_bytes = 8 << 20;
  NicConfig nic;                    ///< planes and workers are filled in
  std::array<BurstFn, 2> tx_tap{};  ///< a host's tx_burst, on every plane
  std::array<BurstFn, 2> rx_tap{};
  std::array<const rte_mempool*, 2> rx_pool{};  ///< a host's, on every plane
  LinkFn link_up = nullptr;
  void (*half_way)(TwoNics&) = nullptr;  ///< called when host 0 is connected and host 1 not yet
  bool use_app_queue = false;
  bool real_time = false;  ///< for Worker::run; else time is virtual
};

/// One end: its Nic, and one QP with a buffer that the peer may write.
struct Host {
  std::unique_ptr<Nic> nic;
  std::uint32_t qpn = 0;
  unsigned worker = 0;
  AppQueue* app = nullptr;
  std::vector<std::uint8_t> source;
  std::vector<std::uint8_t> target;
  MemoryKeys source_keys;
  MemoryKeys target_keys;
  std::vector<PeerPlane> planes;

  Worker& w() { return nic->worker(worker); }
};

class TwoNics {
 public:
  explicit TwoNics(const Wiring& wiring, std::size_t buffer_bytes = 1 << 20) : wiring_(wiring) {
    ring::RingPairConfig rings;
    rings.planes = wiring.planes;
    rings.rx_queues = wiring.queues;
    rings.depth = wiring.ring_depth;
    auto pair = ring::RingPair::create(rings);
    if (!pair) throw std::runtime_error(pair.error().message);
    pair_ = std::move(*pair);
    for (unsigned h = 0; h < 2; ++h) open(h, buffer_bytes);
    if (!wiring.real_time) run([] { return false; }, 1);  // the workers learn that time is virtual
    connect(0, host[0].qpn, host[1].qpn);
    if (wiring.half_way != nullptr) wiring.half_way(*this);
    connect(1, host[1].qpn, host[0].qpn);
  }
  ~TwoNics() {
    for (Host& h : host) h.nic->drain();
    for (Host& h : host) {
      const MbufAccount a = h.nic->mbuf_account();
      EXPECT_TRUE(a.balanced()) << a.payload_out << " payload and " << a.control_out
                                << " control mbufs leaked";
    }
  }
  TwoNics(const TwoNics&) = delete;
  TwoNics& operator=(const TwoNics&) = delete;

  /// A WR from a's source to b's target, same offset.
  static transport::WorkRequest write(const Host& a, const Host& b, std::uint64_t id, std::size_t offset,
                                      std::uint32_t bytes) {
    transport::WorkRequest wr;
    wr.wr_id = id;
    wr.length_bytes = bytes;
    wr.local = reinterpret_cast<std::uint64_t>(a.source.data()) + offset;
    wr.remote_va = reinterpret_cast<std::uint64_t>(b.target.data()) + offset;
    wr.rkey = b.target_keys.rkey;
    return wr;
  }
  static PostStatus post(Host& a, const transport::WorkRequest& wr) {
    return a.w().post_send(a.qpn, a.source_keys.lkey, wr);
  }

  /// Virtual time: both ends polled in turn, `step` apart, until done() or `limit` iterations. Returns
  /// whether done() came true.
  template <class Done>
  bool run(Done done, int limit = 200'000, Duration step = microseconds(2)) {
    for (int i = 0; i < limit; ++i) {
      if (done()) return true;
      now = now + step;
      for (Host& h : host) {
        for (unsigned w = 0; w < h.nic->workers(); ++w) h.nic->worker(w).poll_at(now);
      }
    }
    return done();
  }
  std::size_t drain_cq(Host& h, std::vector<transport::Completion>& into) {
    std::array<transport::Completion, 32> some;
    const std::size_t n = h.w().poll_cq(h.qpn, some);
    into.insert(into.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(n));
    return n;
  }
  /// Everything that came in went somewhere, and what left arrived or was dropped by a tap.
  static void expect_conserved(const Host& h) {
    std::uint64_t rx = 0;
    std::uint64_t fate = 0;
    for (unsigned i = 0; i < h.nic->workers(); ++i) {
      const WorkerStats s = h.nic->snapshot(i);
      for (const PortStats& p : s.ports) rx += p.rx_pkts;
      rx += s.handed_in;
      fate += s.handed_out + s.delivered + s.neighbour + s.endpoint + s.drops.total();
    }
    EXPECT_EQ(rx, fate);
  }

  /// Another pair of QPs on the same workers, connected; `cc` may be shared (host 0 only). QPNs by host.
  std::array<std::uint32_t, 2> add_pair(std::shared_ptr<cc::Qpcc> cc = nullptr) {
    std::array<std::uint32_t, 2> qpns{};
    for (unsigned h = 0; h < 2; ++h) {
      QpParams params = params_of(host[h]);
      if (h == 0) params.cc = cc;
      const auto qpn = host[h].nic->create_qp(host[h].worker, params);
      if (!qpn) throw std::runtime_error(qpn.error().message);
      qpns[h] = *qpn;
    }
    for (unsigned h = 0; h < 2; ++h) connect(h, qpns[h], qpns[1 - h]);
    return qpns;
  }
  [[nodiscard]] std::shared_ptr<const path::EvTable> evs() const { return make_evs(); }
  [[nodiscard]] std::uint16_t port(unsigned h, unsigned plane) const { return pair_->port(h, plane); }

 private:
  std::unique_ptr<ring::RingPair> pair_;  // outlives the Nics

 public:
  std::array<Host, 2> host;
  Time now{1'000'000'000};

 private:
  static IpAddress address(unsigned h, unsigned plane, unsigned worker, bool ipv6) {
    const std::string p = std::to_string(plane);
    const std::string n = std::to_string(h * 100 + worker + 1);
    return *IpAddress::parse(ipv6 ? "fd00:" + p + "::" + n : "10." + p + ".0." + n);
  }

  void open(unsigned h, std::size_t buffer_bytes) {
    Host& me = host[h];
    NicConfig c = wiring_.nic;
    c.workers = wiring_.workers;
    for (unsigned p = 0; p < wiring_.planes; ++p) {
      PlanePort port;
      port.dpdk_port = pair_->port(h, p);
      port.rx_queues = port.tx_queues = wiring_.queues;
      port.mac.bytes = {2, 0, 0, static_cast<std::uint8_t>(h), 0, static_cast<std::uint8_t>(p)};
      port.ips = {address(h, p, 0, wiring_.ipv6)};
      port.tx_burst = wiring_.tx_tap[h];
      port.rx_burst = wiring_.rx_tap[h];
      if (wiring_.rx_pool[h] != nullptr) port.rx_pools.assign(wiring_.queues, wiring_.rx_pool[h]);
      port.link_up = wiring_.link_up;
      c.planes.push_back(port);
    }
    auto nic = Nic::create(c);
    if (!nic) throw std::runtime_error(nic.error().message);
    me.nic = std::move(*nic);
    me.source.resize(buffer_bytes);
    me.target.assign(buffer_bytes, 0xEE);
    Rng rng(h + 1);
    for (auto& b : me.source) b = static_cast<std::uint8_t>(rng.next());
    me.source_keys = *me.nic->register_memory(me.source.data(), buffer_bytes, kAccessLocal);
    me.target_keys = *me.nic->register_memory(me.target.data(), buffer_bytes, kAccessRemoteWrite);
    me.worker = wiring_.workers - 1;
    if (wiring_.use_app_queue) me.app = *me.nic->create_app_queue(me.worker, 256);
    for (unsigned p = 0; p < wiring_.planes; ++p) me.planes.push_back(me.nic->address(me.worker, p));
    auto qpn = me.nic->create_qp(me.worker, params_of(me));
    if (!qpn) throw std::runtime_error(qpn.error().message);
    me.qpn = *qpn;
  }

  [[nodiscard]] QpParams params_of(const Host& me) const {
    QpParams params;
    params.limits = wiring_.limits;
    params.policy = wiring_.policy;
    params.fixed_window_bytes = wiring_.window_bytes;
    params.evs = make_evs();
    params.app = me.app;
    return params;
  }

  [[nodiscard]] std::shared_ptr<const path::EvTable> make_evs() const {
    std::vector<path::EvValue> values(wiring_.evs);
    std::vector<std::uint8_t> ports(wiring_.evs);
    for (unsigned i = 0; i < wiring_.evs; ++i) {
      values[i][0] = static_cast<std::uint8_t>(0xC0 + (i >> 8));
      values[i][1] = static_cast<std::uint8_t>(i);
      if (wiring_.format != path::EvFormat::kUdp) values[i][2] = static_cast<std::uint8_t>(i * 7);
      ports[i] = static_cast<std::uint8_t>(i % wiring_.planes);
    }
    auto table = path::EvTable::create(wiring_.format, wiring_.nic.ev_order, wiring_.ipv6, values, ports);
    if (!table) throw std::runtime_error(table.error().message);
    return std::make_shared<const path::EvTable>(std::move(*table));
  }

  void connect(unsigned h, std::uint32_t qpn, std::uint32_t peer_qpn) {
    transport::QpAttr attr = wiring_.attr;
    attr.dest_qpn = peer_qpn;
    attr.sq_psn = Psn{h == 0 ? 0xFFFFF0U : 7U};  // wraps early
    attr.rq_psn = Psn{h == 0 ? 7U : 0xFFFFF0U};
    const auto r = host[h].nic->connect_qp(qpn, attr, host[1 - h].planes);
    if (!r) throw std::runtime_error(r.error().message);
  }

  Wiring wiring_;
};

}  // namespace mrc::nic
