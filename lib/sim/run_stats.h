// SPDX-License-Identifier: BSD-3-Clause
// What a run measures while it runs: depths of queues, progress over time, faults and their repair.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "base/time.h"
#include "fabric/packet.h"

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

/// Lost to a fault of the network, as against want of room.
constexpr bool is_silent_loss(fabric::DropReason reason) {
  using fabric::DropReason;
  return reason == DropReason::kLinkDown || reason == DropReason::kRandomLoss ||
         reason == DropReason::kEvLoss || reason == DropReason::kBlackHole || reason == DropReason::kPortDown;
}

/// A fault and what it did. Losses by silence belong to the fault that began last.
struct FaultRecord {
  Time at;
  std::uint32_t label = 0;       ///< the owner's number for it
  std::uint64_t lost_data = 0;   ///< data packets that it swallowed
  std::uint64_t lost_other = 0;  ///< SACKs, probes ...
  Time last_sent_into;           ///< send time of the last data packet that was swallowed; Time{0}: none
  Time last_repair;              ///< when the receiver had the last PSN that lost a transmission
  std::uint64_t open = 0;        ///< PSNs lost and not yet received
};

/// All faults of a run. `key` names a PSN of a QP.
class FaultLog {
 public:
  /// One will begin at `at`; in order of time. catch_up() lets it.
  void expect(Time at, std::uint32_t label) { expected_.push_back({at, label}); }
  void catch_up(Time now) {
    for (; next_expected_ < expected_.size() && expected_[next_expected_].first <= now; ++next_expected_)
      begin(expected_[next_expected_].first, expected_[next_expected_].second);
  }
  void begin(Time at, std::uint32_t label) {
    if (!records_.empty() && records_.back().at == at && records_.back().label == label) return;
    records_.push_back({});
    records_.back().at = at;
    records_.back().label = label;
  }
  void lost_data(Time sent, std::uint64_t key, bool received_already) {
    if (records_.empty()) return;
    FaultRecord& r = records_.back();
    ++r.lost_data;
    r.last_sent_into = later(r.last_sent_into, sent);
    if (!received_already && missing_.insert(key).second) ++r.open;
  }
  void lost_other() {
    if (!records_.empty()) ++records_.back().lost_other;
  }
  void received(Time now, std::uint64_t key) {
    if (missing_.empty() || missing_.erase(key) == 0) return;
    records_.back().last_repair = now;
    if (records_.back().open > 0) --records_.back().open;
  }
  [[nodiscard]] const std::vector<FaultRecord>& records() const { return records_; }

 private:
  std::vector<std::pair<Time, std::uint32_t>> expected_;
  std::size_t next_expected_ = 0;
  std::vector<FaultRecord> records_;
  std::unordered_set<std::uint64_t> missing_;
};

}  // namespace mrc::sim
