// SPDX-License-Identifier: BSD-3-Clause
// All packets inside a fabric: one array taken at construction, and lists threaded through it. A queue or a
// wire costs twelve bytes, however long it gets.
#pragma once

#include <cassert>
#include <cstdint>
#include <utility>
#include <vector>

#include "fabric/packet.h"

namespace mrc::fabric {

/// One place in the pool. `twin` is the slot of a duplicate that shares the handle. What every packet needs
/// lies in the first cache line, source routing in the second.
struct alignas(64) Slot {
  Time at;  ///< when it arrives (on a wire), when it ended (done)
  std::uint32_t next = kNil;
  std::uint32_t twin = kNil;
  Packet packet;
  LinkId link = kNil;
  HostId host = kNil;
  DropReason reason = DropReason::kNone;
  LinkId corrupted_at = kNil;  ///< with the time: once packet.corrupted
  Time corrupted_when;
};

/// A FIFO of slots; every slot is in exactly one list or held by exactly one function.
struct SlotList {
  std::uint32_t head = kNil;
  std::uint32_t tail = kNil;
  std::uint32_t count = 0;

  [[nodiscard]] bool empty() const { return head == kNil; }
};

/// Fixed-size pool. Single owner, no locks. take() fails when all slots are out; that is a result, not an
/// error.
class PacketPool {
 public:
  /// Reserves the slots; what is never taken costs addresses, not memory.
  explicit PacketPool(std::uint32_t capacity) : capacity_(capacity) { slots_.reserve(capacity); }

  Slot& operator[](std::uint32_t i) { return slots_[i]; }
  const Slot& operator[](std::uint32_t i) const { return slots_[i]; }
  [[nodiscard]] std::uint32_t in_use() const { return in_use_; }
  [[nodiscard]] std::uint32_t capacity() const { return capacity_; }

  /// A free slot, or kNil. Its contents are stale.
  std::uint32_t take() {
    std::uint32_t i = free_;
    if (i != kNil) {
      free_ = slots_[i].next;
    } else {
      if (slots_.size() == capacity_) return kNil;
      i = static_cast<std::uint32_t>(slots_.size());
      slots_.emplace_back();
    }
    ++in_use_;
    return i;
  }
  void release(std::uint32_t i) {
    assert(in_use_ > 0);
    --in_use_;
    release_slot(i);
  }

  void append(SlotList& list, std::uint32_t i) {
    slots_[i].next = kNil;
    if (list.tail == kNil) {
      list.head = i;
    } else {
      slots_[list.tail].next = i;
    }
    list.tail = i;
    ++list.count;
  }
  /// Precondition: not empty.
  std::uint32_t pop(SlotList& list) {
    const std::uint32_t i = list.head;
    assert(i != kNil && list.count > 0);
    list.head = slots_[i].next;
    if (list.head == kNil) list.tail = kNil;
    --list.count;
    return i;
  }
  /// Exchanges what two slots hold, their places in lists apart.
  void swap_contents(std::uint32_t a, std::uint32_t b) {
    std::swap(slots_[a].packet, slots_[b].packet);
    if (slots_[a].twin == b) return;  // they are each other's twins and stay so
    std::swap(slots_[a].twin, slots_[b].twin);
    if (slots_[a].twin != kNil) slots_[slots_[a].twin].twin = a;
    if (slots_[b].twin != kNil) slots_[slots_[b].twin].twin = b;
  }

 private:
  void release_slot(std::uint32_t i) {
    slots_[i].next = free_;
    free_ = i;
  }

  std::uint32_t capacity_;
  std::vector<Slot> slots_;
  std::uint32_t free_ = kNil;
  std::uint32_t in_use_ = 0;
};

}  // namespace mrc::fabric
