// SPDX-License-Identifier: BSD-3-Clause
#include "report/rates.h"

#include <algorithm>

namespace mrc::report {

Rates rates_of(std::uint64_t messages, std::uint64_t payload_bytes, std::uint64_t frames,
               std::uint64_t frame_bytes, double seconds) {
  Rates r;
  if (!(seconds > 0)) return r;
  const double l2_bytes = static_cast<double>(frame_bytes) + static_cast<double>(frames * kFcsBytes);
  r.goodput_bps = static_cast<double>(payload_bytes) * 8 / seconds;
  r.l2_bps = l2_bytes * 8 / seconds;
  r.l1_bps = (l2_bytes + static_cast<double>(frames * kL1OverheadBytes)) * 8 / seconds;
  r.packets_per_s = static_cast<double>(frames) / seconds;
  r.messages_per_s = static_cast<double>(messages) / seconds;
  return r;
}

void Windows::add(double value) {
  min_ = count_ == 0 ? value : std::min(min_, value);
  max_ = count_ == 0 ? value : std::max(max_, value);
  sum_ += value;
  ++count_;
}

}  // namespace mrc::report
