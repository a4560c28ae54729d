// SPDX-License-Identifier: BSD-3-Clause
#include "sim/faults.h"

#include <cmath>
#include <utility>

#include "base/rng.h"
#include "fabric/fabric.h"
#include "sim/fault_merge.h"

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

/// Places in random order, none twice until all have been drawn.
class Deck {
 public:
  explicit Deck(std::vector<FaultScenario> places) : places_(std::move(places)) {}
  [[nodiscard]] std::size_t size() const { return places_.size(); }
  const FaultScenario& draw(Rng& rng) {
    if (left_ == 0) left_ = places_.size();
    std::swap(places_[rng.below(left_)], places_[left_ - 1]);
    return places_[--left_];
  }

 private:
  std::vector<FaultScenario> places_;
  std::size_t left_ = 0;
};

/// Every place that a fault with a random place may have.
std::vector<FaultScenario> places_of(const FaultScenario& f, const fabric::Topology& t,
                                     const path::EvTable& evs) {
  std::vector<FaultScenario> all;
  const auto add = [&](std::uint32_t FaultScenario::*member, std::size_t values, FaultScenario one) {
    for (std::uint32_t v = 0; v < values; ++v) {
      one.*member = v;
      all.push_back(one);
    }
  };
  if (f.place == FaultPlace::kEv) add(&FaultScenario::ev, evs.size(), f);
  if (f.place == FaultPlace::kFabric) all.push_back(f);
  if (f.place == FaultPlace::kPlane) add(&FaultScenario::plane, t.planes, f);
  FaultScenario one = f;
  if (f.place == FaultPlace::kHostPort)
    for (one.plane = 0; one.plane < t.planes; ++one.plane) add(&FaultScenario::host, t.hosts, one);
  for (const fabric::SwitchSpec& sw : t.switches) {
    if (sw.tier != f.tier) continue;
    one.plane = sw.plane;
    one.index = sw.index;
    if (f.place == FaultPlace::kSwitch) all.push_back(one);
    if (f.place == FaultPlace::kUplink) add(&FaultScenario::uplink, sw.up.size(), one);
  }
  return all;
}

/// What a fault touches.
struct Touched {
  std::vector<LinkId> links;
  fabric::SwitchId eater = fabric::kNil;  ///< a black hole
  bool ev = false;
  std::string where;
};

/// One entry of the list of faults at a time.
class Planner {
 public:
  Planner(const Scenario& s, const fabric::Topology& t, const path::EvTable& evs, FaultPlan& plan)
      : s_(s), t_(t), evs_(evs), plan_(plan), merge_(t), rng_(mix64(s.seed ^ 0xFA017ULL)) {}

  Result<void> add(std::size_t number) {
    const FaultScenario& f = s_.faults[number];
    const auto bad = [&](const std::string& what) {
      return Error{"faults[" + std::to_string(number) + "]" + what};
    };
    Deck deck(f.random ? places_of(f, t_, evs_) : std::vector<FaultScenario>{});
    if (f.random && deck.size() == 0) return bad(": no such place in this network");
    if (f.random && f.number > deck.size())
      return bad(".number: " + std::to_string(f.number) + " places drawn, but this network has " +
                 std::to_string(deck.size()));
    for (const double at_us : beginnings(f)) {
      FaultScenario one = f.random ? deck.draw(rng_) : f;
      const bool row = f.place == FaultPlace::kUplink && !f.random;
      for (std::uint32_t k = 0; k < (row ? f.number : 1); ++k) {
        for (std::uint32_t i = 0; i < f.times; ++i) {
          one.at_us = at_us + i * f.period_us;
          if (!add_one(one, k)) return bad(": no such place in this network");
          if (merge_.size() > kMaxFaultSpans)
            return bad(": more than " + std::to_string(kMaxFaultSpans) +
                       " faults of single links; take a smaller place, fewer times or a lower rate");
        }
      }
    }
    return {};
  }
  Result<void> finish() {
    if (merge_.most_ev_rules() > fabric::kMaxEvRules)
      return Error{"faults: " + std::to_string(merge_.most_ev_rules()) +
                   " EVs have loss at one time; at most " + std::to_string(fabric::kMaxEvRules)};
    plan_.schedule = merge_.schedule(plan_.log.causes());
    return {};
  }

