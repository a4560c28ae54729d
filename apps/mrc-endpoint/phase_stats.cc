// SPDX-License-Identifier: BSD-3-Clause
#include "phase_stats.h"

#include <fmt/format.h>

#include <array>

#include "path/ev_names.h"
#include "transport/rtx_names.h"
#include "wire/drop_reason.h"

namespace mrc::endpoint {
namespace {

using report::delta;

std::string ev_value(const path::EvTable& table, const path::EvEntry& e) {
  constexpr std::array<std::size_t, 4> kBytes{2, 4, 16, 32};
  std::string text = "0x";
  for (std::size_t i = 0; i < kBytes[static_cast<std::size_t>(table.format())]; ++i) {
    text += fmt::format("{:02x}", e.value[i]);
  }
  return text;
}

struct Field {
  const char* name;
  std::uint64_t transport::QpCounters::*member;
};
constexpr Field kFields[] = {
    {"tx_new", &transport::QpCounters::tx_new},
    {"tx_rtx", &transport::QpCounters::tx_rtx},
    {"tx_payload_bytes", &transport::QpCounters::tx_payload_bytes},
    {"tx_probe", &transport::QpCounters::tx_probe},
    {"tx_sack", &transport::QpCounters::tx_sack},
    {"tx_sack_penalty", &transport::QpCounters::tx_sack_penalty},
    {"tx_nack", &transport::QpCounters::tx_nack},
    {"tx_ack", &transport::QpCounters::tx_ack},
    {"tx_nak", &transport::QpCounters::tx_nak},
    {"rx_write", &transport::QpCounters::rx_write},
    {"rx_placed", &transport::QpCounters::rx_placed},
    {"rx_placed_bytes", &transport::QpCounters::rx_placed_bytes},
    {"rx_duplicate", &transport::QpCounters::rx_duplicate},
    {"rx_out_of_window", &transport::QpCounters::rx_out_of_window},
    {"rx_trimmed", &transport::QpCounters::rx_trimmed},
    {"rx_ce", &transport::QpCounters::rx_ce},
    {"rx_sack", &transport::QpCounters::rx_sack},
    {"rx_nack", &transport::QpCounters::rx_nack},
    {"rx_ack", &transport::QpCounters::rx_ack},
    {"rx_nak", &transport::QpCounters::rx_nak},
    {"rx_probe", &transport::QpCounters::rx_probe},
    {"rx_sack_range", &transport::QpCounters::rx_sack_range},
    {"rx_sack_old", &transport::QpCounters::rx_sack_old},
    {"rx_nack_stale", &transport::QpCounters::rx_nack_stale},
    {"rx_ack_range", &transport::QpCounters::rx_ack_range},
    {"rx_ack_msn_mismatch", &transport::QpCounters::rx_ack_msn_mismatch},
    {"rx_rqmsn_mismatch", &transport::QpCounters::rx_rqmsn_mismatch},
    {"tx_ev_probe", &transport::QpCounters::tx_ev_probe},
    {"rx_ev_answer", &transport::QpCounters::rx_ev_answer},
    {"rx_trimmed_ignored", &transport::QpCounters::rx_trimmed_ignored},
    {"rx_bad_state", &transport::QpCounters::rx_bad_state},
    {"rx_invalid", &transport::QpCounters::rx_invalid},
    {"rx_access", &transport::QpCounters::rx_access},
    {"timer_expiries", &transport::QpCounters::timer_expiries},
    {"spurious_rtx", &transport::QpCounters::spurious_rtx},
    {"wimm_stalls", &transport::QpCounters::wimm_stalls},
};

void add_transport(const Snapshot& before, const Snapshot& after, report::PhaseResult& r) {
  for (const Field& f : kFields) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < after.qps.size(); ++i) {
      sum += delta(after.qps[i].counters.*f.member, before.qps[i].counters.*f.member);
    }
    r.transport.emplace_back(f.name, sum);
  }
  for (std::size_t c = 0; c < transport::kRtxCauses; ++c) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < after.qps.size(); ++i) {
      sum += delta(after.qps[i].counters.rtx_by_cause[c], before.qps[i].counters.rtx_by_cause[c]);
    }
    r.retransmissions.emplace_back(transport::kRtxCauseNames[c], sum);
  }
  std::uint64_t silent = 0;
  for (std::size_t i = 0; i < after.qps.size(); ++i)
    silent += delta(after.qps[i].ev_counters.planes_down, before.qps[i].ev_counters.planes_down);
  r.transport.emplace_back("planes_silent", silent);
}

