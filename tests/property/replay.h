// SPDX-License-Identifier: BSD-3-Clause
// What a seed that kills the process says: an assertion, a sanitizer or a bad address ends it before any
// test framework could print which seed it was.
#pragma once

#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

// Present in sanitizer builds alone.
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*)());  // NOLINT: their name

namespace mrc::testing {

inline char replay_line[512];
inline struct sigaction before_replay[_NSIG];

/// Async-signal-safe. Once: a sanitizer may come here after the signal did.
inline void print_replay_line() {
  const std::size_t length = ::strnlen(replay_line, sizeof replay_line);
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, replay_line, length);
  replay_line[0] = '\0';
}

/// Leaves the signal to whom it belonged: a fault comes again, what was sent is sent again.
inline void on_deadly_signal(int signal, siginfo_t* info, void* /*context*/) {
  print_replay_line();
  ::sigaction(signal, &before_replay[signal], nullptr);
  if (info->si_code <= 0) ::raise(signal);
}

/// From here to the next call, a process that dies prints `command` and `seed` to stderr. One thread.
inline void replay_by(const std::string& command, std::uint64_t seed) {
  std::snprintf(replay_line, sizeof replay_line, "\n  died; replay: %s%llu\n", command.c_str(),
                static_cast<unsigned long long>(seed));
  static const bool installed = [] {
    struct sigaction action = {};
    action.sa_sigaction = on_deadly_signal;
    action.sa_flags = SA_SIGINFO;
    for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL})
      ::sigaction(signal, &action, &before_replay[signal]);
    if (__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(print_replay_line);
    return true;
  }();
  static_cast<void>(installed);
}

struct SeedRange {
  std::uint64_t first, last;
  [[nodiscard]] bool whole() const { return first != last; }
};

/// 1 to `count`, or the one that MRC_TEST_SEED names: the replay of tests without arguments of their own.
inline SeedRange seeds_to_run(std::uint64_t count) {
  const char* one = std::getenv("MRC_TEST_SEED");
  if (one == nullptr) return {1, count};
  const std::uint64_t seed = std::strtoull(one, nullptr, 10);
  return {seed, seed};
}

}  // namespace mrc::testing
