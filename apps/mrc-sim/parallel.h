// SPDX-License-Identifier: BSD-3-Clause
// Independent runs over the local cores, with one progress line.
#pragma once

#include <cstddef>
#include <functional>

namespace mrc::simapp {

inline constexpr unsigned kMaxThreads = 1024;
inline constexpr unsigned kMaxSeeds = 100'000;  ///< of one claim, row or point

/// Calls work(i) for each i < jobs, each once, from `threads` threads (0: one a core), at most as many as
/// there are jobs and kMaxThreads, fewer when the machine gives no more. Returns when all are done. `work`
/// touches nothing that another i touches.
void run_parallel(std::size_t jobs, unsigned threads, bool quiet,
                  const std::function<void(std::size_t)>& work);

}  // namespace mrc::simapp
