// SPDX-License-Identifier: BSD-3-Clause
// What this machine can do at most with one core serving both ends of the given ring ports: bytes are read
// from application memory with CRC, copied into mbufs, handed through the rings, checked, and copied into
// application memory. No protocol: no sequence number, no acknowledgement, no choice of path, no key.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"

struct rte_mempool;
struct rte_mbuf;

namespace mrc::perf {

/// The shape of the traffic, the same as the endpoint's it is held against.
struct LimitConfig {
  std::vector<std::uint16_t> tx_ports;  ///< by plane
  std::vector<std::uint16_t> rx_ports;
  std::uint32_t header_bytes =
      78;  ///< Ethernet to RETH: copied, and covered by the CRC from the IP header on
  std::uint32_t payload_bytes = 4096;
  std::uint32_t burst_pkts = 32;  ///< sent in one iteration over all planes, equal shares
  std::uint32_t mbufs = 4096;
};

/// Source or target walked from end to end, again and again: one message after the other.
struct Walk {
  std::uint8_t* base = nullptr;
  std::size_t bytes = 0;
};

class Limit {
 public:
  static Result<std::unique_ptr<Limit>> create(const LimitConfig& config);
  ~Limit();
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;

  /// Moves `packets` (rounded up to whole bursts) from `source` to `target`; returns the seconds it took.
  /// Everything sent has been received at the end. 0 when something was lost, foreign or damaged.
  double run(std::uint64_t packets, Walk source, Walk target);

 private:
  explicit Limit(const LimitConfig& config) : config_(config) {}
  /// Packets sent: `n`, or 0 when the pool is empty.
  std::uint32_t send(std::size_t plane, std::uint32_t n, Walk& source, std::size_t& at);
  void discard();
  bool receive(std::size_t plane, Walk& target, std::size_t& at, std::uint64_t& got);

  LimitConfig config_;
  rte_mempool* pool_ = nullptr;
  std::array<std::uint8_t, 256> header_{};
};

}  // namespace mrc::perf
