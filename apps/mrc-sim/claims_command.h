// SPDX-License-Identifier: BSD-3-Clause
// `mrc-sim claims`: what the field claims of MRC, each with its number, its limit and its control.
#pragma once

#include <CLI/CLI.hpp>

#include "exit_code.h"

namespace mrc::simapp {

void add_claims_command(CLI::App& app, ExitCode& exit_code);

}  // namespace mrc::simapp
