// SPDX-License-Identifier: BSD-3-Clause
// Construction: the configuration against the ports, all memory, the map of queues and workers.
#include "nic/nic.h"

#include <rte_errno.h>
#include <rte_mempool.h>

#include <algorithm>
#include <atomic>
#include <string>

#include "nic/core.h"

namespace mrc::nic {
namespace {

constexpr unsigned kMempoolCache = 256;
constexpr std::uint32_t kControlRoom = wire::kPayloadOffset + 128;  // headers end at kPayloadOffset

Result<void> check_port(std::size_t p, const PlanePort& plane, const NicConfig& c) {
  const std::string who = "plane " + std::to_string(p) + " (port " + std::to_string(plane.dpdk_port) + ")";
  if (rte_eth_dev_is_valid_port(plane.dpdk_port) == 0) {
    return Error{who + ": no such DPDK port; " + std::to_string(rte_eth_dev_count_avail()) + " exist"};
  }
  rte_eth_dev_info info{};
  if (rte_eth_dev_info_get(plane.dpdk_port, &info) != 0)
    return Error{who + ": the driver gives no device info"};
  if (plane.rx_queues == 0 || plane.rx_queues > info.nb_rx_queues || plane.tx_queues == 0 ||
      plane.tx_queues > info.nb_tx_queues) {
    return Error{who + ": " + std::to_string(plane.rx_queues) + " RX and " + std::to_string(plane.tx_queues) +
                 " TX queues named, " + std::to_string(info.nb_rx_queues) + " and " +
                 std::to_string(info.nb_tx_queues) + " are set up; configure the port first"};
  }
  // Nobody would look into the others, and what the port puts there would be lost without a trace.
  if (plane.rx_queues != info.nb_rx_queues || plane.rx_queues > c.workers) {
    return Error{
        who + ": " + std::to_string(info.nb_rx_queues) + " RX queues are set up, " +
        std::to_string(plane.rx_queues) + " named, for " + std::to_string(c.workers) +
        " workers that poll one each; set up at most as many as there are workers, and name them all"};
  }
  rte_eth_txq_info tx{};
  if (rte_eth_tx_queue_info_get(plane.dpdk_port, 0, &tx) == 0 &&
      (tx.conf.offloads & RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE) != 0) {
    return Error{
        who +
        ": set up with the offload MBUF_FAST_FREE, but mbufs of several pools leave through one queue "
        "and would all go back to the first's; set the port up without it"};
  }
  if (plane.ips.empty() || (plane.ips.size() != 1 && plane.ips.size() < c.workers)) {
    return Error{who + ": " + std::to_string(plane.ips.size()) + " addresses for " +
                 std::to_string(c.workers) + " workers; give one, or one a worker"};
  }
  for (const IpAddress& ip : plane.ips) {
    if (ip.is_zero()) return Error{who + ": address is all zero; give the plane an IPv4 or IPv6 address"};
  }
  return {};
}

Error out_of_range(const char* what, std::uint64_t value, std::uint64_t low, std::uint64_t high) {
  return Error{std::string(what) + ": " + std::to_string(value) + ", allowed " + std::to_string(low) +
               " to " + std::to_string(high)};
}

Result<void> check_limits(const NicConfig& c) {
  struct Range {
    const char* what;
    std::uint64_t value, low, high;
  };
  const Range ranges[] = {
      {"planes", c.planes.size(), 1, kMaxPlanes},
      {"workers", c.workers, 1, kMaxWorkers},
      {"max_qps_per_worker", c.max_qps_per_worker, 1, kMaxQpsPerWorker},
      {"max_regions", c.max_regions, 1, kMaxRegions},
      {"tx_budget_pkts", c.tx_budget_pkts, 1, kBurst},
      {"payload_mbufs", c.payload_mbufs, 2 * kBurst, 1U << 20},
      {"control_mbufs", c.control_mbufs, 2 * kBurst, 1U << 20},
      {"handover_ring", c.handover_ring, kBurst, 1U << 16},
      {"capture_snap_bytes", c.capture_snap_bytes, 1, kMaxCaptureBytes},
      {"capture_ring", c.capture_ring, 0, 1U << 16},
  };
  for (const Range& r : ranges) {
    if (r.value < r.low || r.value > r.high) return out_of_range(r.what, r.value, r.low, r.high);
  }
  if (!is_valid_pmtu(c.max_pmtu)) {
    return Error{"max_pmtu: " + std::to_string(c.max_pmtu) +
                 " bytes; a path MTU is 256, 512, 1024, 2048 or 4096"};
  }
  if (!wire::DscpMap::is_valid(c.dscp)) {
    return Error{
        "dscp: a number is over 63, or one of the trimmed classes shares its number; make them distinct"};
  }
  if (c.poll_gap_min.ns <= 0 || c.link_poll_interval.ns <= 0) {
    return Error{"poll_gap_min and link_poll_interval must be above 0 ns"};
  }
  return {};
}

Result<rte_mempool*> make_pool(const NicCore& nic, const char* kind, unsigned worker, std::uint32_t count,
                               std::uint32_t room_bytes) {
  const std::string name = "nic" + std::to_string(nic.id) + "_" + kind + std::to_string(worker);
  const unsigned cache = std::min(kMempoolCache, count / 2);
  const int socket = rte_eth_dev_socket_id(nic.config.planes[0].dpdk_port);  // SOCKET_ID_ANY when not known
  rte_mempool* pool =
      rte_pktmbuf_pool_create(name.c_str(), count, cache, 0, static_cast<std::uint16_t>(room_bytes), socket);
  if (pool == nullptr) {
    return Error{"mbuf pool " + name + ": " + std::to_string(count) + " x " + std::to_string(room_bytes) +
                 " bytes: " + rte_strerror(rte_errno) +
                 "; give EAL more memory (-m MEGABYTES) or lower the count"};
  }
  return pool;
}

Result<void> make_pools(NicCore& nic) {
  const std::uint32_t payload_room = wire::kPayloadOffset + nic.config.max_pmtu + 64;
  for (auto& w : nic.workers) {
    auto payload = make_pool(nic, "data", w->index, nic.config.payload_mbufs, payload_room);
    if (!payload) return payload.error();
    w->payload_pool = *payload;
    auto control = make_pool(nic, "ctl", w->index, nic.config.control_mbufs, kControlRoom);
    if (!control) return control.error();
    w->control_pool = *control;
  }
  return {};
}

/// Worker w owns queue w where there is one; queues that are fewer than workers are spread over them.
void map_queues(WorkerCore& w) {
  bool any_rx = false;
  const unsigned workers = w.nic.config.workers;
  for (std::size_t p = 0; p < w.ports.size(); ++p) {
    const PlanePort& plane = w.nic.config.planes[p];
    WorkerPort& port = w.ports[p];
    port.dpdk_port = plane.dpdk_port;
    port.rx_burst = plane.rx_burst;
    port.tx_burst = plane.tx_burst;
    // A shared queue q belongs to worker (p + q) % workers, so that single-queue ports are spread too.
    for (std::uint16_t q = 0; q < plane.rx_queues && q < workers; ++q) {
      const unsigned owner = plane.rx_queues >= workers ? q : static_cast<unsigned>(p + q) % workers;
      if (owner != w.index) continue;
      port.polls_rx = any_rx = true;
      port.rx_queue = q;
      rte_eth_rxq_info queue{};
      port.rx_pool = q < plane.rx_pools.size() ? plane.rx_pools[q] : nullptr;
      if (rte_eth_rx_queue_info_get(plane.dpdk_port, q, &queue) == 0) {
        if (queue.nb_desc != 0) port.rx_depth = queue.nb_desc;
        if (port.rx_pool == nullptr) port.rx_pool = queue.mp;
      }
    }
    port.asks_link = w.index == (plane.rx_queues >= workers ? 0 : p % workers);
    const bool own_tx = plane.tx_queues >= workers;
    port.tx_owner = own_tx ? w.index : static_cast<unsigned>(p) % workers;
    port.owns_tx = port.tx_owner == w.index;
    port.tx_queue = static_cast<std::uint16_t>(own_tx ? w.index : 0);
  }
  if (!any_rx) w.drained_ns = Time::never().ns;  // nobody waits for queues that it does not have
}

void make_rings(NicCore& nic) {
  const std::size_t n = nic.workers.size();
  for (auto& w : nic.workers) {
    w->rx_in.resize(n);
    w->rx_in_seen.resize(n);
    for (std::size_t from = 0; from < n; ++from) {
      if (from == w->index) continue;
      w->rx_in[from] = std::make_unique<HandOverRing>(nic.config.handover_ring);
    }
    for (std::size_t p = 0; p < w->ports.size(); ++p) {
      WorkerPort& port = w->ports[p];
      if (!port.owns_tx || n == 1 || nic.config.planes[p].tx_queues >= n) continue;
      port.tx_in.resize(n);
      for (std::size_t from = 0; from < n; ++from) {
        if (from != w->index) port.tx_in[from] = std::make_unique<HandOverRing>(nic.config.handover_ring);
      }
    }
  }
}

wire::DecodeOptions decode_options(const NicConfig& c) {
  wire::DecodeOptions o;
  o.dscp = wire::DscpMap(c.dscp);
  o.order = c.ev_order;
  o.udp_ports = c.accept_udp_ports;
  o.pkey = c.pkey;
  return o;
}

NicConfig with_macs(NicConfig c) {
  for (PlanePort& plane : c.planes) {
    rte_ether_addr mac{};
    if (!plane.mac.is_zero() || rte_eth_macaddr_get(plane.dpdk_port, &mac) != 0) continue;
    std::copy_n(std::begin(mac.addr_bytes), plane.mac.bytes.size(), plane.mac.bytes.begin());
  }
  return c;
}

/// Posted requests, of all QPs, that may still be sent or sent again from these bytes.
std::size_t readers_of(NicCore& nic, const MemoryTable::Extent& extent) {
  std::size_t n = 0;
  for (auto& w : nic.workers) {
    on_worker(*w, [&] {
      for (const auto& home : w->slots) {
        if (home != nullptr) n += home->qp.reading(extent.base, extent.bytes);
      }
    });
  }
  return n;
}

}  // namespace

WorkerCore::WorkerCore(NicCore& n, unsigned i, Time start)
    : nic(n),
      index(i),
      ports(n.config.planes.size()),
      slots(n.config.max_qps_per_worker + 1),
      generations(n.config.max_qps_per_worker + 1),
      wheel(n.config.max_qps_per_worker + 1, start),
      ready(n.config.max_qps_per_worker + 1),
      control(n.config.max_qps_per_worker + 1),
      linear(std::make_unique<std::uint8_t[]>(kLinearBytes)),
      batch(std::make_unique<Arrival[]>(kBurst)) {
  dirty.reserve(slots.size());
  completion.reserve(slots.size());
  if (n.config.capture_ring != 0) {
    capture = std::make_unique<CaptureRing>(n.config.capture_ring, n.config.capture_snap_bytes);
  }
}

NicCore::NicCore(const NicConfig& c)
    : config(with_macs(c)), decode(decode_options(c)), dscp(c.dscp), memory(c.max_regions, c.seed) {
  static std::atomic<std::uint32_t> next_id{0};
  id = next_id.fetch_add(1, std::memory_order_relaxed);
  for (unsigned i = 0; i < c.workers; ++i) {
    // The wheel starts at 0: poll_at may run in virtual time, and empty slots cost nothing to skip.
    workers.push_back(std::make_unique<WorkerCore>(*this, i, Time{0}));
    faces.emplace_back(*workers.back());
  }
  for (auto& w : workers) map_queues(*w);
  make_rings(*this);
}

NicCore::~NicCore() {
  for (auto& w : workers) {
    for (rte_mempool* pool : {w->payload_pool, w->control_pool}) {
      // A peer in this process may still hold some of our mbufs and free them later: then the pool must live.
      if (pool != nullptr && rte_mempool_in_use_count(pool) == 0) rte_mempool_free(pool);
    }
  }
}

Nic::Nic(std::unique_ptr<NicCore> core) : core_(std::move(core)) {}

Nic::~Nic() {
  drain();
}

Result<std::unique_ptr<Nic>> Nic::create(const NicConfig& config) {
  if (auto r = check_limits(config); !r) return r.error();
  for (std::size_t p = 0; p < config.planes.size(); ++p) {
    if (auto r = check_port(p, config.planes[p], config); !r) return r.error();
  }
  auto core = std::make_unique<NicCore>(config);
  if (auto r = make_pools(*core); !r) return r.error();
  ask_all_links(*core);
  return std::unique_ptr<Nic>(new Nic(std::move(core)));
}

const NicConfig& Nic::config() const {
  return core_->config;
}
unsigned Nic::workers() const {
  return static_cast<unsigned>(core_->workers.size());
}
Worker& Nic::worker(unsigned index) {
  return core_->faces.at(index);
}

Result<MemoryKeys> Nic::register_memory(void* address, std::size_t bytes, std::uint32_t access) {
  return core_->memory.add(address, bytes, access);
}

// Asked twice. First with the key open, because a refusal must not cost a peer its access. Then with the key
// closed: no worker holds a decision made with it between two iterations, and no post can come in any more.
Result<void> Nic::deregister_memory(const MemoryKeys& keys) {
  const auto extent = core_->memory.extent(keys.rkey);
  if (!extent) return Error{"memory region: key " + std::to_string(keys.rkey) + " is not registered"};
  std::size_t readers = readers_of(*core_, *extent);
  if (readers == 0) {
    core_->memory.close(keys.rkey);
    readers = readers_of(*core_, *extent);
    if (readers == 0) {
      core_->memory.release(keys.rkey);
      return {};
    }
    core_->memory.reopen(keys.rkey);
  }
  return Error{"memory region: " + std::to_string(readers) +
               " posted requests still read from it; wait for their completions, or move their QPs to ERROR"};
}

PeerPlane Nic::address(unsigned worker, unsigned plane) const {
  const PlanePort& p = core_->config.planes.at(plane);
  return {p.ips[p.ips.size() == 1 ? 0 : worker], p.mac};
}

}  // namespace mrc::nic
