// SPDX-License-Identifier: BSD-3-Clause
// From what a run came to to the HTML report. Plots of what was sampled meanwhile are the Sampler's.
#pragma once

#include <string_view>

#include "report/html/page.h"
#include "sim/outcome.h"
#include "sim/scenario.h"

namespace mrc::sim {

inline constexpr std::string_view kCompleteInItself =
    "This file is complete in itself: it loads nothing and can be sent as it is.";

/// Verdict, figures, faults as events, tables and configuration; no plots. The same outcome gives the same
/// page.
report::html::Page outcome_page(const Outcome& outcome, const Scenario& scenario);
/// That with plots of the outcome's own series: the report of the single-path baseline, which has no EVs and
/// no window that a Sampler could follow.
report::html::Page series_page(const Outcome& outcome, const Scenario& scenario);

}  // namespace mrc::sim
