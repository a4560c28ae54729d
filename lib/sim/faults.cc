// SPDX-License-Identifier: BSD-3-Clause
#include "sim/faults.h"

#include <algorithm>
#include <cmath>

#include "base/rng.h"
#include "fabric/fabric.h"

namespace mrc::sim {

using fabric::LinkId;

LinkId uplink_of(const fabric::Topology& t, std::uint32_t plane, std::uint32_t tier, std::uint32_t index,
                 std::uint32_t uplink, std::uint32_t k) {
  for (;; ++index) {
    const fabric::SwitchId id = t.find(plane, tier, index);
    if (id == fabric::kNil) return fabric::kNil;
    const fabric::LinkGroup& up = t.switches[id].up;
    if (uplink + k < up.size()) return up[uplink + k];
    if (uplink >= up.size()) return fabric::kNil;
    k -= static_cast<std::uint32_t>(up.size()) - uplink;
    uplink = 0;
  }
}

LinkId reverse_link(const fabric::Topology& t, LinkId id) {
  const auto same = [](fabric::End a, fabric::End b) { return a.is_host == b.is_host && a.id == b.id; };
  for (const LinkId other : {id + 1, id - 1})
    if (other < t.links.size() && same(t.links[other].from, t.links[id].to) &&
        same(t.links[other].to, t.links[id].from))
      return other;
  return fabric::kNil;
}

namespace {

Time at_us(double us) {
  return Time{} + nanoseconds(std::llround(us * 1e3));
}

/// One fault of the list, at one place.
class Planner {
 public:
  Planner(const Scenario& s, const fabric::Topology& t, const path::EvTable& evs, FaultPlan& plan)
      : s_(s), t_(t), evs_(evs), plan_(plan), rng_(mix64(s.seed ^ 0xFA017ULL)) {}

  Result<void> add(std::size_t number) {
    const FaultScenario& f = s_.faults[number];
    const bool rows = f.place == FaultPlace::kUplink && !f.random;
    const std::uint32_t places = rows || f.random ? f.number : 1;
    for (std::uint32_t k = 0; k < places; ++k) {
      for (std::uint32_t i = 0; i < f.times; ++i) {
        FaultScenario one = f;
        one.at_us = f.at_us + i * f.period_us;
        if (f.random && i == 0) draw(one);
        if (f.random && i != 0) place_from(one, drawn_);
        if (!add_one(one, rows ? k : 0))
          return Error{"faults[" + std::to_string(number) + "]: no such place in this network"};
      }
    }
    return {};
  }

 private:
  void draw(FaultScenario& f) {
    f.plane = static_cast<std::uint32_t>(rng_.below(t_.planes));
    f.host = static_cast<std::uint32_t>(rng_.below(t_.hosts));
    f.ev = static_cast<std::uint32_t>(rng_.below(evs_.size()));
    std::vector<const fabric::SwitchSpec*> known;
    for (const fabric::SwitchSpec& sw : t_.switches)
      if (sw.plane == f.plane && sw.tier == f.tier) known.push_back(&sw);
    if (!known.empty()) {
      const fabric::SwitchSpec& sw = *known[rng_.below(known.size())];
      f.index = sw.index;
      f.uplink = static_cast<std::uint32_t>(rng_.below(sw.up.size()));
    }
    drawn_ = f;
  }
  static void place_from(FaultScenario& f, const FaultScenario& from) {
    f.plane = from.plane;
    f.host = from.host;
    f.ev = from.ev;
    f.index = from.index;
    f.uplink = from.uplink;
  }

  bool add_one(const FaultScenario& f, std::uint32_t k) {
    std::vector<fabric::Target> targets;
    std::string where;
    if (!find(f, k, targets, where)) return false;
    const auto label = static_cast<std::uint32_t>(plan_.texts.size());
    plan_.texts.push_back(where);
    plan_.begins.push_back({at_us(f.at_us), label});
    for (const fabric::Target& target : targets) {
      fabric::Change begin;
      fabric::Change end;
      begin.target = end.target = target;
      fill(f, target, begin, end);
      plan_.schedule.push_back({at_us(f.at_us), begin});
      if (f.for_us > 0) plan_.schedule.push_back({at_us(f.at_us + f.for_us), end});
    }
    return true;
  }

