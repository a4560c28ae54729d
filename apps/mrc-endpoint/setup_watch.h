// SPDX-License-Identifier: BSD-3-Clause
// While DPDK starts, the main thread may be away for seconds, or for ever: a peer has to hear from us
// meanwhile, and a start that hangs has to end.
#pragma once

#include <pthread.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>

#include "base/time.h"
#include "oob_socket.h"

namespace mrc::endpoint {

/// Greets on a connection and pings until it is told to stop. What the peer says meanwhile is kept.
/// Thread rule: the socket is this object's until finish().
class SetupPulse {
 public:
  SetupPulse(OobSocket& socket, const std::string& greeting, const std::string& ping, Duration every);
  ~SetupPulse();
  SetupPulse(const SetupPulse&) = delete;
  SetupPulse& operator=(const SetupPulse&) = delete;

  /// Ends the pings. Returns what was heard. A connection that ended shows at the next receive as well.
  std::string finish();

 private:
  void run(const std::string& greeting, const std::string& ping, Duration every);

  OobSocket& socket_;
  std::string heard_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

/// Ends a set-up that neither succeeds nor fails: a driver waits for a peer that does not answer. The system
/// call it waits in is interrupted; where that does not help, the process ends. Thread rule: made and
/// destroyed on the thread that sets up.
class SetupWatchdog {
 public:
  /// After `patience`, or a moment after `signals` is not 0, the calling thread is interrupted; if it is
  /// still not done a moment later the process ends with `code` and `what` as the line on standard error, the
  /// one at this time: EAL's start diverts it.
  SetupWatchdog(Duration patience, std::string what, int code, const volatile int& signals);
  ~SetupWatchdog();
  SetupWatchdog(const SetupWatchdog&) = delete;
  SetupWatchdog& operator=(const SetupWatchdog&) = delete;

  /// It came to that: what failed then failed for want of time.
  [[nodiscard]] bool barked() const { return barked_.load(); }

 private:
  void run(Duration patience, const std::string& what, int code, const volatile int& signals);

  const pthread_t watched_;
  int stderr_fd_;
  std::atomic<bool> stop_{false};
  std::atomic<bool> barked_{false};
  std::thread thread_;
};

}  // namespace mrc::endpoint
