// SPDX-License-Identifier: BSD-3-Clause
// One DPDK port from configuration to close. Set-up and observation only; bursts are in ethdev/burst.h.
#pragma once

#include <rte_mempool.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "ethdev/burst.h"
#include "ethdev/caps.h"

namespace mrc::ethdev {

struct PortConfig {
  std::uint16_t rx_queues = 1;
  std::uint16_t tx_queues = 1;
  std::uint16_t rx_descs = 1024;
  std::uint16_t tx_descs = 1024;
  std::uint32_t mtu_bytes = 1500;  ///< L3 bytes that must pass
  /// Where RX queue i takes its mbufs from: pools[i], or the last one given. Data room: rx_data_room().
  std::vector<rte_mempool*> rx_pools;
  std::uint64_t rx_offloads = 0;  ///< wanted; what the port lacks is left out, with a note
  std::uint64_t tx_offloads = 0;
  std::uint64_t rss_types = 0;  ///< spread RX over the queues by this hash (RTE_ETH_RSS_*); 0: no RSS
  bool promiscuous = true;      ///< our MACs are configured or exchanged, a filter would only hide packets
};

struct LinkState {
  bool up = false;
  std::uint32_t speed_mbps = 0;  ///< 0: not known
};

/// Counters of the driver, since start. "n/a" on drivers that do not count reads as 0 (memif TX): keep own
/// counters.
struct PortStats {
  std::uint64_t rx_pkts = 0, tx_pkts = 0, rx_bytes = 0, tx_bytes = 0;
  std::uint64_t rx_missed_pkts = 0, rx_error_pkts = 0, tx_error_pkts = 0, rx_no_mbuf_pkts = 0;
};

/// How a worker asks for a port's link, every few milliseconds.
using LinkAsk = bool (*)(std::uint16_t port);

using MissedAsk = std::uint64_t (*)(std::uint16_t port);

/// A configured port. Move-only; the destructor stops and closes it. Control thread only, unless said
/// otherwise.
class Port {
 public:
  /// Probes and configures; queues and descriptors are clamped to what the port has, with a note for each.
  /// Errors: no such port, MTU over the limit, pool unfit, driver refusal (with the driver's own words).
  static Result<Port> open(std::uint16_t port_id, const PortConfig& config);
  static Result<Port> open(const std::string& name, const PortConfig& config);

  Port(Port&& other) noexcept;
  Port& operator=(Port&& other) noexcept;
  ~Port();

  Result<void> start();
  void stop();   ///< no burst may be under way, memif ports excepted
  void close();  ///< stop, then give the device back; idempotent

  /// Polls until the link is up. Errors: timeout, with the driver-specific reason to look at.
  Result<void> wait_link_up(std::chrono::milliseconds timeout);
  /// Link now. For memif it also does what the driver does not: after its peer left, a server carries bursts
  /// again once a new peer has connected, and a client connects anew. So call it a few times a second.
  /// A virtio-user client stays down once its server left: start the process again.
  [[nodiscard]] LinkState link();
  /// What a worker has to ask instead of the driver; null: the driver's own answer holds. memif: also whether
  /// bursts are let through; af_packet and af_xdp: the kernel.
  [[nodiscard]] LinkAsk link_ask() const;

  /// Packets that the port lost before a burst could take them and that its driver leaves out of its
  /// counters; null: it leaves out none. af_packet: what the kernel had no room for.
  [[nodiscard]] MissedAsk missed_ask() const;

  [[nodiscard]] const PortCaps& caps() const { return caps_; }
  [[nodiscard]] BurstPort burst_port() const { return {caps_.port_id, caps_.needs_guard}; }
  [[nodiscard]] std::uint16_t id() const { return caps_.port_id; }
  [[nodiscard]] std::uint16_t rx_queues() const { return rx_queues_; }
  [[nodiscard]] std::uint16_t tx_queues() const { return tx_queues_; }
  [[nodiscard]] std::uint64_t rx_offloads() const { return rx_offloads_; }  ///< in effect
  [[nodiscard]] std::uint64_t tx_offloads() const { return tx_offloads_; }
  [[nodiscard]] std::uint64_t rss_types() const { return rss_types_; }
  [[nodiscard]] const std::vector<std::string>& notes() const {
    return notes_;
  }  ///< what differs from the wish

  [[nodiscard]] PortStats stats() const;
  /// The driver's own counters by name, zero ones left out.
  [[nodiscard]] std::vector<std::pair<std::string, std::uint64_t>> xstats() const;
  /// Non-empty if a worker on `lcore` would reach over to another socket for this port.
  [[nodiscard]] std::string socket_warning(unsigned lcore) const;

 private:
  Port() = default;
  Result<void> configure(const PortConfig& config);
  Result<void> setup_queues(const PortConfig& config);
  Result<void> check_kernel_mtu(std::uint32_t mtu_bytes);
  void choose_queues(const PortConfig& config);
  void choose_offloads(const PortConfig& config);
  Result<void> start_driver();
  void stop_driver();
  void discard_strangers();
  Result<void> in_driver_context(const std::function<void()>& work);
  [[nodiscard]] bool asks_kernel() const;
  void keep_memif_alive(bool driver_up);
  [[nodiscard]] std::string who() const;

  PortCaps caps_;
  std::uint16_t rx_queues_ = 0, tx_queues_ = 0;
  std::uint64_t rx_offloads_ = 0, tx_offloads_ = 0, rss_types_ = 0;
  std::vector<std::string> notes_;
  bool promiscuous_ = false;
  bool open_ = false;     // configured, to be closed
  bool started_ = false;  // start() was called
  bool running_ = false;  // the driver is started; differs from started_ for a memif client without a server
  bool was_up_ = false;
  bool peer_left_ = false;  // was up once and went down
  std::chrono::steady_clock::time_point last_attempt_;
};

/// A mempool of `count` mbufs with `data_room_bytes` each (headroom included); `cache` objects a lcore.
/// Errors: out of memory, with the bytes it would have taken.
Result<rte_mempool*> make_pool(const std::string& name, std::uint32_t count, std::uint16_t data_room_bytes,
                               std::uint32_t cache = 256, int socket = -1);
/// The same without a gap between the mbufs, in one piece. The af_xdp driver gives the kernel as many bytes
/// as the mbufs have; one that lies behind them the kernel swallows, and in the end nothing is received any
/// more.
Result<rte_mempool*> make_packed_pool(const std::string& name, std::uint32_t count,
                                      std::uint16_t data_room_bytes, std::uint32_t cache = 256,
                                      int socket = -1);
/// Bytes such a pool takes at most, to size EalConfig::memory_mib.
[[nodiscard]] std::uint64_t pool_bytes(std::uint32_t count, std::uint16_t data_room_bytes);

}  // namespace mrc::ethdev
