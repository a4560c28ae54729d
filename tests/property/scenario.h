// SPDX-License-Identifier: BSD-3-Clause
// Everything a run depends on, made from one seed: attributes, workload, channel, faults.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"
#include "transport/qp.h"

namespace mrc::property {

/// What a run is about; decides which faults occur and which end is expected.
enum class Kind : std::uint8_t {
  kBenign,        ///< reorders by less than reo, marks, duplicates: nothing may be retransmitted (I2)
  kFaulty,        ///< everything goes wrong until fault_end, then everything must finish (I3, I10)
  kDeadChannel,   ///< the channel dies for good: RETRY_EXC at the computed time (I10)
  kRemoteAccess,  ///< one message of A cannot be executed: a NAK (D17)
  kNoReceive,     ///< a WriteIMM of A finds no receive: NAK 0x63 (D15)
  kAbort,         ///< A goes to ERROR by its own will: flush (D17)
  /// Everything is dead for 2.5 T again and again, or trims without end: far longer than the retry budget
  /// (I10).
  kBlinking,
};
inline constexpr int kKinds = 7;
const char* name_of(Kind kind);
/// Whether every message must succeed.
constexpr bool succeeds_in(Kind kind) {
  return kind == Kind::kBenign || kind == Kind::kFaulty || kind == Kind::kBlinking;
}

struct MessagePlan {
  std::uint32_t length_bytes = 0;
  bool immediate = false;
  bool solicited = false;
  bool reuse_target = false;  ///< write where a completed message was written before
  Duration gap;               ///< posted that long after the previous one was
};

/// How the one bad message of kRemoteAccess fails.
enum class Badness : std::uint8_t {
  kDenied,     ///< the memory check refuses it: NAK 0x62
  kMalformed,  ///< dmalen contradicts the packet's place in the message: NAK 0x61
  kNotPlaced,  ///< the host cannot write it: NAK 0x63
};

/// One direction of one plane while faults last. Probabilities per packet.
struct Link {
  Duration delay;
  Duration jitter;
  double loss = 0;
  double corrupt = 0;
  double duplicate = 0;
  double trim = 0;
  double trim_lasthop = 0;
  double mark = 0;
  double straggle = 0;  ///< an extra delay of up to 20 base RTTs
  double control_loss = 0;
  double control_duplicate = 0;
  double control_straggle = 0;
  double resource_nack = 0;  ///< the packet is dropped and a NACK for lack of resources comes back (D11)
  bool fifo_per_ev = false;  ///< no reordering within one EV
};

/// A plane, or one EV of it, carries nothing for a while.
struct Outage {
  int direction = -1;  ///< 0: A to B, 1: B to A, -1: both
  std::uint8_t plane = 0;
  int ev = -1;  ///< -1: the whole plane
  Duration from, to;
};

/// A host that is away: nothing is received, sent or timed (D13).
struct Stall {
  Duration from, to;
};

struct SidePlan {
  transport::QpLimits limits;
  transport::QpAttr attr;
  std::vector<MessagePlan> messages;
  std::uint32_t receives_total = ~0U;  ///< how many this side ever posts
  std::int64_t cwnd_bytes = 0;
  bool uet_send_test = false;
  Duration round;                  ///< shortest time between two bursts
  std::uint16_t port_credits = 4;  ///< per port and burst
  Duration placing;                ///< payload reaches memory up to that long after its arrival
  std::vector<Stall> stalls;
  std::vector<path::EvIndex> denied;  ///< EVs that the controller denies at the start
  Duration port_down_from, port_down_to;
  int port_down = -1;
  Duration peer_down_from, peer_down_to;
  int peer_down = -1;  ///< the peer reports this port down (D19), rightly or not
};

struct Scenario {
  std::uint64_t seed = 0;
  Kind kind = Kind::kFaulty;
  Time start;
  std::uint8_t planes = 1;
  std::uint16_t evs = 1;
  transport::QpPolicy policy;
  SidePlan side[2];
  Link link[2][kMaxPlanes];
  std::vector<Outage> outages;
  Duration fault_end;  ///< links are perfect from here on
  Duration death;      ///< kDeadChannel: nothing passes from here on; kAbort: when A gives up
  int dead_direction = -1;
  Badness badness{};
  std::uint32_t uncounted_bytes = 0;  ///< the responder counts so many bytes less per packet (D7, C25)
  bool trims_endlessly = false;       ///< kBlinking: trims instead of outages
  bool shrinking = false;             ///< Dynamic MPR: SACKs advertise windows that shrink and grow (D16)
  int bad_message = -1;               ///< kRemoteAccess
  bool wire_bytes = false;  ///< packets travel as bytes through lib/wire, and corruption flips bits of them
  std::uint32_t burst = 32;
};

/// The scenario of a seed. The same seed gives the same scenario in every build.
Scenario make_scenario(std::uint64_t seed);
/// The same, of a given kind.
Scenario make_scenario(std::uint64_t seed, Kind kind);
/// A few lines for people.
std::string describe(const Scenario& s);

/// interval(k) of D13.
Duration ack_interval(const transport::QpAttr& attr, std::uint32_t k);
/// Sum of all intervals: how long a QP without any progress lives (D13); never for exp_cnt 25.
Duration retry_budget(const transport::QpAttr& attr);

}  // namespace mrc::property
