// SPDX-License-Identifier: BSD-3-Clause
// Time at the requestor: the local ACK timeout and its budget (D13), the probe timer and the lost Transport
// ACK (D14).
#include <algorithm>
#include <bit>
#include <numeric>

#include "transport/requestor.h"

namespace mrc::transport {

namespace {

constexpr unsigned kLeastProbes = 2;  // D14 line 11, at once
constexpr unsigned kMostProbes = 8;
constexpr unsigned kAccountProbes = 16;  // for an account that nobody settles (D7)

// A SACK shows 64 PSNs, and the next one the next 64 (D5): so many probes as show them all, and one more. The
// walk then begins each round elsewhere, and what the answer lost on one plane would have shown is shown by
// another plane's later. The two numbers have no divisor in common for the same reason.
unsigned tail_probes(Seq open) {
  const auto shown_by = static_cast<unsigned>((std::max<Seq>(open, 1) + 63) / 64);
  unsigned n = std::clamp(shown_by + 1, kLeastProbes, kMostProbes);
  while (n > kLeastProbes && std::gcd(n, shown_by) > 1) --n;
  return n;
}

}  // namespace

void Requestor::on_timer(Time now) {
  if (ctx_.state != QpState::kRts) return;
  pace_evs(now);  // before it is asked which probes are due, so that none falls due between the two
  if (packet_deadline_ <= now) expire_packets(now);
  if (held_deadline_ <= now) release_due(now);
  if (stall_deadline_ <= now) {  // D9. No usable EV for a whole interval
    const bool still = tx_ready();
    stall_deadline_ = Time::never();
    if (still) {
      ++ctx_.counters.timer_expiries;
      count_retry();
      stall_deadline_ = now + interval();
    }
  }
  if (tail_deadline_ <= now) {
    tail_deadline_ = Time::never();
    if (only_ack_missing()) {
      ++ctx_.counters.timer_expiries;
      repeat_tail(now);
    }
  }
  check_tail(now);
  if (probe_deadline_ <= now) check_probe_timer(now);
  // D13. Trims without end, or anything else that never counts, ends after the sum of all intervals.
  if (ctx_.retry.gives_up() && unsettled() && progress_deadline_ <= now) failure_ = WcStatus::kRetryExcErr;
  if (ctx_.ev_set.next_probe_deadline() <= now) probe_due_ = true;
}

// One timer a packet, started at its transmission with the interval of that moment. packet_deadline_ is a
// lower bound, so the window is read at most once an interval. Several that expire together are one count.
void Requestor::expire_packets(Time now) {
  packet_deadline_ = Time::never();
  if (!ctx_.retry.enabled()) return;
  bool oldest_expired = false;
  for (Seq base = cack_ + 1; base < next_; base += 64) {
    const std::uint64_t window = window_mask(base, base, next_);
    for (std::uint64_t left = window_.sent.extract(base) & window; left != 0; left &= left - 1) {
      const Seq seq = base + static_cast<unsigned>(std::countr_zero(left));
      if (!window_.sent.test(seq)) continue;  // flushed with an earlier one
      const PsnRecord& record = window_[seq];
      const Time sent = record.sent_at(now);
      const Time due = sent + ctx_.retry.interval(record.retry_count()) + gaps_.shift(sent);
      if (due > now) {
        packet_deadline_ = earlier(packet_deadline_, due);
        continue;
      }
      oldest_expired = oldest_expired || seq == cack_ + 1;
      lose(seq, RtxCause::kAckTimeout, now);  // D14 line 15
    }
  }
  if (oldest_expired) {
    ++ctx_.counters.timer_expiries;
    count_retry();
  }
}

void Requestor::count_retry() {
  ++k_;
  if (ctx_.retry.exhausted(k_)) failure_ = WcStatus::kRetryExcErr;
}

// D11. Delays of NACKed packets that have passed.
void Requestor::release_due(Time now) {
  held_deadline_ = Time::never();
  if (held_count_ == 0) return;
  for (Seq seq = window_.held.find_set(cack_ + 1, next_); seq < next_;
       seq = window_.held.find_set(seq + 1, next_)) {
    const Time until = window_[seq].sent_at(now);
    if (until <= now) {
      release_held(seq);
    } else {
      held_deadline_ = earlier(held_deadline_, until);
    }
  }
}

// D11. PSN_OOR_WINDOW waits for cack to advance.
void Requestor::release_window_nacks() {
  for (Seq seq = window_.held.find_set(cack_ + 1, next_); seq < next_;
       seq = window_.held.find_set(seq + 1, next_)) {
    if (window_[seq].cause() == RtxCause::kNackWindow) release_held(seq);
  }
}

// D14 lines 10 and 11: nothing can be sent, so no packet will bring news by itself: ask.
void Requestor::check_probe_timer(Time now) {
  probe_deadline_ = Time::never();
  if (!waiting()) return;
  // D7. Nothing is open but the account, and the peer that could settle it is gone: it would be asked for
  // ever, and its share would keep the siblings on the controller waiting.
  if (ctx_.policy.inflight_resync && !unsettled() && probe_run_ >= kAccountProbes) {
    ctx_.cc.adjust_inflight(-share_bytes_);
    share_bytes_ = 0;
    return;
  }
  Duration wait = rtt_.srtt() + rtt_.reo(now);
  if (!tx_ready()) {
    tail_probes_due_ = static_cast<std::uint8_t>(tail_probes(next_ - cack_ - 1));
    tail_planes_ = ~0U;
    tail_round_ = probe_run_++ == 0 ? 0 : (tail_round_ + 1) % kTailRounds;
    const unsigned doublings = probe_run_ < 4 ? 0 : std::min(probe_run_ - 3, 30U);
    wait = std::max(wait, std::min(wait * (std::int64_t{1} << doublings), longest_wait()));
  }
  probe_deadline_ = now + wait;
}

// D14 line 13: all is received, yet the Transport ACK is missing. It is never repeated by itself, so a timer
// must run.
void Requestor::check_tail(Time now) {
  if (!only_ack_missing()) {
    tail_deadline_ = tail_since_ = Time::never();
    tail_answers_ = 0;
    return;
  }
  if (tail_since_.is_never()) tail_since_ = now;
  if (tail_deadline_.is_never() && ctx_.retry.enabled()) tail_deadline_ = now + interval();
}

// At most one an interval, so that an application that is slow to place does not exhaust the budget early.
void Requestor::repeat_tail(Time now) {
  count_retry();
  tail_repeat_due_ = true;
  tail_answers_ = 0;
  tail_not_before_ = tail_deadline_ = now + interval();
}

void Requestor::on_poll_gap(Time now, Duration gap) {
  gaps_.add(now, gap);
  for (Time* deadline :
       {&packet_deadline_, &probe_deadline_, &stall_deadline_, &tail_deadline_, &progress_deadline_}) {
    if (!deadline->is_never()) *deadline = *deadline + gap;
  }
  tail_not_before_ = tail_not_before_ + gap;
}

}  // namespace mrc::transport