void add_evs(const Snapshot& before, const Snapshot& after, const path::EvTable& table,
             report::PhaseResult& r) {
  for (std::size_t i = 0; i < after.qps.size(); ++i) {
    const nic::QpSnapshot& now = after.qps[i];
    const nic::QpSnapshot& then = before.qps[i];
    for (std::size_t ev = 0; ev < now.evs.size() && ev < table.size(); ++ev) {
      const nic::EvStats a = ev < then.evs.size() ? then.evs[ev] : nic::EvStats{};
      const nic::EvStats& b = now.evs[ev];
      report::EvResult e;
      e.qp = static_cast<unsigned>(i);
      e.ev = static_cast<unsigned>(ev);
      e.plane = table[ev].port;
      e.value = ev_value(table, table[ev]);
      e.state = ev < now.ev_states.size() ? path::name(now.ev_states[ev]) : "GOOD";
      e.tx_pkts = delta(b.tx_pkts, a.tx_pkts);
      e.tx_bytes = delta(b.tx_bytes, a.tx_bytes);
      e.tx_rtx = delta(b.tx_rtx, a.tx_rtx);
      e.tx_probes = delta(b.tx_probes, a.tx_probes);
      r.evs.push_back(std::move(e));
    }
  }
}

void add_planes(nic::Nic& nic, const Snapshot& before, const Snapshot& after, const PhaseObservation& seen,
                report::PhaseResult& r) {
  std::uint64_t all_data = 0;
  for (unsigned p = 0; p < nic.config().planes.size(); ++p) {
    report::PlaneResult x;
    x.plane = p;
    x.address = nic.address(0, p).ip.to_string();
    x.port = p < seen.port_names.size() ? seen.port_names[p] : "";
    x.link_up = p >= seen.link_up.size() || seen.link_up[p];
    for (std::size_t w = 0; w < after.workers.size(); ++w) {
      const nic::PortStats& a = before.workers[w].ports[p];
      const nic::PortStats& b = after.workers[w].ports[p];
      x.tx_pkts += delta(b.tx_pkts, a.tx_pkts);
      x.tx_bytes += delta(b.tx_bytes, a.tx_bytes);
      x.tx_data_pkts += delta(b.tx_data_pkts, a.tx_data_pkts);
      x.rx_pkts += delta(b.rx_pkts, a.rx_pkts);
      x.rx_bytes += delta(b.rx_bytes, a.rx_bytes);
    }
    const nic::DriverStats& then = before.ports[p];
    const nic::DriverStats& now = after.ports[p];
    x.rx_missed_pkts = delta(now.rx_missed, then.rx_missed);
    x.rx_error_pkts = delta(now.rx_error, then.rx_error);
    x.rx_no_mbuf_pkts = delta(now.rx_no_mbuf, then.rx_no_mbuf);
    x.tx_error_pkts = delta(now.tx_error, then.tx_error);
    all_data += x.tx_data_pkts;
    r.planes.push_back(std::move(x));
  }
  for (report::PlaneResult& x : r.planes) {
    x.tx_share = all_data == 0 ? 0 : static_cast<double>(x.tx_data_pkts) / static_cast<double>(all_data);
  }
}

void add_controllers(const Snapshot& before, const Snapshot& after, const QpSet& qps,
                     report::PhaseResult& r) {
  for (std::size_t w = 0; w < after.controllers.size() && w < before.controllers.size(); ++w) {
    const nic::CcSnapshot& a = before.controllers[w];
    const nic::CcSnapshot& b = after.controllers[w];
    report::ControllerResult c;
    c.kind = std::string(qps.cc_mode());
    c.worker = static_cast<unsigned>(w);
    for (std::size_t i = 0; i < qps.size(); ++i) c.qps += qps[i].worker == w ? 1 : 0;
    c.acks = delta(b.figures.acks, a.figures.acks);
    c.marked = delta(b.figures.marked, a.figures.marked);
    c.trims = delta(b.figures.trims, a.figures.trims);
    c.losses = delta(b.figures.losses, a.figures.losses);
    c.cuts = delta(b.figures.cuts, a.figures.cuts);
    if (b.adaptive) {
      const cc::WindowHistogram windows = b.windows.since(a.windows);
      c.windows = windows.count();
      c.cwnd_min_bytes = windows.min_bytes();
      c.cwnd_median_bytes = windows.median_bytes();
      c.cwnd_max_bytes = windows.max_bytes();
    }
    c.cwnd_bytes = b.cwnd_bytes;
    c.inflight_bytes = b.inflight_bytes;
    const auto spent = [&](cc::SchedState s) {
      const auto i = static_cast<std::size_t>(s);
      return static_cast<std::uint64_t>(std::max<std::int64_t>(0, (b.spent[i] - a.spent[i]).ns));
    };
    c.idle_ns = spent(cc::SchedState::kIdle);
    c.active_ns = spent(cc::SchedState::kActive);
    c.ready_ns = spent(cc::SchedState::kReady);
    c.pending_ns = spent(cc::SchedState::kPending);
    r.controllers.push_back(std::move(c));
  }
}

