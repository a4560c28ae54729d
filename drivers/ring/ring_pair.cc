// SPDX-License-Identifier: BSD-3-Clause
#include "ring/ring_pair.h"

#include <rte_bus_vdev.h>
#include <rte_errno.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include <atomic>
#include <string>

#include "tsan/order.h"

namespace mrc::ring {
namespace {

std::string name_of(unsigned id, const char* kind, unsigned host, unsigned plane, unsigned queue) {
  return "mrc" + std::to_string(id) + kind + std::to_string(host) + "_" + std::to_string(plane) + "_" +
         std::to_string(queue);
}

}  // namespace

Result<std::unique_ptr<RingPair>> RingPair::create(const RingPairConfig& config) {
  auto pair = std::unique_ptr<RingPair>(new RingPair(config));
  static std::atomic<unsigned> next_id{0};
  pair->id_ = next_id.fetch_add(1);
  if (auto r = pair->open(); !r) return r.error();
  return pair;
}

Result<void> RingPair::open() {
  const std::string pool_name = "mrc" + std::to_string(id_) + "rx";
  pool_ = rte_pktmbuf_pool_create(pool_name.c_str(), 1, 0, 0, 256, SOCKET_ID_ANY);
  if (pool_ == nullptr)
    return Error{"ring ports: no memory for a pool: " + std::string(rte_strerror(rte_errno))};
  const unsigned flags = config_.multi_producer ? RING_F_SC_DEQ : RING_F_SP_ENQ | RING_F_SC_DEQ;
  for (unsigned host = 0; host < 2; ++host) {
    for (unsigned plane = 0; plane < config_.planes; ++plane) {
      for (unsigned q = 0; q < config_.rx_queues; ++q) {
        rte_ring* ring =
            rte_ring_create(name_of(id_, "r", host, plane, q).c_str(), config_.depth, SOCKET_ID_ANY, flags);
        if (ring == nullptr) {
          return Error{"ring ports: ring of " + std::to_string(config_.depth) + ": " +
                       rte_strerror(rte_errno)};
        }
        rings_.push_back(ring);
      }
    }
  }
  for (unsigned host = 0; host < 2; ++host) {
    for (unsigned plane = 0; plane < config_.planes; ++plane) {
      if (auto r = open_port(host, plane); !r) return r;
    }
  }
  return {};
}

Result<void> RingPair::open_port(unsigned host, unsigned plane) {
  const std::string name = name_of(id_, "p", host, plane, 0);
  const unsigned n = config_.rx_queues;
  rte_ring** out = &rings_[(host * config_.planes + plane) * n];
  rte_ring** in = &rings_[((1 - host) * config_.planes + plane) * n];
  const int port = rte_eth_from_rings(name.c_str(), in, n, out, n, 0);
  if (port < 0) {
    return Error{"ring ports: port " + name + ": " + rte_strerror(rte_errno) + "; a process has at most " +
                 std::to_string(RTE_MAX_ETHPORTS) + " ports"};
  }
  const auto id = static_cast<std::uint16_t>(port);
  ports_[host].push_back(id);  // from here on the destructor closes it
  const rte_eth_conf conf{};
  const auto queues = static_cast<std::uint16_t>(n);
  int rc = rte_eth_dev_configure(id, queues, queues, &conf);
  for (std::uint16_t q = 0; q < queues && rc == 0; ++q) {
    rc = rte_eth_rx_queue_setup(id, q, config_.depth, 0, nullptr, pool_);
    if (rc == 0) rc = rte_eth_tx_queue_setup(id, q, config_.depth, 0, nullptr);
  }
  tsan::watch_port(id, queues, queues);
  if (rc == 0) rc = rte_eth_dev_start(id);
  if (rc != 0) return Error{"ring ports: port " + name + " does not start: " + rte_strerror(-rc)};
  return {};
}

RingPair::~RingPair() {
  for (unsigned host = 0; host < 2; ++host) {
    for (unsigned plane = 0; plane < ports_[host].size(); ++plane) {
      rte_eth_dev_stop(ports_[host][plane]);
      rte_eth_dev_close(ports_[host][plane]);
      // A closed ring port leaves its device behind; only the bus can take it back.
      rte_vdev_uninit(("net_ring_" + name_of(id_, "p", host, plane, 0)).c_str());
    }
  }
  for (rte_ring* ring : rings_) {
    void* m = nullptr;
    while (rte_ring_sc_dequeue(ring, &m) == 0) rte_pktmbuf_free(static_cast<rte_mbuf*>(m));
    rte_ring_free(ring);
  }
  rte_mempool_free(pool_);
}

}  // namespace mrc::ring
