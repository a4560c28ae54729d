// SPDX-License-Identifier: BSD-3-Clause
// From parsed options to an exit code: brings up ports and Nics, steps the session or sessions, reports.
#pragma once

#include "exit_code.h"
#include "options.h"

namespace mrc::endpoint {

/// Runs to the end. Never throws, never leaves without a message when the code is not 0.
ExitCode run_program(const Options& options);

}  // namespace mrc::endpoint
