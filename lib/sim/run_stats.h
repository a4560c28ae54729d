// SPDX-License-Identifier: BSD-3-Clause
// What a run measures while it runs: depths of queues, progress over time.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "base/limits.h"
#include "base/time.h"

namespace mrc::sim {

/// Where a queue stands. A last hop is a T0's port to a host.
enum class QueueClass : std::uint8_t { kHost, kT0Up, kT1Up, kT2Down, kT1Down, kLastHop };
inline constexpr std::size_t kQueueClasses = 6;
const char* name(QueueClass c);

/// Depths of data queues, sampled in time: steps of 256 B, exact below 4 MiB, everything above in the last.
class DepthHistogram {
 public:
  static constexpr std::uint32_t kStepBytes = 256;
  static constexpr std::size_t kSteps = 16384;

  void record(std::uint64_t bytes, std::uint64_t times = 1) {
    if (counts_.empty()) counts_.resize(kSteps);
    counts_[std::min<std::uint64_t>((bytes + kStepBytes - 1) / kStepBytes, kSteps - 1)] += times;
    samples_ += times;
  }
  [[nodiscard]] std::uint64_t samples() const { return samples_; }
  /// Nearest rank, rounded up to the step; 0 without samples.
  [[nodiscard]] std::uint64_t percentile(double percent) const;

 private:
  std::vector<std::uint64_t> counts_;
  std::uint64_t samples_ = 0;
};

/// Payload bytes that arrived, by time and plane. Doubles its step when it runs out of room, so that any run
/// fits.
class Series {
 public:
  static constexpr std::size_t kBuckets = 4096;

  Series(std::uint32_t planes, Duration step) : planes_(planes), step_(step) {}
  void add(Time at, std::uint32_t plane, std::uint64_t bytes) {
    auto bucket = static_cast<std::size_t>(at.ns / step_.ns);
    while (bucket >= kBuckets) {
      halve();
      bucket = static_cast<std::size_t>(at.ns / step_.ns);
    }
    if ((bucket + 1) * planes_ > bytes_.size()) bytes_.resize((bucket + 1) * planes_);
    bytes_[bucket * planes_ + plane] += bytes;
  }
  [[nodiscard]] Duration step() const { return step_; }
  [[nodiscard]] std::uint32_t planes() const { return planes_; }
  [[nodiscard]] std::size_t size() const { return bytes_.size() / planes_; }
  [[nodiscard]] std::uint64_t at(std::size_t bucket, std::uint32_t plane) const {
    return bytes_[bucket * planes_ + plane];
  }

 private:
  void halve();

  std::uint32_t planes_;
  Duration step_;
  std::vector<std::uint64_t> bytes_;
};

}  // namespace mrc::sim
