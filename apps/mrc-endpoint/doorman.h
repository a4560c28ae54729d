// SPDX-License-Identifier: BSD-3-Clause
// Who may be the peer of `serve`: whoever greets as one. Port scans, browsers and other strangers are sent
// away and counted, and none of them keeps a peer waiting.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "base/time.h"
#include "exchange.h"
#include "oob_socket.h"

namespace mrc::endpoint {

/// A connection whose hello was right. What it said after that is in the exchange.
struct Guest {
  OobSocket socket;
  std::unique_ptr<Exchange> exchange;
};

/// Thread rule: one thread.
class Doorman {
 public:
  /// `log`: a line about each of the first strangers.
  Doorman(OobListener listener, std::string software, Duration peer_timeout,
          std::function<void(const std::string&)> log);

  /// Waits a moment for something to happen. At most kMaxWaiting connections are heard at a time; the one
  /// that has said nothing for longest goes for the next.
  std::optional<Guest> step(Time now);
  [[nodiscard]] std::uint16_t port() const { return listener_.port(); }
  /// Connections sent away.
  [[nodiscard]] std::uint64_t strangers() const { return strangers_; }

  static constexpr std::size_t kMaxWaiting = 16;

 private:
  void send_away(Guest& guest, const std::string& why);
  /// True: it greeted. False: it is still waited for, or its exchange is over.
  static bool listen_to(Guest& guest, Time now);

  OobListener listener_;
  const std::string software_;
  const Duration peer_timeout_;
  const std::function<void(const std::string&)> log_;
  std::list<Guest> waiting_;  ///< oldest first
  std::uint64_t strangers_ = 0;
};

}  // namespace mrc::endpoint
