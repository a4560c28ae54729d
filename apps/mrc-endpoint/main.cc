// SPDX-License-Identifier: BSD-3-Clause
#include <cstdio>
#include <string>
#include <vector>

#include "demo.h"
#include "options.h"
#include "program.h"

int main(int argc, char** argv) {
  using namespace mrc::endpoint;
  const std::vector<std::string> args(argv + 1, argv + argc);
  if (!args.empty() && args[0] == "demo") {
    return static_cast<int>(demo_main(std::vector<std::string>(args.begin() + 1, args.end())));
  }
  const Parsed parsed = parse_command_line(args);
  if (!parsed.run) {
    std::fputs(parsed.exit.text.c_str(), parsed.exit.to_stderr ? stderr : stdout);
    return static_cast<int>(parsed.exit.code);
  }
  return static_cast<int>(run_program(parsed.options));
}
