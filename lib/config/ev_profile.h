// SPDX-License-Identifier: BSD-3-Clause
// The `ev` section as lib/path describes a profile (5.3).
#pragma once

#include <cstdint>

#include <string_view>

#include "config/endpoint_config.h"
#include "path/profile.h"

namespace mrc::config {

/// `ipv6`: the family of the planes' addresses. `seed`: of the values of mode auto. Whether it makes a table
/// is path::build_table's to say; check_endpoint has asked.
[[nodiscard]] path::EvProfile ev_profile_of(const EndpointConfig& config, bool ipv6, std::uint64_t seed);

/// "0x1234:5678" to left-aligned bytes (5.3). Precondition: is_hex_bytes(text).
path::EvValue ev_bytes(std::string_view text);

}  // namespace mrc::config
