// SPDX-License-Identifier: BSD-3-Clause
// A run on real time in samples, for the HTML report: what workers count anyway, read now and then from the
// control thread by the same calls as results are. Nothing is added to the workers' path; a run that wants no
// report has no sampler.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fabric/fabric.h"
#include "nic/nic.h"
#include "path/ev_table.h"
#include "report/histogram.h"
#include "report/html/page.h"
#include "report/timeline.h"

namespace mrc::endpoint {

/// What is looked at. Pointers outlive the last sample, but for the EV table, which is shared.
struct LiveSource {
  nic::Nic* nic = nullptr;          ///< whose planes, QPs and windows are shown
  std::vector<std::uint32_t> qpns;  ///< its QPs; the first kMostQps are followed
  nic::Nic* receiver = nullptr;     ///< the other end, when it is in this process; null: not
  std::vector<std::uint32_t> receiver_qpns;
  std::shared_ptr<const path::EvTable> evs;
  std::function<unsigned(path::EvIndex)> path_of;  ///< number of an EV's path on its plane; empty: not known
  const fabric::Fabric* fabric = nullptr;  ///< polled by the control thread; null: none in this process
};

/// Thread rule: the control thread of the Nics.
class LiveSampler {
 public:
  static constexpr std::size_t kMostRows = 1024;  ///< EVs followed, of as many QPs as fit
  static constexpr std::size_t kMostQps = 8;

  /// Time begins at the first begin(); later ones only tell where to look (another phase).
  void begin(LiveSource source, Time now);
  /// Reads a sample when one is due; `latency` is what the application has measured so far, null: nothing.
  void poll(Time now, const report::Histogram* latency) {
    if (timeline_ && now >= timeline_->due()) sample(now, latency);
  }
  /// The application's histogram ends here: it joins the distribution, another may begin.
  void end_phase(Time now, const report::Histogram& latency);
  /// Something happened.
  void mark(Time now, std::string text);

  [[nodiscard]] std::size_t samples() const { return timeline_ ? timeline_->size() : 0; }
  /// Times, markers, plots, the map and the distribution; the rest of the page is the caller's. Reads no Nic.
  void fill(report::html::Page& page) const;

 private:
  struct Places {
    std::size_t payload = 0, received = 0, tx = 0, rx = 0, causes = 0, marked = 0, trimmed = 0;
    std::size_t cwnd = 0, inflight = 0, queue = 0, inside = 0;
    std::size_t messages = 0, latency_sum = 0, latency_most = 0;
  };
  void choose();
  void sample(Time now, const report::Histogram* latency);
  void read(const report::Histogram* latency);
  void read_qps();
  void read_fabric();
  void read_latency(const report::Histogram& latency);
  // live_plots.cc
  [[nodiscard]] report::html::TimeChart rate_chart() const;
  void add_plane_charts(report::html::Page& page) const;
  [[nodiscard]] report::html::TimeChart window_chart() const;
  [[nodiscard]] report::html::TimeChart queue_chart() const;
  [[nodiscard]] report::html::TimeChart repair_chart() const;
  [[nodiscard]] report::html::TimeChart latency_chart() const;
  [[nodiscard]] report::html::EvMap ev_map() const;
  [[nodiscard]] report::html::Distribution latencies() const;

  LiveSource source_;
  Places at_;
  std::vector<report::Join> joins_;
  std::size_t planes_ = 0;
  std::size_t followed_ = 0;          ///< QPs
  std::vector<path::EvIndex> order_;  ///< EVs by plane, then path
  std::vector<double> values_;
  std::vector<std::uint8_t> states_;
  std::vector<std::uint64_t> carried_;
  std::optional<report::Timeline> timeline_;
  std::vector<std::pair<Time, std::string>> marks_;
  report::Histogram latency_;                                  ///< of phases that ended
  std::vector<std::pair<std::uint64_t, std::uint64_t>> seen_;  ///< buckets at the last sample: low, count
  std::vector<std::pair<std::uint64_t, std::uint64_t>> fresh_;
};

}  // namespace mrc::endpoint
