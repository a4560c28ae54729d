// SPDX-License-Identifier: BSD-3-Clause
// From the transport to the ports: descriptors and mbufs are reserved first, then next_packets says what to
// send (D1). What a port does not take stays staged; nothing is encoded twice.
#include <rte_mempool.h>

#include <algorithm>

#include "nic/core.h"

namespace mrc::nic {
namespace {

/// Packets a QP may send in its turn while others wait.
constexpr std::size_t kQuantum = 8;

/// Offers what is staged to the port, or to the worker that owns its queue. Returns packets that left.
std::size_t flush(WorkerCore& w, std::size_t plane) {
  WorkerPort& port = w.ports[plane];
  if (port.stage.empty()) return 0;
  PortStats& stats = w.stats.ports[plane];
  const std::span<rte_mbuf*> staged = port.stage.staged();
  const auto count = static_cast<std::uint16_t>(staged.size());
  std::size_t n = 0;
  if (port.owns_tx) {
    n = port.tx_burst != nullptr ? port.tx_burst(port.dpdk_port, port.tx_queue, staged.data(), count)
                                 : rte_eth_tx_burst(port.dpdk_port, port.tx_queue, staged.data(), count);
    stats.tx_pkts += n;
    stats.tx_bytes += port.stage.bytes_of_first(n);
  } else {
    HandOverRing& ring = *w.nic.workers[port.tx_owner]->tx_in[w.index];
    while (n < count && ring.push(HandOver{staged[n], plane})) ++n;
    stats.tx_handed_over += n;
  }
  stats.tx_short_bursts += n < count ? 1 : 0;
  port.stage.taken(n);
  return n;
}

/// Packets of workers without a queue of their own, as long as a stage has room for them.
std::size_t forward_handed_over(WorkerCore& w) {
  std::size_t total = 0;
  for (const auto& ring : w.tx_in) {
    if (ring == nullptr) continue;
    HandOver h{};
    while (w.tx_waiting.m != nullptr || ring->pop({&h, 1}) == 1) {
      if (w.tx_waiting.m != nullptr) h = w.tx_waiting;
      w.tx_waiting = {};
      if (w.ports[h.plane].stage.size() >= kBurst) flush(w, h.plane);
      if (w.ports[h.plane].stage.size() >= kBurst) {  // the port is full: keep the packet, and its order
        w.tx_waiting = h;
        return total;
      }
      stage(w, h.plane, h.m);
      ++total;
    }
  }
  return total;
}

transport::PortCredits control_credits(const WorkerCore& w) {
  transport::PortCredits credits;
  for (std::size_t p = 0; p < w.ports.size(); ++p) {
    credits.credits[p] = static_cast<std::uint16_t>(w.ports[p].stage.control_room());
    credits.up_mask |= (w.ports[p].up ? 1U : 0U) << p;
  }
  return credits;
}

/// SACK, NACK, ACK and probes of QPs that have some. A QP whose packets found no room keeps its turn.
void send_control(WorkerCore& w, Time now) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < w.control.size(); ++i) {
    const std::uint32_t slot = w.control[i];
    QpHome& home = *w.slots[slot];
    std::array<transport::ControlDesc, kBurst> out;
    transport::PortCredits credits = control_credits(w);
    const std::size_t n = credits.free_mask() == 0 ? 0 : home.qp.next_control(now, credits, out);
    for (std::size_t d = 0; d < n; ++d) {
      if (!encode_control(w, home, out[d])) ++w.stats.control_dropped;
    }
    w.touch(home);
    if (n != 0 && home.qp.wake().control_ready) {
      w.control[kept++] = slot;
    } else {
      home.in_control = false;  // settle() puts it back when there is more
    }
  }
  w.control.resize(kept);
}

/// Payload mbufs for up to a burst, before the transport is asked.
void fill_stash(WorkerCore& w) {
  const std::size_t want = std::min<std::size_t>(w.nic.config.tx_budget_pkts, kBurst);
  if (w.stashed >= want) return;
  const auto missing = static_cast<unsigned>(want - w.stashed);
  auto** at = reinterpret_cast<void**>(&w.stash[w.stashed]);
  if (rte_mempool_get_bulk(w.payload_pool, at, missing) == 0) {
    w.stashed = want;
    return;
  }
  // Ports that free lazily may hold all of them.
  for (const WorkerPort& port : w.ports) {
    if (port.owns_tx) rte_eth_tx_done_cleanup(port.dpdk_port, port.tx_queue, 0);
  }
  while (w.stashed < want &&
         rte_mempool_get(w.payload_pool, reinterpret_cast<void**>(&w.stash[w.stashed])) == 0) {
    ++w.stashed;
  }
  w.stats.payload_starved += w.stashed == 0 ? 1 : 0;
}

/// Ready QPs in turn, each with the ports that are still free.
void send_data(WorkerCore& w, transport::PortCredits& credits, Time now) {
  if (w.ready.empty() || credits.free_mask() == 0) return;
  fill_stash(w);
  std::array<transport::TxDesc, kBurst> out;
  for (std::size_t turns = w.ready.size(); turns > 0 && w.stashed > 0 && credits.free_mask() != 0; --turns) {
    const std::uint32_t slot = w.ready.pop();
    QpHome& home = *w.slots[slot];
    const std::size_t room = w.ready.empty() ? w.stashed : std::min(w.stashed, kQuantum);
    const std::size_t n = home.qp.next_packets(now, credits, {out.data(), room});
    w.end_stage(Stage::kTransport);
    w.stashed -= n;
    encode_data(w, home, {out.data(), n}, &w.stash[w.stashed]);
    w.end_stage(Stage::kEncode);
    home.in_ready = false;  // settle() puts it back, at the end, when there is more
    w.touch(home);
  }
}

}  // namespace

std::size_t transmit_all(WorkerCore& w, Time now) {
  std::size_t sent = forward_handed_over(w);
  transport::PortCredits credits;
  for (std::size_t p = 0; p < w.ports.size(); ++p) {
    sent += flush(w, p);
    credits.credits[p] = static_cast<std::uint16_t>(w.ports[p].stage.data_room());
    credits.up_mask |= (w.ports[p].up ? 1U : 0U) << p;
  }
  w.end_stage(Stage::kTxBurst);
  if (!w.control.empty()) send_control(w, now);
  w.end_stage(Stage::kControl);
  send_data(w, credits, now);
  w.end_stage(Stage::kTransport);
  for (std::size_t p = 0; p < w.ports.size(); ++p) sent += flush(w, p);
  w.end_stage(Stage::kTxBurst);
  return sent;
}

rte_mbuf* take_control_mbuf(WorkerCore& w) {
  rte_mbuf* m = nullptr;
  if (rte_mempool_get(w.control_pool, reinterpret_cast<void**>(&m)) != 0) return nullptr;
  return m;
}

void stage(WorkerCore& w, std::size_t plane, rte_mbuf* m) {
  if (w.capture != nullptr) [[unlikely]]
    capture_frame(w, w.last_poll, plane, true, wire::DropReason::kNone, m);
  w.ports[plane].stage.push(m, m->data_len);
}

}  // namespace mrc::nic
