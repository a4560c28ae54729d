// SPDX-License-Identifier: BSD-3-Clause
// The life of the path that the demo kills, as told by what the fabric saw on it and what the sender knew.
#pragma once

#include <cstdint>
#include <vector>

#include "base/serial.h"
#include "base/time.h"
#include "transport/qp.h"
#include "virtual/virtual_fabric.h"

namespace mrc::endpoint {

/// A round takes some ten microseconds; what takes longer than this was interrupted.
inline constexpr Duration kAbsence = microseconds(200);

/// Time{} where something did not happen.
struct DeathStory {
  Time down;        ///< the fabric took the path down
  Time detected;    ///< the sender had no usable EV left on it, and the receiver answered over none
  Time repaired;    ///< the last data packet lost on it was acknowledged
  Time up;          ///< the fabric brought it back
  Time data_again;  ///< the first data packet on it after that
  std::uint64_t data_lost = 0;  ///< data packets and retransmissions that died on it
  std::uint64_t data_after_detection = 0;
  std::uint64_t probes_after_detection = 0;
  std::uint64_t control_after_detection = 0;
  std::uint64_t observations_lost = 0;
};

/// Follows one path. Thread rule: the demo's one thread; step() once a round, after all polls.
class StoryTeller {
 public:
  /// `evs`: the EVs that take this path, of the sender and of the receiver.
  StoryTeller(virt::VirtualFabric& net, std::uint32_t plane, std::uint32_t path,
              std::vector<path::EvIndex> evs);

  /// Time of death, and of return.
  void take_down();
  void bring_up();
  void step(const transport::Qp& sender, const transport::Qp& receiver, Time now);

  [[nodiscard]] bool detected() const { return story_.detected.ns != 0; }
  [[nodiscard]] bool repaired() const { return story_.repaired.ns != 0; }
  /// A probe of the path died on it since the death was noticed.
  [[nodiscard]] bool probed() const { return story_.probes_after_detection != 0; }
  /// Data entered the path in the last `age`.
  [[nodiscard]] bool data_under_way(Duration age, Time now) const;
  [[nodiscard]] bool data_again() const { return story_.data_again.ns != 0; }
  [[nodiscard]] Time down_at() const { return story_.down; }
  /// Longest time between two steps from the death until the repair.
  [[nodiscard]] Duration longest_absence() const { return longest_absence_; }
  /// Sum of the times between two steps that are absences of the thread (kAbsence), in the same span.
  [[nodiscard]] Duration absent() const { return absent_; }
  [[nodiscard]] DeathStory story() const;

 private:
  [[nodiscard]] bool used_by(const transport::Qp& sender, const transport::Qp& receiver) const;
  void note(const virt::Observation& o);
  void note_drop(const virt::Observation& o);

  virt::VirtualFabric& net_;
  const std::uint32_t plane_;
  const std::uint32_t path_;
  const std::vector<path::EvIndex> evs_;
  DeathStory story_;
  bool lost_any_ = false;
  Psn last_lost_;
  Time last_step_;
  Duration longest_absence_{};
  Duration absent_{};
};

}  // namespace mrc::endpoint
