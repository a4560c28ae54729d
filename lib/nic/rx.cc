// SPDX-License-Identifier: BSD-3-Clause
// From a port to memory: decode, find the home, check the ICRC before anything is placed, let the transport
// decide, copy.
#include <rte_prefetch.h>

#include <cassert>
#include <cstring>

#include "nic/core.h"
#include "wire/decode.h"
#include "wire/icrc.h"

namespace mrc::nic {
namespace {

using wire::DropReason;
using wire::FrameView;
using Bytes = std::span<const std::uint8_t>;

/// Packets that must pass before a queue that is never short counts as drained (D13): more than any has.
constexpr std::uint32_t kDeepestRxQueue = 8192;

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

/// Destination and source addresses of the (inner) IP header against what the plane and the QP say.
bool address_is(const IpAddress& ip, bool v6, const std::uint8_t* wanted) {
  return ip.v6 == v6 && std::memcmp(ip.bytes.data(), wanted, v6 ? 16 : 4) == 0;
}
bool is_for_us(const PlanePort& plane, Bytes frame, const FrameView& f) {
  if (std::memcmp(frame.data(), plane.mac.bytes.data(), 6) != 0) return false;
  const std::uint8_t* dst = frame.data() + f.ip_offset + (f.ipv6 ? 24 : 16);
  for (const IpAddress& ip : plane.ips) {
    if (address_is(ip, f.ipv6, dst)) return true;
  }
  return false;
}
bool is_from_peer(const QpHome& home, std::size_t plane, Bytes frame, const FrameView& f) {
  return plane < home.peer_ips.size() &&
         address_is(home.peer_ips[plane], f.ipv6, frame.data() + f.ip_offset + (f.ipv6 ? 8 : 12));
}

/// Write: the check of the target stands before on_write (D17), the payload before placed().
DropReason take_write(WorkerCore& w, QpHome& home, Bytes frame, const FrameView& f,
                      const wire::RxMeta& meta) {
  wire::WriteView view;
  const DropReason r = decode_write(frame, f, view);
  if (r != DropReason::kNone) return r;
  const bool ok = view.payload_bytes == 0 ||
                  w.nic.memory.allows(view.rkey, view.va, view.payload_bytes, kAccessRemoteWrite);
  const transport::WriteVerdict verdict =
      home.qp.on_write(view, meta, ok ? transport::Access::kOk : transport::Access::kDenied);
  if (verdict != transport::WriteVerdict::kPlace) return DropReason::kNone;
  assert(ok);
  const std::uint32_t at = f.bth_offset + wire::write_header_bytes(view.bth.opcode, view.bth.ts);
  std::memcpy(reinterpret_cast<void*>(view.va), frame.data() + at, view.payload_bytes);
  home.qp.placed(view.bth.psn);
  return DropReason::kNone;
}

DropReason take_control(QpHome& home, Bytes frame, const FrameView& f, const wire::RxMeta& meta) {
  switch (f.bth.opcode) {
    case wire::Opcode::kSack: {
      wire::SackView view;
      const DropReason r = decode_sack(frame, f, view);
      if (r == DropReason::kNone) home.qp.on_sack(view, meta);
      return r;
    }
    case wire::Opcode::kNack: {
      wire::NackView view;
      const DropReason r = decode_nack(frame, f, view);
      if (r == DropReason::kNone) home.qp.on_nack(view, meta);
      return r;
    }
    case wire::Opcode::kAck: {
      wire::AckView view;
      const DropReason r = decode_ack(frame, f, view);
      if (r == DropReason::kNone) home.qp.on_ack(view, meta);
      return r;
    }
    case wire::Opcode::kProbe: {
      wire::ProbeView view;
      const DropReason r = decode_probe(frame, f, view);
      if (r == DropReason::kNone) home.qp.on_probe(view, meta);
      return r;
    }
    default:
      return DropReason::kOpcode;  // endpoint operations to a QP's number
  }
}

/// A packet whose home is here.
DropReason deliver(WorkerCore& w, std::size_t plane, Bytes frame, const FrameView& f, Time now) {
  QpHome* home = w.find(f.dqp);
  if (home == nullptr) return DropReason::kUnknownQp;
  if (!is_from_peer(*home, plane, frame, f)) return DropReason::kNotForUs;
  const wire::RxMeta meta{now, f.entropy, static_cast<std::uint8_t>(plane), f.ce, f.trim};
  if (f.trim != wire::Trim::kNone) {  // no ICRC is left to check (1.14)
    wire::TrimmedView view;
    const DropReason r = decode_trimmed(frame, f, view);
    if (r != DropReason::kNone) return r;
    home->qp.on_trimmed(view, meta);
  } else {
    if (w.nic.config.icrc == IcrcMode::kVerify && !wire::check_icrc(frame, f).ok()) return DropReason::kIcrc;
    const DropReason r =
        is_write(f.bth.opcode) ? take_write(w, *home, frame, f, meta) : take_control(*home, frame, f, meta);
    if (r != DropReason::kNone) return r;
  }
  w.touch(*home);
  ++w.stats.delivered;
  return DropReason::kNone;
}

/// True: the mbuf went to its home worker and is no longer ours.
bool hand_over(WorkerCore& w, unsigned home, std::size_t plane, rte_mbuf* m, DropReason& r) {
  if (home >= w.nic.workers.size()) {
    r = DropReason::kUnknownQp;
    return false;
  }
  if (!w.nic.workers[home]->rx_in[w.index]->push(HandOver{m, plane})) {
    r = DropReason::kNoWorker;
    return false;
  }
  ++w.stats.handed_out;
  return true;
}

/// One packet. True: the mbuf is to be freed.
bool take_packet(WorkerCore& w, std::size_t plane, rte_mbuf* m, Time now, bool handed) {
  Bytes frame = bytes_of(m);
  DropReason r = DropReason::kNone;
  FrameView f;
  if (m->nb_segs > 1 && !linearize(w, m, frame)) {
    r = DropReason::kLength;
  } else {
    r = decode_frame(frame, w.nic.decode, f);
  }
  if (r == DropReason::kNone) {
    if (!is_for_us(w.nic.config.planes[plane], frame, f)) {
      r = DropReason::kNotForUs;
    } else if (f.dqp == wire::kEndpointDqp) {
      r = answer_endpoint(w, plane, frame, f);
    } else if (worker_of(f.dqp) != w.index && !handed) {
      if (hand_over(w, worker_of(f.dqp), plane, m, r)) return false;
    } else {
      r = deliver(w, plane, frame, f, now);
    }
  } else if ((r == DropReason::kEthertype || r == DropReason::kNotUdp) &&
             answer_neighbours(w, plane, frame)) {
    r = DropReason::kNone;
  }
  if (r != DropReason::kNone) w.stats.drops.add(r);
  if (w.capture != nullptr) [[unlikely]]
    capture_frame(w, now, plane, false, r, m);
  return true;
}

/// Prefetch pass, then process; what is not handed over is freed in one go.
void take_burst(WorkerCore& w, std::size_t plane, std::span<rte_mbuf*> burst, Time now) {
  for (rte_mbuf* m : burst) rte_prefetch0(rte_pktmbuf_mtod(m, void*));
  std::array<rte_mbuf*, kBurst> done;
  unsigned n = 0;
  PortStats& stats = w.stats.ports[plane];
  for (rte_mbuf* m : burst) {
    stats.rx_bytes += m->pkt_len;
    if (take_packet(w, plane, m, now, false)) done[n++] = m;
  }
  stats.rx_pkts += burst.size();
  rte_pktmbuf_free_bulk(done.data(), n);
}

void note_drained(WorkerPort& port, std::size_t taken, Time now) {
  if (taken < kBurst) {
    port.drained_at = port.mark = now;
    port.since_mark = 0;
    return;
  }
  port.since_mark += static_cast<std::uint32_t>(taken);
  if (port.since_mark >= kDeepestRxQueue) {
    port.drained_at = port.mark;
    port.mark = now;
    port.since_mark = 0;
  }
}

std::size_t take_handed_over(WorkerCore& w, Time now) {
  std::size_t total = 0;
  for (const auto& ring : w.rx_in) {
    if (ring == nullptr) continue;
    std::array<HandOver, kBurst> burst;
    const std::size_t n = ring->pop(burst);
    for (std::size_t i = 0; i < n; ++i) {
      rte_prefetch0(rte_pktmbuf_mtod(burst[i].m, void*));
    }
    for (std::size_t i = 0; i < n; ++i) {
      if (take_packet(w, burst[i].plane, burst[i].m, now, true)) rte_pktmbuf_free(burst[i].m);
    }
    w.stats.handed_in += n;
    total += n;
  }
  return total;
}

}  // namespace

std::size_t receive_all(WorkerCore& w, Time now) {
  std::size_t total = 0;
  for (std::size_t p = 0; p < w.ports.size(); ++p) {
    WorkerPort& port = w.ports[p];
    if (!port.polls_rx) continue;
    std::array<rte_mbuf*, kBurst> burst;
    const std::size_t n = port.rx_burst != nullptr
                              ? port.rx_burst(port.dpdk_port, port.rx_queue, burst.data(), kBurst)
                              : rte_eth_rx_burst(port.dpdk_port, port.rx_queue, burst.data(), kBurst);
    note_drained(port, n, now);
    if (n == 0) continue;
    take_burst(w, p, {burst.data(), n}, now);
    total += n;
  }
  return total + take_handed_over(w, now);
}

Time drained_until(const WorkerCore& w) {
  Time t = Time::never();
  for (const WorkerPort& port : w.ports) {
    if (port.polls_rx) t = earlier(t, port.drained_at);
  }
  return t;
}

}  // namespace mrc::nic
