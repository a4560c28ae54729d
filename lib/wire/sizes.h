// SPDX-License-Identifier: BSD-3-Clause
// How long a Write is, to the byte.
#pragma once

#include <cstdint>

#include "wire/headers.h"
#include "wire/types.h"

namespace mrc::wire {

/// Bytes from the BTH to the payload of a Write: BTH, METH, [TSETH], RETH, [ImmDt] (1.1).
constexpr std::uint32_t write_header_bytes(Opcode op, bool ts) {
  return static_cast<std::uint32_t>(sizeof(Bth) + sizeof(Meth) + sizeof(Reth) + (ts ? sizeof(Tseth) : 0) +
                                    (has_immediate(op) ? sizeof(Immdt) : 0));
}

/// Zero bytes behind a payload (1.12).
constexpr std::uint32_t pad_bytes(std::uint32_t payload_bytes) {
  return (4 - (payload_bytes & 3)) & 3;
}

/// UDP length of a Write.
constexpr std::uint32_t write_udp_bytes(Opcode op, bool ts, std::uint32_t payload_bytes) {
  return static_cast<std::uint32_t>(sizeof(UdpHeader)) + write_header_bytes(op, ts) + payload_bytes +
         pad_bytes(payload_bytes) + kIcrcBytes;
}

/// Nominal size of a packet (MRC 8.3.1, C25): what congestion control charges for it, whatever carries it.
constexpr std::uint32_t nominal_bytes_of_udp(std::uint32_t udp_bytes) {
  return udp_bytes + 40;
}
/// That of a Write. The sender knows it from this, the receiver from the UDP length itself.
constexpr std::uint32_t write_nominal_bytes(Opcode op, bool ts, std::uint32_t payload_bytes) {
  return nominal_bytes_of_udp(write_udp_bytes(op, ts, payload_bytes));
}

}  // namespace mrc::wire
