// SPDX-License-Identifier: BSD-3-Clause
// One death on lib/sim and what it cost: 4 planes of 100G, 8 paths a plane, base RTT 10 us, 128 EVs, MPR 8,
// ACK timer 1.05 ms.
#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"

namespace mrc::failover {

enum class Workload : std::uint8_t {
  kStream,   ///< messages without end
  kMessage,  ///< one message of 1 MiB, the death anywhere in it
  kTail,     ///< the same, the death in the last 5 us of its sending
};
enum class Fault : std::uint8_t {
  kLink,       ///< a cable between leaf and spine, both directions: one path of a plane
  kBlackHole,  ///< a spine that eats everything while its links stay up
  kPlane,      ///< a leaf that does: a whole plane, there and back
  kPeerPort,   ///< the receiver's port
};
inline constexpr Workload kWorkloads[] = {Workload::kStream, Workload::kMessage, Workload::kTail};
inline constexpr Fault kFaults[] = {Fault::kLink, Fault::kBlackHole, Fault::kPlane, Fault::kPeerPort};
const char* name(Workload w);
const char* name(Fault f);

struct Conditions {
  Workload workload = Workload::kStream;
  Fault fault = Fault::kLink;
  Duration queueing{};  ///< each path waits up to this much longer, drawn anew every half RTT
  bool ev_order_only =
      false;  ///< the control: no time rule, no flush, no tail probe, no plane rule, no port status
  bool nscc =
      false;  ///< the controller of MRC 8.4, for 400G and the base RTT; else a fixed window of 1.5 BDP
  std::uint64_t seed = 1;
  bool unseen_loss =
      false;  ///< the control of false_verdicts: a spine loses what the observer does not count
};

/// Base RTT of the fabric below for a packet of 4096 B.
inline constexpr Duration kBaseRtt = microseconds(10);

struct Outcome {
  std::uint32_t lost = 0;            ///< packets of data that the death swallowed
  double repair_rtts = 0;            ///< from the death until the last of their PSNs was accepted
  std::uint32_t spurious = 0;        ///< retransmissions of PSNs of which nothing was lost
  std::uint32_t by_timer = 0;        ///< retransmissions by ACK timer or tail repeat
  std::uint32_t verdicts = 0;        ///< EVs condemned
  std::uint32_t false_verdicts = 0;  ///< of those, EVs condemned although nothing was lost on them
  bool repaired = false;             ///< every lost PSN was accepted, every message completed
  std::uint32_t moved = 0;           ///< how often the death struck elsewhere instead, for it met no packet
  std::string violation;
};

Outcome run(const Conditions& setup);

}  // namespace mrc::failover
