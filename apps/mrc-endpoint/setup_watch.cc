// SPDX-License-Identifier: BSD-3-Clause
#include "setup_watch.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <utility>

#include "base/printable.h"

namespace mrc::endpoint {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kNap{10};
constexpr std::chrono::milliseconds kMoment{1000};
constexpr std::size_t kMaxHeardBytes = 8U << 20;  // a peer says next to nothing before we have offered

/// Signals are the main thread's.
template <class F>
std::thread start_without_signals(F f) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread t(std::move(f));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return t;
}

}  // namespace

SetupPulse::SetupPulse(OobSocket& socket, const std::string& greeting, const std::string& ping,
                       Duration every)
    : socket_(socket) {
  thread_ = start_without_signals([this, greeting, ping, every] { run(greeting, ping, every); });
}

void SetupPulse::run(const std::string& greeting, const std::string& ping, Duration every) {
  bool open = socket_.send(greeting);
  auto next = Clock::now() + std::chrono::nanoseconds(every.ns);
  while (open && !stop_.load()) {
    std::this_thread::sleep_for(kNap);
    if (heard_.size() < kMaxHeardBytes) open = socket_.receive(heard_);
    if (!open || Clock::now() < next) continue;
    next = Clock::now() + std::chrono::nanoseconds(every.ns);
    open = socket_.send(ping);
  }
}

std::string SetupPulse::finish() {
  stop_.store(true);
  if (thread_.joinable()) thread_.join();
  return std::move(heard_);
}

SetupPulse::~SetupPulse() {
  finish();
}

SetupWatchdog::SetupWatchdog(Duration patience, std::string what, int code, const volatile int& signals)
    : watched_(::pthread_self()), stderr_fd_(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)) {
  struct sigaction wake {};
  wake.sa_handler = [](int) {};  // without SA_RESTART: the call ends with EINTR
  ::sigaction(SIGUSR1, &wake, nullptr);
  thread_ = start_without_signals(
      [this, patience, what = std::move(what), code, &signals] { run(patience, what, code, signals); });
}

void SetupWatchdog::run(Duration patience, const std::string& what, int code, const volatile int& signals) {
  auto end = Clock::now() + std::chrono::nanoseconds(patience.ns);
  bool signalled = false;
  while (!stop_.load()) {
    std::this_thread::sleep_for(kNap);
    if (signals != 0 && !signalled) {
      signalled = true;
      end = std::min(end, Clock::now() + kMoment);
    }
    if (Clock::now() < end) continue;
    if (!barked_.exchange(true)) {
      end = Clock::now() + kMoment;
      ::pthread_kill(watched_, SIGUSR1);
      continue;
    }
    const std::string line = "mrc-endpoint: " + printable(what) + "\n";
    if (stderr_fd_ >= 0) static_cast<void>(!::write(stderr_fd_, line.data(), line.size()));
    ::_exit(code);  // nothing can be cleaned up under a thread that is inside DPDK
  }
}

SetupWatchdog::~SetupWatchdog() {
  stop_.store(true);
  thread_.join();
  if (stderr_fd_ >= 0) ::close(stderr_fd_);
}

}  // namespace mrc::endpoint
