// SPDX-License-Identifier: BSD-3-Clause
#include "ethdev/vdev.h"

#include <net/if.h>
#include <sys/un.h>

#include <bit>
#include <filesystem>

#include "ethdev/caps.h"
#include "ethdev/text.h"

namespace mrc::ethdev {
namespace {

constexpr std::size_t kMaxSocketPath = sizeof(sockaddr_un{}.sun_path) - 1;

/// A comma or a quote would end the value inside EAL's parser.
Result<void> check_value(const std::string& what, const std::string& value) {
  if (value.empty()) return error(what, ": is empty; give a value");
  if (value.find_first_of(",=[]\"' \t\n") != std::string::npos)
    return error(what, " '", value,
                 "': DPDK device arguments cannot hold commas, brackets, quotes, '=' or blanks");
  return {};
}

Result<void> check_range(const std::string& what, std::uint64_t value, std::uint64_t low,
                         std::uint64_t high) {
  if (value < low || value > high) return error(what, ": ", value, " is outside ", low, "..", high);
  return {};
}

Result<void> check_socket_path(const std::string& path) {
  if (auto ok = check_value("socket path", path); !ok) return ok;
  if (path.size() > kMaxSocketPath)
    return error("socket path '", path, "': ", path.size(), " bytes, the kernel takes ", kMaxSocketPath,
                 "; choose a shorter directory");
  return {};
}

Result<void> check_iface(const std::string& iface) {
  if (auto ok = check_value("interface", iface); !ok) return ok;
  return check_range("length of interface name '" + iface + "'", iface.size(), 1, IFNAMSIZ - 1);
}

}  // namespace

std::string ring_vdev(unsigned index) {
  return text("net_ring", index);
}

Result<std::string> null_vdev(unsigned index, std::uint32_t frame_bytes, bool rx) {
  if (auto ok = check_range("null frame size", frame_bytes, 60, 9216); !ok) return ok.error();
  return text("net_null", index, ",size=", frame_bytes, ",copy=1", rx ? "" : ",no-rx=1");
}

Result<std::string> vhost_vdev(const VhostOptions& o) {
  if (auto ok = check_socket_path(o.socket_path); !ok) return ok.error();
  if (auto ok = check_range("vhost queues", o.queues, 1, 8); !ok) return ok.error();
  if (auto ok = check_range("vhost queue size", o.queue_size, 64, 1024); !ok) return ok.error();
  if (!std::has_single_bit(o.queue_size))
    return error("vhost queue size: ", o.queue_size, " is not a power of two");
  if (o.role == Role::kServer)
    return text("net_vhost", o.index, ",iface=", o.socket_path, ",queues=", o.queues, ",client=0");
  return text("net_virtio_user", o.index, ",path=", o.socket_path, ",queues=", o.queues,
              ",queue_size=", o.queue_size);
}

Result<std::string> memif_vdev(const MemifOptions& o) {
  if (auto ok = check_socket_path(o.socket_path); !ok) return ok.error();
  if (auto ok = check_range("memif MTU", o.mtu_bytes, 256, 65000); !ok) return ok.error();
  if (auto ok = check_range("memif ring size (log2)", o.ring_log2, 1, 14); !ok) return ok.error();
  const std::uint32_t buffer = (o.mtu_bytes + kEtherBytes + 63) / 64 * 64;
  return text("net_memif", o.index, ",role=", o.role == Role::kServer ? "server" : "client", ",id=", o.id,
              ",socket=", o.socket_path, ",socket-abstract=no,bsize=", buffer, ",rsize=", o.ring_log2,
              ",zero-copy=no");
}

Result<std::string> af_packet_vdev(const AfPacketOptions& o) {
  if (auto ok = check_iface(o.iface); !ok) return ok.error();
  if (auto ok = check_range("af_packet MTU", o.mtu_bytes, 256, 65000 - 1024); !ok) return ok.error();
  if (auto ok = check_range("af_packet queues", o.queues, 1, 16); !ok) return ok.error();
  if (auto ok = check_range("af_packet frames", o.frames, 16, 16384); !ok) return ok.error();
  if (!std::has_single_bit(o.frames)) return error("af_packet frames: ", o.frames, " is not a power of two");
  // A frame holds the kernel's own header too; a block holds whole frames, and whole pages.
  constexpr std::uint32_t kTpacketBytes = 128;
  constexpr std::uint32_t kFramesPerBlock = 4;
  const std::uint32_t frame = (o.mtu_bytes + kEtherBytes + kTpacketBytes + 1023) / 1024 * 1024;
  return text("net_af_packet", o.index, ",iface=", o.iface, ",qpairs=", o.queues, ",framesz=", frame,
              ",blocksz=", frame * kFramesPerBlock, ",framecnt=", o.frames);
}

Result<std::string> af_xdp_vdev(const AfXdpOptions& o) {
  if (auto ok = check_iface(o.iface); !ok) return ok.error();
  if (o.mtu_bytes > kAfXdpMaxMtuBytes)
    return error("af_xdp MTU: ", o.mtu_bytes, " is over ", kAfXdpMaxMtuBytes,
                 " (a frame must fit one 4096-byte chunk); use a path MTU of 2048 or less, or af_packet");
  if (auto ok = check_range("af_xdp MTU", o.mtu_bytes, 256, kAfXdpMaxMtuBytes); !ok) return ok.error();
  if (auto ok = check_range("af_xdp queues", o.queues, 1, 16); !ok) return ok.error();
  return text("net_af_xdp", o.index, ",iface=", o.iface, ",start_queue=0,queue_count=", o.queues);
}

Result<std::string> pcap_vdev(const PcapOptions& o) {
  if (!o.live_iface.empty()) {
    if (auto ok = check_iface(o.live_iface); !ok) return ok.error();
    if (!o.rx_path.empty() || !o.tx_path.empty())
      return error("pcap device: files and interface ", o.live_iface, " exclude each other");
    return text("net_pcap", o.index, ",rx_iface_in=", o.live_iface, ",tx_iface=", o.live_iface);
  }
  if (o.rx_path.empty() && o.tx_path.empty())
    return error("pcap device: neither a file to read nor one to write is given");
  std::string out = text("net_pcap", o.index);
  if (!o.rx_path.empty()) {
    if (auto ok = check_value("pcap file to read", o.rx_path); !ok) return ok.error();
    if (!std::filesystem::exists(o.rx_path))
      return error("pcap file to read '", o.rx_path, "': does not exist");
    out += ",rx_pcap=" + o.rx_path;
  }
  if (!o.tx_path.empty()) {
    if (auto ok = check_value("pcap file to write", o.tx_path); !ok) return ok.error();
    out += ",tx_pcap=" + o.tx_path;
  }
  if (o.repeat) out += ",infinite_rx=1";
  return out;
}

Result<std::string> tap_vdev(unsigned index, const std::string& iface) {
  if (auto ok = check_iface(iface); !ok) return ok.error();
  return text("net_tap", index, ",iface=", iface);
}

}  // namespace mrc::ethdev
