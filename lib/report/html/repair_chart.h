// SPDX-License-Identifier: BSD-3-Clause
// What was repaired and marked over time: the same plot of runs in virtual and in real time.
#pragma once

#include <cstddef>
#include <string>

#include "report/html/page.h"
#include "report/timeline.h"

namespace mrc::report::html {

/// Causes of a retransmission, in the transport's order.
inline constexpr std::size_t kRepairCauses = 8;

/// Columns of counters: kRepairCauses of them from `causes` on.
struct RepairColumns {
  std::size_t causes = 0, trimmed = 0, marked = 0;
};

/// Counters that never moved are left out. `about` says whose packets they are; the rest is added.
TimeChart repair_chart(const Timeline& timeline, const RepairColumns& at, const std::string& about);

}  // namespace mrc::report::html
