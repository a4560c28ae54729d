// SPDX-License-Identifier: BSD-3-Clause
#include "console.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "report/rates.h"
#include "report/say.h"

namespace mrc::endpoint {

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
