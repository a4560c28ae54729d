// SPDX-License-Identifier: BSD-3-Clause
// Schedule states of a congestion controller (MRC Figure 4, with the names of UET, C24) and the counts that
// drive them.
#pragma once

#include <cassert>
#include <cstdint>

namespace mrc::cc {

enum class SchedState : std::uint8_t {
  kIdle,     ///< nothing to send, nothing outstanding
  kActive,   ///< work queued, the window forbids
  kReady,    ///< work queued, the window permits
  kPending,  ///< all sent, acknowledgements outstanding
};

/// Work of one controller over all its QPs. Counts are the owner's events; ask `resched` after each of them
/// with the send test's answer. Value type, one owner.
class Schedule {
 public:
  void new_data(std::int64_t bytes) { backlog_bytes_ += bytes; }
  void sent(std::int64_t bytes, bool rtx) {
    (rtx ? rtx_backlog_bytes_ : backlog_bytes_) -= bytes;
    rtx_pkts_ -= rtx ? 1 : 0;
    ++outstanding_pkts_;
    assert(backlog_bytes_ >= 0 && rtx_backlog_bytes_ >= 0 && rtx_pkts_ >= 0);
  }
  /// Given up (NACK, inferred loss, timeout): waits for its retransmission.
  void given_up(std::int64_t bytes) {
    --outstanding_pkts_;
    ++rtx_pkts_;
    rtx_backlog_bytes_ += bytes;
  }
  /// Known received while outstanding.
  void received(std::int64_t pkts) { outstanding_pkts_ -= pkts; }
  /// Known received while it waited for its retransmission: that is cancelled.
  void received_given_up(std::int64_t bytes) {
    --rtx_pkts_;
    rtx_backlog_bytes_ -= bytes;
  }

  SchedState resched(bool may_send) {
    if (backlog_bytes_ == 0 && rtx_pkts_ == 0)
      state_ = outstanding_pkts_ == 0 ? SchedState::kIdle : SchedState::kPending;
    else
      state_ = may_send ? SchedState::kReady : SchedState::kActive;
    return state_;
  }
  [[nodiscard]] SchedState state() const { return state_; }
  [[nodiscard]] std::int64_t outstanding_pkts() const { return outstanding_pkts_; }

 private:
  SchedState state_ = SchedState::kIdle;
  std::int64_t backlog_bytes_ = 0;
  std::int64_t rtx_backlog_bytes_ = 0;
  std::int64_t rtx_pkts_ = 0;
  std::int64_t outstanding_pkts_ = 0;
};

}  // namespace mrc::cc
