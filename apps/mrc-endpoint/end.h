// SPDX-License-Identifier: BSD-3-Clause
// One Nic with whoever polls its workers: the calling thread when there is one worker, a thread each
// otherwise.
#pragma once

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "base/result.h"
#include "lane.h"
#include "nic/nic.h"

namespace mrc::endpoint {

/// Thread rule: made, polled and destroyed on the control thread.
class End {
 public:
  /// `cpus`: of each worker.
  static Result<std::unique_ptr<End>> create(const nic::NicConfig& config, const std::vector<unsigned>& cpus);
  ~End();
  End(const End&) = delete;
  End& operator=(const End&) = delete;

  [[nodiscard]] nic::Nic& nic() { return *nic_; }
  /// Ways to the workers for this many QPs: each asked by itself when they are few and polled here, else over
  /// queues of `queue_entries` posts. Once.
  Result<void> make_lanes(std::size_t qps, std::size_t queue_entries);
  [[nodiscard]] std::vector<Lane>& lanes() { return lanes_; }
  /// True: the calling thread polls the one worker.
  [[nodiscard]] bool inline_polling() const { return nic_->workers() == 1; }
  /// Inline: one iteration of the worker. Otherwise nothing; the workers have threads.
  std::size_t poll() { return inline_polling() ? nic_->worker(0).poll() : 0; }
  /// Ends the threads. Afterwards the calling thread may poll.
  void stop();
  /// stop(), frees what is under way, and tells how many mbufs are missing.
  nic::MbufAccount finish();

 private:
  End() = default;
  std::unique_ptr<nic::Nic> nic_;
  std::vector<Lane> lanes_;
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

}  // namespace mrc::endpoint
