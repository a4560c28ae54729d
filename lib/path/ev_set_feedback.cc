// SPDX-License-Identifier: BSD-3-Clause
// What happens to an EV: the transitions of 5.5, the verdict and the way back (D9), probes, events (5.6).
#include <algorithm>
#include <cassert>
#include <utility>

#include "path/ev_set.h"

namespace mrc::path {
namespace {

// D9's windows, in base RTTs.
constexpr std::int64_t kSecondLossRtts = 8;
constexpr std::int64_t kRelapseRtts = 100;
constexpr std::int64_t kForgivenRtts = 1000;

}  // namespace

void EvSet::refresh_usable() {
  std::uint32_t mask = 0;
  for (std::size_t p = 0; p < planes_.size(); ++p)
    if (planes_[p].size != 0) mask |= 1U << p;
  usable_planes_ = mask & port_up_;
}

void EvSet::list_insert(EvIndex ev) {
  Plane& plane = planes_[(*table_)[ev].port];
  list_[plane.begin + plane.size++] = ev;  // in the part still to come: it gets its turn in this pass
}

void EvSet::list_remove(EvIndex ev) {
  Plane& plane = planes_[(*table_)[ev].port];
  EvIndex* const first = list_.data() + plane.begin;
  EvIndex* at = std::find(first, first + plane.size, ev);
  assert(at != first + plane.size);
  if (at < first + plane.cursor) {  // close the gap within the part that had its turn
    --plane.cursor;
    *at = first[plane.cursor];
    at = first + plane.cursor;
  }
  --plane.size;
  *at = first[plane.size];
}

void EvSet::transition(EvIndex ev, EvState to, EvCause cause, Time now) {
  const EvState from = state_[ev];
  if (from == to) return;
  state_[ev] = to;
  Plane& plane = planes_[(*table_)[ev].port];
  if (from == EvState::kGood) --plane.good;
  if (to == EvState::kGood) ++plane.good;
  if (from == EvState::kAssumedBad) {
    const auto at = std::find(bad_.begin(), bad_.end(), ev);
    *at = bad_.back();
    bad_.pop_back();
  }
  if (is_active(from) && !is_active(to)) {
    list_remove(ev);
    --active_;
    refresh_usable();
  } else if (!is_active(from) && is_active(to)) {
    list_insert(ev);
    ++active_;
    refresh_usable();
  }
  if (to == EvState::kAssumedBad) condemn(ev, now);
  if (config_.report_skips || !(is_active(from) && is_active(to)))  // both are GOOD to the API
    record({now, ev, from, to, cause});
}

void EvSet::condemn(EvIndex ev, Time now) {
  bad_.push_back(ev);
  Health& h = health_[ev];
  h.verdict = now;
  h.probes = 0;
  h.probe_due = now;  // D9: a reliability probe at once, or uniform loss empties the set
  const bool came_back_before = h.returned != Time{};
  if (came_back_before && now - h.returned < config_.base_rtt * kRelapseRtts)
    h.successes_needed =
        static_cast<std::uint8_t>(std::min<int>(h.successes_needed * 2, config_.max_return_successes));
  else if (!came_back_before || now - h.returned > config_.base_rtt * kForgivenRtts)
    h.successes_needed = 1;
  h.successes_left = h.successes_needed;
  ++counters_.assumed_bad;
}

// GOOD or SKIP -> ASSUMED_BAD, or SKIP where ev_min_active forbids it (D9).
bool EvSet::demote(EvIndex ev, EvCause cause, Time now) {
  if (active_ - 1 >= config_.ev_min_active) {
    transition(ev, EvState::kAssumedBad, cause, now);
    return true;
  }
  ++counters_.floor_hits;
  transition(ev, EvState::kSkip, cause, now);
  return false;
}

void EvSet::on_mark(EvIndex ev, wire::EvMark mark, Time now) {
  if (ev == kNoEv) return;
  assert(ev < state_.size());
  if (!policies_.empty()) return tell_policy(ev, PathFeedback::kEcn, now);
  if (!is_active(state_[ev])) return;  // only a probe or the controller brings it back
  if (mark == wire::EvMark::kSkipOnce) {
    ++counters_.skip_marks;
    transition(ev, EvState::kSkip, EvCause::kMark, now);
  } else if (mark == wire::EvMark::kAlwaysSkip) {
    demote(ev, EvCause::kMark, now);  // never sent by us, always honoured (C38)
  }
}

void EvSet::on_trimmed(EvIndex ev, Time now) {
  if (ev == kNoEv) return;
  assert(ev < state_.size());
  if (!policies_.empty()) return tell_policy(ev, PathFeedback::kTrim, now);
  if (!is_active(state_[ev])) return;
  ++counters_.skip_marks;
  transition(ev, EvState::kSkip, EvCause::kTrimmed, now);
}

bool EvSet::on_loss(EvIndex ev, EvCause cause, Time now) {
  if (ev == kNoEv) return false;
  assert(ev < state_.size());
  if (!policies_.empty()) {
    tell_policy(ev, PathFeedback::kTimeout, now);
    return false;
  }
  if (!is_active(state_[ev])) return state_[ev] == EvState::kAssumedBad;
  if (!config_.trimming) {
    // Where congestion drops in silence, one loss says nothing about the path (D9).
    Time& last = health_[ev].last_loss;
    const bool second = last != Time{} && now - last <= config_.base_rtt * kSecondLossRtts;
    last = now;
    if (!second) return false;
  }
  return demote(ev, cause, now);
}

void EvSet::on_spurious(EvIndex ev, Time now) {
  if (ev == kNoEv) return;
  assert(ev < state_.size());
  health_[ev].last_loss = Time{};
  if (state_[ev] != EvState::kAssumedBad) return;
  transition(ev, EvState::kGood, EvCause::kSpurious, now);
  ++counters_.recovered;
}

void EvSet::on_probe_answer(EvIndex ev, wire::EvMark mark, Time now) {
  if (ev == kNoEv) return;
  assert(ev < state_.size());
  if (is_active(state_[ev])) return on_mark(ev, mark, now);
  if (state_[ev] != EvState::kAssumedBad || mark == wire::EvMark::kAlwaysSkip) return;
  Health& h = health_[ev];
  if (--h.successes_left > 0) {
    h.probe_due = now + config_.base_rtt;
    return;
  }
  h.returned = now;
  transition(ev, EvState::kGood, EvCause::kProbeOk, now);  // m = 1 counts as success (C13)
  ++counters_.recovered;
}

void EvSet::on_delivered(EvIndex ev, Time sent) {
  if (ev == kNoEv) return;
  assert(ev < state_.size());
  if (sent <= proof_[ev]) return;
  proof_[ev] = sent;
  EvIndex& newest = newest_[(*table_)[ev].port];
  if (newest == kNoEv || sent > proof_[newest]) newest = ev;
}

void EvSet::set_state(EvIndex ev, EvState state, Time now) {
  if (ev == kNoEv) return;
  assert(ev < state_.size());
  assert(state == EvState::kGood || state == EvState::kDenied);
  transition(ev, state, EvCause::kController, now);
}

void EvSet::set_port_usable(std::uint8_t port, bool usable) {
  assert(port < kMaxPlanes);
  const std::uint32_t bit = 1U << port;
  port_up_ = usable ? port_up_ | bit : port_up_ & ~bit;
  refresh_usable();
}

// The immediate probe is due at once; repeats also keep one base RTT from each other in the whole set (D9).
Time EvSet::probe_time(EvIndex ev) const {
  const Health& h = health_[ev];
  if (h.probes == 0 || last_recovery_probe_ == Time{}) return h.probe_due;
  return later(h.probe_due, last_recovery_probe_ + config_.base_rtt);
}

EvIndex EvSet::next_probe(Time now, std::uint32_t free_ports) {
  EvIndex due = kNoEv;
  Time earliest = Time::never();
  for (const EvIndex ev : bad_) {
    if ((free_ports & port_up_ & 1U << (*table_)[ev].port) == 0) continue;
    // Longest due first, not first allowed first: behind the common spacing all would look equal.
    if (probe_time(ev) > now || health_[ev].probe_due >= earliest) continue;
    earliest = health_[ev].probe_due;
    due = ev;
  }
  if (due == kNoEv) return kNoEv;
  Health& h = health_[due];
  if (h.probes > 0) last_recovery_probe_ = now;
  // Fixed interval, or doubling up to the configured maximum.
  Duration wait = config_.probe_interval;
  for (std::uint16_t i = 0; i < h.probes && wait < config_.probe_backoff_max; ++i) wait = wait * 2;
  if (config_.probe_backoff_max > config_.probe_interval) wait = std::min(wait, config_.probe_backoff_max);
  h.probe_due = now + wait;
  if (h.probes < 0xFFFF) ++h.probes;
  return due;
}

Time EvSet::next_probe_deadline() const {
  Time earliest = Time::never();
  for (const EvIndex ev : bad_)
    if (port_usable((*table_)[ev].port)) earliest = earlier(earliest, probe_time(ev));
  return earliest;
}

void EvSet::record(const Event& event) {
  if (event_count_ == events_.size()) {
    ++events_dropped_;  // 5.6: when full, the new one is dropped and counted
    return;
  }
  events_[(event_head_ + event_count_) % events_.size()] = event;
  ++event_count_;
}

std::size_t EvSet::poll_events(std::span<Event> out, std::uint64_t& dropped) {
  const std::size_t n = std::min(out.size(), event_count_);
  for (std::size_t i = 0; i < n; ++i) out[i] = events_[(event_head_ + i) % events_.size()];
  event_head_ = (event_head_ + n) % events_.size();
  event_count_ -= n;
  dropped = std::exchange(events_dropped_, 0);
  return n;
}

}  // namespace mrc::path
