// SPDX-License-Identifier: BSD-3-Clause
// Seconds that a single-threaded run took. Wall time on a quiet machine; CPU time of the thread where others
// compete for the core, which would otherwise be measured along.
#pragma once

#include <time.h>

namespace mrc::perf {

enum class StopwatchClock { kWall, kThreadCpu };
inline StopwatchClock stopwatch_clock =
    StopwatchClock::kWall;  // one choice a program, made before it measures

class Stopwatch {
 public:
  [[nodiscard]] double seconds() const { return now() - start_; }

 private:
  static double now() {
    timespec t{};
    clock_gettime(stopwatch_clock == StopwatchClock::kWall ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
  }
  double start_ = now();
};

}  // namespace mrc::perf
