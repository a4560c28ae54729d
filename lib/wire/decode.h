// SPDX-License-Identifier: BSD-3-Clause
// From a decoded frame to the view of its opcode. `first` is the contiguous segment that decode_frame got;
// all headers must lie in it, payload need not. Each returns kNone, kLength (the length does not fit the
// opcode) or kHeaderSplit. The caller has told the opcode by FrameView::bth.opcode. No state: any thread.
#pragma once

#include <cstdint>
#include <span>

#include "wire/frame.h"
#include "wire/headers.h"
#include "wire/types.h"

namespace mrc::wire {

/// Bytes from the BTH to the payload of a Write: BTH, METH, [TSETH], RETH, [ImmDt] (1.1).
constexpr std::uint32_t write_header_bytes(Opcode op, bool ts) {
  return static_cast<std::uint32_t>(sizeof(Bth) + sizeof(Meth) + sizeof(Reth) + (ts ? sizeof(Tseth) : 0) +
                                    (has_immediate(op) ? sizeof(Immdt) : 0));
}

/// C6..CB. The payload starts at frame.bth_offset + write_header_bytes(op, ts). A PadCount larger than what
/// is there is taken as 0 (C3: the true length follows from dmalen and position).
DropReason decode_write(std::span<const std::uint8_t> first, const FrameView& frame, WriteView& out);
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