  bool find(const FaultScenario& f, std::uint32_t k, std::vector<fabric::Target>& out, std::string& where) {
    const bool whole = f.kind == FaultKind::kDown && f.direction == Direction::kBoth;
    const auto link = [&](LinkId up, LinkId down) {
      if (f.direction != Direction::kDown) out.push_back({fabric::Scope::kLink, up});
      if (f.direction != Direction::kUp && down != fabric::kNil) out.push_back({fabric::Scope::kLink, down});
    };
    const std::string plane = "plane " + std::to_string(f.plane) + " ";
    switch (f.place) {
      case FaultPlace::kHostPort:
        where = plane + "host " + std::to_string(f.host);
        if (whole)
          out.push_back({fabric::Scope::kHostPort, f.host * t_.planes + f.plane});
        else
          link(t_.up_of(f.host, f.plane), t_.down_of(f.host, f.plane));
        return true;
      case FaultPlace::kUplink: {
        const LinkId id = uplink_of(t_, f.plane, f.tier, f.index, f.uplink, k);
        if (id == fabric::kNil) return false;
        where = plane + "t" + std::to_string(f.tier) + " " + std::to_string(f.index) + " uplink " +
                std::to_string(f.uplink + k);
        link(id, reverse_link(t_, id));
        return true;
      }
      case FaultPlace::kSwitch: {
        const fabric::SwitchId id = t_.find(f.plane, f.tier, f.index);
        where = plane + "t" + std::to_string(f.tier) + " " + std::to_string(f.index);
        out.push_back({fabric::Scope::kSwitch, id});
        return id != fabric::kNil;
      }
      case FaultPlace::kPlane:
        where = "plane " + std::to_string(f.plane);
        out.push_back({fabric::Scope::kPlane, f.plane});
        return true;
      case FaultPlace::kFabric:
        where = "fabric";
        out.push_back({fabric::Scope::kFabric, 0});
        return true;
      case FaultPlace::kEv:
        where = "ev " + std::to_string(f.ev);
        out.push_back({fabric::Scope::kFabric, 0});
        return f.ev < evs_.size();
    }
    return false;
  }

  void fill(const FaultScenario& f, const fabric::Target& target, fabric::Change& begin,
            fabric::Change& end) const {
    using fabric::Action;
    begin.action = end.action = Action::kFaults;
    switch (f.kind) {
      case FaultKind::kDown:
        begin.action = Action::kDown;
        end.action = Action::kUp;
        return;
      case FaultKind::kBlackHole:
        begin.action = Action::kBlackHole;
        end.action = Action::kHeal;
        return;
      case FaultKind::kLoss:
        begin.faults.loss = f.probability;
        if (f.place == FaultPlace::kEv) ev_rule(f, begin, end);
        return;
      case FaultKind::kSlow: {
        const bool known = target.scope == fabric::Scope::kLink;
        const std::uint64_t rate = t_.links[known ? target.id : t_.host_up[0]].port.rate_bps;
        begin.action = end.action = Action::kRate;
        begin.rate_bps = static_cast<std::uint64_t>(static_cast<double>(rate) * f.fraction);
        end.rate_bps = rate;
        return;
      }
      case FaultKind::kDelay:
        begin.action = end.action = Action::kDelay;
        begin.duration = f.delay;
        end.duration = s_.network.delay;
        return;
      case FaultKind::kCorrupt:
        begin.faults.corrupt = f.probability;
        return;
      case FaultKind::kDuplicate:
        begin.faults.duplicate = f.probability;
        return;
      case FaultKind::kReorder:
        begin.faults.reorder = f.probability;
        begin.faults.reorder_delay = f.delay;
        return;
    }
  }
  void ev_rule(const FaultScenario& f, fabric::Change& begin, fabric::Change& end) const {
    begin.action = end.action = fabric::Action::kEvLoss;
    const path::EvEntry& e = evs_[f.ev];
    begin.ev = end.ev = {e.port, e.udp_sport, e.flow_label, 0};
    begin.ev.probability = f.probability;
  }

  const Scenario& s_;
  const fabric::Topology& t_;
  const path::EvTable& evs_;
  FaultPlan& plan_;
  Rng rng_;
  FaultScenario drawn_;
};

}  // namespace

Result<FaultPlan> plan_faults(const Scenario& scenario, const fabric::Topology& topology,
                              const path::EvTable& evs) {
  FaultPlan plan;
  Planner planner(scenario, topology, evs, plan);
  for (std::size_t i = 0; i < scenario.faults.size(); ++i)
    if (auto ok = planner.add(i); !ok) return ok.error();
  std::stable_sort(plan.begins.begin(), plan.begins.end(),
                   [](const auto& a, const auto& b) { return a.at < b.at; });
  return plan;
}

}  // namespace mrc::sim
