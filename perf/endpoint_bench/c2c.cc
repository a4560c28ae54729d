// SPDX-License-Identifier: BSD-3-Clause
#include "endpoint_bench/c2c.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

namespace mrc::perf {
namespace {

constexpr int kBlocks = 41;
constexpr int kHandOvers = 2000;

void pin(unsigned cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  sched_setaffinity(0, sizeof(set), &set);
}

}  // namespace

std::string C2c::text() const {
  if (!measured) return "not measured, one CPU only";
  char line[96];
  std::snprintf(line, sizeof(line), "%.0f ns one way (CPU %u to %u)", one_way_ns, cpu_a, cpu_b);
  return line;
}

C2c measure_c2c() {
  C2c out;
  cpu_set_t allowed;
  sched_getaffinity(0, sizeof(allowed), &allowed);
  std::vector<unsigned> cpus;
  for (unsigned c = 0; c < CPU_SETSIZE && cpus.size() < 2; ++c) {
    if (CPU_ISSET(c, &allowed)) cpus.push_back(c);
  }
  if (cpus.size() < 2) return out;
  alignas(64) std::atomic<int> ball{0};  // even: a's turn
  std::vector<double> blocks;
  std::thread b([&] {
    pin(cpus[1]);
    for (int i = 0; i < kBlocks * kHandOvers; ++i) {
      while (ball.load(std::memory_order_acquire) != 2 * i + 1) {
      }
      ball.store(2 * i + 2, std::memory_order_release);
    }
  });
  std::thread a([&] {
    pin(cpus[0]);
    int i = 0;
    for (int block = 0; block < kBlocks; ++block) {
      const auto start = std::chrono::steady_clock::now();
      for (int k = 0; k < kHandOvers; ++k, ++i) {
        ball.store(2 * i + 1, std::memory_order_release);
        while (ball.load(std::memory_order_acquire) != 2 * i + 2) {
        }
      }
      const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
      blocks.push_back(took.count() / (2.0 * kHandOvers));
    }
  });
  a.join();
  b.join();
  std::sort(blocks.begin(), blocks.end());
  out = {true, cpus[0], cpus[1], blocks[blocks.size() / 2]};
  return out;
}

}  // namespace mrc::perf
