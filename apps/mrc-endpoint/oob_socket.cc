// SPDX-License-Identifier: BSD-3-Clause
#include "oob_socket.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "base/net.h"
#include "base/program_name.h"

namespace mrc::endpoint {
namespace {

using Clock = std::chrono::steady_clock;

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;
  int family = AF_INET;
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

Result<Address> resolve(const std::string& text, std::uint16_t port) {
  const auto ip = IpAddress::parse(text);
  if (!ip) return Error{fmt::format("'{}' is not a numeric IP address", text)};
  Address a;
  const auto keep = [&a](const auto& address, int family) {
    std::memcpy(&a.storage, &address, sizeof(address));
    a.size = sizeof(address);
    a.family = family;
  };
  if (ip->v6) {
    sockaddr_in6 s{};
    s.sin6_family = AF_INET6;
    s.sin6_port = htons(port);
    std::memcpy(&s.sin6_addr, ip->bytes.data(), sizeof(s.sin6_addr));
    keep(s, AF_INET6);
  } else {
    sockaddr_in s{};
    s.sin_family = AF_INET;
    s.sin_port = htons(port);
    std::memcpy(&s.sin_addr, ip->bytes.data(), sizeof(s.sin_addr));
    keep(s, AF_INET);
  }
  return a;
}

int wait_for(int fd, short events, Duration timeout) {
  pollfd p{fd, events, 0};
  // Rounded up; never below 0, which would wait for ever.
  const std::int64_t ms = std::clamp<std::int64_t>((timeout.ns + 999'999) / 1'000'000, 0, 1 << 30);
  return ::poll(&p, 1, static_cast<int>(ms));
}

/// One attempt of at most `timeout`: a connected descriptor, or -1 with errno.
int connect_once(const Address& a, Duration timeout) {
  const int fd = ::socket(a.family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  int error = 0;
  if (::connect(fd, a.get(), a.size) != 0) error = errno;
  if (error == EINPROGRESS) {
    socklen_t size = sizeof(error);
    if (wait_for(fd, POLLOUT, timeout) <= 0) {
      error = ETIMEDOUT;
    } else if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) {
      error = errno;
    }
  }
  if (error == 0) return fd;
  ::close(fd);
  errno = error;
  return -1;
}

/// What helps against a connection that did not come about.
std::string connect_advice(int error) {
  switch (error) {
    case ENETUNREACH:
    case EHOSTUNREACH:
    case ENETDOWN:
    case EADDRNOTAVAIL:
      return "this machine has no way there; is that the peer's address, and its interface up with a route?";
    case ETIMEDOUT:
      return "nobody answers there; is that the peer's address, and no firewall on the way?";
    case ECONNREFUSED:
      return fmt::format(
          "nobody listens there: start the other end first: {} serve ...; or it is busy: it takes one run",
          program_name());
    default:
      return fmt::format("start the other end first: {} serve ...", program_name());
  }
}

std::string listen_advice(int error) {
  switch (error) {
    case EADDRNOTAVAIL:
      return "it is no address of this machine; --listen takes one that 'ip address' lists, or 0.0.0.0 or :: "
             "for all";
    case EACCES:
      return "ports below 1024 want root; choose another with --port";
    case EADDRINUSE:
      return "another program, or another serve, has it; choose another with --port";
    default:
      return "choose another address with --listen, or another port with --port";
  }
}

void no_delay(int fd) {
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

std::string name_of(const sockaddr_storage& s) {
  char text[INET6_ADDRSTRLEN] = "?";
  if (s.ss_family == AF_INET6) {
    sockaddr_in6 a;
    std::memcpy(&a, &s, sizeof(a));
    inet_ntop(AF_INET6, &a.sin6_addr, text, sizeof(text));
    return fmt::format("[{}]:{}", text, ntohs(a.sin6_port));
  }
  sockaddr_in a;
  std::memcpy(&a, &s, sizeof(a));
  inet_ntop(AF_INET, &a.sin_addr, text, sizeof(text));
  return fmt::format("{}:{}", text, ntohs(a.sin_port));
}

}  // namespace

OobSocket::OobSocket(int fd, std::string peer_name) : fd_(fd), peer_name_(std::move(peer_name)) {}

OobSocket::~OobSocket() {
  if (fd_ >= 0) ::close(fd_);
}
OobSocket::OobSocket(OobSocket&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      unsent_(std::move(other.unsent_)),
      error_(std::move(other.error_)),
      peer_name_(std::move(other.peer_name_)) {}
OobSocket& OobSocket::operator=(OobSocket&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(unsent_, other.unsent_);
  std::swap(error_, other.error_);
  std::swap(peer_name_, other.peer_name_);
  return *this;
}

Result<OobSocket> OobSocket::connect(const std::string& address, std::uint16_t port, Duration timeout,
                                     const volatile int* stop) {
  Result<Address> a = resolve(address, port);
  if (!a) return a.error();
  const auto end = Clock::now() + std::chrono::nanoseconds(timeout.ns);
  int error = ETIMEDOUT;
  do {
    const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(end - Clock::now()).count();
    const int fd = connect_once(*a, earlier(Time{left}, Time{1'000'000'000}) - Time{0});
    if (fd >= 0) {
      no_delay(fd);
      return OobSocket(fd, name_of(a->storage));
    }
    error = errno;
    if (stop != nullptr && *stop != 0) return Error{"interrupted before a connection stood"};
    ::usleep(50'000);  // the peer may be starting
  } while (Clock::now() < end && (stop == nullptr || *stop == 0));
  if (stop != nullptr && *stop != 0) return Error{"interrupted before a connection stood"};
  return Error{fmt::format("no connection to {} port {} within {:.1f} s: {}; {}", address, port,
                           static_cast<double>(timeout.ns) / 1e9, std::strerror(error),
                           connect_advice(error))};
}

bool OobSocket::receive(std::string& into) {
  std::array<char, 65536> buffer;
  for (int i = 0; i < 8; ++i) {
    const ssize_t n = ::recv(fd_, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (n > 0) {
      into.append(buffer.data(), static_cast<std::size_t>(n));
      if (static_cast<std::size_t>(n) < buffer.size()) return true;
      continue;
    }
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return true;
    error_ = n == 0 ? "it closed the connection" : std::strerror(errno);
    return false;
  }
  return true;
}

bool OobSocket::write_some() {
  while (!unsent_.empty()) {
    const ssize_t n = ::send(fd_, unsent_.data(), unsent_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n > 0) {
      unsent_.erase(0, static_cast<std::size_t>(n));
      continue;
    }
    if (errno == EINTR) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return true;
    error_ = std::strerror(errno);
    return false;
  }
  return true;
}

bool OobSocket::send(std::string_view bytes) {
  unsent_ += bytes;
  if (!write_some()) return false;
  if (unsent_.size() <= kMaxUnsentBytes) return true;
  error_ = "it does not read what we send";
  return false;
}

void OobSocket::flush(Duration timeout) {
  const auto end = Clock::now() + std::chrono::nanoseconds(timeout.ns);
  while (fd_ >= 0 && !unsent_.empty() && Clock::now() < end) {
    if (!write_some()) return;
    if (!unsent_.empty()) wait_for(fd_, POLLOUT, milliseconds(20));
  }
  if (fd_ >= 0) ::shutdown(fd_, SHUT_WR);
}

OobListener::OobListener(OobListener&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), port_(other.port_) {}
OobListener& OobListener::operator=(OobListener&& other) noexcept {
  std::swap(fd_, other.fd_);
  port_ = other.port_;
  return *this;
}
OobListener::~OobListener() {
  if (fd_ >= 0) ::close(fd_);
}

Result<OobListener> OobListener::listen(const std::string& address, std::uint16_t port) {
  Result<Address> a = resolve(address, port);
  if (!a) return a.error();
  OobListener l;
  l.fd_ = ::socket(a->family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const int on = 1;
  if (l.fd_ >= 0) ::setsockopt(l.fd_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (l.fd_ < 0 || ::bind(l.fd_, a->get(), a->size) != 0 || ::listen(l.fd_, 4) != 0) {
    const int error = errno;
    return Error{fmt::format("cannot listen on {} port {}: {}; {}", address, port, std::strerror(error),
                             listen_advice(error))};
  }
  sockaddr_storage s{};
  socklen_t size = sizeof(s);
  ::getsockname(l.fd_, reinterpret_cast<sockaddr*>(&s), &size);
  sockaddr_in in;  // the port stands at the same place in both families
  std::memcpy(&in, &s, sizeof(in));
  l.port_ = ntohs(in.sin_port);
  return l;
}

OobSocket OobListener::accept(Duration timeout) {
  if (wait_for(fd_, POLLIN, timeout) <= 0) return {};
  Address peer;
  peer.size = sizeof(peer.storage);
  const int fd =
      ::accept4(fd_, reinterpret_cast<sockaddr*>(&peer.storage), &peer.size, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd < 0) return {};
  no_delay(fd);
  return {fd, name_of(peer.storage)};
}

}  // namespace mrc::endpoint
