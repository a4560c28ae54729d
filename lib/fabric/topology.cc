// SPDX-License-Identifier: BSD-3-Clause
#include "fabric/topology.h"

#include <string>

#include "base/limits.h"

namespace mrc::fabric {

SwitchId Topology::find(std::uint32_t plane, std::uint32_t tier, std::uint32_t index) const {
  for (SwitchId i = 0; i < switches.size(); ++i) {
    const SwitchSpec& s = switches[i];
    if (s.plane == plane && s.tier == tier && s.index == index) return i;
  }
  return kNil;
}

namespace {

/// Builds one Clos, plane after plane.
class ClosBuilder {
 public:
  explicit ClosBuilder(const ClosSpec& spec) : spec_(spec) {
    t_.hosts = spec.hosts;
    t_.planes = spec.planes;
    t_.host_up.resize(std::size_t{spec.hosts} * spec.planes);
    t_.host_down.resize(t_.host_up.size());
  }

  Topology build() {
    for (std::uint32_t plane = 0; plane < spec_.planes; ++plane) {
      plane_ = static_cast<std::uint8_t>(plane);
      add_t0s();
      if (spec_.tiers == 2) {
        connect_two_tiers();
      } else {
        connect_three_tiers();
      }
    }
    return std::move(t_);
  }

 private:
  [[nodiscard]] std::uint32_t t0s() const { return spec_.hosts / spec_.hosts_per_t0; }

  SwitchId add_switch(std::uint8_t tier, std::uint32_t index, HostId first_host,
                      std::uint32_t hosts_per_down) {
    SwitchSpec s;
    s.plane = plane_;
    s.tier = tier;
    s.index = index;
    s.first_host = first_host;
    s.hosts_per_down = hosts_per_down;
    t_.switches.push_back(s);
    return static_cast<SwitchId>(t_.switches.size() - 1);
  }

  LinkId add_link(End from, End to, const PortConfig& port) {
    t_.links.push_back({from, to, plane_, port});
    return static_cast<LinkId>(t_.links.size() - 1);
  }

  void add_t0s() {
    first_t0_ = static_cast<SwitchId>(t_.switches.size());
    for (std::uint32_t i = 0; i < t0s(); ++i) {
      const HostId first = i * spec_.hosts_per_t0;
      const SwitchId t0 = add_switch(0, i, first, 1);
      for (HostId h = first; h < first + spec_.hosts_per_t0; ++h) {
        const std::size_t port = std::size_t{h} * spec_.planes + plane_;
        t_.host_up[port] = add_link({true, h}, {false, t0}, spec_.host_port);
        t_.host_down[port] = add_link({false, t0}, {true, h}, spec_.t0_down);
        t_.switches[t0].down.push_back({t_.host_down[port]});
      }
    }
  }

  /// `parallel` cables between a lower and an upper switch; the upper one gets a new group below.
  void connect(SwitchId lower, SwitchId upper, std::uint32_t parallel, const PortConfig& up,
               const PortConfig& down) {
    LinkGroup group;
    for (std::uint32_t k = 0; k < parallel; ++k) {
      t_.switches[lower].up.push_back(add_link({false, lower}, {false, upper}, up));
      group.push_back(add_link({false, upper}, {false, lower}, down));
    }
    t_.switches[upper].down.push_back(group);
  }

  void connect_two_tiers() {
    for (std::uint32_t j = 0; j < spec_.t1; ++j) {
      const SwitchId t1 = add_switch(1, j, 0, spec_.hosts_per_t0);
      for (std::uint32_t i = 0; i < t0s(); ++i) {
        connect(first_t0_ + i, t1, spec_.parallel, spec_.t0_up, spec_.t1_down);
      }
    }
  }

  void connect_three_tiers() {
    const std::uint32_t pods = t0s() / spec_.t0_per_pod;
    const std::uint32_t hosts_per_pod = spec_.hosts_per_t0 * spec_.t0_per_pod;
    const auto first_t1 = static_cast<SwitchId>(t_.switches.size());
    for (std::uint32_t pod = 0; pod < pods; ++pod) {
      for (std::uint32_t j = 0; j < spec_.t1; ++j) {
        const SwitchId t1 = add_switch(1, pod * spec_.t1 + j, pod * hosts_per_pod, spec_.hosts_per_t0);
        for (std::uint32_t i = 0; i < spec_.t0_per_pod; ++i) {
          connect(first_t0_ + pod * spec_.t0_per_pod + i, t1, spec_.parallel, spec_.t0_up, spec_.t1_down);
        }
      }
    }
    for (std::uint32_t c = 0; c < spec_.t1 * spec_.t2_per_t1; ++c) {
      const SwitchId t2 = add_switch(2, c, 0, hosts_per_pod);
      for (std::uint32_t pod = 0; pod < pods; ++pod) {
        connect(first_t1 + pod * spec_.t1 + c / spec_.t2_per_t1, t2, 1, spec_.t1_up, spec_.t2_down);
      }
    }
  }

  const ClosSpec& spec_;
  Topology t_;
  std::uint8_t plane_ = 0;
  SwitchId first_t0_ = 0;
};

Error bad(const std::string& what) {
  return Error{"topology: " + what};
}

}  // namespace

std::uint64_t links_of(const ClosSpec& s) {
  const std::uint64_t t0s = s.hosts / s.hosts_per_t0;
  const std::uint64_t pods = s.tiers == 3 ? t0s / s.t0_per_pod : 0;
  const std::uint64_t cables = s.hosts + t0s * s.t1 * s.parallel + pods * s.t1 * std::uint64_t{s.t2_per_t1};
  return 2 * cables * s.planes;
}

Result<Topology> make_clos(const ClosSpec& s) {
  if (s.tiers != 2 && s.tiers != 3) return bad("tiers is " + std::to_string(s.tiers) + ", must be 2 or 3");
  if (s.planes == 0 || s.planes > kMaxPlanes) {
    return bad("planes is " + std::to_string(s.planes) + ", must be 1.." + std::to_string(kMaxPlanes));
  }
  if (s.hosts == 0 || s.hosts > kMaxHosts) {
    return bad("hosts is " + std::to_string(s.hosts) + ", must be 1.." + std::to_string(kMaxHosts));
  }
  if (s.hosts_per_t0 == 0 || s.t1 == 0 || s.parallel == 0) {
    return bad("hosts_per_t0, t1 and parallel must be at least 1");
  }
  if (s.tiers == 3 && (s.t0_per_pod == 0 || s.t2_per_t1 == 0)) {
    return bad("t0_per_pod and t2_per_t1 must be at least 1 with three tiers");
  }
  const std::uint64_t unit = std::uint64_t{s.hosts_per_t0} * (s.tiers == 3 ? s.t0_per_pod : 1);
  if (s.hosts % unit != 0) {
    return bad("hosts is " + std::to_string(s.hosts) + ", must be a multiple of " + std::to_string(unit) +
               " (hosts of a T0, with three tiers of a pod)");
  }
  if (links_of(s) > kMaxLinks) {
    return bad(std::to_string(links_of(s)) + " links, at most " + std::to_string(kMaxLinks));
  }
  return ClosBuilder(s).build();
}

Result<Topology> make_parallel_paths(std::uint32_t hosts, std::uint32_t planes, std::uint32_t paths,
                                     const PortConfig& path) {
  ClosSpec spec;
  spec.planes = planes;
  spec.hosts = hosts;
  spec.t1 = paths;
  spec.t0_up = path;
  return make_clos(spec);
}

}  // namespace mrc::fabric
