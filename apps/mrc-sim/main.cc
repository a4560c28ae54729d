// SPDX-License-Identifier: BSD-3-Clause
// mrc-sim: MRC in virtual time, and its congestion controller as a golden model.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <sstream>

#include "base/printable.h"
#include "cc_command.h"
#include "claims_command.h"
#include "run_command.h"
#include "sweep_command.h"
#include "table_command.h"

namespace {

constexpr const char* kFirstCommand =
    "mrc-sim: no command. A first one that works, the congestion controller's state after one SACK:\n\n"
    "  printf '%s\\n' '{\"rate_bps\":100e9,\"base_rtt_ns\":12000,\"mtu_bytes\":4096}' "
    "'{\"t_ns\":1000,\"event\":\"ack\",\"bytes\":4096,\"delay_ns\":3000}' | mrc-sim cc\n\n"
    "All commands:  mrc-sim --help\n";

}  // namespace

int main(int argc, char** argv) {
  using mrc::simapp::ExitCode;
  if (argc == 1) {
    std::fputs(kFirstCommand, stderr);
    return static_cast<int>(ExitCode::kUsage);
  }
  std::ios::sync_with_stdio(false);
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
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    std::ostringstream said;  // it repeats words of the command line
    const int code = app.exit(e, std::cout, said);
    std::cerr << mrc::printable_lines(said.str());
    return code == 0 ? 0 : static_cast<int>(ExitCode::kUsage);
  }
  return static_cast<int>(exit_code);
}
