// SPDX-License-Identifier: BSD-3-Clause
// RX and TX bursts on any port. Ports of all drivers but memif go straight to rte_eth_*_burst; memif's go
// through a guard.
//
// Why: the memif driver of DPDK 22.11 unmaps the shared memory in EAL's interrupt thread as soon as its
// peer's control connection closes, while a worker may be in the middle of a burst on that memory
// (librte_net_memif: memif_disconnect -> memif_free_regions; no lock, no grace period). The peer's exit then
// kills our process with SIGSEGV. The guard turns that one fault, and no other, into a closed port: a burst
// arms a thread-local jump; the handler takes it only if this thread is inside such a burst, and the driver
// has already declared the link down (which it does before it unmaps). Every other fault goes to the handler
// that was there before.
#pragma once

#include <rte_branch_prediction.h>
#include <rte_ethdev.h>

#include <cstdint>

namespace mrc::ethdev {

/// What a worker needs to poll a port. Copy it into the worker's own state.
struct BurstPort {
  std::uint16_t id = 0;
  bool guarded = false;  ///< a memif port: bursts go through the guard
};

/// The guarded forms; only for ports for which install_burst_guard() was called. Any thread, one thread a
/// queue. While the port's gate is closed both give 0. A burst that faults closes the gate; tx then reports
/// its mbufs as sent (the link lost them): the driver has freed some and not others, so up to a burst leaks,
/// and one mbuf on rx.
std::uint16_t guarded_rx_burst(std::uint16_t port, std::uint16_t queue, rte_mbuf** pkts, std::uint16_t n);
std::uint16_t guarded_tx_burst(std::uint16_t port, std::uint16_t queue, rte_mbuf** pkts, std::uint16_t n);

inline std::uint16_t rx_burst(BurstPort port, std::uint16_t queue, rte_mbuf** pkts, std::uint16_t n) {
  if (likely(!port.guarded)) return rte_eth_rx_burst(port.id, queue, pkts, n);
  return guarded_rx_burst(port.id, queue, pkts, n);
}
inline std::uint16_t tx_burst(BurstPort port, std::uint16_t queue, rte_mbuf** pkts, std::uint16_t n) {
  if (likely(!port.guarded)) return rte_eth_tx_burst(port.id, queue, pkts, n);
  return guarded_tx_burst(port.id, queue, pkts, n);
}

/// Installs the signal handlers (once a process, kept for its life). Gates start closed. Set-up thread.
void install_burst_guard();
/// Lets bursts of this port through. Control thread.
void open_gate(std::uint16_t port);
/// Stops bursts of this port, and returns when no thread is inside one: then the port may be stopped. Control
/// thread.
void close_gate(std::uint16_t port);
[[nodiscard]] bool gate_is_open(std::uint16_t port);
/// The driver says up, and bursts are let through. Any thread.
[[nodiscard]] bool guarded_link_up(std::uint16_t port);

struct GuardStats {
  std::uint64_t faults = 0;         ///< bursts that ended in a fault
  std::uint64_t tx_mbufs_lost = 0;  ///< handed to those bursts: sent, freed or leaked
};
[[nodiscard]] GuardStats guard_stats(std::uint16_t port);

}  // namespace mrc::ethdev
