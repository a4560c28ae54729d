// SPDX-License-Identifier: BSD-3-Clause
#include "sim/claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

namespace mrc::sim {

namespace {

double rtts(std::int64_t ns, const Outcome& o) {
  return static_cast<double>(ns) / static_cast<double>(o.base_rtt_ns);
}

double repair_rtts(const World&, const Outcome& o) {
  std::int64_t last = 0;
  for (const FaultOutcome& f : o.faults) last = std::max(last, f.last_repair_ns);
  return rtts(last, o);
}

double tail_over_ideal(const World&, const Outcome& o) {
  return o.tail_over_ideal();
}

// Flows that never complete last as long as the run.
double tail_with_failures(const World&, const Outcome& o) {
  const bool all = o.completed == o.flows.size();
  return all ? o.tail_over_ideal() : static_cast<double>(o.end_ns) / static_cast<double>(o.ideal_ns);
}

double end_over_ideal(const World&, const Outcome& o) {
  std::int64_t last = 0;
  for (const FlowOutcome& f : o.flows) last = std::max(last, f.completed_ns);
  return o.completed == o.flows.size() ? static_cast<double>(last) / static_cast<double>(o.ideal_ns) : 1e9;
}

double round_over_ideal(const World& world, const Outcome& o) {
  return end_over_ideal(world, o) / static_cast<double>(std::max<std::uint64_t>(o.rounds.samples, 1));
}

// The fullest of the core's queue classes, against the depth from which marks begin.
double core_p99_over_mark(const World& world, const Outcome& o) {
  std::uint64_t most = 0;
  for (const QueueOutcome& q : o.queues)
    if (q.where != "host" && q.where != "last_hop") most = std::max(most, q.p99_bytes);
  return static_cast<double>(most) / static_cast<double>(world.scenario().queues.ecn_min_bytes);
}

double victim_over_ideal(const World& world, const Outcome& o) {
  const WorkloadScenario& w = world.scenario().workload;
  const double alone =
      static_cast<double>(world.wire_bytes(w.victim_bytes)) * 8e9 / host_rate_bps(world.scenario().network) +
      static_cast<double>(o.base_rtt_ns);
  for (const FlowOutcome& f : o.flows)
    if (f.src == static_cast<std::uint32_t>(w.victim_src) &&
        f.dst == static_cast<std::uint32_t>(w.victim_dst))
      return f.completed_ns < 0 ? 1e9 : static_cast<double>(f.completed_ns - f.start_ns) / alone;
  return 1e9;
}

// Bytes that arrived a nanosecond in [from, to).
double rate_between(const Outcome& o, std::int64_t from_ns, std::int64_t to_ns) {
  const std::int64_t first = (from_ns + o.series_step_ns - 1) / o.series_step_ns;
  const std::int64_t last = to_ns / o.series_step_ns;
  std::uint64_t bytes = 0;
  for (const auto& plane : o.series_bytes)
    for (std::int64_t b = first; b < last && b < static_cast<std::int64_t>(plane.size()); ++b)
      bytes += plane[static_cast<std::size_t>(b)];
  return last <= first ? 0
                       : static_cast<double>(bytes) / static_cast<double>((last - first) * o.series_step_ns);
}

// The rate from 5 RTTs after the peer heard of it, against the rate before; 100 us of each.
double rate_after_over_before(const World& world, const Outcome& o) {
  const auto at = static_cast<std::int64_t>(world.scenario().faults.at(0).at_us * 1e3);
  // The notification takes half an RTT; then five.
  const std::int64_t settled = at + o.base_rtt_ns / 2 + 5 * o.base_rtt_ns;
  const double before = rate_between(o, at - 100'000, at);
  return before > 0 ? rate_between(o, settled, settled + 100'000) / before : 0;
}

double losses_per_dead_ev(const World&, const Outcome& o) {
  std::uint64_t lost = 0;
  for (const FaultOutcome& f : o.faults) lost += f.lost_data;
  const std::uint64_t met = o.count(o.evs, "lost_data");
  return static_cast<double>(lost) / static_cast<double>(std::max<std::uint64_t>(met, 1));
}

double p999_over_median(const World&, const Outcome& o) {
  return o.rounds.median_ns > 0
             ? static_cast<double>(o.rounds.p999_ns) / static_cast<double>(o.rounds.median_ns)
             : 1e9;
}

double share_of_line_rate(const World& world, const Outcome& o) {
  const WorkloadScenario& w = world.scenario().workload;
  const double payload = static_cast<double>(w.bytes) / static_cast<double>(world.wire_bytes(w.bytes));
  return o.goodput_bps / (host_rate_bps(world.scenario().network) * payload);
}

double false_bad(const World&, const Outcome& o) {
  return static_cast<double>(o.count(o.evs, "false_assumed_bad"));
}

}  // namespace

std::vector<Claim> claims() {
  const config::Settings no_inference{{"detect.time_order", "false"}, {"detect.tail_probe", "false"}};
  config::Settings nothing = no_inference;
  nothing.emplace_back("detect.ev_order", "false");
  config::Settings deaf = nothing;
  deaf.emplace_back("run.port_status", "false");
  const config::Settings oblivious{{"paths.selector", "oblivious"}};
  const config::Settings full_load{{"network.hosts", "32"}, {"network.hosts_per_t0", "8"}};
  const config::Settings one_percent{{"faults", "[{kind: loss, place: fabric, probability: 0.01}]"}};
  const config::Settings sixteen_rc_qps{{"transport", "rc"},         {"workload.qps", "16"},
                                        {"workload.stripe", "true"}, {"queues.trim", "false"},
                                        {"queues.data", "64M"},      {"queues.last_hop", "64M"}};
  // One path a QP and go-back-N, without trims, which it does not know; on a fabric that drops nothing.
  const config::Settings one_rc_qp{
      {"transport", "rc"}, {"queues.trim", "false"}, {"queues.data", "64M"}, {"queues.last_hop", "64M"}};
  return {
      {"1 failover",
       "last repair after a link's death, base RTTs",
       "claim-01-failover.yaml",
       true,
       6.5,
       {},
       no_inference,
       repair_rtts},
      {"4 permutation",
       "tail / ideal with one QP",
       "claim-04-permutation.yaml",
       true,
       1.25,
       {},
       sixteen_rc_qps,
       tail_over_ideal},
      {"4 ring",
       "all-reduce / its bytes at line rate, with one QP",
       "claim-04-ring.yaml",
       true,
       1.5,
       {},
       sixteen_rc_qps,
       end_over_ideal},
      {"5 core",
       "core queue p99 / depth where marks begin",
       "claim-05-core.yaml",
       true,
       1.0,
       {},
       {{"paths.selector", "single"}},
       core_p99_over_mark},
      {"5 full load", "core queue p99 / depth where marks begin, full load", "claim-05-core.yaml", true, 3.0,
       full_load, oblivious, core_p99_over_mark},
      {"6 victim",
       "victim's time / alone",
       "claim-06-victim.yaml",
       true,
       1.15,
       {},
       {{"cc.kind", "off"}, {"queues.trim", "false"}},
       victim_over_ideal},
      {"6 victim, RoCE",
       "victim's time / alone",
       "claim-06-victim.yaml",
       true,
       1.15,
       {},
       one_rc_qp,
       victim_over_ideal},
      {"7 port",
       "rate after the loss of 1 of 8 ports / before",
       "claim-07-port.yaml",
       false,
       7.0 / 8 - 0.03,
       {},
       deaf,
       rate_after_over_before},
      {"7 notice",
       "last repair after the loss of 1 of 8 ports, base RTTs",
       "claim-07-port.yaml",
       true,
       1.5,
       {},
       {{"run.port_status", "false"}},
       repair_rtts},
      {"8 reboot",
       "tail with a T1 that swallows everything / without",
       "claim-08-reboot.yaml",
       true,
       1.05,
       {},
       oblivious,
       tail_over_ideal,
       false,
       {{"faults", "[]"}}},
      {"8 losses",
       "losses / dead EVs met, a T1 swallows everything",
       "claim-08-reboot.yaml",
       true,
       3.0,
       {},
       oblivious,
       losses_per_dead_ev},
      {"9 start",
       "losses / dead EVs met",
       "claim-09-start.yaml",
       true,
       1.2,
       {},
       oblivious,
       losses_per_dead_ev},
      {"10 flaps",
       "collective's p99.9 / median",
       "claim-10-flaps.yaml",
       true,
       4.0,
       {},
       no_inference,
       p999_over_median},
      {"11 loss 0.1 %",
       "goodput / line rate",
       "claim-11-loss.yaml",
       false,
       0.9,
       {},
       nothing,
       share_of_line_rate},
      {"11 loss 1 %", "goodput / line rate", "claim-11-loss.yaml", false, 0.33, one_percent, nothing,
       share_of_line_rate},
      {"11 loss 1 %, RoCE", "goodput / line rate", "claim-11-loss.yaml", false, 0.33, one_percent, one_rc_qp,
       share_of_line_rate},
      {"12 trimming",
       "EVs assumed bad falsely under incast",
       "claim-12-trimming.yaml",
       true,
       0,
       {},
       {{"queues.trim", "false"}},
       false_bad,
       true},
      {"14 replacement",
       "tail / ideal of a 2:1 incast, most of a plane dead",
       "claim-14-replacement.yaml",
       true,
       1.12,
       {},
       {{"paths.any_plane_backup", "true"}},
       tail_over_ideal},
      {"17 reverse",
       "tail / ideal while a quarter of the ways back is dead",
       "claim-17-reverse.yaml",
       true,
       1.5,
       {},
       {{"qp.reverse_probes", "false"}},
       tail_with_failures},
      {"RTT slow link",
       "mean round / ideal, a link has a tenth of its speed",
       "rtt-slow-link.yaml",
       true,
       2.5,
       {},
       {{"paths.rtt_reroute", "false"}},
       round_over_ideal},
      {"RTT queues",
       "mean round / ideal, a T1 has queues nobody marks",
       "rtt-queues.yaml",
       true,
       2.2,
       {},
       {{"paths.rtt_reroute", "false"}},
       round_over_ideal},
  };
}

const Claim& claim_named(const std::vector<Claim>& all, std::string_view name) {
  const auto at = std::find_if(all.begin(), all.end(), [&](const Claim& c) { return c.name == name; });
  assert(at != all.end());
  return *at;
}

ClaimCurve active_set_curve() {
  return {"3 active set",
          "tail / ideal while a link dies",
          "claim-03-active-set.yaml",
          "paths.evs",
          {"8", "16", "32", "64", "128", "256", "512"},
          {{"faults", "[]"}},
          0.9,   // few EVs collide
          0.97,  // many take long to be found dead
          tail_over_ideal};
}

Claim ClaimCurve::at(std::size_t point) const {
  Claim c;
  c.name = name;
  c.what = what;
  c.file = file;
  c.settings = {{key, points[point]}};
  c.control = control;
  c.number = number;
  return c;
}

double ClaimResult::worst_with(bool at_most) const {
  if (with.empty()) return 0;
  return at_most ? *std::max_element(with.begin(), with.end()) : *std::min_element(with.begin(), with.end());
}
double ClaimResult::median_with() const {
  return median_of(with);
}
double ClaimResult::median_without() const {
  return median_of(without);
}

namespace {

Result<double> number_of(const Claim& claim, const std::string& file, const config::Settings& settings,
                         bool control) {
  auto scenario = load_scenario_file(file, settings);
  if (!scenario) return scenario.error();
  auto world = World::create(*scenario);
  if (!world) return world.error();
  const RunEnd end = (*world)->run();
  const Outcome outcome = collect(**world, end, claim.file);
  // A control may fail flows or leave them; what is claimed must not.
  if (!outcome.violation.empty() || (!control && !outcome.pass())) return Error{outcome.verdict()};
  return claim.number(**world, outcome);
}

}  // namespace

Result<double> measure(const Claim& claim, const std::string& config_dir, bool control, std::uint64_t seed) {
  config::Settings settings = claim.settings;
  if (control) settings.insert(settings.end(), claim.control.begin(), claim.control.end());
  settings.emplace_back("seed", fmt::format("{}", seed));
  const std::string file = config_dir + "/" + claim.file;
  const Result<double> number = number_of(claim, file, settings, control);
  if (!number || claim.beside.empty()) return number;
  settings.insert(settings.end(), claim.beside.begin(), claim.beside.end());
  const Result<double> other = number_of(claim, file, settings, control);
  if (!other) return other;
  return *number / *other;
}

void judge(const Claim& claim, ClaimResult& r) {
  const auto keeps = [&](double v) { return claim.at_most ? v <= claim.limit : v >= claim.limit; };
  const char* than = claim.at_most ? "at most" : "at least";
  if (r.with.empty() || r.without.empty()) {
    r.failures.emplace_back("nothing was measured");
    return;
  }
  const double with = claim.every_seed ? r.worst_with(claim.at_most) : r.median_with();
  if (!keeps(with))
    r.failures.push_back(fmt::format("{:.3f}{}, {} {:.3f} expected", with,
                                     claim.every_seed ? " in the worst seed" : "", than, claim.limit));
  if (keeps(r.median_without()))
    r.failures.push_back(fmt::format("the control has {:.3f} and keeps the limit: the test shows nothing",
                                     r.median_without()));
}

std::vector<std::string> ClaimCurve::objections(const std::vector<std::vector<double>>& by_point) const {
  std::vector<double> medians;
  for (const auto& values : by_point) medians.push_back(median_of(values));
  const bool whole = medians.size() == points.size() && medians.size() >= 3 &&
                     std::none_of(by_point.begin(), by_point.end(), [](const auto& v) { return v.empty(); });
  if (!whole) return {"not every point was measured"};
  std::vector<std::string> found;
  const double best = *std::min_element(medians.begin() + 1, medians.end() - 1);
  const auto compare = [&](const char* where, double end, double part) {
    if (best > part * end)
      found.push_back(fmt::format("the best is {:.3f}, {:.3f} or less expected beside {:.3f} at the {} point",
                                  best, part * end, end, where));
  };
  compare("first", medians.front(), below_first);
  compare("last", medians.back(), below_last);
  return found;
}

void judge(const ClaimCurve& curve, CurveResult& r) {
  const std::vector<std::string> objections = curve.objections(r.by_point);
  r.failures.insert(r.failures.end(), objections.begin(), objections.end());
  const bool any =
      std::any_of(r.of_control.begin(), r.of_control.end(), [](const auto& v) { return !v.empty(); });
  if (!any)
    r.failures.emplace_back("the control was not measured");
  else if (curve.objections(r.of_control).empty())
    r.failures.emplace_back("the best of the control lies inside too: the test shows nothing");
}

namespace {

std::string median_and_range(const std::vector<double>& v) {
  if (v.empty()) return "-";
  const auto [lo, hi] = std::minmax_element(v.begin(), v.end());
  return fmt::format("{:.3f} ({:.3f}..{:.3f})", median_of(v), *lo, *hi);
}

}  // namespace

std::string curve_lines(const ClaimCurve& curve, const CurveResult& r) {
  std::string out = fmt::format("{:<18} {:<56} best inside\n", curve.name, curve.what);
  for (std::size_t i = 0; i < r.by_point.size(); ++i) {
    if (r.by_point[i].empty()) continue;
    out += fmt::format("{:<18} {:<56} {:>39} {:>26}\n", "", fmt::format("{} {}", curve.key, curve.points[i]),
                       median_and_range(r.by_point[i]),
                       median_and_range(i < r.of_control.size() ? r.of_control[i] : std::vector<double>{}));
  }
  return r.failures.empty() ? out : out + fmt::format("  FAIL: {}\n", fmt::join(r.failures, "; "));
}

std::string claims_header() {
  return fmt::format("{:<18} {:<56} {:>12} {:>26} {:>26}\n", "claim", "number", "limit",
                     "with: median (min..max)", "control: median (min..max)");
}

std::string claim_line(const Claim& claim, const ClaimResult& r) {
  return fmt::format("{:<18} {:<56} {:>12} {:>26} {:>26}{}\n", claim.name, claim.what,
                     fmt::format("{} {:.3f}", claim.at_most ? "<=" : ">=", claim.limit),
                     median_and_range(r.with), median_and_range(r.without),
                     r.failures.empty() ? "" : "  FAIL: " + fmt::format("{}", fmt::join(r.failures, "; ")));
}

}  // namespace mrc::sim
