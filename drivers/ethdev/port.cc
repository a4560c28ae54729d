// SPDX-License-Identifier: BSD-3-Clause
#include "ethdev/port.h"

#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_log.h>
#include <rte_mbuf.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <thread>
#include <tuple>

#include "ethdev/capture.h"
#include "ethdev/interrupt_thread.h"
#include "ethdev/kernel_iface.h"
#include "ethdev/text.h"
#include "ethdev/vdev.h"
#include "tsan/order.h"

namespace mrc::ethdev {
namespace {

/// The driver's words as the tail of an error.
std::string said(const std::string& output) {
  std::string line = output.substr(0, output.find('\n'));
  return line.empty() ? "" : " (driver says: " + line + ")";
}

/// A memif client whose server does not listen (yet, or any more).
bool is_absent_server(const PortCaps& caps) {
  return !caps.memif_client_socket.empty() && !check_client_socket(caps.memif_client_socket);
}

const char* link_hint(Driver driver) {
  switch (driver) {
    case Driver::kMemif:
    case Driver::kVhost:
    case Driver::kVirtioUser:
      return "is the other process running, with the same socket path?";
    case Driver::kAfPacket:
    case Driver::kAfXdp:
    case Driver::kTap:
      return "bring both interfaces up: ip link set dev IFACE up";
    default:
      return "check the cable and the port at the other end";
  }
}

}  // namespace

std::string Port::who() const {
  return text("port ", caps_.port_id, " ", caps_.name);
}

Result<Port> Port::open(const std::string& name, const PortConfig& config) {
  std::uint16_t id = 0;
  if (rte_eth_dev_get_port_by_name(name.c_str(), &id) != 0) {
    std::vector<std::string> names;
    for (const PortCaps& caps : probe_all()) names.push_back(caps.name);
    return error("port '", name,
                 "': does not exist; there are: ", names.empty() ? "none" : join(names, ", "));
  }
  return open(id, config);
}

Result<Port> Port::open(std::uint16_t port_id, const PortConfig& config) {
  auto caps = probe(port_id);
  if (!caps) return caps.error();
  Port port;
  port.caps_ = *std::move(caps);
  if (auto ok = port.configure(config); !ok) return ok.error();
  return port;
}

void Port::choose_queues(const PortConfig& config) {
  const auto clamp = [&](std::uint16_t wanted, std::uint16_t limit, const char* what) {
    if (wanted > limit)
      notes_.push_back(
          text(who(), ": ", wanted, " ", what, " queues wanted, it has ", limit, ": using those"));
    return std::min(wanted, limit);
  };
  rx_queues_ = clamp(config.rx_queues, caps_.max_rx_queues, "rx");
  tx_queues_ = clamp(config.tx_queues, caps_.max_tx_queues, "tx");
}

void Port::choose_offloads(const PortConfig& config) {
  rx_offloads_ = config.rx_offloads & caps_.rx_offloads;
  // Never: mbufs of several pools leave through one queue, and the driver would return all to the first's.
  tx_offloads_ = config.tx_offloads & caps_.tx_offloads & ~RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
  rss_types_ = rx_queues_ > 1 ? config.rss_types & caps_.rss_types : 0;
  if (rx_offloads_ != config.rx_offloads || tx_offloads_ != config.tx_offloads)
    notes_.push_back(text(who(), ": offloads the port lacks are done in software (rx 0x", std::hex,
                          config.rx_offloads & ~caps_.rx_offloads, ", tx 0x",
                          config.tx_offloads & ~caps_.tx_offloads, ")"));
}

Result<void> Port::check_kernel_mtu(std::uint32_t mtu_bytes) {
  if (caps_.kernel_iface.empty() || caps_.driver == Driver::kTap) return {};
  const auto mtu = kernel_mtu_bytes(caps_.kernel_iface);
  if (!mtu) return error(who(), ": ", mtu.error().message);
  if (*mtu < mtu_bytes)
    return error(who(), ": MTU ", mtu_bytes, " is wanted, interface ", caps_.kernel_iface, " has ", *mtu,
                 "; ip link set dev ", caps_.kernel_iface, " mtu ", mtu_bytes);
  // AF_XDP attaches only where a whole frame fits one chunk.
  if (caps_.driver == Driver::kAfXdp && *mtu > kAfXdpMaxKernelMtuBytes)
    return error(who(), ": interface ", caps_.kernel_iface, " has MTU ", *mtu, ", AF_XDP takes at most ",
                 kAfXdpMaxKernelMtuBytes, "; ip link set dev ", caps_.kernel_iface, " mtu ",
                 kAfXdpMaxKernelMtuBytes);
  return {};
}

Result<void> Port::configure(const PortConfig& config) {
  if (config.rx_queues == 0 && config.tx_queues == 0) return error(who(), ": at least one queue is needed");
  if (config.rx_queues > 0 && config.rx_pools.empty()) return error(who(), ": RX queues need a mempool");
  if (auto room = rx_data_room(caps_, config.mtu_bytes); !room) return room.error();
  if (auto ok = check_kernel_mtu(config.mtu_bytes); !ok) return ok;
  choose_queues(config);
  choose_offloads(config);

  rte_eth_conf conf{};
  conf.rxmode.offloads = rx_offloads_;
  conf.txmode.offloads = tx_offloads_;
  if (caps_.mtu_rule == MtuRule::kConfigure) conf.rxmode.mtu = config.mtu_bytes;
  if (rss_types_ != 0) {
    conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
    conf.rx_adv_conf.rss_conf.rss_hf = rss_types_;
  }
  OutputCapture capture;
  const int rc = rte_eth_dev_configure(caps_.port_id, rx_queues_, tx_queues_, &conf);
  if (rc != 0) {
    const std::string output = capture.stop();
    return error(who(), ": configuration refused: ", rte_strerror(-rc), said(output));
  }
  open_ = true;
  promiscuous_ = config.promiscuous;
  if (auto ok = setup_queues(config); !ok) {
    const std::string output = capture.stop();
    return error(ok.error().message, said(output));
  }
  tsan::watch_port(caps_.port_id, rx_queues_, tx_queues_);
  return {};
}

Result<void> Port::setup_queues(const PortConfig& config) {
  std::uint16_t rx_descs = std::max(config.rx_descs, caps_.min_rx_descs);
  std::uint16_t tx_descs = config.tx_descs;
  if (const int rc = rte_eth_dev_adjust_nb_rx_tx_desc(caps_.port_id, &rx_descs, &tx_descs); rc != 0)
    return error(who(), ": descriptors ", config.rx_descs, "/", config.tx_descs,
                 " refused: ", rte_strerror(-rc));
  if (rx_descs != config.rx_descs || tx_descs != config.tx_descs)
    notes_.push_back(text(who(), ": ", rx_descs, " rx and ", tx_descs, " tx descriptors a queue (wanted ",
                          config.rx_descs, " and ", config.tx_descs, ")"));
  const auto socket = static_cast<unsigned>(caps_.socket);  // SOCKET_ID_ANY is -1
  for (std::uint16_t q = 0; q < rx_queues_; ++q) {
    rte_mempool* pool = config.rx_pools[std::min<std::size_t>(q, config.rx_pools.size() - 1)];
    const std::uint32_t room = rte_pktmbuf_data_room_size(pool);
    const auto needed = rx_data_room(caps_, config.mtu_bytes);
    if (!needed) return needed.error();
    if (room < *needed || (caps_.max_rx_room_bytes != 0 && room > caps_.max_rx_room_bytes))
      return error(who(), ": mbuf data room ", room, " is unfit for MTU ", config.mtu_bytes, ", ", *needed,
                   "..", caps_.max_rx_room_bytes == 0 ? UINT16_MAX : caps_.max_rx_room_bytes, " is needed");
    if (caps_.packed_rx_pool && (pool->flags & RTE_MEMPOOL_F_NO_IOVA_CONTIG) == 0)
      return error(who(), ": the mbufs of rx queue ", q, " may have gaps between them, its ",
                   driver_label(caps_.driver), " driver needs a pool of make_packed_pool()");
    if (pool->size < caps_.min_rx_mbufs)
      return error(who(), ": a pool of ", pool->size, " mbufs for rx queue ", q, ", its ",
                   driver_label(caps_.driver), " driver needs ", caps_.min_rx_mbufs);
    if (const int rc = rte_eth_rx_queue_setup(caps_.port_id, q, rx_descs, socket, nullptr, pool); rc != 0)
      return error(who(), ": rx queue ", q, " refused: ", rte_strerror(-rc));
  }
  for (std::uint16_t q = 0; q < tx_queues_; ++q) {
    if (const int rc = rte_eth_tx_queue_setup(caps_.port_id, q, tx_descs, socket, nullptr); rc != 0)
      return error(who(), ": tx queue ", q, " refused: ", rte_strerror(-rc));
  }
  return {};
}

Result<void> Port::start() {
  if (started_) return {};
  if (caps_.needs_guard) install_burst_guard();
  if (asks_kernel()) {
    if (auto ok = watch_kernel_link(caps_.port_id, caps_.kernel_iface); !ok) return ok;
  }
  // A memif client refuses to start without its server; link() starts it when the server is there.
  if (!is_absent_server(caps_)) {
    if (auto ok = start_driver(); !ok) return ok;
  }
  if (caps_.driver == Driver::kAfPacket) discard_strangers();
  started_ = true;
  // From here on their logs tell what link() tells, several times over.
  if (caps_.driver == Driver::kVirtioUser) rte_log_set_level_pattern("pmd.net.virtio*", RTE_LOG_CRIT);
  if (caps_.driver == Driver::kMemif) rte_log_set_level_pattern("pmd.net.memif*", RTE_LOG_CRIT);
  if (promiscuous_) {
    const int rc = rte_eth_promiscuous_enable(caps_.port_id);
    // Drivers without filters do not know the call, and need none.
    if (rc != 0 && rc != -ENOTSUP)
      notes_.push_back(text(who(), ": promiscuous mode refused: ", rte_strerror(-rc)));
  }
  return {};
}

Result<void> Port::start_driver() {
  last_attempt_ = std::chrono::steady_clock::now();
  was_up_ = false;
  // Later starts, of a memif client, happen while other threads print: their lines must not be caught.
  std::optional<OutputCapture> capture;
  if (!started_) capture.emplace();
  int rc = 0;
  if (auto ok = in_driver_context([&] { rc = rte_eth_dev_start(caps_.port_id); }); !ok) return ok;
  const std::string output = capture ? capture->stop() : "";
  if (rc != 0) return error(who(), ": start refused: ", rte_strerror(-rc), said(output));
  running_ = true;
  if (caps_.needs_guard) open_gate(caps_.port_id);
  return {};
}

/// The driver's sockets hear every interface of the namespace until they are bound to theirs. What lies in
/// the rings now may be anybody's, of another plane too; nobody has been told of this port yet, so nothing of
/// value is in it.
void Port::discard_strangers() {
  constexpr unsigned kMostBursts = 1024;  // a flood does not hold up the start
  std::array<rte_mbuf*, 32> burst{};
  for (std::uint16_t q = 0; q < rx_queues_; ++q) {
    for (unsigned i = 0; i < kMostBursts; ++i) {
      const std::uint16_t n = rte_eth_rx_burst(caps_.port_id, q, burst.data(), burst.size());
      rte_pktmbuf_free_bulk(burst.data(), n);
      if (n == 0) break;
    }
  }
}

void Port::stop_driver() {
  if (!running_) return;
  running_ = false;
  if (caps_.needs_guard) close_gate(caps_.port_id);
  // An error leaves it running: its peer is told by the end of the process.
  static_cast<void>(in_driver_context([this] { rte_eth_dev_stop(caps_.port_id); }));
}

/// memif unmaps its memory in EAL's interrupt thread when its peer leaves. A stop or start at the same moment
/// in another thread would unmap and free the same things again.
Result<void> Port::in_driver_context(const std::function<void()>& work) {
  if (caps_.driver == Driver::kMemif) return on_interrupt_thread(work);
  work();
  return {};
}

void Port::stop() {
  stop_driver();
  started_ = false;
}

void Port::close() {
  if (!open_) return;     // closed before, or moved from
  OutputCapture capture;  // libxdp remarks on a missing bpffs, which nothing needs
  stop();
  open_ = false;
  forget_kernel_link(caps_.port_id);
  if (caps_.driver != Driver::kMemif) {
    rte_eth_dev_close(caps_.port_id);
    return;
  }
  // memif frees the interrupt handle of its listener without taking it out of EAL's list: EAL would read it
  // again, and panic. So its device stays; of what outlives the process there is only the socket.
  if (!caps_.memif_server_socket.empty()) unlink(caps_.memif_server_socket.c_str());
}

Port::~Port() {
  close();
}

Port::Port(Port&& other) noexcept {
  *this = std::move(other);
}

Port& Port::operator=(Port&& other) noexcept {
  if (this == &other) return *this;
  close();
  caps_ = std::move(other.caps_);
  notes_ = std::move(other.notes_);
  std::tie(rx_queues_, tx_queues_) = std::tie(other.rx_queues_, other.tx_queues_);
  std::tie(rx_offloads_, tx_offloads_, rss_types_) =
      std::tie(other.rx_offloads_, other.tx_offloads_, other.rss_types_);
  promiscuous_ = other.promiscuous_;
  started_ = std::exchange(other.started_, false);
  running_ = std::exchange(other.running_, false);
  was_up_ = other.was_up_;
  peer_left_ = other.peer_left_;
  last_attempt_ = other.last_attempt_;
  open_ = std::exchange(other.open_, false);
  return *this;
}

void Port::keep_memif_alive(bool driver_up) {
  // A fault closed the gate; the driver is connected to a new peer.
  if (driver_up && running_ && !gate_is_open(caps_.port_id)) open_gate(caps_.port_id);
  if (driver_up || caps_.memif_client_socket.empty()) return;
  constexpr std::chrono::milliseconds kRetry{100};
  constexpr std::chrono::milliseconds kHandshake{1000};
  const auto waited = std::chrono::steady_clock::now() - last_attempt_;
  // Connected once and lost, or no handshake came: the driver itself never tries again.
  if (running_ && (was_up_ || waited > kHandshake)) stop_driver();
  if (!running_ && waited > kRetry && !is_absent_server(caps_)) (void)start_driver();
}

LinkState Port::link() {
  if (!started_) return {};
  rte_eth_link link{};
  // virtio-user (client) never connects again, and complains at each look after its peer left.
  const bool final = caps_.driver == Driver::kVirtioUser && peer_left_;
  const bool known = running_ && !final && rte_eth_link_get_nowait(caps_.port_id, &link) == 0;
  const bool up = known && link.link_status == RTE_ETH_LINK_UP && kernel_link_up(caps_.port_id);
  if (caps_.needs_guard) keep_memif_alive(up);
  if (was_up_ && !up) peer_left_ = true;
  was_up_ = up;
  return {up, link.link_speed == RTE_ETH_SPEED_NUM_UNKNOWN ? 0 : link.link_speed};
}

bool Port::asks_kernel() const {
  return caps_.driver == Driver::kAfPacket || caps_.driver == Driver::kAfXdp ||
         (caps_.driver == Driver::kPcap && !caps_.kernel_iface.empty());
}

LinkAsk Port::link_ask() const {
  if (caps_.needs_guard) return guarded_link_up;
  return asks_kernel() ? kernel_link_up : nullptr;
}

MissedAsk Port::missed_ask() const {
  return caps_.driver == Driver::kAfPacket ? kernel_rx_missed : nullptr;
}

Result<void> Port::wait_link_up(std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  constexpr std::chrono::milliseconds kPoll{5};
  while (!link().up) {
    if (std::chrono::steady_clock::now() >= deadline)
      return error(who(), ": link is down after ", timeout.count(), " ms; ", link_hint(caps_.driver));
    std::this_thread::sleep_for(kPoll);
  }
  return {};
}

PortStats Port::stats() const {
  rte_eth_stats s{};
  if (!open_ || rte_eth_stats_get(caps_.port_id, &s) != 0) return {};
  return {s.ipackets, s.opackets, s.ibytes, s.obytes, s.imissed, s.ierrors, s.oerrors, s.rx_nombuf};
}

std::vector<std::pair<std::string, std::uint64_t>> Port::xstats() const {
  std::vector<std::pair<std::string, std::uint64_t>> out;
  const int count = open_ ? rte_eth_xstats_get_names(caps_.port_id, nullptr, 0) : 0;
  if (count <= 0) return out;
  std::vector<rte_eth_xstat_name> names(static_cast<std::size_t>(count));
  std::vector<rte_eth_xstat> values(names.size());
  const auto size = static_cast<unsigned>(count);
  if (rte_eth_xstats_get_names(caps_.port_id, names.data(), size) != count ||
      rte_eth_xstats_get(caps_.port_id, values.data(), size) != count)
    return out;
  for (const rte_eth_xstat& x : values) {
    if (x.value != 0 && x.id < names.size()) out.emplace_back(names[x.id].name, x.value);
  }
  return out;
}

std::string Port::socket_warning(unsigned lcore) const {
  const auto lcore_socket = static_cast<int>(rte_lcore_to_socket_id(lcore));
  if (caps_.socket < 0 || caps_.socket == lcore_socket) return "";
  return text(who(), " is on socket ", caps_.socket, ", lcore ", lcore, " on socket ", lcore_socket,
              ": every packet crosses sockets; choose a CPU of socket ", caps_.socket);
}

namespace {

std::uint32_t element_bytes(std::uint16_t data_room_bytes) {
  rte_mempool_objsz size{};
  return rte_mempool_calc_obj_size(static_cast<std::uint32_t>(sizeof(rte_mbuf)) + data_room_bytes, 0, &size);
}

/// The library refuses caches above two thirds of the pool.
std::uint32_t fitting_cache(std::uint32_t cache, std::uint32_t count) {
  return std::min({cache, std::uint32_t{RTE_MEMPOOL_CACHE_MAX_SIZE}, count * 2 / 3});
}

Error no_memory(const std::string& name, std::uint32_t count, std::uint16_t data_room_bytes, int code) {
  return error("mempool ", name, ": ", count, " mbufs of ", data_room_bytes, " bytes (",
               pool_bytes(count, data_room_bytes) >> 20U, " MiB): ", rte_strerror(code),
               "; give the process more memory or use fewer mbufs");
}

}  // namespace

std::uint64_t pool_bytes(std::uint32_t count, std::uint16_t data_room_bytes) {
  // Without hugepages no element crosses a page, so that a page may end in a gap.
  constexpr std::uint32_t kPage = 4096;
  const std::uint32_t element = element_bytes(data_room_bytes);
  return element < kPage ? std::uint64_t{kPage} * (count / (kPage / element) + 1)
                         : std::uint64_t{element} * count;
}

Result<rte_mempool*> make_pool(const std::string& name, std::uint32_t count, std::uint16_t data_room_bytes,
                               std::uint32_t cache, int socket) {
  rte_mempool* pool =
      rte_pktmbuf_pool_create(name.c_str(), count, fitting_cache(cache, count), 0, data_room_bytes, socket);
  if (pool == nullptr) return no_memory(name, count, data_room_bytes, rte_errno);
  return pool;
}

Result<rte_mempool*> make_packed_pool(const std::string& name, std::uint32_t count,
                                      std::uint16_t data_room_bytes, std::uint32_t cache, int socket) {
  rte_pktmbuf_pool_private room{};
  room.mbuf_data_room_size = data_room_bytes;
  rte_mempool* pool = rte_mempool_create_empty(
      name.c_str(), count, static_cast<unsigned>(sizeof(rte_mbuf)) + data_room_bytes,
      fitting_cache(cache, count), sizeof(rte_pktmbuf_pool_private), socket, RTE_MEMPOOL_F_NO_IOVA_CONTIG);
  if (pool == nullptr) return no_memory(name, count, data_room_bytes, rte_errno);
  rte_pktmbuf_pool_init(pool, &room);
  if (const int rc = rte_mempool_populate_default(pool); rc < 0) {
    rte_mempool_free(pool);
    return no_memory(name, count, data_room_bytes, -rc);
  }
  rte_mempool_obj_iter(pool, rte_pktmbuf_init, nullptr);
  if (pool->nb_mem_chunks != 1) {
    const std::uint32_t chunks = pool->nb_mem_chunks;
    rte_mempool_free(pool);
    return error("mempool ", name, ": its memory is in ", chunks,
                 " pieces, one is needed; use eal.hugepages: never");
  }
  return pool;
}

}  // namespace mrc::ethdev
