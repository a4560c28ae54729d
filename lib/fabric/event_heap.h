// SPDX-License-Identifier: BSD-3-Clause
// Time order. A wire is a FIFO, so only the head of each wire and the packet in service at each port need an
// entry: the heap is as large as the number of busy links, not as the number of packets.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/time.h"

namespace mrc::fabric {

enum class EventType : std::uint8_t {
  kService,  ///< the packet in service at a link's port has left it; target: link
  kArrival,  ///< the head of a wire has reached the other end; target: link
  kStray,    ///< a packet held back by a reordering fault arrives; target: slot
};

struct Event {
  Time at;
  std::uint64_t order = 0;  ///< breaks ties: services first, then by age, so that a run replays exactly
  std::uint32_t target = 0;
  EventType type = EventType::kService;
};

/// Four-ary min-heap on (at, order); memory is taken at construction and push beyond it is an own bug.
class EventHeap {
 public:
  explicit EventHeap(std::size_t capacity) : capacity_(capacity) { heap_.reserve(capacity); }

  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] std::size_t size() const { return heap_.size(); }
  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  [[nodiscard]] const Event& top() const { return heap_.front(); }

  void push(Time at, EventType type, std::uint32_t target) {
    assert(heap_.size() < capacity_);
    heap_.push_back(make(at, type, target));
    sift_up(heap_.size() - 1);
  }
  /// pop() and push() in one: a wire whose head has arrived waits for its next packet.
  void replace_top(Time at, EventType type, std::uint32_t target) {
    assert(!heap_.empty());
    heap_.front() = make(at, type, target);
    sift_down(0);
  }
  void pop() {
    assert(!heap_.empty());
    heap_.front() = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) sift_down(0);
  }
  /// Forgets all events for which `gone(event)` holds. Linear; for links that die.
  template <class Predicate>
  void remove_if(Predicate gone) {
    std::erase_if(heap_, gone);
    for (std::size_t i = heap_.size(); i > 0; --i) sift_down(i - 1);
  }

 private:
  Event make(Time at, EventType type, std::uint32_t target) {
    // End of service before arrival at the same instant: the mark of a port is decided before the packet can
    // be seen at the far end of a wire without delay.
    const std::uint64_t rank = type == EventType::kService ? 0 : std::uint64_t{1} << 63;
    return {at, rank | next_order_++, target, type};
  }
  /// Without branches: which of two events comes first is anybody's guess.
  static bool before(const Event& a, const Event& b) {
    return static_cast<bool>(static_cast<int>(a.at < b.at) |
                             (static_cast<int>(a.at == b.at) & static_cast<int>(a.order < b.order)));
  }
  void sift_up(std::size_t i) {
    const Event e = heap_[i];
    while (i > 0) {
      const std::size_t parent = (i - 1) / 4;
      if (!before(e, heap_[parent])) break;
      heap_[i] = heap_[parent];
      i = parent;
    }
    heap_[i] = e;
  }
  void sift_down(std::size_t i) {
    const Event e = heap_[i];
    const std::size_t n = heap_.size();
    for (;;) {
      const std::size_t first = 4 * i + 1;
      if (first >= n) break;
      std::size_t best = first;
      for (std::size_t c = first + 1; c < n && c < first + 4; ++c) {
        if (before(heap_[c], heap_[best])) best = c;
      }
      if (!before(heap_[best], e)) break;
      heap_[i] = heap_[best];
      i = best;
    }
    heap_[i] = e;
  }

  std::vector<Event> heap_;
  std::size_t capacity_;
  std::uint64_t next_order_ = 0;
};

}  // namespace mrc::fabric
