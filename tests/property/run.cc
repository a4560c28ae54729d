// SPDX-License-Identifier: BSD-3-Clause
#include "run.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "host.h"
#include "violation.h"

namespace mrc::property {
namespace {

using transport::QpState;
using transport::WcStatus;

WcStatus status_of(Badness badness) {
  switch (badness) {
    case Badness::kDenied:
      return WcStatus::kRemAccessErr;
    case Badness::kMalformed:
      return WcStatus::kRemInvReqErr;
    case Badness::kNotPlaced:
      return WcStatus::kRemOpErr;
  }
  return WcStatus::kSuccess;
}

constexpr std::uint64_t kMaxSteps = 3'000'000;

std::shared_ptr<const path::EvTable> make_table(const Scenario& s, int side, std::uint16_t names) {
  std::vector<path::EvValue> values(s.evs);
  std::vector<std::uint8_t> ports(s.evs);
  for (std::uint16_t i = 0; i < s.evs; ++i) {
    const auto sport = static_cast<std::uint16_t>((0xC000 + side * 0x1000 + i * 3) ^ (names & 0xFFF));
    values[i][0] = static_cast<std::uint8_t>(sport >> 8);
    values[i][1] = static_cast<std::uint8_t>(sport);
    ports[i] = static_cast<std::uint8_t>(i % s.planes);
  }
  auto table = path::EvTable::create(path::EvFormat::kUdp, {}, false, values, ports);
  if (!table) violate("path", table.error().message);
  return std::make_shared<const path::EvTable>(std::move(*table));
}

class World {
 public:
  World(const Scenario& s, const RunOptions& options)
      : s_(s),
        trace_(options.trace),
        channel_(s),
        tables_{make_table(s, 0, options.ev_names), make_table(s, 1, options.ev_names)},
        streams_{{s, 0, *tables_[0]}, {s, 1, *tables_[1]}},
        hosts_{{s, 0, tables_[0], streams_[0], streams_[1], channel_, trace_},
               {s, 1, tables_[1], streams_[1], streams_[0], channel_, trace_}} {}

  void run() {
    now_ = s_.start;
    limit_ = s_.start + time_limit();
    for (Host& h : hosts_) h.start(now_);
    while (!finished()) step();
    const Time settled = now_ + settle_limit();
    while (!at_rest()) {
      if (now_ > settled) violate("I3", "after the work was done something did not come to rest");
      step();
    }
    check_end();
  }

  void fill(RunResult& r) const {
    r.trace_hash = trace_.hash();
    r.trace_events = trace_.events();
    r.packets = channel_.counters().sent;
    for (const Stream& stream : streams_) r.retransmissions += stream.retransmissions();
    r.virtual_time = now_ - s_.start;
  }

 private:
  [[nodiscard]] bool succeeds() const { return succeeds_in(s_.kind); }

  [[nodiscard]] bool finished() const {
    for (const Stream& stream : streams_) {
      if (stream.completed() != stream.planned()) return false;
      if (succeeds() && stream.received() != stream.immediates_posted()) return false;
    }
    return true;
  }

  /// Late duplicates have arrived, and in a run that succeeds every EV is back in service.
  [[nodiscard]] bool at_rest() const {
    if (!channel_.empty()) return false;
    for (const Host& h : hosts_) {
      if (!h.quiet()) return false;
      // a lost last SACK leaves bytes unreported until a probe has asked again (D14)
      if (succeeds() && (!h.qp().send_idle() || !h.all_evs_back() || h.qp().inflight_share_bytes() > 0))
        return false;
    }
    return true;
  }

  void step() {
    if (++steps_ > kMaxSteps) violate("I3", "no end after ", kMaxSteps, " steps");
    Time next = earlier(channel_.next_arrival(), earlier(hosts_[0].next_service(), hosts_[1].next_service()));
    if (s_.kind == Kind::kAbort && !aborted_) next = earlier(next, s_.start + s_.death);
    if (next.is_never())
      violate("I3", "work is unfinished and nothing will ever happen: completed ", streams_[0].completed(),
              "/", streams_[0].planned(), " and ", streams_[1].completed(), "/", streams_[1].planned());
    now_ = later(now_, next);
    if (now_ > limit_) violate("I3", "unfinished after ", (now_ - s_.start).ns, " ns of virtual time");
    bool touched[2] = {};
    while (auto packet = channel_.take(now_)) {
      const int to = 1 - packet->from;
      touched[to] = true;
      hosts_[to].receive(std::move(*packet), now_);
    }
    if (s_.kind == Kind::kAbort && !aborted_ && now_ >= s_.start + s_.death) {
      aborted_ = true;
      hosts_[0].abort(now_);
    }
    for (int i = 0; i < 2; ++i)
      if (touched[i] || hosts_[i].next_service() <= now_) hosts_[i].service(now_);
  }

