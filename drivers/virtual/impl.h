// SPDX-License-Identifier: BSD-3-Clause
// Inside of VirtualFabric, shared by set-up (virtual_fabric.cc), movement (pump.cc) and control (control.cc).
#pragma once

#include <rte_mempool.h>
#include <rte_ring.h>

#include <array>
#include <vector>

#include "ethdev/port.h"
#include "virtual/frame_view.h"
#include "virtual/virtual_fabric.h"

namespace mrc::virt {

inline constexpr std::size_t kBurst = 32;

struct FreeRing {
  void operator()(rte_ring* r) const { rte_ring_free(r); }
};
struct FreePool {
  void operator()(rte_mempool* p) const { rte_mempool_free(p); }
};
using RingPtr = std::unique_ptr<rte_ring, FreeRing>;
using PoolPtr = std::unique_ptr<rte_mempool, FreePool>;

/// One port of one host. tx: the host sends, the pump takes. rx: the pump gives, the host receives.
struct Port {
  std::vector<RingPtr> tx;
  std::vector<RingPtr> rx;
  std::optional<std::uint16_t> id;  ///< the DPDK port exists
  std::optional<ethdev::Port> ethdev;
};

/// What goes through the command ring.
struct Command {
  enum class What : std::uint8_t { kChange, kPort, kWatch, kSteer };
  What what = What::kChange;
  fabric::Change change;
  std::uint32_t host = 0;
  std::uint32_t plane = 0;
  std::uint32_t path = 0;
  bool up = false;
  IpAddress ip;
  std::uint16_t queue = 0;
};

/// Mbufs on their way to one RX queue, so that a ring is written once a burst.
struct Stage {
  std::array<rte_mbuf*, kBurst> mbufs;
  std::uint32_t count = 0;
  bool listed = false;  ///< in Impl::staged
};

struct Steered {
  IpAddress ip;
  std::uint16_t queue = 0;
};

struct VirtualFabric::Impl {
  explicit Impl(VirtualConfig c);
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Result<void> open();
  Result<void> open_port(std::uint32_t index);
  std::string port_name(std::uint32_t index) const;
  Result<RingPtr> make_ring(const std::string& name) const;

  // pump.cc
  std::size_t poll(Time now);
  std::size_t take(std::uint32_t index, Time now);
  void inject(rte_mbuf* m, std::uint32_t index, Time now);
  std::size_t give(Time now);
  void deliver(const fabric::Outcome& outcome);
  rte_mbuf* handle_of(const fabric::Outcome& outcome);
  std::uint16_t queue_for(fabric::HostId host, const rte_mbuf* m) const;
  void stage(std::size_t where, rte_mbuf* m);
  void flush(std::size_t where);
  void drain();

  // control.cc
  void run_commands(Time now);
  bool execute(const Command& command, Time now);
  bool apply_change(const fabric::Change& change, Time now);
  bool apply_port(const Command& command, Time now);
  bool apply_steer(const Command& command);
  bool send(const Command& command);

  VirtualConfig config;
  std::unique_ptr<fabric::Fabric> fabric;
  std::optional<FrameReader> reader;
  PoolPtr pool;                                ///< copies: duplicates, and changes of frames that are shared
  std::vector<Port> ports;                     ///< [host x planes + plane]
  std::vector<Stage> stages;                   ///< [port x queues + queue]
  std::vector<std::uint32_t> staged;           ///< indices of stages used since the last flush
  std::vector<std::vector<Steered>> steering;  ///< [host]
  std::array<fabric::Outcome, kBurst> outcomes;
  PumpCounters counters;
  Watches watches;
  SpscRing<Command> commands{256};
  std::atomic<std::uint64_t> commands_done{0};
};

}  // namespace mrc::virt
