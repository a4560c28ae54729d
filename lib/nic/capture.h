// SPDX-License-Identifier: BSD-3-Clause
// What a worker hands to whoever writes capture files: the first bytes of frames, over an SPSC ring. Off, it
// costs a branch a burst.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/spsc_ring.h"
#include "base/time.h"
#include "wire/drop_reason.h"

namespace mrc::nic {

inline constexpr std::size_t kCaptureSlotBytes = 512;  ///< upper limit of capture_snap_bytes

/// One frame: when, where, which way, what became of it, and its first bytes.
struct CaptureRecord {
  Time at;
  std::uint32_t frame_bytes = 0;
  std::uint16_t captured_bytes = 0;
  std::uint8_t plane = 0;
  bool outbound = false;
  wire::DropReason drop = wire::DropReason::kNone;
  std::array<std::uint8_t, kCaptureSlotBytes> bytes;
};

/// Ring from one worker to one reader thread. A full ring loses frames, counted by the worker; the path never
/// waits.
class CaptureRing {
 public:
  CaptureRing(std::size_t frames, std::uint32_t snap_bytes) : ring_(frames), snap_bytes_(snap_bytes) {}

  /// Reader: up to out.size() frames, oldest first.
  std::size_t poll(std::span<CaptureRecord> out) { return ring_.pop(out); }

  /// Worker: false when the ring was full.
  bool put(Time at, std::uint8_t plane, bool outbound, wire::DropReason drop,
           std::span<const std::uint8_t> first, std::uint32_t frame_bytes) {
    CaptureRecord& r = scratch_;
    r.at = at;
    r.frame_bytes = frame_bytes;
    r.captured_bytes = static_cast<std::uint16_t>(std::min<std::size_t>(first.size(), snap_bytes_));
    r.plane = plane;
    r.outbound = outbound;
    r.drop = drop;
    std::memcpy(r.bytes.data(), first.data(), r.captured_bytes);
    return ring_.push(r);
  }

 private:
  SpscRing<CaptureRecord> ring_;
  const std::uint32_t snap_bytes_;
  CaptureRecord scratch_;
};

}  // namespace mrc::nic
