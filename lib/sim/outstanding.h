// SPDX-License-Identifier: BSD-3-Clause
// What a sender can know of the packets it sent, from what reached it: which are received, and which it has
// a reason to give up (invariant I2). A model of its own, so that it can judge the requestor.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/limits.h"
#include "base/time.h"
#include "path/ev_table.h"
#include "transport/bit_ring.h"
#include "transport/types.h"

namespace mrc::sim {

/// The rules by which a QP gives packets up, as far as they bound what it may do.
struct GiveUpRules {
  Duration base_rtt;       ///< the least reordering allowance (D8)
  Duration ack_timer;      ///< interval(0) of D13; 0: no timer
  bool ev_flush = true;    ///< a loss takes along what left later on its EV (D9)
  bool timestamps = true;  ///< SACKs reflect when their trigger left
};

/// One direction of one QP. Feed it everything in the order in which the requestor sees it, and before the
/// requestor does. Thread rule: one owner.
class Outstanding {
 public:
  struct Packet {
    Time sent;                       ///< its last transmission
    path::EvIndex ev = path::kNoEv;  ///< of that
    std::uint16_t nominal_bytes = 0;
    std::uint8_t port = 0;
    bool witnessed = false;  ///< a SACK or NACK showed that this transmission is lost
  };

  /// `window_pkts`: at most so many are outstanding. `evs` outlives this.
  Outstanding(Psn first, std::uint32_t window_pkts, const path::EvTable& evs, const GiveUpRules& rules);

  void on_sent(const transport::TxDesc& d, Time now);
  /// `made`: when the responder sent it.
  void on_sack(const wire::SackView& sack, Time made, Time now);
  void on_nack(const wire::NackView& nack, Time now);
  void on_ack(const wire::AckView& ack);
  /// The requestor is about to look at its timers.
  void on_timer(Time now);
  /// Planes left service: their ports went down, here or there, or the requestor gave them up.
  void on_planes_out(std::uint32_t planes, Time now);

  /// Why `psn` must not be sent again now (D1, I2); empty when it may.
  [[nodiscard]] std::string objection(Psn psn, Time now) const;
  /// When a packet on that EV was last known lost: the witness of a verdict (I2). Time{}: never.
  [[nodiscard]] Time lost_on(path::EvIndex ev) const {
    return losses_[ev].empty() ? Time{} : losses_[ev].back().known;
  }
  /// EVs of a plane on which something was lost.
  [[nodiscard]] unsigned evs_with_losses(std::uint8_t port) const;
  /// When the newest mark or trim notice came: the witness of a SKIP.
  [[nodiscard]] Time marked() const { return marked_; }

  [[nodiscard]] const Packet& operator[](Psn psn) const { return packets_[at(psn) & mask_]; }
  [[nodiscard]] bool known(Psn psn) const;
  [[nodiscard]] std::int64_t unknown_bytes() const { return unknown_bytes_; }
  /// Not known received, last sent over `port` after `since`.
  [[nodiscard]] std::int64_t bytes_over(std::uint8_t port, Time since) const;

 private:
  using Seq = transport::Seq;
  /// Send times of packets that may be given up for losses on their EV.
  struct Losses {
    Time sent;   ///< from when the first of the lost left
    Time known;  ///< to when the last of these losses was known
  };

  [[nodiscard]] Seq at(Psn psn) const { return transport::unwrap(psn, next_); }
  [[nodiscard]] Packet& packet(Seq s) { return packets_[s & mask_]; }
  [[nodiscard]] const Packet& packet(Seq s) const { return packets_[s & mask_]; }
  [[nodiscard]] bool timed_out(const Packet& p, Time now) const {
    return rules_.ack_timer.ns > 0 && now - p.sent >= rules_.ack_timer;
  }
  [[nodiscard]] bool flushed(const Packet& p) const;
  [[nodiscard]] Time left(const wire::SackView& sack, Time made) const;
  void know(Seq base, std::uint64_t bits);
  void know_up_to(Seq seq);
  void lose(const Packet& p, Time now);

  const path::EvTable& evs_;
  GiveUpRules rules_;
  Seq unack_;  ///< the oldest not known received
  Seq next_;
  std::int64_t unknown_bytes_ = 0;
  std::uint32_t mask_;
  std::vector<Packet> packets_;
  transport::BitRing unknown_;
  std::vector<std::vector<Losses>> losses_;  ///< by EV, oldest first, apart from each other
  std::array<Time, kMaxPlanes> out_{};       ///< when each plane last left service
  Time marked_;
  Time next_timeout_ = Time::never();  ///< no packet times out before
};

}  // namespace mrc::sim
