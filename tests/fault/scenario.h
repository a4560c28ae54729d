// SPDX-License-Identifier: BSD-3-Clause
// What one fault run depends on: all of it drawn from the seed.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/rng.h"
#include "host_model.h"
#include "sim/simulation.h"

namespace mrc::fault {

/// What goes wrong in a run, besides the chance of small loss.
enum class Kind : std::uint8_t {
  kLoss,       ///< packets of a cable, both ways
  kFlap,       ///< a cable between switches goes down and up
  kBlackHole,  ///< a spine eats what it gets, its links stay up
  kPlane,      ///< every spine of one plane does
  kHostPort,   ///< a host's own port
  kEvLoss,     ///< entropy values that never arrive
  kMangle,     ///< corrupted, duplicated, reordered
  kBenign,     ///< planes of unlike length and duplicates: nothing is lost, so nothing may be sent again
  kCongested,  ///< small queues that trim, or drop without trimming
  kBlink,      ///< every port of a host loses all, again and again, each time for less than the retries
  kDead,       ///< ... for ever
  kWindow,     ///< a requestor whose window is wider than its peer's
  kStall,      ///< few WriteIMMs allowed, all messages have immediates
  kShort,      ///< hosts short of buffers, of contexts for messages, or slow to place
  kDenied,     ///< a message for memory that may not be written
  kUnplaced,   ///< a payload that can not be placed
  kNoReceive,  ///< fewer receives posted than WriteIMMs come
  kContract,   ///< a requestor with more WriteIMMs in flight than its peer takes
  kFailing,    ///< a host that fails for good: its NACKs say UNEXP_EVENT
  kCount
};
const char* name(Kind kind);
/// How a request may end in a run of this kind beside success and flush; kSuccess: every one must succeed.
transport::WcStatus allowed_error(Kind kind);

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
  std::int64_t window_bytes = 0;   ///< 0: NSCC
  bool shared_controller = false;  ///< one for the QPs of a host to one destination
  std::vector<Message> messages;
  std::uint64_t packets = 0;  ///< in all messages
  HostLimits hosts;
  double deny = 0;         ///< chance that an outside controller denies or permits an EV, every few events
  double shrink = 0;       ///< ... that a responder changes its window (D16)
  double always_skip = 0;  ///< chance that a SACK says "never use this EV" (C38)
};

Scenario make_scenario(std::uint64_t seed);

}  // namespace mrc::fault
