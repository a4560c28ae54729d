// SPDX-License-Identifier: BSD-3-Clause
// Rerouting by RTT, a policy beside the specification's own: an EV whose smoothed RTT stands out against the
// others of its plane rests for a while. What lies behind it (a slow link, a queue of its own) marks and
// drops nothing, so the states of 5.5 never learn of it.
#include <algorithm>

#include "path/ev_set.h"

namespace mrc::path {
namespace {

constexpr std::uint8_t kSamples = 4;  // before an EV is compared
constexpr std::int32_t kOthers = 3;   // with at least so many others of its plane
constexpr std::uint8_t kAbove = 3;    // samples in a row: one queue that drains is no slow path
constexpr std::int64_t kRestRtts =
    64;  // the first rest; each one within kForgottenRtts of the last doubles it
constexpr std::uint8_t kDoublings = 4;
constexpr std::int64_t kForgottenRtts = 4096;

}  // namespace

void EvSet::judge_rtt(EvIndex ev, Duration rtt, Time now) {
  end_rests(now);
  if (!listed(ev) || rtt.ns <= 0) return;
  EvRtt& e = rtts_[ev];
  PlaneRtt& plane = plane_rtts_[(*table_)[ev].port];
  const std::int64_t before = e.srtt_ns;
  e.srtt_ns = e.samples == 0 ? rtt.ns : before + (rtt.ns - before) / 4;
  if (e.samples < kSamples && ++e.samples == kSamples) {
    ++plane.count;
    plane.sum_ns += e.srtt_ns;
  } else if (e.samples == kSamples) {
    plane.sum_ns += e.srtt_ns - before;
  }
  if (e.samples < kSamples || plane.count <= kOthers) return;
  const std::int64_t others = (plane.sum_ns - e.srtt_ns) / (plane.count - 1);
  const bool above = e.srtt_ns > others + std::max(others / 2, config_.base_rtt.ns / 4);
  e.above = static_cast<std::uint8_t>(above ? e.above + 1 : 0);
  if (e.above >= kAbove) rest(ev, now);
}

// Never more than half of a plane's active EVs: then it is the plane that is slow.
void EvSet::rest(EvIndex ev, Time now) {
  Plane& plane = planes_[(*table_)[ev].port];
  if (plane.size <= 1 || (plane.size - 1) * 2 < plane.in_set) {
    rtts_[ev].above = 0;
    return;
  }
  const bool relapse = rtts_[ev].back != Time{} && now - rtts_[ev].back < config_.base_rtt * kForgottenRtts;
  const auto rests = static_cast<std::uint8_t>(relapse ? std::min<int>(rtts_[ev].rests + 1, kDoublings) : 0);
  forget_rtt(ev);
  rtts_[ev].rests = rests;
  rtts_[ev].back = now + config_.base_rtt * (kRestRtts << rests);
  next_rest_end_ = earlier(next_rest_end_, rtts_[ev].back);
  list_remove(ev);
  if (state_[ev] == EvState::kGood) --plane.good;
  place_[ev] = kInSet | kResting;
  ++counters_.passed_over;
  refresh_usable();
}

void EvSet::forget_rtt(EvIndex ev) {
  if (rtts_.empty()) return;
  EvRtt& e = rtts_[ev];
  PlaneRtt& plane = plane_rtts_[(*table_)[ev].port];
  if (e.samples == kSamples) {
    --plane.count;
    plane.sum_ns -= e.srtt_ns;
  }
  e.srtt_ns = 0;
  e.samples = e.above = 0;
}

void EvSet::end_rest(EvIndex ev, Time now) {
  place_[ev] = kInSet;
  rtts_[ev].back = now;
  list_insert(ev);
  if (state_[ev] == EvState::kGood) ++planes_[(*table_)[ev].port].good;
}

void EvSet::end_rests(Time now) {
  if (now < next_rest_end_) return;
  next_rest_end_ = Time::never();
  for (std::size_t ev = 0; ev < place_.size(); ++ev) {
    if (place_[ev] != (kInSet | kResting)) continue;
    if (rtts_[ev].back <= now) {
      end_rest(static_cast<EvIndex>(ev), now);
    } else {
      next_rest_end_ = earlier(next_rest_end_, rtts_[ev].back);
    }
  }
  refresh_usable();
}

}  // namespace mrc::path
