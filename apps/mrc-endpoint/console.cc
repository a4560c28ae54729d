// SPDX-License-Identifier: BSD-3-Clause
#include "console.h"

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

#include "report/rates.h"
#include "report/say.h"

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

Console::Console(bool quiet) : quiet_(quiet), terminal_(::isatty(STDERR_FILENO) == 1) {}

void Console::log(const std::string& line) {
  if (quiet_) return;
  end_progress();
  report::say(stderr, "{}\n", line);
}

void Console::end_progress() {
  if (line_open_) report::say(stderr, "\n");
  line_open_ = false;
}

void Console::progress(const SessionProgress& p, Time now) {
  if (quiet_ || !p.running || now < next_) return;
  const std::uint64_t messages = p.completed + p.received;
  const std::string phase = fmt::format("{} {} B", p.workload, p.size_bytes);
  const bool same = phase == last_phase_ && last_.ns != 0;
  next_ = now + (terminal_ ? milliseconds(500) : seconds(5));
  if (same) {
    const double s = static_cast<double>((now - last_).ns) / 1e9;
    const auto rate = static_cast<double>(report::delta(messages, last_messages_)) / s;
    const std::string line = fmt::format("{}  {} messages  {:.0f}/s  {:.2f} Gb/s", phase, messages, rate,
                                         rate * static_cast<double>(p.size_bytes) * 8 / 1e9);
    if (terminal_) std::fputc('\r', stderr);
    report::say(stderr, fmt::runtime(terminal_ ? "{:<78}" : "{}\n"), line);
    std::fflush(stderr);
    line_open_ = terminal_;
  }
  last_ = now;
  last_messages_ = messages;
  last_phase_ = phase;
}

}  // namespace mrc::endpoint
