// SPDX-License-Identifier: BSD-3-Clause
// What goes in and out of the transport. Plain values; nothing here points into the transport or into the
// machine.
#pragma once

#include <array>
#include <cstdint>
#include <limits>

#include "base/limits.h"
#include "base/serial.h"
#include "base/time.h"
#include "path/ev_set.h"
#include "wire/types.h"

namespace mrc::transport {

/// QP states (2.6). SQD does not exist in MRC.
enum class QpState : std::uint8_t { kReset, kInit, kRtr, kRts, kError };

/// Completion status; the names of ibv_wc_status (2.5).
enum class WcStatus : std::uint8_t {
  kSuccess,
  kLocLenErr,
  kWrFlushErr,
  kRemInvReqErr,
  kRemAccessErr,
  kRemOpErr,
  kRetryExcErr,
};

enum class WrOpcode : std::uint8_t { kRdmaWrite, kRdmaWriteWithImm };

/// A posted request. `local` is opaque to the transport: the host's handle of the source (an address, for
/// lib/nic).
struct WorkRequest {
  std::uint64_t wr_id = 0;
  WrOpcode opcode = WrOpcode::kRdmaWrite;
  bool solicited = false;
  std::uint32_t length_bytes = 0;  ///< <= kMaxMessageBytes
  std::uint32_t rkey = 0;
  std::uint64_t local = 0;
  std::uint64_t remote_va = 0;
  std::uint32_t immdt = 0;
};

/// A posted receive: WriteIMM consumes one; no buffer, the data went to the WriteIMM's own address.
struct RecvRequest {
  std::uint64_t wr_id = 0;
};

enum class PostResult : std::uint8_t { kOk, kQueueFull, kBadState, kTooLong };

enum class WcOpcode : std::uint8_t { kRdmaWrite, kRecvRdmaWithImm };

/// Exactly one per posted request and receive, in order (D17).
struct Completion {
  std::uint64_t wr_id = 0;
  WcStatus status = WcStatus::kSuccess;
  WcOpcode opcode = WcOpcode::kRdmaWrite;
  bool solicited = false;
  std::uint32_t byte_len = 0;
  std::uint32_t immdt = 0;
};

/// One Write packet to send: what, not how. The host reads payload_bytes at `source`, encodes, seals and
/// transmits.
struct TxDesc {
  std::uint64_t source = 0;  ///< WorkRequest.local + offset
  std::uint64_t va = 0;      ///< RETH.va of this packet
  std::uint32_t rkey = 0;
  std::uint32_t dmalen = 0;
  std::uint32_t immdt = 0;
  Psn psn;
  Msn msn;
  Rqmsn rqmsn;
  Tick tx_timestamp;
  std::uint16_t payload_bytes = 0;
  path::EvIndex ev = path::kNoEv;
  std::uint8_t port = 0;
  wire::Opcode opcode{};
  wire::DscpClass dscp = wire::DscpClass::kTrimmable;
  bool se : 1 = false;
  bool a : 1 = false;
  bool rtx : 1 = false;
  bool ts : 1 = false;  ///< TSETH present
};
static_assert(sizeof(TxDesc) <= 64);

/// One control packet to send. `ev` is an EV of the QP's own table; kNoEv: use `entropy` of the trigger
/// (C30).
struct ControlDesc {
  /// kSack, kNack, kAck or kProbe, to the peer's QP; kEndpointRequest and kEndpointResponse to its endpoint
  /// (dqp 2): an EV Probe of a QP, whose request_id is the QP's own, or what the host itself has to say.
  wire::Opcode opcode{};
  std::uint8_t port = 0;
  path::EvIndex ev = path::kNoEv;
  wire::DscpClass dscp = wire::DscpClass::kControl;
  std::uint32_t entropy = 0;
  union {
    wire::SackView sack;
    wire::NackView nack;
    wire::AckView ack;
    wire::ProbeView probe;
    wire::EndpointRequestView request;
    wire::EndpointResponseView response;
  };
  ControlDesc() : sack{} {}
};

/// What the host can still hand to each port in this call. The transport takes one credit per packet.
struct PortCredits {
  std::array<std::uint16_t, kMaxPlanes> credits{};
  std::uint32_t up_mask = 0;  ///< bit p: the link of port p is up

