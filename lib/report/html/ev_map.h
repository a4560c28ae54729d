// SPDX-License-Identifier: BSD-3-Clause
// The heat map of EVs over time.
#pragma once

#include <string>

#include "report/html/time_chart.h"

namespace mrc::report::html {

/// `number` tells the maps of a page apart.
DrawnChart draw(const Page& page, const EvMap& map, std::size_t number, const Columns& columns);

}  // namespace mrc::report::html
