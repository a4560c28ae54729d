// SPDX-License-Identifier: BSD-3-Clause
// How a property run says that a rule was broken: by throwing, with the rule's id first.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace mrc::property {

struct Violation : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Ends the run. `rule` is an id of SPECIFICATION.md ("I4", "D2"); `parts` are streamed behind it.
template <class... Parts>
[[noreturn]] void violate(const char* rule, const Parts&... parts) {
  std::ostringstream text;
  text << rule << ": ";
  (text << ... << parts);
  throw Violation(text.str());
}

}  // namespace mrc::property
