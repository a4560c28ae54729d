// SPDX-License-Identifier: BSD-3-Clause
// Which planes have a queue that trims, and of which nothing has told yet how long it is (D8).
#pragma once

#include <array>

#include "base/limits.h"
#include "base/time.h"

namespace mrc::transport {

/// A trimmed packet tells of a full queue. What waits in it is behind torsos and probes, which go ahead, so
/// that a probe may overtake it by more than any sample says: until a Write that left after the trimmed one,
/// over the same plane, has come through and its sample has told of the wait. That counts for `memory`, the
/// time for which the samples stand; so does a notice from behind which nothing comes. Value type, one owner.
class FullQueues {
 public:
  /// A packet that left at `sent` over `plane` was trimmed.
  void on_trimmed(unsigned plane, Time sent, Time now, Duration memory) {
    Queue& queue = queues_[plane];
    if (now < queue.until) return;  // it is waited for, or known
    queue = {.since = sent, .until = now + memory};
    untold_ |= 1U << plane;
  }
  /// A Write that left at `sent` over `plane` was acknowledged, and its sample taken.
  void on_passed(unsigned plane, Time sent, Time now, Duration memory) {
    if (!untold(plane, now) || sent < queues_[plane].since) return;
    queues_[plane].until = now + memory;
    untold_ &= ~(1U << plane);
  }
  [[nodiscard]] bool untold(unsigned plane, Time now) const {
    return (untold_ >> plane & 1U) != 0 && now < queues_[plane].until;
  }

 private:
  struct Queue {
    Time since;  ///< the first trimmed packet left
    Time until;
  };
  std::array<Queue, kMaxPlanes> queues_{};
  std::uint32_t untold_ = 0;  ///< a bit a plane
};

}  // namespace mrc::transport
