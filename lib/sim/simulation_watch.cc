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
    // So does a packet that was trimmed when nobody hears of it.
    if (token.control.opcode == wire::Opcode::kNack) {
      Node& requestor = *qps_[token.to_qp];
      const int ev = requestor.evs->find_unique(token.control.nack.entropy, outcome.packet.plane);
      if (ev >= 0) ++requestor.fault_losses[static_cast<std::size_t>(ev)];
    }
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

// An EV assumed bad on which the network lost nothing since its last verdict, and no notice of a trimmed
// packet, is condemned falsely.
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

void Simulation::look(Time until) {
  while (next_look_ <= until && !until.is_never()) next_look_ = look_(next_look_);
}

}  // namespace mrc::sim
