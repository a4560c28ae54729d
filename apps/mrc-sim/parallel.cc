// SPDX-License-Identifier: BSD-3-Clause
#include "parallel.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <system_error>
#include <thread>
#include <vector>

#include "progress.h"

namespace mrc::simapp {

void run_parallel(std::size_t jobs, unsigned threads, bool quiet,
                  const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  std::atomic<std::size_t> done{0};
  if (threads == 0) threads = std::max(1U, std::thread::hardware_concurrency());
  threads = static_cast<unsigned>(std::min<std::size_t>({threads, jobs, kMaxThreads}));
  const auto take_jobs = [&] {
    for (std::size_t i = next++; i < jobs; i = next++) {
      work(i);
      ++done;
    }
  };
  std::vector<std::thread> pool;
  try {
    while (pool.size() < threads) pool.emplace_back(take_jobs);
  } catch (const std::system_error&) {  // the machine gives no more: those that run share the work
    if (pool.empty()) take_jobs();
  }
  Progress progress(quiet);
  while (done < jobs) {
    progress.show(static_cast<double>(done) / static_cast<double>(jobs),
                  fmt::format("{} of {} runs", done.load(), jobs), static_cast<double>(done), "runs/s");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  for (std::thread& t : pool) t.join();
}

}  // namespace mrc::simapp
