// SPDX-License-Identifier: BSD-3-Clause
// `mrc-sim run`: one scenario in virtual time.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/endpoint_config.h"
#include "exit_code.h"

namespace mrc::simapp {

/// Adds the subcommand; when it is chosen, parsing ends with `exit_code` set.
void add_run_command(CLI::App& app, ExitCode& exit_code);

/// Before the work whose result goes to `path` (empty: none): it can be written, and an older one is gone.
/// The error names the option.
Result<void> claim_result(const char* option, const std::string& path);

/// "key=value" of --set, one each. False: the first that has no '=' is in `bad`.
bool split_settings(const std::vector<std::string>& words, config::Settings& out, std::string& bad);

}  // namespace mrc::simapp
