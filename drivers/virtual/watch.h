// SPDX-License-Identifier: BSD-3-Clause
// Looking at one path while traffic runs: what entered it, what died on it, when. Written by the pump, read
// by one other thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "base/spsc_ring.h"
#include "base/time.h"
#include "fabric/fabric.h"

namespace mrc::virt {

inline constexpr std::size_t kMaxWatches = 8;

/// Something worth remembering on a watched path.
struct Observation {
  enum class What : std::uint8_t {
    kDropped,  ///< a packet that was on the path or came to it
    kDown,     ///< a change of a watched path was carried out: its last state of up or down
    kUp,
    kFirstEntered,  ///< the first packet of its kind since kUp or kDown (or since watching began)
  };
  Time at;
  What what = What::kDropped;
  fabric::Kind kind = fabric::Kind::kOther;
  fabric::DropReason reason = fabric::DropReason::kNone;
  std::uint8_t plane = 0;
  std::uint16_t path = 0;
  fabric::HostId from = 0;  ///< kDropped: the sender
  std::uint32_t psn = 0;    ///< kDropped
};

/// Running totals of a watched path. Times have the resolution of a poll.
struct WatchTotals {
  struct PerKind {
    std::uint64_t entered = 0;
    Time last_entered;  ///< 0: never
  };
  std::array<PerKind, fabric::kKinds> kinds;
  std::uint64_t observations_lost = 0;  ///< the ring was full
};

/// All watches of one fabric. Thread rule: add(), note_*() and poll() belong to the pump, totals() and take()
/// to one reader.
class Watches {
 public:
  explicit Watches(std::size_t ring_capacity) : ring_(ring_capacity) {}

  /// False: kMaxWatches are in use. Watching a path twice is once.
  bool add(const fabric::Fabric& fabric, std::uint32_t plane, std::uint32_t path, Time now);
  [[nodiscard]] bool empty() const { return count_ == 0; }
  /// Compares the counters of the watched links with those of the last poll.
  void poll(const fabric::Fabric& fabric, Time now);
  void note_drop(const fabric::Fabric& fabric, const fabric::Outcome& outcome);
  /// The state of a switch was changed.
  void note_state(fabric::SwitchId id, bool up, Time now);

  /// Observations since the last call, oldest first.
  std::size_t take(std::span<Observation> out) { return ring_.pop(out); }
  /// False: this path is not watched.
  bool totals(std::uint32_t plane, std::uint32_t path, WatchTotals& out) const;

 private:
  struct Shared {
    std::atomic<std::uint64_t> entered{0};
    std::atomic<std::int64_t> last_entered_ns{0};
  };
  struct Watch {
    std::uint32_t plane = 0;
    std::uint32_t path = 0;
    fabric::SwitchId spine = 0;
    std::vector<fabric::LinkId> into;            ///< one from each T0; a dead one counts what comes to it too
    fabric::PerKind seen{};                      ///< counters at the last poll
    std::array<bool, fabric::kKinds> entered{};  ///< since the last change of state
    std::array<Shared, fabric::kKinds> shared;
  };
  void put(const Observation& o);
  [[nodiscard]] static fabric::PerKind count(const fabric::Fabric& fabric, const Watch& w);

  std::array<Watch, kMaxWatches> watches_;
  std::atomic<std::size_t> count_{0};
  std::atomic<std::uint64_t> lost_{0};
  SpscRing<Observation> ring_;
};

}  // namespace mrc::virt
