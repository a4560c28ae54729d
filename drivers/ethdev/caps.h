// SPDX-License-Identifier: BSD-3-Clause
// What a port can do: asked, never assumed. Where a driver's own answer is known to be wrong or missing, the
// rule for that driver stands here, once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace mrc::ethdev {

/// Drivers with rules of their own; all others are kHardware and believed.
enum class Driver : std::uint8_t {
  kHardware,
  kRing,
  kNull,
  kPcap,
  kMemif,
  kVhost,
  kVirtioUser,
  kAfPacket,
  kAfXdp,
  kTap
};

[[nodiscard]] const char* driver_label(Driver driver);
[[nodiscard]] Driver driver_of_name(const std::string& driver_name);  ///< "net_memif" -> kMemif

/// How the MTU of a port is dealt with.
enum class MtuRule : std::uint8_t {
  kConfigure,  ///< handed to rte_eth_dev_configure
  kNone,       ///< the driver has no MTU: any frame that fits an mbuf passes
  kKernel,     ///< belongs to the kernel interface below; checked there
};

struct PortCaps {
  std::uint16_t port_id = 0;
  std::string name;
  std::string driver_name;
  Driver driver = Driver::kHardware;
  int socket = -1;  ///< -1: not known, or everywhere
  std::uint8_t mac[6]{};
  std::string kernel_iface;         ///< af_packet, af_xdp, tap; otherwise empty
  std::string memif_client_socket;  ///< path that a memif client connects to; otherwise empty
  std::string memif_server_socket;  ///< path that a memif server listens on; otherwise empty

  std::uint16_t max_rx_queues = 0;
  std::uint16_t max_tx_queues = 0;
  std::uint16_t min_rx_descs = 0, max_rx_descs = 0, rx_desc_align = 1;
  std::uint16_t min_tx_descs = 0, max_tx_descs = 0, tx_desc_align = 1;
  std::uint16_t max_tx_segs = 1;

  MtuRule mtu_rule = MtuRule::kConfigure;
  std::uint32_t max_mtu_bytes = 0;  ///< largest L3 packet
  std::uint32_t max_frame_bytes =
      0;  ///< largest Ethernet frame without FCS; longer ones are lost silently by some drivers
  std::uint32_t min_rx_room_bytes =
      0;  ///< smallest mbuf data room (headroom included) that RX set-up accepts
  std::uint32_t max_rx_room_bytes = 0;  ///< largest; 0: no limit
  bool packed_rx_pool = false;          ///< its pool's objects must lie without gaps (make_packed_pool)
  std::uint32_t min_rx_mbufs = 0;       ///< smallest pool of an RX queue; 0: no limit of its own
  std::uint32_t rx_overhead_bytes =
      0;  ///< taken by the driver or the kernel out of the data room, beside the headroom

  std::uint64_t rx_offloads = 0;  ///< RTE_ETH_RX_OFFLOAD_*
  std::uint64_t tx_offloads = 0;
  std::uint64_t rss_types = 0;  ///< RTE_ETH_RSS_*
  bool mbuf_fast_free = false;
  bool needs_guard = false;  ///< memif: see ethdev/burst.h

  /// "port 0 net_memif0 (memif): 1 rx 1 tx queues, MTU up to 9000, ..." for the start-up print.
  [[nodiscard]] std::string describe() const;
};

/// Errors: no such port, or the driver does not answer. Set-up thread.
[[nodiscard]] Result<PortCaps> probe(std::uint16_t port_id);
/// All ports, in order.
[[nodiscard]] std::vector<PortCaps> probe_all();

/// Mbuf data room (headroom included) for receiving L3 packets of `mtu_bytes` on this port.
/// Errors: the MTU is over the port's limit; the message says which and what is possible.
[[nodiscard]] Result<std::uint16_t> rx_data_room(const PortCaps& caps, std::uint32_t mtu_bytes);

/// AF_XDP: a frame, the kernel's 256 bytes and the mbuf fit one chunk of at most a page; and the kernel
/// attaches only to an interface whose own MTU is at most the second.
inline constexpr std::uint32_t kAfXdpMaxMtuBytes = 3242;
inline constexpr std::uint32_t kAfXdpMaxKernelMtuBytes = 3498;

/// AF_XDP gives the kernel 2048 buffers of the pool before the first packet, and copies what it sends into
/// buffers of the same pool. A receive ring that holds as many never overflows.
inline constexpr std::uint16_t kAfXdpFillBuffers = 2048;
inline constexpr std::uint32_t kAfXdpMinPoolMbufs = 4 * kAfXdpFillBuffers - 1;

inline constexpr std::uint32_t kEtherBytes = 14 + 2 * 4;  ///< Ethernet with two VLAN tags, no FCS

}  // namespace mrc::ethdev
