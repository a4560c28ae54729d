// SPDX-License-Identifier: BSD-3-Clause
#include "sim/outstanding.h"

#include <algorithm>
#include <bit>

#include "wire/sizes.h"

namespace mrc::sim {

namespace {

constexpr std::int32_t kTickTolerance = 2;  // D18
constexpr std::size_t kMostLosses = 16;     // of one EV, while a packet of the time of the first still waits

bool agrees(Tick a, Tick b) {
  const std::int32_t d = a - b;
  return d >= -kTickTolerance && d <= kTickTolerance;
}

}  // namespace

Outstanding::Outstanding(Psn first, std::uint32_t window_pkts, const path::EvTable& evs,
                         const GiveUpRules& rules)
    : evs_(evs),
      rules_(rules),
      unack_(transport::first_seq(first)),
      next_(unack_),
      mask_(std::bit_ceil(window_pkts + 2) - 1),
      packets_(mask_ + 1),
      unknown_(window_pkts + 2),
      losses_(evs.size()) {}

void Outstanding::on_sent(const transport::TxDesc& d, Time now) {
  const Seq seq = at(d.psn);
  Packet& p = packet(seq);
  if (seq == next_) {
    ++next_;
    unknown_.set(seq);
    p.nominal_bytes = static_cast<std::uint16_t>(wire::write_nominal_bytes(d.opcode, d.ts, d.payload_bytes));
    unknown_bytes_ += p.nominal_bytes;
  }
  p.ev = d.ev;
  p.port = d.port;
  p.sent = now;
  p.witnessed = false;
  next_timeout_ = earlier(next_timeout_, now + rules_.ack_timer);
}

// --- What is received
// ------------------------------------------------------------------------------------------------------

void Outstanding::know(Seq base, std::uint64_t bits) {
  bits &= unknown_.extract(base) & transport::window_mask(base, unack_, next_);
  for (std::uint64_t rest = bits; rest != 0; rest &= rest - 1)
    unknown_bytes_ -= packet(base + static_cast<unsigned>(std::countr_zero(rest))).nominal_bytes;
  unknown_.clear_bits(base, bits);
}

void Outstanding::know_up_to(Seq seq) {
  if (seq >= next_ || seq < unack_) return;
  for (Seq base = unack_; base <= seq; base += 64) know(base, transport::window_mask(base, base, seq + 1));
  unack_ = unknown_.find_set(seq + 1, next_);
}

bool Outstanding::known(Psn psn) const {
  const Seq seq = at(psn);
  return seq < unack_ || (seq < next_ && !unknown_.test(seq));
}

std::int64_t Outstanding::bytes_over(std::uint8_t port, Time since) const {
  std::int64_t sum = 0;
  for (Seq s = unack_; s < next_; ++s)
    if (unknown_.test(s) && packet(s).port == port && packet(s).sent > since) sum += packet(s).nominal_bytes;
  return sum;
}

// --- What is lost
// ----------------------------------------------------------------------------------------------------------

// When the packet left that made the responder speak: by the timestamp that it reflects, at most two ticks
// too late; without one, no later than the SACK.
Time Outstanding::left(const wire::SackView& sack, Time made) const {
  if (!rules_.timestamps || sack.tx_timestamp == Tick{}) return made;
  const Tick now{static_cast<std::uint32_t>((made.ns >> 7) & Tick::kMask)};  // no timestamp: 0 counts
  const auto ticks = static_cast<std::uint32_t>(now - sack.tx_timestamp) & Tick::kMask;
  return {((made.ns >> 7) - static_cast<std::int64_t>(ticks)) * kTick.ns + kTick.ns - 1};
}

void Outstanding::on_sack(const wire::SackView& sack, Time made, Time now) {
  know_up_to(at(sack.cack_psn));
  const Seq base = at(sack.sack_base());
  know(base, sack.sack_bitmap);
  if (!sack.pr) know(at(sack.ack_psn()), 1);
  unack_ = unknown_.find_set(unack_, next_);
  if (sack.m != wire::EvMark::kNone) marked_ = now;
  // D8: covered with 0, and sent reo before the trigger, or on its EV before it.
  const Time ts = left(sack, made);
  std::uint64_t missing = ~sack.sack_bitmap & unknown_.extract(base);
  missing &= transport::window_mask(base, unack_, next_);
  for (; missing != 0; missing &= missing - 1) {
    Packet& p = packet(base + static_cast<unsigned>(std::countr_zero(missing)));
    const bool by_time = p.sent + rules_.base_rtt <= ts;
    if (!by_time && (p.sent >= ts || evs_[p.ev].entropy != sack.entropy)) continue;
    p.witnessed = true;
    lose(p, now);
  }
}

// D11: the timestamp tells which transmission is meant, else the EV.
void Outstanding::on_nack(const wire::NackView& nack, Time now) {
  if (nack.reason == wire::NackReason::kTrimmed) marked_ = now;
  const Seq seq = at(nack.nack_psn);
  if (seq < unack_ || seq >= next_ || !unknown_.test(seq)) return;
  Packet& p = packet(seq);
  const bool by_tick = rules_.timestamps && nack.tx_timestamp != Tick{};
  const bool meant =
      by_tick ? agrees(nack.tx_timestamp, tick_of(p.sent)) : evs_[p.ev].entropy == nack.entropy;
  p.witnessed = p.witnessed || meant;
}

// A NAK acknowledges what lies before it (D17).
void Outstanding::on_ack(const wire::AckView& ack) {
  know_up_to(at(ack.is_ack() ? ack.psn : ack.psn - 1));
}

void Outstanding::on_timer(Time now) {
  if (rules_.ack_timer.ns == 0 || now < next_timeout_) return;
  next_timeout_ = Time::never();
  for (Seq s = unack_; s < next_; ++s) {
    if (!unknown_.test(s)) continue;
    const Packet& p = packet(s);
    if (timed_out(p, now)) lose(p, now);
    next_timeout_ = earlier(next_timeout_, later(now, p.sent + rules_.ack_timer));
  }
}

void Outstanding::on_planes_out(std::uint32_t planes, Time now) {
  for (std::uint8_t p = 0; p < kMaxPlanes; ++p)
    if ((planes >> p & 1U) != 0) out_[p] = now;
}

void Outstanding::lose(const Packet& p, Time now) {
  std::vector<Losses>& known = losses_[p.ev];
  if (!known.empty() && p.sent <= known.back().known) {
    known.back() = {earlier(known.back().sent, p.sent), now};
    return;
  }
  if (known.size() == kMostLosses) known.erase(known.begin());
  known.push_back({p.sent, now});
}

bool Outstanding::flushed(const Packet& p) const {
  return rules_.ev_flush && std::any_of(losses_[p.ev].begin(), losses_[p.ev].end(), [&](const Losses& l) {
           return l.sent <= p.sent && p.sent <= l.known;
         });
}

unsigned Outstanding::evs_with_losses(std::uint8_t port) const {
  unsigned n = 0;
  for (std::size_t ev = 0; ev < losses_.size(); ++ev)
    n += evs_[static_cast<path::EvIndex>(ev)].port == port && !losses_[ev].empty() ? 1U : 0U;
  return n;
}

std::string Outstanding::objection(Psn psn, Time now) const {
  if (known(psn)) return "is sent again though it is known received (D1)";
  const Packet& p = (*this)[psn];
  if (p.witnessed || timed_out(p, now) || out_[p.port] >= p.sent || flushed(p)) return {};
  return "is sent again and nothing said that it was lost (I2)";
}

}  // namespace mrc::sim
