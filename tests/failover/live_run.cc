// SPDX-License-Identifier: BSD-3-Clause
#include "live_run.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "base/rng.h"
#include "demo_world.h"
#include "nic/clock.h"

namespace mrc::failover {
namespace {

using endpoint::DemoWorld;
using endpoint::DemoWorldConfig;
using fabric::Kind;
using virt::Observation;

constexpr std::uint32_t kPlanes = 4;
constexpr std::uint32_t kPaths = 8;
constexpr std::uint32_t kMessageBytes = 1 << 20;
constexpr std::uint32_t kSlots = 8;
constexpr double kBdpBytes = 500e3;  ///< that of the deaths in virtual time: 400 Gb/s, 10 us

/// Exponent of the ACK timer: sixteen base RTTs and more, so that it does not pass for a fast repair.
std::uint8_t timeout_of(Duration base_rtt) {
  std::uint8_t exponent = 1;
  while (exponent < 24 && (std::int64_t{1024} << exponent) < base_rtt.ns * 16) ++exponent;
  return exponent;
}

DemoWorldConfig world_config(const LiveConditions& c) {
  DemoWorldConfig w;
  w.seed = c.seed;
  w.planes = kPlanes;
  w.paths = kPaths;
  w.delay = c.base_rtt / 2;
  w.timeout = timeout_of(c.base_rtt);
  w.line_gbps =
      kBdpBytes * 8 / static_cast<double>(c.base_rtt.ns);  // the paths have room for more: no queueing
  w.ev_order_only = c.ev_order_only;
  w.memory_bytes = kMessageBytes * kSlots;
  return w;
}

class LiveRun {
 public:
  LiveRun(const LiveConditions& conditions, DemoWorld& world)
      : c_(conditions), world_(world), rng_(conditions.seed), base_rtt_(conditions.base_rtt) {
    for (std::size_t i = 0; i < watched_.size();
         ++i) {  // two paths a plane; the fabric watches eight at most
      const auto plane = static_cast<std::uint32_t>(i % kPlanes);
      watched_[i] = {plane, static_cast<std::uint32_t>(i / kPlanes + 2 * (plane % 3))};
      world_.net().watch_path(watched_[i].plane, watched_[i].path);
    }
    for (std::uint32_t i = 0; i < kMessageBytes * kSlots; ++i)
      world_.source()[i] = static_cast<unsigned char>(rng_.next());
  }

  LiveOutcome run() {
    const Time end = world_.now() + c_.time_limit;
    run_for(base_rtt_ * 20);
    while (out_.rtts.size() < c_.deaths && world_.now() < end && out_.error.empty())
      one_death(watched_[rng_.below(watched_.size())]);
    finish();
    return std::move(out_);
  }

 private:
  struct Path {
    std::uint32_t plane = 0, path = 0;
  };

  void fail(const char* why) {
    if (out_.error.empty()) out_.error = why;
  }

  /// One round of everything.
  void step() {
    transport::Completion wc[16];
    const std::size_t n = world_.worker(0).poll_cq(world_.qpn(0), wc);
    for (std::size_t i = 0; i < n; ++i)
      if (wc[i].status != transport::WcStatus::kSuccess) fail("a message did not succeed");
    out_.messages += n;
    outstanding_ -= static_cast<std::uint32_t>(n);
    while (outstanding_ < kSlots && !ending_ && post()) ++outstanding_;
    world_.poll();
    const Time now = world_.now();
    longest_absence_ = std::max(longest_absence_, now - last_step_);
    last_step_ = now;
  }
  bool post() {
    const std::size_t offset = std::size_t{posted_ % kSlots} * kMessageBytes;
    transport::WorkRequest wr;
    wr.wr_id = posted_;
    wr.length_bytes = kMessageBytes;
    wr.rkey = world_.target_keys().rkey;
    wr.local = reinterpret_cast<std::uintptr_t>(world_.source() + offset);
    wr.remote_va = reinterpret_cast<std::uintptr_t>(world_.target() + offset);
    if (world_.worker(0).post_send(world_.qpn(0), world_.source_keys().lkey, wr) != nic::PostStatus::kOk)
      return false;
    ++posted_;
    return true;
  }
  void run_for(Duration d) {
    for (const Time end = world_.now() + d; world_.now() < end && out_.error.empty();) step();
  }

  [[nodiscard]] bool all_usable(const Path& p) {
    const path::EvSet& set = world_.worker(0).qp(world_.qpn(0))->ev_set();
    const auto evs = world_.evs_on(p.plane, p.path);
    return std::all_of(evs.begin(), evs.end(), [&](path::EvIndex ev) {
      return set.state(ev) == path::EvState::kGood || set.state(ev) == path::EvState::kSkip;
    });
  }
  [[nodiscard]] std::uint64_t by_timer() {
    const transport::QpCounters& c = world_.worker(0).qp(world_.qpn(0))->counters();
    return c.rtx_by_cause[static_cast<std::size_t>(transport::RtxCause::kAckTimeout)];
  }

