// SPDX-License-Identifier: BSD-3-Clause
// Depths of all data queues of a fabric, sampled in time.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "fabric/fabric.h"
#include "sim/run_stats.h"

namespace mrc::sim {

/// Where the queue of a link stands.
QueueClass class_of_link(const fabric::Topology& topology, const fabric::LinkSpec& link);

/// One owner, who calls sample() before anything changes at or after next().
class QueueDepths {
 public:
  /// `interval` 0: no samples.
  QueueDepths(const fabric::Topology& topology, Duration interval);

  [[nodiscard]] Time next() const { return next_; }
  /// Samples at every interval up to `until`, with the state that stands since the last event. `busy`: flows
  /// are open; before the first and after the last nobody cares.
  void sample(const fabric::Fabric& network, Time until, bool busy);

  [[nodiscard]] const std::array<DepthHistogram, kQueueClasses>& histograms() const { return depths_; }
  [[nodiscard]] QueueClass class_of(fabric::LinkId id) const { return class_[id]; }

 private:
  Duration interval_;
  Time next_;
  std::vector<QueueClass> class_;
  std::array<std::uint32_t, kQueueClasses> links_{};
  std::array<DepthHistogram, kQueueClasses> depths_;
};

}  // namespace mrc::sim
