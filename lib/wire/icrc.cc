// SPDX-License-Identifier: BSD-3-Clause
#include "wire/icrc.h"

#include <isa-l/crc.h>

#include <cassert>
#include <cstring>

#include "wire/encode.h"

namespace mrc::wire {
namespace {

constexpr std::uint32_t kPseudoBytes = 8;

/// Replaces what routers may change by ones: TOS, TTL, checksum; class, flow label, hop limit; UDP checksum;
/// BTH byte 4.
constexpr void mask(std::uint8_t* ip, bool ipv6, std::uint32_t udp_offset) {
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

// Ones in front, IP, UDP and BTH up to its masked byte fill whole 16-byte vectors: 8 + 40 (IPv4 without
// options) and 8 + 56 (IPv6). Masking is then an OR with constants, and the CRC, which loads 16 bytes at a
// time, finds each of them in one store: masking single bytes instead costs it a stalled load each, 20 ns a
// packet.
using Vector = std::uint8_t __attribute__((vector_size(16)));
constexpr std::uint32_t kVectorBytes = sizeof(Vector);
constexpr std::uint32_t kMaskedIpv4Bytes = 40;
constexpr std::uint32_t kMaskedIpv6Bytes = 56;

template <std::uint32_t Bytes>
struct Mask {
  alignas(kVectorBytes) std::uint8_t bytes[kPseudoBytes + Bytes]{};
  constexpr Mask(bool ipv6, std::uint32_t udp_offset) {
    for (std::uint32_t i = 0; i < kPseudoBytes; ++i) bytes[i] = 0xFF;
    mask(bytes + kPseudoBytes, ipv6, udp_offset);
  }
};
constexpr Mask<kMaskedIpv4Bytes> kMaskIpv4(false, sizeof(Ipv4Header));
constexpr Mask<kMaskedIpv6Bytes> kMaskIpv6(true, sizeof(Ipv6Header));

inline Vector load(const std::uint8_t* p) {
  Vector v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

/// CRC of the ones in front and the first `Bytes` bytes at `ip`, masked.
template <std::uint32_t Bytes>
inline std::uint32_t masked_crc(const std::uint8_t* ip, const Mask<Bytes>& m) {
  static_assert((kPseudoBytes + Bytes) % kVectorBytes == 0);
  alignas(kVectorBytes) std::uint8_t scratch[kPseudoBytes + Bytes];
  using Half = std::uint64_t __attribute__((vector_size(16)));
  std::uint64_t first;
  std::memcpy(&first, ip, sizeof first);
  Vector v = reinterpret_cast<Vector>(Half{0, first}) | load(m.bytes);
  std::memcpy(scratch, &v, sizeof v);
  for (std::uint32_t i = kVectorBytes; i < sizeof scratch; i += kVectorBytes) {
    v = load(ip + i - kPseudoBytes) | load(m.bytes + i);
    std::memcpy(scratch + i, &v, sizeof v);
  }
  return crc32(0, scratch, sizeof scratch);
}

/// CRC of the ones in front alone: every packet starts from here.
constexpr std::uint32_t pseudo_crc() {
  std::uint32_t crc = 0xFFFFFFFF;
  for (std::uint32_t i = 0; i < kPseudoBytes * 8; ++i) crc = (crc >> 1) ^ ((crc & 1) == 0 ? 0xEDB88320U : 0U);
  return ~crc;
}
constexpr std::uint32_t kSeed = pseudo_crc();
static_assert(kSeed == 0x2144DF1C);  // zlib's crc32 of eight 0xFF

// What is short as a whole is masked as a whole and takes one CRC instead of two in a row, whose latencies
// would add up: small messages, control packets, and the headers of long ones.
constexpr std::uint32_t kShortBytes = 128;
struct ShortMask {
  alignas(kVectorBytes) std::uint8_t bytes[kShortBytes]{};
  constexpr ShortMask(bool ipv6, std::uint32_t udp_offset) { mask(bytes, ipv6, udp_offset); }
};
constexpr ShortMask kShortIpv4(false, sizeof(Ipv4Header));
constexpr ShortMask kShortIpv6(true, sizeof(Ipv6Header));

inline std::uint32_t short_crc(const std::uint8_t* ip, const ShortMask& m, std::uint32_t bytes) {
  assert(bytes >= kVectorBytes && bytes <= kShortBytes);
  alignas(kVectorBytes) std::uint8_t scratch[kShortBytes];
  const auto mask_at = [&](std::uint32_t i) {
    const Vector v = load(ip + i) | load(m.bytes + i);
    std::memcpy(scratch + i, &v, sizeof v);
  };
  for (std::uint32_t i = 0; i + kVectorBytes <= bytes; i += kVectorBytes) mask_at(i);
  if (bytes % kVectorBytes != 0)
    mask_at(bytes - kVectorBytes);  // overlaps: nothing behind the packet is read
  return crc32(kSeed, scratch, bytes);
}

/// IPv4 with options: rare, byte by byte. Covers all headers through the BTH.
std::uint32_t masked_crc_with_options(const std::uint8_t* ip, std::uint32_t udp_offset,
                                      std::uint32_t covered) {
  std::uint8_t scratch[kPseudoBytes + 60 + sizeof(UdpHeader) + sizeof(Bth)];
  assert(kPseudoBytes + covered <= sizeof scratch);
  std::memset(scratch, 0xFF, kPseudoBytes);
  std::memcpy(scratch + kPseudoBytes, ip, covered);
  mask(scratch + kPseudoBytes, false, udp_offset);
  return crc32(0, scratch, kPseudoBytes + covered);
}

struct Begun {
  std::uint32_t crc;
  std::uint32_t covered;  ///< bytes from the IP header on
};
/// Everything that is masked; at most through the BTH.
inline Begun begin(const std::uint8_t* ip, bool ipv6, std::uint32_t udp_offset) {
  if (ipv6) return {masked_crc(ip, kMaskIpv6), kMaskedIpv6Bytes};
  if (udp_offset == sizeof(Ipv4Header)) return {masked_crc(ip, kMaskIpv4), kMaskedIpv4Bytes};
  const auto covered = static_cast<std::uint32_t>(udp_offset + sizeof(UdpHeader) + sizeof(Bth));
  return {masked_crc_with_options(ip, udp_offset, covered), covered};
}

/// CRC over `bytes` bytes from the IP header on, all in one piece.
inline std::uint32_t crc_through(const std::uint8_t* ip, bool ipv6, std::uint32_t udp_offset,
                                 std::uint32_t bytes) {
  if (bytes <= kShortBytes && udp_offset == (ipv6 ? sizeof(Ipv6Header) : sizeof(Ipv4Header))) {
    return short_crc(ip, ipv6 ? kShortIpv6 : kShortIpv4, bytes);
  }
  const Begun b = begin(ip, ipv6, udp_offset);
  return crc32(b.crc, ip + b.covered, bytes - b.covered);
}

}  // namespace

std::uint32_t icrc_begin(const std::uint8_t* ip, bool ipv6, std::uint32_t udp_offset, std::uint32_t bytes) {
  assert(bytes >= udp_offset + sizeof(UdpHeader) + sizeof(Bth));
  return crc_through(ip, ipv6, udp_offset, bytes);
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
  const std::uint32_t pad = pad_bytes(payload_bytes);
  std::uint8_t* end = payload + payload_bytes;
  std::memset(end, 0, pad);
  const std::uint32_t udp_offset = path.inner_bytes() - static_cast<std::uint32_t>(sizeof(UdpHeader));
  const std::uint32_t inner_headers = header_bytes - path.prefix_bytes() + path.inner_bytes();
  icrc_store(end + pad, crc_through(payload - inner_headers, path.ipv6(), udp_offset,
                                    inner_headers + payload_bytes + pad));
  return pad + kIcrcBytes;
}

IcrcCheck check_icrc(std::span<const std::uint8_t> packet, const FrameView& frame) {
  assert(frame.has_icrc);
  if (packet.size() < frame.body_end + kIcrcBytes) return {0, 1};
  return {icrc_load(packet.data() + frame.body_end),
          crc_through(packet.data() + frame.ip_offset, frame.ipv6,
                      std::uint32_t{frame.udp_offset} - frame.ip_offset, frame.body_end - frame.ip_offset)};
}

IcrcCheck check_icrc(std::span<const std::span<const std::uint8_t>> segments, const FrameView& frame) {
  assert(frame.has_icrc && !segments.empty());
  if (segments.size() == 1) return check_icrc(segments[0], frame);
  assert(segments[0].size() >= frame.body_offset);
  const Begun begun = begin(segments[0].data() + frame.ip_offset, frame.ipv6,
                            std::uint32_t{frame.udp_offset} - frame.ip_offset);
  std::uint32_t crc = begun.crc;
  std::uint32_t at = frame.ip_offset + begun.covered;  // next byte to CRC, from the start of the packet
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
