// SPDX-License-Identifier: BSD-3-Clause
// Histograms on a logarithmic scale.
#pragma once

#include <string>

#include "report/histogram.h"
#include "report/html/page.h"

namespace mrc::report::html {

/// Buckets and percentiles; nothing of `d` but these.
void fill(Distribution& d, const Histogram& h);
std::string draw(const Distribution& distribution);

}  // namespace mrc::report::html
