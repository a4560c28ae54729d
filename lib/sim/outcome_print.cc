// SPDX-License-Identifier: BSD-3-Clause
// An outcome as JSON and as a table.
#include <fmt/format.h>

#include <iterator>
#include <nlohmann/json.hpp>

#include "sim/outcome.h"

namespace mrc::sim {

namespace {

using Json = nlohmann::ordered_json;

Json object(const Counts& counts) {
  Json j = Json::object();
  for (const auto& [name, value] : counts) j[name] = value;
  return j;
}

Json object(const Spread& s) {
  return {{"samples", s.samples}, {"min_ns", s.min_ns},   {"median_ns", s.median_ns},
          {"p99_ns", s.p99_ns},   {"p999_ns", s.p999_ns}, {"max_ns", s.max_ns}};
}

Json flows_of(const Outcome& o) {
  Json list = Json::array();
  for (const FlowOutcome& f : o.flows)
    list.push_back({{"src", f.src},
                    {"dst", f.dst},
                    {"bytes", f.bytes},
                    {"start_ns", f.start_ns},
                    {"completed_ns", f.completed_ns},
                    {"failed", f.failed}});
  return list;
}

std::string us(std::int64_t ns) {
  return ns < 0 ? "-" : fmt::format("{:.3f}", static_cast<double>(ns) / 1e3);
}

void counts_line(std::string& out, const char* title, const Counts& counts) {
  fmt::format_to(std::back_inserter(out), "{:<10}", title);
  for (const auto& [name, value] : counts)
    if (value != 0) fmt::format_to(std::back_inserter(out), "  {} {}", name, value);
  out += '\n';
}

}  // namespace

std::string Outcome::verdict() const {
  if (!violation.empty()) return "FAIL: " + violation;
  if (failed != 0) return fmt::format("FAIL: {} flows failed", failed);
  if (finished) return "PASS";
  if (cut)
    return fmt::format("PASS, cut at {} us by design (run.cut): {} flows of the last round open", us(end_ns),
                       unfinished);
  return fmt::format(
      "FAIL: {} flows of the last round had not completed at {} us: stuck, or run.until_us is too short; "
      "run.cut: true if "
      "that is meant",
      unfinished, us(end_ns));
}

std::string to_json(const Outcome& o, bool flows, bool series) {
  Json j;
  j["schema"] = kOutcomeSchema;
  j["scenario"] = o.scenario;
  j["transport"] = o.transport;
  j["seed"] = o.seed;
  j["settings"] = Json::object();
  for (const auto& [key, value] : o.settings) j["settings"][key] = value;
  j["pass"] = o.pass();
  j["verdict"] = o.verdict();
  j["violation"] = o.violation;
  j["hosts"] = o.hosts;
  j["planes"] = o.planes;
  j["qps"] = o.qps;
  j["base_rtt_ns"] = o.base_rtt_ns;
  j["ideal_ns"] = o.ideal_ns;
  j["end_ns"] = o.end_ns;
  j["finished"] = o.finished;
  j["unfinished"] = o.unfinished;
  j["cut"] = o.cut;
  j["quiet"] = o.quiet;
  j["completed"] = o.completed;
  j["failed"] = o.failed;
  j["fct"] = object(o.fct);
  j["tail_over_ideal"] = o.tail_over_ideal();
  if (o.rounds.samples != 0) j["rounds"] = object(o.rounds);
  j["received_bytes"] = o.received_bytes;
  j["goodput_bps"] = o.goodput_bps;
  j["packets"] = object(o.packets);
  j["rtx_by_cause"] = object(o.rtx_by_cause);
  j["evs"] = object(o.evs);
  j["evs"]["pkts_per_ev"] = {
      {"smallest", o.ev.smallest_pkts}, {"median", o.ev.median_pkts}, {"largest", o.ev.largest_pkts}};
  j["evs"]["pkts"] = o.ev.pkts;
  j["network"] = object(o.network);
  j["network"]["hops"] = o.hops;
  j["queues"] = Json::array();
  for (const QueueOutcome& q : o.queues)
    j["queues"].push_back({{"where", q.where},
                           {"links", q.links},
                           {"samples", q.samples},
                           {"p50_bytes", q.p50_bytes},
                           {"p99_bytes", q.p99_bytes},
                           {"p999_bytes", q.p999_bytes},
                           {"max_bytes", q.max_bytes},
                           {"ce_marked", q.ce_marked},
                           {"trimmed", q.trimmed},
                           {"dropped", q.dropped}});
  j["planes_detail"] = Json::array();
  for (const PlaneOutcome& p : o.planes_out)
    j["planes_detail"].push_back({{"data_pkts", p.data_pkts},
                                  {"host_tx_bytes", p.data_bytes},
                                  {"received_bytes", p.received_bytes},
                                  {"dropped", p.dropped}});
  j["faults"] = Json::array();
  for (const FaultOutcome& f : o.faults)
    j["faults"].push_back({{"where", f.where},
                           {"at_ns", f.at_ns},
                           {"lost_data_pkts", f.lost_data},
                           {"lost_other_pkts", f.lost_other},
                           {"not_repaired_pkts", f.open},
                           {"last_sent_into_ns", f.last_sent_into_ns},
                           {"last_repair_ns", f.last_repair_ns}});
  if (flows) j["flows"] = flows_of(o);
  if (series) j["series"] = {{"step_ns", o.series_step_ns}, {"received_bytes_by_plane", o.series_bytes}};
  return j.dump(1) + "\n";
}

std::string to_table(const Outcome& o) {
  std::string out;
  const auto to = std::back_inserter(out);
  fmt::format_to(to, "{}  {}  seed {}  {} hosts  {} planes  {} QPs  base RTT {} us\n", o.scenario,
                 o.transport, o.seed, o.hosts, o.planes, o.qps, us(o.base_rtt_ns));
  fmt::format_to(to, "flows       {} completed, {} failed, {} open; ended at {} us\n", o.completed, o.failed,
                 o.flows.size() - o.completed - o.failed, us(o.end_ns));
  if (o.fct.samples != 0)
    fmt::format_to(to, "FCT us      min {}  median {}  p99 {}  max {}   max / ideal {:.3f} (ideal {} us)\n",
                   us(o.fct.min_ns), us(o.fct.median_ns), us(o.fct.p99_ns), us(o.fct.max_ns),
                   o.tail_over_ideal(), us(o.ideal_ns));
  if (o.rounds.samples != 0)
    fmt::format_to(to, "rounds us   {}: min {}  median {}  p99 {}  p99.9 {}  max {}\n", o.rounds.samples,
                   us(o.rounds.min_ns), us(o.rounds.median_ns), us(o.rounds.p99_ns), us(o.rounds.p999_ns),
                   us(o.rounds.max_ns));
  fmt::format_to(to, "goodput     {:.2f} Gb/s over all hosts, {} bytes\n", o.goodput_bps / 1e9,
                 o.received_bytes);
  counts_line(out, "packets", o.packets);
  if (!o.rtx_by_cause.empty()) counts_line(out, "rtx by", o.rtx_by_cause);
  if (!o.evs.empty()) counts_line(out, "EVs", o.evs);
  counts_line(out, "network", o.network);
  fmt::format_to(to, "{:<10} {:>7} {:>11} {:>11} {:>11} {:>9} {:>9} {:>9}\n", "queue", "links", "p50 B",
                 "p99 B", "max B", "marked", "trimmed", "dropped");
  for (const QueueOutcome& q : o.queues)
    fmt::format_to(to, "{:<10} {:>7} {:>11} {:>11} {:>11} {:>9} {:>9} {:>9}\n", q.where, q.links, q.p50_bytes,
                   q.p99_bytes, q.max_bytes, q.ce_marked, q.trimmed, q.dropped);
  for (std::size_t p = 0; p < o.planes_out.size(); ++p)
    fmt::format_to(to, "plane {:<4} data pkts {:>10}  received B {:>13}  dropped {:>8}\n", p,
                   o.planes_out[p].data_pkts, o.planes_out[p].received_bytes, o.planes_out[p].dropped);
  std::size_t shown = 0;
  for (const FaultOutcome& f : o.faults) {
    if (++shown > 20) break;
    fmt::format_to(
        to, "fault       {} at {} us: {} data and {} other packets lost, {}, {}, {} not repaired\n", f.where,
        us(f.at_ns), f.lost_data, f.lost_other,
        f.last_sent_into_ns < 0 ? "nothing sent into it"
                                : fmt::format("last sent into it +{} us", us(f.last_sent_into_ns)),
        f.last_repair_ns < 0 ? "no repair" : fmt::format("last repair +{} us", us(f.last_repair_ns)), f.open);
  }
  if (o.faults.size() > shown)
    fmt::format_to(to, "fault       and {} more, in the JSON\n", o.faults.size() - shown + 1);
  fmt::format_to(to, "{}\n", o.verdict());
  return out;
}

}  // namespace mrc::sim
