// SPDX-License-Identifier: BSD-3-Clause
#include "endpoint_bench/c2c.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
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

double measure_c2c_ns(unsigned cpu_a, unsigned cpu_b) {
  alignas(64) std::atomic<int> ball{0};  // even: a's turn
  std::vector<double> blocks;
  std::thread b([&] {
    pin(cpu_b);
    for (int i = 0; i < kBlocks * kHandOvers; ++i) {
      while (ball.load(std::memory_order_acquire) != 2 * i + 1) {
      }
      ball.store(2 * i + 2, std::memory_order_release);
    }
  });
  std::thread a([&] {
    pin(cpu_a);
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
  return blocks[blocks.size() / 2];
}

}  // namespace mrc::perf
