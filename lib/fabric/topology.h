// SPDX-License-Identifier: BSD-3-Clause
// What is connected to what. Plain structs: configuration files, tests and the virtual port fill them;
// builders make the usual shapes.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "fabric/packet.h"
#include "fabric/port_config.h"

namespace mrc::fabric {

/// One end of a link.
struct End {
  bool is_host = false;
  std::uint32_t id = 0;  ///< HostId or SwitchId
};

/// A link in one direction; a cable is two.
struct LinkSpec {
  End from;
  End to;
  std::uint8_t plane = 0;
  PortConfig port;
};

/// Links that are equal for forwarding; ECMP chooses among them.
using LinkGroup = std::vector<LinkId>;

/// A locator plus one uSID: 48 bits, and where the shifted address goes.
struct UsidRoute {
  std::uint64_t prefix48 = 0;
  LinkGroup links;
};

/// A switch. Destination routing: hosts [first_host, first_host + down.size() x hosts_per_down) lie below,
/// host h behind down[(h - first_host) / hosts_per_down]; all others are reached through any of `up`.
struct SwitchSpec {
  std::uint8_t plane = 0;
  std::uint8_t tier = 0;  ///< 0: hosts attach here
  std::uint32_t index = 0;
  HostId first_host = 0;
  std::uint32_t hosts_per_down = 1;
  std::vector<LinkGroup> down;
  LinkGroup up;
  std::uint64_t usid48 = 0;                 ///< own locator + uN uSID, 0: no SRv6 here
  std::vector<UsidRoute> usid_routes;       ///< next uSID -> links
  std::vector<UsidRoute> usid_adjacencies;  ///< uA: active locator + uSID -> the link it names
};

struct Topology {
  std::uint32_t hosts = 0;
  std::uint32_t planes = 0;
  std::vector<SwitchSpec> switches;
  std::vector<LinkSpec> links;
  std::vector<LinkId> host_up;    ///< [host x planes + plane]: from the host
  std::vector<LinkId> host_down;  ///< [host x planes + plane]: to the host

  [[nodiscard]] LinkId up_of(HostId h, std::uint32_t plane) const { return host_up[h * planes + plane]; }
  [[nodiscard]] LinkId down_of(HostId h, std::uint32_t plane) const { return host_down[h * planes + plane]; }
  /// The switch of a plane at a tier, or kNil.
  [[nodiscard]] SwitchId find(std::uint32_t plane, std::uint32_t tier, std::uint32_t index) const;
};

/// A folded Clos of two or three tiers, the same in every plane.
/// Two tiers: every T0 is connected to each of `t1` spines by `parallel` cables.
/// Three tiers: pods of t0_per_pod T0s and t1 T1s, fully meshed; T1 number j of every pod is connected to the
/// t2_per_t1 cores j x t2_per_t1 ...
struct ClosSpec {
  std::uint32_t tiers = 2;
  std::uint32_t planes = 1;
  std::uint32_t hosts = 2;  ///< a multiple of hosts_per_t0 (x t0_per_pod with three tiers)
  std::uint32_t hosts_per_t0 = 1;
  std::uint32_t t1 = 1;          ///< spines of a plane, or T1s of a pod
  std::uint32_t parallel = 1;    ///< cables between a T0 and a T1
  std::uint32_t t0_per_pod = 1;  ///< three tiers only
  std::uint32_t t2_per_t1 = 1;   ///< three tiers only
  PortConfig host_port;          ///< host -> T0
  PortConfig t0_down;            ///< T0 -> host: the last hop
  PortConfig t0_up;
  PortConfig t1_down;
  PortConfig t1_up;
  PortConfig t2_down;
};

inline constexpr std::uint32_t kMaxHosts = 1U << 17;
inline constexpr std::uint32_t kMaxLinks = 1U << 22;

/// Both directions of every cable, all planes.
std::uint64_t links_of(const ClosSpec& spec);
/// Refuses shapes that do not divide or exceed kMaxPlanes, kMaxHosts, kMaxLinks.
Result<Topology> make_clos(const ClosSpec& spec);

/// The shape of the virtual port: `hosts` hosts, each with a T0 of its own per plane, joined by `paths`
/// spines; path k of a plane is spine k. All delay and speed of a path sit in its first half, so that a
/// packet costs one event.
Result<Topology> make_parallel_paths(std::uint32_t hosts, std::uint32_t planes, std::uint32_t paths,
                                     const PortConfig& path);

}  // namespace mrc::fabric