 private:
  std::vector<double> beginnings(const FaultScenario& f) {
    std::vector<double> at;
    // Gaps of a Poisson process are exponential.
    const auto gap_us = [&] { return -std::log(1 - rng_.unit()) / f.rate_per_ms * 1e3; };
    if (f.rate_per_ms > 0) {
      for (double t = gap_us(); t < f.window_us && at.size() <= kMaxFaultSpans; t += gap_us())
        at.push_back(f.at_us + t);
      return at;
    }
    for (std::uint32_t i = 0; i < (f.random ? f.number : 1); ++i)
      at.push_back(f.at_us + (f.window_us > 0 ? rng_.unit() * f.window_us : 0));
    return at;
  }

  bool add_one(const FaultScenario& f, std::uint32_t k) {
    Touched touched;
    if (!find(f, k, touched)) return false;
    FaultSpan span;
    span.begin = at_us(f.at_us);
    span.end = f.for_us > 0 ? at_us(f.at_us + f.for_us) : Time::never();
    span.fault = plan_.log.add(span.begin);
    span.kind = f.kind;
    span.probability = f.probability;
    span.fraction = f.fraction;
    span.delay = f.delay;
    plan_.texts.push_back(std::move(touched.where));
    if (touched.eater != fabric::kNil) merge_.on_switch(touched.eater, span);
    if (touched.ev) {
      const path::EvEntry& e = evs_[f.ev];
      merge_.on_ev({e.port, e.udp_sport, e.flow_label, 0}, span);
    }
    for (const LinkId id : touched.links) merge_.on_link(id, span);
    return true;
  }

  // A packet crosses one link into a switch, a plane or the fabric; what is down is so both ways.
  bool find(const FaultScenario& f, std::uint32_t k, Touched& out) const {
    const bool down = f.kind == FaultKind::kDown;
    const auto cable = [&](LinkId up, LinkId back) {
      if (f.direction != Direction::kDown) out.links.push_back(up);
      if (f.direction != Direction::kUp && back != fabric::kNil) out.links.push_back(back);
    };
    const auto ports_of = [&](std::uint32_t plane) {
      for (fabric::HostId h = 0; h < t_.hosts; ++h) {
        out.links.push_back(t_.up_of(h, plane));
        if (down) out.links.push_back(t_.down_of(h, plane));
      }
    };
    const std::string plane = "plane " + std::to_string(f.plane);
    switch (f.place) {
      case FaultPlace::kHostPort:
        out.where = plane + " host " + std::to_string(f.host);
        cable(t_.up_of(f.host, f.plane), t_.down_of(f.host, f.plane));
        return true;
      case FaultPlace::kUplink: {
        const LinkId id = uplink_of(t_, f.plane, f.tier, f.index, f.uplink, k);
        if (id == fabric::kNil) return false;
        out.where = plane + " t" + std::to_string(f.tier) + " " + std::to_string(f.index) + " uplink " +
                    std::to_string(f.uplink + k);
        cable(id, reverse_link(t_, id));
        return true;
      }
      case FaultPlace::kSwitch: {
        const fabric::SwitchId id = t_.find(f.plane, f.tier, f.index);
        out.where = plane + " t" + std::to_string(f.tier) + " " + std::to_string(f.index);
        if (id == fabric::kNil) return false;
        if (f.kind == FaultKind::kBlackHole) {
          out.eater = id;
          return true;
        }
        for (LinkId i = 0; i < t_.links.size(); ++i) {
          const fabric::LinkSpec& l = t_.links[i];
          if ((!l.to.is_host && l.to.id == id) || (down && !l.from.is_host && l.from.id == id))
            out.links.push_back(i);
        }
        return true;
      }
      case FaultPlace::kPlane:
        out.where = plane;
        ports_of(f.plane);
        return true;
      case FaultPlace::kFabric:
        out.where = "fabric";
        for (std::uint32_t p = 0; p < t_.planes; ++p) ports_of(p);
        return true;
      case FaultPlace::kEv:
        out.where = "ev " + std::to_string(f.ev);
        out.ev = true;
        return f.ev < evs_.size();
    }
    return false;
  }

  const Scenario& s_;
  const fabric::Topology& t_;
  const path::EvTable& evs_;
  FaultPlan& plan_;
  FaultMerge merge_;
  Rng rng_;
};

}  // namespace

Result<FaultPlan> plan_faults(const Scenario& scenario, const fabric::Topology& topology,
                              const path::EvTable& evs) {
  FaultPlan plan;
  Planner planner(scenario, topology, evs, plan);
  for (std::size_t i = 0; i < scenario.faults.size(); ++i)
    if (auto ok = planner.add(i); !ok) return ok.error();
  if (auto ok = planner.finish(); !ok) return ok.error();
  return plan;
}

}  // namespace mrc::sim
