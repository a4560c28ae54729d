// SPDX-License-Identifier: BSD-3-Clause
#include "transport/rtt_tracker.h"

#include <algorithm>

namespace mrc::transport {

void RttTracker::add(Duration rtt, Time now, bool full_path) {
  if (rtt.ns <= 0) return;
  bool changed = false;
  if (full_path && (!seen_ || rtt < smallest_)) {
    srtt_ = seen_ ? srtt_ : rtt;
    smallest_ = rtt;
    seen_ = changed = true;
  }
  srtt_ += (rtt - srtt_) / 8;
  if (now - slot_start_ >= base()) {
    rotate(now);
    changed = true;
  }
  Slot& slot = slots_[current_];
  if (!slot.used || rtt < slot.lo) {
    slot.lo = rtt;
    changed = true;
  }
  if (!slot.used || rtt > slot.hi) {
    slot.hi = rtt;
    changed = true;
  }
  slot.used = true;
  if (!changed) return;
  refresh();
  if (factor_ != kOne && factor(now) == kOne) factor_ = kOne;  // reo() need not work it out again
}

// One slot a base RTT; what is older than four of them is forgotten.
void RttTracker::rotate(Time now) {
  for (unsigned i = 0; i < kSlots && now - slot_start_ >= base(); ++i) {
    current_ = static_cast<std::uint8_t>((current_ + 1) % kSlots);
    slots_[current_] = {};
    slot_start_ = slot_start_ + base();
  }
  if (now - slot_start_ >= base()) slot_start_ = now;
}

void RttTracker::refresh() {
  Duration lo = slots_[current_].lo;
  Duration hi = slots_[current_].hi;
  for (const Slot& slot : slots_) {
    if (!slot.used) continue;
    lo = std::min(lo, slot.lo);
    hi = std::max(hi, slot.hi);
  }
  allowance_ = std::clamp((hi - lo) * 5 / 4, base(), base() * 4);
}

void RttTracker::on_spurious(Time now) {
  factor_ = std::min(factor(now) * 3 / 2, kMaxFactor);
  factor_at_ = now;
}

// The excess over 1 decays by 1/16 a base RTT (D8).
std::int64_t RttTracker::factor(Time now) const {
  std::int64_t excess = factor_ - kOne;
  for (std::int64_t n = (now - factor_at_).ns / base().ns; n > 0 && excess > 0; --n) {
    excess -= (excess + 15) / 16;
  }
  return kOne + excess;
}

}  // namespace mrc::transport
