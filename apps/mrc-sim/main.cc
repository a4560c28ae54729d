// SPDX-License-Identifier: BSD-3-Clause
// mrc-sim: MRC in virtual time, and its congestion controller as a golden model.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <new>
#include <sstream>

#include "base/printable.h"
#include "base/program_name.h"
#include "cc_command.h"
#include "claims_command.h"
#include "report/say.h"
#include "run_command.h"
#include "sweep_command.h"
#include "table_command.h"

namespace {

using mrc::program_name;
using mrc::report::say;
using mrc::simapp::ExitCode;

constexpr const char* kFirstCommand =
    "mrc-sim: no command. A first one that works, the congestion controller's state after one SACK:\n\n"
    "  printf '%s\\n' '{{\"rate_bps\":100e9,\"base_rtt_ns\":12000,\"mtu_bytes\":4096}}' "
    "'{{\"t_ns\":1000,\"event\":\"ack\",\"bytes\":4096,\"delay_ns\":3000}}' | {0} cc\n\n"
    "A whole network, from the directory of the source:\n\n"
    "  {0} run config/sim/demo.yaml\n\n"
    "All commands:  {0} --help\n";

/// The commands, when `word` is to be one and is none: the parser alone would say that one is missing.
std::string instead_of(const CLI::App& app, const std::string& word) {
  std::string known;
  if (word.starts_with('-')) return known;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_name() == word) return "";
    known += (known.empty() ? "" : ", ") + command->get_name();
  }
  return known;
}

ExitCode run(int argc, char** argv) {
  if (argc <= 1) {
    say(stderr, fmt::runtime(kFirstCommand), program_name());
    return ExitCode::kUsage;
  }
  ExitCode exit_code = ExitCode::kPass;
  CLI::App app{
      "MRC in virtual time.\n"
      "Exit code: 0 all held, 1 a check did not hold, 2 usage, file or input line."};
  app.set_version_flag("--version", "mrc-sim " MRC_VERSION);
  app.require_subcommand(1);
  mrc::simapp::add_run_command(app, exit_code);
  mrc::simapp::add_sweep_command(app, exit_code);
  mrc::simapp::add_table_command(app, exit_code);
  mrc::simapp::add_claims_command(app, exit_code);
  mrc::simapp::add_cc_command(app, exit_code);
  if (const std::string known = instead_of(app, argv[1]); !known.empty()) {
    say(stderr, "mrc-sim: '{}' is no command; there are {}\nTry '{} --help'.\n", argv[1], known,
        program_name());
    return ExitCode::kUsage;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    std::ostringstream said;  // it repeats words of the command line
    const int code = app.exit(e, std::cout, said);
    std::cerr << mrc::printable_lines(said.str());
    return code == 0 ? ExitCode::kPass : ExitCode::kUsage;
  }
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  ExitCode code = ExitCode::kUsage;
  try {
    code = run(argc, argv);
  } catch (const std::bad_alloc&) {
    say(stderr, "mrc-sim: out of memory; use fewer hosts, fewer bytes or fewer --threads\n");
    return static_cast<int>(ExitCode::kUsage);
  }
  std::cout.flush();
  if (std::cout && mrc::report::delivered(stdout)) return static_cast<int>(code);
  say(stderr, "mrc-sim: standard output cannot be written: it is closed, full, or nobody reads it\n");
  return static_cast<int>(code == ExitCode::kPass ? ExitCode::kUsage : code);
}
