// SPDX-License-Identifier: BSD-3-Clause
// What may be sent, as which packet, over which EV (2.1 - 2.3; D2, D3, D10).
#include <algorithm>
#include <bit>
#include <cassert>

#include "transport/requestor.h"
#include "wire/sizes.h"

namespace mrc::transport {

namespace {

wire::Opcode opcode_of(const SendWr& wr, std::uint32_t index) {
  const bool last = index + 1 == wr.packets;
  const bool imm = wr.with_immediate();
  if (wr.packets == 1) return imm ? wire::Opcode::kWriteOnlyImm : wire::Opcode::kWriteOnly;
  if (last) return imm ? wire::Opcode::kWriteLastImm : wire::Opcode::kWriteLast;
  return index == 0 ? wire::Opcode::kWriteFirst : wire::Opcode::kWriteMiddle;
}

}  // namespace

std::uint32_t Requestor::work_nominal_bytes(Work work) const {
  if (work == Work::kRtx) return window_[rtx_low_].nominal_bytes();
  const SendWr& wr = sq_.current();
  const std::uint32_t payload = std::min(wr.wr.length_bytes - offset_bytes_, pmtu_);
  const bool last = offset_bytes_ + payload == wr.wr.length_bytes;
  return wire::write_nominal_bytes(
      last && wr.with_immediate() ? wire::Opcode::kWriteLastImm : wire::Opcode::kWriteMiddle,
      ctx_.policy.use_timestamps, payload);
}

inline void Requestor::fill(const SendWr& wr, Seq seq, Time now, const path::EvChoice& choice,
                            TxDesc& out) const {
  const auto index = static_cast<std::uint32_t>(seq - wr.first);
  const std::uint32_t offset = index << pmtu_shift_;
  assert(index < wr.packets);
  out.source = wr.wr.local + offset;
  out.va = wr.wr.remote_va + offset;
  out.rkey = wr.wr.rkey;
  out.dmalen = wr.wr.length_bytes;  // of the whole message, in every packet (2.1)
  out.immdt = wr.wr.immdt;
  out.psn = psn_of(seq);
  out.msn = Msn{wr.msn};
  out.rqmsn = Rqmsn{wr.rqmsn};
  out.tx_timestamp = tick_of(now);
  out.payload_bytes = static_cast<std::uint16_t>(std::min(wr.wr.length_bytes - offset, pmtu_));
  out.ev = choice.ev;
  out.port = choice.port;
  out.opcode = opcode_of(wr, index);
  out.se = wr.wr.solicited && wire::has_immediate(out.opcode);  // 3.4: means something on C9 and CB alone
  out.ts = ctx_.policy.use_timestamps;
}

inline void Requestor::charge(std::uint32_t nominal_bytes) {
  ctx_.cc.on_sent(nominal_bytes);
  share_bytes_ += nominal_bytes;
  charged_bytes_ += nominal_bytes;
}

inline void Requestor::send_new(Time now, const path::EvChoice& choice, TxDesc& out) {
  SendWr& wr = sq_.current();
  if (offset_bytes_ == 0) {  // its first packet: numbers are given in posting order (2.1)
    wr.first = next_;
    wr.packets = std::max(1U, (wr.wr.length_bytes + pmtu_ - 1) >> pmtu_shift_);
    wr.msn = static_cast<std::uint16_t>(next_msn_.value());
    ++next_msn_;
    wr.rqmsn = 0;  // undefined for plain Writes: send 0
    if (wr.with_immediate()) {
      wr.rqmsn = static_cast<std::uint16_t>(next_rqmsn_.value());
      ++next_rqmsn_;
      ++wimm_inflight_;
    }
  }
  fill(wr, next_, now, choice, out);
  out.dscp = data_class_;
  out.rtx = false;
  const std::uint32_t nominal = wire::write_nominal_bytes(out.opcode, out.ts, out.payload_bytes);
  window_[next_].begin(now, choice.ev, nominal, k_);
  window_.sent.set(next_);
  ++sent_count_;
  ++next_;
  charge(nominal);
  ++ctx_.counters.tx_new;
  ctx_.counters.tx_payload_bytes += out.payload_bytes;
  offset_bytes_ += out.payload_bytes;
  if (wire::is_last(out.opcode)) {
    offset_bytes_ = 0;
    sq_.advance_current();
    ++wrs_since_ackreq_;
    wimm_since_ackreq_ += wr.with_immediate() ? 1 : 0;
  }
}

// D3. No Transport ACK comes unasked: without asking, a sender that always has work would come to stand at a
// full send queue or at max_wimm. Past half of either limit every eighth of it asks, so that a full queue
// always contains a request that asked.
inline bool Requestor::ack_wanted(bool more, const TxDesc& sent) const {
  if (!more) return true;
  if (ctx_.cc.wants_ack(full_nominal_bytes_, ctx_.policy.sack_gen_threshold)) return true;  // UET
  if (!wire::is_last(sent.opcode)) return false;
  const std::uint32_t max_wr = sq_.max_wr();
  if (sq_.unacked() * 2 >= max_wr && wrs_since_ackreq_ * 8 >= max_wr) return true;
  const std::uint32_t max_wimm = ctx_.attr.max_wimm;
  return wire::has_immediate(sent.opcode) && wimm_inflight_ * 2 >= max_wimm &&
         wimm_since_ackreq_ * 8 >= max_wimm;
}

std::size_t Requestor::next_packets(Time now, PortCredits& credits, std::span<TxDesc> out) {
  if (ctx_.state != QpState::kRts || out.empty()) return 0;
  std::uint32_t free_ports = credits.free_mask();
  const bool was_unsettled = unsettled();
  Work work = next_work();
  bool more = work != Work::kNone && permitted(work);
  std::size_t n = 0;
  bool no_ev = false;
  while (more && free_ports != 0 && n < out.size()) {
    const bool is_repeat = work == Work::kTailRepeat;
    const Seq seq = work == Work::kNew ? next_ : work == Work::kRtx ? rtx_low_ : tail_seq();
    const path::EvChoice choice =
        work == Work::kNew ? ctx_.ev_set.choose(now, free_ports) : choose_again(seq, now, free_ports);
    no_ev = choice.ev == path::kNoEv;
    if (no_ev) break;
    TxDesc& desc = out[n++];
    if (work == Work::kNew) {
      send_new(now, choice, desc);
    } else {
      send_again(now, seq, work == Work::kRtx, choice, desc);
    }
    if (--credits.credits[choice.port] == 0) free_ports &= ~(1U << choice.port);
    work = next_work();
    more = work != Work::kNone && permitted(work);
    desc.a = is_repeat || ack_wanted(more && !choice.fallback, desc);  // D14 line 13, D3
    if (desc.a) wrs_since_ackreq_ = wimm_since_ackreq_ = 0;
  }
  if (n != 0) note_sent(now, was_unsettled);
  if ((no_ev || (more && credits.up_mask == 0)) && stall_deadline_.is_never()) {
    // D9. No EV although a port is free: each interval(k) that passes so is an expiry of the timer.
    if (ctx_.retry.enabled()) stall_deadline_ = now + interval();
  }
  const bool stalled = work == Work::kNone && rtx_count_ == 0 && sq_.has_unsent() && wimm_limit_reached();
  if (stalled && !wimm_stalled_) ++ctx_.counters.wimm_stalls;
  wimm_stalled_ = stalled;
  return n;
}

path::EvChoice Requestor::choose_again(Seq seq, Time now, std::uint32_t free_ports) {
  // The tail that is repeated may be older than the records: then another way than the last repeat's (D14
  // line 13), or every one would have its answer from the same plane.
  const bool known = window_.has_record(seq, first_, next_);
  path::Avoid avoid;
  avoid.ev = known ? window_[seq].ev() : repeat_ev_;
  if (avoid.ev != path::kNoEv) {
    avoid.port = (*ctx_.evs)[avoid.ev].port;
    if (seeded_defect(Defect::kSameEv) && (free_ports >> avoid.port & 1) != 0) {
      return {.ev = avoid.ev, .port = static_cast<std::uint8_t>(avoid.port)};
    }
  }
  return ctx_.ev_set.choose_for_retransmission(now, free_ports, avoid);
}

// Timers of what was just sent (D13, D14 line 1).
void Requestor::note_sent(Time now, bool was_unsettled) {
  if (ctx_.retry.enabled()) packet_deadline_ = earlier(packet_deadline_, now + interval());
  if (!was_unsettled) progress_deadline_ = now + budget_;
  stall_deadline_ = Time::never();
  probe_run_ = 0;
  if (ctx_.policy.tail_probe) {
    probe_deadline_ = now + rtt_.srtt() * 5 / 4 + (rtt_.reo(now) - rtt_.base());
  }
}

// Same opcode, PSN, METH, RETH, ImmDt and payload; rtx = 1, a fresh timestamp and EV (2.4). A repeat of the
// tail carries what was received before: it is not charged (D14 line 13).
void Requestor::send_again(Time now, Seq seq, bool charged, const path::EvChoice& choice, TxDesc& out) {
  fill(sq_.holding(seq, offset_bytes_ != 0), seq, now, choice, out);
  if (seeded_defect(Defect::kWrongOffset)) out.source += pmtu_;
  out.dscp = rtx_class_;
  out.rtx = true;
  RtxCause cause = RtxCause::kTailRepeat;
  if (charged) {
    PsnRecord& record = window_[seq];
    cause = record.cause();
    window_.rtx.clear(seq);
    --rtx_count_;
    rtx_low_ = rtx_count_ == 0 ? next_ : window_.rtx.find_set(seq + 1, next_);
    window_.sent.set(seq);
    ++sent_count_;
    charge(record.nominal_bytes());
  } else {
    tail_repeat_due_ = false;
    repeat_ev_ = choice.ev;
  }
  if (window_.has_record(seq, first_, next_)) window_[seq].again(now, choice.ev, k_);
  ++ctx_.counters.tx_rtx;
  ++ctx_.counters.rtx_by_cause[static_cast<std::size_t>(cause)];
}

// The newest packet sent of the oldest request that no Transport ACK has ended.
Seq Requestor::tail_seq() const {
  const SendWr& oldest = sq_[sq_.completed_index()];
  return std::min(oldest.last(), next_ - 1);
}

std::size_t Requestor::next_probes(Time now, PortCredits& credits, std::span<ControlDesc> out) {
  if (ctx_.state != QpState::kRts) return 0;
  std::size_t n = 0;
  while (probe_due_ && n < out.size() && credits.free_mask() != 0) {
    const path::EvIndex ev = ctx_.ev_set.next_probe(now, credits.free_mask());
    if (ev == path::kNoEv) break;
    emit_probe(ev, now, false, credits, out[n++]);
  }
  probe_due_ =
      probe_due_ && ctx_.ev_set.next_probe_deadline() <= now;  // what is due still waits for its port
  if (tail_probes_due_ != 0) n += next_tail_probes(now, credits, out.subspan(n));
  return n;
}

// D14 line 11: a plane each, the EV most recently proven there; where there is one plane, one probe fewer.
// The next ones of a plane, until news comes, go over its other EVs: what was proven before the silence need
// not be alive.
std::size_t Requestor::next_tail_probes(Time now, PortCredits& credits, std::span<ControlDesc> out) {
  std::size_t n = 0;
  while (tail_probes_due_ != 0 && n < out.size() && credits.free_mask() != 0) {
    const path::EvIndex ev = tail_probe_ev(credits.free_mask() & tail_planes_);
    if (ev != path::kNoEv) {
      tail_planes_ &= ~(1U << (*ctx_.evs)[ev].port);
      --tail_probes_due_;
      emit_probe(ev, now, true, credits, out[n++]);
      continue;
    }
    // Every plane has had one. The one too many is for another plane only (D14 line 11).
    const int planes = std::popcount(~tail_planes_);
    const bool again = planes > 1 || (planes == 1 && tail_probes_due_ > 1);
    if (!again) tail_probes_due_ = 0;
    if (again) tail_round_ = (tail_round_ + 1) % kTailRounds;
    tail_planes_ = ~0U;
  }
  return n;
}

path::EvIndex Requestor::tail_probe_ev(std::uint32_t planes) const {
  path::EvIndex best = path::kNoEv;
  for (std::uint32_t left = planes; left != 0; left &= left - 1) {
    const auto port = static_cast<std::uint8_t>(std::countr_zero(left));
    const path::EvChoice choice = ctx_.ev_set.choose_for_control(1U << port, port);
    if (choice.ev == path::kNoEv) continue;
    if (best == path::kNoEv || ctx_.ev_set.proof(choice.ev) > ctx_.ev_set.proof(best)) best = choice.ev;
  }
  for (std::uint32_t i = 0; best != path::kNoEv && i < tail_round_; ++i)
    best = ctx_.ev_set.next_in_rotation(best);
  return best;
}

// A probe shares the fate of the data: data class, the EV under test (4.1).
void Requestor::emit_probe(path::EvIndex ev, Time now, bool tail, PortCredits& credits, ControlDesc& out) {
  out.opcode = wire::Opcode::kProbe;
  out.ev = ev;
  out.port = (*ctx_.evs)[ev].port;
  out.dscp = data_class_;
  out.entropy = (*ctx_.evs)[ev].entropy;
  out.probe = wire::ProbeView{};
  out.probe.probe_id = probes_.begin(ev, now, tail);
  out.probe.spdcid = ctx_.spdcid();
  out.probe.dpdcid = ctx_.dpdcid();
  out.probe.tx_timestamp = tick_of(now);
  --credits.credits[out.port];
  ++ctx_.counters.tx_probe;
}

}  // namespace mrc::transport
