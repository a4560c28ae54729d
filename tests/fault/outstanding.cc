// SPDX-License-Identifier: BSD-3-Clause
#include "outstanding.h"

#include "wire/sizes.h"

namespace mrc::fault {

void Outstanding::on_sent(const transport::TxDesc& d, Time now) {
  Packet& p = packets_[d.psn.value() % kRing];
  if (d.psn == next_) {
    ++next_;
    p.known = false;
    p.nominal_bytes = wire::write_nominal_bytes(d.opcode, d.ts, d.payload_bytes);
    unknown_bytes_ += p.nominal_bytes;
  }
  p.ev = d.ev;
  p.port = d.port;
  p.sent = now;
}

void Outstanding::know(Psn psn) {
  if (psn - unack_ < 0 || psn - next_ >= 0) return;
  Packet& p = packets_[psn.value() % kRing];
  if (p.known) return;
  p.known = true;
  unknown_bytes_ -= p.nominal_bytes;
  while (unack_ != next_ && packets_[unack_.value() % kRing].known) ++unack_;
}

void Outstanding::know_up_to(Psn psn) {
  if (psn - next_ >= 0) return;
  while (psn - unack_ >= 0 && unack_ != next_) know(unack_);
}

void Outstanding::on_sack(const wire::SackView& sack) {
  know_up_to(sack.cack_psn);
  if (!sack.pr) know(sack.ack_psn());
  for (int bit = 0; bit < 64; ++bit)
    if ((sack.sack_bitmap >> bit & 1U) != 0) know(sack.sack_base() + bit);
}

// A NAK acknowledges what lies before it (D17).
void Outstanding::on_ack(const wire::AckView& ack) {
  know_up_to(ack.is_ack() ? ack.psn : ack.psn - 1);
}

std::int64_t Outstanding::bytes_over(std::uint8_t port, Time since) const {
  std::int64_t sum = 0;
  for (Psn psn = unack_; psn != next_; ++psn) {
    const Packet& p = (*this)[psn];
    if (!p.known && p.port == port && p.sent > since) sum += p.nominal_bytes;
  }
  return sum;
}

}  // namespace mrc::fault
