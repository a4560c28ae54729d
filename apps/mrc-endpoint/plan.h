// SPDX-License-Identifier: BSD-3-Clause
// From a workload's wishes to numbers that fit: slots, depth, memory; and whether two ends fit together. Pure
// functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/endpoint_config.h"
#include "exchange_messages.h"
#include "path/profile.h"

namespace mrc::endpoint {

inline constexpr std::uint64_t kStrideAlign = 64;
/// Slots of one QP take about this much, so that a run with verification stays in the caches of one core
/// where messages allow it.
inline constexpr std::uint64_t kSlotBudgetBytes = 8ULL << 20;
inline constexpr std::uint32_t kMaxSlots = 65536;

/// One phase in numbers.
struct PhasePlan {
  std::uint64_t size_bytes = 0;
  std::uint64_t stride_bytes = 0;
  std::uint32_t slots = 1;
  std::uint32_t depth = 1;
  std::uint64_t iterations = 0;
  double duration_s = 0;
  [[nodiscard]] std::uint64_t region_bytes() const { return stride_bytes * slots; }
};

std::uint64_t stride_of(std::uint64_t size_bytes);
PhasePlan plan_phase(const config::EndpointConfig& config, std::uint64_t size_bytes);
std::vector<PhasePlan> plan_phases(const config::EndpointConfig& config);

bool uses_immediate(const std::string& kind);
/// Does the end with this role send, receive?
bool run_receives(const Workload& w);

/// What a run takes of memory at an end.
struct MemoryNeed {
  std::uint64_t message_bytes = 0;  ///< a source, a target, or both
  std::uint64_t qp_bytes = 0;       ///< of all QPs
  [[nodiscard]] std::uint64_t bytes() const { return message_bytes + qp_bytes; }
  [[nodiscard]] std::string text() const;
};
/// `bytes_a_qp`: as this end makes them.
MemoryNeed memory_of(const Workload& w, std::uint64_t bytes_a_qp);

/// What `serve` checks of an offer before it takes any memory, and `run` of the answer. The error is told to
/// the peer. `free_bytes`: of this machine's memory; `bytes_a_qp`: as in memory_of().
Result<void> check_offer(const config::EndpointConfig& own, const Offer& offer, std::uint64_t free_bytes,
                         std::uint64_t bytes_a_qp);
Result<void> check_peer(const Offer& own, const Offer& peer, std::uint64_t target_bytes_needed);

/// The path MTU of both ends: the smaller one, unless an end insists on another (MRC 10.1.2 leaves the choice
/// to the out-of-band exchange).
Result<std::uint16_t> agree_mtu(const Offer& own, const Offer& peer);

/// The profile of the configuration as lib/path describes it. `ipv6`: the planes' family.
Result<path::EvTable> build_ev_table(const config::EndpointConfig& config, bool ipv6, std::uint64_t seed);

}  // namespace mrc::endpoint
