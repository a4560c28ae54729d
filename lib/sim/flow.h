// SPDX-License-Identifier: BSD-3-Clause
// One message and what became of it.
#pragma once

#include <cstdint>
#include <vector>

#include "base/time.h"
#include "transport/types.h"

namespace mrc::sim {

using FlowId = std::uint32_t;

/// A message from one QP to its peer. Source bytes live at `source`, they belong at source ^ kTargetBit.
struct Flow {
  FlowId id = 0;
  std::uint32_t qp = 0;
  std::uint64_t bytes = 0;
  std::uint64_t source = 0;
  bool with_immediate = false;
  Time start;                                                  ///< when the application wants to send
  Time completed = Time::never();                              ///< cumulative acknowledgement at the sender
  Time received = Time::never();                               ///< the receiver has all bytes
  bool failed = false;                                         ///< completed with an error
  transport::WcStatus status = transport::WcStatus::kSuccess;  ///< of the completion
  std::uint64_t placed_bytes = 0;     ///< at the receiver; equals bytes at completion
  std::vector<std::uint64_t> placed;  ///< a bit per packet: nothing is placed twice
};

inline constexpr std::uint64_t kTargetBit = std::uint64_t{1} << 63;
inline constexpr unsigned kFlowShift = 32;  ///< source = (id + 1) << kFlowShift: 4 GiB a flow

/// A message that waits for its start; ids count from 0.
inline Flow new_flow(FlowId id, std::uint32_t qp, std::uint64_t bytes, Time start) {
  Flow flow;
  flow.id = id;
  flow.qp = qp;
  flow.bytes = bytes;
  flow.source = (std::uint64_t{id} + 1) << kFlowShift;
  flow.start = start;
  return flow;
}

}  // namespace mrc::sim
