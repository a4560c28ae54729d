// SPDX-License-Identifier: BSD-3-Clause
// Causes of retransmissions as results show them.
#pragma once

#include <array>

#include "transport/types.h"

namespace mrc::transport {

/// Indexed as QpCounters::rtx_by_cause.
inline constexpr std::array kRtxCauseNames{"nack_trimmed", "nack_resource", "nack_window", "inferred_loss",
                                           "ev_flush",     "ack_timeout",   "tail_repeat", "plane_down"};
static_assert(kRtxCauseNames.size() == kRtxCauses);

}  // namespace mrc::transport
