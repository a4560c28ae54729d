// SPDX-License-Identifier: BSD-3-Clause
// Layouts of every header on the wire: L2 to UDP, and BTH .. EETH of MRC (chapter 1 of SPECIFICATION.md).
// Bit fields are plain integers with named shifts: no compiler decides a layout here.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wire/big_endian.h"

namespace mrc::wire {

// ---- Ethernet, IP, UDP ----------------------------------------------------------------------------------

inline constexpr std::uint16_t kEthertypeIpv4 = 0x0800;
inline constexpr std::uint16_t kEthertypeIpv6 = 0x86DD;
inline constexpr std::uint16_t kEthertypeVlan = 0x8100;     ///< 802.1Q
inline constexpr std::uint16_t kEthertypeQinq = 0x88A8;     ///< 802.1ad
inline constexpr std::uint16_t kEthertypeQinqOld = 0x9100;  ///< before 802.1ad
/// A tag and another EtherType follow.
constexpr bool is_vlan(std::uint32_t ethertype) {
  return ethertype == kEthertypeVlan || ethertype == kEthertypeQinq || ethertype == kEthertypeQinqOld;
}
inline constexpr std::uint8_t kProtoUdp = 17;
inline constexpr std::uint8_t kProtoIpv6 = 41;
inline constexpr std::uint8_t kProtoRouting = 43;
inline constexpr std::uint8_t kProtoFragment = 44;

struct EthernetHeader {
  std::uint8_t dst[6];
  std::uint8_t src[6];
  Be16 ethertype;
};
struct VlanTag {
  Be16 tci;
  Be16 ethertype;
};
struct Ipv4Header {
  std::uint8_t version_ihl;
  std::uint8_t tos;
  Be16 total_length;
  Be16 id;
  Be16 flags_fragment;  ///< DF 0x4000, MF 0x2000, offset 0x1FFF
  std::uint8_t ttl;
  std::uint8_t protocol;
  Be16 checksum;
  std::uint8_t src[4];
  std::uint8_t dst[4];
};
struct Ipv6Header {
  Be32 version_tc_flow;  ///< 4, 8, 20 bits
  Be16 payload_length;
  std::uint8_t next_header;
  std::uint8_t hop_limit;
  std::uint8_t src[16];
  std::uint8_t dst[16];
};
/// Segment routing header (RFC 8754) with exactly one segment, as MRC's SRv6 + SRH format has it (C8).
struct SrhHeader {
  std::uint8_t next_header;
  std::uint8_t length;  ///< units of 8 bytes behind the first 8
  std::uint8_t routing_type;
  std::uint8_t segments_left;
  std::uint8_t last_entry;
  std::uint8_t flags;
  Be16 tag;
  std::uint8_t segment[16];
};
inline constexpr std::uint8_t kSrhRoutingType = 4;
struct UdpHeader {
  Be16 sport;
  Be16 dport;
  Be16 length;
  Be16 checksum;
};

static_assert(sizeof(EthernetHeader) == 14 && offsetof(EthernetHeader, ethertype) == 12);
static_assert(sizeof(VlanTag) == 4);
static_assert(sizeof(Ipv4Header) == 20 && offsetof(Ipv4Header, checksum) == 10);
static_assert(offsetof(Ipv4Header, src) == 12 && offsetof(Ipv4Header, dst) == 16);
static_assert(sizeof(Ipv6Header) == 40 && offsetof(Ipv6Header, next_header) == 6);
static_assert(offsetof(Ipv6Header, src) == 8 && offsetof(Ipv6Header, dst) == 24);
static_assert(sizeof(SrhHeader) == 24 && offsetof(SrhHeader, segment) == 8);
static_assert(sizeof(UdpHeader) == 8 && offsetof(UdpHeader, checksum) == 6);

// ---- MRC ------------------------------------------------------------------------------------------------

/// Base transport header (T6-3/6-4, T7-10/7-11).
struct Bth {
  std::uint8_t opcode;
  std::uint8_t flags;  ///< se 0x80, m 0x40 (IBTA order, C2), pad 0x30, tver 0x0F
  Be16 pkey;
  std::uint8_t variant;  ///< reserved, masked in the ICRC
  Be24 dqp;
  std::uint8_t a_rtx_ts;  ///< a 0x80, rtx 0x20, ts 0x10, rest reserved
  Be24 psn;
};
inline constexpr std::uint8_t kBthSe = 0x80;
inline constexpr std::uint8_t kBthM = 0x40;
inline constexpr unsigned kBthPadShift = 4;
inline constexpr std::uint8_t kBthTverMask = 0x0F;
inline constexpr std::uint8_t kBthA = 0x80;
inline constexpr std::uint8_t kBthRtx = 0x20;
inline constexpr std::uint8_t kBthTs = 0x10;

struct Meth {  ///< T6-8/6-9
  Be16 rqmsn;
  Be16 msn;
};
/// Timestamp word, shared by TSETH (T6-6/6-7), PETH and ERTH.
struct Tseth {
  Be16 tx_timestamp;
  Be16 tsr_ftype;  ///< tsr 0x8000, ftype 0x000F
};
inline constexpr std::uint16_t kTsr = 0x8000;
inline constexpr std::uint16_t kFtypeMask = 0x000F;
inline constexpr std::uint16_t kFtypeTimestamp = 0x0001;
struct Reth {  ///< T6-5
  Be64 va;
  Be32 rkey;
  Be32 dmalen;
};
struct Immdt {
  Be32 immdt;
};
struct Aeth {  ///< section 1.4
  std::uint8_t syndrome;
  Be24 msn;
};
struct Seth {  ///< T7-14/7-15
  std::uint8_t type_nxt;
  std::uint8_t m_pr;  ///< m 0x60, pr 0x02
  Be16 ack_psn_offset;
  Be32 entropy;
  Be16 spdcid;
  Be16 dpdcid;
  std::uint8_t reserved;
  Be24 cack_psn;
  std::uint8_t cc_type_fl;  ///< cc_type 0xF0, cc_fl 0x0F
  std::uint8_t mpr;
  Be16 sack_offset;
  Be64 sack_bitmap;
};
inline constexpr unsigned kSethMShift = 5;
inline constexpr std::uint8_t kSethPr = 0x02;
struct CcState {  ///< T7-12/7-13
  Be16 tx_timestamp;
  Be16 ooo_count;            ///< 15 bits
  std::uint8_t restore_pen;  ///< restore_cwnd 0x80, rcv_cwnd_pen 0x7F
  Be24 rcvd_bytes;
};
inline constexpr std::uint8_t kCcRestore = 0x80;
struct Neth {  ///< T7-16/7-17
  Be16 type_nxt;
  std::uint8_t nack_reason;
  std::uint8_t vendor_info;
  Be32 entropy;
  Be16 spdcid;
  Be16 dpdcid;
  std::uint8_t reserved;
  Be24 nack_psn;
  std::uint8_t cc_type_fl;
  std::uint8_t reserved2;
  Be16 tx_timestamp;
};
struct Peth {  ///< T7-18/7-19
  Be16 type_nh;
  std::uint8_t reserved;
  std::uint8_t vendor_info;
  Be16 probe_id;
  Be16 reserved2;
  Be16 spdcid;
  Be16 dpdcid;
  Tseth timestamp;
};
struct Erth {  ///< T7-20/7-21
  std::uint8_t type_nxt;
  std::uint8_t op;  ///< 0x03
  std::uint8_t reserved;
  std::uint8_t vendor_info;
  Be32 port_status_mask;
  Be32 reserved2;
  Tseth timestamp;
};
inline constexpr std::uint8_t kErthOpMask = 0x03;
struct Eeth {  ///< T7-22/7-23
  std::uint8_t type_nxt;
  std::uint8_t op;  ///< 0x0C (C5)
  std::uint8_t reserved[26];
  Be16 tx_timestamp;
  std::uint8_t reserved2[6];
};
inline constexpr unsigned kEethOpShift = 2;

static_assert(sizeof(Bth) == 12 && offsetof(Bth, dqp) == 5 && offsetof(Bth, a_rtx_ts) == 8);
static_assert(offsetof(Bth, psn) == 9);
static_assert(sizeof(Meth) == 4 && offsetof(Meth, msn) == 2);
static_assert(sizeof(Tseth) == 4 && offsetof(Tseth, tsr_ftype) == 2);
static_assert(sizeof(Reth) == 16 && offsetof(Reth, rkey) == 8 && offsetof(Reth, dmalen) == 12);
static_assert(sizeof(Immdt) == 4);
static_assert(sizeof(Aeth) == 4 && offsetof(Aeth, msn) == 1);
static_assert(sizeof(Seth) == 28 && offsetof(Seth, entropy) == 4 && offsetof(Seth, spdcid) == 8);
static_assert(offsetof(Seth, cack_psn) == 13 && offsetof(Seth, cc_type_fl) == 16);
static_assert(offsetof(Seth, mpr) == 17 && offsetof(Seth, sack_offset) == 18);
static_assert(offsetof(Seth, sack_bitmap) == 20);
static_assert(sizeof(CcState) == 8 && offsetof(CcState, restore_pen) == 4);
static_assert(offsetof(CcState, rcvd_bytes) == 5);
static_assert(sizeof(Neth) == 20 && offsetof(Neth, entropy) == 4 && offsetof(Neth, nack_psn) == 13);
static_assert(offsetof(Neth, cc_type_fl) == 16 && offsetof(Neth, tx_timestamp) == 18);
static_assert(sizeof(Peth) == 16 && offsetof(Peth, probe_id) == 4 && offsetof(Peth, spdcid) == 8);
static_assert(offsetof(Peth, timestamp) == 12);
static_assert(sizeof(Erth) == 16 && offsetof(Erth, port_status_mask) == 4);
static_assert(offsetof(Erth, timestamp) == 12);
static_assert(sizeof(Eeth) == 36 && offsetof(Eeth, tx_timestamp) == 28);

// ---- Sizes ----------------------------------------------------------------------------------------------

inline constexpr std::uint32_t kIcrcBytes = 4;
inline constexpr std::uint32_t kSackBytes = sizeof(Bth) + sizeof(Seth) + sizeof(CcState);
inline constexpr std::uint32_t kNackBytes = sizeof(Bth) + sizeof(Neth);
inline constexpr std::uint32_t kAckBytes = sizeof(Bth) + sizeof(Aeth);
inline constexpr std::uint32_t kProbeBytes = sizeof(Bth) + sizeof(Peth);
inline constexpr std::uint32_t kEndpointRequestBytes = sizeof(Bth) + sizeof(Erth);
inline constexpr std::uint32_t kEndpointResponseBytes = sizeof(Bth) + sizeof(Eeth);
/// L2 to UDP at its longest: Ethernet, two tags, outer IPv6, SRH, inner IPv6, UDP.
inline constexpr std::uint32_t kMaxPrefixBytes = 14 + 2 * 4 + 40 + 24 + 40 + 8;
inline constexpr std::uint32_t kMaxWriteHeaderBytes = 12 + 4 + 4 + 16 + 4;
/// Room that headers need before a payload. Packet buffers put the payload at kPayloadOffset.
inline constexpr std::uint32_t kMaxHeaderBytes = kMaxPrefixBytes + kMaxWriteHeaderBytes;
inline constexpr std::uint32_t kPayloadOffset = 256;
/// Behind the payload: pad and ICRC.
inline constexpr std::uint32_t kMaxTrailerBytes = 3 + kIcrcBytes;
static_assert(kMaxHeaderBytes == 174 && kMaxHeaderBytes <= kPayloadOffset);

/// BTH dqp of Endpoint Requests and Responses (T7-6).
inline constexpr std::uint32_t kEndpointDqp = 2;
inline constexpr std::uint32_t kQpnMask = 0xFFFFFF;

}  // namespace mrc::wire
