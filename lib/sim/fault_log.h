// SPDX-License-Identifier: BSD-3-Clause
// Which fault lost a packet, and when what it lost was repaired.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/time.h"
#include "fabric/packet.h"

namespace mrc::sim {

/// A fault's number: its place in FaultLog::records().
using FaultId = std::uint32_t;
inline constexpr FaultId kNoFault = 0xFFFFFFFF;

/// Lost to a fault of the network, as against want of room.
constexpr bool is_silent_loss(fabric::DropReason reason) {
  using fabric::DropReason;
  return reason == DropReason::kLinkDown || reason == DropReason::kRandomLoss ||
         reason == DropReason::kEvLoss || reason == DropReason::kBlackHole || reason == DropReason::kPortDown;
}

/// What can swallow a packet somewhere.
enum class LossCause : std::uint8_t { kDown, kLoss, kCorrupt, kBlackHole, kEv };

/// For every place and cause, the fault that answers for it, by time.
class FaultCauses {
 public:
  /// From `at` on, what `cause` loses on `link` is the doing of `fault` (kNoFault: of nobody). In order of
  /// time for each link. A black hole stands at the links into its switch.
  void on_link(LossCause cause, fabric::LinkId link, Time at, FaultId fault) {
    steps_[key(cause, link)].push_back({at, fault});
  }
  /// As on_link, for losses by the rule of one entropy value on a plane.
  void on_ev(std::uint8_t plane, std::uint16_t sport, std::uint16_t label, Time at, FaultId fault) {
    steps_[ev_key(plane, sport, label)].push_back({at, fault});
  }
  /// Whose doing it is that this packet did not arrive whole; kNoFault when nobody's.
  [[nodiscard]] FaultId of(const fabric::Outcome& outcome) const;

 private:
  struct Step {
    Time at;
    FaultId fault = kNoFault;
  };
  static std::uint64_t key(LossCause cause, std::uint32_t id) {
    return std::uint64_t{static_cast<std::uint8_t>(cause)} << 40 | id;
  }
  static std::uint64_t ev_key(std::uint8_t plane, std::uint16_t sport, std::uint16_t label) {
    return std::uint64_t{static_cast<std::uint8_t>(LossCause::kEv)} << 40 | std::uint64_t{plane} << 32 |
           std::uint32_t{sport} << 16 | label;
  }

  std::unordered_map<std::uint64_t, std::vector<Step>> steps_;
};

/// A fault and what it did.
struct FaultRecord {
  Time at;
  std::uint64_t lost_data = 0;   ///< data packets that it swallowed
  std::uint64_t lost_other = 0;  ///< SACKs, probes ...
  Time last_sent_into;           ///< send time of the last data packet that was swallowed; Time{0}: none
  Time last_repair;              ///< when the receiver had the last PSN that lost a transmission to it
  std::uint64_t open = 0;        ///< PSNs lost to it and not yet received
};

/// All faults of a run. `key` names a PSN of a QP. A PSN that several faults took transmissions of is
/// repaired for all of them when it arrives.
class FaultLog {
 public:
  /// One begins at `at`.
  FaultId add(Time at);
  FaultCauses& causes() { return causes_; }
  [[nodiscard]] const FaultCauses& causes() const { return causes_; }

  void lost_data(FaultId fault, Time sent, std::uint64_t key, bool received_already);
  void lost_other(FaultId fault) {
    if (fault != kNoFault) ++records_[fault].lost_other;
  }
  void received(Time now, std::uint64_t key) {
    if (!missing_.empty()) repair(now, key);
  }
  [[nodiscard]] const std::vector<FaultRecord>& records() const { return records_; }

 private:
  void repair(Time now, std::uint64_t key);

  FaultCauses causes_;
  std::vector<FaultRecord> records_;
  std::unordered_multimap<std::uint64_t, FaultId> missing_;
};

}  // namespace mrc::sim
