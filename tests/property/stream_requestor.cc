// SPDX-License-Identifier: BSD-3-Clause
// Judging what the requestor sends, by what it can know.
#include <algorithm>

#include "stream.h"
#include "violation.h"

namespace mrc::property {

using transport::TxDesc;

wire::Opcode Stream::expected_opcode(const Message& m, std::int64_t index) const {
  using wire::Opcode;
  const bool first = index == m.first;
  const bool last = index == m.last;
  if (first && last) return m.plan.immediate ? Opcode::kWriteOnlyImm : Opcode::kWriteOnly;
  if (last) return m.plan.immediate ? Opcode::kWriteLastImm : Opcode::kWriteLast;
  return first ? Opcode::kWriteFirst : Opcode::kWriteMiddle;
}

void Stream::check_header(const TxDesc& d, const Message& m, const Record& r) const {
  const std::int64_t index = m.first + r.offset / attr_.path_mtu;
  const bool last = index == m.last;
  const auto wrong = [&](const char* field, auto got, auto want) {
    violate("MRC 6.2.2", "PSN ", d.psn.value(), " (message ", r.message, "): ", field, " is ", got,
            ", must be ", want);
  };
  if (d.opcode != expected_opcode(m, index))
    wrong("opcode", static_cast<int>(d.opcode), static_cast<int>(expected_opcode(m, index)));
  if (d.payload_bytes != r.payload) wrong("payload", d.payload_bytes, r.payload);
  if (d.va != m.wr.remote_va + r.offset) wrong("va", d.va, m.wr.remote_va + r.offset);
  if (d.source != m.wr.local + r.offset) wrong("source", d.source, m.wr.local + r.offset);
  if (d.rkey != m.wr.rkey) wrong("rkey", d.rkey, m.wr.rkey);
  if (d.dmalen != m.plan.length_bytes) wrong("dmalen", d.dmalen, m.plan.length_bytes);
  if (d.msn != m.msn) wrong("msn", d.msn.value(), m.msn.value());
  if (m.plan.immediate && d.rqmsn != m.rqmsn) wrong("rqmsn", d.rqmsn.value(), m.rqmsn.value());
  if (m.plan.immediate && last && d.immdt != m.wr.immdt) wrong("immdt", d.immdt, m.wr.immdt);
  if (d.se != (m.plan.solicited && last)) wrong("se", d.se, m.plan.solicited && last);
  if (d.rtx != (r.sends > 0)) wrong("rtx", d.rtx, r.sends > 0);
  if (d.ts != s_.policy.use_timestamps) wrong("ts", d.ts, s_.policy.use_timestamps);
}

void Stream::check_windows(const TxDesc& d, std::int64_t index, const transport::Qp& qp, const TxContext& c) {
  if (c.cwnd <= c.inflight_before && !c.tail_repeat)
    violate("D2", "PSN ", d.psn.value(), " sent with ", c.inflight_before, " B in flight, cwnd ", c.cwnd);
  const std::int64_t edge = qp.unack_psn() - d.psn + mpr_ * kPsnsPerMprUnit;
  if (edge < 0 && !c.tail_repeat)
    violate("D16", "PSN ", d.psn.value(), " lies ", -edge, " beyond the window of ", mpr_, " blocks");
  if (d.rtx) return;
  if (index != max_sent_ + 1) violate("D2", "new PSN index ", index, " after ", max_sent_);
  const std::int64_t mpr = std::int64_t{attr_.mpr} * kPsnsPerMprUnit;
  if (d.psn - qp.unack_psn() > mpr)
    violate("D2", "PSN ", d.psn.value(), " is ", d.psn - qp.unack_psn(), " beyond unack_psn, MPR is ", mpr);
  if (index - received_truth_.cack_index() > std::int64_t{peer_.mpr_dest} * kPsnsPerMprUnit)
    violate("D2", "PSN index ", index, " is outside the responder's window above ",
            received_truth_.cack_index());
  const Message& m = messages_[records_[static_cast<std::size_t>(index)].message];
  if (!m.plan.immediate || index != m.first) return;
  ++immediates_started_;
  if (immediates_started_ - immediates_acked_ > attr_.max_wimm)
    violate("D15", immediates_started_ - immediates_acked_, " WriteIMMs in flight, limit ", attr_.max_wimm);
}

/// I2: a SACK that covers it with 0, a NACK or a timer; or the death of its EV (D9).
void Stream::check_witness(const TxDesc& d, std::int64_t index, const TxContext& c) const {
  // D14: the last packet of the oldest request whose Transport ACK is missing
  if (c.tail_repeat && records_[static_cast<std::size_t>(index)].known &&
      index == std::min(messages_[completed_].last, max_sent_))
    return;
  if (s_.kind == Kind::kBenign)
    violate("I2", "PSN index ", index, " retransmitted on a channel that loses nothing");
  if (const std::string objection = sent_.objection(d.psn, c.now); !objection.empty())
    violate("I2", "PSN index ", index, " (PSN ", d.psn.value(), ") ", objection);
}

void Stream::check_event(const path::EvSet::Event& event) const {
  if (event.to != path::EvState::kAssumedBad) return;
  const bool by_loss = event.cause == path::EvCause::kLoss || event.cause == path::EvCause::kAckTimeout;
  if (!by_loss || sent_.lost_on(event.ev) != event.at)
    violate("I2", "EV ", event.ev, " is assumed bad by cause ", static_cast<int>(event.cause),
            " and nothing said so");
}

void Stream::check_skip(Time at) const {
  if (sent_.marked() != at) violate("I2", "an EV is skipped without a mark or a trim notice");
}

void Stream::check_silence(std::uint32_t planes) const {
  for (std::uint8_t p = 0; p < s_.planes; ++p)
    if ((planes >> p & 1U) != 0 && sent_.evs_with_losses(p) < 3)
      violate("D9", "plane ", int{p}, " is given up, but fewer than three of its EVs lost a packet");
}

void Stream::check_plane_flush(const transport::Qp& qp, std::uint32_t planes, Time now) const {
  Duration there = s_.link[sender_][0].delay;
  Duration back = s_.link[1 - sender_][0].delay;
  for (std::size_t p = 0; p < s_.planes; ++p) {
    there = std::min(there, s_.link[sender_][p].delay);
    back = std::min(back, s_.link[1 - sender_][p].delay);
  }
  std::int64_t given_up = 0;
  for (std::int64_t i = known_upto_ + 1; i <= max_sent_; ++i) {
    const Record& r = records_[static_cast<std::size_t>(i)];
    if (!r.known && (planes >> r.port & 1U) != 0 && now - r.last_tx < there + back) given_up += r.nominal;
  }
  if (qp.charged_bytes() > unknown_bytes_ - given_up)
    violate("D9", qp.charged_bytes(), " B are charged; ", given_up, " of ", unknown_bytes_,
            " B are on a plane that is DOWN");
}

void Stream::check_path(const TxDesc& d, const Record& r, const transport::Qp& qp, const TxContext& c) const {
  if (d.ev >= table_.size()) violate("I9", "EV index ", d.ev, " is not in the table");
  if (table_[d.ev].port != d.port) violate("I9", "EV ", d.ev, " leaves through port ", int{d.port});
  const path::EvSet& evs = qp.ev_set();
  if (evs.state(d.ev) == path::EvState::kDenied) violate("I9", "data on DENIED EV ", d.ev);
  if (evs.state(d.ev) != path::EvState::kGood && !c.fallback)
    violate("I9", "data on EV ", d.ev, " in state ", static_cast<int>(evs.state(d.ev)),
            " without counting a fallback");
  if (!evs.listed(d.ev) && !c.fallback) violate("I9", "data on EV ", d.ev, ", which is not in rotation");
  const std::uint32_t out = evs.silent_planes() | peer_down_;
  if ((out >> d.port & 1U) != 0 && !c.fallback)
    violate("I9", "data on plane ", int{d.port}, ", which is DOWN, without counting a fallback");
  if (r.sends == 0 || d.ev != r.ev) return;
  for (std::size_t other = 0; other < table_.size(); ++other)
    if (other != d.ev && evs.state(static_cast<path::EvIndex>(other)) == path::EvState::kGood &&
        evs.listed(static_cast<path::EvIndex>(other)) && ((out >> table_[other].port) & 1U) == 0 &&
        ((c.ports_left >> table_[other].port) & 1U) != 0)
      violate("I9", "PSN ", d.psn.value(), " retransmitted on the EV it was lost on, ", d.ev, ", while ",
              other, " is usable");
}

Packet Stream::on_tx(const TxDesc& d, const transport::Qp& qp, const TxContext& c) {
  const std::int64_t index = index_of(d.psn);
  if (index < 0 || index >= static_cast<std::int64_t>(records_.size()))
    violate("D2", "PSN ", d.psn.value(), " belongs to no posted message");
  Record& r = records_[static_cast<std::size_t>(index)];
  const Message& m = messages_[r.message];
  if (m.send_done)
    violate("I4", "PSN ", d.psn.value(), " would carry poison: message ", r.message, " has completed");
  check_header(d, m, r);
  check_windows(d, index, qp, c);
  if (d.rtx) check_witness(d, index, c);
  check_path(d, r, qp, c);
  sent_.on_sent(d, c.now);

  if (r.sends == 0) unknown_bytes_ += r.nominal;
  if (r.sends == 0 && index == known_upto_ + 1) silence_began_ = c.now;
  retransmissions_ += d.rtx ? 1 : 0;
  max_sent_ = std::max(max_sent_, index);
  r.last_tx = c.now;
  r.retry_count = qp.retry_count();
  r.ev = d.ev;
  r.port = d.port;
  ++r.sends;

  Packet p;
  wire::WriteView w;
  w.bth = {.opcode = d.opcode, .se = d.se, .a = d.a, .rtx = d.rtx, .ts = d.ts, .psn = d.psn};
  w.rqmsn = d.rqmsn;
  w.msn = d.msn;
  if (d.ts) w.tx_timestamp = d.tx_timestamp;
  w.va = d.va;
  w.rkey = d.rkey;
  w.dmalen = d.dmalen;
  if (wire::has_immediate(d.opcode)) w.immdt = d.immdt;
  w.payload_bytes = d.payload_bytes;
  w.pad_bytes = (4U - d.payload_bytes % 4U) % 4U;
  w.nominal_bytes = r.nominal;
  p.view = w;
  p.dscp = d.dscp;
  p.ev = d.ev;
  p.from = sender_;
  p.sent = c.now;
  p.meta.port = d.port;
  p.meta.entropy = table_[d.ev].entropy;
  const auto begin = source_.begin() + static_cast<std::ptrdiff_t>(d.source - source_base_);
  p.payload.assign(begin, begin + d.payload_bytes);
  return p;
}

void Stream::mark_known(std::int64_t index) {
  if (index < 0 || index > max_sent_)
    violate("D6", "an acknowledgement names PSN index ", index, ", sent was ", max_sent_);
  Record& r = records_[static_cast<std::size_t>(index)];
  if (r.known) return;
  r.known = true;
  unknown_bytes_ -= r.nominal;
  known_bytes_ += r.nominal;
  if (received_truth_.accepted(attr_.sq_psn + static_cast<std::int32_t>(index)))
    accepted_unknown_bytes_ -= r.nominal;
  while (known_upto_ < max_sent_ && records_[static_cast<std::size_t>(known_upto_ + 1)].known) ++known_upto_;
}

void Stream::on_sack_delivered(const wire::SackView& sack, Time created, Time now) {
  sent_.on_sack(sack, created, now);
  const std::int64_t cack = index_of(sack.cack_psn);
  for (std::int64_t i = known_upto_ + 1; i <= cack; ++i) mark_known(i);
  if (!sack.pr && index_of(sack.ack_psn()) >= 0) mark_known(index_of(sack.ack_psn()));
  reported_bytes_ = std::max<std::int64_t>(reported_bytes_,
                                           std::int64_t{sack.rcvd_bytes - s_.policy.first_rcvd_bytes} * 256);
  const std::int64_t units = sack.rcvd_bytes - s_.policy.first_rcvd_bytes;
  if (units >= newest_units_ && cack >= newest_cack_) {
    newest_units_ = units;
    newest_cack_ = cack;
    if (attr_.dynamic_mpr && sack.mpr != 0) mpr_ = std::min<std::int64_t>(sack.mpr, attr_.mpr);
  }
  newest_units_ = std::max(newest_units_, units);
  const std::int64_t base = index_of(sack.sack_base());
  for (int bit = 0; bit < 64; ++bit) {
    const std::int64_t i = base + bit;
    if (i >= 0 && i <= max_sent_ && ((sack.sack_bitmap >> bit) & 1U) != 0) mark_known(i);
  }
}

void Stream::on_ack_delivered(const wire::AckView& ack) {
  sent_.on_ack(ack);
  if (!ack.is_ack()) {
    acked_ = std::max(acked_, index_of(ack.psn) - 1);  // a NAK acknowledges what is before it (D17)
    return;
  }
  const std::int64_t upto = index_of(ack.psn);
  for (std::int64_t i = known_upto_ + 1; i <= upto; ++i) mark_known(i);
  acked_ = std::max(acked_, upto);
  while (immediates_acked_ < immediates_started_ && messages_[immediates_[immediates_acked_]].last <= acked_)
    ++immediates_acked_;
}

/// I1. Exactly D7's table where nothing is resynchronised: what is charged, less what rcvd_bytes has reported
/// and is not yet known by PSN. Always: what is charged is unknown, what was reported early was accepted.
void Stream::check_inflight(const transport::Qp& qp) const {
  const std::int64_t share = qp.inflight_share_bytes();
  const std::int64_t charged = qp.charged_bytes();
  if (qp.state() == transport::QpState::kError && (share != 0 || charged != 0))
    violate("D17", "in ERROR ", share, " B are still in flight");
  if (!s_.policy.inflight_resync && qp.state() == transport::QpState::kRts &&
      share != charged + known_bytes_ - reported_bytes_)
    violate("I1", "inflight share is ", share, ", must be ", charged, " charged + ", known_bytes_,
            " known - ", reported_bytes_, " reported");
  if (charged > unknown_bytes_ || charged < 0)
    violate("I1", charged, " B are charged, not known received are ", unknown_bytes_);
  if (s_.uncounted_bytes != 0) {  // a peer that counts otherwise: what is charged bounds the share (D7)
    if (share > charged + known_bytes_) violate("I1", "inflight share ", share, ", charged are ", charged);
    return;
  }
  const std::int64_t unreported =
      std::max<std::int64_t>(0, known_bytes_ - reported_bytes_);  // told by an ACK only
  const std::int64_t rounding =
      s_.policy.inflight_resync ? 255 : 0;  // resynchronised while rcvd_bytes was rounded up
  if (share > unknown_bytes_ + unreported + rounding)
    violate("I1", "inflight share ", share, " exceeds ", unknown_bytes_, " B not known received and ",
            unreported, " B not reported");
  if (share < -accepted_unknown_bytes_ - 255)
    violate("I1", "inflight share ", share, " is below -255 - ", accepted_unknown_bytes_,
            " B reported early");
}

}  // namespace mrc::property
