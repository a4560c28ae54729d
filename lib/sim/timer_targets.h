// SPDX-License-Identifier: BSD-3-Clause
// Targets of the timer heap: QPs, hosts and flows in one number space.
#pragma once

#include <cstdint>

namespace mrc::sim {

inline constexpr std::uint32_t kHostTarget = 1U << 31;
inline constexpr std::uint32_t kFlowTarget = 1U << 30;

}  // namespace mrc::sim
