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
constexpr std::uint64_t kTrafficNs = 300'000;
constexpr std::uint64_t kTickWrapNs = 65536 * 128;  // of the timestamps in packets

/// Faults and traffic of kBlink: all is lost for 2.5 ACK intervals of every 8.
constexpr std::uint64_t kBlinkIntervalNs = 1024 << 7;
constexpr std::uint64_t kBlinks = 12;

struct KindFacts {
  const char* name;
  transport::WcStatus error = transport::WcStatus::kSuccess;
};
constexpr KindFacts kKinds[] = {
    {"loss"},
    {"flap"},
    {"black hole"},
    {"silent plane"},
    {"host port"},
    {"EV loss"},
    {"mangle"},
    {"benign"},
    {"congested"},
    {"blink"},
    {"dead", transport::WcStatus::kRetryExcErr},
    {"window"},
    {"stall"},
    {"short host"},
    {"denied memory", transport::WcStatus::kRemAccessErr},
    {"not placed", transport::WcStatus::kRemOpErr},
    {"no receive", transport::WcStatus::kRemOpErr},
    {"broken contract", transport::WcStatus::kRemInvReqErr},
    {"failing host", transport::WcStatus::kRemOpErr},
};
static_assert(std::size(kKinds) == static_cast<std::size_t>(Kind::kCount));

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : rng_(mix64(seed)) { s_.seed = seed; }

  Scenario scenario() {
    s_.kind = static_cast<Kind>(rng_.below(static_cast<std::uint64_t>(Kind::kCount)));
    network();
    ends();
    if (s_.kind != Kind::kBlink && rng_.chance(0.15)) start_ns_ = kTickWrapNs - rng_.below(kTrafficNs);
    traffic();
    host_troubles();
    actors();
    faults();
    return std::move(s_);
  }

 private:
  void network() {
    fabric::ClosSpec& c = s_.clos;
    const bool several = s_.kind == Kind::kHostPort || s_.kind == Kind::kWindow || s_.kind == Kind::kPlane;
    c.planes = static_cast<std::uint32_t>(rng_.between(several ? 2 : 1, 4));
    c.hosts = 4;
    c.hosts_per_t0 = 2;
    c.t1 = static_cast<std::uint32_t>(rng_.between(2, 4));
    delay_ = nanoseconds(static_cast<std::int64_t>(rng_.between(300, 1500)));
    trimming_ = rng_.chance(0.7);
    const auto queue =
        static_cast<std::uint32_t>(s_.kind == Kind::kCongested ? rng_.between(20, 60) * 1000 : 400'000);
    for (fabric::PortConfig* p : {&c.host_port, &c.t0_down, &c.t0_up, &c.t1_down}) {
      p->rate_bps = rng_.chance(0.2) && !benign() ? 50'000'000'000 : 100'000'000'000;
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
  [[nodiscard]] bool benign() const { return s_.kind == Kind::kBenign; }
  [[nodiscard]] bool may_fail() const { return allowed_error(s_.kind) != transport::WcStatus::kSuccess; }

  void ends() {
    const bool shared = rng_.chance(0.3);
    for (std::uint64_t n = rng_.between(2, 4); n > 0; --n) {
      const auto a = static_cast<fabric::HostId>(shared ? 0 : rng_.below(4));
      const auto b = static_cast<fabric::HostId>((a + 1 + rng_.below(3)) % 4);
      s_.pairs.emplace_back(a, b);
    }
    s_.evs = std::uint32_t{8} << rng_.below(3);
    if (rng_.chance(0.4)) s_.window_bytes = static_cast<std::int64_t>(rng_.between(16, 400) * 1024);
    if (benign()) s_.window_bytes = 8 * 1024;  // no queues to speak of
    s_.shared_controller = rng_.chance(0.3);
    transport::QpPolicy& p = s_.policy;
    p.base_rtt = delay_ * 8 + microseconds(2);
    p.ev.base_rtt = p.base_rtt;
    p.ev.trimming = trimming_;
    p.ev.probe_interval = p.base_rtt * 10;
    p.ev.ev_min_active = static_cast<std::uint32_t>(rng_.between(1, s_.evs / 2));
    p.ev.report_skips = true;
    p.sack_gen_threshold = rng_.chance(0.5) ? 16384 : 4096;
    if (rng_.chance(0.1) && !benign()) p.time_order = p.ev_order = false;  // the ACK timer is left
    if (rng_.chance(0.2)) p.ev.active_evs = static_cast<std::uint32_t>(rng_.between(s_.evs / 2, s_.evs));
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
    own_attributes(both);
    s_.attr[0] = s_.attr[1] = both;
    const Psn first[2] = {first_psn(), first_psn()};
    for (const unsigned i : {0U, 1U}) {
      s_.attr[i].sq_psn = first[i];
      s_.attr[i].rq_psn = first[1 - i];
    }
    if (s_.kind == Kind::kContract) s_.attr[1].max_wimm_dest = 1;
  }
  void own_attributes(transport::QpAttr& both) {
    if (may_fail()) both.timeout = 7, both.exp_cnt = 3;
    if (s_.kind == Kind::kNoReceive) s_.limits.max_recv_wr = 1;
    if (s_.kind == Kind::kDead) {
      both.timeout = 6;
      both.linear_cnt = both.exp_cnt = 1;
    }
    if (s_.kind == Kind::kBlink) {
      both.timeout = 7;
      both.linear_cnt = 6;
      both.exp_cnt = 2;
    }
    if (s_.kind == Kind::kStall)
      both.max_wimm = both.max_wimm_dest = static_cast<std::uint16_t>(rng_.between(1, 2));
    if (s_.kind == Kind::kWindow) {
      both.path_mtu = 1024;
      both.mpr = 8;
      both.mpr_dest = 1;
      s_.window_bytes = 4 << 20;  // or the congestion window hides it
    }
    if (s_.kind == Kind::kShort || benign()) both.path_mtu = 1024;
    if (s_.kind == Kind::kShort) {
      both.mpr = both.mpr_dest = s_.limits.max_mpr_dest = 1;  // a bitmap of 192: placement can lag behind it
      s_.window_bytes = 400 << 10;
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
      if (s_.kind == Kind::kContract) m.qp &= ~1U;  // those with the wider limit
      std::uint64_t most = rng_.chance(0.2) ? 64 : rng_.chance(0.5) ? 8 : 1;
      if (s_.kind == Kind::kCongested) most = 64;
      if (s_.kind == Kind::kWindow || s_.kind == Kind::kShort) most = 600;
      if (s_.kind == Kind::kBlink) most = 4;
      m.bytes = static_cast<std::uint32_t>(rng_.below(most * mtu + 1));
      m.at = at_ns(rng_.below(s_.kind == Kind::kCongested ? kTrafficNs / 10
                              : s_.kind == Kind::kBlink   ? kBlinks * 8 * kBlinkIntervalNs
                                                          : kTrafficNs));
      m.with_immediate = s_.kind == Kind::kStall || s_.kind == Kind::kNoReceive ||
                         s_.kind == Kind::kContract || rng_.chance(0.4);
      s_.messages.push_back(m);
      s_.packets += std::max<std::uint64_t>(1, (m.bytes + mtu - 1) / mtu);
    }
    // In order of time: the order of sending on a QP is that of the application.
    std::stable_sort(s_.messages.begin(), s_.messages.end(),
                     [](const Message& a, const Message& b) { return a.at < b.at; });
  }

  void host_troubles() {
    HostLimits& h = s_.hosts;
    const auto any_message = [&] { return static_cast<std::uint32_t>(rng_.below(s_.messages.size())); };
    if (s_.kind == Kind::kShort) {
      const std::uint64_t what = rng_.below(3);
      h.memory_bps = 40'000'000'000 * s_.clos.planes;
      if (what == 0) h.buffer_bytes = static_cast<std::uint32_t>(rng_.between(8, 32) * 1024);
      if (what == 1) h.contexts = static_cast<std::uint32_t>(rng_.between(1, 3));
      if (what == 2) {
        h.memory_bps = 400'000'000'000;
        h.stall = microseconds(static_cast<std::int64_t>(rng_.between(100, 250)));
        h.stall_every = h.stall * 2;
      }
    } else if (!benign() && rng_.chance(0.3)) {  // a bus that keeps pace, and yet takes its time
      h.memory_bps = 200'000'000'000 * s_.clos.planes;
      h.stall = microseconds(5);
      h.stall_every = microseconds(40);
    }
    if (s_.kind == Kind::kDenied) h.denied_message = any_message();
    if (s_.kind == Kind::kUnplaced) h.unplaced_message = any_message();
    if (s_.kind == Kind::kFailing) {
      h.failing_qp = s_.messages[any_message()].qp ^ 1U;
      h.fails_after = static_cast<std::uint32_t>(rng_.below(20));
    }
    // A message of 0 bytes touches no memory, so nothing is refused (2.1).
    for (const std::uint32_t m : {h.denied_message, h.unplaced_message})
      if (m != kNobody) s_.messages[m].bytes = std::max(1U, s_.messages[m].bytes);
  }

  void actors() {
    if (benign()) return;
    if (rng_.chance(0.15)) s_.deny = 0.05;
    if (rng_.chance(0.1)) s_.always_skip = 0.05;
    if (s_.kind != Kind::kWindow && s_.kind != Kind::kShort && rng_.chance(0.15)) {
      s_.shrink = 0.1;
      s_.attr[0].dynamic_mpr = s_.attr[1].dynamic_mpr = true;
    }
  }

  /// `ns` after the beginning of the traffic.
  [[nodiscard]] Time at_ns(std::uint64_t ns) const {
    return Time{static_cast<std::int64_t>(start_ns_ + ns) + 1};
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
  void lose_all(fabric::HostId host, std::uint64_t from_ns, double loss) {
    for (std::uint32_t p = 0; p < s_.clos.planes; ++p)
      add(Action::kFaults, {Scope::kHostPort, host * s_.clos.planes + p}, from_ns, {.loss = loss});
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
      case Kind::kPlane: {
        const auto plane = static_cast<std::uint32_t>(rng_.below(s_.clos.planes));
        const auto topology = fabric::make_clos(s_.clos);
        for (fabric::SwitchId id = 0; id < topology->switches.size(); ++id) {
          if (topology->switches[id].tier != 1 || topology->switches[id].plane != plane) continue;
          add(Action::kBlackHole, {Scope::kSwitch, id}, start);
          add(Action::kHeal, {Scope::kSwitch, id}, start + length);
        }
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
      case Kind::kBenign:
        add(Action::kFaults, {Scope::kFabric, 0}, 0, {.duplicate = 0.05});
        for (std::uint32_t p = 0; p < s_.clos.planes; ++p) {  // longer by up to a quarter of a base RTT a hop
          Change change;
          change.action = Action::kDelay;
          change.target = {Scope::kPlane, p};
          change.duration = delay_ + nanoseconds(static_cast<std::int64_t>(rng_.below(delay_.ns * 2)));
          s_.fabric.schedule.push_back({at_ns(0), change});
        }
        break;
      case Kind::kBlink:
        for (std::uint64_t n = 0; n < kBlinks; ++n) {
          lose_all(s_.pairs[0].second, (n * 8 + 2) * kBlinkIntervalNs, 1);
          lose_all(s_.pairs[0].second, (n * 8 + 2) * kBlinkIntervalNs + kBlinkIntervalNs * 5 / 2, 0);
        }
        break;
      case Kind::kDead:
        lose_all(s_.pairs[0].second, start, 1);
        break;
      case Kind::kCongested:
      case Kind::kWindow:
      case Kind::kStall:
      case Kind::kShort:
      case Kind::kDenied:
      case Kind::kUnplaced:
      case Kind::kNoReceive:
      case Kind::kContract:
      case Kind::kFailing:
      case Kind::kCount:
        loss_everywhere(0.01 + 0.03 * rng_.unit());
        break;
    }
  }

  Rng rng_;
  Scenario s_;
  Duration delay_;
  bool trimming_ = true;
  std::uint64_t start_ns_ = 0;  ///< of the traffic
};

}  // namespace

const char* name(Kind kind) {
  return kKinds[static_cast<std::size_t>(kind)].name;
}

transport::WcStatus allowed_error(Kind kind) {
  return kKinds[static_cast<std::size_t>(kind)].error;
}

Scenario make_scenario(std::uint64_t seed) {
  return Draw(seed).scenario();
}

}  // namespace mrc::fault
