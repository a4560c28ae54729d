// SPDX-License-Identifier: BSD-3-Clause
// From samples to plots.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "live_sampler.h"
#include "report/html/distribution.h"
#include "report/html/repair_chart.h"
#include "report/html/text.h"

namespace mrc::endpoint {
namespace {

using report::html::Layout;
using report::html::TimeChart;
using report::html::Unit;

bool any_above_zero(const std::vector<double>& v) {
  return std::any_of(v.begin(), v.end(), [](double x) { return x > 0; });
}

static_assert(report::html::kRepairCauses == transport::kRtxCauses);

}  // namespace

TimeChart LiveSampler::rate_chart() const {
  TimeChart c{"goodput", "Payload", "", Unit::kBitsPerSecond, Layout::kLines, {}, {}};
  const std::string of = followed_ == source_.qpns.size()
                             ? ""
                             : fmt::format(" The first {} of {} QPs.", followed_, source_.qpns.size());
  c.about =
      "Sent for the first time, and placed into memory with each byte once: retransmissions, headers and "
      "control "
      "packets are not in it." +
      of;
  for (const auto& [name, place] : {std::pair{"placed", at_.received}, {"sent", at_.payload}}) {
    std::vector<double> v = timeline_->rate(place, 8);
    if (any_above_zero(v)) c.series.push_back({name, std::move(v), {}, {}});
  }
  return c;
}

/// What goes out, what comes in, or both: a direction that carries acknowledgements alone is left out.
void LiveSampler::add_plane_charts(report::html::Page& page) const {
  struct Direction {
    const char* id;
    const char* title;
    std::size_t place;
    double total = 0;
    std::vector<std::vector<double>> rates;
  };
  std::array<Direction, 2> both{{{"planes", "Rate of each plane, sent", at_.tx, 0, {}},
                                 {"planes-rx", "Rate of each plane, received", at_.rx, 0, {}}}};
  for (Direction& d : both) {
    for (std::size_t p = 0; p < planes_; ++p) {
      d.rates.push_back(timeline_->rate(d.place + p, 8));
      for (const double v : d.rates.back()) d.total += v;
    }
  }
  for (Direction& d : both) {
    if (d.total < 0.2 * std::max(both[0].total, both[1].total)) continue;
    TimeChart c{d.id,
                d.title,
                "Frames at this end's ports, with headers, retransmissions and control packets, without FCS.",
                Unit::kBitsPerSecond,
                Layout::kStrips,
                {},
                {}};
    for (std::size_t p = 0; p < planes_; ++p)
      c.series.push_back({fmt::format("plane {}", p), std::move(d.rates[p]), {}, {}});
    page.charts.push_back(std::move(c));
  }
}

TimeChart LiveSampler::window_chart() const {
  TimeChart c{"cwnd", "Congestion window", "", Unit::kBytes, Layout::kLines, {}, {}};
  c.about = followed_ == 1 ? "Of the QP, read at each sample."
                           : fmt::format("Mean over {} QPs, read at each sample.", followed_);
  c.series = {{"cwnd", timeline_->column(at_.cwnd), {}, {}},
              {"in flight", timeline_->column(at_.inflight), {}, {}}};
  if (!any_above_zero(c.series[0].values)) {
    c.about += " Congestion control is off: only the MPR window bounds what is in flight.";
    c.series.erase(c.series.begin());
  }
  return c;
}

TimeChart LiveSampler::queue_chart() const {
  TimeChart c{"queues", "Queue depth", "", Unit::kBytes, Layout::kLines, {}, {}};
  c.about = "The deepest data queue of the virtual fabric at each sample.";
  const std::vector<double> depth = timeline_->column(at_.queue);
  if (source_.fabric == nullptr) {
    c.absent = "The network is outside this process: its queues cannot be seen from here.";
  } else if (!any_above_zero(depth)) {
    c.absent =
        "No queue: the paths of this run have no limit of speed, or none was ever full. Packets are held for "
        "their distance alone.";
  } else {
    c.series.push_back({"deepest queue", depth, {}, {}});
  }
  return c;
}

TimeChart LiveSampler::repair_chart() const {
  return report::html::repair_chart(*timeline_, {at_.causes, at_.trimmed, at_.marked}, "Packets so far.");
}

TimeChart LiveSampler::latency_chart() const {
  TimeChart c{"latency", "Message latency over time", "", Unit::kNanoseconds, Layout::kLines, {}, {}};
  c.about = "From post to completion, of the messages that completed in each sample.";
  c.absent = "No message of this end's completed.";
  c.bridge_gaps = true;
  c.series = {{"mean", timeline_->ratio(at_.latency_sum, at_.messages), {}, {}},
              {"slowest", timeline_->column(at_.latency_most), {}, {}}};
  return c;
}

report::html::EvMap LiveSampler::ev_map() const {
  report::html::EvMap m;
  m.title = "Entropy values";
  std::size_t shown = 0;
  std::uint64_t most = 0;
  for (std::size_t q = 0; q < followed_; ++q) {
    std::uint64_t changes = 0;
    for (std::size_t r = q * order_.size(); r < (q + 1) * order_.size(); ++r)
      for (std::size_t s = 1; s < timeline_->size(); ++s)
        changes += timeline_->state(r, s) > timeline_->state(r, s - 1) ? timeline_->state(r, s) : 0;
    if (changes <= most) continue;
    most = changes;
    shown = q;
  }
  m.about = fmt::format("A row an EV, {}; a stronger colour is more packets.{}",
                        source_.path_of ? "those of one path together" : "by plane",
                        followed_ <= 1
                            ? ""
                            : fmt::format(" QP {}: of the {} QPs that were followed, the one whose EVs went "
                                          "through most.",
                                          shown, followed_));
  for (std::size_t i = 0; followed_ != 0 && i < order_.size(); ++i) {
    const path::EvIndex ev = order_[i];
    const unsigned plane = (*source_.evs)[ev].port;
    m.rows.push_back({source_.path_of
                          ? fmt::format("EV {}, plane {}, path {}", ev, plane, source_.path_of(ev))
                          : fmt::format("EV {}, plane {}", ev, plane),
                      plane});
    for (std::size_t s = 0; s < timeline_->size(); ++s) {
      m.states.push_back(timeline_->state(shown * order_.size() + i, s));
      m.pkts.push_back(timeline_->carried(shown * order_.size() + i, s));
    }
  }
  return m;
}

report::html::Distribution LiveSampler::latencies() const {
  report::html::Distribution d;
  d.id = "latencies";
  d.title = "Message latency";
  d.about = "Share of messages by the time from post to completion, logarithmic.";
  report::html::fill(d, latency_);
  return d;
}

void LiveSampler::fill(report::html::Page& page) const {
  if (!timeline_) {
    page.footer = "The run ended before the first sample. This file is complete in itself: it loads nothing.";
    return;
  }
  page.times_ns = timeline_->ends_ns();
  for (const auto& [at, text] : marks_)
    page.markers.push_back({static_cast<double>((at - timeline_->start()).ns), text});
  std::stable_sort(page.markers.begin(), page.markers.end(),
                   [](const auto& a, const auto& b) { return a.t_ns < b.t_ns; });
  page.charts.push_back(rate_chart());
  add_plane_charts(page);
  page.charts_before_map = page.charts.size();
  for (TimeChart& c : std::array{window_chart(), queue_chart(), repair_chart(), latency_chart()})
    page.charts.push_back(std::move(c));
  page.maps.push_back(ev_map());
  page.distributions.push_back(latencies());
  page.footer = fmt::format(
      "{} samples, one every {:.3g} ms of real time, read by the control thread. This file is complete in "
      "itself: it loads nothing "
      "and can be sent as it is.",
      timeline_->size(), static_cast<double>(timeline_->interval().ns) * 1e-6);
}

}  // namespace mrc::endpoint
