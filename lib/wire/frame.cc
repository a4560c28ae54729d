// SPDX-License-Identifier: BSD-3-Clause
#include "wire/frame.h"

#include "wire/headers.h"

namespace mrc::wire {
namespace {

/// The packet, a reading position, and the end that the lengths seen so far leave.
struct Cursor {
  const std::uint8_t* bytes;
  std::uint32_t contiguous;  ///< readable bytes
  std::uint32_t end;         ///< end of the packet as known so far; narrowed by IP and UDP lengths
  std::uint32_t readable;    ///< the smaller of the two
  std::uint32_t at;

  [[nodiscard]] const std::uint8_t* here() const { return bytes + at; }
  [[nodiscard]] bool has(std::uint32_t n) const { return at + n <= readable; }
  void narrow(std::uint32_t to) {
    end = to;
    readable = to < contiguous ? to : contiguous;
  }
  /// Why has(n) is false.
  [[nodiscard]] DropReason lack(std::uint32_t n) const {
    return at + n <= end ? DropReason::kHeaderSplit : DropReason::kTooShort;
  }
};

DropReason fail(FrameView& out, DropReason reason, std::uint32_t at) {
  out.error_offset = at;
  return reason;
}
DropReason fail_short(FrameView& out, const Cursor& c, std::uint32_t n) {
  return fail(out, c.lack(n), c.contiguous < c.end ? c.contiguous : c.end);
}

/// Narrows c.end to `ip_end`. A trimmed packet may carry the length it had before the cut.
bool take_length(Cursor& c, const FrameView& out, std::uint32_t ip_end) {
  if (ip_end <= c.end) {
    c.narrow(ip_end);
    return true;
  }
  return out.trim != Trim::kNone;
}

std::uint64_t load_native32(const std::uint8_t* p) {
  std::uint32_t w;
  std::memcpy(&w, p, sizeof w);
  return w;
}
bool ipv4_checksum_ok(const std::uint8_t* p, std::uint32_t header_bytes) {
  std::uint64_t sum = load_native32(p) + load_native32(p + 4) + load_native32(p + 8) + load_native32(p + 12) +
                      load_native32(p + 16);
  static_assert(sizeof(Ipv4Header) == 5 * 4);
  for (std::uint32_t i = sizeof(Ipv4Header); i < header_bytes; i += 4)
    sum += load_native32(p + i);  // options
  sum = (sum & 0xFFFFFFFF) + (sum >> 32);
  sum = (sum & 0xFFFF) + (sum >> 16);
  sum = (sum & 0xFFFF) + (sum >> 16);
  return sum == 0xFFFF;
}

// Bytes are loaded before the view is written: to a compiler the view might lie among them.
DropReason decode_ipv4(Cursor& c, const DecodeOptions& options, FrameView& out) {
  if (!c.has(sizeof(Ipv4Header))) return fail_short(out, c, sizeof(Ipv4Header));
  const std::uint8_t* p = c.here();
  const std::uint8_t version_ihl = p[0];
  const std::uint8_t tos = p[1];
  const std::uint32_t total_bytes = load_be16(p + 2);
  const std::uint32_t fragment = load_be16(p + 6) & 0x3FFFU;
  const std::uint8_t protocol = p[9];
  const std::uint32_t header_bytes = (version_ihl & 0x0FU) * 4;
  if (version_ihl >> 4 != 4 || header_bytes < sizeof(Ipv4Header)) {
    return fail(out, DropReason::kIpVersion, c.at);
  }
  if (!c.has(header_bytes)) return fail_short(out, c, header_bytes);
  const bool checksum_ok = !options.verify_ip_checksum || ipv4_checksum_ok(p, header_bytes);
  out.tos = out.inner_tos = tos;
  out.trim = options.dscp.trim_of_tos(tos);
  if (total_bytes < header_bytes || !take_length(c, out, c.at + total_bytes)) {
    return fail(out, DropReason::kIpLength, c.at + 2);
  }
  if (fragment != 0) return fail(out, DropReason::kFragment, c.at + 6);
  if (protocol != kProtoUdp) return fail(out, DropReason::kNotUdp, c.at + 9);
  if (!checksum_ok) return fail(out, DropReason::kIpChecksum, c.at + 10);
  out.ip_offset = static_cast<std::uint16_t>(c.at);
  c.at += header_bytes;
  return DropReason::kNone;
}

/// One IPv6 header; leaves the cursor behind it.
DropReason decode_ipv6_header(Cursor& c, const DecodeOptions& options, FrameView& out, std::uint8_t& tos,
                              std::uint8_t& next_header) {
  if (!c.has(sizeof(Ipv6Header))) return fail_short(out, c, sizeof(Ipv6Header));
  const std::uint8_t* p = c.here();
  const std::uint32_t word = load_be32(p);
  if (word >> 28 != 6) return fail(out, DropReason::kIpVersion, c.at);
  tos = static_cast<std::uint8_t>(word >> 20);
  if (out.trim == Trim::kNone) out.trim = options.dscp.trim_of_tos(tos);
  out.flow_label = word & 0xFFFFF;
  out.ip_offset = static_cast<std::uint16_t>(c.at);
  if (!take_length(c, out, c.at + 40 + load_be16(p + 4))) return fail(out, DropReason::kIpLength, c.at + 4);
  next_header = p[6];
  c.at += sizeof(Ipv6Header);
  return DropReason::kNone;
}

DropReason not_udp(FrameView& out, std::uint8_t next_header, std::uint32_t at) {
  return fail(out, next_header == kProtoFragment ? DropReason::kFragment : DropReason::kNotUdp, at);
}

/// Behind an outer IPv6 header: an optional SRH, then the inner IPv6 header (5.1, C8).
DropReason decode_encapsulated(Cursor& c, const DecodeOptions& options, FrameView& out,
                               std::uint8_t next_header) {
  if (next_header == kProtoRouting) {
    if (!c.has(8)) return fail_short(out, c, 8);
    const std::uint8_t* p = c.here();
    const std::uint32_t srh_bytes = 8 + p[1] * 8U;
    if (p[2] != kSrhRoutingType) return fail(out, DropReason::kEncapsulation, c.at + 2);
    if (!c.has(srh_bytes)) return fail_short(out, c, srh_bytes);
    if (p[0] != kProtoIpv6) return fail(out, DropReason::kEncapsulation, c.at);
    out.srh_offset = static_cast<std::uint16_t>(c.at);
    c.at += srh_bytes;
  }
  out.encapsulated = true;
  std::uint8_t inner_next = 0;
  // The outer DSCP came first and wins; an inner one that says trimmed was cut before it was wrapped.
  const DropReason r = decode_ipv6_header(c, options, out, out.inner_tos, inner_next);
  if (r != DropReason::kNone) return r;
  if (inner_next == kProtoIpv6 || inner_next == kProtoRouting) {
    return fail(out, DropReason::kEncapsulation, out.ip_offset + 6U);
  }
  if (inner_next != kProtoUdp) return not_udp(out, inner_next, out.ip_offset + 6U);
  return DropReason::kNone;
}

DropReason decode_ipv6(Cursor& c, const DecodeOptions& options, FrameView& out) {
  out.ipv6 = true;
  std::uint8_t next_header = 0;
  DropReason r = decode_ipv6_header(c, options, out, out.tos, next_header);
  if (r != DropReason::kNone) return r;
  out.inner_tos = out.tos;
  if (next_header == kProtoUdp) return DropReason::kNone;
  if (next_header != kProtoIpv6 && next_header != kProtoRouting) return not_udp(out, next_header, c.at - 34);
  return decode_encapsulated(c, options, out, next_header);
}

/// RFC 6040 4.2: outer CE reaches an inner packet that is ECN capable; a Not-ECT one must not get through.
bool combine_ecn(FrameView& out) {
  const auto inner = static_cast<Ecn>(out.inner_tos & 3);
  const bool outer_ce = static_cast<Ecn>(out.tos & 3) == Ecn::kCe;
  out.ce = outer_ce || inner == Ecn::kCe;
  return !(outer_ce && inner == Ecn::kNotEct);
}

/// BTH at the cursor; `c.end` is the end of the MRC packet without ICRC.
DropReason decode_bth(Cursor& c, const DecodeOptions& options, FrameView& out) {
  if (!c.has(sizeof(Bth))) return fail_short(out, c, sizeof(Bth));
  const std::uint32_t opcode_flags_pkey = load_be32(c.here());
  const std::uint32_t variant_dqp = load_be32(c.here() + offsetof(Bth, variant));
  const std::uint32_t flags_psn = load_be32(c.here() + offsetof(Bth, a_rtx_ts));
  const auto opcode = static_cast<std::uint8_t>(opcode_flags_pkey >> 24);
  const auto flags = static_cast<std::uint8_t>(opcode_flags_pkey >> 16);
  const std::uint32_t pkey = opcode_flags_pkey & 0xFFFF;
  const auto a_rtx_ts = static_cast<std::uint8_t>(flags_psn >> 24);
  out.bth_offset = static_cast<std::uint16_t>(c.at);
  out.body_offset = static_cast<std::uint16_t>(c.at + sizeof(Bth));
  out.body_end = c.end;
  if (!is_opcode(opcode)) return fail(out, DropReason::kOpcode, c.at);
  if ((flags & kBthTverMask) != 0) return fail(out, DropReason::kTver, c.at + 1);
  // IBTA: same partition, and at least one of the two a full member.
  if (options.check_pkey &&
      (((pkey ^ options.pkey) & 0x7FFF) != 0 || ((pkey | options.pkey) & 0x8000) == 0)) {
    return fail(out, DropReason::kPkey, c.at + 2);
  }
  out.pad = (flags >> kBthPadShift) & 3;
  out.dqp = variant_dqp & kQpnMask;
  out.bth.opcode = static_cast<Opcode>(opcode);
  out.bth.se = (flags & kBthSe) != 0;
  out.bth.a = (a_rtx_ts & kBthA) != 0;
  out.bth.rtx = (a_rtx_ts & kBthRtx) != 0;
  out.bth.ts = (a_rtx_ts & kBthTs) != 0;
  out.bth.psn = Psn{flags_psn};
  return DropReason::kNone;
}

DropReason decode_udp(Cursor& c, const DecodeOptions& options, FrameView& out) {
  if (!c.has(sizeof(UdpHeader))) return fail_short(out, c, sizeof(UdpHeader));
  const std::uint16_t sport = load_be16(c.here());
  const std::uint16_t dport = load_be16(c.here() + 2);
  const std::uint16_t length = load_be16(c.here() + 4);
  out.udp_offset = static_cast<std::uint16_t>(c.at);
  out.udp_sport = sport;
  out.udp_dport = dport;
  out.udp_length = length;
  out.entropy = entropy_of(options.order, out.udp_sport, out.flow_label);
  if (out.udp_dport != options.udp_ports[0] && out.udp_dport != options.udp_ports[1]) {
    return fail(out, DropReason::kUdpPort, c.at + 2);
  }
  const std::uint32_t udp_end = c.at + out.udp_length;
  if (out.trim == Trim::kNone) {
    // Untrimmed: IP and UDP agree, and there is room for BTH and ICRC.
    if (udp_end != c.end || out.udp_length < sizeof(UdpHeader) + sizeof(Bth) + kIcrcBytes) {
      return fail(out, DropReason::kUdpLength, c.at + 4);
    }
    c.narrow(c.end - kIcrcBytes);
    out.has_icrc = true;
  } else if (udp_end < c.end) {
    c.narrow(udp_end);
  }
  c.at += sizeof(UdpHeader);
  return decode_bth(c, options, out);
}

DropReason decode_l3(Cursor& c, const DecodeOptions& options, FrameView& out, bool ipv6) {
  out.l3_offset = static_cast<std::uint16_t>(c.at);
  const DropReason r = ipv6 ? decode_ipv6(c, options, out) : decode_ipv4(c, options, out);
  if (r != DropReason::kNone) return r;
  if (!combine_ecn(out)) return fail(out, DropReason::kEcnInvalid, out.ip_offset);
  return decode_udp(c, options, out);
}

Cursor cursor_of(std::span<const std::uint8_t> first, std::uint32_t bytes) {
  const auto contiguous = static_cast<std::uint32_t>(first.size());
  return {first.data(), contiguous, bytes < contiguous ? contiguous : bytes, contiguous, 0};
}

}  // namespace

DropReason decode_frame(std::span<const std::uint8_t> first, std::uint32_t frame_bytes,
                        const DecodeOptions& options, FrameView& out) {
  out = FrameView{};
  Cursor c = cursor_of(first, frame_bytes);
  if (!c.has(sizeof(EthernetHeader))) return fail_short(out, c, sizeof(EthernetHeader));
  std::uint32_t ethertype = load_be16(c.bytes + 12);
  c.at = sizeof(EthernetHeader);
  while (is_vlan(ethertype)) {
    if (out.vlan_tags == 2) return fail(out, DropReason::kVlanDepth, c.at - 2);
    if (!c.has(sizeof(VlanTag))) return fail_short(out, c, sizeof(VlanTag));
    ethertype = load_be16(c.here() + 2);
    c.at += sizeof(VlanTag);
    ++out.vlan_tags;
  }
  if (ethertype != kEthertypeIpv4 && ethertype != kEthertypeIpv6) {
    return fail(out, DropReason::kEthertype, c.at - 2);
  }
  return decode_l3(c, options, out, ethertype == kEthertypeIpv6);
}

DropReason decode_packet(std::span<const std::uint8_t> first, std::uint32_t packet_bytes,
                         const DecodeOptions& options, FrameView& out) {
  out = FrameView{};
  Cursor c = cursor_of(first, packet_bytes);
  if (!c.has(1)) return fail_short(out, c, 1);
  return decode_l3(c, options, out, first[0] >> 4 == 6);
}

DropReason decode_from_bth(std::span<const std::uint8_t> bytes, const DecodeOptions& options,
                           FrameView& out) {
  out = FrameView{};
  Cursor c = cursor_of(bytes, 0);
  return decode_bth(c, options, out);
}

}  // namespace mrc::wire
