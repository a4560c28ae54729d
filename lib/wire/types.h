// SPDX-License-Identifier: BSD-3-Clause
// The vocabulary of the wire: opcodes, codes and the decoded views that the transport works on.
// Layouts live in headers.h; this header has no byte order in it. Source: MRC 1.0 chapters 1.1 - 1.15 of
// SPECIFICATION.md.
#pragma once

#include <array>
#include <cstdint>

#include "base/serial.h"
#include "base/time.h"

namespace mrc::wire {

inline constexpr std::uint16_t kUdpPortRoce = 4791;
inline constexpr std::uint16_t kUdpPortPrinted = 4971;  ///< C1: as MRC 7.5.5.2 prints it
/// Source ports of RoCEv2 are dynamic ones (RFC 6335).
inline constexpr std::uint16_t kFirstDynamicPort = 0xC000;
inline constexpr std::uint32_t kDynamicPorts = 0x10000 - kFirstDynamicPort;
inline constexpr std::uint16_t kDefaultPkey = 0xFFFF;  ///< C4: full member of the default partition

/// BTH opcodes of MRC (section 1.1). Anything else is DropReason::kOpcode.
enum class Opcode : std::uint8_t {
  kWriteFirst = 0xC6,
  kWriteMiddle = 0xC7,
  kWriteLast = 0xC8,
  kWriteLastImm = 0xC9,
  kWriteOnly = 0xCA,
  kWriteOnlyImm = 0xCB,
  kAck = 0xD1,
  kEndpointRequest = 0xD8,
  kEndpointResponse = 0xD9,
  kSack = 0xDC,
  kNack = 0xDD,
  kProbe = 0xDE,
};

/// One of the twelve?
constexpr bool is_opcode(std::uint8_t code) {
  constexpr std::uint32_t kDefined = 0x3FU << 6 | 1U << 0x11 | 3U << 0x18 | 7U << 0x1C;  // low five bits
  return code >> 5 == 6 && (kDefined >> (code & 0x1F) & 1U) != 0;
}
constexpr bool is_write(Opcode op) {
  return op >= Opcode::kWriteFirst && op <= Opcode::kWriteOnlyImm;
}
constexpr bool has_immediate(Opcode op) {
  return op == Opcode::kWriteLastImm || op == Opcode::kWriteOnlyImm;
}
constexpr bool is_first(Opcode op) {
  return op == Opcode::kWriteFirst || op == Opcode::kWriteOnly || op == Opcode::kWriteOnlyImm;
}
constexpr bool is_last(Opcode op) {
  return op >= Opcode::kWriteLast && op <= Opcode::kWriteOnlyImm;
}

/// NETH.nack_reason (T7-3).
enum class NackReason : std::uint8_t {
  kTrimmed = 0x01,
  kTrimmedLasthop = 0x02,
  kNoBitmap = 0x06,
  kNoPktBuffer = 0x07,
  kNoResource = 0x0A,
  kPsnOorWindow = 0x0B,
  kUnexpEvent = 0x19,
};

/// AETH.syndrome: 0x1F acknowledges, 0x60.. are NAKs (section 1.4).
enum class Syndrome : std::uint8_t {
  kAck = 0x1F,
  kInvalidRequest = 0x61,
  kRemoteAccess = 0x62,
  kRemoteOperational = 0x63,
};

/// SETH.m: what the responder says of the EV it reflects.
enum class EvMark : std::uint8_t { kNone = 0, kSkipOnce = 1, kAlwaysSkip = 2, kReserved = 3 };

/// ERTH.op / EETH.op, the wire codes.
enum class EndpointOp : std::uint8_t { kPortStatusUpdate = 0, kEvProbe = 1 };

/// Where the halves of a 32-bit EV travel (C7). kB (default): high half in the UDP source port, low half in
/// the IPv6 flow label; kA: the other way round.
enum class EntropyOrder : std::uint8_t { kB, kA };

/// The EV as the responder reflects it (3.5). Parts that the packet does not have are 0.
constexpr std::uint32_t entropy_of(EntropyOrder order, std::uint16_t udp_sport, std::uint32_t flow_label) {
  const std::uint32_t flow = flow_label & 0xFFFF;
  return order == EntropyOrder::kB ? (std::uint32_t{udp_sport} << 16) | flow : (flow << 16) | udp_sport;
}
/// And back: the fields that carry a 32-bit EV.
struct EntropyFields {
  std::uint16_t udp_sport;
  std::uint16_t flow_label;
};
constexpr EntropyFields fields_of(EntropyOrder order, std::uint32_t entropy) {
  const auto high = static_cast<std::uint16_t>(entropy >> 16);
  const auto low = static_cast<std::uint16_t>(entropy);
  return order == EntropyOrder::kB ? EntropyFields{high, low} : EntropyFields{low, high};
}
static_assert(fields_of(EntropyOrder::kB, 0x12345678).udp_sport == 0x1234);
static_assert(fields_of(EntropyOrder::kA, 0x12345678).udp_sport == 0x5678);

/// DSCP classes (section 1.15). The numbers are configuration; see DscpMap in dscp.h.
enum class DscpClass : std::uint8_t {
  kNoTrim,
  kTrimmable,
  kTrimmableRetx,
  kTrimmed,
  kTrimmedLasthop,
  kControl
};

/// What a switch cut from a packet, told by DSCP alone, before length and ICRC are looked at (1.14).
enum class Trim : std::uint8_t { kNone, kTrimmed, kTrimmedLasthop };

/// What arrived with a packet besides its bytes.
struct RxMeta {
  Time arrival;               ///< local clock
  std::uint32_t entropy = 0;  ///< the EV as the responder reflects it (3.5), order per C7
  std::uint8_t port = 0;      ///< plane it came in on, from 0
  bool ce = false;            ///< ECN-CE, outer or inner (RFC 6040)
  Trim trim = Trim::kNone;
};

/// BTH without dqp, which the host has used to find the QP.
struct BthView {
  Opcode opcode{};
  bool se = false;   ///< solicited event
  bool a = false;    ///< AckReq
  bool rtx = false;  ///< a retransmission; in a SACK: its trigger was one (C41)
  bool ts = false;   ///< TSETH follows METH
  Psn psn;
  friend bool operator==(const BthView&, const BthView&) = default;
};

/// A Write request, opcodes C6..CB. Lengths in bytes.
struct WriteView {
  BthView bth;
  Rqmsn rqmsn;  ///< meaningful for messages with immediate only
  Msn msn;
  Tick tx_timestamp;  ///< 0 when bth.ts is false or the ftype is not 1 (C12); opaque, reflected
  std::uint64_t va = 0;
  std::uint32_t rkey = 0;
  std::uint32_t dmalen = 0;         ///< of the whole message
  std::uint32_t immdt = 0;          ///< valid for has_immediate(opcode)
  std::uint32_t payload_bytes = 0;  ///< carried by this packet: all bytes after the headers less BTH.pad
  std::uint32_t pad_bytes = 0;      ///< BTH.pad
  std::uint32_t nominal_bytes = 0;  ///< UDP length + 40 (MRC 8.3.1, C25)
  bool tsr = false;                 ///< timestamp resolution bit of TSETH; 0 = 128 ns
  friend bool operator==(const WriteView&, const WriteView&) = default;
};

/// What is left of a trimmed Write: BTH always, METH and TSETH when the cut left them.
struct TrimmedView {
  BthView bth;
  Tick tx_timestamp;  ///< 0 when absent
};

/// Reliability SACK: SETH and CC_STATE (1.5).
struct SackView {
  bool rtx = false;  ///< BTH.rtx
  EvMark m = EvMark::kNone;
  bool pr = false;                  ///< answers a probe: ack_psn_offset carries the probe id
  std::int16_t ack_psn_offset = 0;  ///< raw 16 bits; probe_id() when pr
  std::uint32_t entropy = 0;
  std::uint16_t spdcid = 0;
  std::uint16_t dpdcid = 0;
  Psn cack_psn;
  std::uint8_t cc_type = 0;
  std::uint8_t cc_fl = 0;
  std::uint8_t mpr = 0;  ///< units of 128 PSNs
  std::int16_t sack_offset = 0;
  std::uint64_t sack_bitmap = 0;  ///< bit i (LSB = 0) <-> PSN cack_psn + sack_offset + i
  Tick tx_timestamp;
  std::uint16_t ooo_count = 0;  ///< 15 bits
  bool restore_cwnd = false;
  std::uint8_t rcv_cwnd_pen = 0;  ///< 7 bits
  RcvdUnits rcvd_bytes;           ///< units of 256 B

