// SPDX-License-Identifier: BSD-3-Clause
// What a worker hands to whoever writes capture files: frames, or their first bytes, over an SPSC ring. Off,
// it costs a branch a burst.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

#include "base/spsc_ring.h"
#include "base/time.h"
#include "wire/drop_reason.h"

namespace mrc::nic {

inline constexpr std::size_t kMaxCaptureBytes = 8192;  ///< upper limit of capture_snap_bytes: any frame

/// One frame: when, where, which way, what became of it, and its first bytes. `bytes` are good until the next
/// poll of the ring.
struct CaptureRecord {
  Time at;
  std::span<const std::uint8_t> bytes;
  std::uint32_t frame_bytes = 0;
  std::uint8_t plane = 0;
  bool outbound = false;
  wire::DropReason drop = wire::DropReason::kNone;
};

/// Ring from one worker to one reader thread. A full ring loses frames, counted by the worker; the path never
/// waits.
class CaptureRing {
 public:
  CaptureRing(std::size_t frames, std::uint32_t snap_bytes)
      : ring_(frames),
        snap_bytes_(snap_bytes),
        slots_(ring_.capacity() + kMaxPoll + 1),
        bytes_(std::make_unique_for_overwrite<std::uint8_t[]>(slots_ * snap_bytes)) {}

  /// Reader: frames, oldest first; at most out.size() and kMaxPoll of them.
  std::size_t poll(std::span<CaptureRecord> out) {
    return ring_.pop(out.first(std::min(out.size(), kMaxPoll)));
  }

  /// Worker: false when the ring was full.
  bool put(Time at, std::uint8_t plane, bool outbound, wire::DropReason drop,
           std::span<const std::uint8_t> first, std::uint32_t frame_bytes) {
    // The frames in the ring, and those of the reader's last poll, lie in other slots.
    std::uint8_t* slot = bytes_.get() + next_slot_ * snap_bytes_;
    const std::size_t n = std::min<std::size_t>(first.size(), snap_bytes_);
    std::memcpy(slot, first.data(), n);
    if (!ring_.push({at, {slot, n}, frame_bytes, plane, outbound, drop})) return false;
    next_slot_ = next_slot_ + 1 == slots_ ? 0 : next_slot_ + 1;
    return true;
  }

  static constexpr std::size_t kMaxPoll = 256;

 private:
  SpscRing<CaptureRecord> ring_;
  const std::uint32_t snap_bytes_;
  const std::size_t slots_;
  const std::unique_ptr<std::uint8_t[]> bytes_;
  std::size_t next_slot_ = 0;
};

}  // namespace mrc::nic
