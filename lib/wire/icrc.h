// SPDX-License-Identifier: BSD-3-Clause
// The invariant CRC (section 1.13): CRC-32 over eight bytes of ones, the masked (inner) IP and UDP headers,
// BTH and everything up to the padding; least significant byte first. Computed with ISA-L, chained over
// pieces, so that a payload can be read where it lies.
#pragma once

#include <cstdint>
#include <span>

#include "wire/frame.h"
#include "wire/header_template.h"

namespace mrc::wire {

/// CRC over the masked headers: `ip` is the (inner) IP header, `udp_offset` and `bytes` count from it.
/// `bytes` reaches at least to the end of the BTH; more is read where it lies. Feed what follows to
/// icrc_extend.
std::uint32_t icrc_begin(const std::uint8_t* ip, bool ipv6, std::uint32_t udp_offset, std::uint32_t bytes);
/// CRC of `bytes` appended.
std::uint32_t icrc_extend(std::uint32_t crc, std::span<const std::uint8_t> bytes);
/// Four bytes on the wire.
void icrc_store(std::uint8_t* p, std::uint32_t crc);
std::uint32_t icrc_load(const std::uint8_t* p);

// ---- Sending: after encode_*, which returned `header_bytes` in front of `payload`
// -----------------------------

/// CRC through the last header byte. The payload may then be CRCed at its source, before it is copied.
std::uint32_t icrc_of_headers(const HeaderTemplate& path, const std::uint8_t* payload,
                              std::uint32_t header_bytes);
/// Pads `payload` with zeros and writes the ICRC for a CRC that covers headers and payload. Returns pad + 4.
std::uint32_t seal_with(std::uint32_t crc, std::uint8_t* payload, std::uint32_t payload_bytes);
/// All of it over a payload in place; payload_bytes 0 for control packets. Returns the trailer's length.
std::uint32_t seal(const HeaderTemplate& path, std::uint8_t* payload, std::uint32_t header_bytes,
                   std::uint32_t payload_bytes);

// ---- Receiving: after decode_frame returned kNone and frame.has_icrc
// -------------------------------------------

struct IcrcCheck {
  std::uint32_t got = 0;   ///< in the packet
  std::uint32_t want = 0;  ///< computed
  [[nodiscard]] bool ok() const { return got == want; }
};
/// `packet` is what decode_frame got, whole.
IcrcCheck check_icrc(std::span<const std::uint8_t> packet, const FrameView& frame);
/// The same over a chain of buffers; the first one holds the headers up to the BTH (decode_frame has checked
/// that). The ICRC itself may straddle buffers. A chain shorter than frame.body_end + 4 never checks out.
IcrcCheck check_icrc(std::span<const std::span<const std::uint8_t>> segments, const FrameView& frame);

/// For people: the bytes that the CRC runs over, ones in front included, masked. Returns how many were
/// written to `out`, 0 when it is too small.
std::size_t masked_bytes(std::span<const std::uint8_t> packet, const FrameView& frame,
                         std::span<std::uint8_t> out);

}  // namespace mrc::wire
