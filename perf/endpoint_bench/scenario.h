// SPDX-License-Identifier: BSD-3-Clause
// What is measured, and how it was asked for.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace mrc::perf {

struct Scenario {
  const char* name;
  std::uint32_t message_bytes;
  std::size_t memory_bytes;  ///< of source and of target
  std::uint16_t pmtu;
  std::uint64_t messages;  ///< of one measurement

  [[nodiscard]] bool is_long() const { return message_bytes >= pmtu; }
  [[nodiscard]] std::uint32_t payload_bytes() const { return std::min<std::uint32_t>(message_bytes, pmtu); }
  [[nodiscard]] double bytes() const { return static_cast<double>(messages) * message_bytes; }
  [[nodiscard]] double packets() const { return bytes() / payload_bytes(); }
};

inline constexpr std::size_t kMiB = 1 << 20;
// Warm: source and target, 1 MiB each, fit the third-level cache, not a second-level one of 1 MiB. Cold: they
// fit none.
inline constexpr Scenario kScenarios[] = {
    {"1MiB-warm", 1 << 20, 1 * kMiB, 4096, 512},
    {"1MiB-cold", 1 << 20, 256 * kMiB, 4096, 512},
    {"64B-warm", 64, 1 * kMiB, 4096, 1'000'000},
};

struct Options {
  int pairs = 15;
  std::vector<std::string> only;
  double min_ratio = 0;
  double min_mops = 0;
  std::string json;
  unsigned cpu = 0;        ///< serves both ends, or the source's
  unsigned other_cpu = 0;  ///< serves the target with --two-cores
  bool cpu_time = false;
  bool endpoint_only = false;
  bool stages = false;
  bool two_cores = false;

  [[nodiscard]] bool wants(const Scenario& s) const {
    return only.empty() || std::find(only.begin(), only.end(), s.name) != only.end();
  }
};

}  // namespace mrc::perf
