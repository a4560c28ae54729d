// SPDX-License-Identifier: BSD-3-Clause
// How the application's thread reaches a worker: directly when it polls the worker itself, through rings when
// the worker has a thread of its own (or when there are more QPs than can be asked one by one).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "nic/nic.h"

namespace mrc::endpoint {

/// QPs above which the inline lane uses a queue as well.
inline constexpr std::size_t kMaxInlineQps = 16;

/// Thread rule: the application's thread; for an inline lane that is the polling thread too.
class Lane {
 public:
  explicit Lane(nic::Worker& worker) : worker_(&worker) {}
  explicit Lane(nic::AppQueue& queue) : queue_(&queue) {}

  /// For QpParams::app.
  [[nodiscard]] nic::AppQueue* queue() const { return queue_; }
  void add_qp(std::uint32_t qpn) { qpns_.push_back(qpn); }
  void clear() { qpns_.clear(); }

  nic::PostStatus post_send(std::uint32_t qpn, std::uint32_t lkey, const transport::WorkRequest& wr) {
    return queue_ != nullptr ? queue_->post_send(qpn, lkey, wr) : worker_->post_send(qpn, lkey, wr);
  }
  nic::PostStatus post_recv(std::uint32_t qpn, const transport::RecvRequest& rr) {
    return queue_ != nullptr ? queue_->post_recv(qpn, rr) : worker_->post_recv(qpn, rr);
  }
  /// Everything posted has reached the worker.
  [[nodiscard]] bool taken() const { return queue_ == nullptr || queue_->posts().size() == 0; }
  /// Completions of any of the lane's QPs; the QP is told by wr_id.
  std::size_t poll_cq(std::span<transport::Completion> out) {
    return queue_ != nullptr ? poll_queue(out) : poll_worker(out);
  }

 private:
  std::size_t poll_queue(std::span<transport::Completion> out) {
    nic::QpCompletion batch[32];
    const std::size_t n = queue_->poll_cq(std::span(batch).first(out.size() < 32 ? out.size() : 32));
    for (std::size_t i = 0; i < n; ++i) out[i] = batch[i].wc;
    return n;
  }
  std::size_t poll_worker(std::span<transport::Completion> out) {
    std::size_t n = 0;
    for (std::size_t i = 0; i < qpns_.size() && n < out.size(); ++i) {
      if (++next_ >= qpns_.size()) next_ = 0;  // no QP starves another
      n += worker_->poll_cq(qpns_[next_], out.subspan(n));
    }
    return n;
  }

  nic::Worker* worker_ = nullptr;
  nic::AppQueue* queue_ = nullptr;
  std::vector<std::uint32_t> qpns_;
  std::size_t next_ = 0;
};

}  // namespace mrc::endpoint
