// SPDX-License-Identifier: BSD-3-Clause
// `mrc-sim table`: the preset htsim-compat beside the published numbers.
#pragma once

#include <CLI/CLI.hpp>

#include "exit_code.h"

namespace mrc::simapp {

void add_table_command(CLI::App& app, ExitCode& exit_code);

}  // namespace mrc::simapp
