// SPDX-License-Identifier: BSD-3-Clause
// What is given up, why, and who is blamed for it (2.4; D7, D8, D9, D11, D12).
#include <bit>
#include <cassert>

#include "transport/requestor.h"

namespace mrc::transport {

namespace {

constexpr std::int32_t kTickTolerance = 2;            // D18
constexpr Duration kTickMemory = microseconds(8300);  // a reflected timestamp wraps after 8.39 ms

bool agrees(Tick a, Tick b) {
  const std::int32_t d = a - b;
  return d >= -kTickTolerance && d <= kTickTolerance;
}

// Index into QpCounters::rx_nack_by_reason.
std::size_t reason_index(wire::NackReason reason) {
  switch (reason) {
    case wire::NackReason::kTrimmed:
      return 0;
    case wire::NackReason::kTrimmedLasthop:
      return 1;
    case wire::NackReason::kNoBitmap:
      return 2;
    case wire::NackReason::kNoPktBuffer:
      return 3;
    case wire::NackReason::kNoResource:
      return 4;
    case wire::NackReason::kPsnOorWindow:
      return 5;
    case wire::NackReason::kUnexpEvent:
      return 6;
  }
  return 7;
}

}  // namespace

// D12. Of the last two transmissions of a PSN, told apart by the reflected entropy, then by the timestamp.
// Older ones may have had the same EV: there the timestamp has to agree as well (D18), and without one C41
// and the number of transmissions must leave no doubt.
Requestor::Which Requestor::which(const PsnRecord& record, const wire::SackView& sack) const {
  if (record.transmissions() == 1 && record.prev_ev() == path::kNoEv) return Which::kCurrent;
  const Tick tick = sack.tx_timestamp;
  const auto same = [&](path::EvIndex ev) {
    return ev != path::kNoEv && (*ctx_.evs)[ev].entropy == sack.entropy;
  };
  const bool current = same(record.ev());
  const bool previous = same(record.prev_ev());
  if (current != previous) {
    if (record.transmissions() > 2) {
      const bool certain = tick.value() != 0 ? agrees(tick, current ? record.tick() : record.prev_tick())
                                             : sack.rtx && record.transmissions() == 3;
      if (!certain) return Which::kNeither;
    }
    return current ? Which::kCurrent : Which::kPrevious;
  }
  if (!current || tick.value() == 0) return Which::kNeither;
  if (agrees(tick, record.tick())) return Which::kCurrent;
  return agrees(tick, record.prev_tick()) ? Which::kPrevious : Which::kNeither;
}

// D18. The reflected timestamp counts where the record bears it out; the record gives what is below a tick,
// and everything where the timestamp can not be right.
Duration Requestor::rtt_sample(Time sent, Tick reflected, Time now) const {
  const Duration by_record = now - sent;
  const bool borne_out = by_record < kTickMemory && agrees(reflected, tick_of(sent));
  if (!ctx_.policy.use_timestamps || !borne_out) return by_record;
  return by_record - kTick * std::int64_t{reflected - tick_of(sent)};
}

// D8. What leaves over a plane may be overtaken by so much.
Duration Requestor::reo_of(unsigned plane, Time now) const {
  if (seeded_defect(Defect::kNoReordering)) return {};
  return full_queues_.untold(plane, now) ? rtt_.largest_reo(now) : rtt_.reo(now);
}

// D8. P is lost when a SACK covers it with a 0 bit and it left reo before the trigger, or before the trigger
// on the trigger's EV in the same class.
void Requestor::infer_losses(Seq base, std::uint64_t bitmap, const Trigger& trigger, Seq ack, Time now) {
  if (!trigger.sent) return;
  // First transmissions leave in order: above a trigger that is one, nothing left before it.
  const Seq end = trigger.first_of_psn ? ack : next_;
  const std::uint64_t covered = ~bitmap & window_mask(base, cack_ + 1, end);
  if (covered == 0) return;
  const Time ts = *trigger.sent;
  const wire::DscpClass trigger_class = trigger.retransmission ? rtx_class_ : data_class_;
  for (std::uint64_t left = covered & window_.sent.extract(base); left != 0; left &= left - 1) {
    const Seq seq = base + static_cast<unsigned>(std::countr_zero(left));
    if (!window_.sent.test(seq)) continue;  // flushed with an earlier one
    const PsnRecord& record = window_[seq];
    const Time sent = record.sent_at(now);
    const wire::DscpClass its_class = record.transmissions() == 1 ? data_class_ : rtx_class_;
    const Duration reo = reo_of((*ctx_.evs)[record.ev()].port, now);
    const bool by_time = ctx_.policy.time_order && sent + reo <= ts;
    const bool by_ev =
        ctx_.policy.ev_order && record.ev() == trigger.ev && its_class == trigger_class && sent < ts;
    if (by_time || by_ev) lose(seq, RtxCause::kInferredLoss, now);
  }
}

// D14 lines 5 and 6.
void Requestor::lose(Seq seq, RtxCause cause, Time now) {
  const path::EvIndex ev = window_[seq].ev();
  const Time since = window_[seq].sent_at(now);
  give_up(seq, cause);
  ctx_.cc.on_loss(window_[seq].nominal_bytes(), now);
  // The verdict is the EV set's (D9); a condemned EV, or the plane that fell with it, is probed at once.
  pace_evs(now);
  const bool timeout = cause == RtxCause::kAckTimeout;
  const path::LossVerdict verdict =
      ctx_.ev_set.on_loss(ev, timeout ? path::EvCause::kAckTimeout : path::EvCause::kLoss, since, now);
  probe_due_ = probe_due_ || verdict.bad || !verdict.plane_down_since.is_never();
  if (verdict.bad && ctx_.policy.ev_flush) {
    flush_sent(
        RtxCause::kEvFlush, [&](const PsnRecord& r) { return r.ev() == ev && r.sent_at(now) >= since; }, now);
  }
  if (!verdict.plane_down_since.is_never() && !seeded_defect(Defect::kNoPlaneFlush)) {
    flush_planes(1U << (*ctx_.evs)[ev].port, verdict.plane_down_since, now);
  }
}

// Packets that share the fate of a lost one: SENT -> RTX for each record that `match` names.
template <class Match>
void Requestor::flush_sent(RtxCause cause, Match match, Time now) {
  for (Seq base = cack_ + 1; base < next_; base += 64) {
    std::uint64_t left = window_.sent.extract(base) & window_mask(base, base, next_);
    for (; left != 0; left &= left - 1) {
      const Seq seq = base + static_cast<unsigned>(std::countr_zero(left));
      if (!match(window_[seq])) continue;
      give_up(seq, cause);
      ctx_.cc.on_loss(window_[seq].nominal_bytes(), now);
    }
  }
}

// A local port went down: what is on its way over that plane is gone, and it says nothing of the EVs (D9).
void Requestor::on_port_change(std::uint8_t port, bool up, Time now) {
  ctx_.ev_set.set_port_usable(port, up);
  if (!up) flush_planes(1U << port, Time{}, now);
}

// The same at the peer's end, as it reports (MRC 7.4.8). What left a round trip before the report came
// arrived while the port was up: it is about to be acknowledged.
void Requestor::on_peer_ports(std::uint32_t up_mask, Time now) {
  flush_planes(ctx_.ev_set.set_peer_ports(up_mask), now - rtt_.base(), now);
}

// What left over these planes at `since` or later will not arrive (D9, D14 line 8).
void Requestor::flush_planes(std::uint32_t planes, Time since, Time now) {
  if (planes == 0 || ctx_.state != QpState::kRts) return;
  flush_sent(
      RtxCause::kPlaneDown,
      [&](const PsnRecord& r) {
        return (planes >> (*ctx_.evs)[r.ev()].port & 1U) != 0 && r.sent_at(now) >= since;
      },
      now);
}

// SENT -> given up: not charged any more (D7).
void Requestor::uncharge(Seq seq) {
  assert(window_.sent.test(seq));
  const std::uint32_t nominal = window_[seq].nominal_bytes();
  window_.sent.clear(seq);
  --sent_count_;
  share_bytes_ -= nominal;
  charged_bytes_ -= nominal;
  if (seeded_defect(Defect::kUnchargeTwice)) {
    share_bytes_ -= nominal;
    ctx_.cc.adjust_inflight(-std::int64_t{nominal});
  }
}

// SENT -> RTX. The caller tells congestion control, each cause in its own way.
void Requestor::give_up(Seq seq, RtxCause cause) {
  uncharge(seq);
  window_[seq].set_cause(cause);
  window_.rtx.set(seq);
  if (rtx_count_++ == 0 || seq < rtx_low_) rtx_low_ = seq;
}

// SENT -> HELD: sent again, but not before `until` (D11).
void Requestor::hold(Seq seq, RtxCause cause, Time until) {
  uncharge(seq);
  ctx_.cc.adjust_inflight(-std::int64_t{window_[seq].nominal_bytes()});  // D11. Inflight only
  window_[seq].set_cause(cause);
  window_[seq].hold(until);
  window_.held.set(seq);
  ++held_count_;
  held_deadline_ = earlier(held_deadline_, until);
}

void Requestor::release_held(Seq seq) {
  window_.held.clear(seq);
  --held_count_;
  window_.rtx.set(seq);
  if (rtx_count_++ == 0 || seq < rtx_low_) rtx_low_ = seq;
}

// D9. The transmission given up arrived after all.
void Requestor::note_spurious(path::EvIndex ev, Time now) {
  ++ctx_.counters.spurious_rtx;
  rtt_.on_spurious(now);
  ctx_.ev_set.on_spurious(ev, now);
}

void Requestor::on_nack(const wire::NackView& nack, const wire::RxMeta& meta) {
  const Time now = meta.arrival;
  const std::size_t index = reason_index(nack.reason);
  ++ctx_.counters.rx_nack;
  ++ctx_.counters.rx_nack_by_reason[index];
  if (index == 7) return;  // unknown: the timer covers it (D11, C32)
  const Seq seq = unwrap(nack.nack_psn, cack_);
  const bool known = window_.has_record(seq, first_, next_);
  Which match = Which::kNeither;
  path::EvIndex ev = path::kNoEv;
  bool repeated = false;
  if (known) {
    PsnRecord& record = window_[seq];
    match = which_nacked(record, nack.entropy, nack.tx_timestamp);
    if (match != Which::kNeither) {
      const bool previous = match == Which::kPrevious;
      ev = previous ? record.prev_ev() : record.ev();
      repeated = record.reported(previous);
      record.set_reported(previous);
    }
  }
  if (match == Which::kNeither) ev = ev_of(nack.entropy);
  // EV feedback even for a PSN that is settled: the queue was full on that path (5.5).
  if (nack.reason == wire::NackReason::kTrimmed && ev != path::kNoEv && !repeated)
    ctx_.ev_set.on_trimmed(ev, now);
  if (index < 2 && match == Which::kCurrent)
    full_queues_.on_trimmed((*ctx_.evs)[ev].port, window_[seq].sent_at(now), now, rtt_.memory());
  const bool open = seq > cack_ && seq < next_ &&
                    (window_.sent.test(seq) || window_.rtx.test(seq) || window_.held.test(seq));
  if (!open) {
    ++ctx_.counters.rx_nack_stale;
    return;
  }
  if (nack.reason == wire::NackReason::kUnexpEvent) {
    failure_ = WcStatus::kRemOpErr;  // never retransmitted
  } else if ((match == Which::kCurrent || seeded_defect(Defect::kNackAnyCopy)) && window_.sent.test(seq)) {
    nack_matched(nack.reason, seq, nack.tx_timestamp, now);
  } else if (index < 2 && !repeated) {
    cc::NackSignal signal;  // not charged any more: a signal, nothing to subtract (D7)
    signal.reason = nack.reason;
    signal.nominal_bytes = window_[seq].nominal_bytes();
    ctx_.cc.on_nack(signal, now);
  }
}

// D11. The timestamp tells, else the EV.
Requestor::Which Requestor::which_nacked(const PsnRecord& record, std::uint32_t entropy, Tick tick) const {
  const bool two = record.prev_ev() != path::kNoEv;
  if (tick.value() != 0) {
    const bool current = agrees(tick, record.tick());
    const bool previous = two && agrees(tick, record.prev_tick());
    if (current != previous) return current ? Which::kCurrent : Which::kPrevious;
    if (!current) return Which::kNeither;
  }
  const auto same = [&](path::EvIndex ev) { return ev != path::kNoEv && (*ctx_.evs)[ev].entropy == entropy; };
  if (same(record.ev())) return Which::kCurrent;
  return two && same(record.prev_ev()) ? Which::kPrevious : Which::kNeither;
}

// D11's table, for the transmission that is charged.
void Requestor::nack_matched(wire::NackReason reason, Seq seq, Tick reflected, Time now) {
  PsnRecord& record = window_[seq];
  switch (reason) {
    case wire::NackReason::kTrimmed:
    case wire::NackReason::kTrimmedLasthop: {
      cc::NackSignal signal;
      signal.reason = reason;
      signal.charged_bytes = signal.nominal_bytes = record.nominal_bytes();
      const Time sent = record.sent_at(now);
      if (sent >= gaps_.last_end()) {
        signal.rtt = rtt_sample(sent, reflected, now);
        rtt_.add(*signal.rtt, now, false);  // a torso goes ahead, as a probe does
      }
      give_up(seq, RtxCause::kNackTrimmed);
      ctx_.cc.on_nack(signal, now);
      if (seeded_defect(Defect::kCountTrims) && seq == cack_ + 1) count_retry();
      return;
    }
    case wire::NackReason::kNoBitmap:
    case wire::NackReason::kNoPktBuffer:
    case wire::NackReason::kNoResource: {
      const unsigned n = record.resource_nacks();  // that came before, in a row
      hold(seq, RtxCause::kNackResource,
           now + std::min(rtt_.base() * (std::int64_t{1} << n), longest_wait()));
      if (seq == cack_ + 1 && now - resource_counted_at_ >= rtt_.base()) {
        resource_counted_at_ = now;
        count_retry();
      }
      return;
    }
    case wire::NackReason::kPsnOorWindow:
      hold(seq, RtxCause::kNackWindow, now + (ctx_.retry.enabled() ? interval() : longest_wait()));
      return;
    case wire::NackReason::kUnexpEvent:
      return;
  }
}

}  // namespace mrc::transport
