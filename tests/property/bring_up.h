// SPDX-License-Identifier: BSD-3-Clause
// RESET to RTS with the attributes that each transition wants (2.6, C35).
#pragma once

#include <array>
#include <utility>

#include "transport/qp.h"
#include "violation.h"

namespace mrc::property {

inline void bring_up(transport::Qp& qp, const transport::QpAttr& attr, Time now) {
  using namespace transport;
  const std::array<std::pair<QpState, std::uint32_t>, 3> steps = {{
      {QpState::kInit, kAttrState | kAttrEvProfileId | kAttrCcProfileId | kAttrHint},
      {QpState::kRtr, kAttrState | kAttrAv | kAttrPathMtu | kAttrDestQpn | kAttrRqPsn | kAttrMaxWimmDest |
                          kAttrMprDest | kAttrCap},
      {QpState::kRts, kAttrState | kAttrSqPsn | kAttrMaxWimm | kAttrMpr | kAttrRetryCnt | kAttrTimeout},
  }};
  for (const auto& [state, mask] : steps) {
    const auto done = qp.modify(state, attr, mask, now);
    if (!done) violate("MRC 6.1", "modify to state ", static_cast<int>(state), ": ", done.error().message);
  }
}

}  // namespace mrc::property
