// SPDX-License-Identifier: BSD-3-Clause
// Control calls that look, and set what a connected QP may change: a QP, its controller, its EVs, a worker.
// Each copies at one instant, as the worker's owner.
#include <algorithm>
#include <string>

#include "nic/control.h"

namespace mrc::nic {
namespace {

bool receives(const transport::Qp& qp) {
  return qp.state() == transport::QpState::kRtr || qp.state() == transport::QpState::kRts;
}

}  // namespace

Result<QpSnapshot> Nic::query_qp(std::uint32_t qpn) {
  WorkerCore* w = owner_of(*core_, qpn);
  const QpHome* home = home_of(w, qpn);
  if (home == nullptr) return no_qp(qpn);
  QpSnapshot s;
  s.qpn = qpn;
  s.evs.resize(home->evs->size());
  s.ev_states.resize(home->evs->size());
  on_worker(*w, [&] {
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
  const QpHome* home = home_of(w, qpn);
  if (home == nullptr) return no_qp(qpn);
  CcSnapshot s;
  on_worker(*w, [&] {
    const cc::Qpcc& controller = *home->cc;
    s.cwnd_bytes = controller.cwnd_bytes();
    s.inflight_bytes = controller.inflight_bytes();
    s.adaptive = controller.windows() != nullptr;
    s.figures = controller.figures();
    if (s.adaptive) s.windows = *controller.windows();
    for (std::size_t i = 0; i < cc::kSchedStates; ++i)
      s.spent[i] = controller.schedule().spent(static_cast<cc::SchedState>(i), time_of(*w));
  });
  return s;
}

Result<void> Nic::set_ev_state(std::uint32_t qpn, path::EvIndex ev, path::EvState state) {
  WorkerCore* w = owner_of(*core_, qpn);
  QpHome* home = home_of(w, qpn);
  if (home == nullptr) return no_qp(qpn);
  if (state != path::EvState::kGood && state != path::EvState::kDenied) {
    return Error{"EV state: a controller sets GOOD or DENIED, the others follow from what is measured"};
  }
  if (ev >= home->evs->size()) {
    return Error{"EV " + std::to_string(ev) + ": the profile of QP " + std::to_string(qpn) + " has " +
                 std::to_string(home->evs->size()) + ", from 0"};
  }
  on_worker(*w, [&] {
    home->qp.ev_set().set_state(ev, state, time_of(*w));
    w->touch(*home);
  });
  return {};
}

Result<void> Nic::set_mpr_dest(std::uint32_t qpn, std::uint8_t blocks) {
  WorkerCore* w = owner_of(*core_, qpn);
  QpHome* home = home_of(w, qpn);
  if (home == nullptr) return no_qp(qpn);
  bool connected = false;
  bool dynamic = false;
  std::uint8_t most = 0;
  on_worker(*w, [&] {
    connected = receives(home->qp);
    dynamic = home->qp.attributes().dynamic_mpr;
    most = home->qp.attributes().mpr_dest;
    if (connected && dynamic && blocks >= 1 && blocks <= most) home->qp.set_mpr_dest(blocks);
  });
  const std::string who = "QP " + std::to_string(qpn);
  if (!connected) return Error{who + " receives nothing yet: connect it first"};
  if (!dynamic) return Error{who + " has a fixed window: connect it with the attribute dynamic_mpr"};
  if (blocks >= 1 && blocks <= most) return {};
  return Error{"mpr_dest " + std::to_string(blocks) + ": " + who + " has 1 to " + std::to_string(most) +
               ", units of 128 PSNs"};
}

Result<void> Nic::set_receive_occupancy(std::uint32_t qpn, unsigned percent) {
  WorkerCore* w = owner_of(*core_, qpn);
  QpHome* home = home_of(w, qpn);
  if (home == nullptr) return no_qp(qpn);
  if (percent > 100) return Error{"receive occupancy " + std::to_string(percent) + ": 0 to 100 percent"};
  bool connected = false;
  bool enabled = false;
  on_worker(*w, [&] {
    connected = receives(home->qp);
    enabled = home->qp.policy().receive_penalty;
    if (connected && enabled) home->qp.set_receive_occupancy(percent);
  });
  const std::string who = "QP " + std::to_string(qpn);
  if (!connected) return Error{who + " receives nothing yet: connect it first"};
  if (!enabled)
    return Error{who + " tells its peer of no shortage: create it with QpPolicy::receive_penalty"};
  return {};
}

Result<EvEvents> Nic::poll_ev_events(std::uint32_t qpn, std::size_t most) {
  WorkerCore* w = owner_of(*core_, qpn);
  QpHome* home = home_of(w, qpn);
  if (home == nullptr) return no_qp(qpn);
  EvEvents out;
  out.events.resize(most);
  on_worker(*w, [&] { out.events.resize(home->qp.ev_set().poll_events(out.events, out.dropped)); });
  return out;
}

WorkerStats Nic::snapshot(unsigned worker) {
  WorkerStats out;
  WorkerCore& w = *core_->workers.at(worker);
  on_worker(w, [&] { out = w.stats; });
  return out;
}

// By the worker that asks the port for its link: control calls of a port are for one thread. Bursts on other
// threads may go on: the drivers keep what they count a queue in words that this one only reads (ring, vhost,
// virtio-user, memif, af_packet, af_xdp, pcap), ask the kernel, or read registers.
DriverStats Nic::driver_stats(unsigned plane) {
  DriverStats out;
  for (const auto& w : core_->workers) {
    if (!w->ports.at(plane).asks_link) continue;
    on_worker(*w, [&] {
      rte_eth_stats stats{};
      const PlanePort& port = core_->config.planes[plane];
      if (rte_eth_stats_get(port.dpdk_port, &stats) == 0)
        out = {stats.imissed, stats.ierrors, stats.rx_nombuf, stats.oerrors};
      if (port.rx_missed != nullptr) out.rx_missed += port.rx_missed(port.dpdk_port);
    });
  }
  return out;
}

CaptureRing* Nic::capture(unsigned worker) {
  return core_->workers.at(worker)->capture.get();
}

}  // namespace mrc::nic
