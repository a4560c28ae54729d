// SPDX-License-Identifier: BSD-3-Clause
// What a receiving host can be short of, as a hardware responder is: buffer before its memory bus, contexts
// for messages that are under way, time; and what it refuses.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "sim/simulation.h"

namespace mrc::fault {

inline constexpr std::uint32_t kNobody = ~0U;

struct HostLimits {
  std::uint64_t memory_bps = 0;    ///< of the bus to memory; 0: payloads are in memory at once
  std::uint32_t buffer_bytes = 0;  ///< before the bus; 0: as large as it takes
  Duration stall_every;            ///< the bus stands still for `stall` once in this time; 0: never
  Duration stall;
  std::uint32_t contexts = 0;              ///< messages under way at a host; 0: any number
  std::uint32_t denied_message = kNobody;  ///< flow whose memory may not be written
  std::uint32_t unplaced_message = kNobody;
  std::uint32_t failing_qp = kNobody;  ///< its host fails for good...
  std::uint32_t fails_after = 0;       ///< ... with this packet
};

/// All hosts of a run. Answers what Simulation::on_intake asks.
class HostModel {
 public:
  HostModel(const HostLimits& limits, const sim::Simulation& sim);
  sim::Intake operator()(sim::QpId to, const transport::TxDesc& d);

 private:
  struct Host {
    Time bus_free;
    std::set<sim::FlowId> open;  ///< messages that hold a context
  };
  [[nodiscard]] bool has_context(Host& host, sim::FlowId flow, bool next);
  [[nodiscard]] Time bus_start(Time from) const;

  const HostLimits limits_;
  const sim::Simulation& sim_;
  std::vector<Host> hosts_;
  std::uint32_t seen_ = 0;  ///< packets of failing_qp
};

}  // namespace mrc::fault
