// SPDX-License-Identifier: BSD-3-Clause
#include "wire/header_template.h"

#include <cassert>
#include <cstring>
#include <string>

namespace mrc::wire {
namespace {

static_assert(kMaxPrefixBytes <= HeaderTemplate::kScratchBytes);
static_assert(HeaderTemplate::kScratchBytes + kMaxWriteHeaderBytes <= kPayloadOffset);

/// Lays headers one behind another.
class Builder {
 public:
  template <class H>
  void put(const H& h) {
    std::memcpy(buffer_.data() + used_, &h, sizeof h);
    used_ += sizeof h;
  }
  [[nodiscard]] std::span<const std::uint8_t> bytes() const { return {buffer_.data(), used_}; }

 private:
  std::array<std::uint8_t, kMaxPrefixBytes> buffer_{};
  std::size_t used_ = 0;
};

void put_l2(Builder& b, const PathAddress& a) {
  EthernetHeader eth{};
  std::memcpy(eth.dst, a.dst_mac.bytes.data(), 6);
  std::memcpy(eth.src, a.src_mac.bytes.data(), 6);
  const std::uint16_t payload_type = a.ipv6() ? kEthertypeIpv6 : kEthertypeIpv4;
  eth.ethertype = a.vlan_tags > 0 ? a.vlans[0].tpid : payload_type;
  b.put(eth);
  for (std::size_t i = 0; i < a.vlan_tags; ++i) {
    b.put(VlanTag{a.vlans[i].tci, i + 1 < a.vlan_tags ? a.vlans[i + 1].tpid : payload_type});
  }
}

void put_ipv6(Builder& b, const IpAddress& src, const IpAddress& dst, std::uint8_t next_header,
              std::uint8_t hop_limit) {
  Ipv6Header h{};
  h.next_header = next_header;
  h.hop_limit = hop_limit;
  std::memcpy(h.src, src.bytes.data(), 16);
  std::memcpy(h.dst, dst.bytes.data(), 16);
  b.put(h);
}

void put_ipv4(Builder& b, const PathAddress& a) {
  Ipv4Header h{};
  h.version_ihl = 0x45;
  h.flags_fragment = 0x4000;  // DF, and id 0 (RFC 6864)
  h.ttl = a.hop_limit;
  h.protocol = kProtoUdp;
  std::memcpy(h.src, a.src_ip.bytes.data(), 4);
  std::memcpy(h.dst, a.dst_ip.bytes.data(), 4);
  b.put(h);
}

/// SRH in the reduced form: the active segment is the outer destination, the list holds the other (C8).
void put_srh(Builder& b) {
  SrhHeader h{};
  h.next_header = kProtoIpv6;
  h.length = 2;
  h.routing_type = kSrhRoutingType;
  h.segments_left = 1;
  b.put(h);
}

std::uint32_t sum_be16(std::span<const std::uint8_t> bytes) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i + 1 < bytes.size(); i += 2) sum += load_be16(&bytes[i]);
  return sum;
}

}  // namespace

Result<HeaderTemplate> HeaderTemplate::create(const PathAddress& a) {
  if (a.vlan_tags > 2) {
    return Error{"VLAN tags: " + std::to_string(a.vlan_tags) + ", at most 2 (802.1ad + 802.1Q); remove some"};
  }
  if (a.src_ip.v6 != a.dst_ip.v6) {
    return Error{"addresses " + a.src_ip.to_string() + " and " + a.dst_ip.to_string() +
                 ": both must be IPv4 or both IPv6"};
  }
  if (a.encap != Encap::kNone && !a.ipv6()) {
    return Error{
        "SRv6 encapsulation needs IPv6 endpoint addresses, these are IPv4; use the UDP or STEV EV format"};
  }
  Builder b;
  put_l2(b, a);
  if (a.encap != Encap::kNone) {
    put_ipv6(b, a.outer_src_ip, IpAddress{}, a.encap == Encap::kSrv6Srh ? kProtoRouting : kProtoIpv6,
             a.hop_limit);
    if (a.encap == Encap::kSrv6Srh) put_srh(b);
  }
  HeaderTemplate t;
  if (a.ipv6()) {
    put_ipv6(b, a.src_ip, a.dst_ip, kProtoUdp, a.hop_limit);
  } else {
    const std::size_t at = b.bytes().size();
    put_ipv4(b, a);
    t.ipv4_sum_ = sum_be16(b.bytes().subspan(at));
  }
  b.put(UdpHeader{0, a.udp_dport, 0, 0});

  const std::span<const std::uint8_t> bytes = b.bytes();
  std::memcpy(t.bytes_.data() + kScratchBytes - bytes.size(), bytes.data(), bytes.size());
  t.prefix_bytes_ = static_cast<std::uint8_t>(bytes.size());
  t.copy_bytes_ = bytes.size() <= 64 ? 64 : bytes.size() <= 96 ? 96 : kScratchBytes;
  t.ipv6_ = a.ipv6();
  t.encap_ = a.encap;
  t.pkey_ = a.pkey;
  return t;
}

void HeaderTemplate::set_dst_mac(const MacAddress& mac) {
  std::memcpy(bytes_.data() + kScratchBytes - prefix_bytes_, mac.bytes.data(), mac.bytes.size());
}

void HeaderTemplate::patch_ipv6(std::uint8_t* bth, std::uint32_t udp_bytes, std::uint8_t tos,
                                const EvBits& ev) const {
  const std::uint32_t word = 6U << 28 | std::uint32_t{tos} << 20 | (ev.flow_label & 0xFFFFF);
  const auto patch = [word](std::uint8_t* ip, std::uint32_t payload_bytes) {
    store_be32(ip, word);
    store_be16(ip + 4, payload_bytes);
  };
  std::uint8_t* ip = bth - sizeof(UdpHeader) - sizeof(Ipv6Header);
  patch(ip, udp_bytes);
  if (encap_ == Encap::kNone) return;
  // C8: traffic class and flow label are the same outside.
  std::uint32_t outer_payload_bytes = udp_bytes + static_cast<std::uint32_t>(sizeof(Ipv6Header));
  if (encap_ == Encap::kSrv6Srh) {
    ip -= sizeof(SrhHeader);
    outer_payload_bytes += sizeof(SrhHeader);
    std::memcpy(ip + offsetof(SrhHeader, segment), ev.srv6 + 16, 16);
  }
  ip -= sizeof(Ipv6Header);
  patch(ip, outer_payload_bytes);
  std::memcpy(ip + offsetof(Ipv6Header, dst), ev.srv6, 16);
}

}  // namespace mrc::wire
