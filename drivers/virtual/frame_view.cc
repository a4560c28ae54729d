// SPDX-License-Identifier: BSD-3-Clause
#include "virtual/frame_view.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <optional>
#include <span>

#include "base/rng.h"
#include "wire/headers.h"

namespace mrc::virt {

namespace {

constexpr std::array<std::uint8_t, 2> kMacPrefix = {0x02, 0x6D};  // locally administered, unicast
constexpr unsigned kTosShiftV6 = 20;

std::span<std::uint8_t> first_segment(rte_mbuf* m) {
  return {rte_pktmbuf_mtod(m, std::uint8_t*), rte_pktmbuf_data_len(m)};
}

fabric::Kind kind_of(const wire::FrameView& f) {
  using wire::Opcode;
  if (wire::is_write(f.bth.opcode)) {
    return f.bth.rtx ? fabric::Kind::kRetransmission : fabric::Kind::kData;
  }
  if (f.bth.opcode == Opcode::kProbe || f.bth.opcode == Opcode::kEndpointRequest) return fabric::Kind::kProbe;
  return fabric::Kind::kControl;
}

fabric::Address load_address(const std::uint8_t* p) {
  return {wire::load_be64(p), wire::load_be64(p + 8)};
}
void store_be64(std::uint8_t* p, std::uint64_t v) {
  const wire::Be64 be(v);
  std::memcpy(p, &be, sizeof be);
}
void store_address(std::uint8_t* p, fabric::Address a) {
  store_be64(p, a.hi);
  store_be64(p + 8, a.lo);
}

/// ECMP's input besides the source port and label: both addresses of the header that switches see.
std::uint32_t flow_hash(const std::uint8_t* l3, bool ipv6) {
  if (!ipv6) return static_cast<std::uint32_t>(mix64(wire::load_be64(l3 + 12)) >> 32);
  std::uint64_t h = 0;
  for (int i = 8; i < 40; i += 8) h = mix64(h ^ wire::load_be64(l3 + i));
  return static_cast<std::uint32_t>(h >> 32);
}

void read_srv6(const std::uint8_t* frame, const wire::FrameView& f, fabric::Packet& out) {
  out.srv6 = true;
  out.usid = load_address(frame + f.l3_offset + 24);
  if (f.srh_offset == 0) return;
  out.segments_left = frame[f.srh_offset + 3] == 1 ? 1 : 0;
  out.segment = load_address(frame + f.srh_offset + 8);
}

/// Sets TOS or traffic class of the outermost IP header; an IPv4 checksum follows (RFC 1624).
void set_tos(std::uint8_t* l3, std::uint8_t tos) {
  if (l3[0] >> 4 == 6) {
    std::uint32_t word = wire::load_be32(l3);
    word = (word & ~(0xFFU << kTosShiftV6)) | std::uint32_t{tos} << kTosShiftV6;
    const wire::Be32 be(word);
    std::memcpy(l3, &be, sizeof be);
    return;
  }
  const std::uint32_t old_word = wire::load_be16(l3);
  l3[1] = tos;
  const std::uint32_t new_word = wire::load_be16(l3);
  std::uint32_t sum = (~wire::load_be16(l3 + 10) & 0xFFFFU) + (~old_word & 0xFFFFU) + new_word;
  sum = (sum & 0xFFFF) + (sum >> 16);
  sum = (sum & 0xFFFF) + (sum >> 16);
  const wire::Be16 be(static_cast<std::uint16_t>(~sum));
  std::memcpy(l3 + 10, &be, sizeof be);
}

std::uint8_t tos_of(const std::uint8_t* l3) {
  return l3[0] >> 4 == 6 ? static_cast<std::uint8_t>(wire::load_be32(l3) >> kTosShiftV6) : l3[1];
}

/// Where the outermost IP header begins, if there is one within the first segment.
std::optional<std::size_t> find_l3(std::span<const std::uint8_t> frame) {
  std::size_t at = 12;
  while (at + 2 <= frame.size()) {
    const std::uint16_t type = wire::load_be16(frame.data() + at);
    if (!wire::is_vlan(type)) {
      const bool v4 = type == wire::kEthertypeIpv4 && at + 2 + 20 <= frame.size();
      const bool v6 = type == wire::kEthertypeIpv6 && at + 2 + 40 <= frame.size();
      return v4 || v6 ? std::optional(at + 2) : std::nullopt;
    }
    at += 4;
  }
  return std::nullopt;
}

/// Shortens a chain to `bytes`, as a switch cuts: lengths in the headers stay what they were.
void cut(rte_mbuf* m, std::uint32_t bytes) {
  rte_mbuf* segment = m;
  std::uint32_t kept = rte_pktmbuf_data_len(segment);
  std::uint16_t segments = 1;
  while (kept < bytes && segment->next != nullptr) {
    segment = segment->next;
    kept += rte_pktmbuf_data_len(segment);
    ++segments;
  }
  if (kept < bytes) return;  // shorter than that already
  segment->data_len = static_cast<std::uint16_t>(segment->data_len - (kept - bytes));
  if (segment->next != nullptr) rte_pktmbuf_free(segment->next);
  segment->next = nullptr;
  m->pkt_len = bytes;
  m->nb_segs = segments;
}

/// One bit near the end: payload, padding or ICRC, never a header that would send it elsewhere.
void flip_a_bit(rte_mbuf* m) {
  rte_mbuf* last = rte_pktmbuf_lastseg(m);
  if (last->data_len == 0) return;
  const std::uint16_t back = std::min<std::uint16_t>(last->data_len, 6);
  rte_pktmbuf_mtod(last, std::uint8_t*)[last->data_len - back] ^= 0x10;
}

bool is_writable(const rte_mbuf* m) {
  for (; m != nullptr; m = m->next) {
    if (!RTE_MBUF_DIRECT(m) || rte_mbuf_refcnt_read(m) != 1) return false;
  }
  return true;
}

}  // namespace

MacAddress port_mac(fabric::HostId host, std::uint32_t plane) {
  return {{kMacPrefix[0], kMacPrefix[1], static_cast<std::uint8_t>(host >> 16),
           static_cast<std::uint8_t>(host >> 8), static_cast<std::uint8_t>(host),
           static_cast<std::uint8_t>(plane)}};
}

FrameReader::FrameReader(const wire::DecodeOptions& decode, std::uint32_t hosts)
    : decode_(decode), hosts_(hosts) {
  decode_.verify_ip_checksum = false;  // a switch forwards what it cannot mend; the receiver checks
  decode_.check_pkey = false;
  class_of_.fill(wire::DscpClass::kNoTrim);
  for (std::size_t c = 0; c < wire::kDscpClasses; ++c) {
    const auto cls = static_cast<wire::DscpClass>(c);
    class_of_[decode_.dscp.number(cls)] = cls;
  }
}

bool FrameReader::find_destination(const std::uint8_t* frame, fabric::HostId from,
                                   fabric::Packet& out) const {
  if (hosts_ == 2) {
    out.dst_host = 1 - from;
    return true;
  }
  if (std::memcmp(frame, kMacPrefix.data(), kMacPrefix.size()) != 0) return false;
  out.dst_host = std::uint32_t{frame[2]} << 16 | std::uint32_t{frame[3]} << 8 | frame[4];
  return out.dst_host < hosts_;
}

bool FrameReader::read(rte_mbuf* m, fabric::HostId from, fabric::Packet& out) const {
  const std::span<const std::uint8_t> frame = first_segment(m);
  out = fabric::Packet{};
  out.handle = reinterpret_cast<std::uintptr_t>(m);
  out.size_bytes = rte_pktmbuf_pkt_len(m);
  if (frame.size() < sizeof(wire::EthernetHeader) || !find_destination(frame.data(), from, out)) return false;
  wire::FrameView f;
  const bool is_mrc = wire::decode_frame(frame, out.size_bytes, decode_, f) == wire::DropReason::kNone;
  if (f.l3_offset == 0) return true;  // ARP and the like: no class, no entropy
  out.ect = (f.tos & 3) != 0;
  out.dscp = class_of_[f.tos >> 2];
  if (!is_mrc) return true;
  out.kind = kind_of(f);
  out.psn = f.bth.psn.value();
  out.sport = f.udp_sport;
  out.label = static_cast<std::uint16_t>(f.flow_label);
  out.flow = flow_hash(frame.data() + f.l3_offset, f.ipv6);
  if (f.encapsulated) read_srv6(frame.data(), f, out);
  return true;
}

bool write_back(const fabric::Packet& p, const wire::DscpMap& dscp, rte_mempool* pool, rte_mbuf*& m) {
  if (!is_writable(m)) {
    rte_mbuf* copy = rte_pktmbuf_copy(m, pool, 0, UINT32_MAX);
    if (copy == nullptr) return false;
    rte_pktmbuf_free(m);
    m = copy;
  }
  if (p.corrupted) flip_a_bit(m);
  if (p.trimmed()) cut(m, p.size_bytes);
  const std::span<std::uint8_t> frame = first_segment(m);
  const std::optional<std::size_t> at = find_l3(frame);
  if (!at) return true;
  std::uint8_t* l3 = frame.data() + *at;
  std::uint8_t tos = tos_of(l3);
  if (p.trimmed()) tos = static_cast<std::uint8_t>(dscp.number(p.dscp) << 2 | (tos & 3));
  if (p.ce) tos |= static_cast<std::uint8_t>(wire::Ecn::kCe);
  if (tos != tos_of(l3)) set_tos(l3, tos);
  if (!p.srv6) return true;
  l3[7] = static_cast<std::uint8_t>(l3[7] > p.hops ? l3[7] - p.hops : 0);
  store_address(l3 + 24, p.usid);
  const bool has_srh = l3[6] == wire::kProtoRouting && *at + 40 + 8 <= frame.size();
  if (has_srh) l3[40 + 3] = p.segments_left;
  return true;
}

}  // namespace mrc::virt
