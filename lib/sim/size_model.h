// SPDX-License-Identifier: BSD-3-Clause
// How many bytes of a link a packet takes. Virtual time charges sizes; nobody builds the bytes.
#pragma once

#include <cstdint>

#include "transport/types.h"
#include "wire/sizes.h"
#include "wire/types.h"

namespace mrc::sim {

/// Bytes that links and queues are charged with.
struct SizeModel {
  std::uint32_t data_overhead_bytes = 0;  ///< fixed part beside the padded payload; 0: real headers
  std::uint32_t control_bytes = 0;        ///< fixed size of SACK, NACK, ACK and probe; 0: real headers
  std::uint32_t lower_layer_bytes = 78;   ///< real headers: what stands around the UDP packet

  /// Ethernet 14 + FCS 4 + preamble and gap 20 + IPv6 40, and another IPv6 header with SRv6.
  static constexpr SizeModel real(bool srv6) { return {0, 0, srv6 ? 118U : 78U}; }
  /// What the UEC's simulator charges: 54 bytes beside the payload, 64 for everything else, no preamble, no
  /// FCS.
  static constexpr SizeModel htsim() { return {54, 64, 0}; }

  [[nodiscard]] constexpr std::uint32_t data_bytes(const transport::TxDesc& d) const {
    if (data_overhead_bytes != 0) return d.payload_bytes + data_overhead_bytes;
    const std::uint32_t udp_bytes = wire::write_nominal_bytes(d.opcode, d.ts, d.payload_bytes) - 40;
    return udp_bytes + lower_layer_bytes;
  }
  [[nodiscard]] constexpr std::uint32_t control_bytes_of(wire::Opcode op) const {
    if (control_bytes != 0) return control_bytes;
    constexpr std::uint32_t kUdpBthIcrc = 8 + 12 + 4;
    switch (op) {
      case wire::Opcode::kSack:
        return kUdpBthIcrc + 36 + lower_layer_bytes;
      case wire::Opcode::kNack:
        return kUdpBthIcrc + 20 + lower_layer_bytes;
      case wire::Opcode::kEndpointRequest:
        return kUdpBthIcrc + 16 + lower_layer_bytes;
      case wire::Opcode::kEndpointResponse:
        return kUdpBthIcrc + 36 + lower_layer_bytes;
      case wire::Opcode::kProbe:
        return kUdpBthIcrc + 16 + lower_layer_bytes;
      default:
        return kUdpBthIcrc + 4 + lower_layer_bytes;
    }
  }
};

}  // namespace mrc::sim
