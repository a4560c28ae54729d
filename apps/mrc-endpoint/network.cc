// SPDX-License-Identifier: BSD-3-Clause
#include "network.h"

#include <fmt/format.h>
#include <rte_ethdev.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <deque>
#include <optional>

#include "ethdev/eal.h"
#include "ethdev/port.h"
#include "ethdev/vdev.h"
#include "fabric_paths.h"
#include "path/ev_table.h"
#include "plane_devices.h"
#include "ring/ring_pair.h"
#include "virtual/virtual_fabric.h"

namespace mrc::endpoint {
namespace {

using config::EndpointConfig;
using config::Profile;

constexpr std::uint32_t kRxMbufsPerQueue = 2047;
constexpr std::uint16_t kDescriptors = 512;  // more would only hold payload that the cache has lost

nic::NicConfig base_nic_config(const EndpointConfig& c, bool yield) {
  nic::NicConfig n;
  n.workers = c.engine.workers;
  n.max_qps_per_worker = config::kMaxQps;
  n.max_pmtu = c.qp.attr.path_mtu;
  n.udp_port = c.net.udp_port;
  const std::uint16_t alternate =
      c.net.udp_port == wire::kUdpPortPrinted ? wire::kUdpPortRoce : wire::kUdpPortPrinted;  // C1
  n.accept_udp_ports = {c.net.udp_port, c.net.accept_alternate_port ? alternate : c.net.udp_port};
  n.dscp = {c.dscp.no_trim, c.dscp.trimmable,       c.dscp.trimmable_retx,
            c.dscp.trimmed, c.dscp.trimmed_lasthop, c.dscp.control};
  n.icrc = c.net.icrc == config::IcrcPolicy::kVerify ? nic::IcrcMode::kVerify : nic::IcrcMode::kIgnore;
  n.ev_order = c.ev.order;
  n.hop_limit = c.net.hop_limit;
  n.idle = c.engine.idle == config::IdlePolicy::kSleep   ? nic::IdlePolicy::kSleep
           : c.engine.idle == config::IdlePolicy::kYield ? nic::IdlePolicy::kYield
           : c.engine.idle == config::IdlePolicy::kSpin  ? nic::IdlePolicy::kSpin
           : yield                                       ? nic::IdlePolicy::kYield
                                                         : nic::IdlePolicy::kSpin;
  if (!c.capture.file.empty()) {
    // As many as 32 MB hold: a disk may be slow for some time.
    n.capture_ring = std::clamp<std::uint32_t>((32U << 20) / c.capture.snap_bytes, 1024, 16384);
    n.capture_snap_bytes = c.capture.snap_bytes;
  }
  return n;
}

/// What a path with a rate does.
std::string path_words(const config::FabricConfig& f) {
  std::string words = fmt::format("{} Gb/s, queue {} B", f.link_gbps, f.queue_bytes);
  if (f.ecn) words += fmt::format(", marks from {} to {} B", ecn_min_of(f), ecn_max_of(f));
  return words + (f.trim ? fmt::format(", trims to {} B", f.trim_bytes) : "");
}

}  // namespace

Result<std::vector<unsigned>> plan_cpus(const EndpointConfig& c, Ends ends,
                                        const std::vector<unsigned>& allowed) {
  std::vector<unsigned> cpus = allowed;
  if (!c.engine.lcores.empty()) {
    const auto list = ethdev::parse_cpu_list(c.engine.lcores);
    if (!list || list->empty()) {
      return Error{fmt::format("engine.lcores: '{}' is not a list of CPUs like 2,4-6", c.engine.lcores)};
    }
    for (const unsigned cpu : *list) {
      if (std::find(allowed.begin(), allowed.end(), cpu) == allowed.end()) {
        return Error{fmt::format("engine.lcores: CPU {} is not available; this process may use {}", cpu,
                                 ethdev::format_cpu_list(allowed))};
      }
    }
    cpus = *list;
  } else if (ends == Ends::kRun) {
    std::reverse(cpus.begin(), cpus.end());
  }
  std::vector<unsigned> of_worker;
  for (unsigned w = 0; w < c.engine.workers; ++w) of_worker.push_back(cpus[w % cpus.size()]);
  return of_worker;
}

struct Network::Impl {
  // In order of construction; destroyed from the last to the first.
  std::optional<ethdev::Eal> eal;
  std::vector<rte_mempool*> pools;
  std::deque<ethdev::Port> ports;
  std::unique_ptr<ring::RingPair> rings;
  std::unique_ptr<virt::VirtualFabric> fabric;

