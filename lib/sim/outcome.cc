// SPDX-License-Identifier: BSD-3-Clause
#include "sim/outcome.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "transport/rtx_names.h"

namespace mrc::sim {

namespace {

transport::QpCounters sum_qps(const Simulation& sim) {
  transport::QpCounters sum;
  for (QpId id = 0; id < sim.qps(); ++id) {
    const transport::QpCounters& c = sim.qp(id).counters();
    sum.tx_new += c.tx_new;
    sum.tx_rtx += c.tx_rtx;
    for (std::size_t i = 0; i < transport::kRtxCauses; ++i) sum.rtx_by_cause[i] += c.rtx_by_cause[i];
    sum.tx_probe += c.tx_probe;
    sum.tx_sack += c.tx_sack;
    sum.tx_nack += c.tx_nack;
    sum.tx_ack += c.tx_ack;
    sum.timer_expiries += c.timer_expiries;
    sum.spurious_rtx += c.spurious_rtx;
    sum.rx_ce += c.rx_ce;
    sum.rx_trimmed += c.rx_trimmed;
    sum.rx_duplicate += c.rx_duplicate;
    sum.control_overflow += c.control_overflow;
    sum.wimm_stalls += c.wimm_stalls;
  }
  return sum;
}

void collect_packets(const Simulation& sim, Outcome& o) {
  const transport::QpCounters c = sum_qps(sim);
  o.packets = {{"new", c.tx_new},
               {"rtx", c.tx_rtx},
               {"sack", c.tx_sack},
               {"nack", c.tx_nack},
               {"ack", c.tx_ack},
               {"probe", c.tx_probe},
               {"marked", c.rx_ce},
               {"trimmed", c.rx_trimmed},
               {"duplicate", c.rx_duplicate},
               {"timer_expiries", c.timer_expiries},
               {"spurious_rtx", c.spurious_rtx},
               {"control_overflow", c.control_overflow}};
  for (std::size_t i = 0; i < transport::kRtxCauses; ++i)
    o.rtx_by_cause.emplace_back(transport::kRtxCauseNames[i], c.rtx_by_cause[i]);
}

// Names as far as they mean the same.
void collect_packets(const RcSimulation& sim, Outcome& o) {
  const RcCounters c = sim.total();
  o.packets = {{"new", c.tx_new},
               {"rtx", c.tx_rtx},
               {"nack", c.tx_nak},
               {"ack", c.tx_ack},
               {"cnp", c.tx_cnp},
               {"marked", c.rx_ce},
               {"duplicate", c.rx_duplicate},
               {"out_of_order", c.rx_out_of_order},
               {"go_backs", c.go_backs},
               {"timer_expiries", c.timeouts}};
}

void collect_evs(const World& world, Outcome& o) {
  const Simulation& sim = world.sim();
  path::EvSetCounters c;
  std::uint64_t bad = 0;
  std::vector<std::uint64_t> used;
  o.ev.pkts.assign(world.scenario().paths.evs, 0);
  for (QpId id = 0; id < sim.qps(); ++id) {
    const path::EvSet& set = sim.qp(id).ev_set();
    c.skip_marks += set.counters().skip_marks;
    c.recovered += set.counters().recovered;
    c.floor_hits += set.counters().floor_hits;
    c.fallback_picks += set.counters().fallback_picks;
    for (std::size_t ev = 0; ev < set.table().size(); ++ev) {
      const auto index = static_cast<path::EvIndex>(ev);
      bad += set.state(index) == path::EvState::kAssumedBad ? 1 : 0;
      const std::uint64_t pkts = sim.sent_on(id, index);
      o.ev.pkts[ev] += pkts;
      if (id % 2 == 0) used.push_back(pkts);  // the sending end of each connection
    }
  }
  o.evs = {{"assumed_bad", sim.counters().condemned},
           {"false_assumed_bad", sim.counters().false_condemned},
           {"lost_data", sim.counters().evs_hit},
           {"recovered", c.recovered},
           {"bad_at_end", bad},
           {"denied_at_start", world.denied_evs()},
           {"skip_marks", c.skip_marks},
           {"floor_hits", c.floor_hits},
           {"fallback_picks", c.fallback_picks}};
  std::sort(used.begin(), used.end());
  if (used.empty()) return;
  o.ev.smallest_pkts = used.front();
  o.ev.median_pkts = used[used.size() / 2];
  o.ev.largest_pkts = used.back();
}

template <class Sim>
void collect_network(const Sim& sim, const std::array<DepthHistogram, kQueueClasses>& depths, Outcome& o) {
  const fabric::Fabric& net = sim.network();
  const fabric::FabricCounters& f = net.counters();
  o.hops = f.hops;
  o.network = {{"sent", sim.counters().data_sent + sim.counters().control_sent},
               {"refused_at_port", sim.counters().refused},
               {"duplicated", f.duplicated},
               {"delivered", fabric::sum(f.delivered)},
               {"corrupt_dropped", sim.counters().corrupt_dropped},
               {"trimmed_opcode", sim.counters().trimmed_opcode},
               {"in_flight", net.in_flight()}};
  for (std::size_t r = 1; r < fabric::kDropReasons; ++r)
    o.network.emplace_back(std::string("dropped_") + fabric::name(static_cast<fabric::DropReason>(r)),
                           fabric::sum(f.dropped[r]));
  o.planes_out.resize(net.topology().planes);
  std::array<QueueOutcome, kQueueClasses> classes;
  for (fabric::LinkId id = 0; id < net.topology().links.size(); ++id) {
    const fabric::Link& link = net.link(id);
    QueueOutcome& q =
        classes[static_cast<std::size_t>(class_of_link(net.topology(), net.topology().links[id]))];
    ++q.links;
    q.max_bytes = std::max(q.max_bytes, link.counters.max_data_queue_bytes);
    q.ce_marked += link.counters.ce_marked;
    q.trimmed += link.counters.trimmed;
    q.dropped += link.counters.dropped_total();
    PlaneOutcome& plane = o.planes_out[link.plane];
    plane.dropped += link.counters.dropped_total();
    if (!link.from.is_host) continue;
    plane.data_pkts += link.counters.sent[static_cast<std::size_t>(fabric::Kind::kData)] +
                       link.counters.sent[static_cast<std::size_t>(fabric::Kind::kRetransmission)];
    plane.data_bytes += link.counters.sent_bytes;
  }
  for (std::size_t i = 0; i < kQueueClasses; ++i) {
    if (classes[i].links == 0) continue;
    const DepthHistogram& d = depths[i];
    classes[i].where = name(static_cast<QueueClass>(i));
    classes[i].samples = d.samples();
    // Steps round up; the maximum is exact.
    const auto of = [&](double percent) { return std::min(d.percentile(percent), classes[i].max_bytes); };
    classes[i].p50_bytes = of(50);
    classes[i].p99_bytes = of(99);
    classes[i].p999_bytes = of(99.9);
    o.queues.push_back(classes[i]);
  }
}

void collect_flows(const World& world, const RunEnd& end, Outcome& o) {
  std::vector<std::int64_t> fct;
  Time first = Time::never();
  Time last{};
  for (const Message& m : world.messages()) {
    const Connection& c = world.matrix().connections[m.connection];
    const bool done = !m.completed.is_never();
    o.flows.push_back({c.src, c.dst, m.bytes, m.start.ns, done ? m.completed.ns : -1, m.failed});
    first = earlier(first, m.start);
    last = later(last, done ? m.completed : end.at);
    if (!done) continue;
    ++(m.failed ? o.failed : o.completed);
    if (!m.failed) fct.push_back((m.completed - m.start).ns);
  }
  o.fct = spread_of(std::move(fct));
  o.received_bytes = world.placed_bytes();
  if (last > first)
    o.goodput_bps = static_cast<double>(o.received_bytes) * 8e9 / static_cast<double>((last - first).ns);
  if (world.rounds().size() < 2) return;
  std::vector<std::int64_t> rounds;
  for (const Duration d : world.rounds()) rounds.push_back(d.ns);
  o.rounds = spread_of(std::move(rounds));
}

}  // namespace

Spread spread_of(std::vector<std::int64_t> v) {
  Spread s;
  s.samples = v.size();
  if (v.empty()) return s;
  std::sort(v.begin(), v.end());
  const auto rank = [&](double percent) {
    const auto r = static_cast<std::size_t>(std::ceil(percent / 100 * static_cast<double>(v.size())));
    return v[std::max<std::size_t>(r, 1) - 1];
  };
  s.min_ns = v.front();
  s.median_ns = rank(50);
  s.p99_ns = rank(99);
  s.p999_ns = rank(99.9);
  s.max_ns = v.back();
  return s;
}

std::uint64_t Outcome::count(const Counts& of, std::string_view name) const {
  for (const auto& [key, value] : of)
    if (key == name) return value;
  return 0;
}

namespace {

// Every fault that began, whatever it did, in order of time.
void collect_faults(const World& world, const FaultLog& log, Outcome& o) {
  for (FaultId id = 0; id < log.records().size(); ++id) {
    const FaultRecord& r = log.records()[id];
    if (r.at.ns > o.end_ns) continue;
    FaultOutcome f;
    f.where = world.fault_text(id);
    f.at_ns = r.at.ns;
    f.lost_data = r.lost_data;
    f.lost_other = r.lost_other;
    f.open = r.open;
    if (r.lost_data != 0) f.last_sent_into_ns = (r.last_sent_into - r.at).ns;
    if (r.last_repair > r.at) f.last_repair_ns = (r.last_repair - r.at).ns;
    o.faults.push_back(f);
  }
  std::stable_sort(o.faults.begin(), o.faults.end(),
                   [](const FaultOutcome& a, const FaultOutcome& b) { return a.at_ns < b.at_ns; });
}

void collect_series(const Series& series, Outcome& o) {
  o.series_step_ns = series.step().ns;
  o.series_bytes.resize(series.planes());
  for (std::uint32_t p = 0; p < series.planes(); ++p) {
    for (std::size_t b = 0; b < series.size(); ++b) {
      o.series_bytes[p].push_back(series.at(b, p));
      o.planes_out[p].received_bytes += series.at(b, p);
    }
  }
}

}  // namespace

Outcome collect(const World& world, const RunEnd& end, std::string name) {
  Outcome o;
  o.scenario = std::move(name);
  o.transport = world.is_rc() ? "rc" : "mrc";
  o.seed = world.scenario().seed;
  o.hosts = world.scenario().network.hosts;
  o.planes = world.scenario().network.planes;
  o.base_rtt_ns = world.scenario().qp.policy.base_rtt.ns;
  o.ideal_ns = world.ideal().ns;
  o.end_ns = end.at.ns;
  o.quiet = end.quiet;
  o.finished = world.done();
  o.cut = world.scenario().run.cut;
  o.unfinished = world.unfinished();
  o.violation = end.violation;
  collect_flows(world, end, o);
  const auto collect_from = [&](const auto& sim, const auto& depths) {
    o.qps = sim.qps();
    collect_packets(sim, o);
    collect_network(sim, depths, o);
    collect_faults(world, sim.faults(), o);
    collect_series(sim.series(), o);
  };
  if (world.is_rc()) {
    collect_from(world.rc(), world.rc().depths().histograms());
  } else {
    collect_from(world.sim(), world.sim().depths().histograms());
    collect_evs(world, o);
  }
  return o;
}

}  // namespace mrc::sim
