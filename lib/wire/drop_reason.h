// SPDX-License-Identifier: BSD-3-Clause
// Why a packet was dropped: one enumeration and one counter name each for the whole product.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace mrc::wire {

/// kNone is success. Wire-level reasons come from lib/wire, host-level ones from whoever runs the transport.
/// Append at the end of a group and to kDropReasonNames; the number is not part of any file format.
enum class DropReason : std::uint8_t {
  kNone,
  // Wire: L2 to UDP
  kTooShort,       ///< the packet ends inside a header
  kHeaderSplit,    ///< a header crosses the end of the first buffer segment
  kEthertype,      ///< neither IPv4 nor IPv6
  kVlanDepth,      ///< more than two tags
  kIpVersion,      ///< version field against the Ethertype, or a header length < 20
  kIpLength,       ///< IP length beyond the packet, or too small for its headers
  kIpChecksum,     ///< IPv4 header checksum
  kFragment,       ///< fragments are not reassembled
  kNotUdp,         ///< another protocol or extension header
  kEncapsulation,  ///< malformed SRH, or a second level of encapsulation
  kEcnInvalid,     ///< outer CE over inner Not-ECT (RFC 6040 4.2)
  kUdpPort,        ///< not an MRC port
  kUdpLength,      ///< UDP length against IP length, or too small for BTH and ICRC
  // Wire: MRC
  kOpcode,         ///< not one of the twelve (C32)
  kTver,           ///< transport header version other than 0
  kPkey,           ///< no matching partition
  kLength,         ///< length does not fit the opcode
  kTrimmedOpcode,  ///< DSCP says trimmed, opcode is no Write
  kIcrc,
  // Host
  kNotForUs,      ///< destination MAC or IP of someone else
  kUnknownQp,     ///< no such QP, or an old generation of it
  kQpState,       ///< the QP is not ready to receive
  kNoWorker,      ///< hand-over ring to the home worker was full
  kTxRingFull,    ///< a reply found no transmit descriptor
  kControlShare,  ///< the reserved share for control packets was used up
  kNoMbuf,
  kAccess,  ///< rkey or bounds; a NAK answers it
  kOutOfWindow,
  kDuplicate,
  kTrimIgnored,  ///< trimmed, and TRIM_NACK is off
  kPortDown,
  kFault,      ///< impairment on purpose
  kQueueFull,  ///< a switch queue of the fabric
  kCount
};
inline constexpr std::size_t kDropReasons = static_cast<std::size_t>(DropReason::kCount);

inline constexpr std::array<std::string_view, kDropReasons> kDropReasonNames = {
    "none",           "too_short",     "header_split", "ethertype",  "vlan_depth",    "ip_version",
    "ip_length",      "ip_checksum",   "fragment",     "not_udp",    "encapsulation", "ecn_invalid",
    "udp_port",       "udp_length",    "opcode",       "tver",       "pkey",          "length",
    "trimmed_opcode", "icrc",          "not_for_us",   "unknown_qp", "qp_state",      "no_worker",
    "tx_ring_full",   "control_share", "no_mbuf",      "access",     "out_of_window", "duplicate",
    "trim_ignored",   "port_down",     "fault",        "queue_full",
};
static_assert(!kDropReasonNames.back().empty(), "one name for every reason");

/// The counter name: snake_case, stable.
constexpr std::string_view to_name(DropReason r) {
  const auto i = static_cast<std::size_t>(r);
  return i < kDropReasons ? kDropReasonNames[i] : std::string_view("invalid");
}

/// One counter a reason. One writer.
class DropCounters {
 public:
  void add(DropReason r, std::uint64_t n = 1) { n_[static_cast<std::size_t>(r)] += n; }
  [[nodiscard]] std::uint64_t operator[](DropReason r) const { return n_[static_cast<std::size_t>(r)]; }
  /// Everything but kNone.
  [[nodiscard]] std::uint64_t total() const {
    std::uint64_t sum = 0;
    for (std::size_t i = 1; i < kDropReasons; ++i) sum += n_[i];
    return sum;
  }

 private:
  std::array<std::uint64_t, kDropReasons> n_{};
};

}  // namespace mrc::wire
