// SPDX-License-Identifier: BSD-3-Clause
// A run in samples, for the HTML report: rates, windows, queues, EVs over time, in bounded memory. Costs
// nothing when it is not attached; looking changes nothing, so the run is the same with and without.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/histogram.h"
#include "report/html/page.h"
#include "report/timeline.h"
#include "sim/outcome.h"
#include "sim/world.h"

namespace mrc::sim {

/// Attaches itself to `world`, which it outlives no longer than its owner lets it: make it before
/// World::run(), ask it after. Takes the simulation's on_look and on_outcome.
class Sampler {
 public:
  static constexpr std::size_t kMostRows = 1024;  ///< EVs followed, of as many QPs as fit
  static constexpr std::size_t kMostQps = 16;
  static constexpr std::size_t kMostControllers = 256;

  explicit Sampler(World& world);
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  /// The last sample, up to the end of the run unless its last flow is done.
  void finish(Time end);
  /// The report. The same seed gives the same bytes.
  [[nodiscard]] report::html::Page page(const Outcome& outcome) const;

 private:
  /// A QP whose EVs are followed: rows [first, first + order.size()), EVs in the order of planes and paths.
  struct Followed {
    QpId qp = 0;
    std::size_t first = 0;
    std::vector<path::EvIndex> order;
    std::vector<std::string> labels;
  };
  /// Where each thing measured stands among the columns.
  struct Places {
    std::size_t placed = 0, planes = 0, causes = 0, marked = 0, trimmed = 0;
    std::size_t cwnd = 0, inflight = 0;  ///< each mean, least, most
    std::size_t delays = 0, delay_sum = 0, delay_most = 0;
    std::size_t queues = 0;
  };

  void choose_qps();
  void choose_columns();
  void read(Time now);
  void read_windows();
  void read_queues(Time now);
  void note(const fabric::Outcome& outcome, const Token& token);
  [[nodiscard]] const Followed& most_eventful() const;
  // sampler_page.cc
  [[nodiscard]] report::html::TimeChart goodput_chart() const;
  [[nodiscard]] report::html::TimeChart plane_chart() const;
  [[nodiscard]] report::html::TimeChart window_chart() const;
  [[nodiscard]] report::html::TimeChart queue_chart() const;
  [[nodiscard]] report::html::TimeChart repair_chart() const;
  [[nodiscard]] report::html::TimeChart delay_chart() const;
  [[nodiscard]] report::html::EvMap ev_map() const;
  [[nodiscard]] report::html::Distribution delays() const;

  World& world_;
  Places at_;
  std::vector<report::Join> joins_;
  std::vector<QueueClass> classes_;
  std::vector<const cc::Qpcc*> controllers_;
  std::vector<Followed> followed_;
  std::vector<std::vector<fabric::LinkId>> host_links_;  ///< by plane: what the hosts send into
  std::vector<double> values_;
  std::vector<std::uint8_t> states_;
  std::vector<std::uint64_t> carried_;
  double delay_most_ns_ = 0;  ///< since the last sample
  double delay_sum_ns_ = 0;
  report::Histogram delays_;
  std::optional<report::Timeline> timeline_;
};

}  // namespace mrc::sim
