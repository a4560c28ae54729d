// SPDX-License-Identifier: BSD-3-Clause
// From a decoded frame to the view of its opcode. `first` is the contiguous segment that decode_frame got;
// all headers must lie in it, payload need not. Each returns kNone, kLength (the length does not fit the
// opcode) or kHeaderSplit. The caller has told the opcode by FrameView::bth.opcode. No state: any thread.
#pragma once

#include <cstdint>
#include <span>

#include "wire/frame.h"
#include "wire/sizes.h"
#include "wire/types.h"

namespace mrc::wire {

/// All `n` bytes behind the BTH readable?
inline DropReason check_body(std::span<const std::uint8_t> first, const FrameView& frame, std::uint32_t n) {
  if (frame.body_bytes() < n) return DropReason::kLength;
  if (frame.body_offset + n > first.size()) return DropReason::kHeaderSplit;
  return DropReason::kNone;
}

/// A timestamp word: TSETH, or that of PETH and ERTH.
struct Timestamp {
  Tick tick;
  bool tsr = false;
  bool valid = false;  ///< C12: an ftype other than 1 means that there is no timestamp
  /// What an answer reflects.
  [[nodiscard]] Tick reflected() const { return valid ? tick : Tick{}; }
};
inline Timestamp decode_timestamp(const std::uint8_t* p) {
  const std::uint32_t w = load_be32(p);
  return {Tick{w >> 16}, (w & kTsr) != 0, (w & kFtypeMask) == kFtypeTimestamp};
}

/// C6..CB. The payload starts at frame.bth_offset + write_header_bytes(op, ts). A PadCount larger than what
/// is there is taken as 0 (C3: the true length follows from dmalen and position). Inline: every packet of
/// data.
inline DropReason decode_write(std::span<const std::uint8_t> first, const FrameView& frame, WriteView& out) {
  const Opcode op = frame.bth.opcode;
  const std::uint32_t n = write_header_bytes(op, frame.bth.ts) - static_cast<std::uint32_t>(sizeof(Bth));
  if (const DropReason r = check_body(first, frame, n); r != DropReason::kNone) return r;
  const std::uint8_t* p = first.data() + frame.body_offset;
  out.bth = frame.bth;
  const std::uint32_t rqmsn_msn = load_be32(p);
  out.rqmsn = Rqmsn{rqmsn_msn >> 16};
  out.msn = Msn{rqmsn_msn};
  p += sizeof(Meth);
  const Timestamp t = frame.bth.ts ? decode_timestamp(p) : Timestamp{};
  out.tx_timestamp = t.reflected();
  out.tsr = t.tsr;
  p += frame.bth.ts ? sizeof(Tseth) : 0;
  out.va = load_be64(p);
  out.rkey = load_be32(p + 8);
  out.dmalen = load_be32(p + 12);
  out.immdt = has_immediate(op) ? load_be32(p + sizeof(Reth)) : 0;
  const std::uint32_t rest = frame.body_bytes() - n;
  out.pad_bytes = frame.pad <= rest ? frame.pad : 0;
  out.payload_bytes = rest - out.pad_bytes;
  out.nominal_bytes = frame.nominal_bytes();
  return DropReason::kNone;
}
/// A packet with frame.trim set: BTH, and the timestamp when the cut left TSETH. kTrimmedOpcode: not a Write.
DropReason decode_trimmed(std::span<const std::uint8_t> first, const FrameView& frame, TrimmedView& out);
DropReason decode_sack(std::span<const std::uint8_t> first, const FrameView& frame, SackView& out);
DropReason decode_nack(std::span<const std::uint8_t> first, const FrameView& frame, NackView& out);
DropReason decode_ack(std::span<const std::uint8_t> first, const FrameView& frame, AckView& out);
DropReason decode_probe(std::span<const std::uint8_t> first, const FrameView& frame, ProbeView& out);
DropReason decode_endpoint_request(std::span<const std::uint8_t> first, const FrameView& frame,
                                   EndpointRequestView& out);
DropReason decode_endpoint_response(std::span<const std::uint8_t> first, const FrameView& frame,
                                    EndpointResponseView& out);

/// Bytes that must stand behind the BTH: at least that many for a Write, exactly that many for all others.
std::uint32_t body_header_bytes(Opcode op, bool ts);

}  // namespace mrc::wire
