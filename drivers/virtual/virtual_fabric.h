// SPDX-License-Identifier: BSD-3-Clause
// The network without hardware: ring ports for every host and plane, and lib/fabric between them in the same
// process. lib/nic sees rte_eth_* alone.
//
//   auto net = VirtualFabric::create(config);             EAL is up
//   port id of host h on plane p: (*net)->port_id(h, p); its MAC: (*net)->mac(h, p)
//   inline:   worker.poll(); (*net)->poll(clock.now());   all on one thread
//   threaded: std::thread([&] { (*net)->run(stop); });
//   (*net)->set_path_up(plane, path, false);              from one control thread, while traffic runs
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/net.h"
#include "base/result.h"
#include "fabric/fabric.h"
#include "virtual/watch.h"
#include "wire/frame.h"

namespace mrc::virt {

/// Plain values; checked by create.
struct VirtualConfig {
  std::string name = "virt";  ///< prefix of ports and rings, unique in the process, at most 12 characters
  std::uint32_t hosts = 2;    ///< hosts x planes <= 32 ports of a DPDK process
  std::uint32_t planes = 4;
  std::uint32_t paths = 8;       ///< of each plane; unused with `topology`
  fabric::PortConfig path;       ///< delay, speed, queues of a path
  fabric::PortConfig host_port;  ///< host -> fabric: with a speed and a queue limit the port pushes back
  fabric::ForwardingConfig forwarding;
  std::optional<fabric::Topology>
      topology;  ///< instead of parallel paths; hosts and planes are taken from it
  std::vector<fabric::ScheduledChange> schedule;  ///< times of the poll clock
  std::uint64_t seed = 1;
  std::uint32_t max_packets = 65536;  ///< inside the fabric; mbuf pools of the hosts must be larger
  std::uint16_t queues = 1;           ///< RX and TX queues of each port
  std::uint16_t ring_size = 2048;     ///< entries of each queue, a power of two
  wire::DecodeOptions decode;         ///< DSCP numbers and UDP ports, to tell classes and kinds
  std::uint32_t observations = 65536;
};

/// What happened at the edge of the fabric. Conservation: taken = injected + refused + no_destination, and
/// the fabric's own sum; delivered = given + rx_full + no_copy.
struct PumpCounters {
  std::uint64_t polls = 0;
  std::uint64_t taken = 0;  ///< from TX rings
  std::uint64_t given = 0;  ///< to RX rings
  std::uint64_t given_bytes = 0;
  std::uint64_t refused = 0;  ///< own port down, or the fabric full: lost at the port
  std::uint64_t no_destination = 0;
  std::uint64_t rx_full = 0;      ///< the receiver did not keep up: lost at its port
  std::uint64_t no_copy = 0;      ///< a duplicate or change needed an mbuf and there was none
  std::uint64_t bad_command = 0;  ///< a change whose target does not exist
};

/// Owns ports, rings and the fabric. Thread rule: create and destroy on a set-up thread; poll(), run() and
/// everything marked (pump) on one thread; the set_*, change, watch, steer calls on one control thread (which
/// may be the pump); observations by one reader.
class VirtualFabric {
 public:
  static Result<std::unique_ptr<VirtualFabric>> create(VirtualConfig config);
  ~VirtualFabric();
  VirtualFabric(const VirtualFabric&) = delete;
  VirtualFabric& operator=(const VirtualFabric&) = delete;

  [[nodiscard]] std::uint32_t hosts() const;
  [[nodiscard]] std::uint32_t planes() const;
  /// A started port. Its link state (rte_eth_link_get_nowait) is that of the host's own port in the fabric;
  /// of paths further on nobody is told.
  [[nodiscard]] std::uint16_t port_id(fabric::HostId host, std::uint32_t plane) const;
  [[nodiscard]] MacAddress mac(fabric::HostId host, std::uint32_t plane) const;

  // Pump
  // ------------------------------------------------------------------------------------------------------
  /// One round: commands, what is due, what was sent. Returns packets taken and given. `now` never runs back.
  std::size_t poll(Time now);
  /// Polls by the TSC until `stop`; yields after an idle round when `yield`. Registers the thread with EAL.
  void run(const std::atomic<bool>& stop, bool yield);
  /// (pump) Frees everything inside; the rings too. Then all mbufs are back in their pools.
  void drain();
  [[nodiscard]] const fabric::Fabric& fabric() const;
  [[nodiscard]] const PumpCounters& counters() const;
  /// (pump) When a poll has something to do without new packets.
  [[nodiscard]] Time next_event() const;

  // Control
  // ---------------------------------------------------------------------------------------------------
  /// Any change of lib/fabric, carried out by the next poll. False: the ring of commands is full.
  bool change(const fabric::Change& change);
  bool set_path_up(std::uint32_t plane, std::uint32_t path, bool up);
  /// Propagation of both directions.
  bool set_path_delay(std::uint32_t plane, std::uint32_t path, Duration delay);
  bool set_path_loss(std::uint32_t plane, std::uint32_t path, double probability);
  /// Loss of each packet that enters the plane.
  bool set_plane_loss(std::uint32_t plane, double probability);
  /// The host's own port: its ethdev link goes down or up too.
  bool set_port_up(fabric::HostId host, std::uint32_t plane, bool up);
  bool watch_path(std::uint32_t plane, std::uint32_t path);
  /// Packets to `ip` arrive in this RX queue of the host's ports, as hardware steering would do it; others in
  /// queue 0. At most kMaxSteered addresses a host.
  bool steer(fabric::HostId host, const IpAddress& ip, std::uint16_t queue);
  /// Commands carried out so far: equal to the number of calls that returned true when all are in force.
  [[nodiscard]] std::uint64_t commands_done() const;

  // Observation
  // -----------------------------------------------------------------------------------------------
  std::size_t take_observations(std::span<Observation> out);
  bool watch_totals(std::uint32_t plane, std::uint32_t path, WatchTotals& out) const;

  /// Start-up lines for people.
  [[nodiscard]] std::vector<std::string> describe() const;

 private:
  struct Impl;
  explicit VirtualFabric(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

inline constexpr std::size_t kMaxSteered = 16;

}  // namespace mrc::virt
