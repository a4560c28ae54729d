// SPDX-License-Identifier: BSD-3-Clause
// What one fault run depends on: all of it drawn from the seed.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/rng.h"
#include "sim/simulation.h"

namespace mrc::fault {

/// What goes wrong in a run, besides the chance of small loss.
enum class Kind : std::uint8_t {
  kLoss,       ///< packets of a cable, both ways
  kFlap,       ///< a cable between switches goes down and up
  kBlackHole,  ///< a spine eats what it gets, its links stay up
  kHostPort,   ///< a host's own port
  kEvLoss,     ///< entropy values that never arrive
  kMangle,     ///< corrupted, duplicated, reordered
  kCongested,  ///< small queues that trim, or drop without trimming
  kDead,       ///< every port of a host, for longer than the retries
  kWindow,     ///< a requestor whose window is wider than its peer's
  kStall,      ///< few WriteIMMs allowed, all messages have immediates
  kCount
};
const char* name(Kind kind);

struct Message {
  std::uint32_t qp = 0;  ///< index of the QP, in order of connection
  std::uint32_t bytes = 0;
  Time at;
  bool with_immediate = false;
};

struct Scenario {
  std::uint64_t seed = 0;
  Kind kind = Kind::kLoss;
  fabric::ClosSpec clos;
  fabric::FabricConfig fabric;
  std::vector<std::pair<fabric::HostId, fabric::HostId>> pairs;
  transport::QpLimits limits;
  transport::QpPolicy policy;
  transport::QpAttr attr[2];  ///< of the connecting and of the other end
  std::uint32_t evs = 32;
  std::int64_t window_bytes = 0;  ///< 0: NSCC
  std::vector<Message> messages;
  std::uint64_t packets = 0;  ///< in all messages
};

Scenario make_scenario(std::uint64_t seed);

}  // namespace mrc::fault