  Ends ends = Ends::kBoth;
  std::vector<EndpointConfig> configs;  // by end; qp.attr.path_mtu is what the planes carry
  Profile profile = Profile::kVirtual;
  bool yield = false;
  std::vector<nic::NicConfig> nics;
  std::vector<std::vector<unsigned>> cpus;
  std::vector<std::vector<std::string>> names;
  std::vector<std::string> lines;

  Result<void> plan();
  Result<void> start_eal();
  Result<void> choose_mtu(const std::vector<PlaneMtu>& planes);
  Result<void> probe_mtu();
  Result<void> open_in_process();
  Result<void> open_fabric(const EndpointConfig& c);
  Result<void> open_ports(const EndpointConfig& c);
  Result<ethdev::Port> open_port(const EndpointConfig& c, unsigned plane);
  nic::PlanePort plane_port(const EndpointConfig& c, unsigned plane, std::uint16_t id, MacAddress mac);
  void note(std::string line) { lines.push_back(std::move(line)); }

  ~Impl() {
    fabric.reset();
    rings.reset();
    ports.clear();
    for (rte_mempool* pool : pools) rte_mempool_free(pool);
  }
};

/// The path MTU of all ends here; pools and devices are sized by it.
Result<void> Network::Impl::choose_mtu(const std::vector<PlaneMtu>& planes) {
  const Result<std::uint16_t> mtu = choose_path_mtu(configs.front(), planes);
  if (!mtu) return mtu.error();
  for (EndpointConfig& c : configs) c.qp.attr.path_mtu = *mtu;
  for (nic::NicConfig& n : nics) n.max_pmtu = *mtu;
  return {};
}

/// Physical ports tell what they carry once EAL has started.
Result<void> Network::Impl::probe_mtu() {
  std::vector<PlaneMtu> planes;
  for (const config::PlaneConfig& p : configs.front().planes) {
    std::uint16_t id = 0;
    if (rte_eth_dev_get_port_by_name(p.device.c_str(), &id) != 0) continue;  // open_port says it
    const Result<ethdev::PortCaps> caps = ethdev::probe(id);
    if (!caps) return caps.error();
    planes.push_back({planes.size(), "port " + p.device, caps->max_mtu_bytes, ""});
  }
  return choose_mtu(planes);
}

Result<void> Network::Impl::plan() {
  const Result<std::vector<PlaneMtu>> known = kernel_mtus(configs.front());
  if (!known) return known.error();
  if (Result<void> r = choose_mtu(*known); !r) return r;
  const std::vector<unsigned> allowed = ethdev::this_thread_cpus();
  std::size_t pollers = 0;
  for (const EndpointConfig& c : configs) {
    Result<std::vector<unsigned>> r = plan_cpus(c, ends, allowed);
    if (!r) return r.error();
    cpus.push_back(*std::move(r));
    pollers += c.engine.workers;
  }
  const std::uint32_t workers = configs.front().engine.workers;
  // One worker an end is polled by the main thread; others have threads beside it. The peer of a shared
  // memory link polls on this machine too.
  const std::size_t peers = profile == Profile::kVhost || profile == Profile::kMemif ? workers : 0;
  const std::size_t threads = workers == 1 ? 1 : pollers + 1;
  yield = threads + peers > allowed.size() || is_through_kernel(profile);
  for (const EndpointConfig& c : configs) {
    nic::NicConfig& n = nics.emplace_back(base_nic_config(c, yield));
    // Drivers keep sent mbufs in their rings until the descriptors are needed again (virtio: all of them). A
    // pool that fits into the rings could end up there whole, and nothing could be sent any more.
    const auto held = static_cast<std::uint32_t>(is_in_process(profile) ? 0 : c.planes.size() * kDescriptors);
    n.payload_mbufs += held;
    n.control_mbufs += held;
  }
  return {};
}

Result<void> Network::Impl::start_eal() {
  const EndpointConfig& c = configs.front();
  ethdev::EalConfig e;
  e.program = "mrc-endpoint";
  for (const auto& of_end : cpus) e.cpus.insert(e.cpus.end(), of_end.begin(), of_end.end());
  std::uint64_t bytes = 96ULL << 20;
  for (const nic::NicConfig& n : nics) {
    bytes += n.workers * (ethdev::pool_bytes(n.payload_mbufs, static_cast<std::uint16_t>(n.max_pmtu + 512)) +
                          ethdev::pool_bytes(n.control_mbufs, 512));
  }
  const std::uint32_t rx_mbufs = profile == Profile::kAfXdp ? ethdev::kAfXdpMinPoolMbufs : kRxMbufsPerQueue;
  if (!is_in_process(profile)) {
    bytes += c.planes.size() * c.engine.workers *
             ethdev::pool_bytes(rx_mbufs,
                                static_cast<std::uint16_t>(needed_mtu_bytes(c, c.qp.attr.path_mtu) + 256));
  }
  if (profile == Profile::kAfPacket ||
      profile == Profile::kMemif) {  // frames need data rooms of the driver's size
    bytes += c.planes.size() * c.engine.workers * kRxMbufsPerQueue * 16384ULL;
  }
  const auto needed_mib = static_cast<std::uint32_t>(std::max<std::uint64_t>(256, (bytes >> 20) + 1));
  e.memory_mib = c.eal.memory_mb != 0 ? c.eal.memory_mb : needed_mib;
  if (e.memory_mib < needed_mib) {
    return Error{fmt::format("eal.memory_mb: {} MB; {} planes, {} workers and MTU {} need {} MB",
                             e.memory_mib, c.planes.size(), c.engine.workers, c.qp.attr.path_mtu,
                             needed_mib)};
  }
  e.hugepages = c.eal.hugepages == config::HugepageUse::kNever    ? ethdev::Hugepages::kNever
                : c.eal.hugepages == config::HugepageUse::kAlways ? ethdev::Hugepages::kRequire
                                                                  : ethdev::Hugepages::kAuto;
  e.file_prefix = c.eal.file_prefix;
  e.extra_args = c.eal.args;
  for (unsigned i = 0; i < c.planes.size(); ++i) {
    if (profile == Profile::kEthdev) {
      e.pci_allow.push_back(c.planes[i].device);
      continue;
    }
    Result<std::string> vdev = vdev_of(c, ends, i);
    if (!vdev) return Error{fmt::format("plane {}: {}", i, vdev.error().message)};
    if (vdev->empty()) continue;
    if (Result<void> r = ethdev::prepare_vdev(*vdev); !r)
      return Error{fmt::format("plane {}: {}", i, r.error().message)};
    e.vdevs.push_back(*vdev);
  }
  Result<ethdev::Eal> started = ethdev::Eal::init(e);
  if (!started) return started.error();
  eal.emplace(*std::move(started));
  note("EAL: " + eal->command_line());
  for (const std::string& line : eal->plan().notes) note(line);
  return {};
}

nic::PlanePort Network::Impl::plane_port(const EndpointConfig& c, unsigned plane, std::uint16_t id,
                                         MacAddress mac) {
  nic::PlanePort p;
  p.dpdk_port = id;
  p.mac = mac;
  if (const auto configured = MacAddress::parse(c.planes[plane].mac)) p.mac = *configured;
  p.ips = {*IpAddress::parse(c.planes[plane].ip)};
  const PlaneTags tags = tags_of(c.planes[plane]);
  p.vlans = tags.vlans;
  p.vlan_tags = tags.count;
  p.rx_queues = p.tx_queues = static_cast<std::uint16_t>(c.engine.workers);
  return p;
}

Result<void> Network::Impl::open_fabric(const EndpointConfig& c) {
  virt::VirtualConfig v;
  v.planes = static_cast<std::uint32_t>(c.planes.size());
  Result<fabric::Topology> topology = virtual_topology(c);
  if (!topology) return topology.error();
  v.topology = *std::move(topology);
  v.queues = static_cast<std::uint16_t>(c.engine.workers);
  v.seed = c.seed;
  v.decode.udp_ports = {c.net.udp_port, nics.front().accept_udp_ports[1]};
  v.decode.dscp = wire::DscpMap(nics.front().dscp);
  Result<std::unique_ptr<virt::VirtualFabric>> f = virt::VirtualFabric::create(v);
  if (!f) return f.error();
  fabric = *std::move(f);
  for (std::uint32_t plane = 0; c.fabric.loss > 0 && plane < v.planes; ++plane) {
    if (!fabric->set_plane_loss(plane, c.fabric.loss)) return Error{"fabric.loss: cannot be set"};
  }
  for (const std::string& line : fabric->describe()) note(line);
  const config::FabricConfig& paths = c.fabric;
  note(fmt::format("  {} paths a plane, {} ns each way, {}", paths.paths_per_plane, paths.delay.ns,
                   paths.link_gbps == 0 ? "no speed limit" : path_words(paths)));
  return {};
}

Result<void> Network::Impl::open_in_process() {
  const EndpointConfig& c = configs.front();
  if (profile == Profile::kVirtual) {
    if (Result<void> r = open_fabric(c); !r) return r;
  } else {
    ring::RingPairConfig r;
    r.planes = static_cast<unsigned>(c.planes.size());
    r.rx_queues = static_cast<std::uint16_t>(c.engine.workers);
    Result<std::unique_ptr<ring::RingPair>> pair = ring::RingPair::create(r);
    if (!pair) return pair.error();
    rings = *std::move(pair);
  }
  for (std::size_t end = 0; end < configs.size(); ++end) {
    for (unsigned plane = 0; plane < c.planes.size(); ++plane) {
      const auto host = static_cast<unsigned>(end);
      const std::uint16_t id = fabric != nullptr ? fabric->port_id(host, plane) : rings->port(host, plane);
      const MacAddress mac = fabric != nullptr ? fabric->mac(host, plane) : MacAddress{};
      nics[end].planes.push_back(plane_port(configs[end], plane, id, mac));
      if (fabric != nullptr) nics[end].planes.back().mac = mac;  // the fabric forwards by its own addresses
      names[end].push_back(fmt::format("{}{}.{}", name_of(profile), end, plane));
    }
  }
  return {};
}

Result<ethdev::Port> Network::Impl::open_port(const EndpointConfig& c, unsigned plane) {
  std::string name = c.planes[plane].device;
  if (profile != Profile::kEthdev) {
    Result<std::string> vdev = vdev_of(c, ends, plane);
    if (!vdev) return vdev.error();
    name = vdev->substr(0, vdev->find(','));
  }
  std::uint16_t id = 0;
  if (rte_eth_dev_get_port_by_name(name.c_str(), &id) != 0) {
    return Error{fmt::format("plane {}: DPDK has no port '{}'; tools/doctor lists the ports of this machine",
                             plane, name)};
  }
  Result<ethdev::PortCaps> caps = ethdev::probe(id);
  if (!caps) return caps.error();
  const std::uint32_t mtu = needed_mtu_bytes(c, c.qp.attr.path_mtu);
  Result<std::uint16_t> room = ethdev::rx_data_room(*caps, mtu);
  if (!room)
    return Error{fmt::format("plane {} (qp.mtu {}): {}", plane, c.qp.attr.path_mtu, room.error().message)};
  ethdev::PortConfig p;
  p.rx_queues = p.tx_queues = static_cast<std::uint16_t>(c.engine.workers);
  p.rx_descs = p.tx_descs = kDescriptors;
  p.mtu_bytes = mtu;
  const std::uint32_t mbufs = std::max(kRxMbufsPerQueue, caps->min_rx_mbufs);
  const auto make = caps->packed_rx_pool ? ethdev::make_packed_pool : ethdev::make_pool;
  for (std::uint32_t q = 0; q < c.engine.workers; ++q) {
    Result<rte_mempool*> pool = make(fmt::format("rx-{}-{}", plane, q), mbufs, *room, 256, caps->socket);
    if (!pool) return pool.error();
    pools.push_back(*pool);
    p.rx_pools.push_back(*pool);
  }
  note(fmt::format("plane {}: {}", plane, caps->describe()));
  return ethdev::Port::open(id, p);
}

Result<void> Network::Impl::open_ports(const EndpointConfig& c) {
  for (unsigned plane = 0; plane < c.planes.size(); ++plane) {
    Result<ethdev::Port> opened = open_port(c, plane);
    if (!opened) return opened.error();
    ethdev::Port& port = ports.emplace_back(*std::move(opened));
    if (Result<void> r = port.start(); !r) return r;
    for (const std::string& line : port.notes()) note(line);
    MacAddress mac;
    std::copy(std::begin(port.caps().mac), std::end(port.caps().mac), mac.bytes.begin());
    nic::PlanePort p = plane_port(c, plane, port.id(), mac);
    p.rx_queues = port.rx_queues();
    p.rx_pools.assign(pools.end() - c.engine.workers, pools.end());  // open_port made one a queue
    p.tx_queues = port.tx_queues();
    p.max_frame_bytes = port.caps().max_frame_bytes;
    if (port.burst_port().guarded) {
      p.rx_burst = ethdev::guarded_rx_burst;
      p.tx_burst = ethdev::guarded_tx_burst;
    }
    p.link_up = port.link_ask();
    p.rx_missed = port.missed_ask();
    nics[0].planes.push_back(std::move(p));
    names[0].push_back(port.caps().name);
  }
  return {};
}

Network::Network(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Network::~Network() = default;

Result<std::unique_ptr<Network>> Network::create(Ends ends, const std::vector<EndpointConfig>& configs) {
  const EndpointConfig& c = configs.front();
  assert((ends == Ends::kBoth) == is_in_process(c.profile));  // options.cc has seen to it
  auto impl = std::make_unique<Impl>();
  impl->ends = ends;
  impl->profile = c.profile;
  impl->names.resize(configs.size());
  impl->configs = configs;
  if (Result<void> r = impl->plan(); !r) return r.error();
  if (Result<void> r = impl->start_eal(); !r) return r.error();
  if (c.profile == Profile::kEthdev) {
    if (Result<void> r = impl->probe_mtu(); !r) return r.error();
  }
  Result<void> r =
      is_in_process(c.profile) ? impl->open_in_process() : impl->open_ports(impl->configs.front());
  if (!r) return r.error();
  return std::unique_ptr<Network>(new Network(std::move(impl)));
}

const nic::NicConfig& Network::nic_config(std::size_t end) const {
  return impl_->nics[end];
}
std::uint16_t Network::path_mtu() const {
  return impl_->configs.front().qp.attr.path_mtu;
}
const fabric::Fabric* Network::fabric() const {
  return impl_->fabric != nullptr ? &impl_->fabric->fabric() : nullptr;
}

std::size_t Network::pump(Time now) {
  return impl_->fabric != nullptr ? impl_->fabric->poll(now) : 0;
}
void Network::tend() {
  for (ethdev::Port& port : impl_->ports) {
    if (port.burst_port().guarded) static_cast<void>(port.link());
  }
}
std::vector<std::string> Network::port_names(std::size_t end) const {
  return impl_->names[end];
}
unsigned Network::cpu_of_worker(std::size_t end, unsigned worker) const {
  return impl_->cpus[end][worker];
}
bool Network::should_yield() const {
  return impl_->nics.front().idle == nic::IdlePolicy::kYield;
}
std::vector<std::string> Network::describe() const {
  return impl_->lines;
}
void Network::drain() {
  if (impl_->fabric != nullptr) impl_->fabric->drain();
}

}  // namespace mrc::endpoint
