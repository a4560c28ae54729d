// SPDX-License-Identifier: BSD-3-Clause
// Helpers of the wire tests: hex, paths, random values, and an ICRC that shares no code with lib/wire.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/rng.h"
#include "wire/encode.h"
#include "wire/frame.h"
#include "wire/header_template.h"
#include "wire/icrc.h"

namespace mrc::wire::testing {

using Bytes = std::vector<std::uint8_t>;

inline Bytes from_hex(std::string_view hex) {
  Bytes out;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    out.push_back(static_cast<std::uint8_t>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  }
  return out;
}
inline std::string to_hex(std::span<const std::uint8_t> bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const std::uint8_t b : bytes) {
    out += kDigits[b >> 4];
    out += kDigits[b & 15];
  }
  return out;
}

/// Section 1.13 from the text, over the packet from its (inner) IP header without ICRC: zlib, own mask.
inline std::uint32_t reference_icrc(Bytes packet) {
  const bool v6 = packet.at(0) >> 4 == 6;
  const std::size_t udp = v6 ? 40 : (packet[0] & 15U) * 4U;
  if (v6) {
    packet[0] = 0x6F;
    for (const std::size_t i : {1, 2, 3, 7}) packet[i] = 0xFF;
  } else {
    for (const std::size_t i : {1, 8, 10, 11}) packet[i] = 0xFF;
  }
  for (const std::size_t i : {udp + 6, udp + 7, udp + 8 + 4}) packet.at(i) = 0xFF;
  packet.insert(packet.begin(), 8, 0xFF);
  return static_cast<std::uint32_t>(::crc32(0, packet.data(), static_cast<uInt>(packet.size())));
}

/// A packet buffer as the datapath has it: headers end at kPayloadOffset.
struct Buffer {
  std::vector<std::uint8_t> bytes = std::vector<std::uint8_t>(kPayloadOffset + 9216, 0xA5);
  [[nodiscard]] std::uint8_t* payload() { return bytes.data() + kPayloadOffset; }
  /// The frame of `header_bytes` in front of the payload and `rest` behind.
  [[nodiscard]] Bytes frame(std::uint32_t header_bytes, std::uint32_t rest) const {
    const auto at = bytes.begin() + kPayloadOffset;
    return {at - header_bytes, at + rest};
  }
};

struct Shape {
  bool ipv6 = false;
  std::uint8_t vlan_tags = 0;
  Encap encap = Encap::kNone;
};
/// Every way to wrap a packet.
inline std::vector<Shape> all_shapes() {
  std::vector<Shape> out;
  for (std::uint8_t tags = 0; tags <= 2; ++tags) {
    out.push_back({false, tags, Encap::kNone});
    for (const Encap e : {Encap::kNone, Encap::kSrv6, Encap::kSrv6Srh}) out.push_back({true, tags, e});
  }
  return out;
}

