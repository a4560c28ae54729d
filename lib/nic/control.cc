// SPDX-License-Identifier: BSD-3-Clause
// Control calls: queue pairs, application queues, snapshots. Each runs as its worker's owner.
#include <rte_mempool.h>

#include <algorithm>
#include <string>

#include "nic/core.h"

namespace mrc::nic {
namespace {

Time time_of(const WorkerCore& w) {
  return w.last_poll.ns != 0 ? w.last_poll : w.nic.clock.now();
}

Error no_worker(const NicCore& nic, unsigned worker) {
  return Error{"worker " + std::to_string(worker) + " does not exist; there are " +
               std::to_string(nic.workers.size())};
}
Error no_qp(std::uint32_t qpn) {
  return Error{"QP " + std::to_string(qpn) + " does not exist (never created, or destroyed since)"};
}

WorkerCore* owner_of(NicCore& nic, std::uint32_t qpn) {
  const unsigned worker = worker_of(qpn);
  return worker < nic.workers.size() ? nic.workers[worker].get() : nullptr;
}

bool owns(const NicCore& nic, const AppQueue& queue) {
  if (queue.worker() >= nic.workers.size()) return false;
  const auto& doors = nic.workers[queue.worker()]->doors;
  return queue.door() < doors.size() && doors[queue.door()]->queue.get() == &queue;
}

Result<void> check_params(const NicCore& nic, unsigned worker, const QpParams& p) {
  if (p.evs == nullptr || p.evs->size() == 0) return Error{"QP: no EV table; give at least one EV"};
  if (p.evs->planes() > nic.config.planes.size()) {
    return Error{"QP: its EV table names plane " + std::to_string(p.evs->planes() - 1) + ", this NIC has " +
                 std::to_string(nic.config.planes.size()) + " planes (0 to " +
                 std::to_string(nic.config.planes.size() - 1) + ")"};
  }
  if (p.evs->order() != nic.config.ev_order) {
    return Error{
        "QP: its EV table places the halves of an EV otherwise than the NIC reflects them; set ev_order "
        "alike in both (C7)"};
  }
  if (p.app != nullptr && !owns(nic, *p.app)) {
    return Error{"QP: its application queue belongs to another NIC; make one with create_app_queue of this"};
  }
  if (p.app != nullptr && p.app->worker() != worker) {
    return Error{"QP: its application queue belongs to worker " + std::to_string(p.app->worker()) +
                 ", the QP to worker " + std::to_string(worker)};
  }
  if (p.limits.max_send_wr == 0 || p.limits.max_send_wr > 32768 || p.limits.max_recv_wr > 32768) {
    return Error{"QP: max_send_wr " + std::to_string(p.limits.max_send_wr) + " (1 to 32768), max_recv_wr " +
                 std::to_string(p.limits.max_recv_wr) + " (0 to 32768)"};
  }
  if (p.limits.max_wimm_dest == 0) {
    return Error{"QP: max_wimm_dest is 0, must be at least 1: the WriteIMMs a peer may have under way"};
  }
  if (p.limits.max_mpr == 0 || p.limits.max_mpr_dest == 0) {
    return Error{"QP: max_mpr and max_mpr_dest count blocks of 128 PSNs, 1 to 255; one of them is 0"};
  }
  if (p.cc == nullptr && p.fixed_window_bytes <= 0) {
    return Error{"QP: fixed_window_bytes " + std::to_string(p.fixed_window_bytes) + ", must be above 0"};
  }
  return {};
}

wire::Encap encap_of(path::EvFormat f) {
  switch (f) {
    case path::EvFormat::kSrv6:
      return wire::Encap::kSrv6;
    case path::EvFormat::kSrv6Srh:
      return wire::Encap::kSrv6Srh;
    default:
      return wire::Encap::kNone;
  }
}

Result<std::vector<wire::HeaderTemplate>> make_templates(const WorkerCore& w, const QpHome& home,
                                                         std::span<const PeerPlane> peer) {
  const NicConfig& c = w.nic.config;
  std::vector<wire::HeaderTemplate> out;
  for (std::size_t p = 0; p < c.planes.size(); ++p) {
    const PlanePort& ours = c.planes[p];
    const IpAddress& ip = ours.ips[ours.ips.size() == 1 ? 0 : w.index];
    const std::string who = "peer address of plane " + std::to_string(p);
    if (peer[p].ip.v6 != ip.v6) {
      return Error{who + ": " + peer[p].ip.to_string() + " against our " + ip.to_string() +
                   "; both must be IPv4 or both IPv6"};
    }
    if (peer[p].ip.is_zero()) return Error{who + " is all zero"};
    if (peer[p].mac.is_zero()) {
      return Error{who + ": no MAC of the next hop; exchange the peer's or configure the router's"};
    }
    wire::PathAddress a;
    a.src_mac = ours.mac;
    a.dst_mac = peer[p].mac;
    a.vlans = ours.vlans;
    a.vlan_tags = ours.vlan_tags;
    a.src_ip = a.outer_src_ip = ip;
    a.dst_ip = peer[p].ip;
    a.encap = encap_of(home.evs->format());
    a.hop_limit = c.hop_limit;
    a.udp_dport = c.udp_port;
    a.pkey = c.pkey;
    auto t = wire::HeaderTemplate::create(a);
    if (!t) return Error{who + ": " + t.error().message};
    out.push_back(*t);
  }
  return out;
}

Result<void> check_pmtu(const NicConfig& c, const std::vector<wire::HeaderTemplate>& templates,
                        std::uint16_t pmtu) {
  if (pmtu > c.max_pmtu) {
    return Error{"path_mtu: " + std::to_string(pmtu) + " bytes, this NIC was made for at most " +
                 std::to_string(c.max_pmtu) + "; raise max_pmtu"};
  }
  for (std::size_t p = 0; p < templates.size(); ++p) {
    const std::uint32_t frame =
        templates[p].prefix_bytes() + wire::kMaxWriteHeaderBytes + pmtu + wire::kIcrcBytes;
    if (c.planes[p].max_frame_bytes != 0 && frame > c.planes[p].max_frame_bytes) {
      return Error{"path_mtu: " + std::to_string(pmtu) + " bytes make frames of " + std::to_string(frame) +
                   ", port " + std::to_string(c.planes[p].dpdk_port) + " (plane " + std::to_string(p) +
                   ") passes at most " + std::to_string(c.planes[p].max_frame_bytes) +
                   "; lower path_mtu or raise the port's MTU"};
    }
  }
  return {};
}

Result<void> modify(WorkerCore& w, QpHome& home, transport::QpState to, const transport::QpAttr& attr,
                    std::uint32_t mask, std::span<const PeerPlane> peer) {
  std::vector<wire::HeaderTemplate> templates = home.templates;
  if ((mask & transport::kAttrAv) != 0) {
    if (peer.size() < w.nic.config.planes.size()) {
      return Error{"QP address: " + std::to_string(peer.size()) + " peer planes for " +
                   std::to_string(w.nic.config.planes.size()) + " of ours; give one a plane"};
    }
    auto made = make_templates(w, home, peer);
    if (!made) return made.error();
    templates = *made;
  }
  if (to >= transport::QpState::kRtr && to <= transport::QpState::kRts && templates.empty()) {
    return Error{"QP " + std::to_string(home.qpn) +
                 ": no peer address; pass kAttrAv with one address a plane"};
  }
  if ((mask & transport::kAttrPathMtu) != 0) {
    if (auto r = check_pmtu(w.nic.config, templates, attr.path_mtu); !r) return r.error();
  }
  if (auto r = home.qp.modify(to, attr, mask, time_of(w)); !r) return r.error();
  home.templates = std::move(templates);
  if ((mask & transport::kAttrAv) != 0) {
    for (std::size_t p = 0; p < w.nic.config.planes.size(); ++p) home.peer_ips[p] = peer[p].ip;
    meet_peer(w, home);
  }
  home.dest_qpn = home.qp.attributes().dest_qpn;
  w.touch(home);
  return {};
}

void forget(std::vector<std::uint32_t>& list, std::uint32_t slot) {
  list.erase(std::remove(list.begin(), list.end(), slot), list.end());
}

/// The QP out of all lists, its share of inflight given back (D7). Its memory is the caller's to free.
std::unique_ptr<QpHome> remove(WorkerCore& w, std::uint32_t slot) {
  forget(w.dirty, slot);
  forget(w.completion, slot);
  w.ready.erase(slot);
  w.control.erase(slot);
  w.wheel.cancel(slot);
  CcGroup* group = w.slots[slot]->group;
  if (group != nullptr) group->blocked.erase(slot);
  std::unique_ptr<QpHome> home = std::move(w.slots[slot]);
  static_cast<void>(home->qp.modify(transport::QpState::kError, {}, 0, time_of(w)));
  if (group == nullptr) return home;
  if (--group->members == 0) {
    std::erase_if(w.groups, [group](const auto& g) { return g.get() == group; });
  } else {
    release_blocked(w, *group);
  }
  return home;
}

/// 0: none. Round robin, so that a number comes back as late as possible. Slots change in control calls only,
/// so the caller may look at them while the worker runs.
std::uint32_t free_slot(WorkerCore& w) {
  const std::size_t slots = w.slots.size() - 1;
  for (std::size_t i = 0; i < slots; ++i) {
    const auto slot = static_cast<std::uint32_t>(1 + (w.next_slot + i) % slots);
    if (w.slots[slot] != nullptr) continue;
    w.next_slot = slot;
    return slot;
  }
  return 0;
}

/// Only a controller that the application gave can be shared.
void join_group(WorkerCore& w, QpHome& home) {
  const auto at =
      std::find_if(w.groups.begin(), w.groups.end(), [&](const auto& g) { return g->cc == home.cc.get(); });
  if (at != w.groups.end()) {
    home.group = at->get();
  } else {
    home.group =
        w.groups.emplace_back(std::make_unique<CcGroup>(CcGroup{home.cc.get(), 0, SlotRing(w.slots.size())}))
            .get();
  }
  ++home.group->members;
}

/// One controller, one worker: it has no lock.
Result<void> claim_cc(NicCore& nic, unsigned worker, const std::shared_ptr<cc::Qpcc>& cc) {
  std::erase_if(nic.shared_ccs, [](const auto& s) { return s.cc.expired(); });
  for (const auto& s : nic.shared_ccs) {
    if (s.cc.lock() != cc) continue;
    if (s.worker == worker) return {};
    return Error{"QP: its congestion controller serves QPs of worker " + std::to_string(s.worker) +
                 ", this QP is for worker " + std::to_string(worker) + "; give each worker a controller"};
  }
  nic.shared_ccs.push_back({cc, worker});
  return {};
}

}  // namespace

Result<AppQueue*> Nic::create_app_queue(unsigned worker, std::size_t capacity) {
  if (worker >= core_->workers.size()) return no_worker(*core_, worker);
  if (capacity == 0 || capacity > 65536) {
    return Error{"application queue: capacity " + std::to_string(capacity) + ", allowed 1 to 65536"};
  }
  WorkerCore& w = *core_->workers[worker];
  // Up to 11 MB, zeroed here: the worker would be away from its ports for milliseconds.
  auto queue = std::make_unique<AppQueue>(worker, w.doors.size(), capacity);
  AppQueue* const out = queue.get();
  auto door = std::make_unique<AppDoor>(std::move(queue));
  on_worker(w, [&] { w.doors.push_back(std::move(door)); });
  return out;
}

Result<std::uint32_t> Nic::create_qp(unsigned worker, const QpParams& params) {
  if (worker >= core_->workers.size()) return no_worker(*core_, worker);
  if (auto r = check_params(*core_, worker, params); !r) return r.error();
  WorkerCore& w = *core_->workers[worker];
  if (params.cc != nullptr) {
    if (auto r = claim_cc(*core_, worker, params.cc); !r) return r.error();
  }
  const auto cc = params.cc != nullptr
                      ? params.cc
                      : std::make_shared<cc::Qpcc>(cc::FixedWindow(params.fixed_window_bytes));
  const std::uint64_t seed = mix64(core_->config.seed ^ mix64(++core_->qps_created));
  const std::uint32_t slot = free_slot(w);
  if (slot == 0) {
    return Error{"QP: all " + std::to_string(w.slots.size() - 1) + " of worker " + std::to_string(worker) +
                 " are in use; raise max_qps_per_worker (limit " + std::to_string(kMaxQpsPerWorker) + ")"};
  }
  // Its memory is taken here; the worker is only told.
  const std::uint32_t qpn = make_qpn(worker, slot, ++w.generations[slot]);
  auto home = std::make_unique<QpHome>(qpn, params, cc, seed);
  on_worker(w, [&] {
    if (params.cc != nullptr) join_group(w, *home);
    // Later changes are told when they happen; this is what happened before.
    for (std::size_t p = 0; p < w.ports.size(); ++p) {
      if (!w.ports[p].up) home->qp.on_port_change(static_cast<std::uint8_t>(p), false, time_of(w));
    }
    w.slots[slot] = std::move(home);
  });
  return qpn;
}

Result<void> Nic::modify_qp(std::uint32_t qpn, transport::QpState to, const transport::QpAttr& attr,
                            std::uint32_t mask, std::span<const PeerPlane> peer) {
  WorkerCore* w = owner_of(*core_, qpn);
  Result<void> result = no_qp(qpn);
  if (w == nullptr) return result;
  on_worker(*w, [&] {
    if (QpHome* home = w->find(qpn)) result = modify(*w, *home, to, attr, mask, peer);
  });
  return result;
}

Result<void> Nic::connect_qp(std::uint32_t qpn, const transport::QpAttr& attr,
                             std::span<const PeerPlane> peer) {
  using namespace transport;
  struct Step {
    QpState to;
    std::uint32_t mask;
  };
  static constexpr Step kSteps[] = {
      {QpState::kInit, kAttrHint | kAttrEvProfileId | kAttrCcProfileId},
      {QpState::kRtr,
       kAttrMaxWimmDest | kAttrMprDest | kAttrCap | kAttrAv | kAttrPathMtu | kAttrDestQpn | kAttrRqPsn},
      {QpState::kRts, kAttrMaxWimm | kAttrMpr | kAttrRetryCnt | kAttrTimeout | kAttrSqPsn},
  };
  for (const Step& step : kSteps) {
    if (auto r = modify_qp(qpn, step.to, attr, step.mask, peer); !r) return r;
  }
  return {};
}

Result<void> Nic::destroy_qp(std::uint32_t qpn) {
  WorkerCore* w = owner_of(*core_, qpn);
  Result<void> result = no_qp(qpn);
  if (w == nullptr) return result;
  std::unique_ptr<QpHome> home;
  on_worker(*w, [&] {
    if (w->find(qpn) == nullptr) return;
    home = remove(*w, slot_of(qpn));
    result = Result<void>();
  });
  return result;
}

Result<QpSnapshot> Nic::query_qp(std::uint32_t qpn) {
  WorkerCore* w = owner_of(*core_, qpn);
  Result<QpSnapshot> result = no_qp(qpn);
  if (w == nullptr) return result;
  const QpHome* home = w->find(qpn);  // slots change in control calls only
  if (home == nullptr) return result;
  QpSnapshot s;
  s.evs.resize(home->evs->size());
  s.ev_states.resize(home->evs->size());
  on_worker(*w, [&] {
    s.qpn = qpn;
    s.state = home->qp.state();
    s.counters = home->qp.counters();
    std::copy(home->ev_stats.begin(), home->ev_stats.end(), s.evs.begin());
    for (std::size_t i = 0; i < s.ev_states.size(); ++i) {
      s.ev_states[i] = home->qp.ev_set().state(static_cast<path::EvIndex>(i));
    }
    s.ev_counters = home->qp.ev_set().counters();
    for (std::uint8_t p = 0; p < kMaxPlanes; ++p)
      s.planes_in_service |= (home->qp.ev_set().port_usable(p) ? 1U : 0U) << p;
    s.cwnd_bytes = home->cc->cwnd_bytes();
    s.inflight_bytes = home->cc->inflight_bytes();
  });
  return s;
}

Result<CcSnapshot> Nic::query_cc(std::uint32_t qpn) {
  WorkerCore* w = owner_of(*core_, qpn);
  Result<CcSnapshot> result = no_qp(qpn);
  if (w == nullptr) return result;
  on_worker(*w, [&] {
    const QpHome* home = w->find(qpn);
    if (home == nullptr) return;
    const cc::Qpcc& controller = *home->cc;
    CcSnapshot s;
    s.cwnd_bytes = controller.cwnd_bytes();
    s.inflight_bytes = controller.inflight_bytes();
    s.adaptive = controller.windows() != nullptr;
    s.figures = controller.figures();
    if (s.adaptive) s.windows = *controller.windows();
    for (std::size_t i = 0; i < cc::kSchedStates; ++i)
      s.spent[i] = controller.schedule().spent(static_cast<cc::SchedState>(i), time_of(*w));
    result = s;
  });
  return result;
}

Result<void> Nic::set_ev_state(std::uint32_t qpn, path::EvIndex ev, path::EvState state) {
  WorkerCore* w = owner_of(*core_, qpn);
  Result<void> result = no_qp(qpn);
  if (w == nullptr) return result;
  if (state != path::EvState::kGood && state != path::EvState::kDenied) {
    return Error{"EV state: a controller sets GOOD or DENIED, the others follow from what is measured"};
  }
  on_worker(*w, [&] {
    QpHome* home = w->find(qpn);
    if (home == nullptr) return;
    if (ev >= home->evs->size()) {
      result = Error{"EV " + std::to_string(ev) + ": the profile of QP " + std::to_string(qpn) + " has " +
                     std::to_string(home->evs->size()) + ", from 0"};
      return;
    }
    home->qp.ev_set().set_state(ev, state, time_of(*w));
    w->touch(*home);
    result = Result<void>();
  });
  return result;
}

Result<EvEvents> Nic::poll_ev_events(std::uint32_t qpn, std::size_t most) {
  WorkerCore* w = owner_of(*core_, qpn);
  Result<EvEvents> result = no_qp(qpn);
  if (w == nullptr) return result;
  EvEvents out;
  out.events.resize(most);
  on_worker(*w, [&] {
    QpHome* home = w->find(qpn);
    if (home == nullptr) return;
    out.events.resize(home->qp.ev_set().poll_events(out.events, out.dropped));
    result = std::move(out);
  });
  return result;
}

WorkerStats Nic::snapshot(unsigned worker) {
  WorkerStats out;
  WorkerCore& w = *core_->workers.at(worker);
  on_worker(w, [&] { out = w.stats; });
  return out;
}

CaptureRing* Nic::capture(unsigned worker) {
  return core_->workers.at(worker)->capture.get();
}

}  // namespace mrc::nic
