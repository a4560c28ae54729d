// SPDX-License-Identifier: BSD-3-Clause
// What a packet capture says of a packet, and the numbers of the pcap and pcapng formats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace mrc::report {

/// Which way a packet went, seen from the capturing machine (epb_flags bits 0-1).
enum class Direction : std::uint8_t { kUnknown = 0, kInbound = 1, kOutbound = 2 };

/// LINKTYPE_ values that mrc-decode understands.
inline constexpr std::uint16_t kLinkEthernet = 1;
inline constexpr std::uint16_t kLinkRaw = 101;
inline constexpr std::uint16_t kLinkLinuxSll = 113;
inline constexpr std::uint16_t kLinkIpv4 = 228;
inline constexpr std::uint16_t kLinkIpv6 = 229;
inline constexpr std::uint16_t kLinkLinuxSll2 = 276;

/// One interface of a capture.
struct CaptureInterface {
  std::string name;  ///< empty when the file does not tell
  std::uint16_t link_type = kLinkEthernet;
  std::uint32_t snap_bytes = 0;  ///< 0: no limit
};

/// One packet. `bytes` is valid until the next call of the reader.
struct CapturedPacket {
  std::uint64_t number = 0;       ///< from 1, over the whole file
  std::uint64_t file_offset = 0;  ///< of its record
  std::uint32_t interface_id = 0;
  std::uint64_t time_ns = 0;  ///< since 1970; 0 when there is none
  Direction direction = Direction::kUnknown;
  std::uint32_t original_bytes =
      0;  ///< on the wire; >= bytes.size(). More: a snap length cut it, not a switch
  std::span<const std::uint8_t> bytes;
  std::string comment;
};

/// Block types, option codes and magic numbers.
namespace pcapng {
inline constexpr std::uint32_t kSectionHeader = 0x0A0D0D0A;
inline constexpr std::uint32_t kByteOrderMagic = 0x1A2B3C4D;
inline constexpr std::uint32_t kInterface = 1;
inline constexpr std::uint32_t kPacketObsolete = 2;
inline constexpr std::uint32_t kSimplePacket = 3;
inline constexpr std::uint32_t kEnhancedPacket = 6;
inline constexpr std::uint16_t kOptEnd = 0;
inline constexpr std::uint16_t kOptComment = 1;
inline constexpr std::uint16_t kOptShbUserAppl = 4;
inline constexpr std::uint16_t kOptIfName = 2;
inline constexpr std::uint16_t kOptIfTsresol = 9;
inline constexpr std::uint16_t kOptIfTsoffset = 14;
inline constexpr std::uint16_t kOptEpbFlags = 2;
}  // namespace pcapng

inline constexpr std::uint32_t kPcapMagicUs = 0xA1B2C3D4;
inline constexpr std::uint32_t kPcapMagicNs = 0xA1B23C4D;

/// Bounds on what a file may ask us to hold.
inline constexpr std::uint32_t kMaxCaptureBlockBytes = 16U << 20;
inline constexpr std::size_t kMaxCaptureInterfaces = 65536;

}  // namespace mrc::report
