// SPDX-License-Identifier: BSD-3-Clause
// Set-up: checks a topology, compiles it, names things.
#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "base/limits.h"
#include "fabric/fabric.h"

namespace mrc::fabric {

namespace {

constexpr std::uint32_t kMaxPackets = 1U << 26;

Error bad(const std::string& what) {
  return Error{"fabric: " + what};
}

Result<void> check_groups(const Topology& t, const SwitchSpec& s, std::uint32_t id) {
  const auto check = [&](const LinkGroup& group) {
    return std::all_of(group.begin(), group.end(), [&](LinkId l) {
      return l < t.links.size() && !t.links[l].from.is_host && t.links[l].from.id == id;
    });
  };
  bool good = check(s.up) && s.hosts_per_down > 0;
  for (const LinkGroup& g : s.down) good = good && check(g);
  for (const UsidRoute& r : s.usid_routes) good = good && check(r.links);
  for (const UsidRoute& r : s.usid_adjacencies) good = good && check(r.links);
  if (good) return {};
  return bad("switch " + std::to_string(id) +
             " forwards to a link that does not begin at it; every link of its tables must");
}

Result<void> check(const Topology& t) {
  if (t.hosts == 0 || t.planes == 0 || t.links.empty())
    return bad("no hosts, planes or links: nothing to run");
  if (t.planes > kMaxPlanes || t.hosts > kMaxHosts || t.links.size() > kMaxLinks) {
    return bad(std::to_string(t.planes) + " planes, " + std::to_string(t.hosts) + " hosts, " +
               std::to_string(t.links.size()) + " links; at most " + std::to_string(kMaxPlanes) + ", " +
               std::to_string(kMaxHosts) + ", " + std::to_string(kMaxLinks));
  }
  const std::size_t ports = std::size_t{t.hosts} * t.planes;
  if (t.host_up.size() != ports || t.host_down.size() != ports) {
    return bad("every host needs one port in every plane: " + std::to_string(ports) + " expected, " +
               std::to_string(t.host_up.size()) + " given");
  }
  for (const LinkSpec& l : t.links) {
    for (const End& end : {l.from, l.to}) {
      if (end.id >= (end.is_host ? t.hosts : t.switches.size())) return bad("a link ends nowhere");
    }
    if (l.port.delay.ns < 0 || l.port.jitter.ns < 0) return bad("a delay or jitter is negative");
  }
  for (std::size_t i = 0; i < ports; ++i) {
    const HostId h = static_cast<HostId>(i / t.planes);
    const auto belongs = [&](LinkId l, End LinkSpec::*end) {
      return l < t.links.size() && (t.links[l].*end).is_host && (t.links[l].*end).id == h;
    };
    if (!belongs(t.host_up[i], &LinkSpec::from) || !belongs(t.host_down[i], &LinkSpec::to)) {
      return bad("port " + std::to_string(i % t.planes) + " of host " + std::to_string(h) +
                 " is not connected");
    }
  }
  for (std::uint32_t s = 0; s < t.switches.size(); ++s) {
    if (auto r = check_groups(t, t.switches[s], s); !r) return r;
  }
  return {};
}

/// The k-th link from A to B and the k-th from B to A of a plane are one cable.
std::vector<LinkId> pair_cables(const Topology& t) {
  using Key = std::tuple<bool, std::uint32_t, bool, std::uint32_t, std::uint8_t>;
  std::map<Key, std::vector<LinkId>> by_ends;
  for (LinkId i = 0; i < t.links.size(); ++i) {
    const LinkSpec& l = t.links[i];
    by_ends[{l.from.is_host, l.from.id, l.to.is_host, l.to.id, l.plane}].push_back(i);
  }
  std::vector<LinkId> reverse(t.links.size(), kNil);
  for (const auto& [key, links] : by_ends) {
    const auto& [from_host, from, to_host, to, plane] = key;
    const auto other = by_ends.find({to_host, to, from_host, from, plane});
    if (other == by_ends.end()) continue;
    for (std::size_t k = 0; k < std::min(links.size(), other->second.size()); ++k) {
      reverse[links[k]] = other->second[k];
    }
  }
  return reverse;
}

}  // namespace

Result<std::unique_ptr<Fabric>> Fabric::create(Topology topology, FabricConfig config) {
  if (auto r = check(topology); !r) return r.error();
  if (config.max_packets == 0 || config.max_packets > kMaxPackets) {
    return bad("max_packets is " + std::to_string(config.max_packets) + ", must be 1.." +
               std::to_string(kMaxPackets));
  }
  std::stable_sort(config.schedule.begin(), config.schedule.end(),
                   [](const ScheduledChange& a, const ScheduledChange& b) { return a.at < b.at; });
  return std::unique_ptr<Fabric>(new Fabric(std::move(topology), std::move(config)));
}

Fabric::Fabric(Topology topology, FabricConfig config)
    : topology_(std::move(topology)),
      config_(std::move(config)),
      reverse_(pair_cables(topology_)),
      pool_(config_.max_packets),
      heap_(2 * topology_.links.size() + config_.max_strays) {
  links_.reserve(topology_.links.size());
  for (LinkId i = 0; i < topology_.links.size(); ++i) {
    links_.emplace_back(topology_.links[i], mix64(config_.seed ^ mix64(i)));
  }
  switches_.reserve(topology_.switches.size());
  for (SwitchId i = 0; i < topology_.switches.size(); ++i) {
    switches_.emplace_back(topology_.switches[i], mix64(~config_.seed ^ mix64(i)));
  }
  ev_rules_.reserve(kMaxEvRules);
}

const char* name(Kind kind) {
  switch (kind) {
    case Kind::kData:
      return "data";
    case Kind::kRetransmission:
      return "retransmission";
    case Kind::kProbe:
      return "probe";
    case Kind::kControl:
      return "control";
    case Kind::kOther:
      return "other";
  }
  return "?";
}

const char* name(DropReason reason) {
  switch (reason) {
    case DropReason::kNone:
      return "none";
    case DropReason::kPortDown:
      return "port_down";
    case DropReason::kLinkDown:
      return "link_down";
    case DropReason::kRandomLoss:
      return "random_loss";
    case DropReason::kEvLoss:
      return "ev_loss";
    case DropReason::kBlackHole:
      return "black_hole";
    case DropReason::kQueueFull:
      return "queue_full";
    case DropReason::kControlQueueFull:
      return "control_queue_full";
    case DropReason::kNoRoute:
      return "no_route";
    case DropReason::kHopLimit:
      return "hop_limit";
    case DropReason::kNoSlot:
      return "no_slot";
  }
  return "?";
}

LinkCounters& LinkCounters::operator+=(const LinkCounters& o) {
  add(offered, o.offered);
  add(sent, o.sent);
  for (std::size_t r = 0; r < kDropReasons; ++r) add(dropped[r], o.dropped[r]);
  sent_bytes += o.sent_bytes;
  ce_marked += o.ce_marked;
  trimmed += o.trimmed;
  corrupted += o.corrupted;
  duplicated += o.duplicated;
  reordered += o.reordered;
  max_data_queue_bytes = std::max(max_data_queue_bytes, o.max_data_queue_bytes);
  return *this;
}

}  // namespace mrc::fabric