  [[nodiscard]] std::uint32_t free_mask() const {
    std::uint32_t m = 0;
    for (std::size_t p = 0; p < kMaxPlanes; ++p) m |= (credits[p] != 0 ? 1U : 0U) << p;
    return m & up_mask;
  }
};

/// The host's answer to "may this Write touch that memory" (3.3): rkey known, remote write allowed, [va,
/// va+len) inside; and can it be taken now. The host checks before on_write, so that a failing packet is
/// never marked received (D17).
enum class Access : std::uint8_t {
  kOk,
  kDenied,       ///< NAK 0x62
  kNoPktBuffer,  ///< short of buffers just now: NACK 0x07, the peer sends it again (T7-3)
  kNoResource,   ///< ... of anything else it takes: NACK 0x0A
  kUnexpEvent,   ///< the host failed and will not recover: NACK 0x19 ends the peer's QP
};

/// What the host does with a Write that arrived.
enum class WriteVerdict : std::uint8_t {
  kPlace,      ///< copy the payload to RETH.va, then placed(psn); or place_failed(psn)
  kDuplicate,  ///< touch nothing
  kDrop,       ///< touch nothing; counted
  kError,      ///< touch nothing; a NAK follows when its turn comes
};

/// When the host must come back. Read it after a batch of events.
struct Wake {
  bool tx_ready = false;       ///< next_packets may give something
  bool control_ready = false;  ///< next_control has something
  Time deadline = Time::never();
};

/// Why something was retransmitted.
enum class RtxCause : std::uint8_t {
  kNackTrimmed,
  kNackResource,
  kNackWindow,
  kInferredLoss,
  kEvFlush,
  kAckTimeout,
  kTailRepeat,
  kPlaneDown,  ///< its plane was given up, or its port went down here or at the peer (D9)
};
inline constexpr std::size_t kRtxCauses = 8;

/// Monotone counters of one QP, read by the owner. Packets unless a unit is named.
struct QpCounters {
  // Requestor
  std::uint64_t tx_new = 0;
  std::uint64_t tx_rtx = 0;
  std::array<std::uint64_t, kRtxCauses> rtx_by_cause{};
  std::uint64_t tx_payload_bytes = 0;  ///< new packets only
  std::uint64_t tx_probe = 0;
  std::uint64_t rx_sack = 0;
  std::uint64_t rx_sack_range = 0;  ///< dropped: D6 rule 1
  std::uint64_t rx_sack_old = 0;
  std::uint64_t rx_nack = 0;
  std::array<std::uint64_t, 8> rx_nack_by_reason{};  ///< in order of NackReason, last: unknown
  std::uint64_t rx_nack_stale = 0;                   ///< PSN known received or never sent
  std::uint64_t rx_ack = 0;
  std::uint64_t rx_ack_range = 0;
  std::uint64_t rx_ack_msn_mismatch = 0;
  std::uint64_t rx_nak = 0;
  std::uint64_t timer_expiries = 0;  ///< of the oldest packet, the tail or a stall: what counts for k (D13)
  std::uint64_t spurious_rtx = 0;    ///< the transmission given up arrived (D9)
  std::uint64_t wimm_stalls = 0;     ///< times the WriteIMM limit held back sending
  // Responder
  std::uint64_t rx_write = 0;
  std::uint64_t rx_placed = 0;
  std::uint64_t rx_placed_bytes = 0;
  std::uint64_t rx_duplicate = 0;
  std::uint64_t rx_out_of_window = 0;
  std::uint64_t rx_trimmed = 0;
  std::uint64_t rx_trimmed_ignored = 0;  ///< TRIM_NACK off
  std::uint64_t rx_bad_state = 0;
  std::uint64_t rx_invalid = 0;  ///< malformed requests, NAK 0x61
  std::uint64_t rx_access = 0;   ///< NAK 0x62
  std::uint64_t rx_ce = 0;
  std::uint64_t rx_probe = 0;
  std::uint64_t rx_rqmsn_mismatch = 0;
  std::uint64_t tx_ev_probe = 0;   ///< EV Probes for our reverse EVs (D19)
  std::uint64_t rx_ev_answer = 0;  ///< of these, answered, late or not
  std::uint64_t tx_sack = 0;
  std::uint64_t tx_sack_penalty = 0;  ///< of these, with a penalty (6.5)
  std::uint64_t tx_nack = 0;
  std::uint64_t tx_ack = 0;
  std::uint64_t tx_nak = 0;
  std::uint64_t control_overflow =
      0;  ///< SACKs and NACKs that found the queue full: a limit, not a loss of state
};

}  // namespace mrc::transport