  [[nodiscard]] std::uint16_t probe_id() const { return static_cast<std::uint16_t>(ack_psn_offset); }
  [[nodiscard]] Psn ack_psn() const { return cack_psn + ack_psn_offset; }
  [[nodiscard]] Psn sack_base() const { return cack_psn + sack_offset; }
  friend bool operator==(const SackView&, const SackView&) = default;
};

/// Reliability NACK (1.6). `reason` is the raw code: unknown ones are counted and ignored (C32).
struct NackView {
  NackReason reason{};
  std::uint8_t vendor_info = 0;
  std::uint32_t entropy = 0;
  std::uint16_t spdcid = 0;
  std::uint16_t dpdcid = 0;
  Psn nack_psn;
  std::uint8_t cc_type = 2;  ///< C11
  std::uint8_t cc_fl = 0;
  Tick tx_timestamp;
  friend bool operator==(const NackView&, const NackView&) = default;
};

/// Transport ACK or NAK (1.4).
struct AckView {
  Psn psn;  ///< BTH.psn
  std::uint8_t syndrome = 0;
  std::uint32_t msn = 0;  ///< 24 bits: messages completed
  [[nodiscard]] bool is_ack() const { return syndrome < 0x20; }
  friend bool operator==(const AckView&, const AckView&) = default;
};

/// Reliability Probe request (1.7).
struct ProbeView {
  std::uint8_t vendor_info = 0;
  std::uint16_t probe_id = 0;
  std::uint16_t spdcid = 0;
  std::uint16_t dpdcid = 0;
  Tick tx_timestamp;
  bool tsr = false;
  bool has_timestamp = true;  ///< ftype == 1 (C12)
  friend bool operator==(const ProbeView&, const ProbeView&) = default;
};

/// Endpoint Request (1.8), dqp 2.
struct EndpointRequestView {
  std::uint16_t request_id = 0;  ///< BTH.psn[15:0]
  EndpointOp op{};
  std::uint8_t vendor_info = 0;
  std::uint32_t port_status_mask = 0;
  Tick tx_timestamp;
  bool tsr = false;
  bool has_timestamp = true;
  friend bool operator==(const EndpointRequestView&, const EndpointRequestView&) = default;
};

/// Endpoint Response (1.8), dqp 2.
struct EndpointResponseView {
  std::uint16_t request_id = 0;
  EndpointOp op{};
  Tick tx_timestamp;
  friend bool operator==(const EndpointResponseView&, const EndpointResponseView&) = default;
};

}  // namespace mrc::wire
