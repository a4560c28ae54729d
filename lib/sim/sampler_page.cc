// SPDX-License-Identifier: BSD-3-Clause
// From samples to the plots of the report.
#include <fmt/format.h>

#include <algorithm>

#include "report/html/distribution.h"
#include "report/html/repair_chart.h"
#include "report/html/text.h"
#include "sim/outcome_page.h"
#include "sim/sampler.h"

namespace mrc::sim {
namespace {

using report::html::duration;
using report::html::TimeChart;
using report::html::Unit;

const char* place_of(QueueClass c) {
  switch (c) {
    case QueueClass::kHost:
      return "host to T0";
    case QueueClass::kT0Up:
      return "T0 to T1";
    case QueueClass::kT1Up:
      return "T1 to T2";
    case QueueClass::kT2Down:
      return "T2 to T1";
    case QueueClass::kT1Down:
      return "T1 to T0";
    case QueueClass::kLastHop:
      return "T0 to host (last hop)";
  }
  return "?";
}

static_assert(report::html::kRepairCauses == transport::kRtxCauses);

}  // namespace

TimeChart Sampler::goodput_chart() const {
  TimeChart c{"goodput", "Goodput", "", Unit::kBitsPerSecond, report::html::Layout::kLines, {}, {}};
  c.about =
      "Payload placed into memory by all receivers, each byte once, and what all hosts put on their links "
      "with headers, retransmissions and control packets.";
  c.series.push_back({"payload placed", timeline_->rate(at_.placed, 8), {}, {}});
  std::vector<double> wire(timeline_->size());
  for (std::size_t p = 0; p < host_links_.size(); ++p) {
    const std::vector<double> of_plane = timeline_->rate(at_.planes + p, 8);
    for (std::size_t i = 0; i < wire.size(); ++i) wire[i] += of_plane[i];
  }
  c.series.push_back({"sent by hosts", std::move(wire), {}, {}});
  return c;
}

TimeChart Sampler::plane_chart() const {
  TimeChart c{"planes", "Rate of each plane", "", Unit::kBitsPerSecond, report::html::Layout::kStrips, {},
              {}};
  c.about = "What the hosts sent on each plane. Healthy planes look alike.";
  for (std::size_t p = 0; p < host_links_.size(); ++p)
    c.series.push_back({fmt::format("plane {}", p), timeline_->rate(at_.planes + p, 8), {}, {}});
  return c;
}

TimeChart Sampler::window_chart() const {
  TimeChart c{"cwnd", "Congestion window", "", Unit::kBytes, report::html::Layout::kLines, {}, {}};
  c.about =
      fmt::format("{}, read at each sample; the band goes from the least to the most.",
                  controllers_.size() == 1 ? "The one controller"
                                           : fmt::format("Mean over {} controllers", controllers_.size()));
  c.absent = "Congestion control is off in this scenario: cc.kind says so.";
  const auto add = [&](const char* name, std::size_t place) {
    c.series.push_back(
        {name, timeline_->column(place), timeline_->column(place + 1), timeline_->column(place + 2)});
  };
  add("cwnd", at_.cwnd);
  add("in flight", at_.inflight);
  const std::vector<double>& cwnd = c.series[0].values;
  if (std::none_of(cwnd.begin(), cwnd.end(), [](double v) { return v == v; })) c.series.clear();
  return c;
}

TimeChart Sampler::queue_chart() const {
  TimeChart c{"queues", "Queue depth", "", Unit::kBytes, report::html::Layout::kLines, {}, {}};
  c.about =
      "Data waiting or in service: the deepest queue of each kind at each sample. What lies between two "
      "samples "
      "is not seen; the exact maximum is in the table of queues.";
  for (std::size_t i = 0; i < classes_.size(); ++i)
    c.series.push_back({place_of(classes_[i]), timeline_->column(at_.queues + i), {}, {}});
  return c;
}

TimeChart Sampler::repair_chart() const {
  return report::html::repair_chart(*timeline_, {at_.causes, at_.trimmed, at_.marked},
                                    "Packets so far, all QPs.");
}

TimeChart Sampler::delay_chart() const {
  TimeChart c{"delay", "One-way delay over time", "", Unit::kNanoseconds, report::html::Layout::kLines, {},
              {}};
  c.about = "From the host's link to the receiver, data packets that arrived whole.";
  c.bridge_gaps = true;
  c.series.push_back({"mean", timeline_->ratio(at_.delay_sum, at_.delays), {}, {}});
  c.series.push_back({"slowest", timeline_->column(at_.delay_most), {}, {}});
  return c;
}

const Sampler::Followed& Sampler::most_eventful() const {
  const auto changes = [&](const Followed& f) {
    std::uint64_t n = 0;
    for (std::size_t r = f.first; r < f.first + f.order.size(); ++r)
      for (std::size_t s = 1; s < timeline_->size(); ++s)
        n += timeline_->state(r, s) > timeline_->state(r, s - 1) ? timeline_->state(r, s) : 0;
    return n;
  };
  return *std::max_element(followed_.begin(), followed_.end(),
                           [&](const Followed& a, const Followed& b) { return changes(a) < changes(b); });
}

report::html::EvMap Sampler::ev_map() const {
  report::html::EvMap m;
  m.title = "Entropy values";
  if (followed_.empty()) return m;
  const Followed& f = most_eventful();
  const Simulation& sim = world_.sim();
  m.about = fmt::format(
      "A row an EV, those of one path together; a stronger colour is more packets. QP {} from host {} to "
      "host {}{}.",
      f.qp, sim.host_of(f.qp), sim.host_of(sim.peer_of(f.qp)),
      followed_.size() == 1
          ? ""
          : fmt::format(": of the {} QPs that were followed, the one whose EVs went through most",
                        followed_.size()));
  for (std::size_t i = 0; i < f.order.size(); ++i) {
    m.rows.push_back({f.labels[i], sim.evs_of(f.qp)[f.order[i]].port});
    for (std::size_t s = 0; s < timeline_->size(); ++s) {
      m.states.push_back(timeline_->state(f.first + i, s));
      m.pkts.push_back(timeline_->carried(f.first + i, s));
    }
  }
  return m;
}

report::html::Distribution Sampler::delays() const {
  report::html::Distribution d;
  d.id = "delays";
  d.title = "One-way delay";
  d.about = "Share of data packets by the time from the host's link to the receiver, logarithmic.";
  report::html::fill(d, delays_);
  return d;
}

report::html::Page Sampler::page(const Outcome& o) const {
  report::html::Page p = outcome_page(o, world_.scenario());
  p.times_ns = timeline_->ends_ns();
  p.charts = {goodput_chart(), plane_chart(), window_chart(), queue_chart(), repair_chart(), delay_chart()};
  p.charts_before_map = 2;
  p.maps.push_back(ev_map());
  p.distributions.push_back(delays());
  p.footer =
      fmt::format("{} samples, one every {} of virtual time; fewer were kept where the run was longer. {}",
                  timeline_->size(), duration(timeline_->interval().ns), kCompleteInItself);
  return p;
}

}  // namespace mrc::sim
