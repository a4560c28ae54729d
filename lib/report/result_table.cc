// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "report/result.h"

namespace mrc::report {
namespace {

using Out = std::back_insert_iterator<std::string>;

std::string gbps(double bps) {
  return bps >= 1e9 ? fmt::format("{:.2f} Gb/s", bps / 1e9) : fmt::format("{:.2f} Mb/s", bps / 1e6);
}

std::string micros(double ns) {
  return fmt::format("{:.2f} us", ns / 1e3);
}

std::string count_line(const Counters& counters, bool only_nonzero) {
  std::string line;
  for (const auto& [name, value] : counters) {
    if (only_nonzero && value == 0) continue;
    line += fmt::format("{}{} {}", line.empty() ? "" : ", ", name, value);
  }
  return line.empty() ? "none" : line;
}

std::string verification_line(const Verification& v) {
  if (!v.on) return "OFF: " + v.method;
  return fmt::format("{} of {} messages right, {} bytes checked{}", v.messages - v.messages_bad, v.messages,
                     v.bytes, v.first_bad.empty() ? "" : "; first wrong: " + v.first_bad);
}

void planes(const PhaseResult& p, Out out) {
  fmt::format_to(out, "  {:<6}{:<26}{:>6}{:>14}{:>9}{:>14}{:>14}\n", "plane", "address", "link", "data sent",
                 "share", "all sent", "received");
  for (const PlaneResult& x : p.planes) {
    fmt::format_to(out, "  {:<6}{:<26}{:>6}{:>14}{:>8.1f}%{:>14}{:>14}\n", x.plane, x.address,
                   x.link_up ? "up" : "DOWN", x.tx_data_pkts, x.tx_share * 100, x.tx_pkts, x.rx_pkts);
  }
  for (const PlaneResult& x : p.planes) {
    if (x.rx_missed_pkts + x.rx_error_pkts + x.rx_no_mbuf_pkts + x.tx_error_pkts == 0) continue;
    fmt::format_to(
        out, "  port of plane {}: rx_missed {}, rx_error {}, rx_no_mbuf {}, tx_error {} (driver's counts)\n",
        x.plane, x.rx_missed_pkts, x.rx_error_pkts, x.rx_no_mbuf_pkts, x.tx_error_pkts);
  }
}

void evs(const PhaseResult& p, const TableOptions& options, Out out) {
  if (p.evs.empty()) return;
  if (options.evs) {
    fmt::format_to(out, "  {:<5}{:<6}{:<7}{:<14}{:<13}{:>12}{:>8}{:>8}\n", "qp", "EV", "plane", "value",
                   "state", "packets", "rtx", "probes");
    for (const EvResult& e : p.evs) {
      fmt::format_to(out, "  {:<5}{:<6}{:<7}{:<14}{:<13}{:>12}{:>8}{:>8}\n", e.qp, e.ev, e.plane, e.value,
                     e.state, e.tx_pkts, e.tx_rtx, e.tx_probes);
    }
    return;
  }
  const auto [lo, hi] = std::minmax_element(
      p.evs.begin(), p.evs.end(), [](const EvResult& a, const EvResult& b) { return a.tx_pkts < b.tx_pkts; });
  std::uint64_t total = 0;
  std::map<std::string, std::uint64_t> states;
  for (const EvResult& e : p.evs) {
    total += e.tx_pkts;
    ++states[e.state];
  }
  std::string by_state;
  for (const auto& [state, n] : states)
    by_state += fmt::format("{}{} {}", by_state.empty() ? "" : ", ", n, state);
  fmt::format_to(out, "  EVs          {} ({}); packets an EV min {} avg {:.1f} max {}\n", p.evs.size(),
                 by_state, lo->tx_pkts, static_cast<double>(total) / static_cast<double>(p.evs.size()),
                 hi->tx_pkts);
}

/// How often which transition; each by itself stands in the JSON.
void ev_events(const PhaseResult& p, Out out) {
  const EvEvents& e = p.ev_events;
  if (e.events.empty() && e.dropped == 0) return;
  std::map<std::string, std::uint64_t> kinds;
  for (const EvEventResult& x : e.events) ++kinds[fmt::format("{} to {} by {}", x.from, x.to, x.cause)];
  std::string line;
  for (const auto& [kind, n] : kinds) line += fmt::format("{}{} {}", line.empty() ? "" : ", ", n, kind);
  fmt::format_to(out, "  EV events    {}{}\n", line,
                 e.dropped == 0 ? ""
                                : fmt::format("; {} more events were not recorded, of {} in all", e.dropped,
                                              e.events.size() + e.dropped));
}

void controllers(const PhaseResult& p, Out out) {
  for (const ControllerResult& c : p.controllers) {
    const std::uint64_t working = c.active_ns + c.ready_ns + c.pending_ns;
    if (c.windows == 0 || working == 0) continue;  // a window that never moves tells nothing
    fmt::format_to(
        out,
        "  {:<13}cwnd min {} median {} max {} B; {} of {} SACKs marked, {} trims, {} losses, {} cuts; "
        "window closed {:.1f} % of the time\n",
        c.kind, c.cwnd_min_bytes, c.cwnd_median_bytes, c.cwnd_max_bytes, c.marked, c.acks, c.trims, c.losses,
        c.cuts, 100.0 * static_cast<double>(c.active_ns) / static_cast<double>(working));
  }
}

void phase(const RunResult& run, const PhaseResult& p, const TableOptions& options, Out out) {
  fmt::format_to(out, "\n{} {} B, {} QP{}, depth {}, MTU {}{}{}\n", p.workload, p.size_bytes, p.qps,
                 p.qps == 1 ? "" : "s", p.depth, p.path_mtu_bytes, p.bidirectional ? ", both ways" : "",
                 p.interrupted ? "  (interrupted)" : "");
  const bool sends = p.messages_offered != 0;
  if (sends) {
    fmt::format_to(out, "  offered      {} messages, {:.0f}/s, goodput {}\n", p.messages_offered,
                   p.offered.messages_per_s, gbps(p.offered.goodput_bps));
    fmt::format_to(out, "  achieved     {} messages, {:.0f}/s, goodput {}, L2 {}, L1 {}, {:.0f} packets/s\n",
                   p.messages_completed, p.achieved.messages_per_s, gbps(p.achieved.goodput_bps),
                   gbps(p.achieved.l2_bps), gbps(p.achieved.l1_bps), p.achieved.packets_per_s);
    fmt::format_to(out, "               over {:.3f} s, from the first post to the last completion\n",
                   p.duration_s);
    if (const Windows& w = p.goodput_windows_bps; w.count() != 0) {
      fmt::format_to(out, "  steadiness   slowest window {}, fastest {}, of {} whole windows of {:.3f} s\n",
                     gbps(w.min()), gbps(w.max()), w.count(), p.window_s);
    }
  }
  if (p.messages_received != 0) fmt::format_to(out, "  received     {} messages\n", p.messages_received);
  const Latency& l = p.latency;
  if (l.samples != 0) {
    fmt::format_to(
        out, "  latency      p50 {} p99 {} p99.9 {} max {}; {} samples\n               method: {}\n",
        micros(l.p50_ns), micros(l.p99_ns), micros(l.p999_ns), micros(l.max_ns), l.samples, l.method);
  } else if (sends) {
    fmt::format_to(out, "  latency      0 SAMPLES ({})\n", l.method);
  }
  const bool two_ends = run.role != "loopback";
  if (p.verification.messages != 0 || !two_ends || !p.verification.on) {
    fmt::format_to(out, "  verified     {}\n", verification_line(p.verification));
  }
  if (two_ends && sends) fmt::format_to(out, "  peer checked {}\n", verification_line(p.peer_verification));
  planes(p, out);
  evs(p, options, out);
  ev_events(p, out);
  controllers(p, out);
  const std::uint64_t spurious = value_of(p.transport, "spurious_rtx");
  if (const std::uint64_t silent = value_of(p.transport, "planes_silent"); silent != 0)
    fmt::format_to(out,
                   "  silence      {} times a QP took a plane for dead whose link was up: three losses in a "
                   "row and no answer "
                   "(D9); what it had there was sent again as plane_down\n",
                   silent);
  if (!p.fabric.empty()) fmt::format_to(out, "  fabric       {}\n", count_line(p.fabric, true));
  const char* const both = p.of_both_ends.empty() ? "" : "  (both ends together)";
  fmt::format_to(out, "  rtx          {}{}{}\n  drops        {}{}\n  packets      {}{}\n",
                 count_line(p.retransmissions, true),
                 spurious == 0 ? "" : fmt::format("; spurious_rtx {} (the packet had arrived)", spurious),
                 both, count_line(p.drops, true), both, p.conserved ? "" : "NOT CONSERVED: ", p.conservation);
}

std::string verdict(const RunResult& run, const PhaseResult& p) {
  const bool looks_there = run.role != "loopback" && p.messages_offered != 0;
  const Verification& v = looks_there ? p.peer_verification : p.verification;
  if (!v.on) return "OFF";
  return v.messages_bad == 0 && v.messages != 0 ? "all right" : fmt::format("{} WRONG", v.messages_bad);
}

/// A line a phase; after a sweep that is what people look for.
void summary(const RunResult& run, Out out) {
  fmt::format_to(out, "\n  {:>10}{:>14}{:>14}{:>12}{:>12}{:>12}{:>9}{:>12}\n", "size B", "messages/s",
                 "goodput", "p50 us", "p99 us", "max us", "rtx", "verified");
  for (const PhaseResult& p : run.phases) {
    const Latency& l = p.latency;
    const auto micro = [&](double ns) {
      return l.samples == 0 ? std::string("-") : fmt::format("{:.2f}", ns / 1e3);
    };
    fmt::format_to(out, "  {:>10}{:>14.0f}{:>14}{:>12}{:>12}{:>12}{:>9}{:>12}\n", p.size_bytes,
                   p.achieved.messages_per_s, gbps(p.achieved.goodput_bps), micro(l.p50_ns), micro(l.p99_ns),
                   micro(l.max_ns), value_of(p.transport, "tx_rtx"), verdict(run, p));
  }
}

}  // namespace

std::string to_table(const RunResult& run, const TableOptions& options) {
  std::string text;
  const Out out(text);
  for (const PhaseResult& p : run.phases) phase(run, p, options, out);
  if (run.phases.size() > 1) summary(run, out);
  text += '\n';
  for (const std::string& w : run.warnings) fmt::format_to(out, "warning: {}\n", w);
  for (const std::string& f : run.failures) fmt::format_to(out, "FAILED: {}\n", f);
  fmt::format_to(out, "{} (seed {}, exit code {})\n", run.pass() ? "PASS" : "FAIL", run.seed, run.exit_code);
  return text;
}

}  // namespace mrc::report