struct EngineField {
  const char* name;
  std::uint64_t nic::WorkerStats::*member;
};
constexpr EngineField kEngineFields[] = {
    {"polls", &nic::WorkerStats::polls},
    {"polls_idle", &nic::WorkerStats::polls_idle},
    {"poll_gaps", &nic::WorkerStats::poll_gaps},
    {"handed_over", &nic::WorkerStats::handed_out},
    {"payload_starved", &nic::WorkerStats::payload_starved},
    {"control_dropped", &nic::WorkerStats::control_dropped},
    {"capture_lost", &nic::WorkerStats::capture_lost},
};

void add_engine(const Snapshot& before, const Snapshot& after, const PhaseRunner& phase,
                report::PhaseResult& r) {
  std::uint64_t short_bursts = 0;
  for (const EngineField& f : kEngineFields) {
    std::uint64_t sum = 0;
    for (std::size_t w = 0; w < after.workers.size(); ++w) {
      sum += delta(after.workers[w].*f.member, before.workers[w].*f.member);
    }
    r.engine.emplace_back(f.name, sum);
  }
  for (std::size_t w = 0; w < after.workers.size(); ++w) {
    for (std::size_t p = 0; p < kMaxPlanes; ++p) {
      short_bursts +=
          delta(after.workers[w].ports[p].tx_short_bursts, before.workers[w].ports[p].tx_short_bursts);
    }
  }
  r.engine.emplace_back("tx_short_bursts", short_bursts);
  r.engine.emplace_back("waits_for_the_receivers_check", phase.release_waits());
}

/// Drops by reason, and the account of nic/stats.h: what came in went somewhere.
void add_account(const Snapshot& before, const Snapshot& after, report::PhaseResult& r) {
  std::uint64_t in = 0;
  std::uint64_t out = 0;
  std::uint64_t dropped = 0;
  for (std::size_t reason = 1; reason < wire::kDropReasons; ++reason) {
    std::uint64_t sum = 0;
    for (std::size_t w = 0; w < after.workers.size(); ++w) {
      sum += delta(after.workers[w].drops[static_cast<wire::DropReason>(reason)],
                   before.workers[w].drops[static_cast<wire::DropReason>(reason)]);
    }
    dropped += sum;
    if (sum != 0) r.drops.emplace_back(std::string(wire::kDropReasonNames[reason]), sum);
  }
  for (std::size_t w = 0; w < after.workers.size(); ++w) {
    const nic::WorkerStats& a = before.workers[w];
    const nic::WorkerStats& b = after.workers[w];
    for (std::size_t p = 0; p < kMaxPlanes; ++p) in += delta(b.ports[p].rx_pkts, a.ports[p].rx_pkts);
    in += delta(b.handed_in, a.handed_in);
    out += delta(b.handed_out, a.handed_out) + delta(b.delivered, a.delivered) +
           delta(b.neighbour, a.neighbour) + delta(b.endpoint, a.endpoint);
  }
  r.conserved = in == out + dropped;
  r.conservation = fmt::format("{} received = {} used + {} dropped", in, out, dropped);
}

/// Every packet, whatever it is, of all that cross the fabric: both directions.
report::Counters counts_of(const fabric::Fabric& f) {
  report::Counters out;
  for (std::size_t r = 1; r < fabric::kDropReasons; ++r) {
    out.emplace_back(fmt::format("dropped_{}", name(static_cast<fabric::DropReason>(r))),
                     fabric::sum(f.counters().dropped[r]));
  }
  std::uint64_t marked = 0;
  std::uint64_t trimmed = 0;
  for (fabric::LinkId id = 0; id < f.topology().links.size(); ++id) {
    marked += f.link(id).counters.ce_marked;
    trimmed += f.link(id).counters.trimmed;
  }
  out.emplace_back("marked", marked);
  out.emplace_back("trimmed", trimmed);
  return out;
}

void add_fabric(const Snapshot& before, const Snapshot& after, report::PhaseResult& r) {
  for (const auto& [name, now] : after.fabric) {
    const std::uint64_t n = delta(now, report::value_of(before.fabric, name));
    if (n != 0) r.fabric.emplace_back(name, n);
  }
}

report::Verification verification_of(const PhaseReport& p, const PhaseObservation& seen) {
  report::Verification v;
  v.on = p.verified;
  v.method =
      p.verified
          ? "every byte against a function of seed, QP, message and offset; targets poisoned before reuse"
          : seen.no_verify_reason;
  v.messages = p.verified ? p.messages : 0;
  v.bytes = p.bytes;
  v.messages_bad = p.messages_bad;
  v.first_bad = p.first_bad;
  return v;
}

