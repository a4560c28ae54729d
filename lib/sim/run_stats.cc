// SPDX-License-Identifier: BSD-3-Clause
#include "sim/run_stats.h"

#include <cmath>

namespace mrc::sim {

const char* name(QueueClass c) {
  switch (c) {
    case QueueClass::kHost:
      return "host";
    case QueueClass::kT0Up:
      return "t0_up";
    case QueueClass::kT1Up:
      return "t1_up";
    case QueueClass::kT2Down:
      return "t2_down";
    case QueueClass::kT1Down:
      return "t1_down";
    case QueueClass::kLastHop:
      return "last_hop";
  }
  return "?";
}

std::uint64_t DepthHistogram::percentile(double percent) const {
  const auto rank = static_cast<std::uint64_t>(std::ceil(percent / 100 * static_cast<double>(samples_)));
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    seen += counts_[i];
    if (seen >= rank && counts_[i] != 0) return i * kStepBytes;
  }
  return 0;
}

void Series::halve() {
  step_ = step_ * 2;
  const std::size_t half = (size() + 1) / 2;
  for (std::size_t b = 0; b < half; ++b) {
    for (std::uint32_t p = 0; p < planes_; ++p) {
      const std::uint64_t second = 2 * b + 1 < size() ? at(2 * b + 1, p) : 0;
      bytes_[b * planes_ + p] = at(2 * b, p) + second;
    }
  }
  bytes_.resize(half * planes_);
}

}  // namespace mrc::sim
