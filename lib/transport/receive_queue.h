// SPDX-License-Identifier: BSD-3-Clause
// Posted receives in order: a delivered WriteIMM consumes one (3.4).
#pragma once

#include <bit>
#include <cassert>
#include <cstdint>
#include <memory>

#include "transport/types.h"

namespace mrc::transport {

/// polled <= delivered <= posted. As in SendQueue a slot is taken until its completion is polled.
class ReceiveQueue {
 public:
  explicit ReceiveQueue(std::uint32_t max_wr)
      : max_(max_wr),
        mask_(std::bit_ceil(max_wr < 1 ? 1U : max_wr) - 1),
        ring_(std::make_unique<Completion[]>(mask_ + 1)) {}

  [[nodiscard]] bool full() const { return posted_ - polled_ >= max_; }
  void push(const RecvRequest& rr) {
    assert(!full());
    Completion& slot = ring_[posted_++ & mask_];
    slot = Completion{};
    slot.wr_id = rr.wr_id;
    slot.opcode = WcOpcode::kRecvRdmaWithImm;
  }
  [[nodiscard]] bool empty() const { return delivered_ == posted_; }

  /// The oldest receive completes with a WriteIMM's immediate data.
  void deliver(std::uint32_t byte_len, std::uint32_t immdt, bool solicited) {
    assert(!empty());
    Completion& slot = ring_[delivered_++ & mask_];
    slot.byte_len = byte_len;
    slot.immdt = immdt;
    slot.solicited = solicited;
  }
  /// All receives not consumed end flushed (D17).
  void flush() {
    while (!empty()) ring_[delivered_++ & mask_].status = WcStatus::kWrFlushErr;
  }
  bool poll(Completion& out) {
    if (polled_ == delivered_) return false;
    out = ring_[polled_++ & mask_];
    return true;
  }
  void reset() { polled_ = delivered_ = posted_ = 0; }
  [[nodiscard]] std::size_t bytes() const { return (mask_ + std::size_t{1}) * sizeof(Completion); }

 private:
  std::uint32_t max_;
  std::uint32_t mask_;
  std::unique_ptr<Completion[]> ring_;
  std::uint64_t polled_ = 0;
  std::uint64_t delivered_ = 0;
  std::uint64_t posted_ = 0;
};

}  // namespace mrc::transport
