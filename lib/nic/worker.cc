// SPDX-License-Identifier: BSD-3-Clause
// One iteration of a worker, its loop, and the inline calls.
#include <rte_lcore.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <cassert>

#include "nic/core.h"

namespace mrc::nic {
namespace {

/// D13: the host was away, between two iterations or in the midst of one: nobody can tell these apart, and
/// poll_gap_min is more than an iteration takes.
void end_absence(WorkerCore& w, Duration gap) {
  w.poll_began = w.now;
  w.gap_debt = gap;
  ++w.stats.poll_gaps;
  for (const auto& home : w.slots) {
    if (home == nullptr || gap <= home->base_rtt) continue;
    home->qp.on_poll_gap(w.now, gap);
    w.wheel.schedule(slot_of(home->qpn), home->qp.wake().deadline);
    w.touch(*home);
  }
}

/// After an absence the next counts only when the host has been present for as long. So a host whose every
/// poll is late has slow timers, but at least half of the time passes for them: they fire.
void note_time(WorkerCore& w, Time now) {
  w.now = later(now, w.now);  // a TSC may step back when a virtual CPU moves
  const Duration gap = w.now - w.poll_began;
  if (gap <= w.nic.config.poll_gap_min || w.gap_debt.ns > 0 || w.poll_began.ns == 0) [[likely]]
    return;
  end_absence(w, gap);
}

void begin_poll(WorkerCore& w) {
  const Duration since = w.now - w.poll_began;
  w.gap_debt = since < w.gap_debt ? w.gap_debt - since : Duration{};
  w.poll_began = w.now;
}

void serve_call(WorkerCore& w) {
  WorkerCall* call = w.mailbox.load(std::memory_order_acquire);
  if (call == nullptr) return;
  w.mailbox.store(nullptr, std::memory_order_relaxed);
  call->fn(call->arg);
  call->done.store(true, std::memory_order_release);
}

constexpr Duration kLongestSleep = microseconds(50);

void idle(const WorkerCore& w, const Worker& face) {
  switch (w.nic.config.idle) {
    case IdlePolicy::kSpin:
      rte_pause();
      return;
    case IdlePolicy::kYield:
      sched_yield();
      return;
    case IdlePolicy::kSleep: {
      const Time next = face.next_deadline();
      const Duration until = next.is_never() ? kLongestSleep : next - w.nic.clock.now();
      const std::int64_t ns = std::clamp<std::int64_t>(until.ns, 0, kLongestSleep.ns);
      if (ns == 0) return;
      const timespec t{0, ns};
      nanosleep(&t, nullptr);
      return;
    }
  }
}

/// Without an lcore id the mempools have no cache for this thread: every mbuf would cost an atomic operation.
class EalThread {
 public:
  EalThread() : registered_(rte_lcore_id() == LCORE_ID_ANY && rte_thread_register() == 0) {}
  ~EalThread() {
    if (registered_) rte_thread_unregister();
  }
  EalThread(const EalThread&) = delete;
  EalThread& operator=(const EalThread&) = delete;

 private:
  const bool registered_;
};

}  // namespace

void read_clock(WorkerCore& w) {
  note_time(w, w.nic.clock.now());
}

std::size_t Worker::poll() {
  return iterate(core_->nic.clock.now(), true);
}

std::size_t Worker::poll_at(Time now) {
  return iterate(now, false);
}

std::size_t Worker::iterate(Time now, bool real_time) {
  WorkerCore& w = *core_;
  note_time(w, now);
  begin_poll(w);
  if (w.nic.config.stage_timing) [[unlikely]]
    w.stage_start = rte_rdtsc();
  if (!w.doors.empty()) take_posts(w);
  w.end_stage(Stage::kPosts);
  std::size_t packets = receive_all(w, real_time);
  poll_links(w, w.now);
  run_reports(w, w.now);
  settle(w);
  run_timers(w, drained_until(w), w.poll_began);  // what came since is not all seen
  settle(w);
  w.end_stage(Stage::kSettle);
  // D1: packets leave now, not before what was received was checked and copied.
  if (real_time && packets != 0) read_clock(w);
  packets += transmit_all(w, w.now);
  settle(w);
  if (!w.doors.empty()) deliver_completions(w);
  w.end_stage(Stage::kSettle);
  ++w.stats.polls;
  w.stats.polls_idle += packets == 0 ? 1 : 0;
  return packets;
}

void Worker::run(const std::atomic<bool>& stop) {
  WorkerCore& w = *core_;
  const EalThread registered;
  {
    const std::lock_guard lock(w.entry);
    assert(!w.running);
    w.running = true;
  }
  while (!stop.load(std::memory_order_relaxed)) {
    serve_call(w);
    if (poll() == 0) idle(w, *this);
  }
  // A caller may hold the lock while it waits for us.
  while (!w.entry.try_lock()) serve_call(w);
  w.running = false;
  w.entry.unlock();
}

void call_worker(WorkerCore& w, void (*fn)(void*), void* arg) {
  const std::lock_guard lock(w.entry);
  if (!w.running) {
    fn(arg);
    return;
  }
  WorkerCall call;
  call.fn = fn;
  call.arg = arg;
  w.mailbox.store(&call, std::memory_order_release);
  while (!call.done.load(std::memory_order_acquire)) sched_yield();
}

PostStatus Worker::post_send(std::uint32_t qpn, std::uint32_t lkey, const transport::WorkRequest& wr) {
  WorkerCore& w = *core_;
  QpHome* home = w.find(qpn);
  if (home == nullptr) return PostStatus::kNoSuchQp;
  if (wr.length_bytes != 0 && !w.nic.memory.allows(lkey, wr.local, wr.length_bytes, kAccessLocal)) {
    return PostStatus::kBadLkey;
  }
  const transport::PostResult r = home->qp.post_send(wr);
  w.touch(*home);
  return static_cast<PostStatus>(r);
}

PostStatus Worker::post_recv(std::uint32_t qpn, const transport::RecvRequest& rr) {
  WorkerCore& w = *core_;
  QpHome* home = w.find(qpn);
  if (home == nullptr) return PostStatus::kNoSuchQp;
  const transport::PostResult r = home->qp.post_recv(rr);
  w.touch(*home);
  return static_cast<PostStatus>(r);
}

std::size_t Worker::poll_cq(std::uint32_t qpn, std::span<transport::Completion> out) {
  QpHome* home = core_->find(qpn);
  return home == nullptr || home->app != nullptr ? 0 : home->qp.poll_completions(out);
}

const transport::Qp* Worker::qp(std::uint32_t qpn) const {
  const QpHome* home = core_->find(qpn);
  return home == nullptr ? nullptr : &home->qp;
}

const WorkerStats& Worker::stats() const {
  return core_->stats;
}

unsigned Worker::index() const {
  return core_->index;
}

Time Worker::next_deadline() const {
  return core_->wheel.next();
}

void capture_frame(WorkerCore& w, Time now, std::size_t plane, bool outbound, wire::DropReason drop,
                   const rte_mbuf* m) {
  const std::span<const std::uint8_t> first{rte_pktmbuf_mtod(m, const std::uint8_t*), m->data_len};
  if (!w.capture->put(now, static_cast<std::uint8_t>(plane), outbound, drop, first, m->pkt_len)) {
    ++w.stats.capture_lost;
  }
}

}  // namespace mrc::nic
