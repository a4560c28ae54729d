// SPDX-License-Identifier: BSD-3-Clause
// What can be changed while traffic runs: one vocabulary for schedules, for the virtual port's control ring
// and for tests.
#pragma once

#include <cstdint>
#include <vector>

#include "fabric/link.h"

namespace mrc::fabric {

/// Which links a change means.
enum class Scope : std::uint8_t {
  kLink,      ///< id: LinkId; one direction
  kCable,     ///< id: LinkId; that link and its reverse
  kSwitch,    ///< id: SwitchId; the links into it, for kDown and kUp also those out of it
  kHostPort,  ///< id: host x planes + plane; both directions
  kPlane,     ///< id: plane; the links from the hosts into it (every packet crosses one), kDown and kUp: host
              ///< ports
  kFabric,    ///< as kPlane, all planes
};

struct Target {
  Scope scope = Scope::kLink;
  std::uint32_t id = 0;
};

enum class Action : std::uint8_t {
  kDown,
  kUp,
  kBlackHole,  ///< kSwitch only: eats everything, links stay up
  kHeal,       ///< ends kBlackHole
  kFaults,     ///< sets all LinkFaults of the target
  kRate,
  kDelay,
  kJitter,
  kEvLoss,  ///< adds or replaces the loss rule of (plane, sport, label); probability 0 removes it
};

/// A loss rule for one entropy value on one plane, wherever it goes.
struct EvRule {
  std::uint8_t plane = 0;
  std::uint16_t sport = 0;
  std::uint16_t label = 0;
  double probability = 0;
};

struct Change {
  Action action = Action::kDown;
  Target target;
  LinkFaults faults;
  std::uint64_t rate_bps = 0;
  Duration duration{};  ///< delay or jitter
  EvRule ev;
};

struct ScheduledChange {
  Time at;
  Change change;
};

/// Down for `down_for`, up again, `count` times, one period apart.
void add_flaps(std::vector<ScheduledChange>& schedule, Target target, Time first, Duration down_for,
               Duration period, std::uint32_t count);

}  // namespace mrc::fabric
