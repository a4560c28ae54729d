// SPDX-License-Identifier: BSD-3-Clause
// One sealed Write in any encapsulation, and where its headers stand: what tests of frames damage.
#pragma once

#include "wire/decode.h"
#include "wire/frame.h"
#include "wire_testing.h"

namespace mrc::wire {

using testing::Buffer;
using testing::Bytes;
using testing::Shape;

inline constexpr Shape kV4{false, 0, Encap::kNone};
inline constexpr Shape kV6{true, 0, Encap::kNone};
inline constexpr Shape kSrv6{true, 0, Encap::kSrv6};
inline constexpr Shape kSrh{true, 0, Encap::kSrv6Srh};
inline constexpr std::uint32_t kPayload = 100;

inline WriteView sample_write() {
  WriteView w;
  w.bth = {Opcode::kWriteOnly, false, true, false, true, Psn{0xABCDEF}};
  w.msn = Msn{7};
  w.tx_timestamp = Tick{0xBEEF};
  w.va = 0x1000;
  w.rkey = 0x55;
  w.dmalen = kPayload;
  w.payload_bytes = kPayload;
  return w;
}

/// A sealed Write frame.
inline Bytes frame_with(const Shape& shape, std::uint8_t tos, WriteView w = sample_write()) {
  const HeaderTemplate path = testing::path_of(shape);
  Buffer b;
  for (std::uint32_t i = 0; i < w.payload_bytes; ++i) b.payload()[i] = static_cast<std::uint8_t>(i);
  const SendMeta meta{0xB2, tos, {0x1234, 0x5678, testing::srv6_ev()}};
  const std::uint32_t n = encode_write(path, meta, w, b.payload());
  return b.frame(n, w.payload_bytes + seal(path, b.payload(), n, w.payload_bytes));
}

inline DropReason reason_of(const Bytes& frame, FrameView& f, const DecodeOptions& options = {}) {
  return decode_frame(frame, options, f);
}
inline DropReason reason_of(const Bytes& frame) {
  FrameView f;
  return reason_of(frame, f);
}

/// Where the headers of a frame made by frame_with start.
struct Places {
  explicit Places(const Shape& s)
      : l3(14U + 4U * s.vlan_tags),
        ip(l3 + (s.encap == Encap::kNone ? 0U : 40U) + (s.encap == Encap::kSrv6Srh ? 24U : 0U)),
        udp(ip + (s.ipv6 ? 40U : 20U)),
        bth(udp + 8) {}
  std::size_t l3, ip, udp, bth;
};

inline void fix_ipv4_checksum(Bytes& frame, std::size_t ip) {
  frame[ip + 10] = frame[ip + 11] = 0;
  std::uint32_t sum = 0;
  const std::size_t n = (frame[ip] & 15U) * 4U;
  for (std::size_t i = 0; i < n; i += 2) sum += load_be16(&frame[ip + i]);
  sum = (sum & 0xFFFF) + (sum >> 16);
  sum = (sum & 0xFFFF) + (sum >> 16);
  store_be16(&frame[ip + 10], ~sum);
}

}  // namespace mrc::wire
