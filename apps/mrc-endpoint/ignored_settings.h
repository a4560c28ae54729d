// SPDX-License-Identifier: BSD-3-Clause
// What was typed and would change nothing. A file may describe more than one command uses; a word on the
// command line is meant for this run, so one without effect is refused.
#pragma once

#include "base/result.h"
#include "config/endpoint_config.h"
#include "options.h"

namespace mrc::endpoint {

/// `typed`: the settings of the command line. Error: the first one without effect, why, and what has one.
Result<void> check_for_ignored(Command command, const config::EndpointConfig& config,
                               const config::Settings& typed);

}  // namespace mrc::endpoint
