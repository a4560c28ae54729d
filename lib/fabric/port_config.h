// SPDX-License-Identifier: BSD-3-Clause
// How one end of a link sends: speed, distance, queues, marking, trimming.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "wire/types.h"

namespace mrc::fabric {

/// Marking on dequeue, by the data queue that the packet leaves behind. Linear from 0 at min_bytes to
/// max_probability at max_bytes, certain above; min_bytes == max_bytes marks deterministically.
struct EcnConfig {
  bool enabled = false;
  std::uint32_t min_bytes = 0;
  std::uint32_t max_bytes = 0;
  double max_probability = 1.0;
  bool on_last_hop = false;  ///< networks for MRC leave the hop into the receiver unmarked (section 1.15)
};

/// What a full data queue does to a trimmable packet (1.14): cut, rewrite the DSCP class, send it ahead in
/// the control queue.
struct TrimConfig {
  bool enabled = false;
  std::uint32_t size_bytes =
      128;                     ///< what is left; a shorter packet keeps its length and is marked all the same
  bool last_hop_class = true;  ///< TRIMMED_LASTHOP where the port leads to the host; else TRIMMED everywhere
  bool fair_coin = false;      ///< trim the arriving packet or the last one queued, one half each
};

constexpr std::uint8_t class_bit(wire::DscpClass c) {
  return static_cast<std::uint8_t>(1U << static_cast<unsigned>(c));
}
/// Classes that take the control queue, strictly first.
inline constexpr std::uint8_t kControlClasses = class_bit(wire::DscpClass::kControl) |
                                                class_bit(wire::DscpClass::kTrimmed) |
                                                class_bit(wire::DscpClass::kTrimmedLasthop);

/// The sending end of a link. A queue limit of 0 means unbounded (the fabric's packet limit still holds).
struct PortConfig {
  std::uint64_t rate_bps = 0;  ///< 0: no serialisation time, hence no queue
  Duration delay{};            ///< propagation
  Duration jitter{};           ///< uniform extra delay up to this much; order on the wire is kept
  std::uint32_t data_queue_bytes = 0;
  std::uint32_t control_queue_bytes = 0;
  std::uint8_t control_classes = kControlClasses;
  EcnConfig ecn;
  TrimConfig trim;
};

}  // namespace mrc::fabric
