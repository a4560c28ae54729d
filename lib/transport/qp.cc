// SPDX-License-Identifier: BSD-3-Clause
#include "transport/qp.h"

#include <cassert>
#include <utility>

namespace mrc::transport {

Qp::Qp(std::uint32_t qpn, const QpLimits& limits, const QpPolicy& policy,
       std::shared_ptr<const path::EvTable> evs, cc::Qpcc& cc, std::uint64_t seed)
    : ctx_(qpn, limits, policy, std::move(evs), cc, seed),
      requestor_(ctx_),
      responder_(ctx_),
      reverse_(ctx_) {
  assert(limits.max_send_wr >= 1 && limits.max_send_wr <= 32768 && limits.max_recv_wr <= 32768);
  assert(limits.max_mpr >= 1 && limits.max_mpr_dest >= 1 && limits.max_wimm_dest >= 1);
}

Qp::~Qp() {
  requestor_.stop(WcStatus::kWrFlushErr);  // D7. The share of inflight goes back
}

PostResult Qp::post_send(const WorkRequest& wr) {
  if (ctx_.state != QpState::kRts && ctx_.state != QpState::kError) return PostResult::kBadState;
  if (wr.length_bytes > kMaxMessageBytes) return PostResult::kTooLong;
  SendQueue& sq = requestor_.send_queue();
  if (sq.full()) return PostResult::kQueueFull;
  sq.push(wr);
  if (ctx_.state == QpState::kError) sq.flush_posted();  // D17
  return PostResult::kOk;
}

PostResult Qp::post_recv(const RecvRequest& rr) {
  if (ctx_.state == QpState::kReset) return PostResult::kBadState;
  ReceiveQueue& rq = responder_.receive_queue();
  if (rq.full()) return PostResult::kQueueFull;
  rq.push(rr);
  if (ctx_.state == QpState::kError) rq.flush();  // D17
  return PostResult::kOk;
}

std::size_t Qp::poll_completions(std::span<Completion> out) {
  SendQueue& sq = requestor_.send_queue();
  ReceiveQueue& rq = responder_.receive_queue();
  std::size_t n = 0;
  if (receives_first_) {
    while (n < out.size() && rq.poll(out[n])) ++n;
  }
  while (n < out.size() && sq.poll(out[n])) ++n;
  while (n < out.size() && rq.poll(out[n])) ++n;
  receives_first_ = !receives_first_;
  return n;
}

bool Qp::send_idle() const {
  return requestor_.send_queue().idle() && requestor_.charged_bytes() == 0;
}

// Answers go before questions: what the peer waits for first.
std::size_t Qp::next_control(Time now, PortCredits& credits, std::span<ControlDesc> out) {
  std::size_t n = responder_.next_control(now, credits, out);
  if (requestor_.probe_ready()) n += requestor_.next_probes(now, credits, out.subspan(n));
  if (reverse_.ready()) n += reverse_.next(now, credits, out.subspan(n));
  return n;
}

void Qp::on_sack(const wire::SackView& sack, const wire::RxMeta& meta) {
  if (ctx_.state != QpState::kRts) return;
  requestor_.on_sack(sack, meta);
  requestor_.reschedule(meta.arrival);
  if (requestor_.failed() != WcStatus::kSuccess) enter_error(requestor_.failed());
}

void Qp::on_nack(const wire::NackView& nack, const wire::RxMeta& meta) {
  if (ctx_.state != QpState::kRts) return;
  requestor_.on_nack(nack, meta);
  requestor_.reschedule(meta.arrival);
  if (requestor_.failed() != WcStatus::kSuccess) enter_error(requestor_.failed());
}

void Qp::on_ack(const wire::AckView& ack, const wire::RxMeta& meta) {
  if (ctx_.state != QpState::kRts) return;
  requestor_.on_ack(ack, meta);
  requestor_.reschedule(meta.arrival);
  if (requestor_.failed() != WcStatus::kSuccess) enter_error(requestor_.failed());
}

WriteVerdict Qp::on_write(const wire::WriteView& write, const wire::RxMeta& meta, Access access) {
  reverse_.heard(meta.arrival);
  const WriteVerdict verdict = responder_.on_write(write, meta, access);
  if (verdict == WriteVerdict::kError && responder_.failed()) enter_error(WcStatus::kWrFlushErr);
  return verdict;
}

void Qp::placed(Psn psn) {
  responder_.placed(psn);
  if (responder_.failed()) enter_error(WcStatus::kWrFlushErr);
}

void Qp::place_failed(Psn psn, wire::Syndrome nak) {
  responder_.place_failed(psn, nak);
  if (responder_.failed()) enter_error(WcStatus::kWrFlushErr);
}

void Qp::on_timer(Time now) {
  reverse_.on_timer(now);
  requestor_.on_timer(now);
  requestor_.reschedule(now);
  if (requestor_.failed() != WcStatus::kSuccess) enter_error(requestor_.failed());
}

Wake Qp::wake() const {
  return {requestor_.tx_ready(), responder_.control_ready() || requestor_.probe_ready() || reverse_.ready(),
          earlier(requestor_.deadline(), reverse_.deadline())};
}

// D17. Both directions stop. The oldest incomplete request carries `status`, the rest is flushed.
void Qp::enter_error(WcStatus status) {
  if (ctx_.state == QpState::kError) return;
  ctx_.state = QpState::kError;
  requestor_.stop(status);
  responder_.stop();
}

}  // namespace mrc::transport
