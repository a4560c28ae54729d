// SPDX-License-Identifier: BSD-3-Clause
// What the responder sends back: SACK, NACK, Transport ACK and NAK (3.4 - 3.7; D5, D15, D17).
#include <algorithm>
#include <bit>
#include <limits>

#include "transport/responder.h"

namespace mrc::transport {

// Own reverse EV on the plane of the trigger; if that plane is not to be had, the next one (D5, D19, C30).
bool Responder::route(std::uint8_t port, std::uint32_t entropy, PortCredits& credits,
                      ControlDesc& out) const {
  const std::uint32_t free_ports = credits.free_mask();
  if (free_ports == 0) return false;
  // A port that is busy is waited for: any other plane may be one that the peer's packets do not get through
  // any more, and what goes there is lost.
  const bool busy = (credits.up_mask >> port & 1U) != 0 && credits.credits[port] == 0;
  if (busy && ctx_.ev_set.port_usable(port)) return false;
  const path::EvChoice choice = ctx_.ev_set.choose_for_control(free_ports, port);
  out.ev = choice.ev;
  if (choice.ev != path::kNoEv) {
    out.port = choice.port;
    out.entropy = (*ctx_.evs)[choice.ev].entropy;
  } else {
    out.port = (free_ports >> port & 1) != 0 ? port : static_cast<std::uint8_t>(std::countr_zero(free_ports));
    out.entropy = entropy;
  }
  out.dscp = wire::DscpClass::kControl;
  --credits.credits[out.port];
  return true;
}

std::size_t Responder::next_control(Time now, PortCredits& credits, std::span<ControlDesc> out) {
  std::size_t n = 0;
  // What waits for its port holds up nobody else.
  for (std::size_t left = queue_.size(); left > 0 && n < out.size(); --left) {
    const ControlTrigger& trigger = queue_.front();
    ControlDesc& desc = out[n];
    if (!route(trigger.port, trigger.entropy, credits, desc)) {
      queue_.put_off();
      continue;
    }
    ++n;
    if (trigger.kind == ControlTrigger::Kind::kNack) {
      desc.opcode = wire::Opcode::kNack;
      build_nack(trigger, desc.nack);
      ++ctx_.counters.tx_nack;
    } else {
      desc.opcode = wire::Opcode::kSack;
      build_sack(trigger, desc.sack);
      ++ctx_.counters.tx_sack;
    }
    queue_.pop();
  }
  if (sack_due_ && n < out.size() && route(sack_trigger_.port, sack_trigger_.entropy, credits, out[n])) {
    out[n].opcode = wire::Opcode::kSack;
    build_sack(sack_trigger_, out[n++].sack);
    ++ctx_.counters.tx_sack;
  }
  for (const bool nak : {false, true}) {
    bool& due = nak ? nak_due_ : ack_due_;
    if (!due || n == out.size() || !route(ack_port_, ack_entropy_, credits, out[n])) continue;
    due = false;
    out[n].opcode = wire::Opcode::kAck;
    build_ack(nak, out[n++].ack);
    ++(nak ? ctx_.counters.tx_nak : ctx_.counters.tx_ack);
    if (nak) nak_repeat_at_ = now + ctx_.policy.base_rtt;
  }
  return n;
}

// 3.5. Any SACK shows all that is known now, so it settles every trigger that may be merged.
void Responder::build_sack(const ControlTrigger& trigger, wire::SackView& out) {
  const SackBitmap map = walk_.next(received_, cack_, max_rcv_);
  out = wire::SackView{};
  out.rtx = trigger.rtx;  // C41
  out.m = trigger.ce ? wire::EvMark::kSkipOnce : wire::EvMark::kNone;
  out.pr = trigger.kind == ControlTrigger::Kind::kProbe;
  out.cack_psn = psn_of(cack_);
  if (out.pr) {
    out.ack_psn_offset = static_cast<std::int16_t>(trigger.probe_id);
  } else {
    const std::int32_t offset = trigger.psn - out.cack_psn;
    const bool fits = offset >= std::numeric_limits<std::int16_t>::min() &&
                      offset <= std::numeric_limits<std::int16_t>::max();
    out.ack_psn_offset = fits ? static_cast<std::int16_t>(offset) : std::int16_t{0};  // D4. An old duplicate
  }
  out.entropy = trigger.entropy;
  out.spdcid = ctx_.spdcid();
  out.dpdcid = ctx_.dpdcid();
  out.mpr = ctx_.attr.dynamic_mpr ? window_blocks() : std::uint8_t{0};
  out.sack_offset = static_cast<std::int16_t>(map.base - cack_);
  if (seeded_defect(Defect::kSackBaseOffByOne)) ++out.sack_offset;
  out.sack_bitmap = map.bits;
  out.tx_timestamp = trigger.tx_timestamp;
  const std::uint32_t above =
      seeded_defect(Defect::kWrongOooCount) ? static_cast<std::uint32_t>(max_rcv_ - cack_) : ooo_count_;
  // 6.5. Said again and again: the SACK that says it first may be lost, and one from before may come after
  // it.
  out.rcv_cwnd_pen = penalty_;
  told_penalty_ = told_penalty_ || penalty_ != 0;
  ctx_.counters.tx_sack_penalty += penalty_ != 0 ? 1 : 0;
  out.restore_cwnd = told_penalty_ && penalty_ == 0;
  out.ooo_count = static_cast<std::uint16_t>(std::min(above, 0x7FFFU));
  out.rcvd_bytes =
      ctx_.policy.first_rcvd_bytes + static_cast<std::int32_t>(((rcvd_bytes_ + 255) >> 8) & RcvdUnits::kMask);
  trigger_bytes_ = 0;
  sack_due_ = false;
  if (cack_ >= ar_) ar_shown_ = ar_;  // D5
}

void Responder::build_nack(const ControlTrigger& trigger, wire::NackView& out) const {
  out = wire::NackView{};
  out.reason = trigger.reason;
  out.entropy = trigger.entropy;
  out.spdcid = ctx_.spdcid();
  out.dpdcid = ctx_.dpdcid();
  out.nack_psn = trigger.psn;
  out.tx_timestamp = trigger.tx_timestamp;
}

// The psn of C37 is that of the last packet complete; msn counts messages (C23).
void Responder::build_ack(bool nak, wire::AckView& out) const {
  const Seq complete = seeded_defect(Defect::kAckBeforePlaced) ? cack_ : placed_;
  out.psn = psn_of(nak ? failing_ : complete);
  out.syndrome = static_cast<std::uint8_t>(nak ? failing_nak_ : wire::Syndrome::kAck);
  out.msn = static_cast<std::uint32_t>(messages_ & 0xFFFFFF);
}

}  // namespace mrc::transport
