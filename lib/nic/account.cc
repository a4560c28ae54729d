// SPDX-License-Identifier: BSD-3-Clause
// The end of a Nic: what is still held is freed, and every mbuf is counted.
#include <rte_mempool.h>

#include "nic/core.h"

namespace mrc::nic {
namespace {

/// Never became packets: no pkt_len to trust, back to the pool as they came.
void put_back(rte_mempool* pool, std::array<rte_mbuf*, kBurst>& stash, std::size_t& count) {
  if (count != 0) {
    rte_mempool_put_bulk(pool, reinterpret_cast<void**>(stash.data()), static_cast<unsigned>(count));
  }
  count = 0;
}

void drain_stages(WorkerCore& w) {
  for (std::size_t p = 0; p < w.ports.size(); ++p) {
    const auto staged = w.ports[p].stage.staged();
    w.stats.ports[p].tx_abandoned += staged.size();
    rte_pktmbuf_free_bulk(staged.data(), static_cast<unsigned>(staged.size()));
    w.ports[p].stage.taken(staged.size());
  }
  put_back(w.payload_pool, w.stash, w.stashed);
  put_back(w.control_pool, w.control_stash, w.control_stashed);
}

void drain_rings(WorkerCore& w) {
  HandOver h{};
  const auto empty = [&h](const std::unique_ptr<HandOverRing>& ring) {
    while (ring != nullptr && ring->pop({&h, 1}) == 1) rte_pktmbuf_free(h.m);
  };
  for (const auto& ring : w.rx_in) empty(ring);
  for (const WorkerPort& port : w.ports) {
    for (const auto& ring : port.tx_in) empty(ring);
  }
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
    a.payload_total += core_->config.payload_mbufs;
    a.control_total += core_->config.control_mbufs;
    a.payload_out += out_of(w->payload_pool) - w->stashed;
    a.control_out += out_of(w->control_pool) - w->control_stashed;
  }
  return a;
}

}  // namespace mrc::nic
