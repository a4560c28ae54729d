// SPDX-License-Identifier: BSD-3-Clause
// Which planes have a link: one worker asks each port, for control calls of a port are for one thread. All
// tell their QPs what it heard.
#include "nic/core.h"

namespace mrc::nic {
namespace {

void ask_link(NicCore& nic, std::size_t p) {
  const PlanePort& plane = nic.config.planes[p];
  rte_eth_link link{};
  bool up = true;
  if (plane.link_up != nullptr) {
    up = plane.link_up(plane.dpdk_port);
  } else if (rte_eth_link_get_nowait(plane.dpdk_port, &link) == 0) {
    up = link.link_status == RTE_ETH_LINK_UP;
    const bool known = up && link.link_speed != RTE_ETH_SPEED_NUM_UNKNOWN;
    nic.link_mbps[p].store(known ? link.link_speed : 0, std::memory_order_relaxed);
  }
  nic.link_up[p].store(up, std::memory_order_relaxed);
}

}  // namespace

void ask_all_links(NicCore& nic) {
  for (std::size_t p = 0; p < nic.config.planes.size(); ++p) ask_link(nic, p);
}

bool Nic::link_up(unsigned plane) const {
  return core_->link_up.at(plane).load(std::memory_order_relaxed);
}
double Nic::link_bps(unsigned plane) const {
  return 1e6 * core_->link_mbps.at(plane).load(std::memory_order_relaxed);
}

void poll_links(WorkerCore& w, Time now) {
  if (now < w.next_link_poll) return;
  w.next_link_poll = now + w.nic.config.link_poll_interval;
  bool changed = false;
  for (std::size_t p = 0; p < w.ports.size(); ++p) {
    WorkerPort& port = w.ports[p];
    if (port.asks_link) ask_link(w.nic, p);
    const bool up = w.nic.link_up[p].load(std::memory_order_relaxed);
    if (up == port.up) continue;
    port.up = up;
    changed = true;
    if (!up) {  // as if lost on the wire; what goes stale here would only delay what comes after
      const auto staged = port.stage.staged();
      w.stats.ports[p].tx_abandoned += staged.size();
      rte_pktmbuf_free_bulk(staged.data(), static_cast<unsigned>(staged.size()));
      port.stage.taken(staged.size());
      port.stuck_since = Time::never();
    }
    for (const auto& home : w.slots) {
      if (home == nullptr) continue;
      home->qp.on_port_change(static_cast<std::uint8_t>(p), up, now);
      w.touch(*home);
    }
  }
  if (changed) ports_changed(w, now);
}

}  // namespace mrc::nic
