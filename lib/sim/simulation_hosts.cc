// SPDX-License-Identifier: BSD-3-Clause
// What hosts do: the lists of QPs with something to send, ports, one packet a free port at a time.
#include <utility>

#include "base/rng.h"
#include "sim/simulation.h"
#include "sim/timer_targets.h"

namespace mrc::sim {

// What every event on a QP is followed by: completions, its place in the host's lists, its timer.
void Simulation::after_events(QpId id) {
  Node& node = *qps_[id];
  collect_completions(id);
  const bool verdicts = node.qp->ev_set().counters().assumed_bad != node.condemned_seen;
  if (verdicts || ev_event_ || node.qp->policy().ev.report_skips) note_verdicts(id, node);
  if (options_.check_invariants) in(Stage::kChecks, [&] { check(id, node); });
  enlist(id, node);
  // News of one QP may open the window of those it shares the controller with (D7).
  const Group& group = groups_[node.group];
  if (group.members.size() == 1) return;
  for (const QpId sibling : group.members)
    if (sibling != id && !qps_[sibling]->in_tx) enlist(sibling, *qps_[sibling]);
}

void Simulation::enlist(QpId id, Node& node) {
  const transport::Wake wake = node.qp->wake();
  Host& host = hosts_[node.host];
  if (wake.tx_ready && !node.in_tx) {
    node.in_tx = true;
    host.tx.push_back(id);
  }
  if (wake.control_ready && !node.in_control) {
    node.in_control = true;
    host.control.push_back(id);
  }
  if (node.in_tx || node.in_control) mark_dirty(node.host);
  if (wake.deadline < node.armed) {
    node.armed = later(wake.deadline, now_ + nanoseconds(1));
    timers_.push(node.armed, id);
  }
}

void Simulation::mark_dirty(HostId host) {
  if (hosts_[host].dirty) return;
  hosts_[host].dirty = true;
  dirty_.push_back(host);
}

// --- Ports
// --------------------------------------------------------------------------------------------------

// A local port that dies or returns is known to the host at once, by the state of its link.
void Simulation::watch_ports() {
  port_changes_seen_ = fabric_->host_port_changes();
  const std::uint32_t planes = fabric_->topology().planes;
  for (HostId h = 0; h < hosts_.size(); ++h) {
    std::uint32_t up = 0;
    for (std::uint32_t p = 0; p < planes; ++p)
      up |= fabric_->host_port_up(h, static_cast<std::uint8_t>(p)) ? 1U << p : 0U;
    const std::uint32_t changed = up ^ hosts_[h].ports_up;
    if (changed == 0) continue;
    hosts_[h].ports_up = up;
    for (const QpId id : hosts_[h].qps) {
      if (qps_[id]->checks.sent) qps_[id]->checks.sent->on_planes_out(changed & ~up, now_);
      for (std::uint32_t p = 0; p < planes; ++p)
        if ((changed >> p & 1U) != 0)
          qps_[id]->qp->on_port_change(static_cast<std::uint8_t>(p), (up >> p & 1U) != 0, now_);
      after_events(id);
    }
    report_ports(h);
  }
}

transport::PortCredits Simulation::free_ports(HostId host) const {
  transport::PortCredits credits;
  for (std::uint32_t p = 0; p < fabric_->topology().planes; ++p) {
    const auto plane = static_cast<std::uint8_t>(p);
    if (!fabric_->host_port_up(host, plane)) continue;
    credits.up_mask |= 1U << p;
    credits.credits[p] = fabric_->port_free_at(host, plane) <= now_ ? 1 : 0;
  }
  return credits;
}

// --- Sending
// ------------------------------------------------------------------------------------------------

// One packet a free port at a time: the EV is chosen when serialisation starts, from the freshest feedback
// (D1).
void Simulation::pump(HostId id) {
  Host& host = hosts_[id];
  transport::PortCredits credits = free_ports(id);
  // A QP may be ready and yet send nothing: its EVs are on busy ports. Who asks for a turn meanwhile has it
  // in this loop, or when a port is free; to come back at the same instant would never end.
  host.dirty = true;
  while (credits.free_mask() != 0) {
    if (!pump_endpoint(id, credits) && !pump_control(id, credits) && !pump_data(id, credits)) break;
    credits = free_ports(id);
  }
  host.dirty = false;
  const Time report = endpoint_deadline(host);
  if (host.tx.empty() && host.control.empty() && report.is_never()) return;
  Time wake = report > now_ ? report : Time::never();  // what is due already waits for a port
  for (std::uint32_t p = 0; p < fabric_->topology().planes; ++p) {
    const Time free_at = fabric_->port_free_at(id, static_cast<std::uint8_t>(p));
    if ((credits.up_mask >> p & 1U) != 0 && free_at > now_) wake = earlier(wake, free_at);
  }
  if (wake < host.armed) {
    host.armed = wake;
    timers_.push(wake, kHostTarget | id);
  }
}

bool Simulation::pump_control(HostId id, transport::PortCredits& credits) {
  Host& host = hosts_[id];
  for (std::size_t tries = host.control.size(); tries > 0; --tries) {
    const QpId qp = host.control.front();
    host.control.pop_front();
    Node& node = *qps_[qp];
    node.in_control = false;
    const TokenId token = tokens_.acquire();
    transport::ControlDesc& d = tokens_[token].control;
    const std::size_t n =
        in(Stage::kTransport, [&] { return node.qp->next_control(now_, credits, std::span(&d, 1)); });
    if (n == 1) {
      tokens_[token].is_data = false;
      fabric::Packet view;
      view.size_bytes = options_.sizes.control_bytes_of(d.opcode);
      const bool probe = d.opcode == wire::Opcode::kProbe || d.opcode == wire::Opcode::kEndpointRequest;
      view.kind = probe ? fabric::Kind::kProbe : fabric::Kind::kControl;
      view.dscp = d.dscp;
      ++counters_.control_sent;
      if (options_.check_invariants && d.opcode == wire::Opcode::kSack)
        in(Stage::kChecks, [&] { check_sack(qp, node, d.sack); });
      inject(qp, d.ev, d.entropy, d.port, token, view);
    } else {
      tokens_.release(token);
    }
    after_events(qp);
    if (n == 1) return true;
  }
  return false;
}

bool Simulation::pump_data(HostId id, transport::PortCredits& credits) {
  Host& host = hosts_[id];
  for (std::size_t tries = host.tx.size(); tries > 0; --tries) {
    const QpId qp = host.tx.front();
    host.tx.pop_front();
    Node& node = *qps_[qp];
    node.in_tx = false;
    const TokenId token = tokens_.acquire();
    transport::TxDesc& d = tokens_[token].data;
    const std::size_t n =
        in(Stage::kTransport, [&] { return node.qp->next_packets(now_, credits, std::span(&d, 1)); });
    if (n == 1) {
      tokens_[token].is_data = true;
      tokens_[token].payload_word = in(Stage::kPayload, [&] { return mix64(d.source); });
      fabric::Packet view;
      view.size_bytes = options_.sizes.data_bytes(d);
      view.kind = d.rtx ? fabric::Kind::kRetransmission : fabric::Kind::kData;
      view.dscp = d.dscp;
      view.ect = true;
      view.psn = d.psn.value();
      ++node.sent_by_ev[d.ev];
      ++counters_.data_sent;
      if (options_.check_invariants) in(Stage::kChecks, [&] { check_sent(qp, node, d); });
      inject(qp, d.ev, 0, d.port, token, view);
    } else {
      tokens_.release(token);
    }
    after_events(qp);
    if (n == 1) return true;
  }
  return false;
}

// Where the fabric finds the EV: the source port and the flow label, or the address of an outer header.
void Simulation::aim(fabric::Packet& view, const path::EvTable& evs, path::EvIndex ev) {
  const path::EvEntry& entry = evs[ev];
  view.sport = entry.udp_sport;
  view.label = entry.flow_label;
  if (!path::is_srv6(evs.format())) return;
  const auto address = [&](std::size_t at) {
    fabric::Address a;
    for (std::size_t b = 0; b < 8; ++b) {
      a.hi = a.hi << 8 | entry.value[at + b];
      a.lo = a.lo << 8 | entry.value[at + 8 + b];
    }
    return a;
  };
  view.srv6 = true;
  view.usid = address(0);
  if (evs.format() != path::EvFormat::kSrv6Srh) return;
  view.segment = address(16);
  view.segments_left = 1;
}

fabric::Packet Simulation::view_of(QpId id, path::EvIndex ev) const {
  const Node& node = *qps_[id];
  fabric::Packet view;
  view.dst_host = qps_[node.peer]->host;
  view.flow = node.flow_hash;
  aim(view, *node.evs, ev);
  return view;
}

void Simulation::inject(QpId from, path::EvIndex ev, std::uint32_t entropy, std::uint8_t port, TokenId token,
                        fabric::Packet view) {
  const Node& node = *qps_[from];
  view.handle = token;
  view.dst_host = qps_[node.peer]->host;
  view.flow = node.flow_hash;
  // An answer may only have the entropy of what it answers; with SRv6 that is no way.
  for (path::EvIndex i = 0; ev == path::kNoEv && path::is_srv6(node.evs->format()); ++i)
    if ((*node.evs)[i].port == port) ev = i;
  if (ev != path::kNoEv) {
    aim(view, *node.evs, ev);
  } else {
    const bool low_in_sport = node.evs->order() == path::EvOrder::kA;
    view.sport = static_cast<std::uint16_t>(low_in_sport ? entropy : entropy >> 16);
    view.label = static_cast<std::uint16_t>(low_in_sport ? entropy >> 16 : entropy);
  }
  tokens_[token].to_qp = node.peer;
  tokens_[token].sent = now_;
  view.plane = port;
  if (trace_) trace(TraceEvent::What::kSent, view, tokens_[token]);
  const fabric::DropReason refused =
      in(Stage::kFabric, [&] { return fabric_->inject(node.host, port, view, now_); });
  if (refused == fabric::DropReason::kNone) return;
  ++counters_.refused;
  if (refused == fabric::DropReason::kNoSlot)
    violate("the packet memory of the network is full: set network.max_packets to more than " +
            std::to_string(fabric_->in_flight()));
  tokens_.release(token);
}

}  // namespace mrc::sim
