// SPDX-License-Identifier: BSD-3-Clause
// The only thing that crosses cores: a bounded single-producer single-consumer ring of values.
#pragma once

#include <atomic>
#include <bit>
#include <cassert>
#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>

namespace mrc {

/// Bounded SPSC queue. Capacity is rounded up to a power of two, memory is taken at construction.
/// Thread rule: exactly one thread pushes and one pops; each side caches the other's index, so a burst costs
/// one acquire load. Full and empty are results, never waits.
template <class T>
class SpscRing {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  explicit SpscRing(std::size_t capacity)
      : mask_(std::bit_ceil(capacity < 2 ? std::size_t{2} : capacity) - 1),
        slots_(std::make_unique<T[]>(mask_ + 1)) {}

  [[nodiscard]] std::size_t capacity() const { return mask_ + 1; }

  /// Appends as many of `items` as fit; returns how many.
  std::size_t push(std::span<const T> items) {
    const std::size_t head = producer_.index.load(std::memory_order_relaxed);
    std::size_t room = capacity() - (head - producer_.cached_other);
    if (room < items.size()) {
      producer_.cached_other = consumer_.index.load(std::memory_order_acquire);
      room = capacity() - (head - producer_.cached_other);
    }
    assert(room <= capacity());
    const std::size_t n = items.size() < room ? items.size() : room;
    for (std::size_t i = 0; i < n; ++i) slots_[(head + i) & mask_] = items[i];
    producer_.index.store(head + n, std::memory_order_release);
    return n;
  }
  bool push(const T& item) { return push(std::span<const T>(&item, 1)) == 1; }

  /// Takes up to out.size() items; returns how many.
  std::size_t pop(std::span<T> out) {
    const std::size_t tail = consumer_.index.load(std::memory_order_relaxed);
    std::size_t ready = consumer_.cached_other - tail;
    if (ready < out.size()) {
      consumer_.cached_other = producer_.index.load(std::memory_order_acquire);
      ready = consumer_.cached_other - tail;
    }
    assert(ready <= capacity());
    const std::size_t n = out.size() < ready ? out.size() : ready;
    for (std::size_t i = 0; i < n; ++i) out[i] = slots_[(tail + i) & mask_];
    consumer_.index.store(tail + n, std::memory_order_release);
    return n;
  }

  /// A snapshot; exact only when the other side is still.
  [[nodiscard]] std::size_t size() const {
    return producer_.index.load(std::memory_order_acquire) - consumer_.index.load(std::memory_order_acquire);
  }

 private:
  struct alignas(64) Side {  // own cache line each: a shared line costs 15x across cores
    std::atomic<std::size_t> index{0};
    std::size_t cached_other = 0;
  };
  const std::size_t mask_;
  const std::unique_ptr<T[]> slots_;
  Side producer_;
  Side consumer_;
};

}  // namespace mrc
