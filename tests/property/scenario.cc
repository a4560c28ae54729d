// SPDX-License-Identifier: BSD-3-Clause
#include "scenario.h"

#include <algorithm>
#include <array>
#include <sstream>

#include "base/rng.h"

namespace mrc::property {
namespace {

template <class T, std::size_t N>
T pick(Rng& rng, const std::array<T, N>& values) {
  return values[rng.below(N)];
}

/// A PSN that often stands just below a wrap.
Psn random_psn(Rng& rng) {
  switch (rng.below(4)) {
    case 0:
      return Psn{0xFFFFFF - static_cast<std::uint32_t>(rng.below(200))};
    case 1:
      return Psn{0x7FFFFF - static_cast<std::uint32_t>(rng.below(200))};
    case 2:
      return Psn{static_cast<std::uint32_t>(rng.below(3))};
    default:
      return Psn{static_cast<std::uint32_t>(rng.next() & 0xFFFFFF)};
  }
}

std::uint8_t random_mpr(Rng& rng) {
  switch (rng.below(8)) {
    case 0:
    case 1:
    case 2:
      return 1;
    case 3:
    case 4:
      return 2;
    case 5:
      return static_cast<std::uint8_t>(rng.between(3, 16));
    case 6:
      return 8;
    default:
      return rng.chance(0.15) ? 255 : static_cast<std::uint8_t>(rng.between(16, 64));
  }
}

std::uint32_t random_length(Rng& rng, std::uint32_t pmtu, std::uint32_t room_pkts) {
  const auto whole = static_cast<std::uint32_t>(rng.below(room_pkts + 1)) * pmtu;
  switch (rng.below(8)) {
    case 0:
      return 0;
    case 1:
      return static_cast<std::uint32_t>(rng.between(1, 8));
    case 2:
      return static_cast<std::uint32_t>(rng.between(1, pmtu));
    case 3:
      return pmtu;
    case 4:
      return whole;
    case 5:
      return whole == 0 ? 1 : whole - 1;
    case 6:
      return whole + 1;
    default:
      return whole + static_cast<std::uint32_t>(rng.below(pmtu));
  }
}

void plan_messages(Rng& rng, const Scenario& s, SidePlan& side) {
  const std::uint32_t pmtu = side.attr.path_mtu;
  // large PMTUs move the same number of packets at more cost; keep most runs short
  std::uint32_t budget_pkts =
      static_cast<std::uint32_t>(rng.chance(0.1) ? rng.between(400, 1500) : rng.between(1, 250));
  if (pmtu > 1024) budget_pkts = std::min<std::uint32_t>(budget_pkts, 200);
  const double immediate = pick(rng, std::array{0.0, 0.2, 0.5, 1.0});
  const bool paced = rng.chance(0.3);
  const bool small = rng.chance(0.3);
  while (budget_pkts > 0 && side.messages.size() < 300) {
    MessagePlan m;
    m.length_bytes = random_length(rng, pmtu, small ? 3 : std::min<std::uint32_t>(budget_pkts, 120));
    m.immediate = rng.chance(immediate);
    m.solicited = m.immediate && rng.chance(0.3);
    m.reuse_target = rng.chance(0.3);
    if (paced && rng.chance(0.3))
      m.gap = Duration{static_cast<std::int64_t>(rng.below(s.policy.base_rtt.ns * 4))};
    const std::uint32_t pkts = std::max(1U, (m.length_bytes + pmtu - 1) / pmtu);
    budget_pkts -= std::min(budget_pkts, pkts);
    side.messages.push_back(m);
  }
}

void plan_side(Rng& rng, const Scenario& s, SidePlan& side) {
  side.limits.max_send_wr =
      static_cast<std::uint32_t>(rng.chance(0.3) ? rng.between(1, 4) : rng.between(4, 128));
  side.attr.mpr_dest = random_mpr(rng);
  side.attr.max_wimm_dest =
      static_cast<std::uint16_t>(rng.chance(0.4) ? rng.between(1, 3) : rng.between(4, 32));
  side.attr.timeout = static_cast<std::uint8_t>(rng.between(7, 11));
  side.attr.linear_cnt = static_cast<std::uint8_t>(rng.between(2, 7));
  side.attr.exp_cnt = static_cast<std::uint8_t>(rng.chance(0.2) ? 25 : rng.between(2, 4));
  side.attr.trim_nack = rng.chance(0.85);
  side.round = Duration{static_cast<std::int64_t>(rng.between(50, 1000))};
  side.port_credits = static_cast<std::uint16_t>(rng.chance(0.3) ? 1 : rng.between(1, 16));
  if (rng.chance(0.4)) side.placing = Duration{static_cast<std::int64_t>(rng.below(s.policy.base_rtt.ns))};
  side.uet_send_test = rng.chance(0.3);
  side.cwnd_bytes = rng.chance(0.3) ? static_cast<std::int64_t>(rng.between(4400, 20000))
                                    : static_cast<std::int64_t>(rng.between(20000, 400000));
  for (int n = static_cast<int>(rng.below(3)); n > 0 && s.evs > s.planes && rng.chance(0.3); --n)
    side.denied.push_back(static_cast<path::EvIndex>(s.planes + rng.below(s.evs - s.planes)));
}

/// What each side must know of the other (T10-1).
void exchange(Rng& rng, SidePlan& me, const SidePlan& peer, std::uint32_t dest_qpn) {
  me.attr.dest_qpn = dest_qpn;
  me.attr.path_mtu = peer.attr.path_mtu;
  me.attr.mpr =
      static_cast<std::uint8_t>(rng.chance(0.5) ? peer.attr.mpr_dest : rng.between(1, peer.attr.mpr_dest));
  me.attr.max_wimm = peer.attr.max_wimm_dest;
  me.attr.trim_nack_dest = peer.attr.trim_nack;
  me.limits.max_mpr = me.attr.mpr;
  me.limits.max_mpr_dest = me.attr.mpr_dest;
  me.limits.max_wimm_dest = me.attr.max_wimm_dest;
  // the application keeps more receives posted than the peer may have WriteIMMs in flight
  me.limits.max_recv_wr = me.attr.max_wimm_dest + static_cast<std::uint32_t>(rng.between(1, 16));
}

Link benign_link(Rng& rng, Duration base_rtt) {
  Link link;
  const std::int64_t half = base_rtt.ns / 2;
  link.delay = Duration{static_cast<std::int64_t>(half / 2 + rng.below(half / 4))};
  link.jitter =
      Duration{static_cast<std::int64_t>(rng.below(half / 2))};  // reo is one base RTT at least (D8)
  link.fifo_per_ev = true;
  if (rng.chance(0.6)) link.mark = rng.unit() * 0.5;
  if (rng.chance(0.6)) link.duplicate = rng.unit() * 0.3;
  if (rng.chance(0.6)) link.control_duplicate = rng.unit() * 0.3;
  return link;
}

Link faulty_link(Rng& rng, Duration base_rtt) {
  Link link = benign_link(rng, base_rtt);
  link.fifo_per_ev = rng.chance(0.5);
  const auto sometimes = [&rng](double p, double most) { return rng.chance(p) ? rng.unit() * most : 0.0; };
  if (rng.chance(0.3)) link.jitter = Duration{static_cast<std::int64_t>(rng.below(base_rtt.ns * 6))};
  link.loss = sometimes(0.6, rng.chance(0.2) ? 0.6 : 0.1);
  link.corrupt = sometimes(0.4, 0.1);
  link.trim = sometimes(0.3, 0.4);
  link.trim_lasthop = sometimes(0.3, 0.3);
  link.straggle = sometimes(0.3, 0.1);
  link.control_loss = sometimes(0.5, rng.chance(0.2) ? 0.8 : 0.2);
  link.control_straggle = sometimes(0.4, 0.3);
  link.resource_nack = sometimes(0.2, 0.1);
  return link;
}

Duration random_time(Rng& rng, Duration limit) {
  return Duration{
      static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(std::max<std::int64_t>(limit.ns, 1))))};
}

