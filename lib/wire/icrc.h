// SPDX-License-Identifier: BSD-3-Clause
// The invariant CRC (section 1.13): CRC-32 over eight bytes of ones, the masked (inner) IP and UDP headers,
// BTH and everything up to the padding; least significant byte first. Computed with ISA-L, chained over
// pieces, so that a payload can be read where it lies.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>

#include "wire/crc32.h"
#include "wire/frame.h"
#include "wire/header_template.h"
#include "wire/headers.h"
#include "wire/sizes.h"

namespace mrc::wire {

/// What may change on the way counts as ones (1.13): IPv4's TOS, TTL and checksum, IPv6's first word less the
/// version and its hop limit, UDP's checksum, BTH byte 4. `ip` starts at the (inner) IP header.
constexpr void mask_variant(std::uint8_t* ip, bool ipv6, std::uint32_t udp_offset) {
  if (ipv6) {
    ip[0] |= 0x0F;
    ip[1] = ip[2] = ip[3] = 0xFF;
    ip[7] = 0xFF;
  } else {
    ip[1] = 0xFF;
    ip[8] = 0xFF;
    ip[10] = ip[11] = 0xFF;
  }
  std::uint8_t* udp = ip + udp_offset;
  udp[6] = udp[7] = 0xFF;
  udp[sizeof(UdpHeader) + offsetof(Bth, variant)] = 0xFF;
}

/// The same, for a packet without IP options, as bytes to OR with.
struct IcrcMask {
  std::uint8_t bytes[kMaxShortBytes]{};
  explicit constexpr IcrcMask(bool ipv6) {
    mask_variant(bytes, ipv6, ipv6 ? sizeof(Ipv6Header) : sizeof(Ipv4Header));
  }
};
inline constexpr IcrcMask kIcrcMaskIpv4{false};
inline constexpr IcrcMask kIcrcMaskIpv6{true};

/// The beginning of a packet without IP options, from its (inner) IP header on: at least through the BTH, at
/// most kMaxShortBytes.
using IcrcPiece = MaskedPiece;
/// All that is masked lies in front of this, whatever the IP version.
inline constexpr std::uint32_t kIcrcBegunBytes = 64;
static_assert(kIcrcBegunBytes >= sizeof(Ipv6Header) + sizeof(UdpHeader) + offsetof(Bth, dqp));

inline IcrcPiece icrc_piece(const std::uint8_t* ip, bool ipv6, std::uint32_t bytes) {
  return {ip, (ipv6 ? kIcrcMaskIpv6 : kIcrcMaskIpv4).bytes, bytes};
}
/// After encode_*, which wrote `header_bytes` in front of `payload`: headers and `more_bytes` behind them.
inline IcrcPiece icrc_piece(const HeaderTemplate& path, const std::uint8_t* payload,
                            std::uint32_t header_bytes, std::uint32_t more_bytes) {
  const std::uint32_t inner_bytes = header_bytes - path.prefix_bytes() + path.inner_bytes();
  return icrc_piece(payload - inner_bytes, path.ipv6(), inner_bytes + more_bytes);
}
/// CRCs of the beginnings of a burst, which overlap. Feed what follows to icrc_extend.
void icrc_begin(std::span<const IcrcPiece> pieces, std::uint32_t* crc);
/// CRC of `bytes` appended.
std::uint32_t icrc_extend(std::uint32_t crc, std::span<const std::uint8_t> bytes);
/// All of it, for one packet of any length, with or without IP options: `udp_offset` and `bytes` count from
/// `ip`.
std::uint32_t icrc_of(const std::uint8_t* ip, bool ipv6, std::uint32_t udp_offset, std::uint32_t bytes);
/// Four bytes on the wire, in the order of a little-endian host (checked in big_endian.h).
inline void icrc_store(std::uint8_t* p, std::uint32_t crc) {
  std::memcpy(p, &crc, kIcrcBytes);
}
inline std::uint32_t icrc_load(const std::uint8_t* p) {
  std::uint32_t v;
  std::memcpy(&v, p, kIcrcBytes);
  return v;
}

// ---- Sending: after encode_*, which returned `header_bytes` in front of `payload`

/// Zeros behind a payload (1.12), which the ICRC covers. Returns how many.
inline std::uint32_t pad(std::uint8_t* payload, std::uint32_t payload_bytes) {
  const std::uint32_t n = pad_bytes(payload_bytes);
  for (std::uint32_t i = 0; i < n; ++i) payload[payload_bytes + i] = 0;
  return n;
}
/// Pad and ICRC of a payload in place; payload_bytes 0 for control packets. Returns the trailer's length.
std::uint32_t seal(const HeaderTemplate& path, std::uint8_t* payload, std::uint32_t header_bytes,
                   std::uint32_t payload_bytes);

// ---- Receiving: after decode_frame returned kNone and frame.has_icrc

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
