// SPDX-License-Identifier: BSD-3-Clause
// Who wants to be called when. Entries are lazy: the owner knows which one still counts.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "base/time.h"

namespace mrc::sim {

/// Min-heap on (time, insertion): equal times come out in order of insertion, so that a run replays exactly.
class TimerHeap {
 public:
  struct Entry {
    Time at;
    std::uint64_t order;
    std::uint32_t target;
    friend bool operator>(const Entry& a, const Entry& b) {
      return a.at != b.at ? a.at > b.at : a.order > b.order;
    }
  };

  void push(Time at, std::uint32_t target) { heap_.push({at, next_order_++, target}); }
  [[nodiscard]] Time next() const { return heap_.empty() ? Time::never() : heap_.top().at; }
  Entry pop() {
    const Entry e = heap_.top();
    heap_.pop();
    return e;
  }

 private:
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> heap_;
  std::uint64_t next_order_ = 0;
};

}  // namespace mrc::sim
