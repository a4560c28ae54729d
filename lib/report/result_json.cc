// SPDX-License-Identifier: BSD-3-Clause
#include <nlohmann/json.hpp>

#include "report/result.h"

namespace mrc::report {
namespace {

// ordered_json: a file that is compared by eye and by diff keeps its order.
using Json = nlohmann::ordered_json;

Json counters(const Counters& c) {
  Json j = Json::object();
  for (const auto& [name, value] : c) j[name] = value;
  return j;
}

Json rates(const Rates& r) {
  return {{"goodput_bps", r.goodput_bps},
          {"l2_bps", r.l2_bps},
          {"l1_bps", r.l1_bps},
          {"packets_per_s", r.packets_per_s},
          {"messages_per_s", r.messages_per_s}};
}

Json latency(const Latency& l) {
  Json j{{"method", l.method}, {"samples", l.samples}};
  if (l.samples == 0) return j;  // no number may stand for "not measured"
  j.update({{"min_ns", l.min_ns},
            {"mean_ns", l.mean_ns},
            {"p50_ns", l.p50_ns},
            {"p99_ns", l.p99_ns},
            {"p999_ns", l.p999_ns},
            {"max_ns", l.max_ns},
            {"max_relative_error", Histogram::kMaxRelativeError}});
  return j;
}

Json verification(const Verification& v) {
  Json j{{"on", v.on},
         {"method", v.method},
         {"messages", v.messages},
         {"bytes", v.bytes},
         {"messages_bad", v.messages_bad}};
  if (!v.first_bad.empty()) j["first_bad"] = v.first_bad;
  return j;
}

Json plane(const PlaneResult& p) {
  return {{"plane", p.plane},
          {"address", p.address},
          {"port", p.port},
          {"link_up", p.link_up},
          {"tx_pkts", p.tx_pkts},
          {"tx_bytes", p.tx_bytes},
          {"rx_pkts", p.rx_pkts},
          {"rx_bytes", p.rx_bytes},
          {"tx_data_pkts", p.tx_data_pkts},
          {"tx_share", p.tx_share},
          {"rx_missed_pkts", p.rx_missed_pkts},
          {"rx_error_pkts", p.rx_error_pkts},
          {"rx_no_mbuf_pkts", p.rx_no_mbuf_pkts},
          {"tx_error_pkts", p.tx_error_pkts}};
}

Json ev(const EvResult& e) {
  return {{"qp", e.qp},
          {"ev", e.ev},
          {"plane", e.plane},
          {"value", e.value},
          {"state", e.state},
          {"tx_pkts", e.tx_pkts},
          {"tx_bytes", e.tx_bytes},
          {"tx_rtx", e.tx_rtx},
          {"tx_probes", e.tx_probes}};
}

Json ev_events(const EvEvents& e) {
  Json events = Json::array();
  for (const EvEventResult& x : e.events)
    events.push_back({{"qp", x.qp},
                      {"ev", x.ev},
                      {"plane", x.plane},
                      {"t_ns", x.t_ns},
                      {"from", x.from},
                      {"to", x.to},
                      {"cause", x.cause}});
  return {{"events", std::move(events)}, {"dropped", e.dropped}};
}

/// Without a whole window: what the whole phase had.
Json windows(const PhaseResult& p) {
  const Windows& w = p.goodput_windows_bps;
  const double all = p.achieved.goodput_bps;
  return {{"window_s", p.window_s},
          {"windows", w.count()},
          {"min_bps", w.count() != 0 ? w.min() : all},
          {"average_bps", w.count() != 0 ? w.average() : all},
          {"max_bps", w.count() != 0 ? w.max() : all}};
}

Json controller(const ControllerResult& c) {
  Json j{{"kind", c.kind},
         {"worker", c.worker},
         {"qps", c.qps},
         {"acks", c.acks},
         {"marked", c.marked},
         {"trims", c.trims},
         {"losses", c.losses},
         {"cuts", c.cuts},
         {"cwnd_bytes", c.cwnd_bytes},
         {"inflight_bytes", c.inflight_bytes},
         {"idle_ns", c.idle_ns},
         {"active_ns", c.active_ns},
         {"ready_ns", c.ready_ns},
         {"pending_ns", c.pending_ns},
         {"windows", c.windows}};
  if (c.windows != 0)
    j.update({{"cwnd_min_bytes", c.cwnd_min_bytes},
              {"cwnd_median_bytes", c.cwnd_median_bytes},
              {"cwnd_max_bytes", c.cwnd_max_bytes}});
  return j;
}

Json phase(const PhaseResult& p) {
  Json planes = Json::array();
  for (const PlaneResult& x : p.planes) planes.push_back(plane(x));
  Json evs = Json::array();
  for (const EvResult& x : p.evs) evs.push_back(ev(x));
  Json controllers = Json::array();
  for (const ControllerResult& x : p.controllers) controllers.push_back(controller(x));
  return {{"workload", p.workload},
          {"size_bytes", p.size_bytes},
          {"qps", p.qps},
          {"depth", p.depth},
          {"path_mtu_bytes", p.path_mtu_bytes},
          {"bidirectional", p.bidirectional},
          {"interrupted", p.interrupted},
          {"duration_s", p.duration_s},
          {"messages_offered", p.messages_offered},
          {"messages_completed", p.messages_completed},
          {"bytes_completed", p.bytes_completed},
          {"messages_received", p.messages_received},
          {"offered", rates(p.offered)},
          {"achieved", rates(p.achieved)},
          {"goodput_windows", windows(p)},
          {"latency", latency(p.latency)},
          {"verification", verification(p.verification)},
          {"peer_verification", verification(p.peer_verification)},
          {"planes", std::move(planes)},
          {"evs", std::move(evs)},
          {"ev_events", ev_events(p.ev_events)},
          {"controllers", std::move(controllers)},
          {"retransmissions", counters(p.retransmissions)},
          {"transport", counters(p.transport)},
          {"engine", counters(p.engine)},
          {"drops", counters(p.drops)},
          {"fabric", counters(p.fabric)},
          {"of_both_ends", p.of_both_ends},
          {"conserved", p.conserved},
          {"conservation", p.conservation}};
}

}  // namespace

std::string to_json(const RunResult& run) {
  Json phases = Json::array();
  for (const PhaseResult& p : run.phases) phases.push_back(phase(p));
  const Json j{{"schema", kResultSchema},
               {"tool", run.tool},
               {"version", run.version},
               {"started_utc", run.started_utc},
               {"command", run.command},
               {"role", run.role},
               {"profile", run.profile},
               {"machine", run.machine},
               {"seed", std::to_string(run.seed)},  // 64 bits do not survive a double
               {"link_speed_bps", run.link_speed_bps},
               {"effective", run.effective},
               {"pass", run.pass()},
               {"exit_code", run.exit_code},
               {"failures", run.failures},
               {"warnings", run.warnings},
               {"phases", std::move(phases)}};
  // Invalid UTF-8 (a file name in the command) is replaced, never thrown; ASCII alone, as a terminal may read
  // it.
  return j.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace mrc::report