void plan_faults(Rng& rng, Scenario& s) {
  for (int n = static_cast<int>(rng.below(4)); n > 0; --n) {
    Outage o;
    o.direction = static_cast<int>(rng.below(3)) - 1;
    o.plane = static_cast<std::uint8_t>(rng.below(s.planes));
    o.ev = rng.chance(0.5) ? static_cast<int>(rng.below(s.evs)) : -1;
    o.from = random_time(rng, s.fault_end);
    o.to = o.from + random_time(rng, s.fault_end - o.from);
    s.outages.push_back(o);
  }
  for (SidePlan& side : s.side) {
    if (rng.chance(0.15)) {
      const Duration from = random_time(rng, s.fault_end);
      side.stalls.push_back({from, from + s.policy.base_rtt + random_time(rng, s.policy.base_rtt * 30)});
    }
    if (s.planes > 1 && rng.chance(0.15)) {
      side.port_down = static_cast<int>(rng.below(s.planes));
      side.port_down_from = random_time(rng, s.fault_end);
      side.port_down_to = side.port_down_from + random_time(rng, s.fault_end - side.port_down_from);
    }
    if (s.planes > 1 && side.port_down < 0 && rng.chance(0.15)) {
      side.peer_down = static_cast<int>(rng.below(s.planes));
      side.peer_down_from = random_time(rng, s.fault_end);
      side.peer_down_to = side.peer_down_from + random_time(rng, s.fault_end - side.peer_down_from);
    }
  }
}

