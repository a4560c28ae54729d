// SPDX-License-Identifier: BSD-3-Clause
// Joining words into one-line messages; set-up code only. gcc 12 has no <format>, and this directory needs
// DPDK alone.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "base/result.h"

namespace mrc::ethdev {

/// The parts, streamed one after the other.
template <class... Parts>
[[nodiscard]] std::string text(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

/// An Error whose message is the parts, streamed one after the other.
template <class... Parts>
[[nodiscard]] Error error(const Parts&... parts) {
  return Error{text(parts...)};
}

/// "a SEP b SEP c".
[[nodiscard]] inline std::string join(const std::vector<std::string>& words, const std::string& separator) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : separator) + word;
  return out;
}

}  // namespace mrc::ethdev
