// SPDX-License-Identifier: BSD-3-Clause
// SETH's bitmap and where it starts (MRC 7.5.2.2, D5, C19): a window wider than 64 is walked through by
// successive SACKs.
#pragma once

#include <cstdint>

#include "transport/bit_ring.h"
#include "transport/seq.h"

namespace mrc::transport {

/// The bitmap of one SACK: bit i is PSN base + i.
struct SackBitmap {
  Seq base = 0;
  std::uint64_t bits = 0;
};

/// T7-5's lowest_unsacked_psn and the walk. Value type, one owner.
class SackWalk {
 public:
  void reset(Seq cack) { low_ = cack; }

  /// The next bitmap; advances the walk. Bits above max_rcv are 0: no information.
  SackBitmap next(const BitRing& received, Seq cack, Seq max_rcv) {
    Seq base = cack + 1;
    if (max_rcv == cack) {
      low_ = base;
    } else {
      if (low_ <= cack || low_ > max_rcv) low_ = cack + 1;
      base = low_;
      // max - 63, so that max_rcv itself is inside (3.5, D5); never below cack + 1.
      if (base + 63 > max_rcv) base = max_rcv >= cack + 64 ? max_rcv - 63 : cack + 1;
    }
    // D5. Base may have been moved down: the walk goes on from low, or it would never leave the top.
    low_ += 64;
    return {base, max_rcv == cack ? 0 : received.extract(base)};
  }

 private:
  Seq low_ = 0;
};

}  // namespace mrc::transport
