// SPDX-License-Identifier: BSD-3-Clause
// Which EV is probed next, and when (D9).
#include <algorithm>

#include "path/ev_set.h"

namespace mrc::path {

// The immediate probe is due at once; repeats also keep one base RTT from each other in the whole set.
Time EvSet::spaced(Time due, std::uint16_t probes) const {
  if (probes == 0 || last_recovery_probe_ == Time{}) return due;
  return later(due, last_recovery_probe_ + config_.base_rtt);
}

// After probe number `probes`, counted from 0: as long as an answer may take, then 2, 4, 8 base RTTs and so
// on.
Duration EvSet::probe_wait(std::uint16_t probes) const {
  Duration wait = config_.probe_interval;
  std::uint16_t doublings = probes;
  if (wait.ns == 0) {
    wait = config_.base_rtt * 2;
    if (probes == 0) return answer_wait_.ns != 0 ? answer_wait_ : wait;
    --doublings;
  }
  if (wait >= config_.probe_backoff_max)
    return config_.probe_interval.ns != 0 ? wait : config_.probe_backoff_max;
  for (; doublings > 0 && wait < config_.probe_backoff_max; --doublings) wait = wait * 2;
  return std::min(wait, config_.probe_backoff_max);
}

// In table order, one that is not DENIED; or, of these, one that has delivered and is not condemned.
EvIndex EvSet::next_of_silent(std::uint8_t port, bool proven) const {
  const PlaneHealth& plane = plane_health_[port];
  EvIndex ev = proven ? plane.next_proven : plane.next_ev;
  for (std::size_t n = state_.size(); n > 0; --n) {
    if (ev >= state_.size()) ev = 0;
    const bool candidate = !proven || (state_[ev] != EvState::kAssumedBad && proof_[ev] != Time{});
    if (candidate && (*table_)[ev].port == port && state_[ev] != EvState::kDenied) return ev;
    ++ev;
  }
  return kNoEv;
}

// A plane falls silent, too, when most of its EVs die and the others had no turn meanwhile: these are the
// proven ones, so that every other probe goes to them. kNoEv when the controller denied all EVs.
EvIndex EvSet::probe_ev_of_silent(std::uint8_t port) const {
  const EvIndex proven = plane_health_[port].probes % 2 == 0 ? next_of_silent(port, true) : kNoEv;
  return proven != kNoEv ? proven : next_of_silent(port, false);
}

EvIndex EvSet::next_probe(Time now, std::uint32_t free_ports) {
  const std::uint32_t ports = free_ports & reachable();
  EvIndex due = kNoEv;
  Time earliest = Time::never();
  for (std::uint32_t left = ports & silent_; left != 0; left &= left - 1) {
    const auto port = static_cast<std::uint8_t>(__builtin_ctz(left));
    const PlaneHealth& plane = plane_health_[port];
    if (spaced(plane.probe_due, plane.probes) > now || plane.probe_due >= earliest) continue;
    const EvIndex ev = probe_ev_of_silent(port);
    if (ev == kNoEv) continue;
    earliest = plane.probe_due;
    due = ev;
  }
  for (const EvIndex ev : bad_) {
    if ((ports & ~silent_ & 1U << (*table_)[ev].port) == 0) continue;
    const Health& h = health_[ev];
    // Longest due first, not first allowed first: behind the common spacing all would look equal.
    if (spaced(h.probe_due, h.probes) > now || h.probe_due >= earliest) continue;
    earliest = h.probe_due;
    due = ev;
  }
  if (due == kNoEv) return kNoEv;
  const std::uint8_t port = (*table_)[due].port;
  const bool silent = (silent_ >> port & 1U) != 0;
  if (silent) {
    PlaneHealth& plane = plane_health_[port];
    const bool proven = plane.probes % 2 == 0 && next_of_silent(port, true) != kNoEv;
    (proven ? plane.next_proven : plane.next_ev) = static_cast<EvIndex>(due + 1);
  }
  std::uint16_t& probes = silent ? plane_health_[port].probes : health_[due].probes;
  Time& next = silent ? plane_health_[port].probe_due : health_[due].probe_due;
  if (probes > 0) last_recovery_probe_ = now;
  next = now + probe_wait(probes);
  if (probes < 0xFFFF) ++probes;
  probe_deadline_stale_ = true;
  return due;
}

void EvSet::find_probe_deadline() const {
  const std::uint32_t ports = reachable();
  Time earliest = Time::never();
  for (std::uint32_t left = ports & silent_; left != 0; left &= left - 1) {
    const auto port = static_cast<std::uint8_t>(__builtin_ctz(left));
    const PlaneHealth& plane = plane_health_[port];
    if (probe_ev_of_silent(port) != kNoEv)
      earliest = earlier(earliest, spaced(plane.probe_due, plane.probes));
  }
  for (const EvIndex ev : bad_)
    if ((ports & ~silent_ & 1U << (*table_)[ev].port) != 0)
      earliest = earlier(earliest, spaced(health_[ev].probe_due, health_[ev].probes));
  probe_deadline_ = earliest;
  probe_deadline_stale_ = false;
}

}  // namespace mrc::path
