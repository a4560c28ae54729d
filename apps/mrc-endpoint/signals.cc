// SPDX-License-Identifier: BSD-3-Clause
#include "signals.h"

#include <unistd.h>

#include <csignal>

namespace mrc::endpoint {
namespace {

volatile int g_signals = 0;

volatile int g_exit_code = 0;

void on_alarm(int /*number*/) {
  _exit(g_exit_code);
}

void on_signal(int number) {
  const int seen = g_signals + 1;
  g_signals = seen;
  if (seen >= 2) _exit(128 + number);
}

}  // namespace

void catch_signals() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  ::sigaction(SIGHUP, &action, nullptr);  // a lost terminal: the results are still written
  ::signal(SIGPIPE, SIG_IGN);
}

void exit_within(unsigned seconds, int code) {
  g_exit_code = code;
  ::signal(SIGALRM, on_alarm);
  ::alarm(seconds);
}

const volatile int& signals_seen() {
  return g_signals;
}

}  // namespace mrc::endpoint
