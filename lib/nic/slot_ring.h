// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mrc::nic {

/// A FIFO of slots, each at most once: ready QPs. Capacity is the number of slots.
class SlotRing {
 public:
  SlotRing() : SlotRing(0) {}
  explicit SlotRing(std::size_t slots) : ring_(slots + 1) {}
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] std::size_t size() const { return count_; }
  void push(std::uint32_t slot) {
    std::size_t at = head_ + count_++;
    if (at >= ring_.size()) at -= ring_.size();
    ring_[at] = slot;
  }
  std::uint32_t pop() {
    const std::uint32_t slot = ring_[head_];
    if (++head_ == ring_.size()) head_ = 0;
    --count_;
    return slot;
  }
  [[nodiscard]] std::uint32_t front() const { return ring_[head_]; }
  void erase(std::uint32_t slot) {
    for (std::size_t n = count_; n > 0; --n) {
      const std::uint32_t s = pop();
      if (s != slot) push(s);
    }
  }

 private:
  std::vector<std::uint32_t> ring_;
  std::size_t head_ = 0;
  std::size_t count_ = 0;
};

}  // namespace mrc::nic
