// SPDX-License-Identifier: BSD-3-Clause
// Everything between two hosts: independent planes and directions that delay, lose, reorder, duplicate,
// corrupt, trim and mark, and paths that die for a while. Seeded; decisions are drawn in sending order.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <queue>
#include <vector>

#include "base/rng.h"
#include "packet.h"
#include "scenario.h"

namespace mrc::property {

struct ChannelCounters {
  std::uint64_t sent = 0, injected = 0, duplicated = 0;  // what went in
  std::uint64_t delivered = 0, lost = 0, corrupted = 0;  // what came out
  std::uint64_t trimmed = 0, marked = 0;
};

class Channel {
 public:
  explicit Channel(const Scenario& scenario);

  void send(Packet packet, Time now);
  [[nodiscard]] Time next_arrival() const { return queue_.empty() ? Time::never() : queue_.top().at; }
  /// The oldest packet that has arrived at `now`; none: nullopt. It is for host 1 - from.
  std::optional<Packet> take(Time now);
  [[nodiscard]] bool empty() const { return queue_.empty(); }
  [[nodiscard]] const ChannelCounters& counters() const { return counters_; }
  /// Packets that went in equal packets that came out or are under way.
  void check_conservation() const;

 private:
  struct Entry {
    Time at;
    std::uint64_t order;
    std::size_t slot;
    bool operator<(const Entry& o) const { return at != o.at ? at > o.at : order > o.order; }
  };

  [[nodiscard]] bool faults_at(Duration t) const { return t < s_.fault_end; }
  [[nodiscard]] bool is_dead(const Packet& p, Duration t) const;
  bool lose_write(Packet& p, const Link& link, Time now);
  void corrupt(Packet& p);
  void trim(Packet& p, wire::Trim how);
  void inject_resource_nack(const Packet& p, Time now);
  [[nodiscard]] Duration draw_delay(const Packet& p, const Link& link, bool faults);
  void schedule(Packet packet, Time at);

  const Scenario& s_;
  Rng rng_;
  std::priority_queue<Entry> queue_;
  std::vector<Packet> slots_;
  std::vector<std::size_t> free_;
  std::uint64_t order_ = 0;
  std::vector<Time> last_on_ev_[2];
  std::map<std::uint32_t, int> resource_nacks_[2];  ///< by PSN; at most one each, they cost retry budget
  ChannelCounters counters_;
};

}  // namespace mrc::property
