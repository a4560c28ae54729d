// SPDX-License-Identifier: BSD-3-Clause
// Between receiving and sending: what the touched QPs want next, and timers.
#include <array>

#include "nic/core.h"

namespace mrc::nic {
namespace {

void make_ready(WorkerCore& w, QpHome& home) {
  home.in_ready = true;
  w.ready.push(slot_of(home.qpn));
}

/// A QP that shares its controller and has work queues behind the siblings that wait already: else one that
/// is always first would take every byte the window gives back.
void queue_shared(WorkerCore& w, QpHome& home, bool tx_ready) {
  CcGroup& group = *home.group;
  if (!home.in_ready && !home.in_blocked && !home.templates.empty()) {
    // What can go although the first that waits can not needs no window (a repeat of the tail).
    if (tx_ready && (group.blocked.empty() || w.slots[group.blocked.front()]->qp.cc_blocked())) {
      make_ready(w, home);
    } else if (tx_ready || home.qp.cc_blocked()) {
      home.in_blocked = true;
      group.blocked.push(slot_of(home.qpn));
    }
  }
  if (!group.blocked.empty()) release_blocked(w, group);
}

constexpr std::int64_t kTypicalPacketBytes = 4096;
/// A deadline that has passed already waits for something else than time: look again this much later.
constexpr Duration kLateTimer = microseconds(2);

}  // namespace

// As many as the window may have room for, at least one. That one sends, which brings it back here, or has
// found out that it has nothing to send, which does too: so the queue never stands still while window is
// free.
void release_blocked(WorkerCore& w, CcGroup& group) {
  std::int64_t room = group.cc->cwnd_bytes() - group.cc->inflight_bytes();
  while (!group.blocked.empty()) {
    QpHome& home = *w.slots[group.blocked.front()];
    if (home.qp.cc_blocked()) return;
    group.blocked.pop();
    home.in_blocked = false;
    if (!home.qp.wake().tx_ready) continue;  // its work was settled otherwise
    make_ready(w, home);
    room -= kTypicalPacketBytes;
    if (room <= 0) return;
  }
}

void settle(WorkerCore& w) {
  for (const std::uint32_t slot : w.dirty) {
    QpHome& home = *w.slots[slot];
    home.dirty = false;
    const transport::Wake wake = home.qp.wake();
    if (home.group != nullptr) {
      queue_shared(w, home, wake.tx_ready);
    } else if (wake.tx_ready && !home.in_ready && !home.templates.empty()) {
      make_ready(w, home);
    }
    if (wake.control_ready && !home.in_control && !home.templates.empty()) {
      home.in_control = true;
      w.control.push(slot);
    }
    // Lazy: a deadline that moved back is found out when the timer fires.
    const Time at = later(wake.deadline, w.now + kLateTimer);
    if (at < w.wheel.scheduled(slot)) w.wheel.schedule(slot, at);
    if (home.app != nullptr && !home.in_completion) {
      home.in_completion = true;
      w.completion.push_back(slot);
    }
  }
  w.dirty.clear();
}

// D13: only what had its deadline before the receive queues were known to be empty; by then an answer that
// was in time has been seen.
void run_timers(WorkerCore& w, Time safe, Time now) {
  std::array<std::uint32_t, kBurst> due;
  std::size_t n = due.size();
  while (n == due.size()) {  // each fires once: settle() arms them again
    n = w.wheel.expire(earlier(safe, now), due);
    for (std::size_t i = 0; i < n; ++i) {
      QpHome& home = *w.slots[due[i]];
      const Time deadline = home.qp.wake().deadline;
      if (deadline <= safe) {
        home.qp.on_timer(now);
        ++w.stats.timers_fired;
        w.touch(home);
      } else {
        w.wheel.schedule(due[i], deadline);
      }
    }
  }
}

}  // namespace mrc::nic
