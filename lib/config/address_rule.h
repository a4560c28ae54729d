// SPDX-License-Identifier: BSD-3-Clause
// Which IP addresses a plane may have, ours or a peer's.
#pragma once

#include <string_view>

#include "base/net.h"

namespace mrc::config {

/// Empty: an address that one host on a network can have. Otherwise what it is instead.
inline std::string_view not_a_host(const IpAddress& ip) {
  const auto& b = ip.bytes;
  if (ip.is_zero()) return "the unspecified address";
  if (!ip.v6) {
    if (b[0] == 0) return "an address of 'this network'";
    if (b[0] == 127) return "a loopback address";
    if (b[0] == 255 && b[1] == 255 && b[2] == 255 && b[3] == 255) return "the broadcast address";
    if (b[0] >= 240) return "a reserved address";
    return b[0] >= 224 ? "a multicast address" : "";
  }
  if (b[0] == 0xFF) return "a multicast address";
  bool zeros = true;
  for (int i = 0; i < 10; ++i) zeros = zeros && b[static_cast<std::size_t>(i)] == 0;
  if (zeros && b[10] == 0xFF && b[11] == 0xFF) return "an IPv4-mapped address";
  zeros = zeros && b[10] == 0 && b[11] == 0 && b[12] == 0 && b[13] == 0 && b[14] == 0;
  return zeros && b[15] == 1 ? "the loopback address" : "";
}

}  // namespace mrc::config
