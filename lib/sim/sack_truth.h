// SPDX-License-Identifier: BSD-3-Clause
// What a responder has accepted, and whether its SACKs tell the truth about it (invariant I6). A model of its
// own, so that it can judge the responder.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "transport/bit_ring.h"
#include "wire/types.h"

namespace mrc::sim {

/// One direction of one QP. Thread rule: one owner.
class SackTruth {
 public:
  /// `window_pkts`: so many above cack may be accepted. `first_units`: where rcvd_bytes starts.
  SackTruth(Psn first, std::uint32_t window_pkts, RcvdUnits first_units);

  /// A packet whose verdict was kPlace.
  void accept(Psn psn, std::uint32_t nominal_bytes);
  /// What is wrong with a SACK that leaves now; empty when nothing is.
  [[nodiscard]] std::string objection(const wire::SackView& sack);

  [[nodiscard]] bool accepted(Psn psn) const;
  /// Everything up to here is accepted, and the highest that is; from -1, counted from the first PSN.
  [[nodiscard]] std::int64_t cack_index() const { return index(cack_); }
  [[nodiscard]] std::int64_t highest_index() const { return index(highest_); }
  [[nodiscard]] std::int64_t out_of_order() const { return out_of_order_; }

 private:
  using Seq = transport::Seq;
  [[nodiscard]] std::int64_t index(Seq s) const { return static_cast<std::int64_t>(s - first_); }
  [[nodiscard]] std::string wrong_bitmap(const wire::SackView& sack, Seq base) const;
  [[nodiscard]] std::string wrong_walk(Seq base);
  [[nodiscard]] std::string wrong_coverage(Seq base);

  Seq first_;
  Seq cack_;
  Seq highest_;
  std::uint32_t window_;
  RcvdUnits first_units_;
  std::int64_t out_of_order_ = 0;  ///< accepted above cack
  std::uint64_t bytes_ = 0;
  transport::BitRing accepted_;  ///< of these
  Seq hole_ = 0;                 ///< the oldest hole as of the last SACK, and how many in a row left it out
  std::int64_t unshown_ = 0;
  Seq still_cack_ = 0, still_highest_ = 0;  ///< while these stand: what was shown of all between them
  std::int64_t still_sacks_ = 0;
  std::vector<std::uint64_t> shown_;
};

}  // namespace mrc::sim