/// Faults may not last as long as the shorter of the two retry budgets, else a QP dies rightly (I10).
Duration longest_fault(const Scenario& s) {
  Duration longest = Duration{s.policy.base_rtt.ns * 400};
  for (const SidePlan& side : s.side) {
    if (side.attr.exp_cnt >= 25) continue;
    const std::int64_t counts = side.attr.linear_cnt + side.attr.exp_cnt - 3;
    longest = std::min(longest, ack_interval(side.attr, 0) * counts);
  }
  return longest;
}

/// Of each copy, for far longer than the budget. Nine in a row have probability 1 %, so that
/// thousands of packets would end a QP that counts trims as it counts timers; forty, which the budget has
/// time for, none does.
constexpr double kEndlessTrim = 0.6;

/// What a QP must survive though in sum it outlasts the retry budget by far: outages of everything, each
/// shorter than any budget, with progress between them; or trims without end, of less than every copy.
void plan_blinking(Scenario& s) {
  SidePlan& a = s.side[0];
  a.attr.timeout = 7;
  a.attr.linear_cnt = 6;
  a.attr.exp_cnt = 2;
  const Duration t = ack_interval(a.attr, 0);
  constexpr std::int64_t kPeriods = 20;
  s.fault_end = t * 8 * kPeriods;
  s.trims_endlessly = s.seed % 2 == 0;
  for (SidePlan& side : s.side)
    if (s.trims_endlessly) side.attr.trim_nack = side.attr.trim_nack_dest = true;
  for (auto& direction : s.link)
    for (Link& link : direction)
      if (s.trims_endlessly) link.trim = kEndlessTrim;
  for (std::int64_t n = 0; n < kPeriods && !s.trims_endlessly; ++n)
    for (std::uint8_t plane = 0; plane < s.planes; ++plane)
      s.outages.push_back({.plane = plane, .from = t * 8 * n + t * 2, .to = t * 8 * n + t * 2 + t * 5 / 2});
  a.messages.assign(8 * kPeriods, {.length_bytes = 3000});
  for (std::size_t i = 0; i < a.messages.size(); ++i)
    a.messages[i] = {.length_bytes = 3000, .immediate = i % 3 == 0, .gap = t};
  s.side[1].messages.clear();
}

