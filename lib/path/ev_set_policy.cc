// SPDX-License-Identifier: BSD-3-Clause
// The selectors that the specification's own is compared with, in its place: one instance a plane.
#include <cassert>

#include "path/ev_set.h"

namespace mrc::path {
namespace {

const char* name_of(Selector s) {
  switch (s) {
    case Selector::kMrc:
      break;
    case Selector::kOblivious:
      return "oblivious";
    case Selector::kBitmap:
      return "bitmap";
    case Selector::kScore:
      return "score";
    case Selector::kReps:
      return "reps";
    case Selector::kSingle:
      return "single";
  }
  return "";
}

}  // namespace

void EvSet::make_policies(std::uint64_t seed) {
  by_plane_ = list_;  // as constructed: by plane, ascending
  ordinal_.resize(list_.size());
  for (std::size_t p = 0; p < table_->planes(); ++p) {
    const Plane& plane = planes_[p];
    for (std::size_t i = 0; i < plane.size; ++i)
      ordinal_[by_plane_[plane.begin + i]] = static_cast<EvIndex>(i);
    // A plane of the table without EVs is never asked; its policy only keeps the places.
    auto policy =
        Policy::create(name_of(config_.selector), plane.size == 0 ? 1 : plane.size, mix64(seed ^ (p + 1)));
    assert(policy);
    policies_.push_back(std::move(*policy));
  }
}

// A denied EV is passed over, and the lost one while the policy offers another.
EvIndex EvSet::choose_by_policy(std::uint8_t port, EvIndex avoid, Time now) {
  const std::uint16_t begin = planes_[port].begin;
  EvIndex ev = kNoEv;
  for (int tries = 0; tries < 4; ++tries) {
    ev = by_plane_[begin + policies_[port].next(now)];
    if (ev != avoid && state_[ev] == EvState::kGood) return ev;
  }
  // Unlucky, or one EV only: any that is left on the plane, the lost one last.
  for (std::uint32_t left = planes_[port].size; left > 0; --left)
    if (const EvIndex any = visit(planes_[port]); any != avoid) return any;
  return avoid;
}

void EvSet::tell_policy(EvIndex ev, PathFeedback what, Time now) {
  policies_[(*table_)[ev].port].feedback(ordinal_[ev], what, now);
}

}  // namespace mrc::path
