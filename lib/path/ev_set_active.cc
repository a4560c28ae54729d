// SPDX-License-Identifier: BSD-3-Clause
// The active set and its backups (MRC 9.3.1, 9.3.2; D9): which EVs are in rotation.
#include <algorithm>
#include <utility>

#include "path/ev_set.h"

namespace mrc::path {

// Equal numbers per plane, drawn at random so that QPs differ. Rounded up: no fewer than ev_min_active.
void EvSet::fill_active_set() {
  const auto populated_planes = static_cast<std::uint32_t>(__builtin_popcount(populated()));
  const std::uint32_t quota = (config_.active_evs + populated_planes - 1) / populated_planes;
  active_ = 0;
  for (std::size_t p = 0; p < table_->planes(); ++p) {
    Plane& plane = planes_[p];
    EvIndex* const first = list_.data() + plane.begin;
    plane.quota = static_cast<std::uint16_t>(std::min<std::uint32_t>(quota, plane.size));
    for (std::uint32_t i = 0; i < plane.quota; ++i) std::swap(first[i], first[i + draw(plane.size - i)]);
    for (std::uint32_t i = plane.quota; i < plane.size; ++i) place_[first[i]] = 0;
    plane.size = plane.good = plane.in_set = plane.quota;
    active_ += plane.quota;
  }
}

// GOOD, of the same plane, most recently proven first (D9).
EvIndex EvSet::best_backup(std::uint8_t port) const {
  if (planes_[port].quota == 0 || config_.active_evs == 0) return kNoEv;
  const std::uint32_t planes = config_.any_plane_backup ? in_service_ : 1U << port;
  EvIndex best = kNoEv;
  for (std::size_t ev = 0; ev < state_.size(); ++ev) {
    if (place_[ev] != 0 || state_[ev] != EvState::kGood || (planes >> (*table_)[ev].port & 1U) == 0) continue;
    if (best == kNoEv || proof_[ev] > proof_[best]) best = static_cast<EvIndex>(ev);
  }
  return best;
}

void EvSet::join(EvIndex ev) {
  Plane& plane = planes_[(*table_)[ev].port];
  place_[ev] = kInSet;
  ++plane.in_set;
  list_insert(ev);
  if (state_[ev] == EvState::kGood) ++plane.good;
  ++active_;
}

// It was GOOD or SKIP and is neither now: it gives its place to a backup and becomes one itself.
void EvSet::leave_set(EvIndex ev, EvState from) {
  forget_rtt(ev);
  const std::uint8_t place = std::exchange(place_[ev], std::uint8_t{0});
  if ((place & kInSet) == 0) return;
  const std::uint8_t port = (*table_)[ev].port;
  Plane& plane = planes_[port];
  if (place == kInSet) {
    list_remove(ev);
    if (from == EvState::kGood) --plane.good;
  }
  --plane.in_set;
  --active_;
  if (const EvIndex backup = best_backup(port); backup != kNoEv) {
    join(backup);
    ++counters_.replaced;
  }
  refresh_usable();
}

bool EvSet::has_place(std::uint8_t port) const {
  if (!config_.any_plane_backup) return planes_[port].in_set < planes_[port].quota;
  std::size_t places = 0;
  for (const Plane& plane : planes_) places += plane.quota;
  return active_ < places;
}

// A plane is drawn with the weight of its EVs, and keeps its turn until its port is free.
EvChoice EvSet::choose_by_share(std::uint32_t planes, Time now) {
  if (drawn_plane_ == kMaxPlanes || (usable_planes_ >> drawn_plane_ & 1U) == 0) {
    std::uint32_t evs = 0;
    for (std::uint32_t left = usable_planes_; left != 0; left &= left - 1)
      evs += planes_[static_cast<std::size_t>(__builtin_ctz(left))].size;
    std::uint32_t drawn = draw(evs);
    std::uint32_t left = usable_planes_;
    for (; drawn >= planes_[static_cast<std::size_t>(__builtin_ctz(left))].size; left &= left - 1)
      drawn -= planes_[static_cast<std::size_t>(__builtin_ctz(left))].size;
    drawn_plane_ = static_cast<std::uint8_t>(__builtin_ctz(left));
  }
  if ((planes >> drawn_plane_ & 1U) == 0) return {};
  const std::uint8_t port = std::exchange(drawn_plane_, static_cast<std::uint8_t>(kMaxPlanes));
  return {take(planes_[port], kNoEv, now), port, false};
}

// It is GOOD again: in rotation when its plane has a place free, else a backup.
void EvSet::enter_set(EvIndex ev) {
  place_[ev] = 0;
  if (!has_place((*table_)[ev].port)) return;
  join(ev);
  refresh_usable();
}

}  // namespace mrc::path
