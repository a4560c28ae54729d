// SPDX-License-Identifier: BSD-3-Clause
// The host's poll loop and what leaves it.
#include <algorithm>
#include <array>

#include "host.h"
#include "violation.h"

namespace mrc::property {

using transport::QpState;

namespace {

constexpr std::uint32_t kMostSpins = 100;  // one event may make another one due, but not without end

}  // namespace

void Host::service(Time now) {
  if (const Stall* stall = stall_at(now)) {
    if (!was_away_) away_since_ = now;
    was_away_ = true;
    next_service_ = s_.start + stall->to;
    return;
  }
  if (was_away_) {  // D13: first the deadlines move, then the receive queues are drained, then timers run
    was_away_ = false;
    qp_->on_poll_gap(now, now - away_since_);
    for (; !inbox_.empty(); inbox_.pop_front()) handle(inbox_.front(), now);
  }
  const Duration t = since_start(now);
  change_ports(now);
  place_due(now);
  const bool timer = qp_->wake().deadline <= now;
  if (timer) {
    out_.on_timer(now);
    qp_->on_timer(now);
    trace_.event(t, index_, "timer", {});
    watch_planes(now);
  }
  run_application(now);
  send_control(now);
  // what is due may also be a packet: an EV of last resort may serve again
  const bool packet_due = qp_->wake().deadline <= now && qp_->wake().tx_ready;
  if (timer && qp_->wake().deadline <= now && !packet_due)
    violate("I3", "the deadline did not move when its timer ran");
  if (now >= next_round_ && (now >= pause_until_ || packet_due)) send_data(now);
  run_application(now);
  out_.check_inflight(*qp_);
  if (qpcc_.inflight_bytes() != qp_->inflight_share_bytes())
    violate("I1", "the controller holds ", qpcc_.inflight_bytes(), " B, its only QP ",
            qp_->inflight_share_bytes());
  watch(now);
  plan_next(now);
}

void Host::change_ports(Time now) {
  const Duration t = since_start(now);
  const bool down = plan_.port_down >= 0 && t >= plan_.port_down_from && t < plan_.port_down_to;
  if (down != port_was_down_) {
    port_was_down_ = down;
    if (down) out_.on_planes_out(1U << plan_.port_down, now);
    qp_->on_port_change(static_cast<std::uint8_t>(plan_.port_down), !down, now);
  }
  const bool peer = plan_.peer_down >= 0 && t >= plan_.peer_down_from && t < plan_.peer_down_to;
  if (peer != peer_was_down_) {
    peer_was_down_ = peer;
    out_.on_peer_port(static_cast<std::uint8_t>(plan_.peer_down), !peer, now);
    qp_->on_peer_ports(peer ? ~(1U << plan_.peer_down) : ~0U, now);
  }
}

void Host::watch_evs() {
  const path::EvSet& evs = qp_->ev_set();
  if (evs.active() + plan_.denied.size() < s_.policy.ev.ev_min_active)
    violate("D9", evs.active(), " EVs are active, ev_min_active is ", s_.policy.ev.ev_min_active);
  std::array<path::EvSet::Event, 16> events;
  std::uint64_t dropped = 0;
  for (std::size_t n = events.size(); n == events.size();) {
    n = qp_->ev_set().poll_events(events, dropped);
    for (std::size_t i = 0; i < n; ++i) out_.check_event(events[i]);
  }
  if (evs.counters().assumed_bad == 0) return;
  for (std::size_t ev = 0; ev < table_->size(); ++ev) {
    const auto index = static_cast<path::EvIndex>(ev);
    if (evs.state(index) == path::EvState::kAssumedBad && evs.probe_due(index).is_never())
      violate("I9", "EV ", ev, " is assumed bad and no probe is scheduled");
  }
}

void Host::watch_planes(Time now) {
  watch_evs();
  const std::uint32_t silent = qp_->ev_set().silent_planes();
  if (qp_->ev_set().counters().planes_down != planes_down_) {
    out_.on_planes_out(silent != 0 ? silent : ~0U, now);
    out_.check_silence(silent & ~silent_);
    if (qp_->state() == QpState::kRts) out_.check_plane_flush(*qp_, silent & ~silent_, now);
  }
  planes_down_ = qp_->ev_set().counters().planes_down;
  silent_ = silent;
  if (silent == 0) return;
  const std::uint32_t all = (1U << s_.planes) - 1U;
  if ((silent & all) == all) violate("D9", "the last usable plane went DOWN");
}

void Host::watch(Time now) {
  if (qp_->state() != last_state_) {
    last_state_ = qp_->state();
    trace_.event(since_start(now), index_, "state", {{"state", static_cast<int>(last_state_)}});
    if (last_state_ == QpState::kError) error_at_ = now;
  }
  if (qp_->unack_psn() != last_unack_) {
    last_unack_ = qp_->unack_psn();
    last_advance_ = now;
  }
  // D13: a packet that is not given up has a timer of interval(k), of the k when it left
  const Record* oldest = out_.oldest_unknown();
  if (oldest == nullptr || last_state_ != QpState::kRts) return;
  const std::uint32_t k = oldest->retry_count;
  const Duration longest = ack_interval(plan_.attr, k) * 2 +
                           Duration{plan_.stalls.empty() ? 0 : s_.policy.base_rtt.ns * 31} +
                           s_.policy.base_rtt * 20 + milliseconds(port_was_down_ ? 1000 : 0);
  if (now - oldest->last_tx > longest)
    violate("D13", "side ", index_, ": the oldest packet waits for ", (now - oldest->last_tx).ns,
            " ns, interval(", k, ") is ", ack_interval(plan_.attr, k).ns);
}

void Host::plan_next(Time now) {
  const transport::Wake wake = qp_->wake();
  // A packet that is due leaves in the next round: until then its deadline stands in the past.
  const bool packet_due = wake.tx_ready && wake.deadline <= now;
  Time next = packet_due ? next_round_ : wake.deadline;
  if (wake.control_ready) next = earlier(next, now + plan_.round);
  if (wake.tx_ready && !packet_due) next = earlier(next, later(next_round_, pause_until_));
  for (const Placement& p : placements_) next = earlier(next, p.due);
  if (next_message_ < out_.planned() && next_post_ > now) next = earlier(next, next_post_);
  for (const Stall& stall : plan_.stalls)
    if (s_.start + stall.from > now) next = earlier(next, s_.start + stall.from);
  if (plan_.port_down >= 0)
    for (const Duration edge : {plan_.port_down_from, plan_.port_down_to})
      if (s_.start + edge > now) next = earlier(next, s_.start + edge);
  if (plan_.peer_down >= 0)
    for (const Duration edge : {plan_.peer_down_from, plan_.peer_down_to})
      if (s_.start + edge > now) next = earlier(next, s_.start + edge);
  const bool waiting = qp_->state() == QpState::kRts && !qp_->send_idle();
  if (waiting && next.is_never())
    violate("I3", "side ", index_, " has unfinished work, no packet and no deadline");
  spins_ = next <= now ? spins_ + 1 : 0;
  if (spins_ > kMostSpins)
    violate("I3", "side ", index_, " is woken all the time by a deadline that stands in the past");
  next_service_ = later(next, now + nanoseconds(1));
}

transport::PortCredits Host::fresh_credits(Time now) const {
  transport::PortCredits credits;
  const Duration t = since_start(now);
  for (std::size_t port = 0; port < s_.planes; ++port) {
    if (static_cast<int>(port) == plan_.port_down && t >= plan_.port_down_from && t < plan_.port_down_to)
      continue;
    credits.credits[port] = plan_.port_credits;
    credits.up_mask |= 1U << port;
  }
  return credits;
}

void Host::transmit(Packet p, Time now) {
  p.from = index_;
  p.sent = now;
  if (s_.wire_bytes) {
    path::EvEntry ev;
    if (p.ev != path::kNoEv) ev = (*table_)[p.ev];
    codec_.encode(p, plan_.attr.dest_qpn, ev);
  }
  channel_.send(std::move(p), now);
}

/// D5: over the plane of what made it due, and that came after the last one left; where placing lags it may
/// have come before. Another plane serves when there is no way on that one.
void Host::check_ack_plane(std::uint8_t port) {
  std::uint32_t open = 0;
  for (path::EvIndex ev = 0; ev < table_->size(); ++ev) {
    const path::EvState state = qp_->ev_set().state(ev);
    const std::uint8_t on = (*table_)[ev].port;
    if (qp_->ev_set().port_usable(on) && (state == path::EvState::kGood || state == path::EvState::kSkip))
      open |= 1U << on;
  }
  const bool may_differ = plan_.placing.ns != 0 || (heard_ & ~open) != 0;
  if (!may_differ && (heard_ >> port & 1U) == 0)
    violate("D5", "an ACK or NAK leaves on plane ", int{port}, ", what came since the last one came on ",
            heard_);
  heard_ = 0;
}

void Host::emit_control(const transport::ControlDesc& d, Time now) {
  Packet p;
  p.dscp = d.dscp;
  p.ev = d.ev;
  p.meta.port = d.port;
  p.meta.entropy = d.ev != path::kNoEv ? (*table_)[d.ev].entropy : 0;
  if (d.ev != path::kNoEv && (*table_)[d.ev].port != d.port)
    violate("C30", "control packet on EV ", d.ev, " leaves through port ", int{d.port});
  const auto tell = [&](const char* what, std::int64_t psn) {
    trace_.event(since_start(now), index_, what, {{"psn", psn}, {"port", d.port}, {"ev", d.ev}});
  };
  switch (d.opcode) {
    case wire::Opcode::kSack:
      in_.on_sack_sent(d.sack, *qp_);
      if (d.sack.spdcid != (qp_->qpn() & 0xFFFF) || d.sack.dpdcid != (plan_.attr.dest_qpn & 0xFFFF))
        violate("C10", "spdcid ", d.sack.spdcid, ", dpdcid ", d.sack.dpdcid);
      if (d.sack.mpr != (plan_.attr.dynamic_mpr ? qp_->mpr_dest() : 0) ||
          qp_->mpr_dest() > plan_.attr.mpr_dest)
        violate("D16", "SACK advertises an MPR of ", int{d.sack.mpr});
      tell("tx-sack", in_.index_of(d.sack.cack_psn));
      p.view = d.sack;
      // a peer that says "no change" now and then (D16)
      if (s_.shrinking && rng_.chance(0.2)) std::get<wire::SackView>(p.view).mpr = 0;
      ++emitted_sacks_;
      emitted_marks_ += d.sack.m == wire::EvMark::kSkipOnce ? 1 : 0;
      break;
    case wire::Opcode::kNack:
      in_.on_nack_sent(d.nack);
      tell("tx-nack", in_.index_of(d.nack.nack_psn));
      p.view = d.nack;
      ++emitted_nacks_;
      break;
    case wire::Opcode::kAck:
      in_.on_ack_sent(d.ack);
      check_ack_plane(d.port);
      tell(d.ack.is_ack() ? "tx-ack" : "tx-nak", in_.index_of(d.ack.psn));
      p.view = d.ack;
      ++emitted_acks_;
      break;
    case wire::Opcode::kProbe:
      tell("tx-probe", 0);
      p.view = d.probe;
      ++emitted_probes_;
      break;
    case wire::Opcode::kEndpointRequest:
      tell("tx-ev-probe", 0);
      watch_ev_probe(d);
      p.view = d.request;
      break;
    default:
      violate("MRC 7.5.5", "a control descriptor with opcode ", static_cast<int>(d.opcode));
  }
  transmit(std::move(p), now);
}

/// D19: two without an answer, and another EV of the plane has its turn. Unless there is no other, our own
/// data brought newer proof, or this peer has answered nothing at all.
void Host::watch_ev_probe(const transport::ControlDesc& d) {
  ++emitted_ev_probes_;
  if (d.request.op != wire::EndpointOp::kEvProbe || !s_.policy.reverse_probes)
    violate("MRC 7.4.7", "an Endpoint Request that is no EV Probe, or not wanted");
  const path::EvSet& set = qp_->ev_set();
  if (set.state(d.ev) == path::EvState::kDenied)
    violate("D19", "an EV Probe on EV ", d.ev, ", which is DENIED");
  if (d.request.request_id != probed_.size()) violate("MRC 7.4.7", "request id ", d.request.request_id);
  probed_.push_back(d.ev);
  bool others = false;
  for (std::size_t ev = 0; ev < table_->size(); ++ev)
    others =
        others || (ev != d.ev && (*table_)[ev].port == d.port && set.listed(static_cast<path::EvIndex>(ev)));
  ReverseWatch& w = reverse_[d.port];
  const bool fresh = w.ev != d.ev || w.proof != set.plane_proof(d.port) || !others || ev_answers_ == 0;
  w = {d.ev, set.plane_proof(d.port), fresh ? 0 : w.unanswered + 1};
  if (w.unanswered >= 4) violate("D19", "EV ", d.ev, " stays in use though nobody answers");
}

void Host::send_control(Time now) {
  // a responder that is short of room; what its attribute allows it goes on accepting
  if (s_.shrinking && qp_->wake().control_ready && rng_.chance(0.3))
    qp_->set_mpr_dest(static_cast<std::uint8_t>(rng_.below(plan_.attr.mpr_dest + 2U)));
  std::array<transport::ControlDesc, 32> out;
  transport::PortCredits credits = fresh_credits(now);
  for (std::uint16_t& c : credits.credits) c = c != 0 ? 64 : 0;
  const std::size_t burst = std::min<std::size_t>(s_.burst, out.size());
  for (std::size_t n; (n = qp_->next_control(now, credits, std::span(out).first(burst))) > 0;)
    for (std::size_t i = 0; i < n; ++i) emit_control(out[i], now);
}

/// One call of next_packets; everything it gave is judged and sent.
std::size_t Host::send_burst(Time now, transport::PortCredits& credits, std::size_t most, bool& last_asked) {
  std::array<transport::TxDesc, 32> out;
  TxContext c;
  c.now = now;
  c.cwnd = qpcc_.cwnd_bytes();
  c.inflight_before = qpcc_.inflight_bytes();
  const auto fallbacks = qp_->ev_set().counters().fallback_picks;
  const auto restored = qp_->ev_set().counters().skip_restored;
  const auto tails = qp_->counters().rtx_by_cause[static_cast<std::size_t>(transport::RtxCause::kTailRepeat)];
  const std::size_t n = qp_->next_packets(now, credits, std::span(out).first(most));
  c.ports_left = credits.free_mask();
  if (qp_->ev_set().counters().skip_restored - restored > n)
    violate("D10", "more SKIPs were restored than ", n, " packets sent");
  c.fallback = qp_->ev_set().counters().fallback_picks != fallbacks;
  c.tail_repeat =
      qp_->counters().rtx_by_cause[static_cast<std::size_t>(transport::RtxCause::kTailRepeat)] != tails;
  for (std::size_t i = 0; i < n; ++i) {
    const transport::TxDesc& d = out[i];
    trace_.event(since_start(now), index_, "tx",
                 {{"psn", out_.index_of(d.psn)},
                  {"len", d.payload_bytes},
                  {"ev", d.ev},
                  {"port", d.port},
                  {"a", d.a},
                  {"rtx", d.rtx}});
    Packet p = out_.on_tx(d, *qp_, c);
    c.inflight_before += std::get<wire::WriteView>(p.view).nominal_bytes;
    last_asked = d.a;
    transmit(std::move(p), now);
  }
  if (n > 0 && !c.tail_repeat && c.inflight_before != qpcc_.inflight_bytes())
    violate("D7", "after sending, inflight is ", qpcc_.inflight_bytes(), ", must be ", c.inflight_before);
  return n;
}

void Host::send_data(Time now) {
  if (!qp_->wake().tx_ready) return;
  transport::PortCredits credits = fresh_credits(now);
  const std::uint32_t all_ports = credits.free_mask();
  const std::size_t call = std::min<std::size_t>(s_.burst, 32);
  std::size_t sent = 0;
  bool last_asked = false;
  bool exhausted = false;
  while (sent < 32 && !exhausted) {
    const std::size_t asked = std::min<std::size_t>(call, 32 - sent);
    const std::size_t n = send_burst(now, credits, asked, last_asked);
    sent += n;
    exhausted = n < asked;
  }
  if (sent > 0 && exhausted && credits.free_mask() == all_ports && !last_asked)
    violate("D3", "the last packet before the QP falls silent does not ask for an acknowledgement");
  idle_rounds_ = sent == 0 ? idle_rounds_ + 1 : 0;
  // ready but nothing to send: no usable EV on a free port. A real host would poll on; here it costs events
  next_round_ = now + plan_.round;
  pause_until_ = idle_rounds_ > 8 ? now + s_.policy.base_rtt : next_round_;
}

}  // namespace mrc::property
