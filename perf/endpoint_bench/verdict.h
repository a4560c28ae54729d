// SPDX-License-Identifier: BSD-3-Clause
// What a scenario's runs were, and whether they may be published.
#pragma once

#include <nlohmann/json.hpp>

namespace mrc::perf {

struct Verdict {
  nlohmann::json json;
  bool good = true;
};

}  // namespace mrc::perf
