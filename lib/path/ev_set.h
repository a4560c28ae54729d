// SPDX-License-Identifier: BSD-3-Clause
// The EVs of one QP: states (Figure 5, section 5.5), the choice at send time (D10), verdicts at the floor
// (D9).
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/rng.h"
#include "base/time.h"
#include "path/ev_table.h"
#include "wire/types.h"

namespace mrc::path {

using EvIndex = std::uint16_t;
inline constexpr EvIndex kNoEv = 0xFFFF;

enum class EvState : std::uint8_t { kGood, kSkip, kAssumedBad, kDenied };

/// Why an EV changed state; also the cause in an EV event.
enum class EvCause : std::uint8_t {
  kMark,        ///< SACK m = 1 (or 2)
  kTrimmed,     ///< NACK TRIMMED
  kLoss,        ///< inferred loss without trim notice (D9)
  kAckTimeout,  ///< local ACK timeout
  kProbeOk,     ///< reliability probe answered with m = 0 or 1 (C13)
  kSpurious,    ///< the transmission given up arrived after all (D9)
  kRotation,    ///< the cursor met a SKIP and restored it (11.2.2)
  kController,  ///< MODIFY_EV_STATE
  kFallback,    ///< nothing usable was left
};

struct EvChoice {
  EvIndex ev = kNoEv;  ///< kNoEv: nothing usable on a free port
  std::uint8_t port = 0;
  bool fallback = false;  ///< an EV that is not GOOD had to serve; counted
};

/// What choose() should keep away from: the EV and plane of a lost transmission (2.4, D10).
struct Avoid {
  EvIndex ev = kNoEv;
  int port = -1;  ///< prefer another plane when one is usable; -1: none
};

/// Counters of one set. Monotone; the owner reads them.
struct EvSetCounters {
  std::uint64_t skip_marks = 0;
  std::uint64_t skip_restored = 0;
  std::uint64_t assumed_bad = 0;
  std::uint64_t recovered = 0;
  std::uint64_t floor_hits = 0;      ///< demotion refused by ev_min_active
  std::uint64_t fallback_picks = 0;  ///< choices of an EV that was not GOOD
};

struct EvSetConfig {
  std::uint32_t ev_min_active = 1;  ///< demotion needs (GOOD + SKIP) - 1 >= this; <= table size
  Duration probe_interval =
      milliseconds(1);  ///< reliability probe on each ASSUMED_BAD EV at this fixed interval
};

/// Per-QP EV state machine and selector. All memory is taken at construction; O(1) choice by per-plane
/// bitmaps in permuted order. One owner thread. Never fails: out-of-range indices are own bugs and asserted.
class EvSet {
 public:
  EvSet(std::shared_ptr<const EvTable> table, const EvSetConfig& config, std::uint64_t seed);
  ~EvSet();
  EvSet(EvSet&&) noexcept;
  EvSet& operator=(EvSet&&) noexcept;

  [[nodiscard]] const EvTable& table() const;
  [[nodiscard]] EvState state(EvIndex ev) const;
  [[nodiscard]] std::size_t active() const;  ///< GOOD + SKIP
  [[nodiscard]] const EvSetCounters& counters() const;

  /// The next EV for new data among planes whose bit is set in `free_ports` (D10). Equal shares per plane.
  EvChoice choose(Time now, std::uint32_t free_ports);
  /// The EV for a retransmission: not avoid.ev if there is another, another plane if one is usable, of those
  /// the one with the newest proof of delivery (D10).
  EvChoice choose_for_retransmission(Time now, std::uint32_t free_ports, Avoid avoid);
  /// An EV on `port` for control traffic (C30, D19): newest proof of delivery, else any usable; if that plane
  /// has none, another plane of `free_ports`. Does not move the data cursor.
  [[nodiscard]] EvChoice choose_for_control(std::uint32_t free_ports, std::uint8_t port) const;

  // Feedback. Unknown EV (kNoEv) is ignored.
  void on_mark(EvIndex ev, wire::EvMark mark, Time now);  ///< m of a SACK
  void on_trimmed(EvIndex ev, Time now);                  ///< NACK TRIMMED
  /// Loss or timeout without trim notice: -> ASSUMED_BAD, or SKIP at the floor. Returns true when the EV is
  /// ASSUMED_BAD afterwards.
  bool on_loss(EvIndex ev, EvCause cause, Time now);
  void on_spurious(EvIndex ev, Time now);                         ///< -> GOOD without probe (D9)
  void on_probe_answer(EvIndex ev, wire::EvMark mark, Time now);  ///< -> GOOD, unless m = 2
  void on_delivered(EvIndex ev, Time sent);                       ///< newest proof of delivery
  [[nodiscard]] Time proof(EvIndex ev) const;
  void set_state(EvIndex ev, EvState state, Time now);  ///< MODIFY_EV_STATE: GOOD or DENIED

  void set_port_usable(std::uint8_t port, bool usable);  ///< a local port went down or up

  /// Next ASSUMED_BAD EV whose probe is due at `now`, or kNoEv. Marks it as probed; the next is due
  /// probe_interval later.
  EvIndex next_probe(Time now, std::uint32_t free_ports);
  [[nodiscard]] Time next_probe_deadline() const;

  /// Transitions since the last call, oldest first, bounded; `dropped` counts those that did not fit (5.6).
  struct Event {
    Time at;
    EvIndex ev;
    EvState from, to;
    EvCause cause;
  };
  std::size_t poll_events(std::span<Event> out, std::uint64_t& dropped);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mrc::path
