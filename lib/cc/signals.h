// SPDX-License-Identifier: BSD-3-Clause
// What the transport tells a congestion controller. Plain values; bytes are nominal (MRC 8.3.1, C25).
#pragma once

#include <cstdint>
#include <optional>

#include "base/serial.h"
#include "base/time.h"
#include "wire/types.h"

namespace mrc::cc {

/// What a SACK tells the controller (Table 8-1, OnACK).
struct AckSignal {
  std::int64_t newly_received_bytes = 0;  ///< from rcvd_bytes, multiple of 256; 0 for an old SACK
  bool marked = false;                    ///< m == SKIP_ONCE
  std::optional<Duration> rtt;            ///< valid samples only (D18)
  std::uint8_t rcv_cwnd_pen = 0;
  bool restore_cwnd = false;
};

/// What a NACK tells the controller (OnNACK). `charged_bytes` is 0 when the transmission was not charged any
/// more (D7).
struct NackSignal {
  wire::NackReason reason{};
  std::int64_t charged_bytes = 0;
  std::int64_t nominal_bytes = 0;
  std::optional<Duration> rtt;
};

/// Bytes newly received behind a SACK's counter: the 24-bit field counts 256 B and wraps (6.3). An old SACK
/// gives 0 and changes nothing.
constexpr std::int64_t newly_received_bytes(RcvdUnits& newest, RcvdUnits field) {
  const std::int32_t units = field - newest;
  if (units <= 0) return 0;
  newest = field;
  return std::int64_t{units} * 256;
}

/// May a sample taken from a local send-time table be believed? Only when the acknowledgement cannot belong
/// to another transmission: never resent and rtx clear, or resent once and rtx set (UET; C41 mirrors rtx).
constexpr bool rtt_sample_valid(unsigned resends, bool rtx) {
  return (resends == 0 && !rtx) || (resends == 1 && rtx);
}

/// RTT from a reflected timestamp; right while the packet left less than 8.39 ms ago (D18).
constexpr Duration rtt_from_ticks(Tick now, Tick reflected) {
  return kTick * static_cast<std::int64_t>((now.value() - reflected.value()) & Tick::kMask);
}

}  // namespace mrc::cc
