// SPDX-License-Identifier: BSD-3-Clause
// The door for application threads: one SPSC ring of posts into a worker, one of completions out of it.
#pragma once

#include <cstdint>
#include <span>

#include "base/spsc_ring.h"
#include "nic/config.h"

namespace mrc::nic {

/// One post on its way to a worker.
struct AppPost {
  enum class Kind : std::uint8_t { kSend, kRecv };
  std::uint32_t qpn = 0;
  std::uint32_t lkey = 0;
  Kind kind = Kind::kSend;
  transport::WorkRequest wr;  ///< kRecv uses wr_id alone
};

/// Queue pair of rings between one application thread and one worker. Thread rule: the three calls below
/// belong to one application thread. Posts are in order; a post that the worker must refuse (no such QP, key
/// out of bounds, too long) comes back as a completion with an error, so every accepted post completes once.
/// When a QP's send queue is full the worker leaves the post in the ring: kQueueFull then shows here.
class AppQueue {
 public:
  AppQueue(unsigned worker, std::size_t door, std::size_t capacity)
      : worker_(worker), door_(door), posts_(capacity), completions_(capacity * 2) {}

  /// kOk or kQueueFull; what else may be wrong comes as a completion.
  PostStatus post_send(std::uint32_t qpn, std::uint32_t lkey, const transport::WorkRequest& wr) {
    return posts_.push(AppPost{qpn, lkey, AppPost::Kind::kSend, wr}) ? PostStatus::kOk
                                                                     : PostStatus::kQueueFull;
  }
  PostStatus post_recv(std::uint32_t qpn, const transport::RecvRequest& rr) {
    AppPost post{qpn, 0, AppPost::Kind::kRecv, {}};
    post.wr.wr_id = rr.wr_id;
    return posts_.push(post) ? PostStatus::kOk : PostStatus::kQueueFull;
  }
  /// Up to out.size() completions of all QPs bound to this queue; never waits.
  std::size_t poll_cq(std::span<QpCompletion> out) { return completions_.pop(out); }

  [[nodiscard]] unsigned worker() const { return worker_; }

  // The worker's side.
  [[nodiscard]] std::size_t door() const { return door_; }  ///< index among the worker's queues
  SpscRing<AppPost>& posts() { return posts_; }
  SpscRing<QpCompletion>& completions() { return completions_; }

 private:
  const unsigned worker_;
  const std::size_t door_;
  SpscRing<AppPost> posts_;
  SpscRing<QpCompletion> completions_;
};

}  // namespace mrc::nic
