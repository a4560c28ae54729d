// SPDX-License-Identifier: BSD-3-Clause
// Schedule states of a congestion controller (MRC Figure 4, with the names of UET, C24), over all QPs that
// share it.
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>

#include "base/time.h"

namespace mrc::cc {

enum class SchedState : std::uint8_t {
  kIdle,     ///< nothing to send, nothing outstanding
  kActive,   ///< work queued, the window forbids
  kReady,    ///< work queued, the window permits
  kPending,  ///< all sent, acknowledgements outstanding
};
inline constexpr std::size_t kSchedStates = 4;
inline constexpr std::array<const char*, kSchedStates> kSchedStateNames = {"IDLE", "ACTIVE", "READY",
                                                                           "PENDING"};

/// What one QP contributes. It keeps what it told last.
struct QpWork {
  bool queued = false;       ///< new packets or retransmissions wait to be sent
  bool outstanding = false;  ///< something sent is not known received, or a request not acknowledged
};

/// Which state, how often and how long. A QP has at most one of each kind of work, so that news of a burst
/// cost one call, not one a packet. Value type, one owner.
class Schedule {
 public:
  /// A QP that had `told` has `is` now. Then resched.
  void change(QpWork& told, QpWork is) {
    queued_ += static_cast<int>(is.queued) - static_cast<int>(told.queued);
    outstanding_ += static_cast<int>(is.outstanding) - static_cast<int>(told.outstanding);
    assert(queued_ >= 0 && outstanding_ >= 0);
    told = is;
  }
  [[nodiscard]] SchedState state(bool may_send) const {
    if (queued_ == 0) return outstanding_ == 0 ? SchedState::kIdle : SchedState::kPending;
    return may_send ? SchedState::kReady : SchedState::kActive;
  }
  /// RESCHED: to be called after each event, with the send test's answer.
  SchedState resched(bool may_send, Time now) {
    const SchedState is = state(may_send);
    if (is == state_) return is;
    if (since_ != Time{}) spent_[static_cast<std::size_t>(state_)] += now - since_;
    since_ = now;
    state_ = is;
    ++entered_[static_cast<std::size_t>(is)];
    return is;
  }

  /// Time in that state up to `now`, since the first work came.
  [[nodiscard]] Duration spent(SchedState s, Time now) const {
    const Duration before = spent_[static_cast<std::size_t>(s)];
    return s == state_ && since_ != Time{} ? before + (now - since_) : before;
  }
  [[nodiscard]] std::uint64_t entered(SchedState s) const { return entered_[static_cast<std::size_t>(s)]; }

 private:
  std::int32_t queued_ = 0;  // QPs
  std::int32_t outstanding_ = 0;
  SchedState state_ = SchedState::kIdle;
  Time since_;
  std::array<Duration, kSchedStates> spent_{};
  std::array<std::uint64_t, kSchedStates> entered_{};
};

}  // namespace mrc::cc
