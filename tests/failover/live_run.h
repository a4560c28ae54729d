// SPDX-License-Identifier: BSD-3-Clause
// Deaths in real time: two Nics over the virtual fabric on one thread, one stream, paths that die one after
// the other while it runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"

namespace mrc::failover {

struct LiveConditions {
  std::uint32_t deaths = 50;  ///< to be counted; those with an absence of the thread are repeated
  Duration base_rtt = milliseconds(4);
  bool ev_order_only = false;  ///< the control
  Duration time_limit = seconds(60);
  std::uint64_t seed = 1;
};

/// A base RTT that this thread is seldom away for half of, as things are on this machine now: 4 to 48 ms.
Duration calm_base_rtt();

struct LiveOutcome {
  std::vector<double> rtts;  ///< of each counted death: until the responder had accepted all it swallowed
  std::uint32_t absent = 0;  ///< left out: the thread was away for more than half a base RTT
  std::uint32_t missed = 0;  ///< left out: no data met the dead path
  std::uint64_t lost_pkts = 0;
  std::uint64_t by_timer = 0;  ///< retransmissions by the ACK timer, in counted deaths
  std::uint64_t messages = 0;
  bool intact = true;  ///< what lies in the target is what was sent
  std::string error;   ///< why it ended early
};

LiveOutcome run_live(const LiveConditions& conditions);

}  // namespace mrc::failover
