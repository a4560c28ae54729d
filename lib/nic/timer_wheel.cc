// SPDX-License-Identifier: BSD-3-Clause
#include "nic/timer_wheel.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace mrc::nic {

TimerWheel::TimerWheel(std::size_t capacity, Time start)
    : entries_(capacity), elapsed_(static_cast<std::uint64_t>(start.ns) >> kTickBits) {
  assert(start.ns >= 0);
  for (auto& level : heads_) level.fill(kNil);
}

void TimerWheel::schedule(std::uint32_t id, Time deadline) {
  cancel(id);
  if (deadline.is_never()) return;
  entries_[id].deadline = deadline;
  link(id);
}

void TimerWheel::cancel(std::uint32_t id) {
  assert(id < entries_.size());
  if (entries_[id].deadline.is_never()) return;
  unlink(id);
  entries_[id].deadline = Time::never();
}

// The level is that of the highest bit in which the tick differs from `elapsed_`: entries of level k lie in
// a slot that level k's hand has not reached, so passing time moves each entry down at most kLevels times.
void TimerWheel::link(std::uint32_t id) {
  Entry& e = entries_[id];
  const std::uint64_t ns = static_cast<std::uint64_t>(std::max<std::int64_t>(e.deadline.ns, 0));
  constexpr std::uint64_t kSpan = std::uint64_t{1} << (kSlotBits * kLevels);
  std::uint64_t tick = (ns + (1U << kTickBits) - 1) >> kTickBits;
  tick = std::clamp(tick, elapsed_, elapsed_ + kSpan - (kSpan >> kSlotBits) - 1);
  const unsigned bit = 63U - static_cast<unsigned>(std::countl_zero((tick ^ elapsed_) | (kSlots - 1)));
  e.level = static_cast<std::uint8_t>(std::min(bit / kSlotBits, kLevels - 1));
  e.slot = static_cast<std::uint8_t>((tick >> (kSlotBits * e.level)) & (kSlots - 1));
  std::uint32_t& head = heads_[e.level][e.slot];
  e.prev = kNil;
  e.next = head;
  if (head != kNil) entries_[head].prev = id;
  head = id;
  occupied_[e.level] |= std::uint64_t{1} << e.slot;
}

void TimerWheel::unlink(std::uint32_t id) {
  Entry& e = entries_[id];
  if (e.next != kNil) entries_[e.next].prev = e.prev;
  if (e.prev != kNil) {
    entries_[e.prev].next = e.next;
  } else {
    heads_[e.level][e.slot] = e.next;
    if (e.next == kNil) occupied_[e.level] &= ~(std::uint64_t{1} << e.slot);
  }
}

bool TimerWheel::next_slot(Slot& out) const {
  for (unsigned level = 0; level < kLevels; ++level) {
    if (occupied_[level] == 0) continue;
    const unsigned shift = kSlotBits * level;
    const auto hand = static_cast<unsigned>((elapsed_ >> shift) & (kSlots - 1));
    const auto ahead =
        static_cast<unsigned>(std::countr_zero(std::rotr(occupied_[level], static_cast<int>(hand))));
    // Start of that slot; below level 0 it may lie before `elapsed_` only when the hand stands in it.
    const std::uint64_t start = ((elapsed_ >> shift) + ahead) << shift;
    out = {level, (hand + ahead) & (kSlots - 1), std::max(start, elapsed_)};
    return true;
  }
  return false;
}

std::size_t TimerWheel::expire(Time now, std::span<std::uint32_t> out) {
  assert(!now.is_never());  // would end all of time
  const std::uint64_t now_tick = static_cast<std::uint64_t>(now.ns) >> kTickBits;
  std::size_t n = 0;
  Slot due{};
  while (next_slot(due) && due.tick <= now_tick) {
    elapsed_ = due.tick;
    std::uint32_t& head = heads_[due.level][due.slot];
    if (due.level == 0) {
      while (head != kNil) {
        if (n == out.size()) return n;
        const std::uint32_t id = head;
        cancel(id);
        out[n++] = id;
      }
      continue;
    }
    std::uint32_t id = head;
    head = kNil;
    occupied_[due.level] &= ~(std::uint64_t{1} << due.slot);
    while (id != kNil) {
      const std::uint32_t next = entries_[id].next;
      link(id);
      id = next;
    }
  }
  elapsed_ = std::max(elapsed_, now_tick);
  return n;
}

Time TimerWheel::next() const {
  Slot s{};
  if (!next_slot(s)) return Time::never();
  return {static_cast<std::int64_t>(s.tick << kTickBits)};
}

}  // namespace mrc::nic
