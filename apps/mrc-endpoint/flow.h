// SPDX-License-Identifier: BSD-3-Clause
// One direction of one QP during one phase: which message may be posted next, which may be checked, whose
// slot is free. Message m lives in slot m % slots of the source and of the target. No NIC, no clock, no
// socket: the session moves the bytes, these two classes keep the books.
//
//   sender   posted ──► completed ──(control connection, or WriteIMM)──► receiver checks, poisons ──►
//   released ──► sender
#pragma once

#include <cstdint>
#include <string>

#include "pattern.h"

namespace mrc::endpoint {

struct FlowPlan {
  PatternKey key;  ///< message is set per message
  std::uint64_t size_bytes = 0;
  std::uint64_t stride_bytes = 0;  ///< of a slot, a multiple of 64
  std::uint32_t slots = 1;
  std::uint32_t depth = 1;
  std::uint64_t iterations = 0;  ///< 0: until stop()
  bool verify = true;
};

/// Sender's books.
class SendFlow {
 public:
  SendFlow() = default;
  explicit SendFlow(const FlowPlan& plan) : plan_(plan) {}

  [[nodiscard]] bool may_post() const {
    return !stopped_ && (plan_.iterations == 0 || posted_ < plan_.iterations) &&
           posted_ - completed_ < plan_.depth && posted_ - released_ < plan_.slots;
  }
  /// Is it only the receiver's slots that hold us back?
  [[nodiscard]] bool waits_for_release() const {
    return !stopped_ && posted_ - completed_ < plan_.depth && posted_ - released_ >= plan_.slots &&
           (plan_.iterations == 0 || posted_ < plan_.iterations);
  }
  /// Counts a post; returns its number.
  std::uint64_t post() { return posted_++; }
  /// Takes a post back that the transport refused.
  void unpost() { --posted_; }
  void on_completed() { ++completed_; }
  /// The peer's count. Refused (false) when it runs backwards or ahead of what was sent.
  bool on_released(std::uint64_t total) {
    if (total < released_ || total > posted_) return false;
    released_ = total;
    return true;
  }
  void stop() { stopped_ = true; }

  [[nodiscard]] bool done() const {
    return completed_ == posted_ && (stopped_ || (plan_.iterations != 0 && posted_ == plan_.iterations));
  }
  [[nodiscard]] std::uint64_t posted() const { return posted_; }
  [[nodiscard]] std::uint64_t completed() const { return completed_; }
  [[nodiscard]] std::uint64_t released() const { return released_; }
  [[nodiscard]] std::uint64_t slot_offset(std::uint64_t message) const {
    return (message % plan_.slots) * plan_.stride_bytes;
  }
  [[nodiscard]] const FlowPlan& plan() const { return plan_; }

 private:
  FlowPlan plan_;
  std::uint64_t posted_ = 0;
  std::uint64_t completed_ = 0;
  std::uint64_t released_ = 0;
  bool stopped_ = false;
};

/// Receiver's books and the check itself.
class ReceiveFlow {
 public:
  ReceiveFlow() = default;
  /// `target`: slots x stride bytes.
  ReceiveFlow(const FlowPlan& plan, unsigned char* target) : plan_(plan), target_(target) {}

  /// Poisons slots for their first messages, at most about `budget_bytes` of them; returns the bytes done.
  /// All of it before the sender is told to begin.
  std::uint64_t prepare_some(std::uint64_t budget_bytes);
  [[nodiscard]] bool prepared() const { return !plan_.verify || prepared_slots_ == plan_.slots; }
  /// Messages [0, total) have arrived in full: Transport ACKs of the peer, or WriteIMM delivered. Refused
  /// (false) when it runs backwards or claims more messages than there are slots free.
  bool announce(std::uint64_t total);
  /// Checks and poisons at most `budget_bytes` more; returns the bytes done. A chunk is poisoned for the next
  /// message of its slot as soon as it was checked, while the cache has it.
  std::uint64_t check_some(std::uint64_t budget_bytes);

  [[nodiscard]] bool idle() const { return released_ == announced_; }
  [[nodiscard]] std::uint64_t announced() const { return announced_; }
  [[nodiscard]] std::uint64_t released() const { return released_; }
  [[nodiscard]] std::uint64_t bytes_checked() const { return bytes_checked_; }
  [[nodiscard]] std::uint64_t bad() const { return bad_; }
  [[nodiscard]] const std::string& first_bad() const { return first_bad_; }
  [[nodiscard]] const FlowPlan& plan() const { return plan_; }

 private:
  void check_chunk(std::uint64_t offset, std::uint64_t n);

  FlowPlan plan_;
  unsigned char* target_ = nullptr;
  std::uint64_t announced_ = 0;
  std::uint64_t released_ = 0;
  std::uint64_t offset_ = 0;  ///< within message released_
  std::uint32_t prepared_slots_ = 0;
  std::uint64_t prepared_offset_ = 0;  ///< within slot prepared_slots_
  bool message_bad_ = false;
  std::uint64_t bytes_checked_ = 0;
  std::uint64_t bad_ = 0;
  std::string first_bad_;
};

}  // namespace mrc::endpoint
