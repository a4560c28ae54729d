// SPDX-License-Identifier: BSD-3-Clause
// Changes of the network while packets are in it.
#include <algorithm>
#include <cassert>

#include "fabric/fabric.h"

namespace mrc::fabric {

void add_flaps(std::vector<ScheduledChange>& schedule, Target target, Time first, Duration down_for,
               Duration period, std::uint32_t count) {
  Change down;
  down.action = Action::kDown;
  down.target = target;
  Change up = down;
  up.action = Action::kUp;
  for (std::uint32_t i = 0; i < count; ++i) {
    const Time at = first + period * i;
    schedule.push_back({at, down});
    schedule.push_back({at + down_for, up});
  }
}

/// Calls f(link id) for every link the change means; false when the target does not exist.
template <class Function>
bool Fabric::for_each_target(const Change& change, Function&& f) {
  const std::uint32_t id = change.target.id;
  const bool both = change.action == Action::kDown || change.action == Action::kUp;
  const auto host_ports = [&](std::uint32_t plane) {
    for (HostId h = 0; h < topology_.hosts; ++h) {
      f(topology_.up_of(h, plane));
      if (both) f(topology_.down_of(h, plane));
    }
  };
  switch (change.target.scope) {
    case Scope::kLink:
    case Scope::kCable:
      if (id >= links_.size()) return false;
      f(id);
      if (change.target.scope == Scope::kCable && reverse_[id] != kNil) f(reverse_[id]);
      return true;
    case Scope::kSwitch:
      if (id >= switches_.size()) return false;
      for (LinkId i = 0; i < links_.size(); ++i) {
        const Link& l = links_[i];
        if ((!l.to.is_host && l.to.id == id) || (both && !l.from.is_host && l.from.id == id)) f(i);
      }
      return true;
    case Scope::kHostPort:
      if (id >= topology_.host_up.size()) return false;
      f(topology_.host_up[id]);
      f(topology_.host_down[id]);
      return true;
    case Scope::kPlane:
      if (id >= topology_.planes) return false;
      host_ports(id);
      return true;
    case Scope::kFabric:
      for (std::uint32_t plane = 0; plane < topology_.planes; ++plane) host_ports(plane);
      return true;
  }
  return false;
}

bool Fabric::apply(const Change& change, Time now) {
  switch (change.action) {
    case Action::kDown:
      return for_each_target(change, [&](LinkId id) { set_up(id, false, now); });
    case Action::kUp:
      return for_each_target(change, [&](LinkId id) { set_up(id, true, now); });
    case Action::kBlackHole:
    case Action::kHeal:
      if (change.target.scope != Scope::kSwitch || change.target.id >= switches_.size()) return false;
      switches_[change.target.id].black_hole = change.action == Action::kBlackHole;
      return true;
    case Action::kFaults:
      return for_each_target(change, [&](LinkId id) { links_[id].set_faults(change.faults); });
    case Action::kRate:
      return for_each_target(change, [&](LinkId id) { links_[id].set_rate(change.rate_bps); });
    case Action::kDelay:
      return for_each_target(change, [&](LinkId id) { links_[id].set_delay(change.duration); });
    case Action::kJitter:
      return for_each_target(change, [&](LinkId id) { links_[id].set_jitter(change.duration); });
    case Action::kEvLoss:
      return set_ev_rule(change.ev);
  }
  return false;
}

void Fabric::set_up(LinkId id, bool up, Time now) {
  Link& link = links_[id];
  if (link.up && !up) flush(id, now);
  if (link.from.is_host && link.up != up) ++host_port_changes_;
  link.up = up;
}

/// What waits at a dying link or flies over it is lost, without a word to anyone.
void Fabric::flush(LinkId id, Time now) {
  Link& link = links_[id];
  while (!link.wire.empty()) finish(pool_.pop(link.wire), id, DropReason::kLinkDown, kNil, now);
  while (!link.queue.empty()) finish(link.queue.pop(pool_), id, DropReason::kLinkDown, kNil, now);
  heap_.remove_if([&](const Event& e) {
    if (e.type != EventType::kStray) return e.target == id;
    if (pool_[e.target].link != id) return false;
    --strays_;
    finish(e.target, id, DropReason::kLinkDown, kNil, now);
    return true;
  });
  link.stop_service(now);
}

bool Fabric::set_ev_rule(const EvRule& rule) {
  const auto same = [&](const EvRule& r) {
    return r.plane == rule.plane && r.sport == rule.sport && r.label == rule.label;
  };
  const auto it = std::find_if(ev_rules_.begin(), ev_rules_.end(), same);
  if (rule.probability <= 0) {
    if (it != ev_rules_.end()) ev_rules_.erase(it);
    return true;
  }
  if (it != ev_rules_.end()) {
    *it = rule;
    return true;
  }
  if (ev_rules_.size() >= kMaxEvRules) return false;
  ev_rules_.push_back(rule);
  return true;
}

}  // namespace mrc::fabric
