// SPDX-License-Identifier: BSD-3-Clause
// Targets of the timer heap: QPs, hosts, flows and payloads on their way to memory in one number space.
#pragma once

#include <cstdint>

namespace mrc::sim {

inline constexpr std::uint32_t kHostTarget = 1U << 31;
inline constexpr std::uint32_t kFlowTarget = 1U << 30;
inline constexpr std::uint32_t kPlacementTarget = 1U << 29;

}  // namespace mrc::sim
