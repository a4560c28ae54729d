// SPDX-License-Identifier: BSD-3-Clause
#include <cstdio>
#include <string>
#include <vector>

#include "demo.h"
#include "options.h"
#include "program.h"
#include "report/say.h"

namespace {

using namespace mrc::endpoint;

ExitCode run(const std::vector<std::string>& args) {
  if (!args.empty() && args[0] == "demo") return demo_main({args.begin() + 1, args.end()});
  const Parsed parsed = parse_command_line(args);
  if (parsed.run) return run_program(parsed.options);
  std::fputs(parsed.exit.text.c_str(), parsed.exit.to_stderr ? stderr : stdout);
  return parsed.exit.code;
}

}  // namespace

int main(int argc, char** argv) {
  const ExitCode code = run({argv + 1, argv + argc});
  if (mrc::report::delivered(stdout)) return static_cast<int>(code);
  mrc::report::say(
      stderr, "mrc-endpoint: standard output cannot be written: it is closed, full, or nobody reads it\n");
  return static_cast<int>(code == ExitCode::kPass ? ExitCode::kUsage : code);
}
