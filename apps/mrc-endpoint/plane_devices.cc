// SPDX-License-Identifier: BSD-3-Clause
#include "plane_devices.h"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "ethdev/caps.h"
#include "ethdev/kernel_iface.h"
#include "ethdev/vdev.h"
#include "wire/headers.h"

namespace mrc::endpoint {
namespace {

using config::EndpointConfig;
using config::Profile;

ethdev::Role link_role(const EndpointConfig& c, Ends ends) {
  if (c.role == config::LinkRole::kServer) return ethdev::Role::kServer;
  if (c.role == config::LinkRole::kClient) return ethdev::Role::kClient;
  return ends == Ends::kServe ? ethdev::Role::kServer : ethdev::Role::kClient;
}

constexpr std::string_view kLive = "live:";

/// The kernel interface below plane i, empty when there is none.
std::string kernel_iface(const EndpointConfig& c, std::size_t i) {
  const std::string& device = c.planes[i].device;
  if (c.profile == Profile::kAfPacket || c.profile == Profile::kAfXdp) return device;
  if (c.profile == Profile::kPcap && device.starts_with(kLive)) return device.substr(kLive.size());
  return "";
}

constexpr std::array<std::uint16_t, 5> kPathMtus{4096, 2048, 1024, 512, 256};

}  // namespace

bool is_in_process(Profile p) {
  return p == Profile::kVirtual || p == Profile::kRing;
}
bool is_through_kernel(Profile p) {
  return p == Profile::kAfPacket || p == Profile::kAfXdp || p == Profile::kPcap;
}

Result<std::string> vdev_of(const EndpointConfig& c, Ends ends, unsigned i) {
  const std::string& device = c.planes[i].device;
  const unsigned queues = c.engine.workers;
  const std::uint32_t mtu = needed_mtu_bytes(c, c.qp.attr.path_mtu);
  switch (c.profile) {
    case Profile::kVhost:
      return ethdev::vhost_vdev({i, link_role(c, ends), device, queues});
    case Profile::kMemif:
      return ethdev::memif_vdev({i, link_role(c, ends), device, 0, mtu});
    case Profile::kAfPacket:
      return ethdev::af_packet_vdev({i, device, mtu, queues});
    case Profile::kAfXdp:
      return ethdev::af_xdp_vdev({i, device, mtu, std::min(queues, ethdev::kernel_channels(device))});
    case Profile::kPcap: {
      if (!kernel_iface(c, i).empty()) return ethdev::pcap_vdev({i, "", "", kernel_iface(c, i)});
      const std::size_t comma = device.find(',');
      const std::string rx = device.substr(0, comma);
      return ethdev::pcap_vdev({i, rx, comma == std::string::npos ? "" : device.substr(comma + 1)});
    }
    case Profile::kVirtual:
    case Profile::kRing:
    case Profile::kEthdev:
      break;
  }
  return std::string();
}

std::uint32_t needed_mtu_bytes(const EndpointConfig& c, std::uint16_t path_mtu) {
  // IPv6 and UDP, BTH, METH, TSETH, RETH, ImmDt, ICRC; an outer IPv6 header, and an SRH with one segment.
  const std::uint32_t encapsulation = c.ev.format == path::EvFormat::kSrv6Srh ? 64U
                                      : c.ev.format == path::EvFormat::kSrv6  ? 40U
                                                                              : 0U;
  return path_mtu + 40U + 8 + 12 + 4 + 4 + 16 + 4 + 4 + encapsulation;
}

Result<std::vector<PlaneMtu>> kernel_mtus(const EndpointConfig& c) {
  std::vector<PlaneMtu> out;
  for (std::size_t i = 0; i < c.planes.size(); ++i) {
    const std::string iface = kernel_iface(c, i);
    if (iface.empty()) continue;
    const Result<std::uint32_t> mtu = ethdev::kernel_mtu_bytes(iface);
    if (!mtu) return Error{fmt::format("plane {}: {}", i, mtu.error().message)};
    PlaneMtu p{i, "interface " + iface, *mtu, fmt::format("ip link set dev {} mtu ", iface)};
    // The kernel lets one tag pass on top of the MTU, not two.
    if (c.planes[i].outer_vlan != 0) p.mtu_bytes -= std::min<std::uint32_t>(p.mtu_bytes, 4);
    if (c.profile == Profile::kAfXdp && p.mtu_bytes > ethdev::kAfXdpMaxMtuBytes) {
      p.mtu_bytes = ethdev::kAfXdpMaxMtuBytes;
      p.fix.clear();
    }
    out.push_back(std::move(p));
  }
  return out;
}

namespace {

/// Who makes a socket must be able to write where it lies.
Result<void> check_socket(const EndpointConfig& c, Ends ends, std::size_t i) {
  if (!config::joins_by_sockets(c.profile) || link_role(c, ends) != ethdev::Role::kServer) return {};
  const std::string& path = c.planes[i].device;
  if (path.starts_with('@')) return {};  // has no place in the file system
  const std::size_t slash = path.rfind('/');
  const std::string directory =
      slash == std::string::npos ? "." : path.substr(0, std::max<std::size_t>(slash, 1));
  if (::access(directory.c_str(), W_OK | X_OK) == 0 || errno == ENOENT)
    return {};  // prepare_vdev() tells of that
  return Error{fmt::format("directory {} is not writable, and the socket {} is to be made there: {}",
                           directory, path, std::strerror(errno))};
}

/// Of this machine, and not of the loopback kind, which has neither an address nor a peer behind it.
Result<void> check_interface(const std::string& iface) {
  std::string address;
  std::ifstream("/sys/class/net/" + iface + "/address") >> address;
  if (address != "00:00:00:00:00:00") return {};
  return Error{
      fmt::format("interface {} has no MAC address; a loopback carries no planes: use a veth pair, or "
                  "--profile vhost between two processes of this machine",
                  iface)};
}

/// "in.pcap,out.pcap", not the name of an interface.
Result<void> check_files(const std::string& device) {
  if (device.find_first_of("/,") != std::string::npos ||
      ::access(("/sys/class/net/" + device).c_str(), F_OK) != 0)
    return {};
  return Error{fmt::format("{} is an interface: --device {}{}, or name files: --device in.pcap,out.pcap",
                           device, kLive, device)};
}

Result<void> check_pci(const std::string& device) {
  const std::string address = device.substr(0, device.find(','));
  if (::access(("/sys/bus/pci/devices/" + address).c_str(), F_OK) == 0) return {};
  return Error{fmt::format("PCI device {} is not on this machine; tools/doctor lists its NICs", address)};
}

/// That the kernel interfaces may be opened by us, as far as can be told without DPDK.
Result<void> check_kernel_planes(EndpointConfig c, Ends ends) {
  const auto mtus = kernel_mtus(c);
  if (!mtus) return mtus.error();
  const auto path_mtu = choose_path_mtu(c, *mtus);  // it sizes the devices
  if (!path_mtu) return path_mtu.error();
  c.qp.attr.path_mtu = *path_mtu;
  for (unsigned i = 0; i < c.planes.size(); ++i) {
    if (kernel_iface(c, i).empty()) continue;
    Result<void> ready;
    if (const auto vdev = vdev_of(c, ends, i); !vdev) {
      ready = vdev.error();
    } else {
      ready = ethdev::prepare_vdev(*vdev);
    }
    if (!ready) return Error{fmt::format("plane {}: {}", i, ready.error().message)};
  }
  return {};
}

}  // namespace

Result<void> check_devices(const EndpointConfig& c, Ends ends) {
  if (Result<void> ok = check_kernel_planes(c, ends); !ok) return ok;
  for (std::size_t i = 0; i < c.planes.size(); ++i) {
    Result<void> ok = check_socket(c, ends, i);
    if (const std::string iface = kernel_iface(c, i); ok && !iface.empty()) ok = check_interface(iface);
    if (ok && c.profile == Profile::kPcap) ok = check_files(c.planes[i].device);
    if (ok && c.profile == Profile::kEthdev) ok = check_pci(c.planes[i].device);
    if (!ok) return Error{fmt::format("plane {}: {}", i, ok.error().message)};
  }
  return {};
}

Result<std::uint16_t> choose_path_mtu(const EndpointConfig& c, const std::vector<PlaneMtu>& planes) {
  const auto smallest =
      std::min_element(planes.begin(), planes.end(),
                       [](const PlaneMtu& a, const PlaneMtu& b) { return a.mtu_bytes < b.mtu_bytes; });
  if (smallest == planes.end()) return c.qp.attr.path_mtu;
  const auto fits = [&](std::uint16_t mtu) { return needed_mtu_bytes(c, mtu) <= smallest->mtu_bytes; };
  const auto best = std::find_if(kPathMtus.begin(), kPathMtus.end(), fits);
  if (c.qp.mtu_auto && best != kPathMtus.end()) return *best;
  const std::uint16_t wanted = c.qp.mtu_auto ? kPathMtus.back() : c.qp.attr.path_mtu;
  if (fits(wanted)) return wanted;
  const std::uint32_t needed = needed_mtu_bytes(c, wanted);
  std::vector<std::string> fixes;
  if (!smallest->fix.empty()) fixes.push_back(smallest->fix + std::to_string(needed));
  if (best != kPathMtus.end()) fixes.push_back(fmt::format("--mtu {} or auto", *best));
  return Error{fmt::format("plane {}: {} carries packets of {} bytes, qp.mtu {} makes {}; {}",
                           smallest->plane, smallest->name, smallest->mtu_bytes, wanted, needed,
                           fmt::join(fixes, ", or "))};
}

PlaneTags tags_of(const config::PlaneConfig& plane) {
  PlaneTags t;
  if (plane.outer_vlan != 0) t.vlans[t.count++] = {wire::kEthertypeQinq, plane.outer_vlan};
  if (plane.vlan != 0) t.vlans[t.count++] = {wire::kEthertypeVlan, plane.vlan};
  return t;
}

}  // namespace mrc::endpoint
