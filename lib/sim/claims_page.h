// SPDX-License-Identifier: BSD-3-Clause
// The comparison table of claims as a report with plots.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "report/html/page.h"
#include "sim/claims.h"

namespace mrc::sim {

struct MeasuredClaims {
  std::vector<std::pair<Claim, ClaimResult>> claims;
  std::vector<std::pair<ClaimCurve, CurveResult>> curves;
  unsigned seeds = 0;
  std::uint64_t first_seed = 0;
  [[nodiscard]] bool hold() const;
};

/// Judged results as values for report::html::write.
report::html::Page claims_page(const MeasuredClaims& measured);

}  // namespace mrc::sim
