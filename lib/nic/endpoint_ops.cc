// SPDX-License-Identifier: BSD-3-Clause
// Packets that belong to no QP: Endpoint Requests (MRC 6.5.2, 7.4.8) and neighbour discovery. Answers use the
// control share; without room they are lost and counted, as on any busy NIC.
#include <cstring>

#include "nic/core.h"
#include "nic/neighbour.h"
#include "wire/decode.h"
#include "wire/icrc.h"

namespace mrc::nic {
namespace {

using wire::DropReason;

/// The way back: everything of the request's addressing turned round, entropy kept (C30).
Result<wire::HeaderTemplate> reply_path(const WorkerCore& w, std::span<const std::uint8_t> frame,
                                        const wire::FrameView& f) {
  wire::PathAddress a;
  std::memcpy(a.dst_mac.data(), frame.data() + 6, 6);
  std::memcpy(a.src_mac.data(), frame.data(), 6);
  a.vlan_tags = f.vlan_tags;
  for (std::size_t i = 0; i < f.vlan_tags; ++i) {
    const std::uint8_t* tag = frame.data() + 12 + 4 * i;
    a.vlans[i] = {wire::load_be16(tag), wire::load_be16(tag + 2)};
  }
  a.ipv6 = f.ipv6;
  const std::uint8_t* ip = frame.data() + f.ip_offset + (f.ipv6 ? 8 : 12);
  const std::size_t bytes = f.ipv6 ? 16 : 4;
  std::memcpy(a.dst_ip.data(), ip, bytes);
  std::memcpy(a.src_ip.data(), ip + bytes, bytes);
  a.hop_limit = w.nic.config.hop_limit;
  a.udp_dport = f.udp_dport;  // they reach us at this one, so they listen there (C1)
  a.pkey = w.nic.config.pkey;
  return wire::HeaderTemplate::create(a);
}

}  // namespace

DropReason answer_endpoint(WorkerCore& w, std::size_t plane, std::span<const std::uint8_t> frame,
                           const wire::FrameView& f) {
  if (f.trim != wire::Trim::kNone) return DropReason::kTrimmedOpcode;
  if (w.nic.config.icrc == IcrcMode::kVerify && !wire::check_icrc(frame, f).ok()) return DropReason::kIcrc;
  if (f.bth.opcode != wire::Opcode::kEndpointRequest)
    return DropReason::kUnknownQp;  // we asked for no answer
  // An encapsulated request needs a segment list back that only its sender's peer knows.
  if (f.encapsulated) return DropReason::kEncapsulation;
  wire::EndpointRequestView request;
  const DropReason r = decode_endpoint_request(frame, f, request);
  if (r != DropReason::kNone) return r;
  if (request.op != wire::EndpointOp::kPortStatusUpdate && request.op != wire::EndpointOp::kEvProbe)
    return DropReason::kOpcode;  // reserved
  const auto path = reply_path(w, frame, f);
  if (!path) return DropReason::kEncapsulation;
  if (w.ports[plane].stage.control_room() == 0) return DropReason::kControlShare;
  rte_mbuf* m = take_control_mbuf(w);
  if (m == nullptr) return DropReason::kNoMbuf;
  wire::EndpointResponseView response;
  response.request_id = request.request_id;
  response.op = request.op;
  response.tx_timestamp = request.tx_timestamp;
  wire::SendMeta meta;
  meta.tos = w.nic.dscp.tos(wire::DscpClass::kControl);
  meta.ev = {f.udp_sport, f.flow_label, nullptr};
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
