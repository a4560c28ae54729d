// SPDX-License-Identifier: BSD-3-Clause
#include "wire/icrc.h"

#include <isa-l/crc.h>

#include <cassert>
#include <cstring>

#include "wire/encode.h"

namespace mrc::wire {
namespace {

constexpr std::uint32_t kPseudoBytes = 8;

/// CRC of the eight bytes of ones in front, which every packet has: a seed.
constexpr std::uint32_t pseudo_crc() {
  std::uint32_t crc = 0xFFFFFFFF;
  for (std::uint32_t i = 0; i < kPseudoBytes * 8; ++i) {
    const bool bit = ((crc ^ 1U) & 1U) != 0;  // each message bit is 1
    crc = (crc >> 1) ^ (bit ? 0xEDB88320U : 0U);
  }
  return ~crc;
}
constexpr std::uint32_t kSeed = pseudo_crc();

/// Replaces what routers may change by ones: TOS, TTL, checksum; class, flow label, hop limit; UDP checksum;
/// BTH byte 4.
inline void mask(std::uint8_t* ip, bool ipv6, std::uint32_t udp_offset) {
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

inline std::uint32_t crc32(std::uint32_t seed, const std::uint8_t* p, std::size_t n) {
  return crc32_gzip_refl(seed, p, n);
}

/// Headers that are masked together: all of them unless the packet is shorter.
std::uint32_t masked_length(const FrameView& frame, std::uint32_t available) {
  const std::uint32_t n = available < frame.body_end ? available : frame.body_end;
  const std::uint32_t from_ip = n - frame.ip_offset;
  return from_ip < kMaxIcrcHeaderBytes ? from_ip : kMaxIcrcHeaderBytes;
}

}  // namespace

std::uint32_t icrc_begin(const std::uint8_t* ip, bool ipv6, std::uint32_t udp_offset, std::uint32_t bytes) {
  assert(bytes >= udp_offset + sizeof(UdpHeader) + sizeof(Bth) && bytes <= kMaxIcrcHeaderBytes);
  alignas(64) std::uint8_t scratch[kMaxIcrcHeaderBytes];
  std::memcpy(scratch, ip, bytes);
  mask(scratch, ipv6, udp_offset);
  return crc32(kSeed, scratch, bytes);
}

std::uint32_t icrc_extend(std::uint32_t crc, std::span<const std::uint8_t> bytes) {
  return bytes.empty() ? crc : crc32(crc, bytes.data(), bytes.size());
}

void icrc_store(std::uint8_t* p, std::uint32_t crc) {
  std::memcpy(p, &crc, kIcrcBytes);  // little-endian host, checked in big_endian.h
}
std::uint32_t icrc_load(const std::uint8_t* p) {
  std::uint32_t v;
  std::memcpy(&v, p, kIcrcBytes);
  return v;
}

std::uint32_t icrc_of_headers(const HeaderTemplate& path, const std::uint8_t* payload,
                              std::uint32_t header_bytes) {
  const std::uint32_t udp_offset = path.inner_bytes() - static_cast<std::uint32_t>(sizeof(UdpHeader));
  const std::uint32_t bytes = header_bytes - path.prefix_bytes() + path.inner_bytes();
  return icrc_begin(payload - bytes, path.ipv6(), udp_offset, bytes);
}

std::uint32_t seal_with(std::uint32_t crc, std::uint8_t* payload, std::uint32_t payload_bytes) {
  const std::uint32_t pad = pad_bytes(payload_bytes);
  std::uint8_t* end = payload + payload_bytes;
  if (pad != 0) {
    std::memset(end, 0, pad);
    crc = crc32(crc, end, pad);
  }
  icrc_store(end + pad, crc);
  return pad + kIcrcBytes;
}

std::uint32_t seal(const HeaderTemplate& path, std::uint8_t* payload, std::uint32_t header_bytes,
                   std::uint32_t payload_bytes) {
  std::uint32_t crc = icrc_of_headers(path, payload, header_bytes);
  crc = icrc_extend(crc, {payload, payload_bytes});
  return seal_with(crc, payload, payload_bytes);
}

IcrcCheck check_icrc(std::span<const std::uint8_t> packet, const FrameView& frame) {
  assert(frame.has_icrc);
  if (packet.size() < frame.body_end + kIcrcBytes) return {0, 1};
  const std::uint32_t masked = masked_length(frame, frame.body_end);
  const std::uint8_t* ip = packet.data() + frame.ip_offset;
  std::uint32_t crc = icrc_begin(ip, frame.ipv6, std::uint32_t{frame.udp_offset} - frame.ip_offset, masked);
  const std::uint32_t rest = frame.body_end - frame.ip_offset - masked;
  if (rest != 0) crc = crc32(crc, ip + masked, rest);
  return {icrc_load(packet.data() + frame.body_end), crc};
}

IcrcCheck check_icrc(std::span<const std::span<const std::uint8_t>> segments, const FrameView& frame) {
  assert(frame.has_icrc && !segments.empty());
  if (segments.size() == 1) return check_icrc(segments[0], frame);
  const auto first_bytes = static_cast<std::uint32_t>(segments[0].size());
  assert(first_bytes >= frame.body_offset);
  const std::uint32_t masked = masked_length(frame, first_bytes);
  std::uint32_t crc = icrc_begin(segments[0].data() + frame.ip_offset, frame.ipv6,
                                 std::uint32_t{frame.udp_offset} - frame.ip_offset, masked);
  std::uint32_t at = frame.ip_offset + masked;  // next byte to CRC, from the start of the packet
  std::uint32_t segment_start = 0;
  std::uint8_t trailer[kIcrcBytes] = {};
  std::uint32_t trailer_bytes = 0;
  for (const auto& s : segments) {
    const std::uint32_t segment_end = segment_start + static_cast<std::uint32_t>(s.size());
    if (at < segment_end && at < frame.body_end) {
      const std::uint32_t stop = segment_end < frame.body_end ? segment_end : frame.body_end;
      crc = crc32(crc, s.data() + (at - segment_start), stop - at);
      at = stop;
    }
    while (at >= frame.body_end && at < segment_end && trailer_bytes < kIcrcBytes) {
      trailer[trailer_bytes++] = s[at++ - segment_start];
    }
    segment_start = segment_end;
  }
  if (trailer_bytes != kIcrcBytes) return {~crc, crc};
  return {icrc_load(trailer), crc};
}

std::size_t masked_bytes(std::span<const std::uint8_t> packet, const FrameView& frame,
                         std::span<std::uint8_t> out) {
  const std::uint32_t n = frame.body_end - frame.ip_offset;
  if (packet.size() < frame.body_end || out.size() < n + kPseudoBytes) return 0;
  std::memset(out.data(), 0xFF, kPseudoBytes);
  std::memcpy(out.data() + kPseudoBytes, packet.data() + frame.ip_offset, n);
  mask(out.data() + kPseudoBytes, frame.ipv6, std::uint32_t{frame.udp_offset} - frame.ip_offset);
  return n + kPseudoBytes;
}

}  // namespace mrc::wire
