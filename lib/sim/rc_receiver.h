// SPDX-License-Identifier: BSD-3-Clause
// Receiving half of the single-path baseline: in order or not at all (IBTA 9.7.5). Sans-IO.
#pragma once

#include <cstdint>

#include "sim/rc_types.h"

namespace mrc::sim {

enum class RcVerdict : std::uint8_t { kPlace, kDuplicate, kDrop };

/// One owner.
class RcReceiver {
 public:
  explicit RcReceiver(Duration cnp_interval) : cnp_interval_(cnp_interval) {}

  RcVerdict on_data(const RcPacket& p, bool ce, Time now) {
    if (ce) note_mark(now);
    if (p.seq > expected_) {
      ++counters_.rx_out_of_order;
      // One NAK a sequence error: it is repeated only after the missing packet came.
      nak_pending_ = nak_pending_ || !nak_sent_;
      nak_sent_ = true;
      return RcVerdict::kDrop;
    }
    if (p.seq < expected_) {
      ++counters_.rx_duplicate;
      ack_pending_ = true;  // its acknowledgement may be lost
      return RcVerdict::kDuplicate;
    }
    ++expected_;
    ++counters_.rx_in_order;
    nak_sent_ = nak_pending_ = false;
    ack_pending_ = ack_pending_ || p.ack_req;
    return RcVerdict::kPlace;
  }

  [[nodiscard]] bool control_ready() const { return nak_pending_ || ack_pending_ || cnp_pending_; }
  /// The next CNP, NAK or ACK, in this order; acknowledgements are cumulative, so one of each is enough.
  bool next_control(RcPacket& out) {
    if (!control_ready()) return false;
    out = {};
    out.seq = expected_;
    if (cnp_pending_) {
      out.kind = RcKind::kCnp;
      cnp_pending_ = false;
      ++counters_.tx_cnp;
    } else if (nak_pending_) {
      out.kind = RcKind::kNak;
      nak_pending_ = ack_pending_ = false;
      ++counters_.tx_nak;
    } else {
      out.kind = RcKind::kAck;
      ack_pending_ = false;
      ++counters_.tx_ack;
    }
    return true;
  }

  [[nodiscard]] std::uint64_t expected() const { return expected_; }
  [[nodiscard]] const RcCounters& counters() const { return counters_; }

 private:
  void note_mark(Time now) {
    ++counters_.rx_ce;
    if (counters_.rx_ce > 1 && now - last_cnp_ < cnp_interval_) return;
    last_cnp_ = now;
    cnp_pending_ = true;
  }

  Duration cnp_interval_;
  std::uint64_t expected_ = 0;
  bool nak_sent_ = false;
  bool nak_pending_ = false;
  bool ack_pending_ = false;
  bool cnp_pending_ = false;
  Time last_cnp_;
  RcCounters counters_;
};

}  // namespace mrc::sim
