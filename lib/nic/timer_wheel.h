// SPDX-License-Identifier: BSD-3-Clause
// One timer a QP, hierarchical wheel: O(1) to set, to move and to fire; idle time costs nothing to skip.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/time.h"

namespace mrc::nic {

/// Timers with ids 0..capacity-1. Resolution 1.024 us, rounded up: never early. Deadlines beyond the wheel's
/// span (about 18 minutes) wait in its last slot and are placed again. Lazy use: keep the entry at the
/// earliest deadline seen, and ask its owner for the true one when it fires. One owner thread.
class TimerWheel {
 public:
  TimerWheel(std::size_t capacity, Time start);

  /// Arms or moves timer `id`. never() cancels.
  void schedule(std::uint32_t id, Time deadline);
  void cancel(std::uint32_t id);
  /// never() when not armed.
  [[nodiscard]] Time scheduled(std::uint32_t id) const { return entries_[id].deadline; }

  /// Disarms timers with deadline <= now and writes their ids, as many as fit; call again when full.
  std::size_t expire(Time now, std::span<std::uint32_t> out);
  /// No timer fires before this; never() when none is armed. A lower bound for far deadlines.
  [[nodiscard]] Time next() const;

 private:
  static constexpr unsigned kSlotBits = 6;
  static constexpr std::uint32_t kSlots = 1U << kSlotBits;
  static constexpr unsigned kLevels = 5;
  static constexpr unsigned kTickBits = 10;
  static constexpr std::uint32_t kNil = 0xFFFFFFFF;

  struct Entry {
    Time deadline = Time::never();
    std::uint32_t next = kNil;
    std::uint32_t prev = kNil;
    std::uint8_t level = 0;
    std::uint8_t slot = 0;
  };
  struct Slot {  // where something happens next, and the tick at which it does
    unsigned level;
    std::uint32_t slot;
    std::uint64_t tick;
  };

  void link(std::uint32_t id);
  void unlink(std::uint32_t id);
  [[nodiscard]] bool next_slot(Slot& out) const;

  std::vector<Entry> entries_;
  std::array<std::array<std::uint32_t, kSlots>, kLevels> heads_;
  std::array<std::uint64_t, kLevels> occupied_{};
  std::uint64_t elapsed_;  ///< tick up to which everything has fired
};

}  // namespace mrc::nic
