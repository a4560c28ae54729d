// SPDX-License-Identifier: BSD-3-Clause
// The limits that more than one layer shares. Everything has a limit with a name; it is checked at
// configuration.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mrc {

inline constexpr std::size_t kMaxPlanes = 16;                ///< planes (= ports) of one endpoint
inline constexpr std::size_t kMaxEvs = 4096;                 ///< entries of one EV profile
inline constexpr std::uint32_t kPsnsPerMprUnit = 128;        ///< MPR counts in blocks of 128 PSNs
inline constexpr std::uint32_t kMaxMessageBytes = 1U << 31;  ///< IBTA message limit
inline constexpr std::uint32_t kMaxPmtu = 4096;
inline constexpr std::uint32_t kMinPmtu = 256;

constexpr bool is_valid_pmtu(std::uint32_t pmtu) {
  return pmtu >= kMinPmtu && pmtu <= kMaxPmtu && (pmtu & (pmtu - 1)) == 0;
}

}  // namespace mrc
