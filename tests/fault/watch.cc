// SPDX-License-Identifier: BSD-3-Clause
#include "watch.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "path/ev_names.h"

namespace mrc::fault {
namespace {

using path::EvCause;
using path::EvState;
using sim::TraceEvent;

constexpr const char* kPlanes[] = {"UP", "DOWN by silence", "DOWN by own port", "DOWN by peer's port"};

struct Transition {
  EvState from, to;
  EvCause cause;
};
/// All that 5.5 and D9 know. A mark of 2 is the cause of the demotions by mark (C38).
constexpr Transition kTransitions[] = {
    {EvState::kGood, EvState::kSkip, EvCause::kMark},
    {EvState::kGood, EvState::kSkip, EvCause::kTrimmed},
    {EvState::kGood, EvState::kSkip, EvCause::kLoss},
    {EvState::kGood, EvState::kSkip, EvCause::kAckTimeout},
    {EvState::kGood, EvState::kAssumedBad, EvCause::kMark},
    {EvState::kGood, EvState::kAssumedBad, EvCause::kLoss},
    {EvState::kGood, EvState::kAssumedBad, EvCause::kAckTimeout},
    {EvState::kGood, EvState::kDenied, EvCause::kController},
    {EvState::kSkip, EvState::kGood, EvCause::kRotation},
    {EvState::kSkip, EvState::kGood, EvCause::kController},
    {EvState::kSkip, EvState::kAssumedBad, EvCause::kMark},
    {EvState::kSkip, EvState::kAssumedBad, EvCause::kLoss},
    {EvState::kSkip, EvState::kAssumedBad, EvCause::kAckTimeout},
    {EvState::kSkip, EvState::kDenied, EvCause::kController},
    {EvState::kAssumedBad, EvState::kGood, EvCause::kProbeOk},
    {EvState::kAssumedBad, EvState::kGood, EvCause::kSpurious},
    {EvState::kAssumedBad, EvState::kGood, EvCause::kController},
    {EvState::kAssumedBad, EvState::kDenied, EvCause::kController},
    {EvState::kDenied, EvState::kGood, EvCause::kController},
};

template <class E>
std::size_t index(E e) {
  return static_cast<std::size_t>(e);
}

}  // namespace

Watch::Watch(const Scenario& scenario, sim::Simulation& sim, bool trace)
    : s_(scenario), trace_(trace), sim_(sim), rng_(Rng(scenario.seed).fork(0x3A7C4)), senders_(sim.qps()) {
  sim_.on_trace([this](const TraceEvent& e) { on_trace(e); });
  sim_.on_ev_event([this](sim::QpId id, const path::EvSet::Event& e) { on_ev_event(id, e); });
}

void Watch::violate(sim::QpId id, const std::string& what) {
  if (failure_.empty())
    failure_ = "QP " + std::to_string(id) + ": " + what + " (" + std::to_string(sim_.now().ns) + " ns)";
}

void Watch::on_trace(const TraceEvent& e) {
  const sim::Token& token = *e.token;
  if (trace_) std::puts(sim::to_text(e).c_str());
  if (e.what == TraceEvent::What::kSent) {
    if (token.is_data) on_data_sent(e.from_qp, token.data);
    if (!token.is_data && token.control.opcode == wire::Opcode::kNack && s_.kind != Kind::kWindow &&
        token.control.nack.reason == wire::NackReason::kPsnOorWindow)
      violate(e.from_qp, "refuses a PSN that it had promised to take (D16)");
  } else if (e.what == TraceEvent::What::kDelivered && !token.is_data && !e.packet->corrupted) {
    on_delivered(e);
  }
}

void Watch::on_delivered(const TraceEvent& e) {
  const sim::Token& token = *e.token;
  // A peer that says "never use this EV again": ours never does, so a copy of its SACK says it first.
  if (token.control.opcode == wire::Opcode::kSack && rng_.chance(s_.always_skip)) {
    wire::SackView sack = token.control.sack;
    sack.m = wire::EvMark::kAlwaysSkip;
    wire::RxMeta meta;
    meta.arrival = e.at;
    meta.port = e.packet->plane;
    sim_.forge_sack(e.to_qp, sack, meta);
  }
}

void Watch::on_data_sent(sim::QpId id, const transport::TxDesc& d) {
  Sender& sender = senders_[id];
  sender.first_data = earlier(sender.first_data, sim_.now());
  sender.last_data = sim_.now();
  check_limit(id, d);
}

// D15: from its first packet to the Transport ACK that covers it.
void Watch::check_limit(sim::QpId id, const transport::TxDesc& d) {
  const std::uint64_t offset = d.source & ((std::uint64_t{1} << sim::kFlowShift) - 1);
  const auto flow = static_cast<sim::FlowId>((d.source >> sim::kFlowShift) - 1);
  if (d.rtx || offset != 0 || flow >= sim_.flows().size() || !sim_.flows()[flow].with_immediate) return;
  std::vector<sim::FlowId>& open = senders_[id].immediates;
  std::erase_if(open, [&](sim::FlowId f) { return !sim_.flows()[f].completed.is_never(); });
  open.push_back(flow);
  if (open.size() > sim_.qp(id).attributes().max_wimm)
    violate(id, std::to_string(open.size()) + " WriteIMMs in flight, the peer takes " +
                    std::to_string(sim_.qp(id).attributes().max_wimm) + " (D15)");
}

void Watch::on_ev_event(sim::QpId id, const path::EvSet::Event& e) {
  ++ev_transitions_[index(e.from)][index(e.to)][index(e.cause)];
  const bool known = std::any_of(std::begin(kTransitions), std::end(kTransitions), [&](const Transition& t) {
    return t.from == e.from && t.to == e.to && t.cause == e.cause;
  });
  if (!known)
    violate(id, std::string("EV went from ") + path::name(e.from) + " to " + path::name(e.to) + " by " +
                    path::name(e.cause) + " (5.5)");
}

Watch::Plane Watch::state_of(sim::QpId id, std::uint8_t plane) const {
  const path::EvSet& evs = sim_.qp(id).ev_set();
  if (!sim_.network().host_port_up(sim_.host_of(id), plane)) return Plane::kOwnPort;
  if ((evs.silent_planes() >> plane & 1U) != 0) return Plane::kSilent;
  return evs.port_usable(plane) ? Plane::kUp : Plane::kPeersPort;
}

void Watch::look() {
  for (sim::QpId id = 0; id < senders_.size(); ++id) {
    for (std::uint8_t p = 0; p < s_.clos.planes; ++p) {
      const Plane now = state_of(id, p);
      const Plane before = std::exchange(senders_[id].planes[p], now);
      if (now != before) ++plane_transitions_[index(before)][index(now)];
    }
    const std::uint32_t all = (1U << s_.clos.planes) - 1;
    if (s_.kind != Kind::kHostPort && (sim_.qp(id).ev_set().silent_planes() & all) == all)
      violate(id, "gave up its last plane (D9)");
  }
}

void Watch::count(Coverage& out) const {
  for (const Transition& t : kTransitions)
    out.add(
        std::string("EV: ") + path::name(t.from) + " to " + path::name(t.to) + " by " + path::name(t.cause),
        ev_transitions_[index(t.from)][index(t.to)][index(t.cause)]);
  for (const Plane p : {Plane::kSilent, Plane::kOwnPort, Plane::kPeersPort}) {
    std::uint64_t down = 0;
    std::uint64_t up = 0;
    for (std::size_t other = 0; other < 4; ++other) {
      if (other == index(p)) continue;
      down += plane_transitions_[other][index(p)];
      up += plane_transitions_[index(p)][other];
    }
    out.add(std::string("plane: to ") + kPlanes[index(p)], down);
    out.add(std::string("plane: from ") + kPlanes[index(p)], up);
  }
  std::uint64_t wrapped = 0;
  constexpr std::int64_t kWrapNs = 65536 * 128;
  for (const Sender& s : senders_)
    wrapped += !s.first_data.is_never() && s.first_data.ns / kWrapNs != s.last_data.ns / kWrapNs ? 1 : 0;
  out.add("wrap: timestamp", wrapped);
}

}  // namespace mrc::fault