  /// Generous for the work itself, tight for the timers: what waits at the end of the faults waits at most as
  /// long again (D13).
  [[nodiscard]] Duration time_limit() const {
    Duration limit = s_.kind == Kind::kBenign ? Duration{} : s_.fault_end * 3;
    for (const SidePlan& side : s_.side) {
      if (!succeeds() && side.attr.exp_cnt < 25) limit += retry_budget(side.attr) * 2;
      limit += ack_interval(side.attr, 0) * (side.attr.linear_cnt + 2) + s_.death;
      std::int64_t packets = 10;
      for (const MessagePlan& m : side.messages) {
        limit += m.gap;
        packets += m.length_bytes / side.attr.path_mtu + 2;
      }
      limit += (s_.policy.base_rtt + longest_jitter() + side.placing + side.round) * (packets * 3);
    }
    return limit + settle_limit();
  }

  [[nodiscard]] Duration longest_jitter() const {
    Duration longest;
    for (const auto& direction : s_.link)
      for (const Link& link : direction) longest = std::max(longest, link.jitter);
    return longest;
  }

  /// EVs come back by probes at the set interval, or at most every 10 ms (D9), several answers apart.
  [[nodiscard]] Duration settle_limit() const {
    const Duration probing = std::max(s_.policy.ev.probe_interval, milliseconds(10)) * 40;
    return succeeds() && s_.kind != Kind::kBenign ? s_.fault_end + probing : probing;
  }

  void check_end() {
    channel_.check_conservation();
    for (const Stream& stream : streams_) {
      if (succeeds()) stream.check_finished();
      stream.check_untouched();
    }
    if (!succeeds()) check_error_end();
    for (Host& h : hosts_) {
      h.check_counters();
      if (succeeds()) {
        const std::int64_t share = h.qp().inflight_share_bytes();
        if (share < -255 || share > 0) violate("I1", "inflight share at rest is ", share);
        if (h.qp().state() != QpState::kRts) violate("I10", "a QP left RTS though everything got through");
      }
      h.reset(now_);
    }
  }

  void expect_first_error(const Stream& stream, std::size_t message, WcStatus status) const {
    for (std::size_t i = 0; i < stream.messages().size(); ++i) {
      const WcStatus got = stream.messages()[i].status;
      const WcStatus want = i < message ? WcStatus::kSuccess : i == message ? status : WcStatus::kWrFlushErr;
      if (got != want)
        violate("D17", "message ", i, " ended with status ", static_cast<int>(got), ", must be ",
                static_cast<int>(want));
    }
  }

  void check_error_end() const {
    switch (s_.kind) {
      case Kind::kRemoteAccess:
        expect_first_error(streams_[0], static_cast<std::size_t>(s_.bad_message), status_of(s_.badness));
        break;
      case Kind::kNoReceive:
        expect_first_error(streams_[0], s_.side[1].receives_total, WcStatus::kRemOpErr);
        break;
      case Kind::kDeadChannel:
        for (int i = 0; i < 2; ++i) check_death(i);
        break;
      default:
        break;
    }
  }

  /// I10: over a dead channel a QP with work fails at the computed time, give or take one interval.
  void check_death(int side) const {
    const Stream& stream = streams_[side];
    const auto failed = std::find_if(stream.messages().begin(), stream.messages().end(),
                                     [](const Message& m) { return m.status != WcStatus::kSuccess; });
    if (failed == stream.messages().end()) return;
    if (failed->status != WcStatus::kRetryExcErr)
      violate("I10", "over a dead channel the oldest message ended with ", static_cast<int>(failed->status));
    const transport::QpAttr& attr = s_.side[side].attr;
    const Duration lived = hosts_[side].error_at() - hosts_[side].silent_since();
    const Duration budget = retry_budget(attr);
    const Duration slack = ack_interval(attr, attr.linear_cnt + attr.exp_cnt) + s_.policy.base_rtt * 20;
    if (lived > budget + slack || lived < budget - slack)
      violate("I10", "side ", side, " failed ", lived.ns, " ns after the last progress, computed are ",
              budget.ns);
  }

  const Scenario& s_;
  Trace trace_;
  Channel channel_;
  std::shared_ptr<const path::EvTable> tables_[2];
  Stream streams_[2];
  Host hosts_[2];
  Time now_;
  Time limit_;
  std::uint64_t steps_ = 0;
  bool aborted_ = false;
};

}  // namespace

RunResult run(Scenario s, const RunOptions& options) {
  s.burst = options.burst;
  for (SidePlan& side : s.side) {
    side.attr.sq_psn += options.number_shift;
    side.attr.rq_psn += options.number_shift;
  }
  s.policy.first_msn += options.number_shift;
  s.policy.first_rqmsn += options.number_shift;
  s.policy.first_rcvd_bytes += options.number_shift;
  s.start = s.start + options.clock_shift;
  RunResult result;
  std::unique_ptr<World> world;
  try {
    world = std::make_unique<World>(s, options);
    world->run();
    result.ok = true;
  } catch (const Violation& broken) {
    result.failure = broken.what();
  }
  if (world) world->fill(result);
  return result;
}

}  // namespace mrc::property
