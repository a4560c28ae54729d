// SPDX-License-Identifier: BSD-3-Clause
#include "sim/outcome_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "report/html/text.h"

namespace mrc::sim {
namespace {

using report::html::bytes;
using report::html::duration;
using report::html::Layout;
using report::html::rate;
using report::html::TimeChart;
using report::html::Unit;

std::string number(std::uint64_t n) {
  return fmt::format("{}", n);
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
  const bool mrc = !o.evs.empty();
  page.figures = {
      {"goodput, all hosts", rate(o.goodput_bps), bytes(o.received_bytes) + " placed"},
      {"slowest flow", duration(o.fct.max_ns),
       o.fct.samples == 0 ? "none completed"
                          : fmt::format("{:.2f} of the ideal {}", o.tail_over_ideal(), duration(o.ideal_ns))},
      {"flows completed", number(o.completed), fmt::format("of {}, {} failed", o.flows.size(), o.failed)},
      {"retransmissions", number(rtx),
       mrc ? fmt::format("{} spurious", o.count(o.packets, "spurious_rtx"))
           : fmt::format("{} times back to a lost packet", o.count(o.packets, "go_backs"))}};
  if (mrc)
    page.figures.push_back({"EVs assumed bad", number(o.count(o.evs, "assumed_bad")),
                            fmt::format("{} of them falsely", o.count(o.evs, "false_assumed_bad"))});
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
  for (const auto& [title, counts] : {std::pair{"Packets", &o.packets},
                                      {"Retransmissions by cause", &o.rtx_by_cause},
                                      {"EVs", &o.evs},
                                      {"Network", &o.network}})
    if (!counts->empty()) page.tables.push_back(table_of(title, *counts));
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

report::html::Page outcome_page(const Outcome& o, const Scenario& scenario) {
  report::html::Page p;
  p.title = fmt::format("{} in virtual time: {}", o.transport == "rc" ? "RC on single paths" : "MRC",
                        o.scenario.substr(o.scenario.find_last_of('/') + 1));
  p.subtitle = fmt::format("mrc-sim run {}, seed {}: {} hosts, {} planes, {} QPs, base RTT {}", o.scenario,
                           o.seed, o.hosts, o.planes, o.qps, duration(o.base_rtt_ns));
  p.clock = "virtual time, simulated network";
  p.pass = o.pass();
  p.verdict = o.verdict();
  if (o.pass() && o.finished) p.verdict = "pass: every invariant held, all flows whole";
  add_markers(o, p);
  add_figures(o, p);
  add_tables(o, p);
  p.texts.push_back({"Configuration: the whole scenario", print_scenario(scenario, true)});
  return p;
}

report::html::Page series_page(const Outcome& o, const Scenario& scenario) {
  report::html::Page p = outcome_page(o, scenario);
  TimeChart all{"goodput", "Goodput", "", Unit::kBitsPerSecond, Layout::kLines, {}, {}};
  all.about = "Payload that receivers took, each byte once.";
  TimeChart planes{"planes", "Rate of each plane", "", Unit::kBitsPerSecond, Layout::kStrips, {}, {}};
  planes.about = "Payload that receivers took from each plane. A QP has one path and so one plane.";
  const std::size_t steps = o.series_bytes.empty() ? 0 : o.series_bytes.front().size();
  const auto step_ns = static_cast<double>(o.series_step_ns);
  std::vector<double> sum(steps);
  for (std::size_t plane = 0; plane < o.series_bytes.size(); ++plane) {
    std::vector<double> bps(steps);
    for (std::size_t i = 0; i < steps; ++i) {
      bps[i] = static_cast<double>(o.series_bytes[plane][i]) * 8e9 / step_ns;
      sum[i] += bps[i];
    }
    planes.series.push_back({fmt::format("plane {}", plane), std::move(bps), {}, {}});
  }
  all.series.push_back({"payload", std::move(sum), {}, {}});
  for (std::size_t i = 0; i < steps; ++i) p.times_ns.push_back(static_cast<double>(i + 1) * step_ns);
  p.charts = {std::move(all), std::move(planes)};
  p.footer =
      fmt::format("{} steps of {} of virtual time. {}", steps, duration(o.series_step_ns), kCompleteInItself);
  return p;
}

}  // namespace mrc::sim