  /// Takes the path down, sees it through, and brings it back.
  void one_death(const Path& p) {
    forget_observations();
    const std::uint64_t timers = by_timer();
    const Time asked = world_.now();
    longest_absence_ = {};
    down_ = repaired_ = Time{};
    lost_ = 0;
    world_.net().set_path_up(p.plane, p.path, false);
    // Over when nothing more is lost for some RTTs; until something is, the stream may be at a stand.
    Duration absence{};
    for (Time quiet_since = asked; world_.now() - quiet_since < base_rtt_ * (lost_ == 0 ? 30 : 2);) {
      step();
      observe();
      const bool open = lost_ != 0 && repaired_.ns == 0;
      if (open) quiet_since = world_.now();
      if (open || lost_ == 0) absence = longest_absence_;
      if (world_.now() - asked > base_rtt_ * 1000) fail("a loss was not repaired in a thousand round trips");
      if (!out_.error.empty()) return;
    }
    world_.net().set_path_up(p.plane, p.path, true);
    for (const Time since = world_.now(); !all_usable(p);) {
      step();
      if (world_.now() - since > base_rtt_ * 1000) fail("a path that came up was not used again");
      if (!out_.error.empty()) return;
    }
    run_for(base_rtt_ * 5);
    if (lost_ == 0) {
      ++out_.missed;
    } else if (absence > base_rtt_ / 2) {
      ++out_.absent;
    } else {
      out_.rtts.push_back(static_cast<double>((repaired_ - down_).ns) / static_cast<double>(base_rtt_.ns));
      out_.lost_pkts += lost_;
      out_.by_timer += by_timer() - timers;
    }
  }

  void forget_observations() {
    std::array<Observation, 64> batch;
    while (world_.net().take_observations(batch) != 0) {
    }
  }
  /// What died, and whether the responder has it all by now.
  void observe() {
    std::array<Observation, 64> batch;
    for (std::size_t n = batch.size(); n == batch.size();) {
      n = world_.net().take_observations(batch);
      for (std::size_t i = 0; i < n; ++i) note(batch[i]);
    }
    const transport::Qp& receiver = *world_.worker(1).qp(world_.qpn(1));
    if (lost_ != 0 && repaired_.ns == 0 && receiver.cack_psn().at_or_after(last_lost_))
      repaired_ = last_step_;
  }
  void note(const Observation& o) {
    if (o.what == Observation::What::kDown) down_ = o.at;
    const bool data = o.kind == Kind::kData || o.kind == Kind::kRetransmission;
    if (o.what != Observation::What::kDropped || !data || o.reason != fabric::DropReason::kLinkDown) return;
    const Psn psn{o.psn};
    if (lost_ == 0 || psn.after(last_lost_)) last_lost_ = psn;
    ++lost_;
    repaired_ = Time{};  // one more to wait for
  }

  /// Nothing more is posted; what is under way ends.
  void finish() {
    ending_ = true;
    for (const Time since = world_.now(); outstanding_ != 0 && world_.now() - since < base_rtt_ * 1000;)
      step();
    if (outstanding_ != 0) fail("messages are left");
    out_.intact = std::memcmp(world_.source(), world_.target(), std::size_t{kMessageBytes} * kSlots) == 0;
  }

  const LiveConditions& c_;
  DemoWorld& world_;
  Rng rng_;
  Duration base_rtt_;
  std::array<Path, 8> watched_{};
  LiveOutcome out_;
  std::uint64_t posted_ = 0;
  std::uint32_t outstanding_ = 0;
  bool ending_ = false;
  Time last_step_ = world_.now();
  Duration longest_absence_{};
  Time down_, repaired_;
  std::uint64_t lost_ = 0;
  Psn last_lost_;
};

}  // namespace

Duration calm_base_rtt() {
  const nic::TscClock clock;
  std::vector<Duration> gaps;
  Time last = clock.now();
  for (const Time end = last + milliseconds(600); last < end;) {
    const Time now = clock.now();
    if (now - last > microseconds(100)) gaps.push_back(now - last);
    last = now;
  }
  std::sort(gaps.begin(), gaps.end());
  const Duration usual = gaps.empty() ? Duration{} : gaps[gaps.size() * 9 / 10];
  return std::clamp(usual * 4, milliseconds(4), milliseconds(48));
}

LiveOutcome run_live(const LiveConditions& conditions) {
  auto world = DemoWorld::create(world_config(conditions));
  if (!world) {
    LiveOutcome failed;
    failed.error = world.error().message;
    return failed;
  }
  return LiveRun(conditions, **world).run();
}

}  // namespace mrc::failover
