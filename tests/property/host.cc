// SPDX-License-Identifier: BSD-3-Clause
// Set-up, application and receiving. Sending is host_send.cc.
#include "host.h"

#include <algorithm>
#include <array>

#include "bring_up.h"
#include "transport/port_status.h"
#include "violation.h"

namespace mrc::property {

using transport::QpState;

Host::Host(const Scenario& s, int index, std::shared_ptr<const path::EvTable> table, Stream& out, Stream& in,
           Channel& channel, Trace& trace)
    : s_(s),
      plan_(s.side[index]),
      index_(index),
      table_(std::move(table)),
      out_(out),
      in_(in),
      channel_(channel),
      trace_(trace),
      rng_(Rng(s.seed).fork(0x405 + static_cast<std::uint64_t>(index))),
      qpcc_(cc::FixedWindow(plan_.cwnd_bytes),
            plan_.uet_send_test ? cc::SendTest::kUet : cc::SendTest::kMrc) {}

void Host::start(Time now) {
  qp_ =
      std::make_unique<transport::Qp>(0x100000 + static_cast<std::uint32_t>(index_), plan_.limits, s_.policy,
                                      table_, qpcc_, mix64(s_.seed * 5 + static_cast<std::uint64_t>(index_)));
  bring_up(*qp_, plan_.attr, now);
  for (const path::EvIndex ev : plan_.denied) qp_->ev_set().set_state(ev, path::EvState::kDenied, now);
  last_state_ = qp_->state();
  last_unack_ = qp_->unack_psn();
  next_post_ = next_round_ = last_advance_ = now;
  service(now);
}

const Stall* Host::stall_at(Time now) const {
  for (const Stall& stall : plan_.stalls)
    if (now >= s_.start + stall.from && now < s_.start + stall.to) return &stall;
  return nullptr;
}

void Host::receive(Packet packet, Time now) {
  if (stall_at(now) != nullptr) {
    inbox_.push_back(std::move(packet));
    return;
  }
  handle(packet, now);
}

void Host::handle(Packet& p, Time now) {
  if (!p.bytes.empty() && !codec_.decode(p)) return;
  const auto tell = [&](const char* what) {
    trace_.event(since_start(now), index_, what, {{"port", p.meta.port}, {"ce", p.meta.ce}});
  };
  if (const auto* write = std::get_if<wire::WriteView>(&p.view)) {
    on_write(p, *write, now);
  } else if (const auto* trimmed = std::get_if<wire::TrimmedView>(&p.view)) {
    tell("rx-trim");
    ++seen_.trimmed;
    in_.on_trimmed_arrival(*trimmed, p.meta);
    qp_->on_trimmed(*trimmed, p.meta);
  } else if (const auto* sack = std::get_if<wire::SackView>(&p.view)) {
    on_sack(p, *sack, now);
  } else if (const auto* nack = std::get_if<wire::NackView>(&p.view)) {
    tell("rx-nack");
    ++seen_.nacks;
    out_.on_nack_delivered(*nack, p.meta.arrival);
    qp_->on_nack(*nack, p.meta);
  } else if (const auto* ack = std::get_if<wire::AckView>(&p.view)) {
    tell("rx-ack");
    ++seen_.acks;
    out_.on_ack_delivered(*ack);
    qp_->on_ack(*ack, p.meta);
  } else if (const auto* request = std::get_if<wire::EndpointRequestView>(&p.view)) {
    tell("rx-ev-probe");
    answer_endpoint(*request, p.meta.port, now);
  } else if (const auto* response = std::get_if<wire::EndpointResponseView>(&p.view)) {
    tell("rx-ev-answer");
    on_ev_answer(*response, now);
  } else {
    tell("rx-probe");
    ++seen_.probes;
    seen_.marks += p.meta.ce ? 1 : 0;
    heard_ |= 1U << p.meta.port;
    qp_->on_probe(std::get<wire::ProbeView>(p.view), p.meta);
  }
  out_.check_inflight(*qp_);
  watch_planes(now);
}

/// Its endpoint, not its QP: answered whatever the state of the QP.
void Host::answer_endpoint(const wire::EndpointRequestView& request, std::uint8_t port, Time now) {
  Packet p;
  p.view = transport::response_to(request);
  p.meta.port = port;
  transmit(std::move(p), now);
}

void Host::on_ev_answer(const wire::EndpointResponseView& response, Time now) {
  const std::uint16_t id = response.request_id;
  if (id >= probed_.size()) violate("MRC 7.4.7", "an answer to EV Probe ", id, ", which was never sent");
  const auto answered = qp_->counters().rx_ev_answer;
  qp_->on_ev_probe_answer(response, now);
  if (qp_->counters().rx_ev_answer == answered) return;  // a second time, or long ago
  ++ev_answers_;
  reverse_[(*table_)[probed_[id]].port].unanswered = 0;
}

void Host::on_write(const Packet& p, const wire::WriteView& write, Time now) {
  wire::WriteView seen = write;
  if (!s_.wire_bytes) seen.nominal_bytes -= s_.uncounted_bytes;  // bytes are checked against the codec there
  heard_ |= 1U << p.meta.port;
  const bool bad = in_.is_bad(write.bth.psn);
  if (bad && s_.badness == Badness::kMalformed) ++seen.dmalen;
  const auto access =
      bad && s_.badness == Badness::kDenied ? transport::Access::kDenied : transport::Access::kOk;
  const transport::WriteVerdict verdict = qp_->on_write(seen, p.meta, access);
  trace_.event(since_start(now), index_, "rx-write",
               {{"psn", in_.index_of(write.bth.psn)},
                {"port", p.meta.port},
                {"ce", p.meta.ce},
                {"verdict", static_cast<int>(verdict)}});
  ++seen_.writes;
  seen_.marks += p.meta.ce && verdict != transport::WriteVerdict::kDrop ? 1 : 0;  // a NACK bears no mark
  in_.on_arrival(seen, p.meta, verdict, *qp_);
  if (verdict != transport::WriteVerdict::kPlace) return;
  if (bad && s_.badness == Badness::kNotPlaced) {
    qp_->place_failed(write.bth.psn, wire::Syndrome::kRemoteOperational);
  } else if (plan_.placing.ns == 0) {
    in_.place(write.bth.psn, p.payload);
    qp_->placed(write.bth.psn);
  } else {
    const Duration wait{static_cast<std::int64_t>(rng_.below(static_cast<std::uint64_t>(plan_.placing.ns)))};
    placements_.push_back({now + wait, write.bth.psn, p.payload});
  }
}

void Host::on_sack(const Packet& p, const wire::SackView& sack, Time now) {
  trace_.event(since_start(now), index_, "rx-sack",
               {{"cack", out_.index_of(sack.cack_psn)},
                {"offset", sack.sack_offset},
                {"bits", static_cast<std::int64_t>(sack.sack_bitmap)}});
  out_.on_sack_delivered(sack, p.sent, p.meta.arrival);
  const int times = rng_.chance(0.1) ? 2 : 1;
  for (int i = 0; i < times; ++i) {
    const auto share = qp_->inflight_share_bytes();
    const auto unack = qp_->unack_psn();
    const auto given_up = qp_->counters().rtx_by_cause;
    const auto skips = qp_->ev_set().counters().skip_marks;
    ++seen_.sacks;
    qp_->on_sack(sack, p.meta);
    if (qp_->ev_set().counters().skip_marks != skips) out_.check_skip(p.meta.arrival);
    // I7: a SACK twice equals once
    if (i == 1 && (share != qp_->inflight_share_bytes() || unack != qp_->unack_psn() ||
                   given_up != qp_->counters().rtx_by_cause))
      violate("I7", "the same SACK a second time changed inflight from ", share, " to ",
              qp_->inflight_share_bytes());
  }
}

void Host::place_due(Time now) {
  for (std::size_t i = 0; i < placements_.size();) {
    if (placements_[i].due > now) {
      ++i;
      continue;
    }
    in_.place(placements_[i].psn, placements_[i].payload);
    qp_->placed(placements_[i].psn);
    placements_[i] = std::move(placements_.back());
    placements_.pop_back();
  }
}

void Host::drain_completions(Time now) {
  std::array<transport::Completion, 4> wcs;
  for (std::size_t n; (n = qp_->poll_completions(wcs)) > 0;) {
    for (std::size_t i = 0; i < n; ++i) {
      const transport::Completion& wc = wcs[i];
      trace_.event(since_start(now), index_,
                   wc.opcode == transport::WcOpcode::kRdmaWrite ? "wc-send" : "wc-recv",
                   {{"status", static_cast<int>(wc.status)}});
      if (wc.opcode == transport::WcOpcode::kRdmaWrite) {
        out_.on_send_completion(wc);
        continue;
      }
      if (receives_.empty() || receives_.front() != wc.wr_id)
        violate("I5", "receive completion with wr_id ", wc.wr_id, ", which is not the oldest posted receive");
      receives_.pop_front();
      if (wc.status == transport::WcStatus::kSuccess) {
        in_.on_recv_completion(wc);
      } else if (wc.status != transport::WcStatus::kWrFlushErr || qp_->state() != QpState::kError) {
        violate("D17", "a receive ended with status ", static_cast<int>(wc.status));
      }
    }
  }
}

void Host::post(Time now) {
  while (receives_.size() < plan_.limits.max_recv_wr && receives_posted_ < plan_.receives_total &&
         qp_->state() != QpState::kError) {
    const std::uint64_t id = mix64(receives_posted_ + 99);
    if (qp_->post_recv({.wr_id = id}) != transport::PostResult::kOk)
      violate("I5", "post_recv refused with ", receives_.size(), " of ", plan_.limits.max_recv_wr, " posted");
    receives_.push_back(id);
    ++receives_posted_;
  }
  while (next_message_ < out_.planned() && now >= next_post_) {
    const transport::PostResult result = qp_->post_send(out_.prepare(next_message_));
    const std::size_t outstanding = out_.posted() - out_.completed();
    if (result == transport::PostResult::kQueueFull) {
      if (outstanding < plan_.limits.max_send_wr)
        violate("I5", "send queue full with ", outstanding, " of ", plan_.limits.max_send_wr, " outstanding");
      return;
    }
    if (result != transport::PostResult::kOk) violate("I5", "post_send gave ", static_cast<int>(result));
    if (outstanding >= plan_.limits.max_send_wr) violate("I5", "the send queue took more than its depth");
    out_.on_posted(next_message_++);
    if (next_message_ < out_.planned()) next_post_ = now + plan_.messages[next_message_].gap;
  }
}

/// Posting may complete at once (in ERROR), completions make room for posting.
void Host::run_application(Time now) {
  std::size_t before = 0;
  do {
    before = out_.completed();
    post(now);
    drain_completions(now);
  } while (out_.completed() != before);
}

void Host::abort(Time now) {
  const auto done = qp_->modify(QpState::kError, plan_.attr, transport::kAttrState, now);
  if (!done) violate("MRC 6.1", "modify to ERROR: ", done.error().message);
  service(now);
}

void Host::reset(Time now) {
  const auto done = qp_->modify(QpState::kReset, plan_.attr, transport::kAttrState, now);
  if (!done) violate("MRC 6.1", "modify to RESET: ", done.error().message);
  if (qpcc_.inflight_bytes() != 0)
    violate("I1", "after RESET the controller holds ", qpcc_.inflight_bytes(), " B");
}

bool Host::quiet() const {
  return placements_.empty() && inbox_.empty() && !was_away_;
}

bool Host::all_evs_back() const {
  for (std::size_t ev = 0; ev < table_->size(); ++ev)
    if (qp_->ev_set().state(static_cast<path::EvIndex>(ev)) == path::EvState::kAssumedBad) return false;
  return qp_->ev_set().silent_planes() == 0;
}

void Host::check_counters() const {
  const transport::QpCounters& c = qp_->counters();
  const auto same = [&](const char* name, std::uint64_t got, std::uint64_t want) {
    if (got != want)
      violate("counters", "side ", index_, ": ", name, " counts ", got, ", seen from outside ", want);
  };
  same("tx_new", c.tx_new, static_cast<std::uint64_t>(out_.packets_sent_once()));
  same("tx_rtx", c.tx_rtx, out_.retransmissions());
  same("tx_sack", c.tx_sack, emitted_sacks_);
  same("tx_nack", c.tx_nack, emitted_nacks_);
  same("tx_ack and tx_nak", c.tx_ack + c.tx_nak, emitted_acks_);
  same("tx_probe", c.tx_probe, emitted_probes_);
  same("tx_ev_probe", c.tx_ev_probe, emitted_ev_probes_);
  same("rx_ev_answer", c.rx_ev_answer, ev_answers_);
  if (s_.kind == Kind::kBenign) {
    same("timer_expiries on a benign channel (I2)", c.timer_expiries, 0);
    same("EVs condemned on a benign channel (I2)", qp_->ev_set().counters().assumed_bad, 0);
    same("planes given up on a benign channel (I2)", qp_->ev_set().counters().planes_down, 0);
  }
  if (!succeeds_in(s_.kind)) return;  // in ERROR packets count elsewhere
  same("rx_write", c.rx_write, seen_.writes);
  same("rx_sack", c.rx_sack, seen_.sacks);
  same("rx_nack", c.rx_nack, seen_.nacks);
  same("rx_ack", c.rx_ack, seen_.acks);
  same("rx_probe", c.rx_probe, seen_.probes);
  same("rx_trimmed", c.rx_trimmed, seen_.trimmed);
  // D5: a SACK of its own for each CE mark
  if (emitted_marks_ > seen_.marks || emitted_marks_ + c.control_overflow < seen_.marks)
    same("SACKs with m = 1 (D5)", emitted_marks_, seen_.marks);
}

}  // namespace mrc::property
