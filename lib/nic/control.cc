// SPDX-License-Identifier: BSD-3-Clause
// Control calls that make and end queue pairs and application queues. Each runs as its worker's owner; what
// it needs is built, and what it leaves over is freed, by the caller: the worker has packets to look after.
#include <rte_mempool.h>

#include <algorithm>
#include <iterator>
#include <list>
#include <string>

#include "nic/control.h"

namespace mrc::nic {
namespace {

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

void forget(std::vector<std::uint32_t>& list, std::uint32_t slot) {
  list.erase(std::remove(list.begin(), list.end(), slot), list.end());
}

/// What destroy_qp leaves over.
struct Removed {
  std::unique_ptr<QpHome> home;
  std::list<CcGroup> group;  ///< the QP was its last member
  NewPeer peer;              ///< it was the last one with that peer
};

/// The QP out of all lists, its share of inflight given back (D7).
void remove(WorkerCore& w, std::uint32_t slot, Removed& out) {
  forget(w.dirty, slot);
  forget(w.completion, slot);
  w.ready.erase(slot);
  w.control.erase(slot);
  w.wheel.cancel(slot);
  CcGroup* group = w.slots[slot]->group;
  if (group != nullptr) group->blocked.erase(slot);
  out.home = std::move(w.slots[slot]);
  leave_peer(w, *out.home, out.peer);
  if (out.home->qp.state() != transport::QpState::kReset)  // it has nothing to flush: a text says so
    static_cast<void>(out.home->qp.modify(transport::QpState::kError, {}, 0, time_of(w)));
  if (group == nullptr) return;
  if (--group->members != 0) return release_blocked(w, *group);
  const auto at =
      std::find_if(w.groups.begin(), w.groups.end(), [group](const CcGroup& g) { return &g == group; });
  out.group.splice(out.group.end(), w.groups, at);
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

/// Only a controller that the application gave can be shared. `own`: a group for it, taken when there is none
/// yet.
void join_group(WorkerCore& w, QpHome& home, std::list<CcGroup>& own) {
  auto at =
      std::find_if(w.groups.begin(), w.groups.end(), [&](const CcGroup& g) { return g.cc == home.cc.get(); });
  if (at == w.groups.end()) {
    at = own.begin();
    w.groups.splice(w.groups.end(), own);
  }
  home.group = &*at;
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
  std::vector<std::unique_ptr<AppDoor>> doors;
  doors.reserve(w.doors.size() + 1);
  auto door = std::make_unique<AppDoor>(std::move(queue));
  on_worker(w, [&] {
    std::move(w.doors.begin(), w.doors.end(), std::back_inserter(doors));
    doors.push_back(std::move(door));
    w.doors.swap(doors);
  });
  return out;
}

Result<std::uint32_t> Nic::create_qp(unsigned worker, const QpParams& params) {
  if (worker >= core_->workers.size()) return no_worker(*core_, worker);
  if (auto r = check_params(*core_, worker, params); !r) return r.error();
  WorkerCore& w = *core_->workers[worker];
  const std::uint32_t slot = free_slot(w);
  if (slot == 0) {
    return Error{"QP: all " + std::to_string(w.slots.size() - 1) + " of worker " + std::to_string(worker) +
                 " are in use; raise max_qps_per_worker (limit " + std::to_string(kMaxQpsPerWorker) + ")"};
  }
  if (params.cc != nullptr) {  // last of what may fail: a claim stays as long as the controller
    if (auto r = claim_cc(*core_, worker, params.cc); !r) return r.error();
  }
  const auto cc = params.cc != nullptr
                      ? params.cc
                      : std::make_shared<cc::Qpcc>(cc::FixedWindow(params.fixed_window_bytes));
  const std::uint64_t seed = mix64(core_->config.seed ^ mix64(++core_->qps_created));
  const std::uint32_t qpn = make_qpn(worker, slot, ++w.generations[slot]);
  auto home = std::make_unique<QpHome>(qpn, params, cc, seed);
  std::list<CcGroup> group;
  if (params.cc != nullptr) group.push_back({cc.get(), 0, SlotRing(w.slots.size())});
  on_worker(w, [&] {
    if (params.cc != nullptr) join_group(w, *home, group);
    // Later changes are told when they happen; this is what happened before.
    for (std::size_t p = 0; p < w.ports.size(); ++p) {
      if (!w.ports[p].up) home->qp.on_port_change(static_cast<std::uint8_t>(p), false, time_of(w));
    }
    w.slots[slot] = std::move(home);
  });
  return qpn;
}

std::size_t Nic::qp_bytes(const QpParams& params) {
  const QpHome home(0, params, std::make_shared<cc::Qpcc>(cc::FixedWindow(params.fixed_window_bytes)), 0);
  return sizeof(home) + home.qp.heap_bytes() + home.qp.ev_set().heap_bytes() +
         home.ev_stats.capacity() * sizeof(EvStats);
}

Result<void> Nic::destroy_qp(std::uint32_t qpn) {
  WorkerCore* w = owner_of(*core_, qpn);
  if (home_of(w, qpn) == nullptr) return no_qp(qpn);
  Removed removed;
  on_worker(*w, [&] { remove(*w, slot_of(qpn), removed); });
  return {};
}

}  // namespace mrc::nic
