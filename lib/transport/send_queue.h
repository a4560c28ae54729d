// SPDX-License-Identifier: BSD-3-Clause
// Posted Write requests in order, from post_send to the polled completion (2.1, D15, D17).
#pragma once

#include <bit>
#include <cassert>
#include <cstdint>
#include <limits>
#include <memory>

#include "transport/seq.h"
#include "transport/types.h"

namespace mrc::transport {

/// One request; `first`, `packets`, `msn`, `rqmsn` are set when its first packet is sent.
struct SendWr {
  WorkRequest wr;
  Seq first = 0;
  std::uint32_t packets = 0;
  std::uint16_t msn = 0;    ///< value of its Msn
  std::uint16_t rqmsn = 0;  ///< value of its Rqmsn

  [[nodiscard]] Seq last() const { return first + packets - 1; }
  [[nodiscard]] bool with_immediate() const { return wr.opcode == WrOpcode::kRdmaWriteWithImm; }
};
static_assert(sizeof(SendWr) == 64, "one cache line a request");

/// A slot is taken from post_send until its completion is polled, so completions need no memory of their own
/// and can not overrun. Four counters cut the ring:
///   polled <= completed <= current <= posted
/// Requests of [completed, current) are sent but not acknowledged; `current` is being sent.
class SendQueue {
 public:
  explicit SendQueue(std::uint32_t max_wr)
      : max_(max_wr), mask_(std::bit_ceil(max_wr) - 1), ring_(std::make_unique<SendWr[]>(mask_ + 1)) {}

  [[nodiscard]] bool full() const { return posted_ - polled_ >= max_; }
  void push(const WorkRequest& wr) {
    assert(!full());
    ring_[posted_++ & mask_].wr = wr;
  }
  [[nodiscard]] bool has_unsent() const { return current_ != posted_; }
  [[nodiscard]] SendWr& current() { return (*this)[current_]; }
  [[nodiscard]] const SendWr& current() const { return (*this)[current_]; }
  void advance_current() { ++current_; }

  [[nodiscard]] SendWr& operator[](std::uint64_t index) { return ring_[index & mask_]; }
  [[nodiscard]] const SendWr& operator[](std::uint64_t index) const { return ring_[index & mask_]; }
  [[nodiscard]] std::uint64_t current_index() const { return current_; }
  [[nodiscard]] std::uint64_t completed_index() const { return completed_; }
  [[nodiscard]] std::uint32_t unacked() const { return static_cast<std::uint32_t>(current_ - completed_); }
  [[nodiscard]] bool idle() const { return completed_ == posted_; }
  [[nodiscard]] std::uint32_t max_wr() const { return max_; }

  /// The request that holds packet `seq`, among [completed, current] that have started. `begun`: current has.
  [[nodiscard]] const SendWr& holding(Seq seq, bool begun) const;

  /// The oldest request is acknowledged (D15).
  void complete_oldest() {
    assert(completed_ < current_);
    ++completed_;
  }
  /// Everything not completed ends: the oldest with `status`, the rest flushed (D17). kWrFlushErr: all
  /// flushed. Later posts flush too.
  void fail(WcStatus status) {
    if (failed_at_ != kNever) return;
    failed_at_ = completed_;
    fail_status_ = status;
    flush_posted();
  }
  void flush_posted() {
    assert(failed_at_ != kNever);
    completed_ = current_ = posted_;
  }

  /// Requests not completed whose source overlaps [begin, begin + bytes): they may be read again.
  [[nodiscard]] std::size_t reading(std::uint64_t begin, std::uint64_t bytes) const;

  /// Takes the next completion, in posting order.
  bool poll(Completion& out);
  void reset();
  [[nodiscard]] std::size_t bytes() const { return (mask_ + std::size_t{1}) * sizeof(SendWr); }

 private:
  static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

  std::uint32_t max_;
  std::uint32_t mask_;
  std::unique_ptr<SendWr[]> ring_;
  std::uint64_t polled_ = 0;
  std::uint64_t completed_ = 0;
  std::uint64_t current_ = 0;
  std::uint64_t posted_ = 0;
  std::uint64_t failed_at_ = kNever;
  WcStatus fail_status_ = WcStatus::kSuccess;
};

}  // namespace mrc::transport
