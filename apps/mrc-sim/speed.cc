// SPDX-License-Identifier: BSD-3-Clause
#include "speed.h"

#include <fmt/format.h>
#include <sys/resource.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#else
#include <chrono>
#endif

namespace mrc::simapp {

std::uint64_t profile_ticks() {
#if defined(__x86_64__)
  return __rdtsc();
#else
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

Usage usage_so_far() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return {static_cast<double>(used.ru_utime.tv_sec) + static_cast<double>(used.ru_utime.tv_usec) / 1e6,
          static_cast<std::uint64_t>(used.ru_maxrss) / 1024};
}

std::string speed_line(std::uint64_t hops, double seconds, const Usage& usage, bool invariants) {
  return fmt::format(
      "{} packet-hops in {:.2f} s ({:.2f} s of CPU): {:.2f} M hops per CPU second, {} MiB, invariants {}\n",
      hops, seconds, usage.cpu_seconds, static_cast<double>(hops) / usage.cpu_seconds / 1e6, usage.peak_mib,
      invariants ? "on" : "off");
}

std::string profile_line(const sim::Profile& profile, double cpu_seconds) {
  std::string out = "profile:";
  for (std::size_t i = 0; i < sim::kStages; ++i) {
    const double share =
        static_cast<double>(profile.ticks(static_cast<sim::Stage>(i))) / static_cast<double>(profile.total());
    out += fmt::format("{} {} {:.0f} % ({:.2f} s)", i == 0 ? "" : ",", sim::kStageNames[i], share * 100,
                       share * cpu_seconds);
  }
  return out + "\n";
}

}  // namespace mrc::simapp
