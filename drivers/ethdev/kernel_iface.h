// SPDX-License-Identifier: BSD-3-Clause
// What the kernel knows of an interface below an af_packet, af_xdp or tap port, and their drivers do not
// tell: the MTU that passes, and whether the link is up (they answer "up" from start to stop).
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace mrc::ethdev {

/// MTU of an interface of this network namespace. Errors: no such interface.
[[nodiscard]] Result<std::uint32_t> kernel_mtu_bytes(const std::string& iface);

/// Queue pairs that AF_XDP may use: the interface's combined channels, 1 where it has no such thing (veth).
[[nodiscard]] unsigned kernel_channels(const std::string& iface);

/// Ties `port` to an interface of this network namespace, for kernel_link_up; forget_kernel_link when it
/// closes. Set-up thread, while no worker asks.
Result<void> watch_kernel_link(std::uint16_t port, const std::string& iface);
void forget_kernel_link(std::uint16_t port);

/// Up, with a carrier, and still there: one system call of about a microsecond. True for a port that is not
/// watched. Any thread.
[[nodiscard]] bool kernel_link_up(std::uint16_t port);

/// Packets that the kernel dropped since watch_kernel_link because a ring of the port's af_packet sockets was
/// full: the driver does not count them. One thread at a time: the kernel forgets what was read.
[[nodiscard]] std::uint64_t kernel_rx_missed(std::uint16_t port);

}  // namespace mrc::ethdev
