// SPDX-License-Identifier: BSD-3-Clause
// A thin, non-blocking TCP layer under the exchange. Nothing here waits longer than it is told.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace mrc::endpoint {

/// A connected stream. Move-only; the destructor closes.
class OobSocket {
 public:
  OobSocket() = default;
  OobSocket(int fd, std::string peer_name);
  ~OobSocket();
  OobSocket(OobSocket&& other) noexcept;
  OobSocket& operator=(OobSocket&& other) noexcept;

  /// Connects to a numeric address; retries refused connections until `timeout` (the peer may be starting).
  static Result<OobSocket> connect(const std::string& address, std::uint16_t port, Duration timeout,
                                   const volatile int* stop = nullptr);

  [[nodiscard]] bool open() const { return fd_ >= 0; }
  [[nodiscard]] int fd() const { return fd_; }

  /// Reads what is there, at most a few hundred KB a call, without waiting. False: the connection ended;
  /// `error()`.
  bool receive(std::string& into);
  /// Largest queue of a peer that does not read; more ends the connection.
  static constexpr std::size_t kMaxUnsentBytes = 8U << 20;
  /// Queues `bytes` and writes what the kernel takes. False: the connection ended, or its peer does not read.
  bool send(std::string_view bytes);
  /// Writes the rest of the queue, waiting up to `timeout`, and ends our direction of the stream.
  void flush(Duration timeout);
  [[nodiscard]] const std::string& error() const { return error_; }
  [[nodiscard]] const std::string& peer_name() const { return peer_name_; }

 private:
  bool write_some();

  int fd_ = -1;
  std::string unsent_;
  std::string error_;
  std::string peer_name_ = "?";  ///< from the beginning: one that its peer has reset cannot be asked any more
};

/// A listening socket.
class OobListener {
 public:
  /// `port` 0: the kernel chooses; port() tells.
  static Result<OobListener> listen(const std::string& address, std::uint16_t port);
  OobListener(OobListener&& other) noexcept;
  OobListener& operator=(OobListener&& other) noexcept;
  ~OobListener();

  [[nodiscard]] std::uint16_t port() const { return port_; }
  /// A connection, or a closed socket after `timeout`.
  OobSocket accept(Duration timeout);

 private:
  OobListener() = default;
  int fd_ = -1;
  std::uint16_t port_ = 0;
};

}  // namespace mrc::endpoint
