// SPDX-License-Identifier: BSD-3-Clause
// The fault runs tested: around a transport compiled with one defect at a time, a run must break a rule soon.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "base/seeded_defect.h"
#include "pool.h"

#ifndef MRC_SEEDED_DEFECTS
#error "compile this with -DMRC_SEEDED_DEFECTS, as the transport beside it"
#endif

namespace mrc::fault {
namespace {

constexpr std::uint64_t kMostRuns = 2000;
constexpr std::size_t kAtLeast = 20;
/// tests/property finds these. The hosts of these runs ask for no EV Probes (QpPolicy::reverse_probes), and
/// where they trim, their retry budgets have no end.
constexpr std::array kNotHere{Defect::kKeepReverseEv, Defect::kCountTrims};

bool find(Defect defect, unsigned jobs) {
  active_defect = defect;
  PoolOptions o;
  o.runs = kMostRuns;
  o.jobs = jobs;
  o.quiet = true;
  o.seconds_a_run = 5;
  const PoolResult r = run_seeds(o);
  active_defect = Defect::kNone;
  if (r.failures.empty()) {
    std::printf("%-28s %9s  FAILED: survived %llu runs\n", name_of(defect), "-",
                static_cast<unsigned long long>(r.counted + r.idle));
  } else {
    std::printf("%-28s %9llu  %s\n", name_of(defect), static_cast<unsigned long long>(r.failures[0].seed),
                r.failures[0].what.c_str());
  }
  std::fflush(stdout);
  return !r.failures.empty();
}

int all(const char* only, unsigned jobs) {
  std::printf("%-28s %9s  %s\n", "defect", "found in", "by");
  std::size_t found = 0;
  std::size_t tried = 0;
  for (std::size_t i = 1; i < static_cast<std::size_t>(Defect::kCount); ++i) {
    const auto defect = static_cast<Defect>(i);
    if (std::find(kNotHere.begin(), kNotHere.end(), defect) != kNotHere.end()) continue;
    if (only != nullptr && std::strcmp(only, name_of(defect)) != 0) continue;
    ++tried;
    found += find(defect, jobs) ? 1 : 0;
  }
  std::printf("%zu of %zu defects found, each within %llu runs\n", found, tried,
              static_cast<unsigned long long>(kMostRuns));
  return found == tried && tried != 0 && (only != nullptr || found >= kAtLeast) ? 0 : 1;
}

}  // namespace
}  // namespace mrc::fault

// fault_defects [name of one defect]
int main(int argc, char** argv) {
  return mrc::fault::all(argc > 1 ? argv[1] : nullptr, std::max(1U, std::thread::hardware_concurrency()));
}
