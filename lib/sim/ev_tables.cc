// SPDX-License-Identifier: BSD-3-Clause
#include "sim/ev_tables.h"

#include <span>
#include <string>
#include <vector>

#include "fabric/usid.h"
#include "sim/network.h"
#include "wire/types.h"

namespace mrc::sim {

namespace {

void store(path::EvValue& value, std::size_t at, std::uint64_t word, std::size_t bytes) {
  for (std::size_t b = 0; b < bytes; ++b)
    value[at + b] = static_cast<std::uint8_t>(word >> (8 * (bytes - 1 - b)));
}

void store(path::EvValue& value, std::size_t at, fabric::Address address) {
  store(value, at, address.hi, 8);
  store(value, at + 8, address.lo, 8);
}

/// The links from the first T0 to the last, upwards as `way` says and then the only way down.
std::vector<fabric::LinkId> links_of(const fabric::Topology& t, fabric::HostId src, fabric::HostId dst,
                                     std::uint32_t plane, std::uint32_t way) {
  std::vector<fabric::LinkId> links;
  std::uint32_t at = t.links[t.up_of(src, plane)].to.id;
  for (;;) {
    const fabric::SwitchSpec& s = t.switches[at];
    const std::uint32_t below = (dst - s.first_host) / s.hosts_per_down;
    const bool down = dst >= s.first_host && below < s.down.size();
    const fabric::LinkGroup& group = down ? s.down[below] : s.up;
    links.push_back(group[way % group.size()]);
    if (t.links[links.back()].to.is_host) break;
    if (!down) way /= static_cast<std::uint32_t>(group.size());
    at = t.links[links.back()].to.id;
  }
  links.pop_back();  // to the host
  return links;
}

}  // namespace

Result<std::shared_ptr<const path::EvTable>> EvTables::between(const fabric::Topology& topology,
                                                               fabric::HostId src, fabric::HostId dst) {
  const PathScenario& p = scenario_.paths;
  const bool everywhere = !path::is_srv6(p.format);
  const std::uint32_t rack = src / scenario_.network.hosts_per_t0;
  auto& table = tables_[everywhere ? std::pair{0U, fabric::HostId{0}} : std::pair{rack, dst}];
  if (table) return table;
  std::vector<path::EvValue> values;
  std::vector<std::uint8_t> ports;
  for (std::uint32_t i = 0; i < p.evs; ++i) {
    auto value = value_of(topology, src, dst, i);
    if (!value) return value.error();
    values.push_back(*value);
    ports.push_back(static_cast<std::uint8_t>(i % scenario_.network.planes));
  }
  auto made = path::EvTable::create(p.format, p.order, true, values, ports);
  if (!made) return made.error();
  table = std::make_shared<path::EvTable>(std::move(*made));
  return table;
}

Result<path::EvValue> EvTables::value_of(const fabric::Topology& topology, fabric::HostId src,
                                         fabric::HostId dst, std::uint32_t ev) const {
  const PathScenario& p = scenario_.paths;
  const NetworkScenario& n = scenario_.network;
  const std::uint32_t way = ev / n.planes;
  if (path::is_srv6(p.format)) return template_of(topology, src, dst, ev % n.planes, way);
  path::EvValue value{};
  const std::uint32_t uplinks = n.t1 * n.parallel;
  const std::uint32_t word =  // a structured EV names an uplink of the T0 and one of the T1
      p.format == path::EvFormat::kUdp ? (wire::kFirstDynamicPort + ev) << 16
                                       : (way / uplinks) << 8 | (way % uplinks);
  store(value, 0, word, 4);
  return value;
}

// uN: the switches by name, parallel cables by hash. uA: the cables, each by its number at its switch. The
// host comes last, by its number at its T0.
Result<path::EvValue> EvTables::template_of(const fabric::Topology& t, fabric::HostId src, fabric::HostId dst,
                                            std::uint32_t plane, std::uint32_t way) const {
  const fabric::UsidPlan plan = usid_plan(scenario_);
  const bool adjacencies = scenario_.paths.usids == UsidKind::kAdjacency;
  std::vector<std::uint16_t> usids;
  for (const fabric::LinkId link : links_of(t, src, dst, plane, way)) {
    const std::uint32_t to = t.links[link].to.id;
    usids.push_back(adjacencies ? fabric::adjacency_usid(t, link)
                                : static_cast<std::uint16_t>(t.switches[to].usid48));
  }
  const fabric::SwitchSpec& last = t.switches[t.links[t.down_of(dst, plane)].from.id];
  usids.push_back(plan.usid(plane, fabric::kHostCode, dst - last.first_host));
  path::EvValue value{};
  const std::uint32_t locator = plan.locator_of(plane);
  if (scenario_.paths.format == path::EvFormat::kSrv6) {
    if (usids.size() > fabric::kUsidsPerAddress)
      return Error{"paths.format: srv6 holds six uSIDs; this way has " + std::to_string(usids.size())};
    store(value, 0, fabric::make_carrier(locator, usids));
    return value;
  }
  // The address has the first, the SRH's segment the others.
  const std::span<const std::uint16_t> all(usids);
  store(value, 0, fabric::make_carrier(locator, all.first(1)));
  store(value, 16, fabric::make_carrier(locator, all.subspan(1)));
  return value;
}

}  // namespace mrc::sim
