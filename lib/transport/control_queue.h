// SPDX-License-Identifier: BSD-3-Clause
// Control packets that must not be merged: a SACK per CE mark and per probe, a NACK per packet (3.5, 3.7).
#pragma once

#include <array>
#include <cstdint>

#include "base/serial.h"
#include "wire/types.h"

namespace mrc::transport {

/// What made the responder speak: everything a SACK or NACK reflects.
struct ControlTrigger {
  enum class Kind : std::uint8_t { kSack, kProbe, kNack };
  std::uint32_t entropy = 0;
  Psn psn;
  Tick tx_timestamp;
  std::uint16_t probe_id = 0;
  Kind kind = Kind::kSack;
  std::uint8_t port = 0;
  wire::NackReason reason{};
  bool rtx = false;
  bool ce = false;
};
static_assert(sizeof(ControlTrigger) <= 20);

/// Bounded FIFO; what does not fit is for the caller to count.
class ControlQueue {
 public:
  static constexpr std::size_t kCapacity = 128;  ///< a burst of 32 on each of four planes between two drains

  [[nodiscard]] bool push(const ControlTrigger& trigger) {
    if (tail_ - head_ == kCapacity) return false;
    ring_[tail_++ % kCapacity] = trigger;
    return true;
  }
  [[nodiscard]] bool empty() const { return head_ == tail_; }
  [[nodiscard]] std::size_t size() const { return tail_ - head_; }
  [[nodiscard]] const ControlTrigger& front() const { return ring_[head_ % kCapacity]; }
  void pop() { ++head_; }
  /// The first becomes the last.
  void put_off() {
    const ControlTrigger first = front();
    pop();
    static_cast<void>(push(first));
  }
  void clear() { head_ = tail_; }

 private:
  std::array<ControlTrigger, kCapacity> ring_{};
  std::uint32_t head_ = 0;
  std::uint32_t tail_ = 0;
};

}  // namespace mrc::transport
