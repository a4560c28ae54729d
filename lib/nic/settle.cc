// SPDX-License-Identifier: BSD-3-Clause
// Between receiving and sending: what the touched QPs want next, timers, posts and completions of application
// threads, link states.
#include <array>
#include <cassert>

#include "nic/core.h"

namespace mrc::nic {
namespace {

/// A post that the worker had to refuse comes back with an error: every accepted post completes once (D17).
transport::WcStatus status_of(PostStatus s) {
  switch (s) {
    case PostStatus::kBadLkey:
    case PostStatus::kTooLong:
      return transport::WcStatus::kLocLenErr;
    default:
      return transport::WcStatus::kWrFlushErr;
  }
}

void push_completions(AppDoor& door) {
  const std::span<const QpCompletion> held{&door.completions[door.completion_at], door.completions_held};
  const std::size_t n = door.queue->completions().push(held);
  door.completion_at += n;
  door.completions_held -= n;
  if (door.completions_held == 0) door.completion_at = 0;
}

bool hold_completion(AppDoor& door, const QpCompletion& c) {
  if (door.completions_held != 0) push_completions(door);
  if (door.completion_at + door.completions_held == door.completions.size()) return false;
  door.completions[door.completion_at + door.completions_held++] = c;
  return true;
}

/// False: try this post again later (send queue full, or no room to report a refusal).
bool take_post(Worker& face, AppDoor& door, const AppPost& post) {
  const PostStatus s = post.kind == AppPost::Kind::kSend
                           ? face.post_send(post.qpn, post.lkey, post.wr)
                           : face.post_recv(post.qpn, transport::RecvRequest{post.wr.wr_id});
  if (s == PostStatus::kOk) return true;
  if (s == PostStatus::kQueueFull) return false;
  QpCompletion c;
  c.qpn = post.qpn;
  c.wc.wr_id = post.wr.wr_id;
  c.wc.status = status_of(s);
  c.wc.opcode = post.kind == AppPost::Kind::kSend ? transport::WcOpcode::kRdmaWrite
                                                  : transport::WcOpcode::kRecvRdmaWithImm;
  return hold_completion(door, c);
}

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

bool ask_link(const PlanePort& plane) {
  if (plane.link_up != nullptr) return plane.link_up(plane.dpdk_port);
  rte_eth_link link{};
  return rte_eth_link_get_nowait(plane.dpdk_port, &link) != 0 || link.link_status == RTE_ETH_LINK_UP;
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
    const Time at = later(wake.deadline, w.last_poll + kLateTimer);
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

void take_posts(WorkerCore& w) {
  Worker& face = w.nic.faces[w.index];
  for (const auto& door : w.doors) {
    if (door->posts_held == 0) {
      door->post_at = 0;
      door->posts_held = door->queue->posts().pop(door->posts);
    }
    while (door->posts_held != 0 && take_post(face, *door, door->posts[door->post_at])) {
      ++door->post_at;
      --door->posts_held;
    }
  }
}

void deliver_completions(WorkerCore& w) {
  for (const auto& door : w.doors) {
    if (door->completions_held != 0) push_completions(*door);
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < w.completion.size(); ++i) {
    QpHome& home = *w.slots[w.completion[i]];
    AppDoor& door = *w.doors[home.app->door()];
    bool more = door.completions_held != 0;  // the application is slow: the rest stays in the QP
    while (!more) {
      std::array<transport::Completion, kBurst> some;
      const std::size_t n = home.qp.poll_completions(some);
      for (std::size_t c = 0; c < n; ++c) door.completions[c] = {home.qpn, some[c]};
      door.completion_at = 0;
      door.completions_held = n;
      if (n == 0) break;
      push_completions(door);
      more = door.completions_held != 0;
    }
    home.in_completion = more;
    if (more) w.completion[kept++] = w.completion[i];
  }
  w.completion.resize(kept);
}

void poll_links(WorkerCore& w, Time now) {
  if (now < w.next_link_poll) return;
  w.next_link_poll = now + w.nic.config.link_poll_interval;
  bool changed = false;
  for (std::size_t p = 0; p < w.ports.size(); ++p) {
    WorkerPort& port = w.ports[p];
    if (port.asks_link) w.nic.link_up[p].store(ask_link(w.nic.config.planes[p]), std::memory_order_relaxed);
    const bool up = w.nic.link_up[p].load(std::memory_order_relaxed);
    if (up == port.up) continue;
    port.up = up;
    changed = true;
    if (!up) {  // as if lost on the wire; what goes stale here would only delay what comes after
      const auto staged = port.stage.staged();
      w.stats.ports[p].tx_abandoned += staged.size();
      rte_pktmbuf_free_bulk(staged.data(), static_cast<unsigned>(staged.size()));
      port.stage.taken(staged.size());
    }
    for (const auto& home : w.slots) {
      if (home == nullptr) continue;
      home->qp.on_port_change(static_cast<std::uint8_t>(p), up, now);
      w.touch(*home);
    }
  }
  if (changed) ports_changed(w, now);
}

}  // namespace mrc::nic
