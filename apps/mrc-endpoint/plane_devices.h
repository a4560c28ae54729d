// SPDX-License-Identifier: BSD-3-Clause
// What a configured plane means to DPDK: its device argument, the MTU it must carry, its tags. Pure, except
// kernel_mtus(), which asks the kernel.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/endpoint_config.h"
#include "network.h"
#include "wire/header_template.h"

namespace mrc::endpoint {

/// Both ends live in one process.
[[nodiscard]] bool is_in_process(config::Profile p);
/// Every packet is a system call's business: spinning only takes the kernel's time away.
[[nodiscard]] bool is_through_kernel(config::Profile p);

/// The device argument of plane i for EAL; empty for profiles without one (in process, physical ports).
[[nodiscard]] Result<std::string> vdev_of(const config::EndpointConfig& config, Ends ends, unsigned i);

/// The largest IP packet of a Write with this path MTU, encapsulation included.
[[nodiscard]] std::uint32_t needed_mtu_bytes(const config::EndpointConfig& config, std::uint16_t path_mtu);

/// A plane as choose_path_mtu() sees it.
struct PlaneMtu {
  std::size_t plane = 0;
  std::string name;             ///< "interface veth0", "port 0000:81:00.0"
  std::uint32_t mtu_bytes = 0;  ///< L3 bytes that pass
  std::string fix;  ///< command that raises it to N bytes, N to be appended; empty: it cannot be raised
};
/// Of those planes that are kernel interfaces, the limit of their driver included. Errors: no such interface.
[[nodiscard]] Result<std::vector<PlaneMtu>> kernel_mtus(const config::EndpointConfig& config);

/// Whether the devices of the planes are there, of the kind that the profile takes, and may be opened by us,
/// as far as can be told without DPDK. Errors: the plane, what is wrong, what mends it.
[[nodiscard]] Result<void> check_devices(const config::EndpointConfig& config, Ends ends);

/// qp.mtu, or for `auto` the largest path MTU that all planes carry. Errors: a plane does not carry it; says
/// which, what it has, what is needed, and both ways to mend it.
[[nodiscard]] Result<std::uint16_t> choose_path_mtu(const config::EndpointConfig& config,
                                                    const std::vector<PlaneMtu>& planes);

struct PlaneTags {
  std::array<wire::VlanConfig, 2> vlans{};
  std::uint8_t count = 0;
};
[[nodiscard]] PlaneTags tags_of(const config::PlaneConfig& plane);

}  // namespace mrc::endpoint
