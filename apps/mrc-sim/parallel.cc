// SPDX-License-Identifier: BSD-3-Clause
#include "parallel.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "progress.h"

namespace mrc::simapp {

void run_parallel(std::size_t jobs, unsigned threads, bool quiet,
                  const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  std::atomic<std::size_t> done{0};
  if (threads == 0) threads = std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::thread> pool;
  for (unsigned t = 0; t < threads; ++t)
    pool.emplace_back([&] {
      for (std::size_t i = next++; i < jobs; i = next++) {
        work(i);
        ++done;
      }
    });
  Progress progress(quiet);
  while (done < jobs) {
    progress.show(static_cast<double>(done) / static_cast<double>(jobs),
                  fmt::format("{} of {} runs", done.load(), jobs), static_cast<double>(done), "runs/s");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  for (std::thread& t : pool) t.join();
}

}  // namespace mrc::simapp
