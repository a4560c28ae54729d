// SPDX-License-Identifier: BSD-3-Clause
#include "transport/reverse_probes.h"

#include <algorithm>
#include <bit>

#include "base/seeded_defect.h"

namespace mrc::transport {

namespace {

constexpr Duration kLongestPace = milliseconds(10);  // D9's bound, towards a peer that never answers

}  // namespace

ReverseProbes::ReverseProbes(QpContext& context)
    : ctx_(context), rtt_(context.policy.base_rtt, context.policy.learn_base_rtt) {
  reset();
}

void ReverseProbes::reset() {
  armed_ = !ctx_.policy.reverse_probes;
  ready_ = asked_ = ever_answered_ = false;
  heard_ = ctx_.policy.reverse_probe_writes;  // the first Write asks for the first probe
  due_ = follow_up_at_ = Time::never();
  follow_ups_left_ = 0;
  last_ = gap_end_ = Time{};
  silent_run_ = 0;
  rtt_ = RttTracker(ctx_.policy.base_rtt, ctx_.policy.learn_base_rtt);
  planes_ = {};
  for (Probe& probe : probes_) probe.open = false;
}

void ReverseProbes::arm(Time now) {
  armed_ = true;
  due_ = later(now, last_ + pace());
}

// Towards a peer that answers nothing at all every round over the planes takes twice as long as the one
// before.
Duration ReverseProbes::pace() const {
  const Duration base = rtt_.base();
  const auto planes = static_cast<std::uint32_t>(ctx_.evs->planes());
  const std::uint32_t doublings = std::min(silent_run_ / (4U * planes), 16U);
  return std::max(base, std::min(base * (std::int64_t{1} << doublings), kLongestPace));
}

void ReverseProbes::on_timer(Time now) {
  if (follow_up_at_ <= now) {
    follow_up_at_ = Time::never();
    --follow_ups_left_;
    if (!armed_) arm(now);
  }
  if (due_ > now) return;
  due_ = Time::never();
  ready_ = ctx_.can_receive();
}

// Proofs that no probe gave are those of data.
void ReverseProbes::note_data(std::uint8_t port) {
  Plane& plane = planes_[port];
  const Time newest = ctx_.ev_set.plane_proof(port);
  if (newest > plane.proof) plane.data = newest;
}

// SACKs of our own data prove EVs by themselves, and more often.
bool ReverseProbes::upheld_by_data(std::uint8_t port, Time now) {
  note_data(port);
  const Time data = planes_[port].data;
  return data != Time{} && now - data <= (rtt_.srtt() + rtt_.reo(now)) * 2;
}

// D19. Never a verdict: the answer may have died on its way. A peer that answers nothing proves nothing,
// unless it asks: then it lacks our answers, over whatever EV they go.
void ReverseProbes::judge(std::uint8_t port, Time now) {
  Plane& plane = planes_[port];
  if (plane.overdue_at > now) return;
  plane.overdue_at = Time::never();
  ++silent_run_;
  if (!ever_answered_ && !asked_) {
    plane.unanswered = 0;
    return;
  }
  if (++plane.unanswered < kUnanswered) return;
  plane.unanswered = 0;
  if (!seeded_defect(Defect::kKeepReverseEv)) ctx_.ev_set.replace_reverse(port, now);
}

std::uint32_t ReverseProbes::planes_to_probe(Time now) {
  std::uint32_t planes = 0;
  for (std::uint8_t port = 0; port < ctx_.evs->planes(); ++port) {
    Plane& plane = planes_[port];
    if (upheld_by_data(port, now)) {
      plane.overdue_at = Time::never();
      plane.unanswered = 0;
      continue;
    }
    judge(port, now);
    if (plane.overdue_at.is_never() && ctx_.ev_set.port_usable(port)) planes |= 1U << port;
  }
  return planes;
}

// In rotation; one whose last probe was not answered goes first.
std::uint8_t ReverseProbes::pick(std::uint32_t planes) const {
  std::uint32_t doubtful = 0;
  for (std::uint32_t left = planes; left != 0; left &= left - 1) {
    const auto port = static_cast<std::size_t>(std::countr_zero(left));
    if (planes_[port].unanswered != 0) doubtful |= 1U << port;
  }
  if (doubtful != 0 && ever_answered_) planes = doubtful;
  const std::uint32_t behind = planes & ~((2U << last_plane_) - 1U);
  return static_cast<std::uint8_t>(std::countr_zero(behind != 0 ? behind : planes));
}

std::size_t ReverseProbes::next(Time now, PortCredits& credits, std::span<ControlDesc> out) {
  if (!ready_ || out.empty()) return 0;
  const std::uint32_t wanted = ctx_.can_receive() ? planes_to_probe(now) : 0;
  const std::uint32_t free_ports = credits.free_mask();
  if (wanted != 0 && (wanted & free_ports) == 0 && (wanted & credits.up_mask) != 0)
    return 0;  // waits for a port
  ready_ = armed_ = false;
  heard_ = 0;
  last_ = now;
  if ((wanted & free_ports) == 0) return 0;
  const std::uint8_t port = pick(wanted & free_ports);
  const path::EvChoice choice = ctx_.ev_set.choose_for_control(1U << port, port);
  if (choice.ev == path::kNoEv) return 0;
  last_plane_ = port;
  const std::uint16_t id = next_id_++;
  probes_[id % kRemembered] = {now, choice.ev, id, true};
  planes_[port].overdue_at = now + rtt_.srtt() + rtt_.reo(now);
  // The peer's probes come at growing distances, and only some of them arrive: waiting for the next one would
  // take as long to find one EV that works as its ACK timer.
  follow_up_at_ = asked_ && follow_ups_left_ != 0 ? planes_[port].overdue_at : Time::never();
  ControlDesc& desc = out[0];
  desc.opcode = wire::Opcode::kEndpointRequest;
  desc.ev = choice.ev;
  desc.port = port;
  desc.dscp = wire::DscpClass::kControl;  // the class of what it opens the way for
  desc.entropy = (*ctx_.evs)[choice.ev].entropy;
  desc.request = wire::EndpointRequestView{};
  desc.request.request_id = id;
  desc.request.op = wire::EndpointOp::kEvProbe;
  desc.request.tx_timestamp = tick_of(now);
  --credits.credits[port];
  ++ctx_.counters.tx_ev_probe;
  return 1;
}

// Late answers, too: what arrived has arrived.
void ReverseProbes::on_answer(std::uint16_t id, Time now) {
  Probe& probe = probes_[id % kRemembered];
  if (!probe.open || probe.id != id) return;
  probe.open = false;
  ++ctx_.counters.rx_ev_answer;
  const std::uint8_t port = (*ctx_.evs)[probe.ev].port;
  Plane& plane = planes_[port];
  plane.unanswered = 0;
  plane.overdue_at = Time::never();
  if (port == last_plane_) follow_up_at_ = Time::never();
  note_data(port);
  plane.proof = later(plane.proof, probe.sent);
  silent_run_ = 0;
  ever_answered_ = true;
  ctx_.ev_set.on_delivered(probe.ev, probe.sent, now);
  ctx_.ev_set.restore_reverse(port, probe.sent);
  if (probe.sent >= gap_end_) rtt_.add(now - probe.sent, now, true);
}

// D13. What came meanwhile lies in the receive queues yet.
void ReverseProbes::on_poll_gap(Time now, Duration gap) {
  gap_end_ = now;
  for (Plane& plane : planes_)
    if (!plane.overdue_at.is_never()) plane.overdue_at = plane.overdue_at + gap;
  if (!follow_up_at_.is_never()) follow_up_at_ = follow_up_at_ + gap;
}

}  // namespace mrc::transport
