// SPDX-License-Identifier: BSD-3-Clause
#include "nic/neighbour.h"

#include <algorithm>
#include <cstring>

#include "wire/headers.h"

namespace mrc::nic {
namespace {

constexpr std::uint16_t kEthertypeArp = 0x0806;
constexpr std::size_t kArpBytes = 28;
constexpr std::size_t kSolicitBytes = 24;  // ICMPv6 type .. target address, before options
constexpr std::size_t kIpv6Bytes = 40;

const IpAddress* find(std::span<const IpAddress> ours, const std::uint8_t* wanted, bool v6) {
  const auto it = std::find_if(ours.begin(), ours.end(), [&](const IpAddress& ip) {
    return ip.v6 == v6 && std::memcmp(ip.bytes.data(), wanted, v6 ? 16 : 4) == 0;
  });
  return it == ours.end() ? nullptr : &*it;
}

// Ethernet and tags of the question with the direction turned; the length of that part.
void turn_ethernet(std::span<const std::uint8_t> frame, std::size_t l3, const MacAddress& mac,
                   std::uint8_t* out) {
  std::memcpy(out, frame.data() + 6, 6);
  std::memcpy(out + 6, mac.bytes.data(), 6);
  std::memcpy(out + 12, frame.data() + 12, l3 - 12);
}

// RFC 826: hardware Ethernet, protocol IPv4, operation request.
std::size_t answer_arp(std::span<const std::uint8_t> frame, std::size_t l3, const MacAddress& mac,
                       std::span<const IpAddress> ours, std::uint8_t* out) {
  static constexpr std::uint8_t kRequest[8] = {0, 1, 8, 0, 6, 4, 0, 1};
  if (frame.size() < l3 + kArpBytes) return 0;
  const std::uint8_t* q = frame.data() + l3;
  if (std::memcmp(q, kRequest, sizeof(kRequest)) != 0 || find(ours, q + 24, false) == nullptr) return 0;
  turn_ethernet(frame, l3, mac, out);
  std::uint8_t* a = out + l3;
  std::memcpy(a, kRequest, 7);
  a[7] = 2;
  std::memcpy(a + 8, mac.bytes.data(), 6);
  std::memcpy(a + 14, q + 24, 4);
  std::memcpy(a + 18, q + 8, 10);  // the asker's MAC and IP
  return l3 + kArpBytes;
}

// RFC 4443 2.3: one's complement sum over pseudo header and message; message length even.
std::uint16_t icmp6_checksum(const std::uint8_t* ip, const std::uint8_t* message, std::size_t bytes) {
  std::uint32_t sum = static_cast<std::uint32_t>(bytes) + 58;
  for (std::size_t i = 8; i < kIpv6Bytes; i += 2) sum += wire::load_be16(ip + i);
  for (std::size_t i = 0; i < bytes; i += 2) sum += wire::load_be16(message + i);
  sum = (sum & 0xFFFF) + (sum >> 16);
  sum = (sum & 0xFFFF) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

// RFC 4861 7.1.1 says which solicitations are valid, 7.2.4 how to answer; 7.2.4's unspecified source (address
// in use?) is answered to all nodes.
std::size_t answer_solicitation(std::span<const std::uint8_t> frame, std::size_t l3, const MacAddress& mac,
                                std::span<const IpAddress> ours, std::uint8_t* out) {
  if (frame.size() < l3 + kIpv6Bytes + kSolicitBytes) return 0;
  const std::uint8_t* ip = frame.data() + l3;
  const std::uint8_t* icmp = ip + kIpv6Bytes;
  const std::size_t payload = wire::load_be16(ip + 4);
  if (ip[6] != 58 || ip[7] != 255 || icmp[0] != 135 || icmp[1] != 0) return 0;
  if (payload < kSolicitBytes || payload % 2 != 0 || frame.size() < l3 + kIpv6Bytes + payload) return 0;
  if (icmp6_checksum(ip, icmp, payload) != 0 || find(ours, icmp + 8, true) == nullptr) return 0;
  const bool unspecified = std::all_of(ip + 8, ip + 24, [](std::uint8_t b) { return b == 0; });

  turn_ethernet(frame, l3, mac, out);
  std::uint8_t* oip = out + l3;
  std::uint8_t* a = oip + kIpv6Bytes;
  std::memset(oip, 0, kIpv6Bytes + 32);
  oip[0] = 0x60;
  oip[5] = 32;
  oip[6] = 58;
  oip[7] = 255;
  std::memcpy(oip + 8, icmp + 8, 16);
  if (unspecified) {
    static constexpr std::uint8_t kAllNodes[16] = {0xFF, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
    static constexpr std::uint8_t kAllNodesMac[6] = {0x33, 0x33, 0, 0, 0, 1};
    std::memcpy(oip + 24, kAllNodes, 16);
    std::memcpy(out, kAllNodesMac, 6);
  } else {
    std::memcpy(oip + 24, ip + 8, 16);
  }
  a[0] = 136;
  a[4] = unspecified ? 0x20 : 0x60;  // override; solicited
  std::memcpy(a + 8, icmp + 8, 16);
  a[24] = 2;  // target link-layer address, 8 bytes
  a[25] = 1;
  std::memcpy(a + 26, mac.bytes.data(), 6);
  const std::uint16_t sum = icmp6_checksum(oip, a, 32);
  a[2] = static_cast<std::uint8_t>(sum >> 8);
  a[3] = static_cast<std::uint8_t>(sum);
  return l3 + kIpv6Bytes + 32;
}

}  // namespace

std::size_t answer_neighbour(std::span<const std::uint8_t> frame, const MacAddress& mac,
                             std::span<const IpAddress> ours,
                             std::span<std::uint8_t, kNeighbourAnswerBytes> answer) {
  std::size_t l3 = 14;
  if (frame.size() < l3) return 0;
  std::uint16_t ethertype = wire::load_be16(frame.data() + 12);
  for (int tags = 0; wire::is_vlan(ethertype) && tags < 2; ++tags) {
    l3 += 4;
    if (frame.size() < l3) return 0;
    ethertype = wire::load_be16(frame.data() + l3 - 2);
  }
  if (ethertype == kEthertypeArp) return answer_arp(frame, l3, mac, ours, answer.data());
  if (ethertype == wire::kEthertypeIpv6) return answer_solicitation(frame, l3, mac, ours, answer.data());
  return 0;
}

}  // namespace mrc::nic
