// SPDX-License-Identifier: BSD-3-Clause
// How many bytes of a link a packet takes. Virtual time charges sizes; nobody builds the bytes.
#pragma once

#include <cstdint>

#include "transport/types.h"
#include "wire/sizes.h"
#include "wire/types.h"

namespace mrc::sim {

/// What every packet has from the UDP header on.
inline constexpr std::uint32_t kUdpBthIcrcBytes =
    static_cast<std::uint32_t>(sizeof(wire::UdpHeader) + sizeof(wire::Bth)) + wire::kIcrcBytes;

/// Bytes that links and queues are charged with.
struct SizeModel {
  std::uint32_t data_overhead_bytes = 0;  ///< fixed part beside the padded payload; 0: real headers
  std::uint32_t control_bytes = 0;        ///< fixed size of SACK, NACK, ACK and probe; 0: real headers
  std::uint32_t lower_layer_bytes = 78;   ///< real headers: what stands around the UDP packet

  /// Ethernet 14 + FCS 4 + preamble and gap 20 + IPv6 40, and what encapsulates it.
  static constexpr SizeModel real(std::uint32_t encapsulation_bytes = 0) {
    return {0, 0, 78U + encapsulation_bytes};
  }
  /// What the UEC's simulator charges: 54 bytes beside the payload, 64 for everything else, no preamble, no
  /// FCS.
  static constexpr SizeModel htsim() { return {54, 64, 0}; }

  [[nodiscard]] constexpr std::uint32_t data_bytes(const transport::TxDesc& d) const {
    if (data_overhead_bytes != 0) return d.payload_bytes + data_overhead_bytes;
    return wire::write_udp_bytes(d.opcode, d.ts, d.payload_bytes) + lower_layer_bytes;
  }
  [[nodiscard]] constexpr std::uint32_t control_bytes_of(wire::Opcode op) const {
    if (control_bytes != 0) return control_bytes;
    return kUdpBthIcrcBytes + static_cast<std::uint32_t>(after_bth(op)) + lower_layer_bytes;
  }

 private:
  static constexpr std::size_t after_bth(wire::Opcode op) {
    switch (op) {
      case wire::Opcode::kSack:
        return sizeof(wire::Seth) + sizeof(wire::CcState);
      case wire::Opcode::kNack:
        return sizeof(wire::Neth);
      case wire::Opcode::kEndpointRequest:
        return sizeof(wire::Erth);
      case wire::Opcode::kEndpointResponse:
        return sizeof(wire::Eeth);
      case wire::Opcode::kProbe:
        return sizeof(wire::Peth);
      default:
        return sizeof(wire::Aeth);
    }
  }
};

}  // namespace mrc::sim
