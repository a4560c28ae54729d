// SPDX-License-Identifier: BSD-3-Clause
// From the bytes of a received packet to "a BTH of this opcode for that QP": Ethernet, VLAN, IPv4/IPv6, SRv6,
// UDP, BTH. The headers behind the BTH are decode.h's business, the ICRC is icrc.h's.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "wire/drop_reason.h"
#include "wire/dscp.h"
#include "wire/sizes.h"
#include "wire/types.h"

namespace mrc::wire {

/// What the receiver accepts. Immutable while in use; any thread reads.
struct DecodeOptions {
  DscpMap dscp;
  EntropyOrder order = EntropyOrder::kB;  ///< C7, as our own EVs are placed
  std::array<std::uint16_t, 2> udp_ports = {kUdpPortRoce, kUdpPortPrinted};  ///< C1: both; set equal for one
  std::uint16_t pkey = kDefaultPkey;                                         ///< the partition we are in (C4)
  bool check_pkey = true;
  bool verify_ip_checksum = true;  ///< off when the port has done it
};

/// Where things are in one packet. Offsets count bytes from the first byte given to the decoder.
struct FrameView {
  std::uint16_t l3_offset = 0;   ///< outermost IP header
  std::uint16_t srh_offset = 0;  ///< SRH, 0 when there is none
  std::uint16_t ip_offset = 0;   ///< IP header in front of UDP; == l3_offset without encapsulation
  std::uint16_t udp_offset = 0;
  std::uint16_t bth_offset = 0;
  std::uint16_t body_offset = 0;   ///< first byte behind the BTH
  std::uint32_t body_end = 0;      ///< ICRC is here; trimmed: end of what is left
  std::uint32_t error_offset = 0;  ///< on failure: the byte that was wrong
  std::uint32_t flow_label = 0;    ///< inner, 20 bits
  std::uint32_t entropy = 0;       ///< as the responder reflects it (3.5, C7)
  std::uint32_t dqp = 0;
  std::uint16_t udp_sport = 0;
  std::uint16_t udp_dport = 0;
  std::uint16_t udp_length = 0;  ///< the field; of a trimmed packet possibly the old one
  std::uint8_t tos = 0;          ///< outermost TOS / traffic class
  std::uint8_t inner_tos = 0;    ///< == tos without encapsulation
  std::uint8_t vlan_tags = 0;
  std::uint8_t pad = 0;  ///< BTH.pad
  bool ipv6 = false;     ///< of the header in front of UDP
  bool encapsulated = false;
  bool has_icrc = false;
  bool ce = false;  ///< congestion experienced, outer and inner combined (RFC 6040)
  Trim trim = Trim::kNone;
  BthView bth;

  /// Bytes between BTH and ICRC; trimmed: bytes left behind the BTH.
  [[nodiscard]] std::uint32_t body_bytes() const { return body_end - body_offset; }
  /// MRC 8.3.1 (C25).
  [[nodiscard]] std::uint32_t nominal_bytes() const { return nominal_bytes_of_udp(udp_length); }
};

/// Decodes an Ethernet frame without FCS. `first` is its first contiguous segment, which must hold all
/// headers up to the BTH; `frame_bytes` is the length of the whole frame (>= first.size()). Trimmed packets
/// are told by DSCP before any length is believed (1.14). Returns kNone or the reason to drop with
/// out.error_offset set; never reads outside `first`. No state: any thread.
DropReason decode_frame(std::span<const std::uint8_t> first, std::uint32_t frame_bytes,
                        const DecodeOptions& options, FrameView& out);
inline DropReason decode_frame(std::span<const std::uint8_t> frame, const DecodeOptions& options,
                               FrameView& out) {
  return decode_frame(frame, static_cast<std::uint32_t>(frame.size()), options, out);
}

/// The same for a packet that starts at its outermost IP header.
DropReason decode_packet(std::span<const std::uint8_t> first, std::uint32_t packet_bytes,
                         const DecodeOptions& options, FrameView& out);

/// The same for bytes that start at the BTH and carry no ICRC.
DropReason decode_from_bth(std::span<const std::uint8_t> bytes, const DecodeOptions& options, FrameView& out);

}  // namespace mrc::wire
