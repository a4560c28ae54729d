// SPDX-License-Identifier: BSD-3-Clause
#include "transport/responder.h"

#include <algorithm>
#include <cassert>

namespace mrc::transport {

namespace {

constexpr Seq kNone = 0;  // no Seq is ever 0 (first_seq)

// Responder flow control (6.5): percent in use, and the field's largest value.
constexpr unsigned kPenaltyFrom = 25;
constexpr unsigned kPenaltyFull = 75;
constexpr unsigned kMostPenalty = 127;

wire::NackReason reason_of(Access access) {
  switch (access) {
    case Access::kNoPktBuffer:
      return wire::NackReason::kNoPktBuffer;
    case Access::kNoResource:
      return wire::NackReason::kNoResource;
    default:
      return wire::NackReason::kUnexpEvent;
  }
}

}  // namespace

Responder::Responder(QpContext& context)
    : ctx_(context),
      received_(context.limits.max_mpr_dest * kPsnsPerMprUnit),
      in_memory_(received_.capacity() - 64),
      last_(received_.capacity() - 64),
      imm_(received_.capacity() - 64),
      asked_(received_.capacity() - 64),
      stash_(std::make_unique<Stashed[]>(received_.capacity())),
      rq_(context.limits.max_recv_wr) {}

void Responder::start() {
  cack_ = max_rcv_ = placed_ = first_seq(ctx_.attr.rq_psn) - 1;
  ar_ = ar_shown_ = cack_;
  walk_.reset(cack_);
  pmtu_ = ctx_.attr.path_mtu;
  window_pkts_ = accepted_pkts_ = ctx_.attr.mpr_dest * kPsnsPerMprUnit;
  nak_repeat_at_ = Time{};
}

// Only the peer holds back: what it sends by an older window is still accepted (edge(), D16).
void Responder::set_window(std::uint8_t blocks) {
  if (!ctx_.attr.dynamic_mpr || !ctx_.can_receive()) return;
  window_pkts_ = std::clamp<std::uint32_t>(blocks, 1, ctx_.attr.mpr_dest) * kPsnsPerMprUnit;
}

// Linear between a quarter and three quarters (6.5).
void Responder::set_occupancy(unsigned percent) {
  if (!ctx_.policy.receive_penalty || !ctx_.can_receive()) return;
  const unsigned above = std::clamp(percent, kPenaltyFrom, kPenaltyFull) - kPenaltyFrom;
  penalty_ = static_cast<std::uint8_t>(above * kMostPenalty / (kPenaltyFull - kPenaltyFrom));
}

void Responder::reset() {
  stop();
  penalty_ = 0;
  told_penalty_ = false;
  rq_.reset();
  for (BitRing* ring : {&received_, &in_memory_, &last_, &imm_, &asked_}) ring->reset();
  rcvd_bytes_ = messages_ = delivered_ = 0;
  ooo_count_ = trigger_bytes_ = stash_count_ = 0;
  failing_ = kNone;
  failed_ = nak_due_ = false;
}

void Responder::stop() {
  rq_.flush();
  queue_.clear();
  sack_due_ = ack_due_ = false;
}

std::size_t Responder::bytes() const {
  return 5 * received_.bytes() + received_.capacity() * sizeof(Stashed) + rq_.bytes();
}

// 3.2. The order of the checks decides what a peer sees: window, duplicate, form, access.
WriteVerdict Responder::on_write(const wire::WriteView& write, const wire::RxMeta& meta, Access access) {
  ++ctx_.counters.rx_write;
  ctx_.counters.rx_ce += meta.ce ? 1 : 0;
  if (!ctx_.can_receive()) {
    ++ctx_.counters.rx_bad_state;
    in_error(meta);
    return WriteVerdict::kDrop;
  }
  heard(meta);
  Seq seq = unwrap(write.bth.psn, cack_ + 1);
  if (seeded_defect(Defect::kForgetWrap)) seq = (cack_ & ~Seq{Psn::kMask}) + write.bth.psn.value();
  const bool seen = seq <= max_rcv_ && received_.test(seq) && !seeded_defect(Defect::kAcceptDuplicate);
  if (seq <= cack_ || seen) return duplicate(write, meta, seq);
  if (seq > edge()) {
    ++ctx_.counters.rx_out_of_window;
    return refuse(write, meta, wire::NackReason::kPsnOorWindow);
  }
  // Placement that lags leaves no bit to track this packet: transient, so a NACK (T7-3).
  if (seq - placed_ > received_.capacity() - 64) return refuse(write, meta, wire::NackReason::kNoBitmap);
  if (access > Access::kDenied) return refuse(write, meta, reason_of(access));
  if (seq == failing_) return WriteVerdict::kError;
  if (!well_formed(write)) {
    ++ctx_.counters.rx_invalid;
    return fail_at(seq, wire::Syndrome::kInvalidRequest);
  }
  // Zero length: va and rkey are not checked (2.1).
  if (access == Access::kDenied && write.dmalen != 0) {
    ++ctx_.counters.rx_access;
    return fail_at(seq, wire::Syndrome::kRemoteAccess);
  }
  if (wire::has_immediate(write.bth.opcode)) {
    if (stash_count_ >= ctx_.attr.max_wimm_dest) {  // D15, C14. The requestor broke the contract
      ++ctx_.counters.rx_invalid;
      return fail_at(seq, wire::Syndrome::kInvalidRequest);
    }
    ++stash_count_;
    stash_[seq & (received_.capacity() - 1)] = {
        write.immdt, write.dmalen, static_cast<std::uint16_t>(write.rqmsn.value()), write.bth.se};
    imm_.set(seq);
  }
  accept(write, seq);
  if (seeded_defect(Defect::kDeliverEarly) && imm_.test(seq)) deliver(seq);
  triggers(write, meta);
  return WriteVerdict::kPlace;
}

// 3.3: length and dmalen must agree with the position in the message.
bool Responder::well_formed(const wire::WriteView& write) const {
  const wire::Opcode op = write.bth.opcode;
  if (!wire::is_write(op) || write.dmalen > kMaxMessageBytes) return false;
  const bool only = wire::is_first(op) && wire::is_last(op);
  if (only ? write.dmalen > pmtu_ : write.dmalen <= pmtu_) return false;
  return write.payload_bytes == length_of(op, write.dmalen);
}

// D17. Not marked received; the NAK waits until everything before it is placed (C28).
WriteVerdict Responder::fail_at(Seq seq, wire::Syndrome nak) {
  if (failing_ == kNone || seq < failing_) {
    failing_ = seq;
    failing_nak_ = nak;
  }
  check_nak();
  return WriteVerdict::kError;
}

void Responder::check_nak() {
  if (failing_ == kNone || placed_ + 1 != failing_) return;
  failed_ = true;
  owe(nak_due_);
}

// Over the plane of the packet that made it due (D5): it has just come through.
void Responder::owe(bool& due) {
  due = true;
  ack_port_ = heard_port_;
  ack_entropy_ = heard_entropy_;
}

// T7-3, C6. PSN_OOR_WINDOW is mandatory, so somebody has to send it.
WriteVerdict Responder::refuse(const wire::WriteView& write, const wire::RxMeta& meta,
                               wire::NackReason reason) {
  if (reason == wire::NackReason::kPsnOorWindow && !ctx_.policy.oow_nack) return WriteVerdict::kDrop;
  push_nack(write.bth, write.tx_timestamp, meta, reason);
  return WriteVerdict::kDrop;
}

void Responder::push_nack(const wire::BthView& bth, Tick tx_timestamp, const wire::RxMeta& meta,
                          wire::NackReason reason) {
  ControlTrigger t;
  t.kind = ControlTrigger::Kind::kNack;
  t.entropy = meta.entropy;
  t.psn = bth.psn;
  t.tx_timestamp = tx_timestamp;
  t.port = meta.port;
  t.reason = reason;
  if (!queue_.push(t)) ++ctx_.counters.control_overflow;
}

// Touches neither memory nor rcvd_bytes nor ooo_count.
WriteVerdict Responder::duplicate(const wire::WriteView& write, const wire::RxMeta& meta, Seq seq) {
  ++ctx_.counters.rx_duplicate;
  if (seeded_defect(Defect::kCountDuplicates)) rcvd_bytes_ += write.nominal_bytes;
  if (write.bth.a && seq > placed_) ask(seq);
  if (seq <= cack_) {  // below ePSN: Transport ACK and SACK again (3.2)
    owe(ack_due_);
    note_trigger(write.bth, write.tx_timestamp, meta, meta.ce);
    return WriteVerdict::kDuplicate;
  }
  triggers(write, meta);  // above the gap: by rtx, a, CE or threshold (C39)
  return WriteVerdict::kDuplicate;
}

// AckReq: a Transport ACK is owed when placed passes this packet, a SACK when cack does (D5).
void Responder::ask(Seq seq) {
  asked_.set(seq);
  ar_ = std::max(ar_, seq);
}

void Responder::accept(const wire::WriteView& write, Seq seq) {
  rcvd_bytes_ += write.nominal_bytes;
  ++ctx_.counters.rx_placed;
  ctx_.counters.rx_placed_bytes += write.payload_bytes;
  if (wire::is_last(write.bth.opcode)) last_.set(seq);
  if (write.bth.a) ask(seq);
  if (seq == cack_ + 1 && max_rcv_ == cack_) {  // in order, no hole: no bit needed
    cack_ = max_rcv_ = seq;
    return;
  }
  received_.set(seq);
  max_rcv_ = std::max(max_rcv_, seq);
  ++ooo_count_;
  if (seq == cack_ + 1) advance_cack();
}

// The lowest hole closed: everything up to the next one is received.
void Responder::advance_cack() {
  const Seq hole = received_.find_clear(cack_ + 1, max_rcv_ + 1);
  for (Seq s = cack_ + 1; s < hole; s += 64) received_.clear_bits(s, window_mask(s, s, hole));
  ooo_count_ -= static_cast<std::uint32_t>(hole - 1 - cack_);
  cack_ = hole - 1;
}

// 3.5 and D5. Triggers merge into one SACK, but every CE mark is reported.
void Responder::triggers(const wire::WriteView& write, const wire::RxMeta& meta) {
  trigger_bytes_ += std::max(write.payload_bytes, ctx_.policy.sack_min_add);
  const bool enough =
      trigger_bytes_ > ctx_.policy.sack_gen_threshold ||
      (trigger_bytes_ == ctx_.policy.sack_gen_threshold && !ctx_.policy.sack_beyond_threshold);
  const bool gap_closed = cack_ >= ar_ && ar_ > ar_shown_;
  const bool first = ctx_.policy.sack_first && unwrap(write.bth.psn, cack_) == first_seq(ctx_.attr.rq_psn);
  if (enough || first || gap_closed || write.bth.a || write.bth.rtx || meta.ce) {
    note_trigger(write.bth, write.tx_timestamp, meta, meta.ce);
  }
}

// Field by field into its place: a copy of what has just been put together would wait for the stores.
void Responder::note_trigger(const wire::BthView& bth, Tick tx_timestamp, const wire::RxMeta& meta, bool ce) {
  const auto reflect = [&](ControlTrigger& t) {
    t.entropy = meta.entropy;
    t.psn = bth.psn;
    t.tx_timestamp = tx_timestamp;
    t.port = meta.port;
    t.rtx = bth.rtx;
    t.ce = ce;
  };
  if (ce) [[unlikely]] {
    ControlTrigger of_its_own;
    reflect(of_its_own);
    if (queue_.push(of_its_own)) return;
    ++ctx_.counters.control_overflow;
  }
  // Of merged triggers the newest is reflected.
  sack_due_ = true;
  reflect(sack_trigger_);
}

// Payload is in memory: placed passes every packet that is (D4).
void Responder::placed(Psn psn) {
  if (!ctx_.can_receive()) return;
  const Seq seq = unwrap(psn, placed_ + 1);
  assert(seq > placed_ && seq <= max_rcv_);
  if (seq != placed_ + 1 || in_memory_.test(seq + 1)) {
    in_memory_.set(seq);
    while (in_memory_.test(placed_ + 1) && pass(placed_ + 1)) in_memory_.clear(placed_);
  } else {
    pass(seq);  // in order, nothing waits behind it: no bit needed
  }
  check_nak();
}

// One packet becomes complete: messages are counted and WriteIMMs delivered in order (3.4). False: it can
// not.
bool Responder::pass(Seq seq) {
  if (stash_count_ != 0 && imm_.test(seq) && !deliver(seq)) return false;
  placed_ = seq;
  if (last_.test(seq)) {
    last_.clear(seq);
    ++messages_;
  }
  if (asked_.test(seq)) {
    asked_.clear(seq);
    owe(ack_due_);  // C28. Only now, with no gap below
  }
  return true;
}

// A WriteIMM whose turn has come takes the oldest receive (3.4, D15).
bool Responder::deliver(Seq seq) {
  if (seq == failing_) return false;
  const Stashed& stashed = stash_[seq & (received_.capacity() - 1)];
  const Rqmsn expected = ctx_.policy.first_rqmsn + static_cast<std::int32_t>(delivered_ & Rqmsn::kMask);
  const bool mismatch = expected != Rqmsn{stashed.rqmsn};
  if (mismatch) ++ctx_.counters.rx_rqmsn_mismatch;
  if (mismatch && ctx_.policy.strict_rqmsn) {
    fail_at(seq, wire::Syndrome::kInvalidRequest);
    return false;
  }
  if (rq_.empty()) {  // there is no RNR in MRC: the QP ends (C15)
    fail_at(seq, wire::Syndrome::kRemoteOperational);
    return false;
  }
  rq_.deliver(stashed.byte_len, stashed.immdt, stashed.solicited);
  imm_.clear(seq);
  --stash_count_;
  ++delivered_;
  return true;
}

void Responder::place_failed(Psn psn, wire::Syndrome nak) {
  if (!ctx_.can_receive()) return;
  const Seq seq = unwrap(psn, placed_ + 1);
  assert(seq > placed_ && seq <= max_rcv_);
  fail_at(seq, nak);
}

// Trims are known by DSCP alone; no ICRC protects them, so they only ever cause a NACK or a SACK (3.7, 1.14).
void Responder::on_trimmed(const wire::TrimmedView& packet, const wire::RxMeta& meta) {
  ++ctx_.counters.rx_trimmed;
  if (!ctx_.can_receive()) {
    ++ctx_.counters.rx_bad_state;
    return;
  }
  if (!ctx_.attr.trim_nack) {
    ++ctx_.counters.rx_trimmed_ignored;
    return;
  }
  const Seq seq = unwrap(packet.bth.psn, cack_ + 1);
  if (seq <= cack_ || (seq <= max_rcv_ && received_.test(seq))) {
    note_trigger(packet.bth, packet.tx_timestamp, meta, false);
    return;
  }
  wire::NackReason reason = meta.trim == wire::Trim::kTrimmedLasthop ? wire::NackReason::kTrimmedLasthop
                                                                     : wire::NackReason::kTrimmed;
  if (seq > edge()) {
    ++ctx_.counters.rx_out_of_window;
    if (!ctx_.policy.oow_nack) return;
    reason = wire::NackReason::kPsnOorWindow;
  }
  push_nack(packet.bth, packet.tx_timestamp, meta, reason);
}

// Each probe is answered at once by a SACK of its own; the newest Transport ACK is repeated with it (4.1,
// D14).
void Responder::on_probe(const wire::ProbeView& probe, const wire::RxMeta& meta) {
  ++ctx_.counters.rx_probe;
  ctx_.counters.rx_ce += meta.ce ? 1 : 0;
  if (!ctx_.can_receive()) {
    ++ctx_.counters.rx_bad_state;
    in_error(meta);
    return;
  }
  heard(meta);
  ControlTrigger t;
  t.kind = ControlTrigger::Kind::kProbe;
  t.entropy = meta.entropy;
  t.probe_id = probe.probe_id;
  t.tx_timestamp = probe.has_timestamp ? probe.tx_timestamp : Tick{};
  t.port = meta.port;
  t.ce = meta.ce;
  if (!queue_.push(t)) ++ctx_.counters.control_overflow;
  if (messages_ != 0) owe(ack_due_);
}

// Were the NAK lost, the peer would take an access error for a dead path: repeat it, at most once a base RTT
// (D17).
void Responder::in_error(const wire::RxMeta& meta) {
  if (ctx_.state != QpState::kError || !failed_ || meta.arrival < nak_repeat_at_) return;
  heard(meta);
  owe(nak_due_);
}

}  // namespace mrc::transport
