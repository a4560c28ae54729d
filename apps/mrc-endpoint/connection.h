// SPDX-License-Identifier: BSD-3-Clause
// The TCP connection of `serve` and `run`: who connects, who waits, and what the peer hears during set-up.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "console.h"
#include "exchange.h"
#include "failure.h"
#include "oob_socket.h"
#include "options.h"

namespace mrc::endpoint {

/// Our name in greetings and results.
std::string software();

/// Thread rule: the main thread.
class Connection {
 public:
  /// Both outlive it. Not for --loopback.
  Connection(const Options& options, Console& console) : options_(options), console_(console) {}

  /// `run`: connects. `serve`: listens until a peer has greeted; `clock` is read meanwhile. Errors: nobody
  /// there, a port in use, a signal.
  std::optional<Failure> open(const std::function<Time()>& clock);
  /// `run`, once open: set-up takes seconds, during which the peer hears from us: hello first, then pings. It
  /// hears of a failure, too. `clock` is read when `build` has succeeded.
  std::optional<Failure> greet_during(const std::function<std::optional<Failure>()>& build,
                                      const std::function<Time()>& clock);

  /// Begun already; for the session. Once, after all that.
  std::unique_ptr<Exchange> take_exchange() { return std::move(exchange_); }
  /// Carries what the exchange says and hears, when it is time to; an end of the connection ends it.
  void carry(Exchange& exchange, Time now);
  /// The last words of an exchange that is over.
  void say_rest(Exchange& exchange);
  /// Waits a moment for everything to go out.
  void flush();
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  std::optional<Failure> connect();
  std::optional<Failure> wait_for_peer(const std::function<Time()>& clock);
  void warn_of_reach();

  const Options& options_;
  Console& console_;
  OobSocket socket_;
  std::unique_ptr<Exchange> exchange_;
  std::vector<std::string> warnings_;
  Time next_io_;
  std::string in_;
};

}  // namespace mrc::endpoint
