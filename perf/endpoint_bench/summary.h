// SPDX-License-Identifier: BSD-3-Clause
// Median and extremes: what is printed of repeated measurements.
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "endpoint_bench/bench.h"

namespace mrc::perf {

struct Summary {
  double median, min, max;

  /// Of `of(sample)`; there is at least one sample.
  template <class Sample, class F>
  static Summary over(const std::vector<Sample>& samples, F of) {
    std::vector<double> v;
    for (const Sample& s : samples) v.push_back(of(s));
    std::sort(v.begin(), v.end());
    return {v[v.size() / 2], v.front(), v.back()};
  }
  [[nodiscard]] nlohmann::json json() const { return {{"median", median}, {"min", min}, {"max", max}}; }
};

inline nlohmann::json to_json(const Troubles& t) {
  return {{"retransmissions", t.retransmissions},
          {"timer_expiries", t.timer_expiries},
          {"poll_gaps", t.poll_gaps}};
}

}  // namespace mrc::perf
