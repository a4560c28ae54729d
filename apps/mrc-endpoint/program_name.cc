// SPDX-License-Identifier: BSD-3-Clause
#include "program_name.h"

#include "base/shell_quoted.h"

namespace mrc::endpoint {
namespace {

std::string& name() {
  static std::string text = "mrc-endpoint";
  return text;
}

}  // namespace

void set_program_name(const char* argv0) {
  if (argv0 != nullptr && *argv0 != '\0') name() = shell_quoted(argv0);
}

const std::string& program_name() {
  return name();
}

}  // namespace mrc::endpoint
