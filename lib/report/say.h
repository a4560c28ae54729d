// SPDX-License-Identifier: BSD-3-Clause
// Words to a stream that may be closed, full, a pipe that nobody reads, or a terminal that obeys what it
// reads.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "base/printable.h"

namespace mrc::report {

/// Never throws: a terminal that went away ends no run. What must not be lost is asked for with delivered().
/// Nothing but visible characters and newlines leaves: whoever wrote them, no control character reaches a
/// terminal.
template <class... Args>
void say(std::FILE* to, fmt::format_string<Args...> format, Args&&... args) {
  const std::string text = printable_lines(fmt::format(format, std::forward<Args>(args)...));
  std::fwrite(text.data(), 1, text.size(), to);
}

/// Everything written so far has left the process.
inline bool delivered(std::FILE* stream) {
  return std::fflush(stream) == 0 && std::ferror(stream) == 0;
}

}  // namespace mrc::report
