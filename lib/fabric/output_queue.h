// SPDX-License-Identifier: BSD-3-Clause
// The two-class queue of a port: control strictly first; data with tail drop, trimming and ECN.
#pragma once

#include <array>
#include <cstdint>

#include "base/rng.h"
#include "fabric/packet_pool.h"
#include "fabric/port_config.h"

namespace mrc::fabric {

/// What became of a slot that came to the queue. With a reason other than kNone the slot is not in the queue;
/// with `swapped` it now holds another packet: the one whose place the arriving packet took.
struct Admission {
  DropReason reason = DropReason::kNone;
  bool trimmed = false;
  bool swapped = false;
};

/// Waiting packets of one port, without the one in service. Single owner.
class OutputQueue {
 public:
  [[nodiscard]] bool empty() const { return lists_[kControl].empty() && lists_[kData].empty(); }
  [[nodiscard]] std::uint64_t data_bytes() const { return bytes_[kData]; }
  [[nodiscard]] std::uint64_t control_bytes() const { return bytes_[kControl]; }
  [[nodiscard]] std::uint32_t packets() const { return lists_[kControl].count + lists_[kData].count; }

  /// Takes `slot` in, trims or refuses it. `serving_data_bytes` and `serving_control_bytes`: the packet in
  /// service counts as queued.
  Admission admit(PacketPool& pool, const PortConfig& config, bool last_hop, std::uint32_t slot,
                  std::uint32_t serving_data_bytes, std::uint32_t serving_control_bytes, Rng& rng);
  /// The next packet to serve. Precondition: not empty.
  std::uint32_t pop(PacketPool& pool);

 private:
  enum : std::uint8_t { kControl, kData };
  Admission admit_control(PacketPool& pool, const PortConfig& config, std::uint32_t slot,
                          std::uint32_t serving_bytes);
  bool swap_with_last(PacketPool& pool, const PortConfig& config, std::uint32_t slot, Rng& rng);
  void push(PacketPool& pool, std::uint32_t slot, std::uint8_t which);

  std::array<SlotList, 2> lists_{};
  std::array<std::uint64_t, 2> bytes_{};
};

/// Whether a packet that leaves `left_behind_bytes` of data behind is marked.
bool ecn_marks(const EcnConfig& ecn, std::uint64_t left_behind_bytes, Rng& rng);

constexpr bool is_control_class(const PortConfig& config, wire::DscpClass c) {
  return (config.control_classes & class_bit(c)) != 0;
}

}  // namespace mrc::fabric
