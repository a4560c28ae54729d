// SPDX-License-Identifier: BSD-3-Clause
// The HTML report of the demo.
#pragma once

#include "demo.h"
#include "report/html/page.h"

namespace mrc::endpoint {

/// Precondition: the demo was run with DemoOptions::sample.
report::html::Page page_of(const DemoReport& report);

}  // namespace mrc::endpoint
