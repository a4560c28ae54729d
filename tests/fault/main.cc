// SPDX-License-Identifier: BSD-3-Clause
// Seeded whole-system fault runs: as many as asked for, or on and on.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include "fault_run.h"

namespace mrc::fault {
namespace {

struct Options {
  std::uint64_t runs = 300;
  std::uint64_t first_seed = 1;
  std::uint64_t seed = 0;  ///< not 0: this one alone
  std::uint64_t at_least = 1;
  unsigned jobs = std::max(1U, std::thread::hardware_concurrency());
  bool nightly = false;
};

constexpr const char* kUsage =
    "fault_runs [--runs N] [--first-seed N] [--at-least N] [--jobs N] [--nightly] | --seed N\n"
    "  runs counted runs; fails when a rule breaks, or when anything of the coverage was met less than "
    "--at-least times\n"
    "  --nightly goes on until a rule breaks, with seeds that follow from the time; prints what it met every "
    "1000 runs\n";

bool parse(int argc, char** argv, Options& o) {
  const auto number = [&](int& i, std::uint64_t& to) {
    char* end = nullptr;
    if (++i >= argc) return false;
    to = std::strtoull(argv[i], &end, 10);
    return end != argv[i] && *end == '\0';
  };
  for (int i = 1; i < argc; ++i) {
    const std::string_view a = argv[i];
    std::uint64_t jobs = o.jobs;
    const bool fine = a == "--runs"         ? number(i, o.runs)
                      : a == "--first-seed" ? number(i, o.first_seed)
                      : a == "--at-least"   ? number(i, o.at_least)
                      : a == "--seed"       ? number(i, o.seed)
                      : a == "--jobs"       ? number(i, jobs) && jobs >= 1 && jobs <= 256
                      : a == "--nightly"    ? (o.nightly = true)
                                            : false;
    if (!fine) return false;
    o.jobs = static_cast<unsigned>(jobs);
  }
  return true;
}

/// Runs of all jobs together.
class Suite {
 public:
  explicit Suite(const Options& o) : o_(o), next_(o.first_seed) {}

  bool run() {
    std::vector<std::thread> jobs;
    for (unsigned i = 0; i < o_.jobs; ++i) jobs.emplace_back([this] { work(); });
    for (std::thread& t : jobs) t.join();
    print();
    return failures_ == 0 && covered();
  }

 private:
  void work() {
    while (failures_ == 0 && (o_.nightly || counted_ < o_.runs)) {
      const std::uint64_t seed = next_++;
      const Scenario scenario = make_scenario(seed);
      const RunResult r = fault::run(scenario);
      const std::lock_guard lock(mutex_);
      if (!r.failure.empty()) {
        ++failures_;
        std::printf("FAILED: seed %llu (%s): %s\n  again: fault_runs --seed %llu\n",
                    static_cast<unsigned long long>(seed), name(scenario.kind), r.failure.c_str(),
                    static_cast<unsigned long long>(seed));
        continue;
      }
      packets_ += r.packets;
      coverage_ += r.coverage;
      counted_ += r.counts ? 1 : 0;
      idle_ += r.counts ? 0 : 1;
      if (o_.nightly && counted_ % 1000 == 0 && r.counts) print();
    }
  }

  void print() const {
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start_;
    std::printf(
        "%llu runs counted, %llu more in which no fault met a packet, %llu data packets, %.1f s, %.1f "
        "runs/s, seeds %llu to %llu\n",
        static_cast<unsigned long long>(counted_.load()), static_cast<unsigned long long>(idle_),
        static_cast<unsigned long long>(packets_), took.count(),
        static_cast<double>(counted_.load()) / took.count(), static_cast<unsigned long long>(o_.first_seed),
        static_cast<unsigned long long>(next_.load() - 1));
    for (const auto& [what, times] : coverage_.counts())
      std::printf("  %-32s %12llu\n", what.c_str(), static_cast<unsigned long long>(times));
    std::fflush(stdout);
  }

  [[nodiscard]] bool covered() const {
    bool all = !coverage_.counts().empty();
    for (const auto& [what, times] : coverage_.counts()) {
      if (times >= o_.at_least) continue;
      all = false;
      std::printf("FAILED: \"%s\" was met %llu times, not %llu: more --runs, or it is never tested\n",
                  what.c_str(), static_cast<unsigned long long>(times),
                  static_cast<unsigned long long>(o_.at_least));
    }
    return all;
  }

  const Options& o_;
  std::atomic<std::uint64_t> next_;
  std::atomic<std::uint64_t> counted_{0};
  std::atomic<std::uint64_t> failures_{0};
  std::mutex mutex_;
  std::uint64_t idle_ = 0;
  std::uint64_t packets_ = 0;
  Coverage coverage_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

int one(std::uint64_t seed) {
  const Scenario s = make_scenario(seed);
  const RunResult r = run(s);
  std::printf("seed %llu: %s, %u planes, %zu connections, %zu messages, %llu packets, %lld us: %s\n",
              static_cast<unsigned long long>(seed), name(s.kind), s.clos.planes, s.pairs.size(),
              s.messages.size(), static_cast<unsigned long long>(r.packets),
              static_cast<long long>(r.virtual_time.ns / 1000),
              r.failure.empty() ? "all held" : r.failure.c_str());
  for (const auto& [what, times] : r.coverage.counts())
    if (times != 0) std::printf("  %-32s %12llu\n", what.c_str(), static_cast<unsigned long long>(times));
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
  if (o.seed != 0) return mrc::fault::one(o.seed);
  if (o.nightly) {
    o.first_seed = static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
    std::printf("first seed %llu\n", static_cast<unsigned long long>(o.first_seed));
  }
  return mrc::fault::Suite(o).run() ? 0 : 1;
}
