// SPDX-License-Identifier: BSD-3-Clause
#include "progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace mrc::simapp {

namespace {
constexpr int kBarCells = 30;
}

Progress::Progress(bool quiet) : on_(!quiet && ::isatty(STDERR_FILENO) == 1) {}

double Progress::seconds() const {
  return std::chrono::duration<double>(Clock::now() - start_).count();
}

void Progress::show(double done, const std::string& what, double work, const char* unit) {
  if (!on_ || Clock::now() < next_) return;
  next_ = Clock::now() + std::chrono::milliseconds(250);
  const double s = seconds();
  const double share = std::clamp(done, 0.0, 1.0);
  const auto cells = static_cast<std::size_t>(share * kBarCells);
  const std::string bar = std::string(cells, '#') + std::string(kBarCells - cells, '.');
  const std::string left = share > 0.001 ? fmt::format("{:.0f} s left", s * (1 - share) / share) : "";
  fmt::print(stderr, "\r[{}] {:3.0f}%  {}  {:.2f} {}  {}   ", bar, share * 100, what, s > 0 ? work / s : 0.0,
             unit, left);
  std::fflush(stderr);
  open_ = true;
}

void Progress::end() {
  if (open_) fmt::print(stderr, "\r{:<100}\r", "");
  open_ = false;
}

}  // namespace mrc::simapp
