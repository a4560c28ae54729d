// SPDX-License-Identifier: BSD-3-Clause
#include <cstdio>
#include <new>
#include <string>
#include <vector>

#include "base/program_name.h"
#include "demo.h"
#include "options.h"
#include "program.h"
#include "report/atomic_file.h"
#include "report/say.h"

namespace {

using namespace mrc::endpoint;

ExitCode run(const std::vector<std::string>& args) {
  if (!args.empty() && args[0] == "demo") return demo_main({args.begin() + 1, args.end()});
  const Parsed parsed = parse_command_line(args);
  if (!parsed.run) {
    mrc::report::say(parsed.exit.to_stderr ? stderr : stdout, "{}", parsed.exit.text);
  }
  // Also when the run cannot start: whoever finds a result there must not take an older one for this run's.
  if (const auto r =
          parsed.json_path.empty() ? mrc::Result<void>{} : mrc::report::claim_result_file(parsed.json_path);
      !r) {
    mrc::report::say(stderr, "mrc-endpoint: --json {}\n", r.error().message);
    return ExitCode::kUsage;
  }
  return parsed.run ? run_program(parsed.options) : parsed.exit.code;
}

}  // namespace

int main(int argc, char** argv) {
  ExitCode code = ExitCode::kUsage;
  try {
    code = run({argv + (argc > 0 ? 1 : 0), argv + argc});
  } catch (const std::bad_alloc&) {
    mrc::report::say(stderr,
                     "mrc-endpoint: out of memory; use fewer QPs, EVs or workers, or smaller messages\n");
  }
  if (mrc::report::delivered(stdout)) return static_cast<int>(code);
  mrc::report::say(
      stderr, "mrc-endpoint: standard output cannot be written: it is closed, full, or nobody reads it\n");
  return static_cast<int>(code == ExitCode::kPass ? ExitCode::kUsage : code);
}
