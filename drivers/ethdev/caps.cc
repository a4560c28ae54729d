// SPDX-License-Identifier: BSD-3-Clause
#include "ethdev/caps.h"

#include <rte_dev.h>
#include <rte_devargs.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <iterator>
#include <limits>

#include "ethdev/text.h"

namespace mrc::ethdev {
namespace {

constexpr std::uint32_t kHeadroom = RTE_PKTMBUF_HEADROOM;
constexpr std::uint32_t kRoomUnit = 1024;  // coarsest unit in which a NIC is told the size of a buffer
constexpr std::uint32_t kMaxRoom = std::numeric_limits<std::uint16_t>::max();
// AF_XDP: one UMEM chunk is one mempool element (mbuf, data room, object header); it takes 2048 to 4096
// bytes.
constexpr std::uint32_t kAfXdpMinRoom = 2048;
constexpr std::uint32_t kAfXdpMaxRoom = 3648;
constexpr std::uint32_t kAfXdpKernelHeadroom = 256;
// TPACKET_V2 puts its header and the link address before the frame.
constexpr std::uint32_t kAfPacketRxOverhead = 80;

struct DriverRule {
  const char* prefix;
  Driver driver;
  const char* label;
};
constexpr DriverRule kRules[] = {
    {"net_ring", Driver::kRing, "ring"},
    {"net_null", Driver::kNull, "null"},
    {"net_pcap", Driver::kPcap, "pcap"},
    {"net_memif", Driver::kMemif, "memif"},
    {"net_vhost", Driver::kVhost, "vhost"},
    {"net_virtio_user", Driver::kVirtioUser, "virtio-user"},
    {"net_af_packet", Driver::kAfPacket, "af_packet"},
    {"net_af_xdp", Driver::kAfXdp, "af_xdp"},
    {"net_tap", Driver::kTap, "tap"},
};

std::string device_args(const rte_eth_dev_info& info) {
  const rte_devargs* args = info.device == nullptr ? nullptr : rte_dev_devargs(info.device);
  return args == nullptr || args->args == nullptr ? "" : args->args;
}

/// Value of key=value in a device's arguments; "" if absent.
std::string device_arg(const std::string& args, const std::string& key) {
  std::istringstream in(args);
  for (std::string item; std::getline(in, item, ',');) {
    if (item.starts_with(key + "=")) return item.substr(key.size() + 1);
  }
  return "";
}

std::uint32_t device_number(const std::string& args, const std::string& key, std::uint32_t fallback) {
  const std::string value = device_arg(args, key);
  std::uint32_t number = fallback;
  std::from_chars(value.data(), value.data() + value.size(), number);
  return number;
}

void apply_frame_limits(PortCaps& caps, const rte_eth_dev_info& info, const std::string& args) {
  caps.mtu_rule = MtuRule::kNone;
  caps.max_frame_bytes = kMaxRoom - kHeadroom;
  switch (caps.driver) {
    case Driver::kHardware:
      caps.mtu_rule = MtuRule::kConfigure;
      caps.max_frame_bytes = std::min<std::uint32_t>(info.max_mtu, kMaxRoom - kEtherBytes) + kEtherBytes;
      break;
    case Driver::kAfPacket: {
      // The driver answers 1518 whatever its frame size is, refuses any larger MTU, and drops what does not
      // fit its frame only after accepting it. So its MTU is left alone, and frames are held to the frame
      // size.
      const std::uint32_t frame_size = device_number(args, "framesz", 2048);
      caps.mtu_rule = MtuRule::kKernel;
      caps.max_frame_bytes = std::max(frame_size, kAfPacketRxOverhead + kEtherBytes) - kAfPacketRxOverhead;
      caps.min_rx_room_bytes = frame_size + kHeadroom;
      break;
    }
    case Driver::kAfXdp:
      caps.mtu_rule = MtuRule::kKernel;
      caps.max_frame_bytes = kAfXdpMaxMtuBytes + kEtherBytes;
      caps.rx_overhead_bytes = kAfXdpKernelHeadroom;  // longer frames are dropped, not cut
      caps.min_rx_room_bytes = kAfXdpMinRoom;
      caps.max_rx_room_bytes = kAfXdpMaxRoom;
      caps.min_rx_mbufs = kAfXdpMinPoolMbufs;
      caps.min_rx_descs = kAfXdpFillBuffers;
      caps.packed_rx_pool = true;
      break;
    case Driver::kVirtioUser:
      caps.rx_overhead_bytes = 16;  // its own header (12 bytes) counts as part of the frame
      break;
    case Driver::kTap:
      caps.mtu_rule = MtuRule::kKernel;  // set_mtu above 1500 fails in 22.11
      caps.max_frame_bytes = 1500 + kEtherBytes;
      break;
    case Driver::kPcap:
      if (!device_arg(args, "tx_iface").empty()) caps.mtu_rule = MtuRule::kKernel;
      break;
    case Driver::kMemif:
      // Frames above one buffer are chained by the driver over several ring slots; we keep to one buffer.
      caps.max_frame_bytes = std::max(device_number(args, "bsize", 2048), kEtherBytes);
      break;
    default:
      break;
  }
  caps.max_mtu_bytes = caps.max_frame_bytes - kEtherBytes;
}

void read_queue_limits(PortCaps& caps, const rte_eth_dev_info& info) {
  caps.max_rx_queues = info.max_rx_queues;
  caps.max_tx_queues = info.max_tx_queues;
  const auto at_least_one = [](std::uint16_t v) { return std::max<std::uint16_t>(v, 1); };
  caps.min_rx_descs = at_least_one(info.rx_desc_lim.nb_min);
  caps.max_rx_descs = info.rx_desc_lim.nb_max;
  caps.rx_desc_align = at_least_one(info.rx_desc_lim.nb_align);
  caps.min_tx_descs = at_least_one(info.tx_desc_lim.nb_min);
  caps.max_tx_descs = info.tx_desc_lim.nb_max;
  caps.tx_desc_align = at_least_one(info.tx_desc_lim.nb_align);
  caps.max_tx_segs = at_least_one(info.tx_desc_lim.nb_seg_max);
}

}  // namespace

const char* driver_label(Driver driver) {
  for (const DriverRule& rule : kRules) {
    if (rule.driver == driver) return rule.label;
  }
  return "hardware";
}

Driver driver_of_name(const std::string& driver_name) {
  for (const DriverRule& rule : kRules) {
    if (driver_name.starts_with(rule.prefix)) return rule.driver;
  }
  return Driver::kHardware;
}

Result<PortCaps> probe(std::uint16_t port_id) {
  if (rte_eth_dev_is_valid_port(port_id) == 0)
    return error("port ", port_id, ": does not exist, there are ", rte_eth_dev_count_avail(),
                 "; name a virtual device (--vdev) or allow a NIC (-a PCI-ADDRESS)");
  rte_eth_dev_info info{};
  if (const int rc = rte_eth_dev_info_get(port_id, &info); rc != 0)
    return error("port ", port_id, ": its driver does not answer (", rte_strerror(-rc), ")");
  PortCaps caps;
  caps.port_id = port_id;
  char name[RTE_ETH_NAME_MAX_LEN]{};
  if (rte_eth_dev_get_name_by_port(port_id, name) == 0) caps.name = name;
  // Ports made by rte_eth_from_rings have no device behind them, and their driver's name is their only mark.
  caps.driver_name = info.driver_name == nullptr ? "unknown" : info.driver_name;
  caps.driver = driver_of_name(caps.driver_name);
  caps.socket = rte_eth_dev_socket_id(port_id);
  rte_ether_addr mac{};
  if (rte_eth_macaddr_get(port_id, &mac) == 0)
    std::copy(std::begin(mac.addr_bytes), std::end(mac.addr_bytes), caps.mac);
  const std::string args = device_args(info);
  if (caps.driver == Driver::kAfPacket || caps.driver == Driver::kAfXdp || caps.driver == Driver::kTap)
    caps.kernel_iface = device_arg(args, "iface");
  if (caps.driver == Driver::kPcap) caps.kernel_iface = device_arg(args, "tx_iface");
  if (caps.driver == Driver::kMemif && device_arg(args, "role") != "server" &&
      device_arg(args, "socket-abstract") == "no")
    caps.memif_client_socket = device_arg(args, "socket");
  if (caps.driver == Driver::kMemif && device_arg(args, "role") == "server" &&
      device_arg(args, "socket-abstract") == "no")
    caps.memif_server_socket = device_arg(args, "socket");
  read_queue_limits(caps, info);
  caps.min_rx_room_bytes = info.min_rx_bufsize == 0 ? 0 : info.min_rx_bufsize + kHeadroom;
  apply_frame_limits(caps, info, args);
  caps.rx_offloads = info.rx_offload_capa;
  caps.tx_offloads = info.tx_offload_capa;
  caps.rss_types = info.flow_type_rss_offloads;
  caps.mbuf_fast_free = (info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE) != 0;
  caps.needs_guard = caps.driver == Driver::kMemif;
  return caps;
}

std::vector<PortCaps> probe_all() {
  std::vector<PortCaps> out;
  for (std::uint16_t port = 0; port < RTE_MAX_ETHPORTS; ++port) {
    if (rte_eth_dev_is_valid_port(port) == 0) continue;
    if (auto caps = probe(port)) out.push_back(*caps);
  }
  return out;
}

Result<std::uint16_t> rx_data_room(const PortCaps& caps, std::uint32_t mtu_bytes) {
  if (mtu_bytes > caps.max_mtu_bytes)
    return error("port ", caps.port_id, " ", caps.name, ": MTU ", mtu_bytes, " is over the limit of its ",
                 driver_label(caps.driver), " driver, ", caps.max_mtu_bytes,
                 caps.driver == Driver::kAfPacket ? "; enlarge framesz=" : "; lower the MTU",
                 caps.driver == Driver::kMemif ? ", or enlarge bsize=" : "");
  // A driver that never scatters (virtio) refuses buffers for less than the MTU it starts with.
  const std::uint32_t held_mtu = std::max<std::uint32_t>(mtu_bytes, RTE_ETHER_MTU);
  const std::uint32_t room =
      std::max(held_mtu + kEtherBytes + kHeadroom + caps.rx_overhead_bytes, caps.min_rx_room_bytes);
  const std::uint32_t limit = caps.max_rx_room_bytes == 0 ? kMaxRoom : caps.max_rx_room_bytes;
  // Hardware is told the buffer size in units of up to 1 KiB, rounded down: a little less than a whole unit
  // more, and every full frame would arrive in two segments.
  if (caps.driver == Driver::kHardware) {
    const std::uint32_t rounded = (room - kHeadroom + kRoomUnit - 1) / kRoomUnit * kRoomUnit + kHeadroom;
    if (rounded <= limit) return static_cast<std::uint16_t>(rounded);
  }
  if (room > limit)
    return error("port ", caps.port_id, " ", caps.name, ": ", room,
                 " bytes of mbuf room needed, the limit is ", limit);
  return static_cast<std::uint16_t>(room);
}

std::string PortCaps::describe() const {
  return text("port ", port_id, " ", name, " (", driver_label(driver),
              driver == Driver::kHardware ? " " + driver_name : "", "): up to ", max_rx_queues, " rx and ",
              max_tx_queues, " tx queues, MTU up to ", max_mtu_bytes,
              kernel_iface.empty() ? "" : ", on interface " + kernel_iface, ", socket ",
              socket < 0 ? "any" : std::to_string(socket), needs_guard ? ", bursts guarded" : "");
}

}  // namespace mrc::ethdev
