// SPDX-License-Identifier: BSD-3-Clause
#include "fabric/switch.h"

#include <algorithm>

#include "base/rng.h"
#include "fabric/usid.h"

namespace mrc::fabric {

namespace {
// Six uSIDs, a segment of six more, and the active one of each: enough for a packet that never leaves a
// switch.
constexpr int kMaxUsidSteps = 14;
}  // namespace

Switch::Switch(const SwitchSpec& spec, std::uint64_t salt)
    : first_host_(spec.first_host), hosts_per_down_(spec.hosts_per_down), salt_(salt), usid48_(spec.usid48) {
  down_.reserve(spec.down.size());
  for (const LinkGroup& g : spec.down) down_.push_back(add_group(g));
  up_ = add_group(spec.up);
  usid_routes_ = compile(spec.usid_routes);
  usid_adjacencies_ = compile(spec.usid_adjacencies);
}

Switch::Group Switch::add_group(const LinkGroup& links) {
  const Group g{static_cast<std::uint32_t>(links_.size()), static_cast<std::uint32_t>(links.size())};
  links_.insert(links_.end(), links.begin(), links.end());
  return g;
}

std::vector<Switch::UsidEntry> Switch::compile(std::span<const UsidRoute> routes) {
  std::vector<UsidEntry> table;
  table.reserve(routes.size());
  for (const UsidRoute& r : routes) table.push_back({r.prefix48, add_group(r.links)});
  std::sort(table.begin(), table.end(),
            [](const UsidEntry& a, const UsidEntry& b) { return a.prefix48 < b.prefix48; });
  return table;
}

const Switch::UsidEntry* Switch::find(const std::vector<UsidEntry>& table, std::uint64_t prefix48) {
  const auto it = std::lower_bound(table.begin(), table.end(), prefix48,
                                   [](const UsidEntry& e, std::uint64_t p) { return e.prefix48 < p; });
  return it != table.end() && it->prefix48 == prefix48 ? &*it : nullptr;
}

LinkId Switch::route(Packet& packet, const ForwardingConfig& config) const {
  if (packet.srv6) return route_usid(packet, config);
  if (packet.dst_host >= first_host_) {
    const std::uint32_t below = (packet.dst_host - first_host_) / hosts_per_down_;
    if (below < down_.size()) return choose(down_[below], packet, config);
  }
  return choose(up_, packet, config);
}

LinkId Switch::route_usid(Packet& packet, const ForwardingConfig& config) const {
  const auto advance = [&packet] {
    if (has_more_usids(packet.usid)) {
      packet.usid = shift_usid(packet.usid);
    } else if (packet.segments_left > 0) {  // End: the SRH holds the next carrier
      packet.usid = packet.segment;
      packet.segments_left = 0;
    } else {
      return false;
    }
    return true;
  };
  for (int step = 0; step < kMaxUsidSteps; ++step) {
    const std::uint64_t active = active48(packet.usid);
    if (active == usid48_) {  // uN: consume, then look up what comes next
      if (!advance()) return kNil;
      continue;
    }
    if (const UsidEntry* uA = find(usid_adjacencies_, active)) {
      return advance() ? choose(uA->group, packet, config) : kNil;
    }
    const UsidEntry* next = find(usid_routes_, active);
    return next != nullptr ? choose(next->group, packet, config) : kNil;
  }
  return kNil;
}

std::uint32_t Switch::hash(const Packet& packet) const {
  const std::uint64_t entropy = std::uint64_t{packet.sport} << 16 | packet.label;
  return static_cast<std::uint32_t>(mix64((std::uint64_t{packet.flow} << 32 | entropy) ^ salt_) >> 32);
}

LinkId Switch::choose(Group group, const Packet& packet, const ForwardingConfig& config) const {
  if (group.count == 0) return kNil;
  if (group.count == 1) return links_[group.offset];
  std::uint32_t pick = 0;
  const EvField field = packet.hops < kMaxEvFields ? config.fields[packet.hops] : EvField{};
  if (config.mode == Forwarding::kModulo) {
    pick = packet.sport % group.count;
  } else if (config.mode == Forwarding::kStructured && field.width != 0) {
    const std::uint32_t mask = field.width >= 32 ? ~0U : (1U << field.width) - 1;
    pick = (entropy_of(packet, config.low_half_in_sport) >> field.shift & mask) % group.count;
  } else {
    pick = static_cast<std::uint32_t>((std::uint64_t{hash(packet)} * group.count) >> 32);
  }
  return links_[group.offset + pick];
}

}  // namespace mrc::fabric
