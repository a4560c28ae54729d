// SPDX-License-Identifier: BSD-3-Clause
// Reliability probes on their way (MRC 6.5.1, 7.4.6; 4.1): the id is private to the requestor and never
// reused while its probe is remembered.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/time.h"
#include "path/ev_set.h"

namespace mrc::transport {

/// The last kOutstanding probes by id. An older one that is still answered counts as unknown.
class ProbeTable {
 public:
  static constexpr std::size_t kOutstanding = 64;
  struct Probe {
    Time sent;
    path::EvIndex ev = path::kNoEv;
    std::uint16_t id = 0;
    bool open = false;
    bool tail = false;  ///< sent by the probe timer (D14), not to check an EV
  };

  std::uint16_t begin(path::EvIndex ev, Time now, bool tail) {
    const std::uint16_t id = next_++;
    slots_[id % kOutstanding] = {now, ev, id, true, tail};
    return id;
  }
  /// The probe that an answer with `id` belongs to; each is answered once (D6: a SACK twice equals once).
  std::optional<Probe> answered(std::uint16_t id) {
    Probe& slot = slots_[id % kOutstanding];
    if (!slot.open || slot.id != id) return std::nullopt;
    slot.open = false;
    return slot;
  }
  void reset() { slots_ = {}; }

 private:
  std::array<Probe, kOutstanding> slots_{};
  std::uint16_t next_ = 0;
};

}  // namespace mrc::transport
