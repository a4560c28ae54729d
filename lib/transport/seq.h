// SPDX-License-Identifier: BSD-3-Clause
// Unwrapped PSNs. Inside the transport a packet has a 64-bit number that never wraps: its low 24 bits are the
// PSN. A message of 2^31 bytes at PMTU 256 spans 2^23 packets, which a signed 24-bit distance cannot order.
#pragma once

#include <cstdint>

#include "base/serial.h"

namespace mrc::transport {

using Seq = std::uint64_t;

/// Where a QP starts to count: far enough from 0 that a PSN older than the first one has a number too.
constexpr Seq first_seq(Psn first) {
  return (Seq{1} << 32) + first.value();
}
constexpr Psn psn_of(Seq seq) {
  return Psn{static_cast<std::uint32_t>(seq & Psn::kMask)};
}
/// The number nearest to `reference` that has this PSN: off by a signed 24-bit distance.
constexpr Seq unwrap(Psn psn, Seq reference) {
  return reference + static_cast<std::uint64_t>(static_cast<std::int64_t>(psn - psn_of(reference)));
}

static_assert(unwrap(Psn{0}, first_seq(Psn{0xFFFFFF})) == first_seq(Psn{0xFFFFFF}) + 1);
static_assert(unwrap(Psn{0xFFFFFF}, first_seq(Psn{0})) == first_seq(Psn{0}) - 1);

}  // namespace mrc::transport
