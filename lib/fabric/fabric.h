// SPDX-License-Identifier: BSD-3-Clause
// The network: hosts' packets go in, outcomes come out, in the order of time. Sans-IO: no clock, no DPDK, no
// allocation after construction.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "fabric/change.h"
#include "fabric/counters.h"
#include "fabric/event_heap.h"
#include "fabric/link.h"
#include "fabric/packet_pool.h"
#include "fabric/switch.h"
#include "fabric/topology.h"

namespace mrc::fabric {

struct FabricConfig {
  ForwardingConfig forwarding;
  std::uint64_t seed = 1;
  std::uint32_t max_packets = 65536;      ///< inside at one time, 1..2^26
  std::uint32_t max_strays = 1024;        ///< packets held back by reordering at one time
  std::vector<ScheduledChange> schedule;  ///< any order; executed at its times
};

inline constexpr std::size_t kMaxEvRules = 64;

/// Moves packets through a topology. Thread rule: one owner. Time never runs back: call advance(now) until it
/// returns less than its span before inject(..., now).
class Fabric {
 public:
  /// Refuses an empty topology, links that lead nowhere, and sizes out of range.
  static Result<std::unique_ptr<Fabric>> create(Topology topology, FabricConfig config);

  /// A packet leaves `host` on `plane`. kNone: the fabric holds the handle until an outcome returns it.
  /// Otherwise the caller still has it: kPortDown, kQueueFull, kControlQueueFull (host port), kNoSlot.
  DropReason inject(HostId host, std::uint8_t plane, const Packet& view, Time now);
  /// Whether inject would find room for `bytes` of data now: what a host asks before it sends (D1).
  [[nodiscard]] bool can_inject(HostId host, std::uint8_t plane, std::uint32_t bytes, Time now) const;
  /// When the host's port will have sent what it has been given.
  [[nodiscard]] Time port_free_at(HostId host, std::uint8_t plane) const;

  /// Runs everything due at or before `now` until `out` is full; returns how many outcomes it wrote.
  std::size_t advance(Time now, std::span<Outcome> out);
  /// When advance has something to do next, changes of the schedule included; Time::never() when nothing.
  [[nodiscard]] Time next_event() const;

  /// Changes the network now. False: the target does not exist, or the table of EV rules is full.
  bool apply(const Change& change, Time now);

  [[nodiscard]] const Topology& topology() const { return topology_; }
  [[nodiscard]] bool host_port_up(HostId host, std::uint8_t plane) const {
    return links_[topology_.up_of(host, plane)].up;
  }
  [[nodiscard]] const Link& link(LinkId id) const { return links_[id]; }
  [[nodiscard]] const FabricCounters& counters() const { return counters_; }
  /// How often a host's own port went down or came back: who watches ports looks when this moved.
  [[nodiscard]] std::uint64_t host_port_changes() const { return host_port_changes_; }
  /// The links a packet would take now from `host` into `plane`, in order; ends where nothing leads on. Dead
  /// links and black holes are on it like living ones: forwarding does not know them.
  [[nodiscard]] std::vector<LinkId> path_of(HostId host, std::uint8_t plane, Packet view) const;
  /// The other direction of a link's cable, or kNil.
  [[nodiscard]] LinkId reverse_of(LinkId id) const { return reverse_[id]; }
  [[nodiscard]] bool black_hole(SwitchId id) const { return switches_[id].black_hole; }
  /// The sum over the links into a switch: the counters of "path k" are those into its spine.
  [[nodiscard]] LinkCounters counters_into(SwitchId id) const;
  [[nodiscard]] std::uint32_t in_flight() const { return pool_.in_use(); }
  /// injected + duplicated = delivered + dropped + in flight.
  [[nodiscard]] bool conserves() const;

 private:
  Fabric(Topology topology, FabricConfig config);

  // Movement (fabric.cc). A slot id goes from hand to hand: wire, queue, done.
  static bool passes_at_once(const Link& link, Time now);
  Admission enqueue(Link& link, LinkId id, std::uint32_t slot, Time now);
  void walk(LinkId id, std::uint32_t slot, Time now);
  LinkId arrive(LinkId id, std::uint32_t slot, Time now);
  void serve(Link& link, LinkId id, std::uint32_t slot, Time now);
  void launch_with_faults(Link& link, LinkId id, std::uint32_t slot, Time now);
  void put_on_wire(Link& link, LinkId id, std::uint32_t slot);
  void count_sent(Link& link, const Packet& p);
  void on_service_end(LinkId id, Time now);
  void on_arrival(LinkId id, Time now);
  void finish(std::uint32_t slot, LinkId link, DropReason reason, HostId host, Time now);
  void write_outcome(std::uint32_t slot, Outcome& out);
  static bool ev_rule_hits(std::span<const EvRule> rules, const Packet& p, std::uint8_t plane, Rng& rng);

  // Changes (fabric_change.cc)
  template <class Function>
  bool for_each_target(const Change& change, Function&& f);
  void set_up(LinkId id, bool up, Time now);
  bool set_ev_rule(const EvRule& rule);
  void flush(LinkId id, Time now);

  Topology topology_;
  FabricConfig config_;
  std::vector<Link> links_;
  std::vector<Switch> switches_;
  std::vector<LinkId> reverse_;  ///< the other direction of each cable, or kNil
  PacketPool pool_;
  EventHeap heap_;
  SlotList done_;
  FabricCounters counters_;
  std::vector<EvRule> ev_rules_;
  std::size_t next_change_ = 0;
  std::uint32_t strays_ = 0;
  std::uint64_t host_port_changes_ = 0;
};

}  // namespace mrc::fabric