const char* latency_method(const PhaseSetup& s) {
  if (s.kind != "write_lat")
    return "post_send to completion polled, TSC read once a batch of posts or completions";
  return "half the round trip of a WriteIMM ping-pong, post_send to receive completion, TSC";
}

}  // namespace

Snapshot take_snapshot(nic::Nic& nic, const QpSet& qps, const fabric::Fabric* fabric) {
  Snapshot s;
  if (fabric != nullptr) s.fabric = counts_of(*fabric);
  for (unsigned w = 0; w < nic.workers(); ++w) s.workers.push_back(nic.snapshot(w));
  for (std::size_t i = 0; i < qps.size(); ++i) {
    Result<nic::QpSnapshot> q = nic.query_qp(qps[i].qpn);
    s.qps.push_back(q ? *std::move(q) : nic::QpSnapshot{});
    // QPs take workers in turn, and those of one worker share a controller.
    if (i >= nic.workers()) continue;
    Result<nic::CcSnapshot> c = nic.query_cc(qps[i].qpn);
    s.controllers.push_back(c ? *std::move(c) : nic::CcSnapshot{});
  }
  for (unsigned p = 0; p < nic.config().planes.size(); ++p) s.ports.push_back(nic.driver_stats(p));
  return s;
}

report::EvEvents take_ev_events(nic::Nic& nic, const QpSet& qps, Time since) {
  report::EvEvents out;
  for (std::size_t i = 0; i < qps.size(); ++i) {
    // Read to the end: what is left would pass for news of the next phase.
    const Result<nic::EvEvents> read = nic.poll_ev_events(qps[i].qpn, kMostEvEvents);
    if (!read) continue;  // the QP is gone, its events too
    out.dropped += read->dropped;
    for (const path::EvSet::Event& e : read->events) {
      if (out.events.size() >= kMostEvEvents) {
        ++out.dropped;
        continue;
      }
      out.events.push_back({static_cast<unsigned>(i), e.ev, qps.evs()[e.ev].port, (e.at - since).ns,
                            path::name(e.from), path::name(e.to), path::name(e.cause)});
    }
  }
  return out;
}

report::PhaseResult make_result(const PhaseRunner& phase, nic::Nic& nic, const QpSet& qps,
                                const Snapshot& before, const Snapshot& after, const PhaseObservation& seen) {
  const PhaseSetup& setup = phase.setup();
  report::PhaseResult r;
  r.workload = setup.kind;
  r.size_bytes = setup.plan.size_bytes;
  r.qps = static_cast<unsigned>(qps.size());
  r.depth = setup.plan.depth;
  r.path_mtu_bytes = qps.negotiated().path_mtu;
  r.bidirectional = setup.sends && setup.receives && setup.kind != "write_lat";
  r.interrupted = phase.interrupted();
  r.messages_offered = phase.posted();
  r.messages_completed = phase.completed();
  r.bytes_completed = phase.completed() * setup.plan.size_bytes;
  r.messages_received = phase.received();
  if (!phase.first_post().is_never() && phase.last_completion() > phase.first_post()) {
    r.duration_s = static_cast<double>((phase.last_completion() - phase.first_post()).ns) / 1e9;
  }
  add_planes(nic, before, after, seen, r);
  std::uint64_t frames = 0;
  std::uint64_t frame_bytes = 0;
  for (const report::PlaneResult& p : r.planes) {
    frames += p.tx_pkts;
    frame_bytes += p.tx_bytes;
  }
  r.offered = report::rates_of(r.messages_offered, r.messages_offered * r.size_bytes, frames, frame_bytes,
                               r.duration_s);
  r.achieved = report::rates_of(r.messages_completed, r.bytes_completed, frames, frame_bytes, r.duration_s);
  r.goodput_windows_bps = seen.goodput_windows_bps;
  r.window_s = seen.window_s;
  r.latency = report::latency_of(phase.latency(), latency_method(setup), setup.kind == "write_lat" ? 2 : 1);
  r.verification = verification_of(phase.own_report(), seen);
  if (phase.peer_report()) r.peer_verification = verification_of(*phase.peer_report(), seen);
  r.peer_verification.on = setup.verify;
  add_evs(before, after, qps.evs(), r);
  r.ev_events = take_ev_events(nic, qps, seen.since);
  add_controllers(before, after, qps, r);
  add_transport(before, after, r);
  add_engine(before, after, phase, r);
  add_account(before, after, r);
  add_fabric(before, after, r);
  return r;
}

}  // namespace mrc::endpoint
