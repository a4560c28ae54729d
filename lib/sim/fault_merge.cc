// SPDX-License-Identifier: BSD-3-Clause
#include "sim/fault_merge.h"

#include <algorithm>
#include <utility>

namespace mrc::sim {

namespace {

using fabric::Action;
using fabric::Scope;

/// A probability that grows by independent events, and the fault that has the largest part in it.
struct Joint {
  double probability = 0;
  double strongest = 0;
  FaultId fault = kNoFault;

  void add(double p, FaultId by) {
    probability = probability + p - probability * p;
    if (p <= strongest) return;
    strongest = p;
    fault = by;
  }
};

/// What the faults active at one time make of a place.
struct State {
  Joint down, loss, corrupt, duplicate, reorder;
  Duration reorder_delay{};
  double fraction = 1;
  Duration delay{-1};  ///< as built

  void add(const FaultSpan& s) {
    switch (s.kind) {
      case FaultKind::kDown:
      case FaultKind::kBlackHole:
        down.add(1, s.fault);
        break;
      case FaultKind::kLoss:
        loss.add(s.probability, s.fault);
        break;
      case FaultKind::kCorrupt:
        corrupt.add(s.probability, s.fault);
        break;
      case FaultKind::kDuplicate:
        duplicate.add(s.probability, s.fault);
        break;
      case FaultKind::kReorder:
        reorder.add(s.probability, s.fault);
        reorder_delay = std::max(reorder_delay, s.delay);
        break;
      case FaultKind::kSlow:
        fraction *= s.fraction;
        break;
      case FaultKind::kDelay:
        delay = std::max(delay, s.delay);
        break;
    }
  }
  [[nodiscard]] bool is_down() const { return down.fault != kNoFault; }
  [[nodiscard]] fabric::LinkFaults link_faults() const {
    return {loss.probability, corrupt.probability, duplicate.probability, reorder.probability, reorder_delay};
  }
};

/// Calls f(time, state before, state from then on) wherever a span begins or ends, in order of time.
template <class Function>
void sweep(std::vector<FaultSpan> spans, Function&& f) {
  std::stable_sort(spans.begin(), spans.end(),
                   [](const FaultSpan& a, const FaultSpan& b) { return a.begin < b.begin; });
  std::vector<FaultSpan> active;  // in order of their beginnings
  State before;
  std::size_t next = 0;
  for (;;) {
    Time at = next < spans.size() ? spans[next].begin : Time::never();
    for (const FaultSpan& s : active) at = earlier(at, s.end);
    if (at.is_never()) return;
    for (; next < spans.size() && spans[next].begin == at; ++next) active.push_back(spans[next]);
    std::erase_if(active, [&](const FaultSpan& s) { return s.end <= at; });
    State now;
    for (const FaultSpan& s : active) now.add(s);
    f(at, before, now);
    before = now;
  }
}

bool same(const fabric::LinkFaults& a, const fabric::LinkFaults& b) {
  return a.loss == b.loss && a.corrupt == b.corrupt && a.duplicate == b.duplicate && a.reorder == b.reorder &&
         a.reorder_delay == b.reorder_delay;
}

fabric::ScheduledChange change(Time at, Action action, Scope scope, std::uint32_t id) {
  fabric::ScheduledChange c;
  c.at = at;
  c.change.action = action;
  c.change.target = {scope, id};
  return c;
}

}  // namespace

void FaultMerge::schedule_link(fabric::LinkId id, const Spans& spans,
                               std::vector<fabric::ScheduledChange>& out, FaultCauses& causes) const {
  const fabric::PortConfig& built = topology_.links[id].port;
  sweep(spans, [&](Time at, const State& before, const State& now) {
    const auto add = [&](Action action) -> fabric::Change& {
      out.push_back(change(at, action, Scope::kLink, id));
      return out.back().change;
    };
    if (before.is_down() != now.is_down()) add(now.is_down() ? Action::kDown : Action::kUp);
    if (!same(before.link_faults(), now.link_faults())) add(Action::kFaults).faults = now.link_faults();
    if (before.fraction != now.fraction)
      add(Action::kRate).rate_bps = std::max<std::uint64_t>(
          1, static_cast<std::uint64_t>(static_cast<double>(built.rate_bps) * now.fraction));
    if (before.delay != now.delay) add(Action::kDelay).duration = now.delay.ns < 0 ? built.delay : now.delay;
    if (before.down.fault != now.down.fault) causes.on_link(LossCause::kDown, id, at, now.down.fault);
    if (before.loss.fault != now.loss.fault) causes.on_link(LossCause::kLoss, id, at, now.loss.fault);
    if (before.corrupt.fault != now.corrupt.fault)
      causes.on_link(LossCause::kCorrupt, id, at, now.corrupt.fault);
  });
}

void FaultMerge::schedule_switch(fabric::SwitchId id, const Spans& spans,
                                 std::vector<fabric::ScheduledChange>& out, FaultCauses& causes) const {
  sweep(spans, [&](Time at, const State& before, const State& now) {
    if (before.is_down() != now.is_down())
      out.push_back(change(at, now.is_down() ? Action::kBlackHole : Action::kHeal, Scope::kSwitch, id));
    if (before.down.fault == now.down.fault) return;
    for (fabric::LinkId link = 0; link < topology_.links.size(); ++link) {
      const fabric::End to = topology_.links[link].to;
      if (!to.is_host && to.id == id) causes.on_link(LossCause::kBlackHole, link, at, now.down.fault);
    }
  });
}

void FaultMerge::schedule_ev(const EvKey& key, const Spans& spans, std::vector<fabric::ScheduledChange>& out,
                             FaultCauses& causes) {
  sweep(spans, [&, plane = std::get<0>(key), sport = std::get<1>(key), label = std::get<2>(key)](
                   Time at, const State& before, const State& now) {
    if (before.loss.probability != now.loss.probability) {
      out.push_back(change(at, Action::kEvLoss, Scope::kFabric, 0));
      out.back().change.ev = {plane, sport, label, now.loss.probability};
    }
    if (before.loss.fault != now.loss.fault) causes.on_ev(plane, sport, label, at, now.loss.fault);
  });
}

std::vector<fabric::ScheduledChange> FaultMerge::schedule(FaultCauses& causes) const {
  std::vector<fabric::ScheduledChange> out;
  for (const auto& [id, spans] : links_) schedule_link(id, spans, out, causes);
  for (const auto& [id, spans] : switches_) schedule_switch(id, spans, out, causes);
  for (const auto& [key, spans] : evs_) schedule_ev(key, spans, out, causes);
  return out;
}

std::size_t FaultMerge::most_ev_rules() const {
  std::vector<std::pair<Time, bool>> steps;  // at one time what ends may come last
  for (const auto& [key, spans] : evs_)
    sweep(spans, [&](Time at, const State& before, const State& now) {
      if ((before.loss.probability > 0) != (now.loss.probability > 0))
        steps.emplace_back(at, before.loss.probability > 0);
    });
  std::sort(steps.begin(), steps.end());
  std::size_t rules = 0;
  std::size_t most = 0;
  for (const auto& [at, ends] : steps) most = std::max(most, ends ? --rules : ++rules);
  return most;
}

}  // namespace mrc::sim
