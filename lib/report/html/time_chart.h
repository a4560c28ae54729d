// SPDX-License-Identifier: BSD-3-Clause
// Lines and strips over time.
#pragma once

#include <string>
#include <vector>

#include "report/html/plot.h"

namespace mrc::report::html {

/// A chart made ready: what the page shows and what the script is told.
struct DrawnChart {
  std::string html;  ///< a section
  std::string json;  ///< an object; empty when there was nothing to draw
};
DrawnChart draw(const Page& page, const TimeChart& chart, const Columns& columns);

inline constexpr std::size_t kMaxSeries = 32;  ///< of a chart; more are left out, and the chart says so

}  // namespace mrc::report::html
