// SPDX-License-Identifier: BSD-3-Clause
#include "end.h"

#include <cassert>

#include "ethdev/eal.h"

namespace mrc::endpoint {

Result<std::unique_ptr<End>> End::create(const nic::NicConfig& config, const std::vector<unsigned>& cpus) {
  std::unique_ptr<End> end(new End);
  Result<std::unique_ptr<nic::Nic>> nic = nic::Nic::create(config);
  if (!nic) return nic.error();
  end->nic_ = *std::move(nic);
  for (unsigned w = 0; config.workers > 1 && w < config.workers; ++w) {
    end->threads_.emplace_back([nic = end->nic_.get(), w, cpu = cpus[w], stop = &end->stop_] {
      ethdev::set_this_thread_cpus({cpu});
      nic->worker(w).run(*stop);
    });
  }
  return end;
}

Result<void> End::make_lanes(std::size_t qps, std::size_t queue_entries) {
  assert(lanes_.empty());
  const bool direct = inline_polling() && qps <= kMaxInlineQps;
  for (unsigned w = 0; w < nic_->workers(); ++w) {
    if (direct) {
      lanes_.emplace_back(nic_->worker(w));
      continue;
    }
    Result<nic::AppQueue*> queue = nic_->create_app_queue(w, queue_entries);
    if (!queue) return queue.error();
    lanes_.emplace_back(**queue);
  }
  return {};
}

void End::stop() {
  stop_.store(true);
  for (std::thread& t : threads_) t.join();
  threads_.clear();
}

nic::MbufAccount End::finish() {
  stop();
  nic_->drain();
  return nic_->mbuf_account();
}

End::~End() {
  stop();
}

}  // namespace mrc::endpoint
