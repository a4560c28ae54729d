// SPDX-License-Identifier: BSD-3-Clause
// The configuration line of `mrc-sim cc`: a link, from which everything follows, and whatever of it shall
// differ.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "cc/qpcc.h"
#include "json_fields.h"
#include "transport/qp_attr.h"

namespace mrc::simapp {

/// Limits of what the model accepts; far from any overflow of its 64-bit sums.
inline constexpr std::int64_t kMaxTimeNs = std::int64_t{1} << 60;
inline constexpr std::int64_t kMaxSpanNs = std::int64_t{1} << 50;
inline constexpr std::int64_t kMaxBaseRttNs = 1'000'000'000'000;
inline constexpr std::int64_t kMaxEventBytes = std::int64_t{1} << 32;

struct CcConfig {
  cc::NsccParams params;
  cc::NsccState state;  ///< to start from
  std::int64_t inflight = 0;
  cc::SendTest send_test = cc::SendTest::kMrc;
  std::uint32_t ack_gen_trigger_bytes = transport::QpPolicy().sack_gen_threshold;
  Time start;
};

/// Reads and checks a configuration. Errors say key, value, limit and fix.
[[nodiscard]] Result<CcConfig> read_cc_config(const Json& object);
/// All parameters and choices in force, as JSON members without the braces.
[[nodiscard]] std::string cc_config_text(const cc::NsccParams& params, cc::SendTest test,
                                         std::uint32_t ack_gen_trigger_bytes);

/// One value as JSON: durations and times in ns, kNever as null, reals by exact_number.
[[nodiscard]] std::string json_value(double v);
[[nodiscard]] std::string json_value(std::int64_t v);
[[nodiscard]] std::string json_value(std::uint8_t v);
[[nodiscard]] std::string json_value(bool v);
[[nodiscard]] std::string json_value(Duration v);
[[nodiscard]] std::string json_value(Time v);
[[nodiscard]] std::string json_value(cc::DelayAverage v);

}  // namespace mrc::simapp
