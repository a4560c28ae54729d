// SPDX-License-Identifier: BSD-3-Clause
#include "fabric/usid.h"

#include <algorithm>
#include <cassert>
#include <string>

namespace mrc::fabric {

namespace {

std::uint32_t switch_code(const SwitchSpec& s) {
  return 1U + s.tier;
}

/// Links that begin at a switch, in order.
std::vector<LinkId> links_from(const Topology& t, SwitchId id) {
  std::vector<LinkId> links;
  for (LinkId i = 0; i < t.links.size(); ++i) {
    if (!t.links[i].from.is_host && t.links[i].from.id == id) links.push_back(i);
  }
  return links;
}

void add_route(std::vector<UsidRoute>& table, std::uint64_t prefix, LinkId link) {
  const auto it =
      std::find_if(table.begin(), table.end(), [&](const UsidRoute& r) { return r.prefix48 == prefix; });
  if (it == table.end()) {
    table.push_back({prefix, {link}});
  } else {
    it->links.push_back(link);  // parallel cables: equal
  }
}

Error does_not_fit(const std::string& what) {
  return Error{"uSID plan: no uSID below 0xe000 for " + what +
               "; give the index more bits, or put the plane into the locator"};
}

}  // namespace

Address make_carrier(std::uint32_t locator, std::span<const std::uint16_t> usids) {
  assert(usids.size() <= kUsidsPerAddress);
  Address a{std::uint64_t{locator} << 32, 0};
  for (std::size_t i = 0; i < usids.size(); ++i) {
    if (i < 2) {
      a.hi |= std::uint64_t{usids[i]} << (16 * (1 - i));
    } else {
      a.lo |= std::uint64_t{usids[i]} << (16 * (5 - i));
    }
  }
  return a;
}

std::uint32_t UsidPlan::locator_of(std::uint32_t plane) const {
  return planes == PlaneEncoding::kInLocator ? locator + (plane << locator_plane_shift) : locator;
}

bool UsidPlan::fits(std::uint32_t plane, std::uint32_t code, std::uint32_t index) const {
  if (used_plane_bits() + tier_bits >= 16U || code >= (1U << tier_bits)) return false;
  if (index + 1 >= (1U << index_bits())) return false;
  if (planes == PlaneEncoding::kInUsid && plane >= (1U << plane_bits)) return false;
  return usid(plane, code, index) < kFirstLocalUsid;
}

std::uint16_t UsidPlan::usid(std::uint32_t plane, std::uint32_t code, std::uint32_t index) const {
  const std::uint32_t high = used_plane_bits() == 0 ? 0 : plane << (16U - used_plane_bits());
  // From 1: a uSID of zero would end the list.
  return static_cast<std::uint16_t>(high | code << index_bits() | (index + 1));
}

Result<void> number_usids(Topology& t, const UsidPlan& plan) {
  for (const SwitchSpec& s : t.switches) {
    if (!plan.fits(s.plane, switch_code(s), s.index)) {
      return does_not_fit("switch " + std::to_string(s.index) + " of tier " + std::to_string(s.tier) +
                          " in plane " + std::to_string(s.plane));
    }
  }
  for (SwitchId id = 0; id < t.switches.size(); ++id) {
    SwitchSpec& s = t.switches[id];
    const std::uint32_t locator = plan.locator_of(s.plane);
    s.usid48 = prefix48(locator, plan.usid(s.plane, switch_code(s), s.index));
    s.usid_routes.clear();
    s.usid_adjacencies.clear();
    std::uint16_t local = kFirstLocalUsid;
    for (const LinkId link : links_from(t, id)) {
      const End to = t.links[link].to;
      const std::uint32_t index = to.is_host ? to.id - s.first_host : t.switches[to.id].index;
      const std::uint32_t code = to.is_host ? kHostCode : switch_code(t.switches[to.id]);
      if (!plan.fits(s.plane, code, index))
        return does_not_fit("host port " + std::to_string(index) + " of a T0");
      add_route(s.usid_routes, prefix48(locator, plan.usid(s.plane, code, index)), link);
      if (local == 0) return Error{"uSID plan: a switch has more links than there are local uSIDs (8192)"};
      s.usid_adjacencies.push_back({prefix48(locator, local++), {link}});
    }
  }
  return {};
}

Result<Address> usid_path(const Topology& t, const UsidPlan& plan, std::span<const SwitchId> via, HostId to) {
  if (via.empty() || via.size() + 1 > kUsidsPerAddress) {
    return Error{"uSID path: " + std::to_string(via.size()) + " switches and a host do not fit six uSIDs"};
  }
  std::uint16_t usids[kUsidsPerAddress];
  std::size_t n = 0;
  for (const SwitchId id : via) {
    if (id >= t.switches.size()) return Error{"uSID path: there is no switch " + std::to_string(id)};
    const SwitchSpec& s = t.switches[id];
    usids[n++] = plan.usid(s.plane, switch_code(s), s.index);
  }
  const SwitchSpec& last = t.switches[via.back()];
  if (last.tier != 0 || to < last.first_host || to - last.first_host >= last.down.size()) {
    return Error{"uSID path: host " + std::to_string(to) + " does not hang on the last switch"};
  }
  usids[n++] = plan.usid(last.plane, kHostCode, to - last.first_host);
  return make_carrier(plan.locator_of(last.plane), std::span(usids, n));
}

std::uint16_t adjacency_usid(const Topology& t, LinkId link) {
  const std::vector<LinkId> all = links_from(t, t.links[link].from.id);
  const auto it = std::find(all.begin(), all.end(), link);
  assert(it != all.end());
  return static_cast<std::uint16_t>(kFirstLocalUsid + (it - all.begin()));
}

}  // namespace mrc::fabric
