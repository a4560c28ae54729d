// SPDX-License-Identifier: BSD-3-Clause
#include "fabric_paths.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "fabric/usid.h"

namespace mrc::endpoint {
namespace {

/// The sending end of a path: distance, and with a rate a queue that may mark and trim.
fabric::PortConfig path_port(const config::FabricConfig& f) {
  fabric::PortConfig p;
  p.delay = f.delay;
  p.rate_bps = static_cast<std::uint64_t>(f.link_gbps * 1e9);
  if (p.rate_bps == 0) return p;
  p.data_queue_bytes = static_cast<std::uint32_t>(f.queue_bytes);
  p.control_queue_bytes = std::max(p.data_queue_bytes / 4, 65536U);
  p.ecn.enabled = f.ecn;
  p.ecn.min_bytes = static_cast<std::uint32_t>(config::ecn_min_of(f));
  p.ecn.max_bytes = static_cast<std::uint32_t>(config::ecn_max_of(f));
  p.trim.enabled = f.trim;
  p.trim.size_bytes = f.trim_bytes;
  return p;
}

/// A carrier, or with an SRH the first uSID in the address and the rest in its segment.
std::string way_text(std::uint32_t locator, std::span<const std::uint16_t> usids, path::EvFormat format) {
  if (format == path::EvFormat::kSrv6) {
    const fabric::Address a = fabric::make_carrier(locator, usids);
    return fmt::format("0x{:016x}{:016x}", a.hi, a.lo);
  }
  const fabric::Address a = fabric::make_carrier(locator, usids.first(1));
  const fabric::Address b = fabric::make_carrier(locator, usids.subspan(1));
  return fmt::format("0x{:016x}{:016x}{:016x}{:016x}", a.hi, a.lo, b.hi, b.lo);
}

}  // namespace

Result<fabric::Topology> virtual_topology(const config::EndpointConfig& c) {
  fabric::ClosSpec spec;
  spec.hosts = 2;
  spec.planes = static_cast<std::uint32_t>(c.planes.size());
  spec.t1 = c.fabric.paths_per_plane;
  spec.t0_up = path_port(c.fabric);
  auto topology = fabric::make_clos(spec);
  if (!topology || !path::is_srv6(c.ev.format)) return topology;
  if (auto ok = fabric::number_usids(*topology, fabric::UsidPlan{}); !ok) return ok.error();
  return topology;
}

Result<void> name_ways(config::EndpointConfig& c, const fabric::Topology& t, fabric::HostId from) {
  if (!path::is_srv6(c.ev.format)) return {};
  const auto planes = static_cast<std::uint32_t>(c.planes.size());
  const std::size_t count = config::effective_ev_count(c);
  const fabric::UsidPlan plan;
  const fabric::HostId to = 1 - from;
  std::vector<config::EvValueConfig> values;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t plane = i % planes;
    const fabric::SwitchId first = t.links[t.up_of(from, plane)].to.id;
    const fabric::SwitchId spine = t.find(plane, 1, i / planes);
    const fabric::SwitchSpec& last = t.switches[t.links[t.down_of(to, plane)].from.id];
    const std::array<std::uint16_t, 4> usids{static_cast<std::uint16_t>(t.switches[first].usid48),
                                             static_cast<std::uint16_t>(t.switches[spine].usid48),
                                             static_cast<std::uint16_t>(last.usid48),
                                             plan.usid(plane, fabric::kHostCode, to - last.first_host)};
    values.push_back(
        {way_text(plan.locator_of(plane), usids, c.ev.format), static_cast<std::uint8_t>(plane)});
  }
  c.ev.mode = config::EvMode::kExplicit;
  c.ev.values = std::move(values);
  return {};
}

}  // namespace mrc::endpoint
