// SPDX-License-Identifier: BSD-3-Clause
#include "run_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/html/text.h"

namespace mrc::endpoint {
namespace {

using report::html::bytes;
using report::html::duration;
using report::html::rate;

/// What was compared, and what came of it: here and, as it reports, at the peer.
report::html::Figure compared(const report::RunResult& r) {
  std::uint64_t n = 0;
  std::uint64_t bad = 0;
  bool on = false;
  for (const report::PhaseResult& p : r.phases) {
    for (const report::Verification* v : {&p.verification, &p.peer_verification}) {
      on = on || v->on;
      n += v->bytes;
      bad += v->messages_bad;
    }
  }
  return {"bytes compared", bytes(n),
          !on        ? "verification was off"
          : bad == 0 ? "none differs"
                     : fmt::format("{} bad messages", bad)};
}

void add_figures(const report::RunResult& r, report::html::Page& page) {
  if (r.phases.empty()) return;
  const auto best = std::max_element(r.phases.begin(), r.phases.end(), [](const auto& a, const auto& b) {
    return a.achieved.goodput_bps < b.achieved.goodput_bps;
  });
  std::uint64_t again = 0;
  std::uint64_t dropped = 0;
  std::uint64_t messages = 0;
  for (const report::PhaseResult& p : r.phases) {
    for (const auto& [cause, n] : p.retransmissions) again += n;
    for (const auto& [reason, n] : p.drops) dropped += n;
    messages += std::max(p.messages_completed, p.messages_received);
  }
  page.figures = {
      {r.phases.size() == 1 ? "goodput" : "best goodput", rate(best->achieved.goodput_bps),
       fmt::format("{} of {}", best->workload, bytes(best->size_bytes))},
      {"messages", fmt::format("{}", messages),
       fmt::format("in {} phase{}", r.phases.size(), r.phases.size() == 1 ? "" : "s")},
      compared(r),
      {"latency, p99", best->latency.samples == 0 ? "–" : duration(best->latency.p99_ns),
       fmt::format("median {}", best->latency.samples == 0 ? "–" : duration(best->latency.p50_ns))},
      {"retransmissions", fmt::format("{}", again), fmt::format("{} packets dropped here", dropped)}};
}

/// The application times whole ping-pongs; results halve them, histograms hold them as they are.
void say_round_trips(report::html::Page& page) {
  constexpr const char* kAbout = "Whole round trips of ping-pongs: twice the latency that the figures give.";
  for (report::html::Distribution& d : page.distributions) {
    d.title = "Round trips";
    d.about = kAbout;
  }
  for (report::html::TimeChart& c : page.charts) {
    if (c.id != "latency") continue;
    c.title = "Round trips over time";
    c.about = kAbout;
  }
}

report::html::Table phases_of(const report::RunResult& r) {
  report::html::Table t{
      "Phases",
      {"workload", "size", "QPs", "messages", "goodput", "L2", "p50", "p99", "p99.9", "most", "bad messages"},
      {},
      true};
  for (const report::PhaseResult& p : r.phases)
    t.rows.push_back({p.workload, bytes(p.size_bytes), fmt::format("{}", p.qps),
                      fmt::format("{}", std::max(p.messages_completed, p.messages_received)),
                      rate(p.achieved.goodput_bps), rate(p.achieved.l2_bps), duration(p.latency.p50_ns),
                      duration(p.latency.p99_ns), duration(p.latency.p999_ns), duration(p.latency.max_ns),
                      fmt::format("{}", p.verification.messages_bad + p.peer_verification.messages_bad)});
  return t;
}

/// Of the last phase: counters are differences over it.
void add_counters(const report::PhaseResult& p, report::html::Page& page) {
  report::html::Table planes{"Planes, last phase",
                             {"plane", "port", "address", "link", "sent", "received", "share of data"},
                             {},
                             true};
  for (const report::PlaneResult& x : p.planes)
    planes.rows.push_back({fmt::format("{}", x.plane), x.port, x.address, x.link_up ? "up" : "DOWN",
                           bytes(x.tx_bytes), bytes(x.rx_bytes), fmt::format("{:.1f} %", 100 * x.tx_share)});
  page.tables.push_back(std::move(planes));
  const std::pair<const char*, const report::Counters*> all[] = {
      {"Retransmissions by cause, last phase", &p.retransmissions},
      {"Drops by reason, last phase", &p.drops},
      {"Transport, last phase", &p.transport},
      {"Workers, last phase", &p.engine}};
  for (const auto& [title, counters] : all) {
    report::html::Table t{title, {"counter", "value"}, {}, false};
    for (const auto& [name, value] : *counters) t.rows.push_back({name, fmt::format("{}", value)});
    if (t.rows.empty()) t.rows.push_back({"none", "0"});
    page.tables.push_back(std::move(t));
  }
}

}  // namespace

report::html::Page page_of(const report::RunResult& r, const config::EndpointConfig& config,
                           const LiveSampler& sampler) {
  report::html::Page page;
  page.title = fmt::format("MRC endpoint: {} over {}", r.role, r.profile);
  page.subtitle = fmt::format("{}, seed {}", r.command, r.seed);
  const bool virtual_fabric = config.profile == config::Profile::kVirtual;
  page.clock =
      virtual_fabric ? "real time, virtual fabric in this process" : fmt::format("real time, {}", r.profile);
  page.pass = r.pass();
  page.verdict = r.pass()             ? "pass"
                 : r.failures.empty() ? fmt::format("exit code {}", r.exit_code)
                                      : r.failures.front();
  add_figures(r, page);
  sampler.fill(page);
  if (!r.phases.empty() && r.phases.front().workload == "write_lat") say_round_trips(page);
  page.tables.push_back(phases_of(r));
  if (!r.phases.empty()) add_counters(r.phases.back(), page);
  std::string words;
  for (const std::string& f : r.failures) words += "FAILED: " + f + "\n";
  for (const std::string& w : r.warnings) words += "warning: " + w + "\n";
  if (!words.empty()) page.texts.push_back({"Failures and warnings", words});
  std::string machine = r.machine + "\n" + r.started_utc + "\n";
  for (const std::string& line : r.effective) machine += line + "\n";
  page.texts.push_back({"Machine, ports, steering, offloads", machine});
  page.texts.push_back({"Configuration", config::print_endpoint(config, true)});
  page.footer = fmt::format("{} {}. {}", r.tool, r.version, page.footer);
  return page;
}

}  // namespace mrc::endpoint
