// SPDX-License-Identifier: BSD-3-Clause
// One packet, taken apart for people and programs. Slow and complete where lib/wire is fast: used by
// mrc-decode.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "wire/decode.h"
#include "wire/icrc.h"

namespace mrc::report {

/// What the first byte is.
enum class PacketStart : std::uint8_t { kEthernet, kIp, kBth };

/// How a packet ended.
enum class Verdict : std::uint8_t {
  kFine,
  kBadIcrc,
  kMalformed,
  kNotMrc,      ///< other traffic: another protocol or port
  kIncomplete,  ///< the snap length of a capture cut the headers
};

struct DecodedPacket {
  Verdict verdict = Verdict::kFine;
  PacketStart start = PacketStart::kEthernet;
  wire::DropReason reason = wire::DropReason::kNone;
  std::uint32_t error_byte = 0;  ///< when not fine
  std::string error;             ///< one line without the byte: what was wrong
  std::span<const std::uint8_t> bytes;
  std::uint32_t original_bytes = 0;
  bool snapped = false;  ///< fewer bytes captured than there were
  wire::FrameView frame;
  std::optional<wire::IcrcCheck> icrc;  ///< none: trimmed, snapped, or started at the BTH
  std::variant<std::monostate, wire::WriteView, wire::TrimmedView, wire::SackView, wire::NackView,
               wire::AckView, wire::ProbeView, wire::EndpointRequestView, wire::EndpointResponseView>
      view;
};

/// `bytes` must outlive the result; original_bytes >= bytes.size() tells of a snap length.
DecodedPacket decode_any(std::span<const std::uint8_t> bytes, std::uint32_t original_bytes, PacketStart start,
                         const wire::DecodeOptions& options);

/// The bytes that the ICRC runs over, masked; empty when the packet has no ICRC.
std::vector<std::uint8_t> icrc_input(const DecodedPacket& packet);

/// "RDMA Write Only", ... (section 1.1).
std::string_view opcode_name(wire::Opcode op);
/// Payload without padding; of a trimmed Write what the cut left of it, padding included.
std::uint32_t payload_bytes(const DecodedPacket& packet);

}  // namespace mrc::report
