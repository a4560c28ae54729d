// SPDX-License-Identifier: BSD-3-Clause
#include "sim/network.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/rng.h"
#include "sim/faults.h"
#include "sim/queue_depths.h"

namespace mrc::sim {

namespace {

fabric::PortConfig port_of(const Scenario& s, double gbps, bool last_hop, bool between_switches) {
  const QueueScenario& q = s.queues;
  fabric::PortConfig p;
  p.rate_bps = static_cast<std::uint64_t>(gbps * 1e9);
  p.delay = s.network.delay;
  if (between_switches) p.jitter = s.network.jitter;
  p.data_queue_bytes = static_cast<std::uint32_t>(last_hop ? q.last_hop_bytes : q.data_bytes);
  p.control_queue_bytes = static_cast<std::uint32_t>(q.control_bytes);
  p.ecn = {.enabled = q.ecn,
           .min_bytes = static_cast<std::uint32_t>(q.ecn_min_bytes),
           .max_bytes = static_cast<std::uint32_t>(q.ecn_max_bytes),
           .max_probability = 1.0,
           .on_last_hop = q.ecn_last_hop};
  p.trim = {.enabled = q.trim,
            .size_bytes = static_cast<std::uint32_t>(q.trim_bytes),
            .last_hop_class = q.trim_last_hop_class,
            .fair_coin = q.trim_fair_coin};
  return p;
}

fabric::ClosSpec clos_of(const Scenario& s) {
  const NetworkScenario& n = s.network;
  fabric::ClosSpec c;
  c.tiers = n.tiers;
  c.planes = n.planes;
  c.hosts = n.hosts;
  c.hosts_per_t0 = n.hosts_per_t0;
  c.t1 = n.t1;
  c.parallel = n.parallel;
  c.t0_per_pod = n.t0_per_pod;
  c.t2_per_t1 = n.t2_per_t1;
  c.host_port = port_of(s, n.link_gbps, false, false);
  c.host_port.data_queue_bytes = c.host_port.control_queue_bytes = 0;  // a host sends when its port is free
  c.host_port.ecn.enabled = false;
  c.t0_down = port_of(s, n.link_gbps, true, false);
  c.t0_up = c.t1_down = c.t1_up = c.t2_down = port_of(s, n.link_gbps, false, true);  // set_speeds
  return c;
}

// At least 1: 0 would mean without a limit.
template <class T>
T part_of(T whole, double fraction) {
  if (whole == 0) return 0;
  constexpr auto kMost = static_cast<double>(std::numeric_limits<T>::max() / 2);
  return static_cast<T>(std::clamp(static_cast<double>(whole) * fraction, 1.0, kMost));
}

// Each link has its plane's and tier's speed, its queue and marks what the plane's ports have.
void set_speeds(fabric::Topology& t, const NetworkScenario& n) {
  for (fabric::LinkSpec& l : t.links) {
    const PlaneSpeeds v = speeds_of(n, l.plane);
    const QueueClass c = class_of_link(t, l);
    const bool to_host = c == QueueClass::kHost || c == QueueClass::kLastHop;
    const bool core = c == QueueClass::kT1Up || c == QueueClass::kT2Down;
    const double gbps = to_host ? v.link_gbps : core ? v.core_gbps : v.uplink_gbps;
    l.port.rate_bps = static_cast<std::uint64_t>(gbps * 1e9);
    const auto scale = [&](std::uint32_t& bytes) { bytes = part_of(bytes, v.link_gbps / n.link_gbps); };
    for (std::uint32_t* bytes : {&l.port.data_queue_bytes, &l.port.control_queue_bytes, &l.port.ecn.min_bytes,
                                 &l.port.ecn.max_bytes})
      scale(*bytes);
  }
}

void slow_down(fabric::Topology& t, const SlowLinksScenario& slow) {
  for (std::uint32_t plane = 0; plane < t.planes; ++plane) {
    for (std::uint32_t k = 0; k < slow.number; ++k) {
      const fabric::LinkId up = uplink_of(t, plane, slow.tier, 0, 0, k);
      if (up == fabric::kNil) return;
      for (const fabric::LinkId id : {up, reverse_link(t, up)}) {
        if (id == (slow.direction == Direction::kDown ? up : fabric::kNil)) continue;
        if (slow.direction == Direction::kUp && id != up) continue;
        fabric::PortConfig& p = t.links[id].port;
        const auto part = [&](auto v) { return part_of(v, slow.fraction); };
        p.rate_bps = part(p.rate_bps);
        p.data_queue_bytes = part(p.data_queue_bytes);
        p.ecn.min_bytes = part(p.ecn.min_bytes);
        p.ecn.max_bytes = part(p.ecn.max_bytes);
      }
    }
  }
}

}  // namespace

fabric::UsidPlan usid_plan(const Scenario& s) {
  fabric::UsidPlan plan;
  plan.planes = s.paths.usid_planes;
  return plan;
}

std::uint64_t links_of(const Scenario& s) {
  return fabric::links_of(clos_of(s));
}

Result<fabric::Topology> make_topology(const Scenario& s) {
  auto topology = fabric::make_clos(clos_of(s));
  if (!topology) return topology;
  set_speeds(*topology, s.network);
  slow_down(*topology, s.slow_links);
  if (!path::is_srv6(s.paths.format)) return topology;
  if (auto ok = fabric::number_usids(*topology, usid_plan(s)); !ok) return ok.error();
  return topology;
}

Result<std::unique_ptr<fabric::Fabric>> make_fabric(const Scenario& s, fabric::Topology topology,
                                                    std::vector<fabric::ScheduledChange> schedule,
                                                    std::uint32_t max_packets) {
  fabric::FabricConfig config;
  config.seed = mix64(s.seed ^ 0xFAB71CULL);
  config.forwarding.mode = s.network.forwarding;
  config.forwarding.fields[0] = {0, 8};
  if (s.network.tiers == 3) config.forwarding.fields[1] = {8, 8};
  config.forwarding.low_half_in_sport = s.paths.order == path::EvOrder::kA;
  config.schedule = std::move(schedule);
  config.max_packets = max_packets;
  return fabric::Fabric::create(std::move(topology), config);
}

}  // namespace mrc::sim
