// SPDX-License-Identifier: BSD-3-Clause
// Histograms on a logarithmic scale.
#pragma once

#include <string>

#include "report/html/page.h"

namespace mrc::report::html {

std::string draw(const Distribution& distribution);

}  // namespace mrc::report::html
