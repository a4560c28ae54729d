// SPDX-License-Identifier: BSD-3-Clause
// What a run measures, and the invariants that stop it.
#include <algorithm>
#include <array>
#include <utility>

#include "sim/simulation.h"

namespace mrc::sim {

namespace {

using fabric::DropReason;

// A fault of the network, as against want of room.
bool is_fault(DropReason reason) {
  return reason == DropReason::kLinkDown || reason == DropReason::kRandomLoss ||
         reason == DropReason::kEvLoss || reason == DropReason::kBlackHole || reason == DropReason::kPortDown;
}

// The controller may deny what the floor would have kept.
std::size_t denied_evs(const path::EvSet& evs) {
  std::size_t n = 0;
  for (std::size_t ev = 0; ev < evs.table().size(); ++ev)
    n += evs.state(static_cast<path::EvIndex>(ev)) == path::EvState::kDenied ? 1 : 0;
  return n;
}

}  // namespace

void Simulation::violate(const std::string& what) {
  if (violation_.empty())
    violation_ = what + " (seed " + std::to_string(options_.seed) + ", " + std::to_string(now_.ns) + " ns)";
}

void Simulation::trace(TraceEvent::What what, const fabric::Packet& packet, const Token& token,
                       DropReason reason) {
  trace_({now_, what, qps_[token.to_qp]->peer, token.to_qp, &token, &packet, reason});
}

// --- Faults
// -------------------------------------------------------------------------------------------------

void Simulation::note_drop(const fabric::Outcome& outcome, const Token& token) {
  if (!outcome.delivered() && !is_fault(outcome.reason)) return;
  while (next_fault_ < fault_times_.size() && fault_times_[next_fault_].at <= outcome.at) {
    faults_.begin(fault_times_[next_fault_].at, fault_times_[next_fault_].label);
    ++next_fault_;
  }
  Node& from = *qps_[qps_[token.to_qp]->peer];
  if (!token.is_data) {
    faults_.lost_other();
    // A probe that is swallowed shows the path as dead as a packet does.
    if (token.control.opcode == wire::Opcode::kProbe && token.control.ev != path::kNoEv)
      ++from.fault_losses[token.control.ev];
    return;
  }
  ++from.fault_losses[token.data.ev];
  counters_.evs_hit += std::exchange(from.hit[token.data.ev], std::uint8_t{1}) == 0 ? 1 : 0;
  const std::uint64_t source = token.data.va ^ kTargetBit;
  const Flow& flow = flows_[static_cast<FlowId>((source >> kFlowShift) - 1)];
  const std::uint64_t packet = (source - flow.source) / from.qp->attributes().path_mtu;
  const bool received = (flow.placed[packet / 64] >> (packet % 64) & 1U) != 0;
  faults_.lost_data(token.sent, std::uint64_t{token.to_qp} << 32 | token.data.psn.value(), received);
}

// An EV assumed bad on which the network lost nothing since its last verdict is condemned falsely.
void Simulation::note_verdicts(QpId id, Node& node) {
  node.condemned_seen = node.qp->ev_set().counters().assumed_bad;
  std::array<path::EvSet::Event, 32> events;
  std::uint64_t dropped = 0;
  for (std::size_t n = events.size(); n == events.size();) {
    n = node.qp->ev_set().poll_events(events, dropped);
    for (std::size_t i = 0; i < n; ++i) {
      if (ev_event_) ev_event_(id, events[i]);
      if (events[i].to != path::EvState::kAssumedBad) continue;
      ++counters_.condemned;
      counters_.false_condemned += node.fault_losses[events[i].ev] == 0 ? 1 : 0;
      node.fault_losses[events[i].ev] = 0;
    }
  }
}

// --- Queues
// -------------------------------------------------------------------------------------------------

// Samples at every interval up to `until`, with the state that stands since the last event.
void Simulation::sample_queues(Time until) {
  const Duration step = options_.sample_interval;
  if (open_flows_ == 0 || until.is_never()) {  // before the first and after the last flow nobody cares
    if (!until.is_never()) next_sample_ = next_sample_ + step * ((until - next_sample_).ns / step.ns + 1);
    return;
  }
  if (fabric_->in_flight() == 0) {  // idle: all queues are empty, however long
    const std::int64_t times = (until - next_sample_).ns / step.ns + 1;
    for (std::size_t c = 0; c < kQueueClasses; ++c)
      if (links_of_class_[c] != 0)
        depths_[c].record(0, links_of_class_[c] * static_cast<std::uint64_t>(times));
    next_sample_ = next_sample_ + step * times;
    return;
  }
  for (; next_sample_ <= until; next_sample_ = next_sample_ + step) {
    for (fabric::LinkId id = 0; id < link_class_.size(); ++id) {
      const fabric::Link& link = fabric_->link(id);
      depths_[static_cast<std::size_t>(link_class_[id])].record(link.queue.data_bytes() +
                                                                link.serving_data_bytes(next_sample_));
    }
  }
}

void Simulation::look(Time until) {
  while (next_look_ <= until && !until.is_never()) next_look_ = look_(next_look_);
}

// --- Invariants
// ---------------------------------------------------------------------------------------------

void Simulation::check(QpId id) {
  const Node& node = *qps_[id];
  const transport::Qp& qp = *node.qp;
  const auto window = static_cast<std::int32_t>(qp.attributes().mpr * kPsnsPerMprUnit);
  if (qp.max_psn_sent() - qp.unack_psn() > window) violate("more than MPR packets are outstanding (D2)");
  if (qp.placed_psn().after(qp.cack_psn())) violate("placed_psn is ahead of cack_psn (D4)");
  if (qp.ev_set().active() < qp.policy().ev.ev_min_active && qp.ev_set().counters().floor_hits != 0 &&
      qp.ev_set().active() + denied_evs(qp.ev_set()) < qp.policy().ev.ev_min_active)
    violate("fewer EVs are active than ev_min_active (D9)");
  const Group& group = groups_[node.group];
  if (group.members.size() == 1 && qp.inflight_share_bytes() != group.qpcc->inflight_bytes())
    violate("inflight of the controller is not the share of its QP (D7)");
}

// No data on an EV that is condemned or denied, but for the counted fallback (I9).
void Simulation::check_sent(QpId, Node& node, const transport::TxDesc& d) {
  const path::EvState state = node.qp->ev_set().state(d.ev);
  const std::uint64_t fallbacks = node.qp->ev_set().counters().fallback_picks;
  const bool fell_back = std::exchange(node.fallbacks_seen, fallbacks) != fallbacks;
  if (state == path::EvState::kDenied) violate("data on a denied EV (D9)");
  if (state == path::EvState::kAssumedBad && !fell_back) violate("data on an EV assumed bad (D10)");
}

// A WriteIMM is delivered in order, once, and when it and all before it are in memory (D15).
void Simulation::check_delivered(QpId receiver, const transport::Completion& done) {
  if (done.status != transport::WcStatus::kSuccess) return;
  Node& sender = *qps_[qps_[receiver]->peer];
  if (sender.immediates.empty() || sender.immediates.front() != done.immdt)
    return violate("immediate " + std::to_string(done.immdt) + " was delivered out of order or twice (D15)");
  sender.immediates.pop_front();
  for (const FlowId before : sender.expected) {
    if (flows_[before].placed_bytes != flows_[before].bytes)
      violate("immediate " + std::to_string(done.immdt) +
              " was delivered before its bytes were in memory (D15)");
    if (before == done.immdt) break;
  }
}

void Simulation::check_conservation() {
  if (!fabric_->conserves()) violate("the fabric does not conserve packets");
  const std::uint64_t sent = counters_.data_sent + counters_.control_sent;
  const fabric::FabricCounters& f = fabric_->counters();
  const std::uint64_t ended = counters_.delivered + counters_.corrupt_dropped + counters_.dropped;
  if (sent + f.duplicated != ended + counters_.refused + fabric_->in_flight())
    violate("packets sent are not received + dropped + in flight");
  for (const Group& group : groups_) {
    std::int64_t shares = 0;
    for (const QpId id : group.members) shares += qps_[id]->qp->inflight_share_bytes();
    if (shares != group.qpcc->inflight_bytes())
      violate("inflight of a controller is not the sum of its QPs' shares");
  }
}

std::string Simulation::check_at_rest() const {
  if (open_flows_ != 0) return std::to_string(open_flows_) + " flows never completed: the run is stuck (I3)";
  if (tokens_.in_use() != 0 || fabric_->in_flight() != 0) return "packets are left inside at rest";
  for (std::size_t id = 0; id < qps_.size(); ++id) {
    const transport::Qp& qp = *qps_[id]->qp;
    const std::int64_t share = qp.inflight_share_bytes();
    if (qp.charged_bytes() != 0) return "QP " + std::to_string(id) + " has charged packets at rest (D7)";
    // A lost last SACK leaves a rest that only the tail probe asks for (D14 line 10): a control without it
    // keeps that rest.
    const bool settled = share <= 0 || !qp.policy().tail_probe;
    if (!settled || share < -255)
      return "QP " + std::to_string(id) + " keeps " + std::to_string(share) +
             " bytes in flight at rest; the bound is -255..0 (D7)";
  }
  return {};
}

}  // namespace mrc::sim
