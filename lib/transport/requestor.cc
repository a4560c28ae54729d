// SPDX-License-Identifier: BSD-3-Clause
#include "transport/requestor.h"
#include "wire/sizes.h"

#include <bit>

namespace mrc::transport {

Requestor::Requestor(QpContext& context)
    : ctx_(context),
      sq_(context.limits.max_send_wr),
      window_(context.limits.max_mpr * kPsnsPerMprUnit),
      rtt_(context.policy.base_rtt, context.policy.learn_base_rtt) {}

void Requestor::start(Time now) {
  cack_ = first_seq(ctx_.attr.sq_psn) - 1;
  first_ = next_ = rtx_low_ = cack_ + 1;
  newest_cack_ = acked_ = cack_;
  next_msn_ = ctx_.policy.first_msn;
  next_rqmsn_ = ctx_.policy.first_rqmsn;
  rcvd_units_ = ctx_.policy.first_rcvd_bytes;
  pmtu_ = ctx_.attr.path_mtu;
  full_nominal_bytes_ =
      wire::write_nominal_bytes(wire::Opcode::kWriteMiddle, ctx_.policy.use_timestamps, pmtu_);
  pmtu_shift_ = static_cast<std::uint8_t>(std::countr_zero(pmtu_));
  tail_not_before_ = resource_counted_at_ = now;
  mpr_pkts_ = ctx_.attr.mpr * kPsnsPerMprUnit;  // D2. Below 2^15, every offset fits s16
  // DATA TRIMMABLE only towards a responder that answers trims (1.15).
  data_class_ = ctx_.attr.trim_nack_dest ? ctx_.policy.data_class : wire::DscpClass::kNoTrim;
  rtx_class_ = ctx_.attr.trim_nack_dest ? ctx_.policy.rtx_class : wire::DscpClass::kNoTrim;
  ctx_.ev_set.set_trimming(ctx_.attr.trim_nack && ctx_.attr.trim_nack_dest);  // D9
  update_attributes();
}

void Requestor::update_attributes() {
  ctx_.retry = RetryClock(ctx_.attr.timeout, ctx_.attr.linear_cnt, ctx_.attr.exp_cnt);
  budget_ = ctx_.retry.total();
  if (sent_count_ != 0) packet_deadline_ = Time{};  // timers of what is under way: look again
}

void Requestor::reset() {
  stop(WcStatus::kWrFlushErr);
  sq_.reset();
  window_.reset();
  probes_.reset();
  gaps_.reset();
  rtt_ = RttTracker(ctx_.policy.base_rtt, ctx_.policy.learn_base_rtt);
  offset_bytes_ = wimm_inflight_ = wrs_since_ackreq_ = wimm_since_ackreq_ = 0;
  k_ = probe_run_ = tail_answers_ = 0;
  failure_ = WcStatus::kSuccess;
}

void Requestor::stop(WcStatus status) {
  sq_.fail(status);
  // D7, D17. The share of inflight goes back; the host reschedules the siblings on this QPCC.
  // A QP without one leaves the controller alone: it may be freed on another thread than its siblings run on.
  if (share_bytes_ != 0) ctx_.cc.adjust_inflight(-share_bytes_);
  share_bytes_ = charged_bytes_ = 0;
  if (told_.queued || told_.outstanding) ctx_.cc.forget_work(told_);
  window_.reset();
  sent_count_ = rtx_count_ = held_count_ = 0;
  offset_bytes_ = 0;
  packet_deadline_ = held_deadline_ = probe_deadline_ = stall_deadline_ = tail_deadline_ = Time::never();
  tail_since_ = Time::never();
  probe_due_ = tail_repeat_due_ = wimm_stalled_ = false;
  tail_probes_due_ = 0;
  repeat_ev_ = path::kNoEv;
}

bool Requestor::waiting() const {
  return unsettled() || share_bytes_ > 0;
}

// Nothing sent is in doubt, yet no Transport ACK has ended the oldest request (D14 line 13).
bool Requestor::only_ack_missing() const {
  return (sent_count_ | rtx_count_ | held_count_) == 0 && (sq_.unacked() != 0 || offset_bytes_ != 0);
}

bool Requestor::tx_ready() const {
  if (ctx_.state != QpState::kRts) return false;
  const Work work = next_work();
  return work != Work::kNone && permitted(work);
}

bool Requestor::cc_blocked() const {
  if (ctx_.state != QpState::kRts) return false;
  const Work work = next_work();
  return work != Work::kNone && !permitted(work);
}

Time Requestor::deadline() const {
  if (ctx_.state != QpState::kRts) return Time::never();
  // A probe that is due already waits for a port, not for time.
  Time d = probe_due_ ? Time::never() : ctx_.ev_set.next_probe_deadline();
  // Stalled for want of an EV: the next moment at which a condemned one may serve (D9), unless what was
  // stalled is known received by now.
  if (!stall_deadline_.is_never()) d = earlier(d, stall_deadline_);
  if (!stall_deadline_.is_never() && tx_ready()) d = earlier(d, ctx_.ev_set.next_fallback());
  if (!waiting()) return d;
  if (sent_count_ != 0) d = earlier(d, packet_deadline_);
  if (held_count_ != 0) d = earlier(d, held_deadline_);
  d = earlier(d, earlier(tail_deadline_, probe_deadline_));
  if (ctx_.retry.gives_up() && unsettled()) d = earlier(d, progress_deadline_);
  return d;
}

}  // namespace mrc::transport
