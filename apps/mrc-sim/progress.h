// SPDX-License-Identifier: BSD-3-Clause
// A progress line on a terminal: share done, rate, time left. Elsewhere nothing: output goes to files.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace mrc::simapp {

/// Thread rule: the main thread.
class Progress {
 public:
  explicit Progress(bool quiet);
  ~Progress() { end(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Called often; prints a few times a second. `unit_rate` goes before `unit` ("M hops/s").
  void show(double done, const std::string& what, double work, const char* unit);
  void end();
  [[nodiscard]] double seconds() const;

 private:
  using Clock = std::chrono::steady_clock;
  bool on_;
  bool open_ = false;
  Clock::time_point start_ = Clock::now();
  Clock::time_point next_ = start_;
};

}  // namespace mrc::simapp
