// SPDX-License-Identifier: BSD-3-Clause
// What is counted. Every packet that enters is found again: delivered, dropped by reason, or inside.
#pragma once

#include <array>
#include <cstdint>

#include "fabric/packet.h"

namespace mrc::fabric {

using PerKind = std::array<std::uint64_t, kKinds>;

constexpr std::uint64_t sum(const PerKind& v) {
  std::uint64_t total = 0;
  for (const std::uint64_t n : v) total += n;
  return total;
}
constexpr void add(PerKind& to, const PerKind& from) {
  for (std::size_t k = 0; k < kKinds; ++k) to[k] += from[k];
}

/// One link, packets unless a unit is named. Monotone; owner thread.
struct LinkCounters {
  PerKind offered{};  ///< came to be sent: sent + dropped + waiting
  PerKind sent{};     ///< put on the wire
  std::array<PerKind, kDropReasons> dropped{};
  std::uint64_t sent_bytes = 0;
  std::uint64_t ce_marked = 0;
  std::uint64_t trimmed = 0;
  std::uint64_t corrupted = 0;
  std::uint64_t duplicated = 0;
  std::uint64_t reordered = 0;
  std::uint64_t max_data_queue_bytes = 0;  ///< packet in service included

  [[nodiscard]] std::uint64_t dropped_total() const {
    std::uint64_t total = 0;
    for (const PerKind& by_kind : dropped) total += sum(by_kind);
    return total;
  }
  LinkCounters& operator+=(const LinkCounters& o);
};

/// The whole fabric. Invariant: injected + duplicated = delivered + dropped + in flight.
struct FabricCounters {
  PerKind injected{};  ///< accepted by inject
  PerKind refused{};   ///< not accepted: the handle stayed with the caller, no part of the sum above
  PerKind delivered{};
  std::array<PerKind, kDropReasons> dropped{};
  std::uint64_t duplicated = 0;
  std::uint64_t hops = 0;  ///< packets put on a wire, all links: the unit of speed

  [[nodiscard]] std::uint64_t dropped_total() const {
    std::uint64_t total = 0;
    for (const PerKind& by_kind : dropped) total += sum(by_kind);
    return total;
  }
};

}  // namespace mrc::fabric
