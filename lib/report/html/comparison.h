// SPDX-License-Identifier: BSD-3-Clause
// Numbers beside their limits, and a number over a size: ranges and medians on logarithmic scales.
#pragma once

#include <string>

#include "report/html/page.h"

namespace mrc::report::html {

std::string draw(const Comparison& comparison);
std::string draw(const Curve& curve);

}  // namespace mrc::report::html
