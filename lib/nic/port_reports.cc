// SPDX-License-Identifier: BSD-3-Clause
// Port status (MRC 7.4.8, D19): peers are told of our ports until they answer, our QPs of what peers told.
#include <algorithm>
#include <mutex>
#include <utility>

#include "nic/core.h"
#include "wire/icrc.h"

namespace mrc::nic {
namespace {

using wire::DropReason;

std::uint32_t planes_up(const WorkerCore& w) {
  std::uint32_t up = 0;
  for (std::size_t p = 0; p < w.ports.size(); ++p) up |= (w.ports[p].up ? 1U : 0U) << p;
  return up;
}

std::uint32_t all_planes(const WorkerCore& w) {
  return (1U << w.ports.size()) - 1U;
}

std::uint16_t new_request_id(NicCore& nic) {
  return static_cast<std::uint16_t>(nic.next_request_id.fetch_add(1, std::memory_order_relaxed) + 1);
}

void send_report(WorkerCore& w, PeerLink& link, Time now) {
  const std::uint32_t id = 0x10000U | link.report.request_id();
  const auto& answer = w.nic.answered[link.report.request_id() % NicCore::kAnswers];
  if (answer.load(std::memory_order_relaxed) == id)
    link.report.on_response({.request_id = link.report.request_id(),
                             .op = wire::EndpointOp::kPortStatusUpdate,
                             .tx_timestamp = {}});
  std::uint32_t usable = 0;
  for (std::size_t p = 0; p < w.ports.size(); ++p)
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
  const wire::HeaderTemplate& path = link.speaker->templates[plane];
  const std::uint32_t header_bytes = encode_endpoint_request(path, meta, request, end);
  stage_control(w, plane, m, header_bytes, wire::seal(path, end, header_bytes, 0));
  ++w.stats.port_reports;
}

/// Under the lock of the peers. Null: a stranger.
PeerEntry* sender_of(NicCore& nic, std::size_t plane, std::span<const std::uint8_t> frame,
                     const wire::FrameView& f) {
  const auto at = std::find_if(nic.peers.begin(), nic.peers.end(),
                               [&](const PeerEntry& p) { return is_from(p.ips[plane], frame, f); });
  return at == nic.peers.end() ? nullptr : &*at;
}

/// Routed by segments: the only ones that reach a peer everywhere.
bool speaks_better(const QpHome& home, const QpHome* than) {
  return than == nullptr || (path::is_srv6(home.evs->format()) && !path::is_srv6(than->evs->format()));
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

const path::EvEntry* next_ev(PeerLink& link, std::uint8_t plane) {
  const path::EvTable& evs = *link.speaker->evs;
  for (std::size_t n = evs.size(); n > 0; --n) {
    const std::size_t i = link.next_ev++ % evs.size();
    const bool denied =
        link.speaker->qp.ev_set().state(static_cast<path::EvIndex>(i)) == path::EvState::kDenied;
    if (evs[i].port == plane && !denied) return &evs[i];
  }
  return nullptr;
}

DropReason note_port_answer(WorkerCore& w, std::size_t plane, std::span<const std::uint8_t> frame,
                            const wire::FrameView& f, std::uint16_t request_id) {
  const std::unique_lock lock(w.nic.peers_entry, std::try_to_lock);
  if (!lock.owns_lock()) return DropReason::kControlShare;
  if (sender_of(w.nic, plane, frame, f) == nullptr) return DropReason::kUnknownQp;
  w.nic.answered[request_id % NicCore::kAnswers].store(0x10000U | request_id, std::memory_order_relaxed);
  return DropReason::kNone;
}

DropReason note_port_status(WorkerCore& w, std::size_t plane, std::span<const std::uint8_t> frame,
                            const wire::FrameView& f, const wire::EndpointRequestView& request) {
  const std::unique_lock lock(w.nic.peers_entry, std::try_to_lock);
  if (!lock.owns_lock()) return DropReason::kControlShare;
  PeerEntry* const peer = sender_of(w.nic, plane, frame, f);
  if (peer == nullptr) return DropReason::kUnknownQp;
  if (peer->ports.on_request(request, w.now)) w.nic.peers_version.fetch_add(1, std::memory_order_release);
  return DropReason::kNone;
}

NewPeer make_peer(const PeerIps& ips, std::size_t planes) {
  NewPeer peer;
  peer.ips = ips;
  peer.entry.push_back({ips, {}});
  PeerLink& link = peer.link.emplace_back();
  link.ips = ips;
  link.report = transport::PortReport((1U << planes) - 1U);
  return peer;
}

void meet_peer(WorkerCore& w, QpHome& home, NewPeer& peer) {
  const Time now = w.now.ns != 0 ? w.now : w.nic.clock.now();
  const auto is_it = [&](const auto& known) { return known.ips == peer.ips; };
  home.peer_ips = peer.ips;
  {
    const std::lock_guard lock(w.nic.peers_entry);
    auto& peers = w.nic.peers;
    auto at = std::find_if(peers.begin(), peers.end(), is_it);
    if (at == peers.end()) {
      at = peer.entry.begin();
      peers.splice(peers.end(), peer.entry);
    }
    ++at->qps;
    home.qp.on_peer_ports(at->ports.planes_up(), now);
  }
  auto link = std::find_if(w.peer_links.begin(), w.peer_links.end(), is_it);
  if (link == w.peer_links.end()) {
    link = peer.link.begin();
    w.peer_links.splice(w.peer_links.end(), peer.link);
  } else if (planes_up(w) != all_planes(w)) {
    link->report = peer.link.front().report;  // it may have been started anew and have heard nothing
  }
  if (speaks_better(home, link->speaker)) link->speaker = &home;
  ports_changed(w, now);
}

void leave_peer(WorkerCore& w, QpHome& home, NewPeer& out) {
  const PeerIps ips = std::exchange(home.peer_ips, {});
  {
    const std::lock_guard lock(w.nic.peers_entry);
    auto& peers = w.nic.peers;
    const auto at =
        std::find_if(peers.begin(), peers.end(), [&](const PeerEntry& p) { return p.ips == ips; });
    if (at != peers.end() && --at->qps == 0) out.entry.splice(out.entry.end(), peers, at);
  }
  const auto link =
      std::find_if(w.peer_links.begin(), w.peer_links.end(), [&](const PeerLink& l) { return l.ips == ips; });
  if (link == w.peer_links.end() || link->speaker != &home) return;
  link->speaker = nullptr;
  for (const auto& other : w.slots) {
    if (other != nullptr && other->peer_ips == ips && speaks_better(*other, link->speaker))
      link->speaker = other.get();
  }
  if (link->speaker == nullptr) out.link.splice(out.link.end(), w.peer_links, link);
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

}  // namespace mrc::nic
