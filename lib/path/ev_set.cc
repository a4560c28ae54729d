// SPDX-License-Identifier: BSD-3-Clause
// Construction and the choice at send time (D10). States and verdicts: ev_set_feedback.cc.
#include "path/ev_set.h"

#include <cassert>
#include <string>
#include <utility>

#include "base/seeded_defect.h"

namespace mrc::path {

Result<void> EvSetConfig::check(std::size_t ev_count) const {
  if (ev_min_active > ev_count)
    return Error{"ev_min_active is " + std::to_string(ev_min_active) + " but the profile has " +
                 std::to_string(ev_count) + " EVs: lower it to at most the number of EVs"};
  if (base_rtt.ns <= 0)
    return Error{"base_rtt is " + std::to_string(base_rtt.ns) +
                 " ns; it must be above 0: set the unloaded RTT"};
  if (probe_interval.ns < 0)
    return Error{"probe_interval is " + std::to_string(probe_interval.ns) +
                 " ns; it must be 0 (growing with the RTT) or above: use a few base RTTs"};
  if (active_evs > ev_count)
    return Error{"active_evs is " + std::to_string(active_evs) + " but the profile has " +
                 std::to_string(ev_count) + " EVs: lower it, or set 0 for all"};
  if (active_evs != 0 && ev_min_active > active_evs)
    return Error{"ev_min_active is " + std::to_string(ev_min_active) + " but active_evs is " +
                 std::to_string(active_evs) + ": no EV could ever leave the active set; lower ev_min_active"};
  if (max_return_successes < 1) return Error{"max_return_successes is 0; it must be 1 or more"};
  if (event_capacity < 1) return Error{"event_capacity is 0; it must be 1 or more"};
  return {};
}

std::size_t EvSet::heap_bytes() const {
  const auto of = [](const auto& v) { return v.capacity() * sizeof(*v.data()); };
  return of(list_) + of(state_) + of(place_) + of(policies_) + of(ordinal_) + of(by_plane_) + of(proof_) +
         of(health_) + of(rtts_) + of(bad_) + of(events_);
}

EvSet::EvSet(std::shared_ptr<const EvTable> table, const EvSetConfig& config, std::uint64_t seed)
    : rng_(seed), table_(std::move(table)), config_(config) {
  assert(table_ != nullptr && config_.check(table_->size()));
  const std::size_t count = table_->size();
  list_.resize(count);
  state_.assign(count, EvState::kGood);
  place_.assign(count, kInSet);
  if (config_.rtt_reroute) rtts_.assign(count, EvRtt{});
  proof_.assign(count, Time{});
  newest_.fill(kNoEv);
  health_.assign(count, Health{});
  bad_.reserve(count);
  events_.resize(config_.event_capacity);
  active_ = count;

  std::array<std::uint16_t, kMaxPlanes> total{};
  for (const EvEntry& e : table_->entries()) ++total[e.port];
  std::uint16_t begin = 0;
  for (std::size_t p = 0; p < kMaxPlanes; ++p) {
    planes_[p].begin = begin;
    begin = static_cast<std::uint16_t>(begin + total[p]);
  }
  for (std::size_t i = 0; i < count; ++i) {
    Plane& plane = planes_[(*table_)[i].port];
    list_[plane.begin + plane.size++] = static_cast<EvIndex>(i);
    ++plane.good;
    plane.quota = plane.in_set = plane.size;
  }
  if (config_.active_evs != 0 && config_.selector == Selector::kMrc) fill_active_set();
  // QPs of one host must not march over the planes in step.
  last_plane_ = static_cast<std::uint8_t>(rng_.below(table_->planes()));
  refresh_usable();
  if (config_.selector != Selector::kMrc) make_policies(seed);
}

void EvSet::restore(EvIndex ev, Time now) {
  transition(ev, EvState::kGood, EvCause::kRotation, now);
  ++counters_.skip_restored;
}

// D10: GOOD -> take; the first SKIP met is restored and passed; a whole pass without GOOD takes the restored
// one. The restored EV turns GOOD after the choice, so that a wrap inside this call does not meet it as GOOD.
EvIndex EvSet::take_slow(Plane& plane, EvIndex first, EvIndex exclude, Time now) {
  const bool excluded_is_good =
      exclude != kNoEv && state_[exclude] == EvState::kGood && &planes_[(*table_)[exclude].port] == &plane;
  const bool any_good = plane.good > (excluded_is_good ? 1 : 0);
  EvIndex restored = kNoEv;
  EvIndex chosen = kNoEv;
  EvIndex ev = first;
  // The rest of this pass and one whole pass see every EV.
  for (std::uint32_t visits = 2U * plane.size; visits > 0; --visits, ev = visit(plane)) {
    if (ev == exclude) continue;
    if (state_[ev] == EvState::kGood) {
      chosen = ev;
      break;
    }
    if (restored != kNoEv) {
      if (seeded_defect(Defect::kRestoreAll)) restore(ev, now);
      continue;
    }
    restored = ev;
    if (!any_good) break;
  }
  if (restored != kNoEv) restore(restored, now);
  return chosen != kNoEv ? chosen : restored;
}

// The GOOD EV of the plane whose newest packet known delivered left last; kNoEv when none has a proof. The
// one with the newest proof of all is known; only when it may not serve are the others looked at.
EvIndex EvSet::newest_proof_on(std::size_t port, EvIndex exclude) const {
  const EvIndex known = newest_[port];
  if (known == kNoEv || (known != exclude && state_[known] == EvState::kGood && listed(known))) return known;
  const Plane& plane = planes_[port];
  EvIndex best = kNoEv;
  Time newest{};
  for (std::size_t i = plane.begin; i < std::size_t{plane.begin} + plane.size; ++i) {
    const EvIndex ev = list_[i];
    if (proof_[ev] <= newest || ev == exclude || state_[ev] != EvState::kGood) continue;
    newest = proof_[ev];
    best = ev;
  }
  return best;
}

EvIndex EvSet::newest_proof(std::uint32_t planes, EvIndex exclude) const {
  EvIndex best = kNoEv;
  for (; planes != 0; planes &= planes - 1) {
    const EvIndex ev = newest_proof_on(static_cast<std::size_t>(__builtin_ctz(planes)), exclude);
    if (ev != kNoEv && (best == kNoEv || proof_[ev] > proof_[best])) best = ev;
  }
  return best;
}

EvChoice EvSet::choose_among(std::uint32_t planes, EvIndex exclude, Time now) {
  if (planes == 0) return {};
  if (const EvIndex ev = newest_proof(planes, exclude); ev != kNoEv) return {ev, (*table_)[ev].port, false};
  while (planes != 0) {
    const std::uint8_t port = rotate(planes);
    if (const EvIndex ev = take(planes_[port], exclude, now); ev != kNoEv) return {ev, port, false};
    planes &= ~(1U << port);
  }
  return {};
}

std::size_t EvSet::usable_on_up_planes() const {
  std::size_t usable = 0;
  for (std::uint32_t m = usable_planes_; m != 0; m &= m - 1)
    usable += planes_[static_cast<std::size_t>(__builtin_ctz(m))].size;
  return usable;
}

EvChoice EvSet::choose_for_retransmission(Time now, std::uint32_t free_ports, Avoid avoid) {
  assert(avoid.ev == kNoEv || avoid.ev < state_.size());
  if (usable_planes_ == 0) return choose_fallback(now, free_ports, avoid.ev);
  const std::uint32_t planes = usable_planes_ & free_ports;
  if (!policies_.empty()) {
    if (planes == 0) return {};
    const std::uint8_t port = rotate(planes);
    return {choose_by_policy(port, avoid.ev, now), port, false};
  }
  const std::uint32_t lost_plane = avoid.port >= 0 ? 1U << avoid.port : 0U;
  if (const EvChoice other = choose_among(planes & ~lost_plane, avoid.ev, now); other.ev != kNoEv)
    return other;
  if (const EvChoice same = choose_among(planes & lost_plane, avoid.ev, now); same.ev != kNoEv) return same;
  // Only the lost EV is left on a free port: it serves if it is the last one, else the packet waits.
  if (usable_on_up_planes() > 1) return {};
  return choose_among(planes, kNoEv, now);
}

EvIndex EvSet::oldest_verdict(std::uint32_t planes, EvIndex exclude) const {
  EvIndex best = kNoEv;
  Time oldest = Time::never();
  for (const EvIndex ev : bad_) {
    if ((planes >> (*table_)[ev].port & 1U) == 0 || ev == exclude) continue;
    // One that just served as a fallback goes to the end: the next one gets its chance.
    const Time age = later(health_[ev].verdict, health_[ev].last_fallback);
    if (age >= oldest) continue;
    oldest = age;
    best = ev;
  }
  return best;
}

// GOOD EVs first (SKIPs if there are none), then the one condemned longest ago.
EvChoice EvSet::fallback_among(std::uint32_t planes, EvIndex exclude, Time now) {
  for (std::uint32_t left = planes & populated(); left != 0;) {
    const std::uint8_t port = rotate(left);
    if (const EvIndex ev = take(planes_[port], exclude, now); ev != kNoEv) return {ev, port, true};
    left &= ~(1U << port);
  }
  const EvIndex ev = oldest_verdict(planes, exclude);
  return ev == kNoEv ? EvChoice{} : EvChoice{ev, (*table_)[ev].port, true};
}

// D9: nothing usable. What has no SKIP left either takes GOOD EVs of planes that fell silent, then
// ASSUMED_BAD ones, and planes that the peer calls down come last: one packet a base RTT. DENIED never.
EvChoice EvSet::choose_fallback(Time now, std::uint32_t free_ports, EvIndex exclude) {
  if (now < next_fallback()) return {};
  const std::uint32_t free = free_ports & port_up_;
  const std::uint32_t near = free & reachable();
  EvChoice choice;
  for (const EvIndex except : {exclude, kNoEv}) {
    choice = fallback_among(near & silent_ & populated(), except, now);
    if (choice.ev == kNoEv) choice = fallback_among(near, except, now);
    if (choice.ev == kNoEv) choice = fallback_among(free & ~near, except, now);
    if (choice.ev != kNoEv || exclude == kNoEv) break;
  }
  if (choice.ev == kNoEv) return {};
  last_fallback_ = now;
  health_[choice.ev].last_fallback = now;
  ++counters_.fallback_picks;
  return choice;
}

Time EvSet::next_fallback() const {
  if (usable_planes_ != 0) return Time::never();
  if ((populated() & port_up_) == 0 && oldest_verdict(port_up_, kNoEv) == kNoEv) return Time::never();
  return last_fallback_ == Time{} ? Time{} : last_fallback_ + config_.base_rtt;
}

}  // namespace mrc::path
