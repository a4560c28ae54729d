// SPDX-License-Identifier: BSD-3-Clause
// `mrc-sim sweep`: a grid of settings with several seeds each, over the local cores.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/endpoint_config.h"
#include "exit_code.h"

namespace mrc::simapp {

/// Values between commas; a comma within brackets, braces or quotes is part of its value.
Result<std::vector<std::string>> split_values(std::string_view text);
/// "key=v1,v2,..." of --grid, one axis each: all combinations, the last axis fastest.
Result<std::vector<config::Settings>> expand_grid(const std::vector<std::string>& axes);

void add_sweep_command(CLI::App& app, ExitCode& exit_code);

}  // namespace mrc::simapp
