// SPDX-License-Identifier: BSD-3-Clause
// What SACKs and Transport ACKs tell the requestor (2.5, 3.6; D6, D7, D15, D18).
#include <bit>
#include <cassert>

#include "transport/requestor.h"

namespace mrc::transport {

namespace {

constexpr std::int64_t kMaxOffset = 1 << 15;  // offsets of SETH are s16

std::int64_t distance(Seq a, Seq b) {
  return static_cast<std::int64_t>(a - b);
}
Seq moved(Seq s, std::int32_t by) {
  return s + static_cast<std::uint64_t>(static_cast<std::int64_t>(by));
}

}  // namespace

void Requestor::on_sack(const wire::SackView& sack, const wire::RxMeta& meta) {
  ++ctx_.counters.rx_sack;
  const Time now = meta.arrival;
  const Seq cack = unwrap(sack.cack_psn, cack_);
  if (!in_range(sack, cack)) {  // D6 rule 1
    ++ctx_.counters.rx_sack_range;
    return;
  }
  const Seq ack = moved(cack, sack.ack_psn_offset);
  const Seq base = moved(cack, sack.sack_offset);
  const Trigger trigger = sack.pr ? find_probe(sack, meta) : find_trigger(sack, ack, meta);  // D6 rule 2
  note_mark(sack, trigger, now);

  // D6 rule 3: what any SACK says to have come has come, however old the SACK.
  received_up_to(cack, now);
  received_word(base, sack.sack_bitmap & window_mask(base, cack_ + 1, next_), now);
  if (!sack.pr) received_word(ack, window_mask(ack, cack_ + 1, next_) & 1, now);

  congestion(sack, cack, trigger, now);
  if (seeded_defect(Defect::kSackCompletes)) complete_up_to(cack_, now);
  infer_losses(base, sack.sack_bitmap, trigger, sack.pr ? next_ : ack, now);

  // Only probes sent after everything was known received ask for the Transport ACK.
  const bool asked = trigger.tail_probe && trigger.sent && *trigger.sent >= tail_since_;
  if (asked && only_ack_missing() && ++tail_answers_ >= 2 && now >= tail_not_before_) {
    repeat_tail(now);  // D14 line 13
  }
  check_tail(now);
  if (probe_deadline_.is_never() && ctx_.policy.tail_probe && waiting()) {
    probe_deadline_ = now + rtt_.srtt() + rtt_.reo(now);
  }
}

bool Requestor::in_range(const wire::SackView& sack, Seq cack) const {
  if (distance(cack, cack_) <= -kMaxOffset || cack >= next_) return false;
  if (!sack.pr && distance(moved(cack, sack.ack_psn_offset), next_) >= 0) return false;
  if (sack.sack_bitmap == 0) return true;
  const int top = 63 - std::countl_zero(sack.sack_bitmap);
  return distance(moved(cack, sack.sack_offset + top), next_) < 0;
}

path::EvIndex Requestor::ev_of(std::uint32_t entropy) const {
  const int ev = ctx_.evs->find_unique(entropy);
  return ev < 0 ? path::kNoEv : static_cast<path::EvIndex>(ev);
}

// D12. By the record of ack_psn; the bare entropy only when it is unique.
Requestor::Trigger Requestor::find_trigger(const wire::SackView& sack, Seq ack, const wire::RxMeta& meta) {
  Trigger t;
  if (!window_.has_record(ack, first_, next_)) {
    t.ev = ev_of(sack.entropy);
    return t;
  }
  PsnRecord& record = window_[ack];
  const Which which_one = which(record, sack);
  if (which_one == Which::kNeither) {
    t.ev = record.transmissions() > 1 ? ev_of(sack.entropy) : record.ev();
    return t;
  }
  const bool previous = which_one == Which::kPrevious;
  const bool given_up = previous || window_.rtx.test(ack) || window_.held.test(ack);
  t.ev = previous ? record.prev_ev() : record.ev();
  t.repeated_report = record.reported(previous);
  record.set_reported(previous);
  if (given_up && !t.repeated_report && !sack.rtx) {
    const RtxCause cause = record.cause();
    const bool inferred = cause == RtxCause::kInferredLoss || cause == RtxCause::kEvFlush ||
                          cause == RtxCause::kAckTimeout || cause == RtxCause::kPlaneDown;
    if (inferred && record.transmissions() <= (previous ? 2 : 1)) note_spurious(t.ev, meta.arrival);
  }
  if (previous) return t;  // its send time is known modulo 8.39 ms only: it judges nobody
  t.sent = record.sent_at(meta.arrival);
  t.first_of_psn = record.transmissions() == 1;
  t.retransmission = !t.first_of_psn;
  if (*t.sent >= gaps_.last_end() && !t.repeated_report) {  // D13
    t.rtt = rtt_sample(*t.sent, sack.tx_timestamp, meta.arrival);
  }
  return t;
}

Requestor::Trigger Requestor::find_probe(const wire::SackView& sack, const wire::RxMeta& meta) {
  Trigger t;
  t.probe = true;
  const auto probe = probes_.answered(sack.probe_id());
  if (!probe) {
    t.repeated_report = true;  // answered before, or never sent
    return t;
  }
  t.ev = probe->ev;
  t.sent = probe->sent;
  t.tail_probe = probe->tail;
  if (probe->sent >= gaps_.last_end()) t.rtt = meta.arrival - probe->sent;
  return t;
}

// 5.5: the mark belongs to the EV of the trigger; each transmission is judged once.
void Requestor::note_mark(const wire::SackView& sack, const Trigger& trigger, Time now) {
  if (trigger.ev == path::kNoEv || trigger.repeated_report) return;
  if (trigger.sent) ctx_.ev_set.on_delivered(trigger.ev, *trigger.sent, now);  // D14 line 2
  if (trigger.probe && ctx_.ev_set.state(trigger.ev) == path::EvState::kAssumedBad) {
    ctx_.ev_set.on_probe_answer(trigger.ev, sack.m, now);
  } else if (sack.m == wire::EvMark::kSkipOnce || sack.m == wire::EvMark::kAlwaysSkip) {
    ctx_.ev_set.on_mark(trigger.ev, sack.m, now);
  } else if (seeded_defect(Defect::kSkipUnmarked)) {
    ctx_.ev_set.on_mark(trigger.ev, wire::EvMark::kSkipOnce, now);
  } else if (!trigger.probe) {
    ctx_.ev_set.on_clean(trigger.ev, now);
  }
}

void Requestor::received_up_to(Seq cack, Time now) {
  if (cack <= cack_) return;
  for (Seq s = cack_ + 1; s <= cack; s += 64) received_word(s, window_mask(s, cack_ + 1, cack + 1), now);
  cack_ = cack;
  if (seeded_defect(Defect::kLoseTimer)) packet_deadline_ = Time::never();
  progress(now);
  if (held_count_ != 0) release_window_nacks();
}

// Packets base + i become RCVD for each bit i (D7). `bits` lies inside (cack, next).
void Requestor::received_word(Seq base, std::uint64_t bits, Time now) {
  if (bits == 0) return;
  const std::uint64_t sent = bits & window_.sent.extract(base);
  window_.sent.clear_bits(base, sent);
  sent_count_ -= static_cast<std::uint32_t>(std::popcount(sent));
  for (std::uint64_t left = sent; left != 0; left &= left - 1) {
    const PsnRecord& record = window_[base + static_cast<unsigned>(std::countr_zero(left))];
    charged_bytes_ -= record.nominal_bytes();
    if (record.transmissions() == 1) ctx_.ev_set.on_delivered(record.ev(), record.sent_at(now), now);
  }
  if ((rtx_count_ | held_count_) == 0) return;
  const std::uint64_t queued = bits & window_.rtx.extract(base);
  const std::uint64_t held = bits & window_.held.extract(base);
  for (std::uint64_t left = queued | held; left != 0; left &= left - 1) {
    const std::uint32_t nominal =
        window_[base + static_cast<unsigned>(std::countr_zero(left))].nominal_bytes();
    ctx_.cc.on_received_after_given_up(nominal);  // rcvd_bytes subtracts it a second time
    share_bytes_ += nominal;
  }
  window_.held.clear_bits(base, held);
  held_count_ -= static_cast<std::uint32_t>(std::popcount(held));
  window_.rtx.clear_bits(base, queued);
  rtx_count_ -= static_cast<std::uint32_t>(std::popcount(queued));
  if (queued != 0) rtx_low_ = rtx_count_ == 0 ? next_ : window_.rtx.find_set(rtx_low_, next_);
}

void Requestor::progress(Time now) {
  if (!seeded_defect(Defect::kKeepRetryCount)) k_ = 0;  // D13, C17
  tail_answers_ = 0;
  probe_run_ = 0;
  progress_deadline_ = now + budget_;
}

// D6 rules 4 and 5, D7.
void Requestor::congestion(const wire::SackView& sack, Seq cack, const Trigger& trigger, Time now) {
  std::int32_t units = sack.rcvd_bytes - rcvd_units_;
  if (seeded_defect(Defect::kCountOldSack) && units < 0) units = -units;
  const bool newest = units >= 0 && cack >= newest_cack_;
  if (!newest) ++ctx_.counters.rx_sack_old;
  if (trigger.rtt) rtt_.add(*trigger.rtt, now, !trigger.probe);
  if (trigger.rtt && trigger.first_of_psn) {
    full_queues_.on_passed((*ctx_.evs)[trigger.ev].port, *trigger.sent, now, rtt_.memory());
    ctx_.ev_set.on_rtt(trigger.ev, *trigger.rtt, now);
  }

  cc::AckSignal signal;
  if (units > 0) {
    rcvd_units_ = sack.rcvd_bytes;
    signal.newly_received_bytes = std::int64_t{units} * 256;
    share_bytes_ -= signal.newly_received_bytes;
  }
  if (units > 0 || !trigger.repeated_report) {
    signal.marked = sack.m == wire::EvMark::kSkipOnce && !trigger.repeated_report;
    if (!trigger.probe) signal.rtt = trigger.rtt;  // D18. Probes are smaller than data
    signal.rcv_cwnd_pen = sack.rcv_cwnd_pen;
    signal.restore_cwnd = sack.restore_cwnd;
    ctx_.cc.on_ack(signal, now);
  }
  if (!newest) return;
  newest_cack_ = cack;
  if (ctx_.attr.dynamic_mpr && sack.mpr != 0) {  // D16. 0 is "no change"
    mpr_pkts_ = std::min<std::uint32_t>(sack.mpr, ctx_.attr.mpr) * kPsnsPerMprUnit;
  }
  if (ctx_.policy.inflight_resync) resync_share(sack, cack);
}

// D7. What is charged bounds the share; with nothing received above cack the two are the same. Without this a
// peer that counts otherwise leaks the window away.
void Requestor::resync_share(const wire::SackView& sack, Seq cack) {
  if (cack < cack_) return;  // a Transport ACK is ahead: what only it told of is not in rcvd_bytes yet
  // A peer's bitmap may begin below cack; a wide window may hold more than its 64 bits show.
  const std::uint64_t above = sack.sack_bitmap & window_mask(moved(cack, sack.sack_offset), cack + 1, next_);
  const bool nothing_above = sack.ooo_count == 0 && above == 0 && (sack.pr || sack.ack_psn_offset <= 0);
  const std::int64_t target = nothing_above || share_bytes_ > charged_bytes_ ? charged_bytes_ : share_bytes_;
  ctx_.cc.adjust_inflight(target - share_bytes_);
  share_bytes_ = target;
}

void Requestor::on_ack(const wire::AckView& ack, const wire::RxMeta& meta) {
  ++(ack.is_ack() ? ctx_.counters.rx_ack : ctx_.counters.rx_nak);
  const Seq seq = unwrap(ack.psn, cack_);
  if (distance(seq, cack_) <= -kMaxOffset || seq >= next_) {  // D15
    ++ctx_.counters.rx_ack_range;
    return;
  }
  if (!ack.is_ack()) {
    on_nak(ack, seq, meta.arrival);
    return;
  }
  received_up_to(seq, meta.arrival);
  complete_up_to(seq, meta.arrival);
  if (seq >= acked_) {
    acked_ = seq;
    const auto completed = static_cast<std::uint32_t>(sq_.completed_index() & 0xFFFFFF);
    if (completed != (ack.msn & 0xFFFFFF)) ++ctx_.counters.rx_ack_msn_mismatch;  // cross-check only
  }
  check_tail(meta.arrival);
}

// Requests with last PSN <= seq complete in order; a SACK never does that (2.5).
void Requestor::complete_up_to(Seq seq, Time now) {
  bool any = false;
  while (sq_.unacked() != 0 && sq_[sq_.completed_index()].last() <= seq) {
    if (sq_[sq_.completed_index()].with_immediate()) --wimm_inflight_;
    sq_.complete_oldest();
    any = true;
  }
  if (any) progress(now);
}

// D17. What lies before the failing packet was executed; the request that holds it carries the error.
void Requestor::on_nak(const wire::AckView& ack, Seq seq, Time now) {
  WcStatus status = WcStatus::kSuccess;
  switch (static_cast<wire::Syndrome>(ack.syndrome)) {
    case wire::Syndrome::kInvalidRequest:
      status = WcStatus::kRemInvReqErr;
      break;
    case wire::Syndrome::kRemoteAccess:
      status = WcStatus::kRemAccessErr;
      break;
    case wire::Syndrome::kRemoteOperational:
      status = WcStatus::kRemOpErr;
      break;
    case wire::Syndrome::kAck:
      break;
  }
  const bool open = sq_.unacked() != 0 || offset_bytes_ != 0;
  if (status == WcStatus::kSuccess || !open || seq < sq_[sq_.completed_index()].first) {
    ++ctx_.counters.rx_ack_range;  // a code that MRC has no use for (1.4), or a request that is complete
    return;
  }
  received_up_to(seq - 1, now);
  complete_up_to(seq - 1, now);
  failure_ = status;
}

}  // namespace mrc::transport
