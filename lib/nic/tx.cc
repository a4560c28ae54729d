// SPDX-License-Identifier: BSD-3-Clause
// From the transport to the ports: descriptors and mbufs are reserved first, then next_packets says what to
// send (D1). What a port does not take stays staged; nothing is encoded twice.
#include <rte_mempool.h>

#include <algorithm>

#include "nic/core.h"

namespace mrc::nic {
namespace {

/// A port that takes no packet for as long is as good as down: answers go elsewhere (D5), and when it is none
/// of the ports that takes any, D9's timers are begun.
constexpr Duration kBusyForLong = milliseconds(1);
constexpr std::size_t kQuantum = 8;  ///< packets a QP may send in its turn while others wait

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
    HandOverRing& ring = *w.nic.workers[port.tx_owner]->ports[plane].tx_in[w.index];
    while (n < count && ring.push(HandOver{staged[n], plane})) ++n;
    stats.tx_handed_over += n;
  }
  stats.tx_short_bursts += n < count ? 1 : 0;
  port.stage.taken(n);
  if (n != 0) port.stuck_since = Time::never();
  return n;
}

/// What other workers have for a queue of ours: a ring a worker and plane, so that a port which takes nothing
/// holds back its own packets only. One burst a port and iteration, in turn with our own data.
void forward(WorkerCore& w, std::size_t plane) {
  WorkerPort& port = w.ports[plane];
  if (port.own_turn && !w.ready.empty()) return;
  const std::size_t workers = port.tx_in.size();
  std::size_t total = 0;
  std::array<HandOver, kBurst> burst;
  for (std::size_t k = 0; k < workers; ++k) {
    const std::size_t from = (port.next_from + k) % workers;
    if (port.tx_in[from] == nullptr) continue;
    const std::size_t room = port.up ? port.stage.forward_room() : kBurst;
    const std::size_t n = port.tx_in[from]->pop({burst.data(), room});
    for (std::size_t i = 0; i < n; ++i) {
      // A dead link: as if lost on the wire, like what is staged for it.
      if (!port.up || !port.stage.push(burst[i].m, burst[i].m->data_len, PortStage::Kind::kData)) {
        rte_pktmbuf_free(burst[i].m);
        ++w.stats.ports[plane].tx_abandoned;
      }
    }
    total += n;
  }
  port.next_from = workers == 0 ? 0 : (port.next_from + 1) % workers;
  port.own_turn = total != 0;
}

transport::PortCredits control_credits(WorkerCore& w, Time now) {
  transport::PortCredits credits;
  for (std::size_t p = 0; p < w.ports.size(); ++p) {
    WorkerPort& port = w.ports[p];
    credits.credits[p] = static_cast<std::uint16_t>(port.stage.control_room());
    if (credits.credits[p] == 0) port.stuck_since = earlier(port.stuck_since, now);
    const bool stuck = credits.credits[p] == 0 && now - port.stuck_since > kBusyForLong;
    credits.up_mask |= (port.up && !stuck ? 1U : 0U) << p;
  }
  return credits;
}

/// Control mbufs, before the transport is asked (D1): what it gives counts as sent.
void fill_control_stash(WorkerCore& w) {
  const auto missing = static_cast<unsigned>(kBurst - w.control_stashed);
  if (missing == 0) return;
  auto** at = reinterpret_cast<void**>(&w.control_stash[w.control_stashed]);
  if (rte_mempool_get_bulk(w.control_pool, at, missing) == 0) {
    w.control_stashed = kBurst;
    return;
  }
  while (w.control_stashed < kBurst) {
    rte_mbuf* m = take_control_mbuf(w);
    if (m == nullptr) break;
    w.control_stash[w.control_stashed++] = m;
  }
  w.stats.control_starved += w.control_stashed == 0 ? 1 : 0;
}

/// SACK, NACK, ACK and probes: QPs that have some in turn, a few packets each while others wait.
void send_control(WorkerCore& w, Time now) {
  transport::PortCredits credits = control_credits(w, now);
  if (credits.free_mask() == 0) return;
  fill_control_stash(w);
  std::array<transport::ControlDesc, kBurst>& out = w.control_descs;
  for (std::size_t turns = w.control.size(); turns > 0 && w.control_stashed > 0 && credits.free_mask() != 0;
       --turns) {
    QpHome& home = *w.slots[w.control.pop()];
    const std::size_t room = w.control.empty() ? w.control_stashed : std::min(w.control_stashed, kQuantum);
    const std::size_t n = home.qp.next_control(now, credits, {out.data(), room});
    for (std::size_t d = 0; d < n; ++d) {
      if (encode_control(w, home, out[d], w.control_stash[w.control_stashed - 1])) {
        --w.control_stashed;
      } else {
        ++w.stats.control_dropped;
      }
    }
    home.in_control = false;  // settle() puts it back, at the end, when there is more
    w.touch(home);
  }
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

/// Nothing can leave: the transport gives nothing, but it starts the timer that ends a QP if that lasts (D9).
void tell_of_silence(WorkerCore& w, transport::PortCredits& credits, Time now) {
  std::array<transport::TxDesc, 1> none;
  for (std::size_t turns = w.ready.size(); turns > 0; --turns) {
    QpHome& home = *w.slots[w.ready.pop()];
    home.qp.next_packets(now, credits, none);
    home.in_ready = false;
    w.touch(home);
  }
}

/// Ready QPs in turn, each with the ports that are still free.
void send_data(WorkerCore& w, transport::PortCredits& credits, Time now) {
  if (w.ready.empty()) return;
  if (credits.up_mask == 0) return tell_of_silence(w, credits, now);
  if (credits.free_mask() == 0) {
    // Busy for a moment, or for good: a peer that stopped taking packets while its links are up. A QP with
    // packets under way has timers that end it; for the others such ports are as good as down.
    if (w.busy_since.is_never()) w.busy_since = now;
    if (now - w.busy_since < kBusyForLong) return;
    w.busy_since = now;
    credits.up_mask = 0;
    return tell_of_silence(w, credits, now);
  }
  w.busy_since = Time::never();
  fill_stash(w);
  std::array<transport::TxDesc, kBurst>& out = w.data_descs;
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
  std::size_t sent = 0;
  transport::PortCredits credits;
  for (std::size_t p = 0; p < w.ports.size(); ++p) {
    if (!w.ports[p].tx_in.empty()) forward(w, p);
    sent += flush(w, p);
    if (w.ports[p].stage.empty()) w.ports[p].own_turn = false;
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

void stage(WorkerCore& w, std::size_t plane, rte_mbuf* m, std::uint16_t frame_bytes, PortStage::Kind kind) {
  if (is_captured(w)) [[unlikely]]
    capture_frame(w, w.now, plane, true, wire::DropReason::kNone, m);
  if (w.ports[plane].stage.push(m, frame_bytes, kind)) [[likely]]
    return;
  rte_pktmbuf_free(m);  // credits were overdrawn: an own mistake, but never one mbuf past the stage
  ++w.stats.ports[plane].tx_abandoned;
}

}  // namespace mrc::nic