inline PathAddress address_of(const Shape& shape) {
  PathAddress a;
  a.src_mac.bytes = {2, 0, 0, 0, 0, 1};
  a.dst_mac.bytes = {2, 0, 0, 0, 0, 2};
  a.vlan_tags = shape.vlan_tags;
  a.vlans[0] = {shape.vlan_tags == 2 ? kEthertypeQinq : kEthertypeVlan, 0x6064};
  a.vlans[1] = {kEthertypeVlan, 0x0007};
  a.src_ip.v6 = a.dst_ip.v6 = shape.ipv6;
  a.encap = shape.encap;
  if (shape.ipv6) {
    a.src_ip.bytes = {0xFD, 0, 0, 0x0A, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
    a.dst_ip.bytes = {0xFD, 0, 0, 0x0A, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2};
    a.outer_src_ip.bytes = {0xFD, 0, 0, 0x0B, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  } else {
    a.src_ip.bytes = {10, 0, 0, 1};
    a.dst_ip.bytes = {10, 0, 0, 2};
  }
  return a;
}
inline HeaderTemplate path_of(const Shape& shape) {
  return *HeaderTemplate::create(address_of(shape));
}

/// An SRv6 EV: locator and uSIDs, then a second carrier.
inline const std::uint8_t* srv6_ev() {
  static const std::uint8_t ev[32] = {0xCA, 0xFE, 0xCA, 0xFE, 0x43, 0xBA, 0x48, 0xD6, 0xA4, 0x3D, 0xE0,
                                      0x86, 0,    0,    0,    0,    0xDE, 0xCA, 0xFB, 0xAD, 0x77, 0x77,
                                      0x88, 0x88, 0,    0,    0,    0,    0,    0,    0,    0};
  return ev;
}

template <class E>
E random_of(Rng& rng, std::initializer_list<E> values) {
  return values.begin()[rng.below(values.size())];
}
inline bool flip(Rng& rng) {
  return rng.below(2) != 0;
}
inline std::uint32_t u32(Rng& rng) {
  return static_cast<std::uint32_t>(rng.next());
}
inline std::uint16_t u16(Rng& rng) {
  return static_cast<std::uint16_t>(rng.next());
}
inline std::uint8_t u8(Rng& rng) {
  return static_cast<std::uint8_t>(rng.next());
}

inline SendMeta random_meta(Rng& rng) {
  SendMeta m;
  m.dqp = u32(rng) & kQpnMask;
  m.tos = DscpMap{}.tos(random_of(rng, {DscpClass::kTrimmable, DscpClass::kControl}));
  m.ev = {u16(rng), u32(rng) & 0xFFFF, srv6_ev()};
  return m;
}
inline WriteView random_write(Rng& rng) {
  WriteView w;
  w.bth.opcode = static_cast<Opcode>(0xC6 + rng.below(6));
  w.bth.se = flip(rng);
  w.bth.a = flip(rng);
  w.bth.rtx = flip(rng);
  w.bth.ts = flip(rng);
  w.bth.psn = Psn{u32(rng)};
  w.rqmsn = Rqmsn{u32(rng)};
  w.msn = Msn{u32(rng)};
  if (w.bth.ts) {
    w.tx_timestamp = Tick{u32(rng)};
    w.tsr = flip(rng);
  }
  w.va = rng.next();
  w.rkey = u32(rng);
  w.dmalen = u32(rng);
  if (has_immediate(w.bth.opcode)) w.immdt = u32(rng);
  w.payload_bytes = static_cast<std::uint32_t>(rng.below(4097));
  w.pad_bytes = pad_bytes(w.payload_bytes);
  w.nominal_bytes = write_nominal_bytes(w.bth.opcode, w.bth.ts, w.payload_bytes);
  return w;
}
inline SackView random_sack(Rng& rng) {
  SackView s;
  s.rtx = flip(rng);
  s.m = static_cast<EvMark>(rng.below(4));
  s.pr = flip(rng);
  s.ack_psn_offset = static_cast<std::int16_t>(u16(rng));
  s.entropy = u32(rng);
  s.spdcid = u16(rng);
  s.dpdcid = u16(rng);
  s.cack_psn = Psn{u32(rng)};
  s.cc_type = u8(rng) & 15;
  s.cc_fl = u8(rng) & 15;
  s.mpr = u8(rng);
  s.sack_offset = static_cast<std::int16_t>(u16(rng));
  s.sack_bitmap = rng.next();
  s.tx_timestamp = Tick{u32(rng)};
  s.ooo_count = u16(rng) & 0x7FFF;
  s.restore_cwnd = flip(rng);
  s.rcv_cwnd_pen = u8(rng) & 0x7F;
  s.rcvd_bytes = RcvdUnits{u32(rng)};
  return s;
}
inline NackView random_nack(Rng& rng) {
  return {static_cast<NackReason>(u8(rng)),
          u8(rng),
          u32(rng),
          u16(rng),
          u16(rng),
          Psn{u32(rng)},
          static_cast<std::uint8_t>(u8(rng) & 15),
          static_cast<std::uint8_t>(u8(rng) & 15),
          Tick{u32(rng)}};
}
inline AckView random_ack(Rng& rng) {
  return {Psn{u32(rng)}, u8(rng), u32(rng) & 0xFFFFFF};
}
inline ProbeView random_probe(Rng& rng) {
  return {u8(rng), u16(rng), u16(rng), u16(rng), Tick{u32(rng)}, flip(rng), flip(rng)};
}
inline EndpointRequestView random_endpoint_request(Rng& rng) {
  return {u16(rng), static_cast<EndpointOp>(rng.below(4)), u8(rng), u32(rng), Tick{u32(rng)}, flip(rng),
          flip(rng)};
}
inline EndpointResponseView random_endpoint_response(Rng& rng) {
  return {u16(rng), static_cast<EndpointOp>(rng.below(4)), Tick{u32(rng)}};
}

/// A complete random frame of any opcode, sealed. Payload bytes are random.
inline Bytes random_frame(Rng& rng, const HeaderTemplate& path, const SendMeta& meta) {
  Buffer b;
  std::uint32_t n = 0;
  std::uint32_t payload = 0;
  switch (rng.below(7)) {
    case 0:
      n = encode_sack(path, meta, random_sack(rng), b.payload());
      break;
    case 1:
      n = encode_nack(path, meta, random_nack(rng), b.payload());
      break;
    case 2:
      n = encode_ack(path, meta, random_ack(rng), b.payload());
      break;
    case 3:
      n = encode_probe(path, meta, random_probe(rng), b.payload());
      break;
    case 4:
      n = encode_endpoint_request(path, meta, random_endpoint_request(rng), b.payload());
      break;
    case 5:
      n = encode_endpoint_response(path, meta, random_endpoint_response(rng), b.payload());
      break;
    default: {
      WriteView w = random_write(rng);
      payload = w.payload_bytes;
      for (std::uint32_t i = 0; i < payload; ++i) b.payload()[i] = u8(rng);
      n = encode_write(path, meta, w, b.payload());
    }
  }
  return b.frame(n, payload + seal(path, b.payload(), n, payload));
}

}  // namespace mrc::wire::testing
