// SPDX-License-Identifier: BSD-3-Clause
// Set-up: rings, ports, fabric.
#include "virtual/virtual_fabric.h"

#include <rte_bus_vdev.h>
#include <rte_errno.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>

#include <bit>

#include "ethdev/text.h"
#include "virtual/impl.h"

namespace mrc::virt {

namespace {

constexpr std::uint32_t kMtuBytes = 9216;  ///< what a copy must hold
constexpr std::uint32_t kCopies = 511;
constexpr std::size_t kMaxNameBytes = 12;

Result<fabric::Topology> topology_of(const VirtualConfig& c) {
  if (c.topology) return *c.topology;
  fabric::ClosSpec spec;
  spec.hosts = c.hosts;
  spec.planes = c.planes;
  spec.t1 = c.paths;
  spec.host_port = c.host_port;
  spec.t0_up = c.path;
  return fabric::make_clos(spec);
}

Result<void> check(const VirtualConfig& c) {
  if (c.name.empty() || c.name.size() > kMaxNameBytes) {
    return ethdev::error("virtual fabric: name '", c.name, "' must have 1..", kMaxNameBytes, " characters");
  }
  if (c.ring_size < kBurst || !std::has_single_bit(c.ring_size)) {
    return ethdev::error("virtual fabric: ring_size is ", c.ring_size, ", must be a power of two, at least ",
                         kBurst);
  }
  if (c.queues == 0 || c.queues > RTE_PMD_RING_MAX_RX_RINGS) {
    return ethdev::error("virtual fabric: queues is ", c.queues, ", must be 1..", RTE_PMD_RING_MAX_RX_RINGS);
  }
  if (c.max_packets < kBurst) {
    return ethdev::error("virtual fabric: max_packets is ", c.max_packets, ", must be at least ", kBurst);
  }
  return {};
}

}  // namespace

VirtualFabric::Impl::Impl(VirtualConfig c) : config(std::move(c)), watches(config.observations) {}

Result<std::unique_ptr<VirtualFabric>> VirtualFabric::create(VirtualConfig config) {
  if (auto r = check(config); !r) return r.error();
  auto impl = std::make_unique<Impl>(std::move(config));
  if (auto r = impl->open(); !r) return r.error();
  return std::unique_ptr<VirtualFabric>(new VirtualFabric(std::move(impl)));
}

Result<void> VirtualFabric::Impl::open() {
  auto topology = topology_of(config);
  if (!topology) return topology.error();
  config.hosts = topology->hosts;
  config.planes = topology->planes;
  const std::uint32_t n = config.hosts * config.planes;
  const std::uint32_t free_ports = RTE_MAX_ETHPORTS - rte_eth_dev_count_avail();
  if (n > free_ports) {
    return ethdev::error("virtual fabric: ", config.hosts, " hosts x ", config.planes, " planes need ", n,
                         " ports, this process has ", free_ports, " left of ", RTE_MAX_ETHPORTS);
  }
  fabric::FabricConfig fc;
  fc.forwarding = config.forwarding;
  fc.seed = config.seed;
  fc.max_packets = config.max_packets;
  fc.schedule = config.schedule;
  auto made = fabric::Fabric::create(*std::move(topology), std::move(fc));
  if (!made) return made.error();
  fabric = *std::move(made);
  reader.emplace(config.decode, config.hosts);

  const auto room = static_cast<std::uint16_t>(kMtuBytes + 2 * RTE_PKTMBUF_HEADROOM);
  auto copies = ethdev::make_pool(config.name + "_copy", kCopies, room, 32);
  if (!copies) return copies.error();
  pool.reset(*copies);
  ports.resize(n);
  stages.resize(std::size_t{n} * config.queues);
  staged.reserve(stages.size());
  steering.resize(config.hosts);
  for (auto& table : steering) table.reserve(kMaxSteered);
  for (std::uint32_t i = 0; i < n; ++i) {
    if (auto r = open_port(i); !r) return r;
  }
  return {};
}

Result<RingPtr> VirtualFabric::Impl::make_ring(const std::string& name) const {
  RingPtr ring(rte_ring_create(name.c_str(), config.ring_size, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ));
  if (ring == nullptr) {
    return ethdev::error("virtual fabric: ring ", name, " of ", config.ring_size,
                         " entries: ", rte_strerror(rte_errno));
  }
  return ring;
}

std::string VirtualFabric::Impl::port_name(std::uint32_t index) const {
  return ethdev::text(config.name, "_h", index / config.planes, "p", index % config.planes);
}

Result<void> VirtualFabric::Impl::open_port(std::uint32_t index) {
  const std::string name = port_name(index);
  Port& port = ports[index];
  std::vector<rte_ring*> rx;
  std::vector<rte_ring*> tx;
  for (std::uint16_t q = 0; q < config.queues; ++q) {
    for (auto* side : {&port.rx, &port.tx}) {
      auto ring = make_ring(ethdev::text(name, side == &port.rx ? "r" : "t", q));
      if (!ring) return ring.error();
      (side == &port.rx ? rx : tx).push_back(ring->get());
      side->push_back(*std::move(ring));
    }
  }
  const int id = rte_eth_from_rings(name.c_str(), rx.data(), config.queues, tx.data(), config.queues, 0);
  if (id < 0) {
    return ethdev::error("virtual fabric: port ", name, ": ", rte_strerror(rte_errno));
  }
  port.id = static_cast<std::uint16_t>(id);
  ethdev::PortConfig pc;
  pc.rx_queues = pc.tx_queues = config.queues;
  pc.mtu_bytes = kMtuBytes;
  pc.rx_pools = {pool.get()};  // RX set-up wants one; the ports never take from it
  auto opened = ethdev::Port::open(*port.id, pc);
  if (!opened) return opened.error();
  port.ethdev.emplace(*std::move(opened));
  return port.ethdev->start();
}

VirtualFabric::VirtualFabric(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

VirtualFabric::~VirtualFabric() {
  drain();
}

// Also what a failed open() has left: no port may outlive the rings under it.
VirtualFabric::Impl::~Impl() {
  for (std::uint32_t i = 0; i < ports.size(); ++i) {
    Port& port = ports[i];
    if (!port.id) continue;
    port.ethdev.reset();
    if (rte_eth_dev_is_valid_port(*port.id) != 0) rte_eth_dev_close(*port.id);
    rte_vdev_uninit(("net_ring_" + port_name(i)).c_str());
  }
}

void VirtualFabric::drain() {
  impl_->drain();
}
std::uint32_t VirtualFabric::hosts() const {
  return impl_->config.hosts;
}
std::uint32_t VirtualFabric::planes() const {
  return impl_->config.planes;
}
std::uint16_t VirtualFabric::port_id(fabric::HostId host, std::uint32_t plane) const {
  return impl_->ports[host * impl_->config.planes + plane].ethdev->id();
}
MacAddress VirtualFabric::mac(fabric::HostId host, std::uint32_t plane) const {
  return port_mac(host, plane);
}
const fabric::Fabric& VirtualFabric::fabric() const {
  return *impl_->fabric;
}
const PumpCounters& VirtualFabric::counters() const {
  return impl_->counters;
}
Time VirtualFabric::next_event() const {
  return impl_->fabric->next_event();
}

std::vector<std::string> VirtualFabric::describe() const {
  const VirtualConfig& c = impl_->config;
  const fabric::Topology& t = impl_->fabric->topology();
  std::vector<std::string> lines;
  lines.push_back(ethdev::text("virtual fabric ", c.name, ": ", c.hosts, " hosts, ", c.planes, " planes, ",
                               t.switches.size(), " switches, ", t.links.size(), " links, seed ", c.seed));
  if (!c.topology) {
    lines.push_back(ethdev::text("  ", c.paths, " paths a plane, ", c.path.delay.ns, " ns each way, ",
                                 c.path.rate_bps == 0 ? std::string("no speed limit")
                                                      : ethdev::text(c.path.rate_bps / 1'000'000, " Mb/s")));
  }
  lines.push_back(ethdev::text("  at most ", c.max_packets, " packets inside, rings of ", c.ring_size, " x ",
                               c.queues, " queues a port"));
  return lines;
}

}  // namespace mrc::virt
