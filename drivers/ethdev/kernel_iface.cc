// SPDX-License-Identifier: BSD-3-Clause
#include "ethdev/kernel_iface.h"

#include <linux/ethtool.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <rte_config.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

#include "ethdev/text.h"

namespace mrc::ethdev {
namespace {

/// One socket a port: it stays in the namespace of its interface whatever the process does later.
struct Watch {
  int fd = -1;
  std::array<char, IFNAMSIZ> name{};
  std::vector<int> packet_sockets;  ///< the driver's
  std::uint64_t missed = 0;
};
std::array<Watch, RTE_MAX_ETHPORTS> watches;

ifreq request_for(const char* name) {
  ifreq request{};
  std::strncpy(request.ifr_name, name, IFNAMSIZ - 1);
  return request;
}

int open_socket() {
  return socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

/// Sockets of this process that hear the interface's packets. The driver keeps the numbers of its own to
/// itself.
std::vector<int> packet_sockets_of(const std::string& iface) {
  std::vector<int> found;
  const unsigned index = if_nametoindex(iface.c_str());
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", gone)) {
    const int fd = std::atoi(entry.path().filename().c_str());
    int domain = 0;
    socklen_t size = sizeof(domain);
    if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0 || domain != AF_PACKET) continue;
    sockaddr_ll bound{};
    size = sizeof(bound);
    const bool ours = getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &size) == 0 &&
                      static_cast<unsigned>(bound.sll_ifindex) == index;
    if (ours) found.push_back(fd);
  }
  return found;
}

}  // namespace

Result<std::uint32_t> kernel_mtu_bytes(const std::string& iface) {
  if (iface.empty() || iface.size() >= IFNAMSIZ)
    return error("interface '", iface, "': not a name of an interface");
  const int fd = open_socket();
  ifreq request = request_for(iface.c_str());
  const int rc = fd < 0 ? -1 : ioctl(fd, SIOCGIFMTU, &request);
  const int code = errno;
  if (fd >= 0) close(fd);
  if (rc != 0)
    return error("interface ", iface, ": ", std::strerror(code), "; `ip link` lists the interfaces");
  return static_cast<std::uint32_t>(request.ifr_mtu);
}

unsigned kernel_channels(const std::string& iface) {
  const int fd = open_socket();
  if (fd < 0) return 1;
  ethtool_channels channels{};
  channels.cmd = ETHTOOL_GCHANNELS;
  ifreq request = request_for(iface.c_str());
  request.ifr_data = reinterpret_cast<char*>(&channels);
  const bool known = ioctl(fd, SIOCETHTOOL, &request) == 0 && channels.max_combined != 0;
  close(fd);
  return known ? std::max(channels.combined_count, 1U) : 1;
}

Result<void> watch_kernel_link(std::uint16_t port, const std::string& iface) {
  forget_kernel_link(port);
  const int fd = open_socket();
  if (fd < 0) return error("interface ", iface, ": no socket to ask for its link: ", std::strerror(errno));
  Watch& watch = watches.at(port);
  std::memcpy(watch.name.data(), iface.data(), std::min(iface.size(), watch.name.size() - 1));
  watch.fd = fd;
  watch.packet_sockets = packet_sockets_of(iface);
  static_cast<void>(kernel_rx_missed(port));  // what was missed before does not count
  watch.missed = 0;
  return {};
}

void forget_kernel_link(std::uint16_t port) {
  Watch& watch = watches.at(port);
  if (watch.fd >= 0) close(watch.fd);
  watch = Watch{};
}

std::uint64_t kernel_rx_missed(std::uint16_t port) {
  Watch& watch = watches[port];
  for (const int fd : watch.packet_sockets) {
    tpacket_stats seen{};
    socklen_t size = sizeof(seen);
    if (getsockopt(fd, SOL_PACKET, PACKET_STATISTICS, &seen, &size) == 0) watch.missed += seen.tp_drops;
  }
  return watch.missed;
}

bool kernel_link_up(std::uint16_t port) {
  const Watch& watch = watches[port];
  if (watch.fd < 0) return true;
  ifreq request = request_for(watch.name.data());
  constexpr int kUp = IFF_UP | IFF_RUNNING;
  return ioctl(watch.fd, SIOCGIFFLAGS, &request) == 0 && (request.ifr_flags & kUp) == kUp;
}

}  // namespace mrc::ethdev
