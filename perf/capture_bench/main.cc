// SPDX-License-Identifier: BSD-3-Clause
// What capture costs while it is off: the datapath asks for each frame that it sends or receives whether
// somebody wants a copy. Two processes (runner.cc) run in turn on one core. `BM_Off`: the datapath as it is,
// the other one was built without the question. `BM_Twice` compares that one with itself. Where a process's
// memory comes to lie makes it up to a tenth faster or slower for all its life, so each iteration has a pair
// of new processes and takes the medians of their runs. Counters: ns and ns_other, medians of CPU time a
// message of 64 B; x_other, the median of the iterations' ratios, which lie between x_least and x_most. What
// BM_Twice shows as well is noise.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

extern char** environ;

namespace {

constexpr int kPairs = 25;                    // of processes
constexpr int kRuns = 7;                      // of each
constexpr unsigned long kMessages = 200'000;  // a twentieth of a second and more
constexpr int kAttempts = 5;                  // a run that repaired something is none of those meant

unsigned first_cpu() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof(set), &set);
  unsigned cpu = 0;
  while (cpu + 1 < CPU_SETSIZE && !CPU_ISSET(cpu, &set)) ++cpu;
  return cpu;
}

/// A runner.cc process; idle but while it is asked.
class Runner {
 public:
  explicit Runner(const std::string& name) {
    const std::string path = std::filesystem::read_symlink("/proc/self/exe").parent_path() / name;
    std::string cpu = std::to_string(first_cpu());
    int in[2];
    int out[2];
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    std::string program = path;
    char* const argv[] = {program.data(), cpu.data(), nullptr};
    const int rc = posix_spawn(&pid_, path.c_str(), &actions, nullptr, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(in[0]);
    close(out[1]);
    to_ = fdopen(in[1], "w");
    from_ = fdopen(out[0], "r");
    if (rc != 0) throw std::runtime_error(path + ": cannot be started");
    measure();  // warms up
  }
  ~Runner() {
    std::fclose(to_);  // the end of its input ends it
    std::fclose(from_);
    waitpid(pid_, nullptr, 0);
  }
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  /// Nanoseconds a message.
  double measure() {
    for (int i = 0; i < kAttempts; ++i) {
      double ns = 0;
      int clean = 0;
      std::fprintf(to_, "%lu\n", kMessages);
      std::fflush(to_);
      if (std::fscanf(from_, "%lf %d", &ns, &clean) != 2) throw std::runtime_error("the runner ended");
      if (clean == 1) return ns;
    }
    throw std::runtime_error("no run without repairs; is the machine busy?");
  }

 private:
  pid_t pid_ = -1;
  FILE* to_ = nullptr;
  FILE* from_ = nullptr;
};

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

/// Nanoseconds a message of new processes, the order of their runs alternating.
std::pair<double, double> measure_pair(const char* first, const char* second) {
  Runner a(first);
  Runner b(second);
  std::vector<double> of_a;
  std::vector<double> of_b;
  for (int i = 0; i < kRuns; ++i) {
    if (i % 2 == 0) of_a.push_back(a.measure());
    of_b.push_back(b.measure());
    if (i % 2 != 0) of_a.push_back(a.measure());
  }
  return {median(of_a), median(of_b)};
}

void compare(benchmark::State& state, const char* first, const char* second) {
  try {
    std::vector<double> of_a;
    std::vector<double> of_b;
    std::vector<double> ratios;
    for (auto _ : state) {
      const auto [a, b] = measure_pair(first, second);
      of_a.push_back(a);
      of_b.push_back(b);
      ratios.push_back(a / b);
      state.SetIterationTime(a * static_cast<double>(kMessages) * 1e-9);
    }
    state.counters["ns"] = median(of_a);
    state.counters["ns_other"] = median(of_b);
    state.counters["x_other"] = median(ratios);
    state.counters["x_least"] = *std::min_element(ratios.begin(), ratios.end());
    state.counters["x_most"] = *std::max_element(ratios.begin(), ratios.end());
  } catch (const std::exception& e) {
    state.SkipWithError(e.what());
  }
}

void BM_Off(benchmark::State& state) {
  compare(state, "capture_runner", "capture_runner_without");
}
void BM_Twice(benchmark::State& state) {
  compare(state, "capture_runner_without", "capture_runner_without");
}
BENCHMARK(BM_Off)->UseManualTime()->Iterations(kPairs)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Twice)->UseManualTime()->Iterations(kPairs)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
