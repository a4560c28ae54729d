// SPDX-License-Identifier: BSD-3-Clause
// What happens to an EV: the transitions of 5.5, the verdict and the way back (D9), events (5.6).
#include <algorithm>
#include <cassert>
#include <utility>

#include "base/seeded_defect.h"
#include "path/ev_set.h"

namespace mrc::path {
namespace {

// D9's windows, in base RTTs.
constexpr std::int64_t kSecondLossRtts = 8;
constexpr std::int64_t kRelapseRtts = 100;
constexpr std::int64_t kForgivenRtts = 1000;

}  // namespace

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
  // The next one takes over, and not the one that failed before (D19).
  if (EvIndex& reverse = reverse_[(*table_)[ev].port].ev; reverse == ev) reverse = next_in_rotation(ev);
}

void EvSet::transition(EvIndex ev, EvState to, EvCause cause, Time now) {
  const EvState from = state_[ev];
  if (from == to) return;
  state_[ev] = to;
  if (!is_active(from) || !is_active(to)) probe_deadline_stale_ = true;
  if (from == EvState::kAssumedBad) {
    const auto at = std::find(bad_.begin(), bad_.end(), ev);
    *at = bad_.back();
    bad_.pop_back();
    forget_silence(ev);
  }
  if (is_active(from) && !is_active(to)) {
    leave_set(ev, from);
  } else if (!is_active(from) && is_active(to)) {
    enter_set(ev);
  } else if (is_active(from) && place_[ev] == kInSet) {
    Plane& plane = planes_[(*table_)[ev].port];
    plane.good = static_cast<std::uint16_t>(to == EvState::kGood ? plane.good + 1 : plane.good - 1);
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
  if (seeded_defect(Defect::kForgetProbe)) h.probe_due = Time::never();
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
  const bool in_set = (place_[ev] & kInSet) != 0;
  const bool replaced = in_set && best_backup((*table_)[ev].port) != kNoEv;
  if (!in_set || replaced || active_ - 1 >= config_.ev_min_active || seeded_defect(Defect::kBelowFloor)) {
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
  if (mark == wire::EvMark::kSkipOnce && !listed(ev)) return;  // it has no turn to miss
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
  if (!listed(ev)) return;
  if (seeded_defect(Defect::kBlameTrimmed)) {
    demote(ev, EvCause::kTrimmed, now);
    return;
  }
  ++counters_.skip_marks;
  transition(ev, EvState::kSkip, EvCause::kTrimmed, now);
}

LossVerdict EvSet::on_loss(EvIndex ev, EvCause cause, Time sent, Time now) {
  if (ev == kNoEv) return {};
  assert(ev < state_.size());
  if (!policies_.empty()) {
    tell_policy(ev, PathFeedback::kTimeout, now);
    return {};
  }
  LossVerdict verdict;
  if (!is_active(state_[ev])) {
    verdict.bad = state_[ev] == EvState::kAssumedBad;
    return verdict;
  }
  if (!config_.trimming) {
    // Where congestion drops in silence, one loss says nothing about the path (D9).
    Time& last = health_[ev].last_loss;
    const bool second = last != Time{} && now - last <= config_.base_rtt * kSecondLossRtts;
    last = now;
    if (!second) return verdict;
  }
  verdict.bad = demote(ev, cause, now);
  verdict.plane_down_since = judge_plane(ev, sent, now);
  return verdict;
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
    probe_deadline_stale_ = true;
    return;
  }
  h.returned = now;
  transition(ev, EvState::kGood, EvCause::kProbeOk, now);  // m = 1 counts as success (C13)
  ++counters_.recovered;
}

void EvSet::set_state(EvIndex ev, EvState state, Time now) {
  if (ev == kNoEv) return;
  assert(ev < state_.size());
  assert(state == EvState::kGood || state == EvState::kDenied);
  transition(ev, state, EvCause::kController, now);
}

void EvSet::forget(Time now) {
  for (std::size_t i = 0; i < state_.size(); ++i) {
    const auto ev = static_cast<EvIndex>(i);
    if (place_[ev] == (kInSet | kResting)) end_rest(ev, now);
    if (state_[ev] != EvState::kDenied) transition(ev, EvState::kGood, EvCause::kController, now);
  }
  std::fill(proof_.begin(), proof_.end(), Time{});
  std::fill(health_.begin(), health_.end(), Health{});
  std::fill(rtts_.begin(), rtts_.end(), EvRtt{});
  plane_rtts_ = {};
  next_rest_end_ = Time::never();
  newest_.fill(kNoEv);
  reverse_ = {};
  plane_health_ = {};
  silent_ = 0;
  peer_up_ = ~0U;
  last_fallback_ = last_recovery_probe_ = Time{};
  probe_deadline_stale_ = true;
  refresh_usable();
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
