// SPDX-License-Identifier: BSD-3-Clause
// Virtual devices of the product's profiles as EAL's --vdev strings, with each driver's limits checked before
// EAL sees them. Pure, except prepare_*(), which look at the file system.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace mrc::ethdev {

enum class Role : std::uint8_t { kServer, kClient };

/// net_ringN: what is sent on queue i is received on queue i.
[[nodiscard]] std::string ring_vdev(unsigned index);

/// net_nullN: RX gives empty frames of `frame_bytes`, TX swallows. `rx` false: no packets arrive.
[[nodiscard]] Result<std::string> null_vdev(unsigned index, std::uint32_t frame_bytes, bool rx);

/// A pair of processes joined by shared memory: the server is net_vhostN, the client net_virtio_userN. Start
/// the server first. Limits: path 107 bytes, queues 1..8, queue_size a power of two up to 1024.
struct VhostOptions {
  unsigned index = 0;
  Role role = Role::kServer;
  std::string socket_path;
  unsigned queues = 1;
  unsigned queue_size = 1024;
};
[[nodiscard]] Result<std::string> vhost_vdev(const VhostOptions& options);

/// net_memifN. `mtu_bytes` sets the buffer size; both ends should agree. Copy mode: zero-copy is slower once
/// payload is touched, and needs hugepages with single file segments.
struct MemifOptions {
  unsigned index = 0;
  Role role = Role::kServer;
  std::string socket_path;
  unsigned id = 0;  ///< interface on that socket, equal at both ends
  std::uint32_t mtu_bytes = 1500;
  unsigned ring_log2 = 10;  ///< 1..14
};
[[nodiscard]] Result<std::string> memif_vdev(const MemifOptions& options);

/// net_af_packetN on a kernel interface: any interface, no bypass of the kernel, about 0.1 Mpps. Needs
/// CAP_NET_RAW.
struct AfPacketOptions {
  unsigned index = 0;
  std::string iface;
  std::uint32_t mtu_bytes = 1500;  ///< up to 65000; the interface's own MTU must be at least this
  unsigned queues = 1;             ///< 1..16
  unsigned frames = 512;           ///< of each ring; a power of two up to 16384
};
[[nodiscard]] Result<std::string> af_packet_vdev(const AfPacketOptions& options);

/// net_af_xdpN: MTU up to 3242, so RoCE payload up to 2048. Needs CAP_NET_ADMIN, CAP_BPF and a kernel with
/// AF_XDP.
struct AfXdpOptions {
  unsigned index = 0;
  std::string iface;
  std::uint32_t mtu_bytes = 1500;
  unsigned queues = 1;
};
[[nodiscard]] Result<std::string> af_xdp_vdev(const AfXdpOptions& options);

/// net_pcapN: packets come from one file and go to another, either may be empty; or both directions over a
/// kernel interface by libpcap, which hands packets over some milliseconds late. Needs CAP_NET_RAW then.
struct PcapOptions {
  unsigned index = 0;
  std::string rx_path;
  std::string tx_path;
  std::string live_iface;  ///< instead of files
  bool repeat = false;     ///< read the file over and over
};
[[nodiscard]] Result<std::string> pcap_vdev(const PcapOptions& options);

/// net_tapN: a kernel interface named `iface` appears. MTU 1500 only.
[[nodiscard]] Result<std::string> tap_vdev(unsigned index, const std::string& iface);

/// Before a server starts: a socket file nobody listens on (its owner was killed) is removed.
/// Errors: somebody listens there; or the path is something else than a socket; or its directory does not
/// exist.
Result<void> prepare_server_socket(const std::string& path);
/// Before a client starts: somebody must listen. Error otherwise, saying what to start.
Result<void> check_client_socket(const std::string& path);
/// Whichever of the two a vhost, virtio-user or memif device needs; that its interface exists for af_packet
/// and af_xdp; nothing for others.
Result<void> prepare_vdev(const std::string& vdev);

}  // namespace mrc::ethdev
