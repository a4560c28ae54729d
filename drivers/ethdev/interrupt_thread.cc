// SPDX-License-Identifier: BSD-3-Clause
#include "ethdev/interrupt_thread.h"

#include <rte_alarm.h>
#include <rte_errno.h>
#include <rte_interrupts.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "ethdev/text.h"

namespace mrc::ethdev {
namespace {

struct Job {
  const std::function<void()>& work;
  std::atomic<bool> done{false};
};

// EAL serves alarms on its interrupt thread.
void run(void* argument) {
  auto* job = static_cast<Job*>(argument);
  job->work();
  job->done.store(true, std::memory_order_release);
}

}  // namespace

Result<void> on_interrupt_thread(const std::function<void()>& work) {
  if (rte_thread_is_intr() != 0) {
    work();
    return {};
  }
  Job job{work};
  if (const int rc = rte_eal_alarm_set(1, run, &job); rc != 0)
    return error("EAL's interrupt thread: no alarm can be set: ", rte_strerror(-rc));
  constexpr std::chrono::seconds kPatience{2};
  constexpr std::chrono::microseconds kPoll{100};
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!job.done.load(std::memory_order_acquire)) {
    // Cancelled before it began: 1. While it runs the call waits for its end, so `job` may go afterwards.
    if (std::chrono::steady_clock::now() > deadline && rte_eal_alarm_cancel(run, &job) > 0)
      return error("EAL's interrupt thread: busy for ", kPatience.count(), " s");
    std::this_thread::sleep_for(kPoll);
  }
  return {};
}

}  // namespace mrc::ethdev
