// SPDX-License-Identifier: BSD-3-Clause
// EV states as MRC names them (5.5), and causes, as results, traces and events show them.
#pragma once

#include <array>
#include <cstddef>

#include "path/ev_set.h"

namespace mrc::path {

constexpr const char* name(EvState state) {
  constexpr std::array kNames{"GOOD", "SKIP", "ASSUMED_BAD", "DENIED"};
  return kNames[static_cast<std::size_t>(state)];
}

constexpr const char* name(EvCause cause) {
  constexpr std::array kNames{"mark",     "trimmed",  "loss",       "ack_timeout", "probe_ok",
                              "spurious", "rotation", "controller", "fallback"};
  static_assert(kNames.size() == static_cast<std::size_t>(EvCause::kFallback) + 1);
  return kNames[static_cast<std::size_t>(cause)];
}

}  // namespace mrc::path
