// SPDX-License-Identifier: BSD-3-Clause
// From ev.denied to the EVs of a profile that it names.
#pragma once

#include <vector>

#include "base/result.h"
#include "config/endpoint_config.h"
#include "path/ev_table.h"

namespace mrc::config {

/// Indices of `table` that `denied` names, each once, in order. Errors: an entry that names neither an index
/// nor a value, or both; what the profile does not have, with its limit; a list that leaves nothing to send
/// on. Each begins with the key.
Result<std::vector<path::EvIndex>> denied_evs(const EvConfig& config, const path::EvTable& table);

}  // namespace mrc::config
