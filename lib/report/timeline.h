// SPDX-License-Identifier: BSD-3-Clause
// Samples of a run of unknown length in bounded memory: when there is no room left, neighbours are joined and
// the interval doubles, so that a run of any length ends with between half of kMostSamples and all of them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/time.h"

namespace mrc::report {

/// What becomes of two neighbouring samples when they are joined.
enum class Join : std::uint8_t {
  kLast,  ///< counters that only rise: the later reading
  kMean,
  kLeast,
  kMost,
};

/// Columns of numbers, and rows of states (EVs) with what each carried. Thread rule: one owner.
class Timeline {
 public:
  static constexpr std::size_t kMostSamples = 960;

  /// `rows` of states, each 0 (best) and up. The first interval is `interval` (> 0).
  Timeline(std::vector<Join> columns, std::size_t rows, Duration interval);

  /// The run begins: counters stand at `values` and `carried` (by row, only rising).
  void begin(Time now, std::span<const double> values, std::span<const std::uint64_t> carried);
  [[nodiscard]] bool begun() const { return begun_; }
  /// When the next sample is due; never() before begin().
  [[nodiscard]] Time due() const { return due_; }
  /// One sample, of the time since the last; it may come late. A second one at the same time replaces nothing
  /// and is ignored.
  void add(Time now, std::span<const double> values, std::span<const std::uint8_t> states,
           std::span<const std::uint64_t> carried);

  [[nodiscard]] std::size_t size() const { return ends_.size(); }
  [[nodiscard]] Duration interval() const { return interval_; }
  [[nodiscard]] Time start() const { return start_; }
  [[nodiscard]] Time end(std::size_t sample) const { return ends_[sample]; }
  [[nodiscard]] std::vector<double> ends_ns() const;  ///< since start
  [[nodiscard]] std::vector<double> column(std::size_t c) const;
  /// What a counter rose by in each sample, per second, times `factor`.
  [[nodiscard]] std::vector<double> rate(std::size_t c, double factor = 1) const;
  /// What a counter rose by in each sample, divided by what another did; NaN where that is 0.
  [[nodiscard]] std::vector<double> ratio(std::size_t over, std::size_t under) const;
  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] std::uint8_t state(std::size_t row, std::size_t sample) const {
    return states_[sample * rows_ + row];
  }
  [[nodiscard]] std::uint32_t carried(std::size_t row, std::size_t sample) const {
    return carried_[sample * rows_ + row];
  }

 private:
  void halve();
  [[nodiscard]] double rise(std::size_t c, std::size_t sample) const;

  std::vector<Join> joins_;
  std::size_t rows_;
  Duration interval_;
  bool begun_ = false;
  Time start_, due_ = Time::never();
  std::vector<double> first_;                ///< values at begin()
  std::vector<std::uint64_t> carried_seen_;  ///< by row, at the last sample
  std::vector<Time> ends_;
  std::vector<double> values_;          ///< by sample, then column
  std::vector<std::uint8_t> states_;    ///< by sample, then row
  std::vector<std::uint32_t> carried_;  ///< the same: in this sample
};

}  // namespace mrc::report
