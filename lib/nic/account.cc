// SPDX-License-Identifier: BSD-3-Clause
// The end of a Nic: what is still held is freed, and every mbuf is counted.
#include <rte_mempool.h>

#include "nic/core.h"

namespace mrc::nic {
namespace {

void drain_stages(WorkerCore& w) {
  for (std::size_t p = 0; p < w.ports.size(); ++p) {
    const auto staged = w.ports[p].stage.staged();
    w.stats.ports[p].tx_abandoned += staged.size();
    rte_pktmbuf_free_bulk(staged.data(), static_cast<unsigned>(staged.size()));
    w.ports[p].stage.taken(staged.size());
  }
  // Never became a packet: no pkt_len to trust, back to the pool as they came.
  if (w.stashed != 0)
    rte_mempool_put_bulk(w.payload_pool, reinterpret_cast<void**>(w.stash.data()),
                         static_cast<unsigned>(w.stashed));
  w.stashed = 0;
}

void drain_rings(WorkerCore& w) {
  HandOver h{};
  for (const auto& rings : {&w.rx_in, &w.tx_in}) {
    for (const auto& ring : *rings) {
      while (ring != nullptr && ring->pop({&h, 1}) == 1) rte_pktmbuf_free(h.m);
    }
  }
  if (w.tx_waiting.m != nullptr) rte_pktmbuf_free(w.tx_waiting.m);
  w.tx_waiting = {};
}

void drain_queues(WorkerCore& w) {
  std::array<rte_mbuf*, kBurst> burst;
  for (WorkerPort& port : w.ports) {
    if (port.owns_tx) rte_eth_tx_done_cleanup(port.dpdk_port, port.tx_queue, 0);
    // Bounded: a peer may go on sending. What arrives later belongs to the port's pool.
    for (int round = 0; port.polls_rx && round < 1024; ++round) {
      const std::uint16_t n = port.rx_burst != nullptr
                                  ? port.rx_burst(port.dpdk_port, port.rx_queue, burst.data(), kBurst)
                                  : rte_eth_rx_burst(port.dpdk_port, port.rx_queue, burst.data(), kBurst);
      rte_pktmbuf_free_bulk(burst.data(), n);
      if (n == 0) break;
    }
  }
}

std::uint64_t out_of(const rte_mempool* pool) {
  return pool == nullptr ? 0 : rte_mempool_in_use_count(pool);
}

}  // namespace

void Nic::drain() {
  for (auto& w : core_->workers) {
    drain_stages(*w);
    drain_rings(*w);
    drain_queues(*w);
  }
}

MbufAccount Nic::mbuf_account() const {
  MbufAccount a;
  for (const auto& w : core_->workers) {
    std::uint64_t held = w->stashed;
    a.payload_total += core_->config.payload_mbufs;
    a.control_total += core_->config.control_mbufs;
    a.payload_out += out_of(w->payload_pool) - held;
    a.control_out += out_of(w->control_pool);
  }
  return a;
}

}  // namespace mrc::nic
