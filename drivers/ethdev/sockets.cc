// SPDX-License-Identifier: BSD-3-Clause
// What a virtual device needs beside it before it starts. The Unix sockets behind vhost, virtio-user and
// memif: who listens, and what a killed process left behind. The kernel interface of af_packet and af_xdp.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "ethdev/caps.h"
#include "ethdev/kernel_iface.h"
#include "ethdev/text.h"
#include "ethdev/vdev.h"

namespace mrc::ethdev {
namespace {

enum class Listener : std::uint8_t { kNone, kStale, kAlive, kNotSocket };

/// memif speaks SOCK_SEQPACKET, vhost-user SOCK_STREAM. connect() on the wrong type fails with EPROTOTYPE,
/// which says that somebody listens without disturbing him; only ECONNREFUSED says that nobody does.
Listener probe_socket(const std::string& path) {
  struct stat st {};
  if (stat(path.c_str(), &st) != 0) return Listener::kNone;
  if (!S_ISSOCK(st.st_mode)) return Listener::kNotSocket;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), std::min(path.size(), sizeof(address.sun_path) - 1));
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return Listener::kNone;
  const int rc =
      connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address));  // NOLINT: the socket API
  const int code = errno;
  close(fd);
  return rc != 0 && code == ECONNREFUSED ? Listener::kStale : Listener::kAlive;
}

std::string value_of(const std::string& vdev, const std::string& key) {
  std::istringstream in(vdev);
  for (std::string item; std::getline(in, item, ',');) {
    if (item.starts_with(key + "=")) return item.substr(key.size() + 1);
  }
  return "";
}

/// The interface exists, and this process may have the driver's kind of socket.
Result<void> check_kernel_iface(const std::string& iface, int family, const char* driver) {
  if (const auto mtu = kernel_mtu_bytes(iface); !mtu) return mtu.error();
  const int fd = socket(family, SOCK_RAW | SOCK_CLOEXEC, 0);
  const int code = errno;
  if (fd >= 0) {
    close(fd);
    return {};
  }
  const char* const fix = code == EPERM
                              ? "it needs CAP_NET_RAW (af_xdp: CAP_NET_ADMIN and CAP_BPF too); run as root"
                              : "this kernel has no such sockets; use another driver";
  return error("interface ", iface, ": no socket for ", driver, ": ", std::strerror(code), "; ", fix);
}

}  // namespace

Result<void> prepare_server_socket(const std::string& path) {
  const std::filesystem::path directory = std::filesystem::path(path).parent_path();
  if (!directory.empty() && !std::filesystem::is_directory(directory))
    return error("socket path '", path, "': directory ", directory.string(), " does not exist; mkdir -p ",
                 directory.string());
  switch (probe_socket(path)) {
    case Listener::kAlive:
      return error("socket path '", path, "': another process listens there; end it or choose another path");
    case Listener::kNotSocket:
      return error("socket path '", path, "': exists and is not a socket; choose another path");
    case Listener::kStale:
      if (unlink(path.c_str()) != 0)
        return error("socket path '", path, "': left behind, and cannot be removed: ", std::strerror(errno));
      return {};
    case Listener::kNone:
      return {};
  }
  return {};
}

Result<void> check_client_socket(const std::string& path) {
  switch (probe_socket(path)) {
    case Listener::kAlive:
      return {};
    case Listener::kNotSocket:
      return error("socket path '", path, "': is not a socket; give the path that the server side uses");
    default:
      return error("socket path '", path, "': nobody listens there; start the server side first");
  }
}

Result<void> prepare_vdev(const std::string& vdev) {
  switch (driver_of_name(vdev)) {
    case Driver::kVhost:
      return value_of(vdev, "client") == "1" ? Result<void>{}
                                             : prepare_server_socket(value_of(vdev, "iface"));
    case Driver::kVirtioUser: {
      const std::string path = value_of(vdev, "path");
      const bool server = value_of(vdev, "server") == "1";
      if (!path.starts_with("/dev/")) return server ? prepare_server_socket(path) : check_client_socket(path);
      return {};
    }
    case Driver::kMemif:
      // A memif client keeps trying to connect, so it may start first. An abstract socket leaves nothing
      // behind.
      if (value_of(vdev, "socket-abstract") != "no" || value_of(vdev, "role") != "server") return {};
      return prepare_server_socket(value_of(vdev, "socket"));
    case Driver::kAfPacket:
      return check_kernel_iface(value_of(vdev, "iface"), AF_PACKET, "af_packet");
    case Driver::kAfXdp:
      return check_kernel_iface(value_of(vdev, "iface"), AF_XDP, "af_xdp");
    case Driver::kPcap: {
      const std::string iface = value_of(vdev, "tx_iface");
      return iface.empty() ? Result<void>{} : check_kernel_iface(iface, AF_PACKET, "pcap");
    }
    default:
      return {};
  }
}

}  // namespace mrc::ethdev
