// SPDX-License-Identifier: BSD-3-Clause
// Two hosts wired back to back: on every plane a pair of ring ports, what one sends the other receives. No
// fabric, no copy: the floor under every measurement, and the cable of lib/nic's tests.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"

struct rte_mempool;
struct rte_ring;

namespace mrc::ring {

struct RingPairConfig {
  unsigned planes = 4;
  std::uint16_t rx_queues =
      1;  ///< a port; what one host sends on TX queue q arrives in RX queue q of the other
  std::uint16_t depth = 1024;   ///< descriptors a queue, power of two
  bool multi_producer = false;  ///< several threads may send on one queue (else one thread a queue)
};

/// Owns the ports and rings. The mbufs in the rings at destruction are freed. Set-up thread.
class RingPair {
 public:
  /// Errors: no free port id (limit 32 ports a process), no memory.
  static Result<std::unique_ptr<RingPair>> create(const RingPairConfig& config);
  ~RingPair();
  RingPair(const RingPair&) = delete;
  RingPair& operator=(const RingPair&) = delete;

  /// DPDK port id of `host` (0 or 1) on `plane`; started, link up.
  [[nodiscard]] std::uint16_t port(unsigned host, unsigned plane) const { return ports_[host][plane]; }
  [[nodiscard]] const RingPairConfig& config() const { return config_; }

 private:
  explicit RingPair(const RingPairConfig& config) : config_(config) {}
  Result<void> open();
  Result<void> open_port(unsigned host, unsigned plane);

  RingPairConfig config_;
  std::vector<std::uint16_t> ports_[2];
  std::vector<rte_ring*> rings_;  ///< [host * planes + plane][queue]: what that host sends
  rte_mempool* pool_ = nullptr;   ///< RX set-up wants one; nothing is ever taken from it
  unsigned id_ = 0;
};

}  // namespace mrc::ring