void plan_kind(Rng& rng, Scenario& s) {
  const bool benign = s.kind == Kind::kBenign || s.kind == Kind::kBlinking;
  const bool faulty = s.kind == Kind::kFaulty || (!benign && rng.chance(0.5));
  for (auto& direction : s.link)
    for (Link& link : direction)
      link = faulty ? faulty_link(rng, s.policy.base_rtt) : benign_link(rng, s.policy.base_rtt);
  if (s.kind == Kind::kBenign)  // a host that is slow to place delays Transport ACKs, which D14 answers
    for (SidePlan& side : s.side) side.placing = Duration{side.placing.ns / 4};
  const bool endless = s.kind == Kind::kBenign;
  s.fault_end = endless ? seconds(1000) : random_time(rng, longest_fault(s));
  if (faulty && s.kind != Kind::kDeadChannel) plan_faults(rng, s);

  SidePlan& a = s.side[0];
  switch (s.kind) {
    case Kind::kBlinking:
      plan_blinking(s);
      break;
    case Kind::kRemoteAccess:
      s.badness = static_cast<Badness>(rng.below(3));
      s.bad_message = static_cast<int>(rng.below(a.messages.size()));
      // a message of 0 bytes touches no memory, so nothing can be refused
      if (a.messages[static_cast<std::size_t>(s.bad_message)].length_bytes == 0)
        a.messages[static_cast<std::size_t>(s.bad_message)].length_bytes = 1;
      break;
    case Kind::kNoReceive:
      s.side[1].receives_total = static_cast<std::uint32_t>(rng.below(4));
      for (MessagePlan& m : a.messages) m.immediate = true;
      while (a.messages.size() <= s.side[1].receives_total)
        a.messages.push_back({.length_bytes = 1, .immediate = true});
      break;
    case Kind::kDeadChannel:
      for (SidePlan& side : s.side) side.attr.exp_cnt = std::min<std::uint8_t>(side.attr.exp_cnt, 4);
      s.dead_direction = static_cast<int>(rng.below(3)) - 1;
      s.death = random_time(rng, s.policy.base_rtt * 20);
      s.fault_end = std::min(s.fault_end, s.death);
      break;
    case Kind::kAbort:
      // the peer of an aborted QP hears nothing more: it must be able to give up
      for (SidePlan& side : s.side) side.attr.exp_cnt = std::min<std::uint8_t>(side.attr.exp_cnt, 4);
      s.death = random_time(rng, s.policy.base_rtt * 20);
      break;
    default:
      break;
  }
}

Kind kind_of_seed(Rng& rng) {
  const std::uint64_t r = rng.below(100);
  if (r < 20) return Kind::kBenign;
  if (r < 30) return Kind::kBlinking;
  if (r < 80) return Kind::kFaulty;
  if (r < 85) return Kind::kDeadChannel;
  if (r < 90) return Kind::kRemoteAccess;
  return r < 95 ? Kind::kNoReceive : Kind::kAbort;
}

Scenario build(std::uint64_t seed, Rng rng, Kind kind) {
  Scenario s;
  s.seed = seed;
  s.kind = kind;
  // from far before a wrap of the 8.39 ms timestamp to just before it
  s.start = Time{1'000'000'000 + static_cast<std::int64_t>(rng.below(8'388'608)) * 16};
  s.planes = static_cast<std::uint8_t>(rng.between(1, 4));
  s.evs = static_cast<std::uint16_t>(s.planes * rng.between(1, rng.chance(0.2) ? 32 : 6));
  s.policy.base_rtt = microseconds(static_cast<std::int64_t>(rng.between(5, 40)));
  s.policy.sack_gen_threshold = pick(rng, std::array{16384U, 16384U, 1024U, 4096U, 32768U});
  s.policy.ev_flush = rng.chance(0.8);
  s.policy.inflight_resync = rng.chance(0.7);
  s.policy.use_timestamps = rng.chance(0.9);
  s.policy.ev.probe_interval = Duration{
      static_cast<std::int64_t>(s.policy.base_rtt.ns * static_cast<std::int64_t>(rng.between(2, 50)))};
  s.policy.ev.probe_backoff_max = {};
  if (rng.chance(0.3)) {
    s.policy.ev.probe_interval = {};  // D9's own intervals
    s.policy.ev.probe_backoff_max = milliseconds(1);
  }
  s.policy.ev.plane_rule = rng.chance(0.85);
  s.policy.ev.rtt_reroute = rng.chance(0.2);
  s.policy.ev.ev_min_active =
      static_cast<std::uint32_t>(rng.between(1, std::max<std::uint64_t>(1, s.evs / 2)));
  if (rng.chance(0.2))
    s.policy.ev.active_evs = static_cast<std::uint32_t>(rng.between(s.policy.ev.ev_min_active, s.evs));

  // counters that wrap (C23; MRC 8.3.1): often just below
  s.policy.first_msn = Msn{0xFFFFU - static_cast<std::uint32_t>(rng.below(rng.chance(0.5) ? 40 : 65536))};
  s.policy.first_rqmsn = Rqmsn{0xFFFFU - static_cast<std::uint32_t>(rng.below(rng.chance(0.5) ? 20 : 65536))};
  s.policy.first_rcvd_bytes =
      RcvdUnits{0xFFFFFFU - static_cast<std::uint32_t>(rng.below(rng.chance(0.5) ? 400 : 1 << 24))};

  const auto pmtu = pick(rng, std::array<std::uint16_t, 8>{256, 256, 256, 256, 512, 1024, 2048, 4096});
  for (SidePlan& side : s.side) {
    side.attr.path_mtu = pmtu;
    plan_side(rng, s, side);
  }
  exchange(rng, s.side[0], s.side[1], 0x100001);
  exchange(rng, s.side[1], s.side[0], 0x100000);
  for (int i = 0; i < 2; ++i) s.side[i].attr.sq_psn = random_psn(rng);
  s.side[0].attr.rq_psn = s.side[1].attr.sq_psn;
  s.side[1].attr.rq_psn = s.side[0].attr.sq_psn;
  for (int i = 0; i < 2; ++i)
    if (i == 0 || rng.chance(0.6)) plan_messages(rng, s, s.side[i]);
  s.wire_bytes = rng.chance(0.1);
  if (s.policy.inflight_resync && rng.chance(0.1)) s.uncounted_bytes = rng.chance(0.5) ? 8 : 60;
  s.shrinking = rng.chance(0.1);
  for (SidePlan& side : s.side) side.attr.dynamic_mpr = s.shrinking;
  plan_kind(rng, s);
  s.policy.reverse_probes = rng.chance(0.5);
  return s;
}

}  // namespace

