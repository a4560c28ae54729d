// SPDX-License-Identifier: BSD-3-Clause
#include "report/packet_decode.h"

#include <algorithm>
#include <cstdio>

namespace mrc::report {
namespace {

using wire::DropReason;
using wire::Opcode;

const char* what_is_wrong(DropReason r) {
  switch (r) {
    case DropReason::kTooShort:
      return "the packet ends inside a header";
    case DropReason::kHeaderSplit:
      return "the capture's snap length cut a header";
    case DropReason::kEthertype:
      return "Ethertype is neither IPv4 nor IPv6";
    case DropReason::kVlanDepth:
      return "a third VLAN tag";
    case DropReason::kIpVersion:
      return "IP version or header length";
    case DropReason::kIpLength:
      return "IP length does not fit the packet";
    case DropReason::kIpChecksum:
      return "IPv4 header checksum";
    case DropReason::kFragment:
      return "an IP fragment";
    case DropReason::kNotUdp:
      return "next protocol is not UDP";
    case DropReason::kEncapsulation:
      return "not IPv6-in-IPv6, with or without one SRH of type 4";
    case DropReason::kEcnInvalid:
      return "outer header says CE, inner packet is not ECN capable (RFC 6040)";
    case DropReason::kUdpPort:
      return "UDP destination port is not an MRC port";
    case DropReason::kUdpLength:
      return "UDP length does not fit the IP length, or no room for BTH and ICRC";
    case DropReason::kOpcode:
      return "BTH opcode is none of MRC's twelve";
    case DropReason::kTver:
      return "BTH transport version is not 0";
    case DropReason::kPkey:
      return "BTH partition key does not match";
    case DropReason::kTrimmedOpcode:
      return "trimmed by its DSCP, but not a Write";
    default:
      return "malformed";
  }
}

/// Up to four bytes at `at`, as they stand there.
std::string bytes_at(std::span<const std::uint8_t> bytes, std::uint32_t at) {
  std::string out;
  for (std::size_t i = at; i < bytes.size() && i < at + 4U; ++i) {
    char hex[4];
    std::snprintf(hex, sizeof hex, "%s%02x", out.empty() ? "" : " ", bytes[i]);
    out += hex;
  }
  return out.empty() ? "end of packet" : out;
}

void set_error(DecodedPacket& p, DropReason r, std::uint32_t at) {
  p.reason = r;
  p.error_byte = at;
  p.error = std::string(to_name(r)) + ": " + what_is_wrong(r) + " (" + bytes_at(p.bytes, at) + ")";
  switch (r) {
    case DropReason::kEthertype:
    case DropReason::kNotUdp:
    case DropReason::kUdpPort:
      p.verdict = Verdict::kNotMrc;
      break;
    case DropReason::kHeaderSplit:
      p.verdict = Verdict::kIncomplete;
      break;
    default:
      p.verdict = Verdict::kMalformed;
      break;
  }
}

void set_length_error(DecodedPacket& p) {
  const Opcode op = p.frame.bth.opcode;
  const std::uint32_t need = wire::body_header_bytes(op, p.frame.bth.ts);
  set_error(p, DropReason::kLength, p.frame.body_end);
  p.error = "length: " + std::string(opcode_name(op)) + " needs " +
            (is_write(op) ? "at least " : "exactly ") + std::to_string(need) +
            " bytes behind the BTH, there are " + std::to_string(p.frame.body_bytes());
}

template <class View, class Decode>
DropReason take(DecodedPacket& p, Decode decode) {
  View v{};
  const DropReason r = decode(p.bytes, p.frame, v);
  if (r == DropReason::kNone) p.view = v;
  return r;
}

DropReason decode_body(DecodedPacket& p) {
  if (p.frame.trim != wire::Trim::kNone) return take<wire::TrimmedView>(p, wire::decode_trimmed);
  switch (p.frame.bth.opcode) {
    case Opcode::kSack:
      return take<wire::SackView>(p, wire::decode_sack);
    case Opcode::kNack:
      return take<wire::NackView>(p, wire::decode_nack);
    case Opcode::kAck:
      return take<wire::AckView>(p, wire::decode_ack);
    case Opcode::kProbe:
      return take<wire::ProbeView>(p, wire::decode_probe);
    case Opcode::kEndpointRequest:
      return take<wire::EndpointRequestView>(p, wire::decode_endpoint_request);
    case Opcode::kEndpointResponse:
      return take<wire::EndpointResponseView>(p, wire::decode_endpoint_response);
    default:
      return take<wire::WriteView>(p, wire::decode_write);
  }
}

}  // namespace

std::string_view opcode_name(Opcode op) {
  switch (op) {
    case Opcode::kWriteFirst:
      return "RDMA Write First";
    case Opcode::kWriteMiddle:
      return "RDMA Write Middle";
    case Opcode::kWriteLast:
      return "RDMA Write Last";
    case Opcode::kWriteLastImm:
      return "RDMA Write Last with Immediate";
    case Opcode::kWriteOnly:
      return "RDMA Write Only";
    case Opcode::kWriteOnlyImm:
      return "RDMA Write Only with Immediate";
    case Opcode::kAck:
      return "Acknowledge";
    case Opcode::kEndpointRequest:
      return "Endpoint Request";
    case Opcode::kEndpointResponse:
      return "Endpoint Response";
    case Opcode::kSack:
      return "Reliability SACK";
    case Opcode::kNack:
      return "Reliability NACK";
    case Opcode::kProbe:
      return "Reliability Probe Request";
  }
  return "unknown";
}

DecodedPacket decode_any(std::span<const std::uint8_t> bytes, std::uint32_t original_bytes, PacketStart start,
                         const wire::DecodeOptions& options) {
  DecodedPacket p;
  p.start = start;
  p.bytes = bytes;
  p.original_bytes = std::max(original_bytes, static_cast<std::uint32_t>(bytes.size()));
  p.snapped = p.original_bytes > bytes.size();
  DropReason r = DropReason::kNone;
  switch (start) {
    case PacketStart::kEthernet:
      r = decode_frame(bytes, p.original_bytes, options, p.frame);
      break;
    case PacketStart::kIp:
      r = decode_packet(bytes, p.original_bytes, options, p.frame);
      break;
    case PacketStart::kBth:
      r = decode_from_bth(bytes, options, p.frame);
      break;
  }
  if (r != DropReason::kNone) {
    set_error(p, r, p.frame.error_offset);
    return p;
  }
  r = decode_body(p);
  if (r == DropReason::kLength) {
    set_length_error(p);
  } else if (r != DropReason::kNone) {
    set_error(p, r,
              r == DropReason::kHeaderSplit ? static_cast<std::uint32_t>(bytes.size()) : p.frame.bth_offset);
  }
  if (p.frame.has_icrc && bytes.size() >= p.frame.body_end + wire::kIcrcBytes) {
    p.icrc = wire::check_icrc(bytes, p.frame);
    if (p.verdict == Verdict::kFine && !p.icrc->ok()) {
      p.verdict = Verdict::kBadIcrc;
      p.reason = DropReason::kIcrc;
      p.error_byte = p.frame.body_end;
      char text[64];
      std::snprintf(text, sizeof text, "icrc: packet has 0x%08x, computed 0x%08x", p.icrc->got, p.icrc->want);
      p.error = text;
    }
  }
  return p;
}

std::vector<std::uint8_t> icrc_input(const DecodedPacket& packet) {
  if (!packet.icrc) return {};
  std::vector<std::uint8_t> out(packet.bytes.size() + 8);
  out.resize(wire::masked_bytes(packet.bytes, packet.frame, out));
  return out;
}

std::uint32_t payload_bytes(const DecodedPacket& packet) {
  if (const auto* w = std::get_if<wire::WriteView>(&packet.view)) return w->payload_bytes;
  if (!std::holds_alternative<wire::TrimmedView>(packet.view)) return 0;
  const std::uint32_t headers = wire::body_header_bytes(packet.frame.bth.opcode, packet.frame.bth.ts);
  const std::uint32_t have = packet.frame.body_bytes();
  return have > headers ? have - headers : 0;
}

}  // namespace mrc::report
