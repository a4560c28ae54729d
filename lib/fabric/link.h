// SPDX-License-Identifier: BSD-3-Clause
// A link in one direction: the port that feeds it, and the wire.
#pragma once

#include <cstdint>

#include "base/rng.h"
#include "fabric/counters.h"
#include "fabric/output_queue.h"
#include "fabric/packet_pool.h"
#include "fabric/topology.h"

namespace mrc::fabric {

/// Probabilities of what the wire does to a packet.
struct LinkFaults {
  double loss = 0;
  double corrupt = 0;
  double duplicate = 0;
  double reorder = 0;  ///< held back by reorder_delay while others pass
  Duration reorder_delay{};

  [[nodiscard]] bool any() const { return loss > 0 || corrupt > 0 || duplicate > 0 || reorder > 0; }
};

/// State of one link. The Fabric drives it; functions here touch nothing but the link.
class Link {
 public:
  Link(const LinkSpec& spec, std::uint64_t seed);

  /// Without speed, distance or faults a packet passes within the same event.
  [[nodiscard]] bool immediate() const { return immediate_; }
  [[nodiscard]] bool idle(Time now) const { return !service_pending && now >= busy_until && queue.empty(); }
  [[nodiscard]] Duration transmission_time(std::uint64_t bytes) const {
    return nanoseconds(static_cast<std::int64_t>(bytes * fs_per_byte_ / 1'000'000));
  }

  /// Starts serving a packet at `now`: busy_until is the end of it.
  void start_service(const Packet& packet, std::uint32_t slot, Time now);
  /// The link died: nothing is in service any more.
  void stop_service(Time now);
  /// When what leaves the port at `departure` arrives. Never before what left earlier.
  Time arrival_after(Time departure);

  // Bytes of the packet in service by class, for the queue limits.
  [[nodiscard]] std::uint32_t serving_data_bytes(Time now) const {
    return now < busy_until && !serving_control ? serving_bytes : 0;
  }
  [[nodiscard]] std::uint32_t serving_control_bytes(Time now) const {
    return now < busy_until && serving_control ? serving_bytes : 0;
  }

  void set_rate(std::uint64_t rate_bps);
  void set_delay(Duration delay);
  void set_jitter(Duration jitter);
  void set_faults(const LinkFaults& f);
  [[nodiscard]] const LinkFaults& faults() const { return faults_; }
  [[nodiscard]] bool has_faults() const { return has_faults_; }

  End from;
  End to;
  PortConfig config;
  LinkCounters counters;
  OutputQueue queue;
  SlotList wire;  ///< in order of arrival
  Time busy_until;
  std::uint32_t serving = kNil;  ///< slot of the packet in service while it can still be marked
  std::uint32_t serving_bytes = 0;
  bool serving_control = false;
  bool service_pending = false;  ///< an event stands at busy_until
  bool up = true;
  std::uint8_t plane = 0;
  Rng rng;

 private:
  void refresh();

  LinkFaults faults_;
  bool immediate_ = false;
  bool has_faults_ = false;
  std::uint64_t fs_per_byte_ = 0;  ///< femtoseconds
  std::uint64_t carry_fs_ = 0;     ///< what rounding to ns left over: no drift from the nominal rate
  Time last_arrival_;
};

}  // namespace mrc::fabric
