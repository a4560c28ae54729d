// SPDX-License-Identifier: BSD-3-Clause
// What a run measures.
#include <algorithm>
#include <array>
#include <utility>

#include "sim/simulation.h"

namespace mrc::sim {

using fabric::DropReason;

void Simulation::trace(TraceEvent::What what, const fabric::Packet& packet, const Token& token,
                       DropReason reason) {
  trace_({now_, what, qps_[token.to_qp]->peer, token.to_qp, &token, &packet, reason});
}

// --- Faults
// -------------------------------------------------------------------------------------------------

void Simulation::note_drop(const fabric::Outcome& outcome, const Token& token) {
  if (!outcome.delivered() && !is_silent_loss(outcome.reason)) return;
  const FaultId fault = faults_.causes().of(outcome);
  Node& from = *qps_[qps_[token.to_qp]->peer];
  if (!token.is_data) {
    faults_.lost_other(fault);
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
  faults_.lost_data(fault, token.sent, std::uint64_t{token.to_qp} << 32 | token.data.psn.value(), received);
}

// An EV assumed bad on which the network lost nothing since its last verdict is condemned falsely.
void Simulation::note_verdicts(QpId id, Node& node) {
  node.condemned_seen = node.qp->ev_set().counters().assumed_bad;
  std::array<path::EvSet::Event, 32> events;
  std::uint64_t dropped = 0;
  for (std::size_t n = events.size(); n == events.size();) {
    n = node.qp->ev_set().poll_events(events, dropped);
    for (std::size_t i = 0; i < n; ++i) {
      if (options_.check_invariants) check_event(id, node, events[i]);
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

}  // namespace mrc::sim
