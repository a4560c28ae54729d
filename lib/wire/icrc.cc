// SPDX-License-Identifier: BSD-3-Clause
#include "wire/icrc.h"

#include <cassert>
#include <cstring>

#include "wire/encode.h"

namespace mrc::wire {
namespace {

constexpr std::uint32_t kPseudoBytes = 8;

/// CRC of the ones in front alone: every packet starts from here.
constexpr std::uint32_t pseudo_crc() {
  std::uint32_t crc = 0xFFFFFFFF;
  for (std::uint32_t i = 0; i < kPseudoBytes * 8; ++i) crc = (crc >> 1) ^ ((crc & 1) == 0 ? 0xEDB88320U : 0U);
  return ~crc;
}
constexpr std::uint32_t kSeed = pseudo_crc();
static_assert(kSeed == 0x2144DF1C);  // zlib's crc32 of eight 0xFF

constexpr bool is_plain(bool ipv6, std::uint32_t udp_offset) {
  return udp_offset == (ipv6 ? sizeof(Ipv6Header) : sizeof(Ipv4Header));
}
constexpr std::uint32_t through_bth(std::uint32_t udp_offset) {
  return udp_offset + static_cast<std::uint32_t>(sizeof(UdpHeader) + sizeof(Bth));
}

/// IPv4 with options: rare, byte by byte. Covers all headers through the BTH.
std::uint32_t crc_with_options(const std::uint8_t* ip, std::uint32_t udp_offset) {
  std::uint8_t scratch[60 + sizeof(UdpHeader) + sizeof(Bth)];
  const std::uint32_t covered = through_bth(udp_offset);
  assert(covered <= sizeof scratch);
  std::memcpy(scratch, ip, covered);
  mask_variant(scratch, false, udp_offset);
  return crc32(kSeed, scratch, covered);
}

struct Begun {
  std::uint32_t crc;
  std::uint32_t covered;  ///< bytes from the IP header on, at least all that is masked
};
/// As much of `bytes` as the masked kernel takes.
Begun begin(const std::uint8_t* ip, bool ipv6, std::uint32_t udp_offset, std::uint32_t bytes) {
  if (!is_plain(ipv6, udp_offset)) return {crc_with_options(ip, udp_offset), through_bth(udp_offset)};
  Begun b{0, bytes <= kMaxShortBytes ? bytes : kIcrcBegunBytes};
  const IcrcPiece piece = icrc_piece(ip, ipv6, b.covered);
  icrc_begin({&piece, 1}, &b.crc);
  return b;
}

}  // namespace

void icrc_begin(std::span<const IcrcPiece> pieces, std::uint32_t* crc) {
  masked_crc32(kSeed, pieces, crc);
}

std::uint32_t icrc_extend(std::uint32_t crc, std::span<const std::uint8_t> bytes) {
  return bytes.empty() ? crc : crc32(crc, bytes.data(), bytes.size());
}

std::uint32_t icrc_of(const std::uint8_t* ip, bool ipv6, std::uint32_t udp_offset, std::uint32_t bytes) {
  assert(bytes >= through_bth(udp_offset));
  const Begun b = begin(ip, ipv6, udp_offset, bytes);
  return icrc_extend(b.crc, {ip + b.covered, bytes - b.covered});
}

std::uint32_t seal(const HeaderTemplate& path, std::uint8_t* payload, std::uint32_t header_bytes,
                   std::uint32_t payload_bytes) {
  const std::uint32_t padded = payload_bytes + pad(payload, payload_bytes);
  const std::uint32_t udp_offset = path.inner_bytes() - static_cast<std::uint32_t>(sizeof(UdpHeader));
  const std::uint32_t inner = header_bytes - path.prefix_bytes() + path.inner_bytes();
  icrc_store(payload + padded, icrc_of(payload - inner, path.ipv6(), udp_offset, inner + padded));
  return padded - payload_bytes + kIcrcBytes;
}

IcrcCheck check_icrc(std::span<const std::uint8_t> packet, const FrameView& frame) {
  assert(frame.has_icrc);
  if (packet.size() < frame.body_end + kIcrcBytes) return {0, 1};
  return {icrc_load(packet.data() + frame.body_end),
          icrc_of(packet.data() + frame.ip_offset, frame.ipv6,
                  std::uint32_t{frame.udp_offset} - frame.ip_offset, frame.body_end - frame.ip_offset)};
}

IcrcCheck check_icrc(std::span<const std::span<const std::uint8_t>> segments, const FrameView& frame) {
  assert(frame.has_icrc && !segments.empty());
  if (segments.size() == 1) return check_icrc(segments[0], frame);
  assert(segments[0].size() >= frame.body_offset);
  const std::uint32_t udp_offset = std::uint32_t{frame.udp_offset} - frame.ip_offset;
  const Begun begun =
      begin(segments[0].data() + frame.ip_offset, frame.ipv6, udp_offset, through_bth(udp_offset));
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
  mask_variant(out.data() + kPseudoBytes, frame.ipv6, std::uint32_t{frame.udp_offset} - frame.ip_offset);
  return n + kPseudoBytes;
}

}  // namespace mrc::wire
