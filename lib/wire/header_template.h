// SPDX-License-Identifier: BSD-3-Clause
// Everything in front of the BTH that stays the same for a QP on one plane, prebuilt: a packet costs one
// fixed-size copy and a few patched fields.
#pragma once

#include <array>
#include <cassert>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/net.h"
#include "base/result.h"
#include "wire/headers.h"
#include "wire/types.h"

namespace mrc::wire {

/// How the MRC packet is wrapped (5.1).
enum class Encap : std::uint8_t { kNone, kSrv6, kSrv6Srh };

struct VlanConfig {
  std::uint16_t tpid = kEthertypeVlan;
  std::uint16_t tci = 0;  ///< priority 3, DEI 1, VLAN id 12 bits
};

/// Addresses of one QP on one plane.
struct PathAddress {
  MacAddress src_mac;
  MacAddress dst_mac;  ///< next hop
  std::array<VlanConfig, 2> vlans{};
  std::uint8_t vlan_tags = 0;  ///< 0..2, outermost first
  IpAddress src_ip;            ///< (inner) addresses of the endpoints: both IPv4 or both IPv6
  IpAddress dst_ip;
  Encap encap = Encap::kNone;  ///< needs IPv6
  IpAddress outer_src_ip;      ///< host's address on the plane; the outer destination is the EV
  std::uint8_t hop_limit = 64;
  std::uint16_t udp_dport = kUdpPortRoce;
  std::uint16_t pkey = kDefaultPkey;

  [[nodiscard]] bool ipv6() const { return src_ip.v6; }
};

/// The bits of an EV that go into a packet. `srv6` points to 16 bytes (SRv6) or 32 (SRv6 + SRH), else unused.
struct EvBits {
  std::uint16_t udp_sport = 0;
  std::uint32_t flow_label = 0;  ///< 20 bits; not sent over IPv4
  const std::uint8_t* srv6 = nullptr;
};

/// Prebuilt L2 .. UDP. Immutable but for set_dst_mac (owner thread); const functions from any thread.
class HeaderTemplate {
 public:
  HeaderTemplate() = default;
  /// Errors: IPv4 and IPv6 mixed, encapsulation without IPv6, more than two tags.
  static Result<HeaderTemplate> create(const PathAddress& address);

  /// Next hop learned or changed.
  void set_dst_mac(const MacAddress& mac);

  /// L2 .. UDP in bytes.
  [[nodiscard]] std::uint32_t prefix_bytes() const { return prefix_bytes_; }
  /// (Inner) IP and UDP: what the ICRC covers in front of the BTH.
  [[nodiscard]] std::uint32_t inner_bytes() const { return ipv6_ ? 48 : 28; }
  [[nodiscard]] bool ipv6() const { return ipv6_; }
  [[nodiscard]] Encap encap() const { return encap_; }
  [[nodiscard]] std::uint16_t pkey() const { return pkey_; }

  /// Writes the prefix so that it ends at `bth`, for a UDP payload of `udp_payload_bytes` (BTH .. ICRC).
  /// Bytes from bth - kScratchBytes on may be overwritten, even in front of the prefix.
  void write_prefix(std::uint8_t* bth, std::uint32_t udp_payload_bytes, std::uint8_t tos,
                    const EvBits& ev) const {
    assert(prefix_bytes_ != 0);
    assert(encap_ == Encap::kNone || ev.srv6 != nullptr);
    switch (copy_bytes_) {
      case 64:
        copy_tail<64>(bth);
        break;
      case 96:
        copy_tail<96>(bth);
        break;
      default:
        copy_tail<kScratchBytes>(bth);
        break;
    }
    const std::uint32_t udp_bytes = udp_payload_bytes + static_cast<std::uint32_t>(sizeof(UdpHeader));
    store_be16(bth - 8, ev.udp_sport);
    store_be16(bth - 4, udp_bytes);
    if (ipv6_) {
      patch_ipv6(bth, udp_bytes, tos, ev);
    } else {
      patch_ipv4(bth, udp_bytes, tos);
    }
  }

  static constexpr std::uint32_t kScratchBytes = 144;

 private:
  /// The copy has one of three constant sizes, so that it is a few vector moves and no call.
  template <std::size_t N>
  void copy_tail(std::uint8_t* end) const {
    std::memcpy(end - N, bytes_.data() + bytes_.size() - N, N);
  }
  void patch_ipv4(std::uint8_t* bth, std::uint32_t udp_bytes, std::uint8_t tos) const {
    std::uint8_t* ip = bth - sizeof(UdpHeader) - sizeof(Ipv4Header);
    const std::uint32_t total_bytes = udp_bytes + static_cast<std::uint32_t>(sizeof(Ipv4Header));
    ip[1] = tos;
    store_be16(ip + 2, total_bytes);
    std::uint32_t sum = ipv4_sum_ + tos + total_bytes;
    sum = (sum & 0xFFFF) + (sum >> 16);
    sum = (sum & 0xFFFF) + (sum >> 16);
    store_be16(ip + 10, ~sum);
  }
  /// Class, flow label, lengths, and what the EV puts into an outer header.
  void patch_ipv6(std::uint8_t* bth, std::uint32_t udp_bytes, std::uint8_t tos, const EvBits& ev) const;

  alignas(64) std::array<std::uint8_t, kScratchBytes> bytes_{};  ///< prefix, right-justified
  std::uint32_t ipv4_sum_ = 0;  ///< of the constant header words, for the checksum
  std::uint16_t pkey_ = kDefaultPkey;
  std::uint8_t prefix_bytes_ = 0;
  std::uint8_t copy_bytes_ = 0;  ///< prefix rounded up to 64, 96 or 144
  bool ipv6_ = false;
  Encap encap_ = Encap::kNone;
};

}  // namespace mrc::wire
