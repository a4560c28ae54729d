// SPDX-License-Identifier: BSD-3-Clause
// What a worker has encoded for one port and the port has not taken yet: one burst of data and, counted
// apart, a reserved share for control packets. A short tx_burst is back-pressure; nothing is encoded twice,
// nothing is lost.
#pragma once

#include <array>
#include <bit>
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
  /// Places for packets of other workers, whatever they carry: they share the data burst.
  [[nodiscard]] std::size_t forward_room() const { return kBurst - (count_ - control_count_); }
  /// However much data waits: a port that is slow is where SACKs matter most.
  [[nodiscard]] std::size_t control_room() const { return kControlShare - control_count_; }
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] bool empty() const { return count_ == 0; }

  enum class Kind : std::uint8_t { kData, kControl };
  /// False: the share of its kind is used up, which is a mistake of the caller; the mbuf stays the caller's.
  [[nodiscard]] bool push(rte_mbuf* m, std::uint16_t frame_bytes, Kind kind) {
    if ((kind == Kind::kData ? forward_room() : control_room()) == 0) return false;
    const std::uint64_t control = kind == Kind::kControl ? 1 : 0;
    control_ |= control << count_;
    control_count_ += control;
    bytes_[count_] = frame_bytes;
    slots_[count_++] = m;
    return true;
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
    control_ = n < kCapacity ? control_ >> n : 0;
    control_count_ = static_cast<std::size_t>(std::popcount(control_));
  }

 private:
  std::array<rte_mbuf*, kCapacity> slots_{};
  std::array<std::uint16_t, kCapacity> bytes_{};
  std::size_t count_ = 0;
  std::size_t control_count_ = 0;
  std::uint64_t control_ = 0;  ///< bit i: slot i holds a control packet
  static_assert(kCapacity <= 64);
};

}  // namespace mrc::nic
