// SPDX-License-Identifier: BSD-3-Clause
// How the user called this program, so that a command in a message works when it is copied.
#pragma once

#include <errno.h>

#include <string>
#include <string_view>

#include "base/shell_quoted.h"

namespace mrc {
namespace detail {

inline std::string& program_name() {
  static std::string name = shell_quoted(program_invocation_name);
  return name;
}

}  // namespace detail

/// As typed, quoted for a shell. Thread rule: set, if at all, before there are threads.
inline const std::string& program_name() {
  return detail::program_name();
}
/// Instead of what the C library was started with; nothing when there is no name.
inline void set_program_name(const char* argv0) {
  if (argv0 != nullptr && *argv0 != '\0') detail::program_name() = shell_quoted(argv0);
}

}  // namespace mrc
