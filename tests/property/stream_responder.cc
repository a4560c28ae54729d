// SPDX-License-Identifier: BSD-3-Clause
// Judging what the responder does with packets and what it says about them.
#include <algorithm>

#include "stream.h"
#include "violation.h"

namespace mrc::property {

using transport::WriteVerdict;

bool Stream::is_bad(Psn psn) const {
  const std::int64_t i = index_of(psn);
  return sender_ == 0 && s_.bad_message >= 0 && i >= 0 && i <= max_sent_ &&
         records_[static_cast<std::size_t>(i)].message == static_cast<std::uint32_t>(s_.bad_message);
}

void Stream::on_arrival(const wire::WriteView& write, const wire::RxMeta& meta, WriteVerdict verdict,
                        const transport::Qp& qp) {
  const std::int64_t i = index_of(write.bth.psn);
  if (i < 0 || i > max_sent_) violate("wire", "PSN ", write.bth.psn.value(), " arrived and was never sent");
  Record& r = records_[static_cast<std::size_t>(i)];
  const bool alive = qp.state() == transport::QpState::kRts || qp.state() == transport::QpState::kRtr;
  const bool accepted = received_truth_.accepted(write.bth.psn);
  const std::int64_t cack = received_truth_.cack_index();
  if (verdict == WriteVerdict::kPlace && accepted)
    violate("I4", "PSN index ", i, " is to be written a second time");
  if (verdict == WriteVerdict::kPlace && i - cack > std::int64_t{peer_.mpr_dest} * kPsnsPerMprUnit)
    violate("D2", "PSN index ", i, " accepted outside the window above ", cack);
  if (verdict == WriteVerdict::kPlace && is_bad(write.bth.psn) && s_.badness == Badness::kDenied)
    violate("D17", "PSN index ", i, " is to be placed though access is denied");
  if (verdict == WriteVerdict::kDuplicate && !accepted)
    violate("I5", "PSN index ", i, " was called a duplicate and never accepted");
  const bool placement_lags = i - placed_ > std::int64_t{peer_.mpr_dest} * kPsnsPerMprUnit;
  if (alive && verdict == WriteVerdict::kDrop && !placement_lags)
    violate("I5", "PSN index ", i, " inside the window was dropped");
  if (alive && verdict == WriteVerdict::kDrop) ++r.lagged;

  if (verdict != WriteVerdict::kDrop) {
    std::rotate(r.arrivals.begin(), r.arrivals.end() - 1, r.arrivals.end());
    r.arrivals[0] = {meta.entropy, write.tx_timestamp};
  }
  if (verdict != WriteVerdict::kPlace) return;
  if (!r.known) accepted_unknown_bytes_ += r.nominal;
  received_truth_.accept(write.bth.psn, write.nominal_bytes);
}

void Stream::on_trimmed_arrival(const wire::TrimmedView& packet, const wire::RxMeta& meta) {
  auto& arrivals = records_[static_cast<std::size_t>(index_of(packet.bth.psn))].arrivals;
  std::rotate(arrivals.begin(), arrivals.end() - 1, arrivals.end());
  arrivals[0] = {meta.entropy, packet.tx_timestamp};
}

void Stream::place(Psn psn, const std::vector<std::uint8_t>& payload) {
  const std::int64_t i = index_of(psn);
  Record& r = records_[static_cast<std::size_t>(i)];
  const Message& m = messages_[r.message];
  if (m.closed && !payload.empty())
    violate("I4", "PSN index ", i, " is written after message ", r.message, " completed");
  std::copy(payload.begin(), payload.end(),
            target_.begin() + static_cast<std::ptrdiff_t>(m.target + r.offset));
  r.in_memory = true;
  while (placed_ < received_truth_.highest_index() &&
         records_[static_cast<std::size_t>(placed_ + 1)].in_memory)
    ++placed_;
  while (in_memory_upto_ < messages_.size() && messages_[in_memory_upto_].last <= placed_) ++in_memory_upto_;
}

void Stream::on_sack_sent(const wire::SackView& sack, const transport::Qp& qp) {
  if (sack.cack_psn != qp.cack_psn())
    violate("I6", "SACK says cack_psn ", sack.cack_psn.value(), ", the QP ", qp.cack_psn().value());
  if (const std::string objection = received_truth_.objection(sack); !objection.empty())
    violate("I6", "a SACK lies: ", objection);
  if (sack.pr) return;
  const std::int64_t trigger = index_of(sack.ack_psn());
  if (trigger < 0) return;  // cack before the first packet, offset 0 for an old duplicate (D4)
  const Record& r = records_[static_cast<std::size_t>(trigger)];
  if (sack.ack_psn_offset == 0) return;
  const bool arrived = std::any_of(r.arrivals.begin(), r.arrivals.end(), [&](const auto& a) {
    return a.first == sack.entropy && a.second == sack.tx_timestamp;
  });
  if (!arrived && r.arrivals.back().first == 0)
    violate("MRC 7.5.2.1", "SACK of PSN index ", trigger, " mirrors entropy ", sack.entropy,
            " and timestamp ", sack.tx_timestamp.value(), ", no such packet arrived");
}

void Stream::on_nack_sent(const wire::NackView& nack) {
  const std::int64_t i = index_of(nack.nack_psn);
  if (i < 0 || i > max_sent_) violate("MRC 7.5.3", "NACK of PSN index ", i, " that was never sent");
  Record& r = records_[static_cast<std::size_t>(i)];
  if (nack.reason == wire::NackReason::kNoBitmap && r.lagged > 0) {
    --r.lagged;
    return;
  }
  const bool trimmed =
      nack.reason == wire::NackReason::kTrimmed || nack.reason == wire::NackReason::kTrimmedLasthop;
  if (!trimmed)
    violate("MRC 7.5.3", "NACK with reason ", static_cast<int>(nack.reason), " inside the window");
  if (!peer_.trim_nack) violate("MRC 7.5.3", "NACK of a trimmed packet though TRIM_NACK is off");
}

void Stream::on_ack_sent(const wire::AckView& ack) const {
  const std::int64_t upto = index_of(ack.psn) - (ack.is_ack() ? 0 : 1);
  if (ack.is_ack() && upto < placed_)
    violate("C37", "the ACK covers PSN index ", upto, ", in memory is ", placed_);
  if (upto > placed_) violate("D4", "PSN index ", upto, " acknowledged, in memory is all up to ", placed_);
  if ((ack.is_ack() && upto == placed_ && ack.msn != in_memory_upto_) || ack.msn > in_memory_upto_)
    violate("D4", "AETH.msn is ", ack.msn, ", messages in memory are ", in_memory_upto_);
}

}  // namespace mrc::property
