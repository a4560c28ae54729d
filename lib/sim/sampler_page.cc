// SPDX-License-Identifier: BSD-3-Clause
// From samples and outcome to the report.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "report/html/distribution.h"
#include "report/html/text.h"
#include "sim/sampler.h"

namespace mrc::sim {
namespace {

using report::html::bytes;
using report::html::duration;
using report::html::rate;
using report::html::TimeChart;
using report::html::Unit;

std::string number(std::uint64_t n) {
  return fmt::format("{}", n);
}

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

report::html::Table table_of(std::string title, const Counts& counts) {
  report::html::Table t{std::move(title), {"counter", "value"}, {}, false};
  for (const auto& [name, value] : counts) t.rows.push_back({name, number(value)});
  return t;
}

void add_markers(const Outcome& o, report::html::Page& page) {
  for (const FaultOutcome& f : o.faults) {
    page.markers.push_back({static_cast<double>(f.at_ns - 1),
                            fmt::format("fault, {}: {} data packets lost{}", f.where, f.lost_data,
                                        f.open == 0 ? "" : fmt::format(", {} never repaired", f.open))});
    if (o.faults.size() <= 8 && f.last_repair_ns >= 0)
      page.markers.push_back(
          {static_cast<double>(f.at_ns - 1 + f.last_repair_ns),
           fmt::format("all that it lost is received: {} or {:.1f} base RTTs after it began",
                       duration(f.last_repair_ns),
                       static_cast<double>(f.last_repair_ns) /
                           static_cast<double>(std::max<std::int64_t>(o.base_rtt_ns, 1)))});
  }
  std::stable_sort(page.markers.begin(), page.markers.end(),
                   [](const auto& a, const auto& b) { return a.t_ns < b.t_ns; });
}

void add_figures(const Outcome& o, report::html::Page& page) {
  const auto rtx = o.count(o.packets, "rtx");
  page.figures = {
      {"goodput, all hosts", rate(o.goodput_bps), bytes(o.received_bytes) + " placed"},
      {"slowest flow", duration(o.fct.max_ns),
       o.fct.samples == 0 ? "none completed"
                          : fmt::format("{:.2f} of the ideal {}", o.tail_over_ideal(), duration(o.ideal_ns))},
      {"flows completed", number(o.completed), fmt::format("of {}, {} failed", o.flows.size(), o.failed)},
      {"retransmissions", number(rtx), fmt::format("{} spurious", o.count(o.packets, "spurious_rtx"))},
      {"EVs assumed bad", number(o.count(o.evs, "assumed_bad")),
       fmt::format("{} of them falsely", o.count(o.evs, "false_assumed_bad"))}};
}

void add_tables(const Outcome& o, report::html::Page& page) {
  report::html::Table run{"Run", {"what", "value"}, {}, true};
  run.rows = {{"scenario", o.scenario},
              {"seed", number(o.seed)},
              {"hosts, planes, QPs", fmt::format("{}, {}, {}", o.hosts, o.planes, o.qps)},
              {"base RTT", duration(o.base_rtt_ns)},
              {"ended at", duration(o.end_ns)},
              {"flow completion: least, median, p99, most",
               fmt::format("{}, {}, {}, {}", duration(o.fct.min_ns), duration(o.fct.median_ns),
                           duration(o.fct.p99_ns), duration(o.fct.max_ns))}};
  page.tables.push_back(std::move(run));
  report::html::Table planes{
      "Planes", {"plane", "data packets", "bytes sent by hosts", "payload placed", "dropped"}, {}, true};
  for (std::size_t p = 0; p < o.planes_out.size(); ++p) {
    const PlaneOutcome& x = o.planes_out[p];
    planes.rows.push_back(
        {number(p), number(x.data_pkts), bytes(x.data_bytes), bytes(x.received_bytes), number(x.dropped)});
  }
  page.tables.push_back(std::move(planes));
  report::html::Table queues{
      "Queues",
      {"where", "links", "p50", "p99", "p99.9", "deepest", "marked", "trimmed", "dropped"},
      {},
      false};
  for (const QueueOutcome& q : o.queues)
    queues.rows.push_back({q.where, number(q.links), bytes(q.p50_bytes), bytes(q.p99_bytes),
                           bytes(q.p999_bytes), bytes(q.max_bytes), number(q.ce_marked), number(q.trimmed),
                           number(q.dropped)});
  page.tables.push_back(std::move(queues));
  if (!o.faults.empty()) {
    report::html::Table faults{
        "Faults",
        {"where", "at", "data lost", "other lost", "last sent into it after", "last repair after"},
        {},
        false};
    for (const FaultOutcome& f : o.faults)
      faults.rows.push_back({f.where, duration(f.at_ns), number(f.lost_data), number(f.lost_other),
                             duration(f.last_sent_into_ns), duration(f.last_repair_ns)});
    page.tables.push_back(std::move(faults));
  }
  page.tables.push_back(table_of("Packets", o.packets));
  page.tables.push_back(table_of("Retransmissions by cause", o.rtx_by_cause));
  page.tables.push_back(table_of("EVs", o.evs));
  page.tables.push_back(table_of("Network", o.network));
  report::html::Table flows{"Flows", {"flow", "from host", "to host", "bytes", "start", "took"}, {}, false};
  for (std::size_t i = 0; i < o.flows.size(); ++i) {
    const FlowOutcome& f = o.flows[i];
    flows.rows.push_back({number(i), number(f.src), number(f.dst), bytes(f.bytes), duration(f.start_ns),
                          f.failed             ? "failed"
                          : f.completed_ns < 0 ? "not completed"
                                               : duration(f.completed_ns - f.start_ns)});
  }
  page.tables.push_back(std::move(flows));
}

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
  TimeChart c{"repair", "Retransmissions, trims, marks", "", Unit::kCount, report::html::Layout::kLines, {},
              {}};
  c.about =
      "Packets so far, all QPs. Trims and marks are congestion; inferred losses and flushed EVs are "
      "paths that "
      "fell silent.";
  c.absent = "Nothing was retransmitted, trimmed or marked.";
  constexpr std::array<const char*, transport::kRtxCauses> kNames{
      "again: trimmed",  "again: no resource", "again: window", "again: inferred loss",
      "again: EV flush", "again: ACK timeout", "again: tail",   "again: plane down"};
  const auto add = [&](const char* name, std::size_t place) {
    std::vector<double> v = timeline_->column(place);
    if (std::any_of(v.begin(), v.end(), [](double x) { return x > 0; }))
      c.series.push_back({name, std::move(v), {}, {}});
  };
  for (std::size_t i = 0; i < kNames.size(); ++i) add(kNames[i], at_.causes + i);
  add("trimmed on arrival", at_.trimmed);
  add("marked on arrival", at_.marked);
  return c;
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
  report::html::Page p;
  p.title = "MRC in virtual time: " + o.scenario.substr(o.scenario.find_last_of('/') + 1);
  p.subtitle = fmt::format("mrc-sim run {}, seed {}: {} hosts, {} planes, {} QPs, base RTT {}", o.scenario,
                           o.seed, o.hosts, o.planes, o.qps, duration(o.base_rtt_ns));
  p.clock = "virtual time, simulated network";
  p.pass = o.pass();
  p.verdict = o.verdict();
  if (o.pass() && o.finished) p.verdict = "pass: every invariant held, all flows whole";
  p.times_ns = timeline_->ends_ns();
  add_markers(o, p);
  add_figures(o, p);
  p.charts = {goodput_chart(), plane_chart(), window_chart(), queue_chart(), repair_chart(), delay_chart()};
  p.charts_before_map = 2;
  p.maps.push_back(ev_map());
  p.distributions.push_back(delays());
  add_tables(o, p);
  p.texts.push_back({"Configuration: the whole scenario", print_scenario(world_.scenario(), true)});
  p.footer = fmt::format(
      "{} samples, one every {} of virtual time; fewer were kept where the run was longer. This file is "
      "complete in itself: "
      "it loads nothing and can be sent as it is.",
      timeline_->size(), duration(timeline_->interval().ns));
  return p;
}

}  // namespace mrc::sim
