// SPDX-License-Identifier: BSD-3-Clause
// The single-path baseline: reliable connection as RoCE NICs have it, reduced to what a comparison measures.
// Sequence numbers are 64 bits wide: wrapping is not what is measured.
#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"
#include "sim/dcqcn.h"
#include "sim/flow.h"
#include "sim/size_model.h"

namespace mrc::sim {

/// One QP pair, sender to receiver.
struct RcConfig {
  std::uint32_t mtu_bytes = 4096;  ///< payload of a full packet
  /// Unacknowledged payload bytes; 0: what PSNs allow (2^23 packets). RoCE itself has no window.
  std::uint64_t window_bytes = 0;
  std::uint32_t ack_every_pkts = 16;           ///< AckReq on every so many packets, and on a message's last
  Duration timeout{std::int64_t{4096} << 14};  ///< 4.096 us x 2^14, as most drivers ask for
  std::uint32_t retries = 7;                   ///< timeouts in a row without progress; one more is an error
  std::optional<DcqcnParams> dcqcn;            ///< none: only the window limits
};

enum class RcKind : std::uint8_t { kData, kAck, kNak, kCnp };

/// One packet on its way.
struct RcPacket {
  RcKind kind = RcKind::kData;
  bool first = false;  ///< of its message: has RETH
  bool last = false;
  bool ack_req = false;
  bool rtx = false;          ///< sent before
  std::uint64_t seq = 0;     ///< data: its number; ACK and NAK: the next one expected, all before are in
  std::uint64_t source = 0;  ///< address of the payload; what arrives is checked against it
  std::uint32_t payload_bytes = 0;
};

/// Bytes of a link that it takes; headers of RoCEv2 unless the model fixes them.
constexpr std::uint32_t rc_wire_bytes(const SizeModel& sizes, const RcPacket& p) {
  if (p.kind == RcKind::kData) {
    if (sizes.data_overhead_bytes != 0) return p.payload_bytes + sizes.data_overhead_bytes;
    const std::uint32_t reth_bytes = p.first ? sizeof(wire::Reth) : 0;
    return p.payload_bytes + wire::pad_bytes(p.payload_bytes) + kUdpBthIcrcBytes + reth_bytes +
           sizes.lower_layer_bytes;
  }
  if (sizes.control_bytes != 0) return sizes.control_bytes;
  constexpr std::uint32_t kCnpBytes = 16;  // reserved, all of them
  return kUdpBthIcrcBytes + (p.kind == RcKind::kCnp ? kCnpBytes : std::uint32_t{sizeof(wire::Aeth)}) +
         sizes.lower_layer_bytes;
}

struct RcCounters {
  std::uint64_t tx_new = 0;
  std::uint64_t tx_rtx = 0;
  std::uint64_t go_backs = 0;  ///< NAKs that moved the sender back
  std::uint64_t timeouts = 0;
  std::uint64_t rx_cnp = 0;
  std::uint64_t rx_in_order = 0;
  std::uint64_t rx_duplicate = 0;
  std::uint64_t rx_out_of_order = 0;  ///< thrown away
  std::uint64_t rx_ce = 0;
  std::uint64_t tx_ack = 0;
  std::uint64_t tx_nak = 0;
  std::uint64_t tx_cnp = 0;
};

}  // namespace mrc::sim