const char* name_of(Kind kind) {
  static constexpr const char* kNames[] = {"benign",     "faulty", "dead-channel", "remote-access",
                                           "no-receive", "abort",  "blinking"};
  return kNames[static_cast<int>(kind)];
}

Duration ack_interval(const transport::QpAttr& attr, std::uint32_t k) {
  const std::uint32_t exponent = attr.timeout + (k > attr.linear_cnt ? k - attr.linear_cnt : 0);
  return Duration{std::int64_t{1024} << std::min(exponent, 24U)};
}

Duration retry_budget(const transport::QpAttr& attr) {
  Duration sum;
  for (std::uint32_t k = 0; k <= static_cast<std::uint32_t>(attr.linear_cnt + attr.exp_cnt); ++k)
    sum += ack_interval(attr, k);
  return sum;
}

Scenario make_scenario(std::uint64_t seed) {
  Rng rng(seed);
  const Kind kind = kind_of_seed(rng);
  return build(seed, rng, kind);
}

Scenario make_scenario(std::uint64_t seed, Kind kind) {
  return build(seed, Rng(seed), kind);
}

std::string describe(const Scenario& s) {
  std::ostringstream out;
  out << "seed " << s.seed << ": " << name_of(s.kind) << ", " << int{s.planes} << " planes, " << s.evs
      << " EVs, base RTT " << s.policy.base_rtt.ns << " ns, PMTU " << s.side[0].attr.path_mtu
      << ", faults end at " << s.fault_end.ns << " ns, start " << s.start.ns
      << (s.wire_bytes ? ", as bytes" : "") << '\n';
  for (int i = 0; i < 2; ++i) {
    const SidePlan& p = s.side[i];
    out << "  " << (i == 0 ? 'A' : 'B') << ": " << p.messages.size() << " messages, first PSN "
        << p.attr.sq_psn.value() << ", MPR " << int{p.attr.mpr} << ", send queue " << p.limits.max_send_wr
        << ", WriteIMM " << p.attr.max_wimm << ", cwnd " << p.cwnd_bytes << ", timeout "
        << int{p.attr.timeout} << '/' << int{p.attr.linear_cnt} << '/' << int{p.attr.exp_cnt} << ", placing "
        << p.placing.ns << " ns\n";
  }
  return out.str();
}

}  // namespace mrc::property
