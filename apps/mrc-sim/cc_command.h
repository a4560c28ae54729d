// SPDX-License-Identifier: BSD-3-Clause
// `mrc-sim cc`: NSCC as a golden model, JSON lines in and out.
#pragma once

#include <CLI/CLI.hpp>
#include <iosfwd>
#include <string>

#include "exit_code.h"

namespace mrc::simapp {

/// Runs the model over a stream. `name` stands in messages. Flushes whenever no more input waits, so that a
/// test bench may ask and answer line by line.
ExitCode run_cc(std::istream& in, const std::string& name, std::ostream& out, std::ostream& err);

/// Adds the subcommand; when it is chosen, parsing ends with `exit_code` set.
void add_cc_command(CLI::App& app, ExitCode& exit_code);

}  // namespace mrc::simapp
