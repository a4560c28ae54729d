// SPDX-License-Identifier: BSD-3-Clause
// Packets that belong to no QP: Endpoint Requests (MRC 6.5.2, MRC 7.4.8) and neighbour discovery. Answers use
// the control share; without room they are lost and counted, as on any busy NIC.
#include <algorithm>
#include <cstring>

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
  const DropReason noted = note_port_answer(w, plane, frame, f, response.request_id);
  if (noted != DropReason::kNone) return noted;
  ++w.stats.endpoint;
  return DropReason::kNone;
}

/// The peer on that plane that sent this; null: this worker has no QP with it.
PeerLink* link_to(WorkerCore& w, std::size_t plane, std::span<const std::uint8_t> frame,
                  const wire::FrameView& f) {
  const auto at = std::find_if(w.peer_links.begin(), w.peer_links.end(),
                               [&](const PeerLink& l) { return is_from(l.ips[plane], frame, f); });
  return at == w.peer_links.end() ? nullptr : &*at;
}

}  // namespace

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
      link != nullptr ? link->speaker->templates[plane] : reply_path(w, plane, frame, f);
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
