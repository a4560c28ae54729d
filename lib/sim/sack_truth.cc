// SPDX-License-Identifier: BSD-3-Clause
#include "sim/sack_truth.h"

#include <algorithm>
#include <bit>

namespace mrc::sim {

namespace {

constexpr std::int64_t kMostOutOfOrder = 0x7FFF;  // 15 bits of ooo_count

std::string differs(const char* field, std::int64_t got, std::int64_t want) {
  return std::string(field) + " is " + std::to_string(got) + ", must be " + std::to_string(want);
}

}  // namespace

SackTruth::SackTruth(Psn first, std::uint32_t window_pkts, RcvdUnits first_units)
    : first_(transport::first_seq(first)),
      cack_(first_ - 1),
      highest_(cack_),
      window_(window_pkts),
      first_units_(first_units),
      accepted_(window_pkts + 1),
      shown_(window_pkts / 64 + 2) {}

void SackTruth::accept(Psn psn, std::uint32_t nominal_bytes) {
  const Seq seq = transport::unwrap(psn, cack_);
  bytes_ += nominal_bytes;
  highest_ = std::max(highest_, seq);
  if (seq > cack_ + 1) {
    accepted_.set(seq);
    ++out_of_order_;
    return;
  }
  ++cack_;
  while (cack_ < highest_ && accepted_.test(cack_ + 1)) {
    accepted_.clear(++cack_);
    --out_of_order_;
  }
}

bool SackTruth::accepted(Psn psn) const {
  const Seq seq = transport::unwrap(psn, cack_);
  return seq <= cack_ ? seq >= first_ : seq <= highest_ && accepted_.test(seq);
}

std::string SackTruth::objection(const wire::SackView& sack) {
  if (sack.cack_psn != transport::psn_of(cack_))
    return differs("cack_psn", sack.cack_psn.value(), transport::psn_of(cack_).value());
  const Seq base = transport::unwrap(sack.sack_base(), cack_);
  if (std::string wrong = wrong_bitmap(sack, base); !wrong.empty()) return wrong;
  if (std::string wrong = wrong_walk(base); !wrong.empty()) return wrong;
  if (std::string wrong = wrong_coverage(base); !wrong.empty()) return wrong;
  const RcvdUnits units = first_units_ + static_cast<std::int32_t>((bytes_ + 255) >> 8);
  if (sack.rcvd_bytes != units) return differs("rcvd_bytes", sack.rcvd_bytes.value(), units.value());
  const std::int64_t above = std::min(out_of_order_, kMostOutOfOrder);
  if (sack.ooo_count != above) return differs("ooo_count", sack.ooo_count, above);
  // Before the first packet, and for a duplicate too old for its field (D4), ack_psn says nothing.
  if (!sack.pr && sack.ack_psn_offset != 0 && !accepted(sack.ack_psn()))
    return "ack_psn " + std::to_string(sack.ack_psn().value()) + " was never accepted";
  return {};
}

std::string SackTruth::wrong_bitmap(const wire::SackView& sack, Seq base) const {
  using transport::window_mask;
  const std::uint64_t truth = window_mask(base, base, cack_ + 1) |
                              (accepted_.extract(base) & window_mask(base, cack_ + 1, highest_ + 1));
  if (sack.sack_bitmap == truth) return {};
  const int bit = std::countr_zero(sack.sack_bitmap ^ truth);
  return "bit " + std::to_string(bit) + " of the bitmap (PSN " +
         std::to_string(transport::psn_of(base + static_cast<unsigned>(bit)).value()) + ") is " +
         ((truth >> bit & 1U) != 0 ? "0, but it was accepted" : "1, but it was not accepted");
}

// D5: the walk shows the oldest hole again and again.
std::string SackTruth::wrong_walk(Seq base) {
  if (highest_ == cack_) {
    hole_ = 0;
    return {};
  }
  const Seq hole = cack_ + 1;
  const bool shown = base <= hole && hole < base + 64;
  unshown_ = hole == hole_ && !shown ? unshown_ + 1 : 0;
  hole_ = hole;
  if (unshown_ <= window_ / 64 + 1) return {};
  return "the hole at PSN " + std::to_string(transport::psn_of(hole).value()) + " is in none of " +
         std::to_string(unshown_) + " SACKs";
}

// While nothing moves, W / 64 + 1 SACKs show all of a window of W.
std::string SackTruth::wrong_coverage(Seq base) {
  const Seq from = cack_ + 1;
  const auto wide = static_cast<std::int64_t>(highest_ - cack_);
  const auto words = static_cast<std::size_t>((wide + 63) / 64);
  if (still_cack_ != cack_ || still_highest_ != highest_ || still_sacks_ == 0) {
    still_cack_ = cack_;
    still_highest_ = highest_;
    still_sacks_ = 0;
    std::fill_n(shown_.begin(), words + 1, std::uint64_t{0});
  }
  const std::uint64_t bits = transport::window_mask(base, from, highest_ + 1);
  if (bits != 0) {  // aligned to cack + 1; a base below it was cut off by the mask
    const std::uint64_t lead = base < from ? from - base : 0;
    const std::uint64_t at = base < from ? 0 : base - from;
    const std::uint64_t moved = bits >> lead;
    shown_[at / 64] |= moved << (at % 64);
    shown_[at / 64 + 1] |= (moved >> 1) >> (63 - at % 64);
  }
  if (++still_sacks_ <= (wide + 63) / 64) return {};
  still_sacks_ = 0;
  for (std::int64_t i = 0; i < wide; ++i)
    if ((shown_[static_cast<std::size_t>(i) / 64] >> (i % 64) & 1U) == 0)
      return "PSN " + std::to_string(transport::psn_of(from + static_cast<std::uint64_t>(i)).value()) +
             " is in none of the last SACKs of a window of " + std::to_string(wide);
  return {};
}

}  // namespace mrc::sim
