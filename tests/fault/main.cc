// SPDX-License-Identifier: BSD-3-Clause
// Seeded whole-system fault runs: as many as asked for, or on and on.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "fault_run.h"
#include "pool.h"

namespace mrc::fault {
namespace {

using ull = unsigned long long;

struct Options {
  std::uint64_t runs = 300;
  std::uint64_t first_seed = 0;  ///< 0: 1, or of the time at night
  std::uint64_t seed = 0;        ///< not 0: this one alone
  std::uint64_t at_least = ~std::uint64_t{0};
  std::uint64_t jobs = std::max(1U, std::thread::hardware_concurrency());
  std::uint64_t seconds = 0;
  std::uint64_t most_seconds = 0;  ///< not 0: longer is a failure
  bool nightly = false;
  bool trace = false;
};

constexpr const char* kUsage =
    "fault_runs [--runs N] [--at-least N] [--first-seed N] [--jobs N] [--most-seconds N]\n"
    "fault_runs --nightly [--first-seed N] [--seconds N] [--jobs N]\n"
    "fault_runs --seed N [--trace]\n"
    "  N runs that count (MRC_FAULT_RUNS over it); fails when a rule breaks, or when anything of the "
    "coverage was met less than\n"
    "  --at-least times (N / 200: 100 in 20000 runs), or when they took over --most-seconds. --nightly goes "
    "on until stopped, whatever fails: "
    "prints\n"
    "  each failing seed, what it met every 1000 runs, and fails at its end if any did. --seed runs one, "
    "and\n"
    "  prints what it met; with --trace every packet.\n";

bool parse(int argc, char** argv, Options& o) {
  const auto number = [&](int& i, std::uint64_t& to) {
    char* end = nullptr;
    if (++i >= argc) return false;
    to = std::strtoull(argv[i], &end, 10);
    return end != argv[i] && *end == '\0';
  };
  for (int i = 1; i < argc; ++i) {
    const std::string_view a = argv[i];
    const bool fine = a == "--runs"           ? number(i, o.runs) && o.runs != 0
                      : a == "--first-seed"   ? number(i, o.first_seed)
                      : a == "--at-least"     ? number(i, o.at_least)
                      : a == "--seed"         ? number(i, o.seed)
                      : a == "--seconds"      ? number(i, o.seconds)
                      : a == "--most-seconds" ? number(i, o.most_seconds)
                      : a == "--jobs"         ? number(i, o.jobs) && o.jobs >= 1 && o.jobs <= 256
                      : a == "--nightly"      ? (o.nightly = true)
                      : a == "--trace"        ? (o.trace = true)
                                              : false;
    if (!fine) return false;
  }
  if (const char* asked = std::getenv("MRC_FAULT_RUNS"); asked != nullptr && *asked != '\0') {
    char* end = nullptr;
    o.runs = std::strtoull(asked, &end, 10);
    if (*end != '\0' || o.runs == 0) return false;
  }
  if (o.at_least == ~std::uint64_t{0}) o.at_least = o.nightly ? 0 : o.runs / 200;
  if (o.first_seed == 0)
    o.first_seed =
        o.nightly ? static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count())
                  : 1;
  return true;
}

void print(const PoolResult& r, std::uint64_t first_seed) {
  std::printf(
      "%llu runs counted, %llu more in which no fault met a packet, %llu data packets, %.1f s, %.1f runs/s, "
      "seeds %llu to %llu\n  %-48s %12s %8s\n",
      static_cast<ull>(r.counted), static_cast<ull>(r.idle), static_cast<ull>(r.packets), r.seconds,
      static_cast<double>(r.counted) / r.seconds, static_cast<ull>(first_seed),
      static_cast<ull>(r.next_seed - 1), "met", "times", "in runs");
  for (const auto& [what, count] : r.coverage.counts())
    std::printf("  %-48s %12llu %8llu\n", what.c_str(), static_cast<ull>(count.times),
                static_cast<ull>(count.runs));
  std::fflush(stdout);
}

bool covered(const PoolResult& r, std::uint64_t at_least) {
  bool all = !r.coverage.counts().empty();
  for (const auto& [what, count] : r.coverage.counts()) {
    if (count.times >= at_least) continue;
    all = false;
    std::printf("FAILED: \"%s\" was met %llu times, not %llu: more --runs, or it is never tested\n",
                what.c_str(), static_cast<ull>(count.times), static_cast<ull>(at_least));
  }
  return all;
}

int many(const Options& o) {
  PoolOptions p;
  p.first_seed = o.first_seed;
  p.runs = o.nightly ? 0 : o.runs;
  p.jobs = static_cast<unsigned>(o.jobs);
  p.stop_at_failure = !o.nightly;
  p.seconds = static_cast<double>(o.seconds);
  p.report_every = o.nightly ? 1000 : 0;
  std::printf("first seed %llu, %llu processes\n", static_cast<ull>(p.first_seed), static_cast<ull>(o.jobs));
  std::fflush(stdout);
  const PoolResult r = run_seeds(
      p, [&](const PoolResult& so_far) { print(so_far, o.first_seed); },
      [](const Failure& f) {
        std::printf("FAILED: seed %llu (%s)\n  again: fault_runs --seed %llu\n", static_cast<ull>(f.seed),
                    f.what.c_str(), static_cast<ull>(f.seed));
        std::fflush(stdout);
      });
  print(r, o.first_seed);
  const bool enough = o.nightly || r.counted >= o.runs;
  const bool in_time = o.most_seconds == 0 || r.seconds <= static_cast<double>(o.most_seconds);
  if (!in_time)
    std::printf("FAILED: %.1f s, at most %llu are allowed\n", r.seconds, static_cast<ull>(o.most_seconds));
  const bool all_met = covered(r, o.at_least);
  return r.failures.empty() && enough && all_met && in_time ? 0 : 1;
}

int one(const Options& o) {
  const Scenario s = make_scenario(o.seed);
  const RunResult r = run(s, o.trace);
  std::printf("seed %llu: %s, %u planes, %zu connections, %zu messages, %llu packets, %lld us: %s\n",
              static_cast<ull>(o.seed), name(s.kind), s.clos.planes, s.pairs.size(), s.messages.size(),
              static_cast<ull>(r.packets), static_cast<long long>(r.virtual_time.ns / 1000),
              r.failure.empty() ? "all held" : r.failure.c_str());
  for (const auto& [what, count] : r.coverage.counts())
    if (count.times != 0) std::printf("  %-48s %12llu\n", what.c_str(), static_cast<ull>(count.times));
  return r.failure.empty() ? 0 : 1;
}

}  // namespace
}  // namespace mrc::fault

int main(int argc, char** argv) {
  mrc::fault::Options o;
  if (!mrc::fault::parse(argc, argv, o)) {
    std::fputs(mrc::fault::kUsage, stderr);
    return 2;
  }
  return o.seed != 0 ? mrc::fault::one(o) : mrc::fault::many(o);
}
