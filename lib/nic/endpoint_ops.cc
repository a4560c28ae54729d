// SPDX-License-Identifier: BSD-3-Clause
// Packets that belong to no QP: Endpoint Requests (MRC 6.5.2, MRC 7.4.8) and neighbour discovery. Answers use
// the control share; without room they are lost and counted, as on any busy NIC.
#include <algorithm>
#include <cstring>
#include <mutex>

#include "nic/core.h"
#include "nic/neighbour.h"
#include "wire/decode.h"
#include "wire/icrc.h"

namespace mrc::nic {
namespace {

using wire::DropReason;

/// The way back: everything of the request's addressing turned round, entropy kept (C30). The tags are those
/// of our plane: a driver that was given a stripped tag puts it back with a TPID of its own choice.
Result<wire::HeaderTemplate> reply_path(const WorkerCore& w, std::size_t plane,
                                        std::span<const std::uint8_t> frame, const wire::FrameView& f) {
  wire::PathAddress a;
  std::memcpy(a.dst_mac.bytes.data(), frame.data() + 6, 6);
  std::memcpy(a.src_mac.bytes.data(), frame.data(), 6);
  a.vlans = w.nic.config.planes[plane].vlans;
  a.vlan_tags = w.nic.config.planes[plane].vlan_tags;
  a.src_ip.v6 = a.dst_ip.v6 = f.ipv6;
  const std::uint8_t* ip = frame.data() + f.ip_offset + (f.ipv6 ? 8 : 12);
  const std::size_t bytes = f.ipv6 ? 16 : 4;
  std::memcpy(a.dst_ip.bytes.data(), ip, bytes);
  std::memcpy(a.src_ip.bytes.data(), ip + bytes, bytes);
  a.hop_limit = w.nic.config.hop_limit;
  a.udp_dport = f.udp_dport;  // they reach us at this one, so they listen there (C1)
  a.pkey = w.nic.config.pkey;
  return wire::HeaderTemplate::create(a);
}

/// Port status of somebody we have a QP with. What cannot be noted is not answered, so that the peer says it
/// again (D19): another worker has the entry at this moment, or no QP with that peer is connected yet.
DropReason note_port_status(WorkerCore& w, std::size_t plane, std::span<const std::uint8_t> frame,
                            const wire::FrameView& f, const wire::EndpointRequestView& request) {
  const std::unique_lock lock(w.nic.peers_entry, std::try_to_lock);
  if (!lock.owns_lock()) return DropReason::kControlShare;
  auto& peers = w.nic.peers;
  const auto peer = std::find_if(peers.begin(), peers.end(),
                                 [&](const PeerEntry& p) { return is_from(p.ips[plane], frame, f); });
  if (peer == peers.end()) return DropReason::kUnknownQp;
  if (peer->ports.on_request(request, w.last_poll))
    w.nic.peers_version.fetch_add(1, std::memory_order_release);
  return DropReason::kNone;
}

/// An EV Probe of one of our QPs arrived at its peer (D19).
DropReason take_ev_answer(WorkerCore& w, std::size_t plane, std::span<const std::uint8_t> frame,
                          const wire::FrameView& f, wire::EndpointResponseView response, Time now) {
  EvProbeTable::Probe probe;
  if (!w.ev_probes.answered(response.request_id, probe)) return DropReason::kUnknownQp;
  QpHome* home = w.find(probe.qpn);
  if (home == nullptr) return DropReason::kUnknownQp;
  if (!is_from(home->peer_ips[plane], frame, f)) return DropReason::kNotForUs;
  response.request_id = probe.of_qp;
  home->qp.on_ev_probe_answer(response, now);
  w.touch(*home);
  ++w.stats.endpoint;
  return DropReason::kNone;
}

DropReason take_response(WorkerCore& w, std::size_t plane, std::span<const std::uint8_t> frame,
                         const wire::FrameView& f, Time now) {
  wire::EndpointResponseView response;
  const DropReason r = decode_endpoint_response(frame, f, response);
  if (r != DropReason::kNone) return r;
  if (response.op == wire::EndpointOp::kEvProbe) return take_ev_answer(w, plane, frame, f, response, now);
  if (response.op != wire::EndpointOp::kPortStatusUpdate)
    return DropReason::kUnknownQp;  // we asked nothing else
  w.nic.answered[response.request_id % NicCore::kAnswers].store(0x10000U | response.request_id,
                                                                std::memory_order_relaxed);
  ++w.stats.endpoint;
  return DropReason::kNone;
}

std::uint32_t planes_up(const WorkerCore& w) {
  std::uint32_t up = 0;
  for (std::size_t p = 0; p < w.ports.size(); ++p) up |= (w.ports[p].up ? 1U : 0U) << p;
  return up;
}

std::uint16_t new_request_id(NicCore& nic) {
  return static_cast<std::uint16_t>(nic.next_request_id.fetch_add(1, std::memory_order_relaxed) + 1);
}

/// An EV of that plane, another one each time; none: the table has no entry there.
const path::EvEntry* next_ev(PeerLink& link, std::uint8_t plane) {
  for (std::size_t n = link.evs->size(); n > 0; --n) {
    const path::EvEntry& e = (*link.evs)[link.next_ev++ % link.evs->size()];
    if (e.port == plane) return &e;
  }
  return nullptr;
}

/// The peer on that plane that sent this; null: this worker has no QP with it.
PeerLink* link_to(WorkerCore& w, std::size_t plane, std::span<const std::uint8_t> frame,
                  const wire::FrameView& f) {
  const auto at = std::find_if(w.peer_links.begin(), w.peer_links.end(),
                               [&](const PeerLink& l) { return is_from(l.ips[plane], frame, f); });
  return at == w.peer_links.end() ? nullptr : &*at;
}

void send_report(WorkerCore& w, PeerLink& link, Time now) {
  const std::uint32_t id = 0x10000U | link.report.request_id();
  const auto& answer = w.nic.answered[link.report.request_id() % NicCore::kAnswers];
  if (answer.load(std::memory_order_relaxed) == id)
    link.report.on_response({.request_id = link.report.request_id(),
                             .op = wire::EndpointOp::kPortStatusUpdate,
                             .tx_timestamp = {}});
  std::uint32_t usable = 0;
  for (std::size_t p = 0; p < w.ports.size() && p < link.templates.size(); ++p)
    usable |= (w.ports[p].up && w.ports[p].stage.control_room() != 0 ? 1U : 0U) << p;
  wire::EndpointRequestView request;
  std::uint8_t plane = 0;
  if (!link.report.next_request(now, usable, request, plane)) return;
  const path::EvEntry* ev = next_ev(link, plane);
  rte_mbuf* m = ev != nullptr ? take_control_mbuf(w) : nullptr;
  if (m == nullptr) return;  // told again in a millisecond
  wire::SendMeta meta;
  meta.tos = w.nic.dscp.tos(wire::DscpClass::kControl);
  meta.ev = {ev->udp_sport, ev->flow_label, ev->value.data()};
  auto* end = static_cast<std::uint8_t*>(m->buf_addr) + wire::kPayloadOffset;
  const wire::HeaderTemplate& path = link.templates[plane];
  const std::uint32_t header_bytes = encode_endpoint_request(path, meta, request, end);
  stage_control(w, plane, m, header_bytes, wire::seal(path, end, header_bytes, 0));
  ++w.stats.port_reports;
}

/// All our QPs hear what their peers' ports are.
void spread_peer_ports(WorkerCore& w, Time now) {
  const std::unique_lock lock(w.nic.peers_entry, std::try_to_lock);
  if (!lock.owns_lock()) return;
  w.peers_seen = w.nic.peers_version.load(std::memory_order_acquire);
  for (const auto& home : w.slots) {
    if (home == nullptr) continue;
    for (const PeerEntry& peer : w.nic.peers) {
      if (peer.ips != home->peer_ips) continue;
      home->qp.on_peer_ports(peer.ports.planes_up(), now);
      w.touch(*home);
    }
  }
}

}  // namespace

void meet_peer(WorkerCore& w, QpHome& home) {
  const Time now = w.last_poll.ns != 0 ? w.last_poll : w.nic.clock.now();
  {
    const std::lock_guard lock(w.nic.peers_entry);
    auto& peers = w.nic.peers;
    const auto at =
        std::find_if(peers.begin(), peers.end(), [&](const auto& p) { return p.ips == home.peer_ips; });
    if (at == peers.end()) {
      peers.push_back({home.peer_ips, {}});
    } else {
      home.qp.on_peer_ports(at->ports.planes_up(), now);
    }
  }
  const auto known = std::find_if(w.peer_links.begin(), w.peer_links.end(),
                                  [&](const PeerLink& l) { return l.ips == home.peer_ips; });
  if (known != w.peer_links.end()) {
    known->templates = home.templates;
    return;
  }
  PeerLink link;
  link.ips = home.peer_ips;
  link.templates = home.templates;
  link.evs = home.evs;
  link.report = transport::PortReport((1U << w.ports.size()) - 1U);
  w.peer_links.push_back(std::move(link));
  ports_changed(w, now);
}

void ports_changed(WorkerCore& w, Time now) {
  for (PeerLink& link : w.peer_links) link.report.change(planes_up(w), new_request_id(w.nic), now);
  w.reports_due = now;
}

void run_reports(WorkerCore& w, Time now) {
  if (w.peers_seen != w.nic.peers_version.load(std::memory_order_relaxed)) [[unlikely]]
    spread_peer_ports(w, now);
  if (now < w.reports_due) [[likely]]
    return;
  w.reports_due = Time::never();
  for (PeerLink& link : w.peer_links) {
    send_report(w, link, now);
    w.reports_due = earlier(w.reports_due, link.report.deadline());
  }
}

unsigned endpoint_home(const WorkerCore& w, std::span<const std::uint8_t> frame, const wire::FrameView& f) {
  if (w.nic.workers.size() == 1 || f.bth.opcode != wire::Opcode::kEndpointResponse) return w.index;
  wire::EndpointResponseView response;
  if (f.trim != wire::Trim::kNone || decode_endpoint_response(frame, f, response) != DropReason::kNone ||
      response.op != wire::EndpointOp::kEvProbe)
    return w.index;
  const unsigned asked = EvProbeTable::worker_of(response.request_id);
  return asked < w.nic.workers.size() ? asked : w.index;
}

DropReason answer_endpoint(WorkerCore& w, std::size_t plane, std::span<const std::uint8_t> frame,
                           const wire::FrameView& f, Time now) {
  if (f.trim != wire::Trim::kNone) return DropReason::kTrimmedOpcode;
  if (w.nic.config.icrc == IcrcMode::kVerify && !wire::check_icrc(frame, f).ok()) return DropReason::kIcrc;
  if (f.bth.opcode == wire::Opcode::kEndpointResponse) return take_response(w, plane, frame, f, now);
  if (f.bth.opcode != wire::Opcode::kEndpointRequest) return DropReason::kUnknownQp;
  // An encapsulated request needs a segment list back, which we have only for those we have QPs with.
  PeerLink* const link = f.encapsulated ? link_to(w, plane, frame, f) : nullptr;
  const path::EvEntry* const ev =
      link != nullptr ? next_ev(*link, static_cast<std::uint8_t>(plane)) : nullptr;
  wire::EndpointRequestView request;
  const DropReason r = decode_endpoint_request(frame, f, request);
  if (r != DropReason::kNone) return r;
  if (request.op != wire::EndpointOp::kPortStatusUpdate && request.op != wire::EndpointOp::kEvProbe)
    return DropReason::kOpcode;  // reserved
  if (request.op == wire::EndpointOp::kPortStatusUpdate) {
    const DropReason noted = note_port_status(w, plane, frame, f, request);
    if (noted != DropReason::kNone) return noted;
  }
  if (f.encapsulated && ev == nullptr) return DropReason::kEncapsulation;
  const Result<wire::HeaderTemplate> path =
      link != nullptr ? link->templates[plane] : reply_path(w, plane, frame, f);
  if (!path) return DropReason::kEncapsulation;
  if (w.ports[plane].stage.control_room() == 0) return DropReason::kControlShare;
  rte_mbuf* m = take_control_mbuf(w);
  if (m == nullptr) return DropReason::kNoMbuf;
  const wire::EndpointResponseView response = transport::response_to(request);
  wire::SendMeta meta;
  meta.tos = w.nic.dscp.tos(wire::DscpClass::kControl);
  meta.ev = {f.udp_sport, f.flow_label, nullptr};
  if (ev != nullptr) meta.ev = {ev->udp_sport, ev->flow_label, ev->value.data()};
  auto* end = static_cast<std::uint8_t*>(m->buf_addr) + wire::kPayloadOffset;
  const std::uint32_t header_bytes = encode_endpoint_response(*path, meta, response, end);
  stage_control(w, plane, m, header_bytes, wire::seal(*path, end, header_bytes, 0));
  ++w.stats.endpoint;
  return DropReason::kNone;
}

bool answer_neighbours(WorkerCore& w, std::size_t plane, std::span<const std::uint8_t> frame) {
  const PlanePort& ours = w.nic.config.planes[plane];
  std::array<std::uint8_t, kNeighbourAnswerBytes> answer;
  const std::size_t n = answer_neighbour(frame, ours.mac, ours.ips, answer);
  if (n == 0) return false;
  ++w.stats.neighbour;
  rte_mbuf* m = w.ports[plane].stage.control_room() == 0 ? nullptr : take_control_mbuf(w);
  if (m == nullptr) {
    ++w.stats.control_dropped;
    return true;
  }
  auto* end = static_cast<std::uint8_t*>(m->buf_addr) + wire::kPayloadOffset;
  std::memcpy(end - n, answer.data(), n);
  stage_control(w, plane, m, static_cast<std::uint32_t>(n), 0);
  return true;
}

}  // namespace mrc::nic
