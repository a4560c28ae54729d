// SPDX-License-Identifier: BSD-3-Clause
// Endpoint operations: Port Status Updates between hosts, both ways (MRC 7.4.8, D19), and the answers to EV
// Probes of QPs (MRC 7.4.7).
#include <algorithm>

#include "sim/simulation.h"

namespace mrc::sim {

void Simulation::add_peer(HostId host, QpId via) {
  Host& h = hosts_[host];
  Node& node = *qps_[via];
  const HostId peer = qps_[node.peer]->host;
  const auto known =
      std::find_if(h.peers.begin(), h.peers.end(), [&](const Peer& p) { return p.host == peer; });
  node.peer_index = static_cast<std::uint32_t>(known - h.peers.begin());
  if (known != h.peers.end()) {
    node.qp->on_peer_ports(known->ports.planes_up(), now_);
    return;
  }
  Peer p;
  p.host = peer;
  p.via = via;
  p.report = transport::PortReport((1U << fabric_->topology().planes) - 1U);
  h.peers.push_back(std::move(p));
}

void Simulation::report_ports(HostId host) {
  if (!options_.port_status) return;
  Host& h = hosts_[host];
  for (Peer& peer : h.peers) peer.report.change(h.ports_up, ++h.next_request_id, now_);
  if (!h.peers.empty()) mark_dirty(host);
}

Time Simulation::endpoint_deadline(const Host& host) {
  Time t = Time::never();
  for (const Peer& p : host.peers) t = earlier(t, p.answers.empty() ? p.report.deadline() : Time{});
  return t;
}

// Answers first, then what is due to be told; one packet a call. An answer leaves as its request came,
// entropy and plane: the peer has no other way in common with us.
bool Simulation::pump_endpoint(HostId id, transport::PortCredits& credits) {
  for (Peer& peer : hosts_[id].peers) {
    transport::ControlDesc d;
    d.dscp = wire::DscpClass::kControl;
    if (!peer.answers.empty()) {
      const EndpointAnswer answer = peer.answers.front();
      const std::uint32_t free = credits.free_mask();
      const bool same = (free >> answer.plane & 1U) != 0;
      const auto plane = same ? answer.plane : static_cast<std::uint8_t>(__builtin_ctz(free));
      peer.answers.pop_front();
      d.opcode = wire::Opcode::kEndpointResponse;
      d.response = answer.response;
      send_endpoint(answer.via, path::kNoEv, answer.entropy, plane, d);
      return true;
    }
    std::uint8_t plane = 0;
    d.opcode = wire::Opcode::kEndpointRequest;
    if (!peer.report.next_request(now_, credits.free_mask(), d.request, plane)) continue;
    const path::EvChoice choice = qps_[peer.via]->qp->ev_set().choose_for_control(1U << plane, plane);
    send_endpoint(peer.via, choice.ev, 0, plane, d);
    return true;
  }
  return false;
}

void Simulation::send_endpoint(QpId via, path::EvIndex ev, std::uint32_t entropy, std::uint8_t plane,
                               const transport::ControlDesc& d) {
  const TokenId token = tokens_.acquire();
  tokens_[token].is_data = false;
  tokens_[token].control = d;
  fabric::Packet view;
  view.size_bytes = options_.sizes.control_bytes_of(d.opcode);
  view.kind = fabric::Kind::kControl;
  view.dscp = d.dscp;
  ++counters_.control_sent;
  inject(via, ev, entropy, plane, token, view);
}

void Simulation::deliver_endpoint(QpId id, const transport::ControlDesc& d, const wire::RxMeta& meta) {
  Node& node = *qps_[id];
  Host& host = hosts_[node.host];
  Peer& peer = host.peers[node.peer_index];
  mark_dirty(node.host);
  if (d.opcode == wire::Opcode::kEndpointResponse) {
    if (d.response.op == wire::EndpointOp::kEvProbe)
      node.qp->on_ev_probe_answer(d.response, now_);
    else
      peer.report.on_response(d.response);
    return;
  }
  peer.answers.push_back({transport::response_to(d.request), id, meta.port, meta.entropy});
  if (d.request.op == wire::EndpointOp::kEvProbe || !peer.ports.on_request(d.request, now_)) return;
  const std::uint32_t up = peer.ports.planes_up();
  for (const QpId other : host.qps) {
    Node& mine = *qps_[other];
    if (mine.peer_index != node.peer_index) continue;
    if (mine.checks.sent) mine.checks.sent->on_planes_out(~up, now_);
    mine.qp->on_peer_ports(up, now_);
    after_events(other);
  }
}

}  // namespace mrc::sim
