// SPDX-License-Identifier: BSD-3-Clause
// What a trace of a run says of one packet: sent, delivered or dropped.
#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"
#include "fabric/packet.h"
#include "path/ev_set.h"
#include "sim/token.h"

namespace mrc::sim {

struct TraceEvent {
  enum class What : std::uint8_t { kSent, kDelivered, kDropped };
  Time at;
  What what = What::kSent;
  std::uint32_t from_qp = 0;
  std::uint32_t to_qp = 0;
  const Token* token = nullptr;            ///< valid during the call
  const fabric::Packet* packet = nullptr;  ///< likewise
  fabric::DropReason reason = fabric::DropReason::kNone;
};

/// A line for people, without its end: time in ns, what, QPs and plane, what the packet says, why it ended.
std::string to_text(const TraceEvent& event);
/// The same of what became of an EV of `qp`.
std::string to_text(std::uint32_t qp, const path::EvSet::Event& event);

}  // namespace mrc::sim
