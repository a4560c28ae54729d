// SPDX-License-Identifier: BSD-3-Clause
// What a sender can know of the packets it sent: by the SACKs and ACKs that reached it.
#pragma once

#include <cstdint>
#include <vector>

#include "base/time.h"
#include "path/ev_table.h"
#include "transport/types.h"

namespace mrc::fault {

/// One QP's. Windows are at most kRing packets.
class Outstanding {
 public:
  struct Packet {
    path::EvIndex ev = path::kNoEv;  ///< of its last transmission
    std::uint8_t port = 0;
    bool known = true;  ///< received, as the sender knows
    std::uint32_t nominal_bytes = 0;
    Time sent;
  };

  explicit Outstanding(Psn first) : unack_(first), next_(first), packets_(kRing) {}

  [[nodiscard]] const Packet& operator[](Psn psn) const { return packets_[psn.value() % kRing]; }
  void on_sent(const transport::TxDesc& d, Time now);
  void on_sack(const wire::SackView& sack);
  void on_ack(const wire::AckView& ack);
  [[nodiscard]] std::int64_t unknown_bytes() const { return unknown_bytes_; }
  /// Not known received, last sent over `port` after `since`.
  [[nodiscard]] std::int64_t bytes_over(std::uint8_t port, Time since) const;

 private:
  static constexpr std::uint32_t kRing = 4096;

  void know(Psn psn);
  void know_up_to(Psn psn);

  Psn unack_;  ///< the oldest not known received
  Psn next_;
  std::int64_t unknown_bytes_ = 0;
  std::vector<Packet> packets_;
};

}  // namespace mrc::fault
