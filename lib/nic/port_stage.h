// SPDX-License-Identifier: BSD-3-Clause
// What a worker has encoded for one port and the port has not taken yet: one burst of data and a reserved
// share for control packets. A short tx_burst is back-pressure; nothing is encoded twice, nothing is lost.
#pragma once

#include <array>
#include <cassert>
#include <cstdint>
#include <span>

#include "nic/config.h"

struct rte_mbuf;

namespace mrc::nic {

/// FIFO of at most one data burst plus the control share. Control packets are staged before the data of the
/// same iteration. One owner thread; holds mbufs, does not allocate or free them.
class PortStage {
 public:
  static constexpr std::size_t kControlShare = 32;
  static constexpr std::size_t kCapacity = kBurst + kControlShare;

  /// Data descriptors free: a whole burst when everything staged has left, else none ("free" = empty).
  /// Asked once an iteration, before anything is staged.
  [[nodiscard]] std::size_t data_room() const { return count_ == 0 ? kBurst : 0; }
  [[nodiscard]] std::size_t control_room() const {
    return count_ < kControlShare ? kControlShare - count_ : 0;
  }
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] bool empty() const { return count_ == 0; }

  void push(rte_mbuf* m, std::uint16_t frame_bytes) {
    assert(count_ < kCapacity);
    bytes_[count_] = frame_bytes;
    slots_[count_++] = m;
  }
  /// Frame bytes of the first `n`; the mbufs themselves may be gone by now.
  [[nodiscard]] std::uint64_t bytes_of_first(std::size_t n) const {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += bytes_[i];
    return sum;
  }
  [[nodiscard]] std::span<rte_mbuf*> staged() { return {slots_.data(), count_}; }
  /// The port took the first `n`.
  void taken(std::size_t n) {
    assert(n <= count_);
    if (n < count_ && n > 0) {
      for (std::size_t i = n; i < count_; ++i) {
        slots_[i - n] = slots_[i];
        bytes_[i - n] = bytes_[i];
      }
    }
    count_ -= n;
  }

 private:
  std::array<rte_mbuf*, kCapacity> slots_{};
  std::array<std::uint16_t, kCapacity> bytes_{};
  std::size_t count_ = 0;
};

}  // namespace mrc::nic
