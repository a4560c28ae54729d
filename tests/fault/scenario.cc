// SPDX-License-Identifier: BSD-3-Clause
#include "scenario.h"

#include <algorithm>

namespace mrc::fault {
namespace {

using fabric::Action;
using fabric::Change;
using fabric::ScheduledChange;
using fabric::Scope;

constexpr std::uint64_t kEnoughPackets = 220;
constexpr std::int64_t kTrafficNs = 300'000;

Time at_ns(std::uint64_t ns) {
  return Time{static_cast<std::int64_t>(ns) + 1};
}

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : rng_(mix64(seed)) { s_.seed = seed; }

  Scenario scenario() {
    s_.kind = static_cast<Kind>(rng_.below(static_cast<std::uint64_t>(Kind::kCount)));
    network();
    ends();
    traffic();
    faults();
    return std::move(s_);
  }

 private:
  void network() {
    fabric::ClosSpec& c = s_.clos;
    const bool several = s_.kind == Kind::kHostPort || s_.kind == Kind::kWindow;
    c.planes = static_cast<std::uint32_t>(rng_.between(several ? 2 : 1, 4));
    c.hosts = 4;
    c.hosts_per_t0 = 2;
    c.t1 = static_cast<std::uint32_t>(rng_.between(2, 4));
    delay_ = nanoseconds(static_cast<std::int64_t>(rng_.between(300, 1500)));
    trimming_ = rng_.chance(0.7);
    const auto queue =
        static_cast<std::uint32_t>(s_.kind == Kind::kCongested ? rng_.between(20, 60) * 1000 : 400'000);
    for (fabric::PortConfig* p : {&c.host_port, &c.t0_down, &c.t0_up, &c.t1_down}) {
      p->rate_bps = rng_.chance(0.2) ? 50'000'000'000 : 100'000'000'000;
      // Narrow in the middle, so that it is not the last hop alone that fills.
      if (s_.kind == Kind::kCongested && p == &c.t0_up) p->rate_bps = 25'000'000'000;
      p->delay = delay_;
      p->control_queue_bytes = 1'000'000;
      if (p == &c.host_port) continue;
      p->data_queue_bytes = queue;
      p->trim.enabled = trimming_;
      p->ecn = {true, queue / 5, queue / 2, 1.0, false};
    }
    s_.fabric.seed = s_.seed;
  }

  void ends() {
    const bool shared = rng_.chance(0.3);
    for (std::uint64_t n = rng_.between(2, 4); n > 0; --n) {
      const auto a = static_cast<fabric::HostId>(shared ? 0 : rng_.below(4));
      const auto b = static_cast<fabric::HostId>((a + 1 + rng_.below(3)) % 4);
      s_.pairs.emplace_back(a, b);
    }
    s_.evs = std::uint32_t{8} << rng_.below(3);
    if (rng_.chance(0.4)) s_.window_bytes = static_cast<std::int64_t>(rng_.between(16, 400) * 1024);
    transport::QpPolicy& p = s_.policy;
    p.base_rtt = delay_ * 8 + microseconds(2);
    p.ev.base_rtt = p.base_rtt;
    p.ev.trimming = trimming_;
    p.ev.probe_interval = p.base_rtt * 10;
    p.ev.ev_min_active = static_cast<std::uint32_t>(rng_.between(1, s_.evs / 2));
    p.sack_gen_threshold = rng_.chance(0.5) ? 16384 : 4096;
    // Near their ends, so that each counter wraps in a good part of the runs.
    p.first_msn = Msn{static_cast<std::uint32_t>(rng_.chance(0.3) ? 0xFFFE : 0)};
    p.first_rqmsn = Rqmsn{static_cast<std::uint32_t>(rng_.chance(0.3) ? 0xFFFE : 0)};
    p.first_rcvd_bytes = RcvdUnits{static_cast<std::uint32_t>(rng_.chance(0.3) ? 0xFFFFC0 : 0)};
    transport::QpAttr both;
    both.path_mtu = rng_.chance(0.5) ? 4096 : 1024;
    both.timeout = static_cast<std::uint8_t>(rng_.between(7, 9));
    both.linear_cnt = 3;
    both.exp_cnt = 25;  // never gives up
    both.max_wimm = both.max_wimm_dest = 32;
    both.mpr = both.mpr_dest = static_cast<std::uint8_t>(rng_.between(1, 8));
    if (s_.kind == Kind::kDead) {
      both.timeout = 6;
      both.linear_cnt = both.exp_cnt = 1;
    }
    if (s_.kind == Kind::kStall)
      both.max_wimm = both.max_wimm_dest = static_cast<std::uint16_t>(rng_.between(1, 2));
    if (s_.kind == Kind::kWindow) {
      both.path_mtu = 1024;
      both.mpr = 8;
      both.mpr_dest = 1;
      s_.window_bytes = 4 << 20;  // or the congestion window hides it
    }
    s_.attr[0] = s_.attr[1] = both;
    const Psn first[2] = {first_psn(), first_psn()};
    for (const unsigned i : {0U, 1U}) {
      s_.attr[i].sq_psn = first[i];
      s_.attr[i].rq_psn = first[1 - i];
    }
  }
  Psn first_psn() {
    return Psn{
        static_cast<std::uint32_t>(rng_.chance(0.4) ? 0xFFFFFF - rng_.below(40) : rng_.below(1 << 24))};
  }

  void traffic() {
    const std::uint32_t mtu = s_.attr[0].path_mtu;
    while (s_.packets < kEnoughPackets || s_.messages.size() < 4 * s_.pairs.size()) {
      Message m;
      m.qp = static_cast<std::uint32_t>(rng_.below(2 * s_.pairs.size()));
      std::uint64_t most = rng_.chance(0.2) ? 64 : rng_.chance(0.5) ? 8 : 1;
      if (s_.kind == Kind::kCongested) most = 64;
      if (s_.kind == Kind::kWindow) most = 600;
      m.bytes = static_cast<std::uint32_t>(rng_.below(most * mtu + 1));
      m.at = at_ns(rng_.below(s_.kind == Kind::kCongested ? kTrafficNs / 10 : kTrafficNs));
      m.with_immediate = s_.kind == Kind::kStall || rng_.chance(0.4);
      s_.messages.push_back(m);
      s_.packets += std::max<std::uint64_t>(1, (m.bytes + mtu - 1) / mtu);
    }
    // In order of time: the order of sending on a QP is that of the application.
    std::stable_sort(s_.messages.begin(), s_.messages.end(),
                     [](const Message& a, const Message& b) { return a.at < b.at; });
  }

  void add(Action action, fabric::Target target, std::uint64_t ns, fabric::LinkFaults faults = {}) {
    Change change;
    change.action = action;
    change.target = target;
    change.faults = faults;
    s_.fabric.schedule.push_back({at_ns(ns), change});
  }
  fabric::Target any_cable() {
    const auto topology = fabric::make_clos(s_.clos);
    for (;;) {
      const auto id = static_cast<fabric::LinkId>(rng_.below(topology->links.size()));
      if (!topology->links[id].from.is_host && !topology->links[id].to.is_host) return {Scope::kCable, id};
    }
  }
  fabric::Target any_spine() {
    const auto topology = fabric::make_clos(s_.clos);
    for (;;) {
      const auto id = static_cast<fabric::SwitchId>(rng_.below(topology->switches.size()));
      if (topology->switches[id].tier == 1) return {Scope::kSwitch, id};
    }
  }
  void loss_everywhere(double loss) { add(Action::kFaults, {Scope::kFabric, 0}, 0, {.loss = loss}); }

  void faults() {
    const std::uint64_t start = rng_.below(kTrafficNs / 2);
    const std::uint64_t length = rng_.between(20'000, 400'000);
    switch (s_.kind) {
      case Kind::kLoss:
        add(Action::kFaults, any_cable(), 0, {.loss = 0.02 + 0.2 * rng_.unit()});
        break;
      case Kind::kFlap:
        fabric::add_flaps(s_.fabric.schedule, any_cable(), at_ns(start), microseconds(40), microseconds(100),
                          3);
        break;
      case Kind::kBlackHole: {
        const fabric::Target spine = any_spine();
        add(Action::kBlackHole, spine, start);
        add(Action::kHeal, spine, start + length);
        break;
      }
      case Kind::kHostPort: {
        const fabric::Target port{
            Scope::kHostPort,
            static_cast<std::uint32_t>(s_.pairs[0].second * s_.clos.planes + rng_.below(s_.clos.planes))};
        add(Action::kDown, port, start);
        add(Action::kUp, port, start + length);
        loss_everywhere(0.005);
        break;
      }
      case Kind::kEvLoss:
        for (std::uint32_t i = 0; i < s_.evs / 4; ++i) {
          Change change;
          change.action = Action::kEvLoss;
          change.ev = {static_cast<std::uint8_t>(i % s_.clos.planes), static_cast<std::uint16_t>(0xC000 + i),
                       0, 0.7};
          s_.fabric.schedule.push_back({at_ns(0), change});
        }
        break;
      case Kind::kMangle:
        add(Action::kFaults, {Scope::kFabric, 0}, 0,
            {.loss = 0.002,
             .corrupt = 0.02,
             .duplicate = 0.05,
             .reorder = 0.05,
             .reorder_delay = microseconds(3)});
        break;
      case Kind::kDead:
        for (std::uint32_t p = 0; p < s_.clos.planes; ++p)
          add(Action::kFaults, {Scope::kHostPort, s_.pairs[0].second * s_.clos.planes + p}, start,
              {.loss = 1});
        break;
      case Kind::kCongested:
      case Kind::kWindow:
      case Kind::kStall:
      case Kind::kCount:
        loss_everywhere(0.01 + 0.03 * rng_.unit());
        break;
    }
  }

  Rng rng_;
  Scenario s_;
  Duration delay_;
  bool trimming_ = true;
};

}  // namespace

const char* name(Kind kind) {
  static constexpr const char* kNames[] = {"loss",   "flap",      "black hole", "host port", "EV loss",
                                           "mangle", "congested", "dead",       "window",    "stall"};
  return kNames[static_cast<std::size_t>(kind)];
}

Scenario make_scenario(std::uint64_t seed) {
  return Draw(seed).scenario();
}

}  // namespace mrc::fault
