// SPDX-License-Identifier: BSD-3-Clause
// From the ports to the homes: bursts are merged, decoded and prefetched, each packet goes where it belongs.
#include <rte_lcore.h>
#include <rte_mempool.h>
#include <rte_prefetch.h>

#include <algorithm>
#include <cstring>

#include "nic/core.h"
#include "wire/decode.h"
#include "wire/icrc.h"

namespace mrc::nic {
namespace {

using wire::DropReason;
using wire::FrameView;
using Bytes = std::span<const std::uint8_t>;

Bytes bytes_of(const rte_mbuf* m) {
  return {rte_pktmbuf_mtod(m, const std::uint8_t*), m->data_len};
}

/// Frames in several segments are rare (a port whose buffers are smaller than the PMTU): one copy makes them
/// like the others.
bool linearize(WorkerCore& w, const rte_mbuf* m, Bytes& out) {
  if (m->pkt_len > kLinearBytes) return false;
  std::size_t at = 0;
  for (const rte_mbuf* s = m; s != nullptr && at + s->data_len <= kLinearBytes; s = s->next) {
    std::memcpy(&w.linear[at], rte_pktmbuf_mtod(s, const void*), s->data_len);
    at += s->data_len;
  }
  ++w.stats.linearized;
  out = {w.linear.get(), at};
  return at == m->pkt_len;
}

bool is_for_us(const PlanePort& plane, Bytes frame, const FrameView& f) {
  if (std::memcmp(frame.data(), plane.mac.bytes.data(), 6) != 0) return false;
  const std::uint8_t* dst = frame.data() + f.ip_offset + (f.ipv6 ? 24 : 16);
  for (const IpAddress& ip : plane.ips) {
    if (same_ip(ip, f.ipv6, dst)) return true;
  }
  return false;
}
/// How much of the ICRC the first pass takes, where the CRCs of a burst overlap: all of a short packet, the
/// beginning of a long one, whose payload is read just before it is copied. 0: the packet is left for
/// check_icrc as a whole (IP options, or padding behind a packet shorter than the beginning).
std::uint32_t first_pass_bytes(const Arrival& a) {
  const FrameView& f = a.f;
  if (std::uint32_t{f.udp_offset} - f.ip_offset !=
      (f.ipv6 ? sizeof(wire::Ipv6Header) : sizeof(wire::Ipv4Header))) {
    return 0;
  }
  const std::uint32_t whole = f.body_end - f.ip_offset;
  return whole <= wire::kMaxShortBytes ? whole : wire::kIcrcBegunBytes;
}

void read_headers(const WorkerCore& w, Arrival& a) {
  a.r = decode_frame(a.frame, w.nic.decode, a.f);
  if (a.r == DropReason::kNone && !is_for_us(w.nic.config.planes[a.plane], a.frame, a.f)) {
    a.r = DropReason::kNotForUs;
  }
}

/// First pass: headers, then what there is time for of the ICRCs. Touches no QP.
void inspect(const WorkerCore& w, std::span<Arrival> burst) {
  std::array<wire::IcrcPiece, kBurst> pieces;
  std::array<Arrival*, kBurst> owners;
  std::array<std::uint32_t, kBurst> crc;
  std::size_t n = 0;
  const bool verify = w.nic.config.icrc == IcrcMode::kVerify;
  for (Arrival& a : burst) {
    a.frame = bytes_of(a.m);
    a.chained = a.m->nb_segs > 1;
    a.covered = 0;
    read_headers(w, a);
    if (a.r != DropReason::kNone || !a.f.has_icrc || worker_of(a.f.dqp) != w.index) continue;
    if (!verify || a.chained) continue;
    a.covered = first_pass_bytes(a);
    if (a.covered == 0) continue;
    owners[n] = &a;
    pieces[n++] = wire::icrc_piece(a.frame.data() + a.f.ip_offset, a.f.ipv6, a.covered);
  }
  wire::icrc_begin({pieces.data(), n}, crc.data());
  for (std::size_t i = 0; i < n; ++i) owners[i]->crc = crc[i];
}

/// True: the mbuf went to its home worker and is no longer ours.
bool hand_over(WorkerCore& w, unsigned home, Arrival& a) {
  if (home >= w.nic.workers.size()) {
    a.r = DropReason::kUnknownQp;
    return false;
  }
  if (!w.nic.workers[home]->rx_in[w.index]->push(HandOver{a.m, a.plane})) {
    a.r = DropReason::kNoWorker;
    return false;
  }
  ++w.stats.handed_out;
  return true;
}

/// Second pass, one packet. True: the mbuf is to be freed. `handed`: it came from another worker.
bool finish(WorkerCore& w, Arrival& a, Time now, bool handed) {
  if (a.chained) [[unlikely]] {
    if (linearize(w, a.m, a.frame)) {
      read_headers(w, a);
    } else {
      a.r = DropReason::kLength;
    }
  }
  if (a.r == DropReason::kNone) {
    if (a.f.dqp == wire::kEndpointDqp) {
      const unsigned home = handed ? w.index : endpoint_home(w, a.frame, a.f);
      if (home == w.index) {
        a.r = answer_endpoint(w, a.plane, a.frame, a.f, now);
      } else if (hand_over(w, home, a)) {
        return false;
      }
    } else if (worker_of(a.f.dqp) != w.index && !handed) {
      if (hand_over(w, worker_of(a.f.dqp), a)) return false;
    } else {
      a.r = deliver(w, a, now);
    }
  } else if ((a.r == DropReason::kEthertype || a.r == DropReason::kNotUdp) &&
             answer_neighbours(w, a.plane, a.frame)) {
    a.r = DropReason::kNone;
  }
  if (a.r != DropReason::kNone) w.stats.drops.add(a.r);
  if (is_captured(w)) [[unlikely]]
    capture_frame(w, now, a.plane, false, a.r, a.m);
  return true;
}

void prefetch_two_lines(const void* p) {
  rte_prefetch0(p);
  rte_prefetch0(static_cast<const char*>(p) + RTE_CACHE_LINE_SIZE);
}
/// What the copies of a long payload have driven out since the first pass: the headers of the packet that
/// comes next, and the record of the one behind it.
void prefetch_next(std::span<const Arrival> rest) {
  if (!rest.empty()) prefetch_two_lines(rest[0].frame.data());
  if (rest.size() > 1) prefetch_two_lines(&rest[1]);
}

/// Passes over a burst: prefetch, inspect, finish. What one pass stores the next loads when it has long left
/// the store buffer, and independent packets overlap. What is not handed over is freed in one go.
void take_burst(WorkerCore& w, std::span<Arrival> burst, Time now, bool handed) {
  for (const Arrival& a : burst) prefetch_two_lines(rte_pktmbuf_mtod(a.m, void*));  // the headers
  inspect(w, burst);
  w.end_stage(Stage::kInspect);
  std::array<rte_mbuf*, kBurst> done;
  unsigned n = 0;
  for (std::size_t i = 0; i < burst.size(); ++i) {
    prefetch_next(burst.subspan(i + 1));
    if (finish(w, burst[i], now, handed)) done[n++] = burst[i].m;
  }
  w.end_stage(Stage::kDeliver);
  rte_pktmbuf_free_bulk(done.data(), n);
  w.end_stage(Stage::kFree);
}

/// Nothing in it that this thread could take. (rte_mempool_empty asks the caches of all lcores.)
bool is_empty(const rte_mempool* pool) {
  const rte_mempool_cache* cache = rte_mempool_default_cache(const_cast<rte_mempool*>(pool), rte_lcore_id());
  return (cache == nullptr || cache->len == 0) && rte_mempool_get_ops(pool->ops_index)->get_count(pool) == 0;
}

// One short burst proves nothing: some drivers take whole cache lines of descriptors only. What it left
// behind the next short one has taken. And a driver that has no mbuf left gives short bursts, too.
void note_drained(WorkerPort& port, std::size_t taken, Time now) {
  const bool is_short = taken < kBurst && (port.rx_pool == nullptr || !is_empty(port.rx_pool));
  const Time before = port.short_at;
  port.short_at = is_short ? now : Time::never();
  if (is_short && (taken == 0 || !before.is_never())) {
    port.drained_at = port.mark = taken == 0 ? now : before;
    port.since_mark = 0;
    return;
  }
  port.since_mark += static_cast<std::uint32_t>(taken);
  if (port.since_mark >= port.rx_depth) {
    port.drained_at = port.mark;
    port.mark = now;
    port.since_mark = 0;
  }
}

/// The next packet of a batch; a full batch is processed.
void collect(WorkerCore& w, std::size_t& filled, rte_mbuf* m, std::size_t plane, Time now, bool handed) {
  w.batch[filled].m = m;
  w.batch[filled].plane = plane;
  if (++filled < kBurst) return;
  take_burst(w, {w.batch.get(), kBurst}, now, handed);
  filled = 0;
}

Time own_queues_drained(const WorkerCore& w) {
  Time t = Time::never();
  for (const WorkerPort& port : w.ports) {
    if (port.polls_rx) t = earlier(t, port.drained_at);
  }
  return t;
}

std::size_t take_handed_over(WorkerCore& w, bool real_time) {
  std::size_t total = 0;
  for (std::size_t from = 0; from < w.rx_in.size(); ++from) {
    if (from == w.index) continue;
    // Read before the ring: what was handed over before that moment is in it.
    const Time drained{w.nic.workers[from]->drained_ns.load(std::memory_order_acquire)};
    std::array<HandOver, kBurst> handed;
    std::size_t filled = 0;
    const std::size_t n = w.rx_in[from]->pop(handed);
    if (n < kBurst) w.rx_in_seen[from] = drained;
    if (n != 0 && real_time) read_clock(w);
    for (std::size_t i = 0; i < n; ++i) collect(w, filled, handed[i].m, handed[i].plane, w.now, true);
    if (filled != 0) take_burst(w, {w.batch.get(), filled}, w.now, true);
    w.stats.handed_in += n;
    total += n;
  }
  return total;
}

/// Between the first and the last burst of a round; what a peer takes for reordering is more (D8).
constexpr Duration kSkewAllowed = microseconds(5);
constexpr int kSkewRounds = 4;  ///< a host that is always late goes on with what it has

struct PortBurst {
  std::size_t plane;
  std::size_t n;
  std::array<rte_mbuf*, kBurst> mbufs;
};

/// The next iteration starts with the plane behind that of the newest packet of the last round over the
/// ports: there the peer goes on, whichever plane it began with.
void find_first_plane(WorkerCore& w, std::span<const Arrival> last_batch, std::size_t ports) {
  const std::span<const Arrival> round = last_batch.last(std::min(ports, last_batch.size()));
  const Arrival* newest = &round.back();
  for (const Arrival& a : round) {
    if (a.f.dqp == newest->f.dqp && a.f.bth.psn.after(newest->f.bth.psn)) newest = &a;
  }
  w.first_plane = newest->plane + 1 == w.ports.size() ? 0 : newest->plane + 1;
}

std::uint16_t burst_of(const WorkerPort& port, rte_mbuf** mbufs, std::size_t room) {
  const auto n = static_cast<std::uint16_t>(room);
  return port.rx_burst != nullptr ? port.rx_burst(port.dpdk_port, port.rx_queue, mbufs, n)
                                  : rte_eth_rx_burst(port.dpdk_port, port.rx_queue, mbufs, n);
}

/// One burst of every port that is ours. Returns the number of these ports.
std::size_t poll_ports(WorkerCore& w, std::span<PortBurst> out, Time now) {
  std::size_t ports = 0;
  std::size_t p = w.first_plane;
  for (std::size_t k = 0; k < w.ports.size(); ++k, p = p + 1 == w.ports.size() ? 0 : p + 1) {
    WorkerPort& port = w.ports[p];
    if (!port.polls_rx) continue;
    PortBurst& b = out[ports++];
    b.plane = p;
    b.n = burst_of(port, b.mbufs.data(), kBurst);
    note_drained(port, b.n, now);
  }
  return ports;
}

std::size_t packets_in(std::span<const PortBurst> bursts) {
  std::size_t n = 0;
  for (const PortBurst& b : bursts) n += b.n;
  return n;
}

/// The CPU was away, or a driver busy, between two of the bursts: those of the ports asked later reach
/// further than those of the ports asked before. A responder would see holes that are nobody's but ours, and
/// its peer would give up packets, EVs and planes for them. So what arrived meanwhile is taken too, where a
/// burst has room for it. Reads the clock behind the last burst.
void take_up_skew(WorkerCore& w, std::span<PortBurst> bursts) {
  for (int round = 0;; ++round) {
    const Time began = w.now;
    read_clock(w);
    if (w.now - began <= kSkewAllowed || round == kSkewRounds || bursts.size() == 1) return;
    for (PortBurst& b : bursts) {
      if (b.n < kBurst) b.n += burst_of(w.ports[b.plane], &b.mbufs[b.n], kBurst - b.n);
    }
  }
}

void count(WorkerCore& w, std::span<const PortBurst> bursts) {
  for (const PortBurst& b : bursts) {
    PortStats& stats = w.stats.ports[b.plane];
    stats.rx_pkts += b.n;
    for (std::size_t i = 0; i < b.n; ++i) stats.rx_bytes += b.mbufs[i]->pkt_len;
  }
}

/// The ports' bursts are taken in turn, packet by packet: a peer that sprays evenly over planes in step with
/// us has sent in that order, so the packets come out nearly by PSN. Then the responder finds no holes and
/// the target is written in one run; port after port it would be left with three holes in every four packets.
void take_in_turn(WorkerCore& w, std::span<PortBurst> bursts, Time now) {
  std::size_t filled = 0;
  bool any = true;
  for (std::size_t i = 0; any; ++i) {
    any = false;
    for (const PortBurst& b : bursts) {
      if (i >= b.n) continue;
      any = true;
      collect(w, filled, b.mbufs[i], b.plane, now, false);
    }
  }
  if (filled != 0) take_burst(w, {w.batch.get(), filled}, now, false);
  find_first_plane(w, {w.batch.get(), filled == 0 ? kBurst : filled}, bursts.size());
}

}  // namespace

std::size_t receive_all(WorkerCore& w, bool real_time) {
  std::array<PortBurst, kMaxPlanes> all;  // not initialised: n says what counts
  const std::span<PortBurst> bursts(all.data(), poll_ports(w, all, w.now));
  std::size_t total = packets_in(bursts);
  if (total != 0 && real_time) {
    take_up_skew(w, bursts);
    total = packets_in(bursts);
  }
  w.end_stage(Stage::kRxBurst);
  if (total != 0) {
    count(w, bursts);
    take_in_turn(w, bursts, w.now);
  }
  if (w.nic.workers.size() == 1) return total;
  w.drained_ns.store(own_queues_drained(w).ns, std::memory_order_release);
  return total + take_handed_over(w, real_time);
}

Time drained_until(const WorkerCore& w) {
  Time t = own_queues_drained(w);
  for (std::size_t from = 0; from < w.rx_in_seen.size(); ++from) {
    if (from != w.index) t = earlier(t, w.rx_in_seen[from]);
  }
  return t;
}

}  // namespace mrc::nic
