// SPDX-License-Identifier: BSD-3-Clause
#include "report/timeline.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

namespace mrc::report {

Timeline::Timeline(std::vector<Join> columns, std::size_t rows, Duration interval)
    : joins_(std::move(columns)), rows_(rows), interval_(std::max(interval, nanoseconds(1))) {}

void Timeline::begin(Time now, std::span<const double> values, std::span<const std::uint64_t> carried) {
  assert(values.size() == joins_.size() && carried.size() == rows_);
  begun_ = true;
  start_ = now;
  due_ = now + interval_;
  first_.assign(values.begin(), values.end());
  carried_seen_.assign(carried.begin(), carried.end());
}

void Timeline::add(Time now, std::span<const double> values, std::span<const std::uint8_t> states,
                   std::span<const std::uint64_t> carried) {
  assert(begun_ && values.size() == joins_.size() && states.size() == rows_ && carried.size() == rows_);
  if (now <= (ends_.empty() ? start_ : ends_.back())) return;
  if (ends_.size() == kMostSamples) halve();
  ends_.push_back(now);
  values_.insert(values_.end(), values.begin(), values.end());
  states_.insert(states_.end(), states.begin(), states.end());
  for (std::size_t r = 0; r < rows_; ++r) {
    const std::uint64_t rise = carried[r] - std::min(carried_seen_[r], carried[r]);
    carried_.push_back(static_cast<std::uint32_t>(std::min<std::uint64_t>(rise, UINT32_MAX)));
    carried_seen_[r] = carried[r];
  }
  // On the grid again after a late sample; intervals that nobody sampled are not made up.
  while (due_ <= now) due_ = due_ + interval_ * ((now - due_).ns / interval_.ns + 1);
}

void Timeline::halve() {
  const std::size_t half = ends_.size() / 2;
  const auto joined = [](Join how, double a, double b) {
    switch (how) {
      case Join::kLast:
        return b;
      case Join::kMean:
        return std::isnan(a) ? b : std::isnan(b) ? a : (a + b) / 2;
      case Join::kLeast:
        return std::fmin(a, b);  // of a number and a NaN, the number
      case Join::kMost:
        return std::fmax(a, b);
    }
    return b;
  };
  const std::size_t n = joins_.size();
  for (std::size_t i = 0; i < half; ++i) {
    const std::size_t a = 2 * i;
    const std::size_t b = a + 1;
    ends_[i] = ends_[b];
    for (std::size_t c = 0; c < n; ++c)
      values_[i * n + c] = joined(joins_[c], values_[a * n + c], values_[b * n + c]);
    for (std::size_t r = 0; r < rows_; ++r) {
      states_[i * rows_ + r] = std::max(states_[a * rows_ + r], states_[b * rows_ + r]);
      const std::uint64_t sum = std::uint64_t{carried_[a * rows_ + r]} + carried_[b * rows_ + r];
      carried_[i * rows_ + r] = static_cast<std::uint32_t>(std::min<std::uint64_t>(sum, UINT32_MAX));
    }
  }
  ends_.resize(half);
  values_.resize(half * n);
  states_.resize(half * rows_);
  carried_.resize(half * rows_);
  interval_ = interval_ * 2;
}

double Timeline::rise(std::size_t c, std::size_t sample) const {
  const double before = sample == 0 ? first_[c] : values_[(sample - 1) * joins_.size() + c];
  return std::max(values_[sample * joins_.size() + c] - before, 0.0);
}

std::vector<double> Timeline::ends_ns() const {
  std::vector<double> out;
  for (const Time t : ends_) out.push_back(static_cast<double>((t - start_).ns));
  return out;
}

std::vector<double> Timeline::column(std::size_t c) const {
  std::vector<double> out;
  for (std::size_t i = 0; i < size(); ++i) out.push_back(values_[i * joins_.size() + c]);
  return out;
}

std::vector<double> Timeline::rate(std::size_t c, double factor) const {
  std::vector<double> out;
  for (std::size_t i = 0; i < size(); ++i) {
    const Duration length = ends_[i] - (i == 0 ? start_ : ends_[i - 1]);
    out.push_back(rise(c, i) * factor * 1e9 / static_cast<double>(length.ns));
  }
  return out;
}

std::vector<double> Timeline::ratio(std::size_t over, std::size_t under) const {
  std::vector<double> out;
  for (std::size_t i = 0; i < size(); ++i) {
    const double d = rise(under, i);
    out.push_back(d > 0 ? rise(over, i) / d : std::numeric_limits<double>::quiet_NaN());
  }
  return out;
}

}  // namespace mrc::report
