// SPDX-License-Identifier: BSD-3-Clause
// ARP and IPv6 neighbour discovery, the answering half: who asks for one of our addresses gets our MAC, so
// that routers, switches and kernels in the path can send to us. We ask nobody: next hops are exchanged.
#pragma once

#include <cstdint>
#include <span>

#include "base/net.h"

namespace mrc::nic {

/// Longest answer: Ethernet, two tags, IPv6, neighbour advertisement with one option.
inline constexpr std::size_t kNeighbourAnswerBytes = 14 + 8 + 40 + 32;

/// If `frame` (without FCS) is an ARP request or a neighbour solicitation for one of `ours`, writes the
/// answer and returns its length; else 0. VLAN tags are kept. Reads only inside `frame`. No state: any
/// thread.
std::size_t answer_neighbour(std::span<const std::uint8_t> frame, const MacAddress& mac,
                             std::span<const IpAddress> ours,
                             std::span<std::uint8_t, kNeighbourAnswerBytes> answer);

}  // namespace mrc::nic
