// SPDX-License-Identifier: BSD-3-Clause
#include "receive_occupancy.h"

namespace mrc::endpoint {
namespace {

constexpr Duration kInterval = microseconds(20);  // two default base RTTs
constexpr unsigned kStepPercent = 5;              // a tenth of the range in which the penalty grows

}  // namespace

void ReceiveOccupancy::tell(const PhaseRunner& phase, Time now) {
  if (now < next_) return;
  next_ = now + kInterval;
  for (std::size_t i = 0; i < told_.size(); ++i) {
    const unsigned percent = phase.waiting_percent(i) / kStepPercent * kStepPercent;
    if (percent == told_[i]) continue;
    // A QP that went to ERROR meanwhile refuses, and ends the run elsewhere.
    if (nic_.set_receive_occupancy(qps_[i].qpn, percent)) told_[i] = percent;
  }
}

}  // namespace mrc::endpoint
