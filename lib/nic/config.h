// SPDX-License-Identifier: BSD-3-Clause
// What a Nic is made from. Plain values; checked by Nic::create, which says what is wrong, the limit and the
// fix.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/limits.h"
#include "base/net.h"
#include "cc/qpcc.h"
#include "path/ev_table.h"
#include "transport/qp.h"
#include "wire/dscp.h"
#include "wire/header_template.h"

struct rte_mbuf;
struct rte_mempool;

namespace mrc::nic {

class AppQueue;

/// A burst on one queue of a port, as rte_eth_rx_burst and rte_eth_tx_burst.
using BurstFn = std::uint16_t (*)(std::uint16_t port, std::uint16_t queue, rte_mbuf** pkts, std::uint16_t n);
/// Whether the link is up; asked every link_poll_interval, not a packet.
using LinkFn = bool (*)(std::uint16_t port);
using MissedFn = std::uint64_t (*)(std::uint16_t port);

inline constexpr std::size_t kMaxWorkers = 16;  ///< 4 bits of a QPN
inline constexpr std::size_t kMaxQpsPerWorker =
    16382;  ///< 14 bits of a QPN without the first slot and, as 0xFFFFFF means multicast, the last
inline constexpr std::size_t kMaxRegions = 65535;  ///< 16 bits of a key
inline constexpr std::size_t kBurst = 32;          ///< packets a burst, RX and TX

/// One plane = one DPDK port, configured and started by its driver (drivers/ethdev, drivers/virtual, a test).
/// Worker w owns RX and TX queue w; a port with fewer queues than workers is served by hand-over.
struct PlanePort {
  std::uint16_t dpdk_port = 0;
  std::uint16_t rx_queues = 1;
  std::uint16_t tx_queues = 1;
  MacAddress mac;
  /// Our address on this plane: one, or one a worker (then hardware may steer by destination address).
  std::vector<IpAddress> ips;
  /// 802.1Q and 802.1ad tags of what leaves here, outermost first. Answers to neighbours alone keep the tags
  /// of the question; what is received may have any.
  std::array<wire::VlanConfig, 2> vlans{};
  std::uint8_t vlan_tags = 0;  ///< 0..2
  /// By RX queue, where it takes its mbufs from: an empty pool looks like an empty queue, and is none (D13).
  /// Without, the port is asked.
  std::vector<const rte_mempool*> rx_pools;
  std::uint32_t max_frame_bytes = 0;  ///< largest frame without FCS the port passes; 0: not known
  BurstFn rx_burst = nullptr;         ///< null: rte_eth_rx_burst; else a driver's guard or a test's tap
  BurstFn tx_burst = nullptr;
  LinkFn link_up = nullptr;      ///< null: rte_eth_link_get_nowait
  MissedFn rx_missed = nullptr;  ///< what the driver lost before a burst and does not count; null: it counts
};

enum class IcrcMode : std::uint8_t { kVerify, kIgnore };

/// What Worker::run does after empty polls.
enum class IdlePolicy : std::uint8_t {
  kSpin,   ///< lowest latency; one CPU per worker
  kYield,  ///< sched_yield: when there are more pollers than CPUs
  kSleep,  ///< up to 50 us, never past the next deadline
};

struct NicConfig {
  std::vector<PlanePort> planes;  ///< 1..kMaxPlanes; index = plane = port index of EVs
  unsigned workers = 1;           ///< 1..kMaxWorkers
  std::uint32_t max_qps_per_worker = 256;
  std::uint32_t max_regions = 1024;
  std::uint16_t max_pmtu = 4096;  ///< largest path MTU a QP may use; sizes the payload mbufs

  std::uint16_t udp_port = wire::kUdpPortRoce;  ///< destination port we send to (C1)
  std::array<std::uint16_t, 2> accept_udp_ports{
      wire::kUdpPortRoce, wire::kUdpPortPrinted};         ///< ports we answer to (C1); equal for one
  wire::DscpMap::Numbers dscp = wire::DscpMap::kDefault;  ///< the network's numbers (C22)
  std::uint16_t pkey = wire::kDefaultPkey;                ///< C4
  IcrcMode icrc = IcrcMode::kVerify;
  path::EvOrder ev_order = path::EvOrder::kB;  ///< C7: placement and reflection
  std::uint8_t hop_limit = 64;

  /// Packets with payload a worker encodes in one iteration over all ports: bounds the live payload mbufs,
  /// so that a payload is read while the cache still has it.
  std::uint32_t tx_budget_pkts = kBurst;
  std::uint32_t payload_mbufs = 4096;  ///< per worker; when all are out, sending waits
  std::uint32_t control_mbufs = 1024;  ///< per worker; apart, so that data never starves control
  IdlePolicy idle = IdlePolicy::kSpin;
  /// A gap between two polls longer than this and than a QP's base RTT moves its deadlines (D13).
  Duration poll_gap_min = microseconds(200);
  Duration link_poll_interval = milliseconds(10);
  std::uint32_t handover_ring = 1024;  ///< entries a pair of workers
  std::uint32_t capture_ring = 0;      ///< frames a worker may hold for the capture reader; 0: capture off
  std::uint32_t capture_snap_bytes = 256;
  bool stage_timing = false;  ///< fill WorkerStats::stage_ticks; costs about a dozen TSC reads an iteration
  std::uint64_t seed = 1;     ///< keys and EV shuffles
};

/// Where a QP's peer is on one plane. `mac` is the next hop's, exchanged or configured.
struct PeerPlane {
  IpAddress ip;
  MacAddress mac;
};

/// What a QP is made from; all its memory follows from this and is taken by create_qp.
struct QpParams {
  transport::QpLimits limits;
  transport::QpPolicy policy;
  std::shared_ptr<const path::EvTable> evs;  ///< entry.port < planes of the Nic
  /// QPs that share a controller must live on the same worker. Null: a FixedWindow of its own.
  std::shared_ptr<cc::Qpcc> cc;
  std::int64_t fixed_window_bytes = 8LL << 20;
  /// Completions go to this queue; null: inline use, Worker::poll_cq.
  AppQueue* app = nullptr;
};

/// Rights of a memory region. Local reads are always allowed.
enum AccessFlags : std::uint32_t { kAccessLocal = 0, kAccessRemoteWrite = 1U << 0 };

/// Keys of a registered region. Key 0 is never given.
struct MemoryKeys {
  std::uint32_t lkey = 0;
  std::uint32_t rkey = 0;
};

/// Result of a post. The first four are those of transport::PostResult.
enum class PostStatus : std::uint8_t { kOk, kQueueFull, kBadState, kTooLong, kNoSuchQp, kBadLkey };
static_assert(static_cast<int>(PostStatus::kTooLong) == static_cast<int>(transport::PostResult::kTooLong));

/// A completion and the QP it belongs to.
struct QpCompletion {
  std::uint32_t qpn = 0;
  transport::Completion wc;
};

}  // namespace mrc::nic
