// SPDX-License-Identifier: BSD-3-Clause
// What a Nic counts. Workers own their counters; a snapshot is taken by the owner and handed out as a value.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "cc/qpcc.h"
#include "transport/types.h"
#include "wire/drop_reason.h"

namespace mrc::nic {

/// One plane as one worker sees it. Bytes are frame bytes without FCS.
struct PortStats {
  std::uint64_t rx_pkts = 0;
  std::uint64_t rx_bytes = 0;
  std::uint64_t tx_pkts = 0;  ///< accepted by the port
  std::uint64_t tx_bytes = 0;
  std::uint64_t tx_data_pkts = 0;     ///< staged Writes
  std::uint64_t tx_control_pkts = 0;  ///< staged SACK, NACK, ACK, probes, endpoint and neighbour answers
  std::uint64_t tx_short_bursts = 0;  ///< the port took less than was offered: back-pressure
  std::uint64_t tx_handed_over = 0;   ///< given to the worker that owns the port's queue
  std::uint64_t tx_abandoned = 0;     ///< staged when the link went down or the Nic stopped
};

/// One EV of one QP.
struct EvStats {
  std::uint64_t tx_pkts = 0;
  std::uint64_t tx_bytes = 0;  ///< payload
  std::uint64_t tx_rtx = 0;
  std::uint64_t tx_probes = 0;
};

/// Where an iteration spends its time; the boundaries at which the TSC is read when stage_timing is on.
enum class Stage : std::uint8_t {
  kPosts,      ///< application queues and bookkeeping
  kRxBurst,    ///< the ports' receive calls
  kInspect,    ///< decode; ICRC of short frames
  kDeliver,    ///< ICRC of long frames, responder and requestor, copy into application memory
  kFree,       ///< mbufs back to their pools
  kSettle,     ///< wake-ups, timers, links, completions
  kControl,    ///< SACK, NACK, ACK, probes: decided and encoded
  kTransport,  ///< next_packets: windows, EVs, records
  kEncode,     ///< headers, ICRC, copy out of application memory
  kTxBurst,    ///< the ports' transmit calls
};
inline constexpr std::size_t kStages = 10;
inline constexpr std::array<const char*, kStages> kStageNames = {"posts",  "rx_burst", "inspect", "deliver",
                                                                 "free",   "settle",   "control", "transport",
                                                                 "encode", "tx_burst"};

/// Where the packets of one worker went. Conservation: sum of rx_pkts of the ports + handed_in ==
/// handed_out + delivered + neighbour + endpoint + sum of drops.
struct WorkerStats {
  std::uint64_t polls = 0;
  std::uint64_t polls_idle = 0;
  std::uint64_t poll_gaps = 0;  ///< gaps that moved deadlines (D13)
  std::uint64_t timers_fired = 0;
  std::uint64_t delivered = 0;     ///< packets that a Qp used; what it refused is among the drops
  std::uint64_t neighbour = 0;     ///< ARP and neighbour solicitations answered
  std::uint64_t endpoint = 0;      ///< Endpoint Requests answered, and Responses
  std::uint64_t port_reports = 0;  ///< Port Status Updates sent, repeats included (D19)
  std::uint64_t handed_out = 0;
  std::uint64_t handed_in = 0;
  std::uint64_t linearized = 0;       ///< received in several segments
  std::uint64_t control_dropped = 0;  ///< control packets without an mbuf, a place or an address
  std::uint64_t control_starved = 0;  ///< iterations without a free control mbuf: the QPs kept theirs
  std::uint64_t payload_starved = 0;  ///< iterations without a free payload mbuf
  std::uint64_t capture_lost = 0;     ///< frames the capture ring had no room for
  std::array<std::uint64_t, kStages> stage_ticks{};  ///< TSC ticks by Stage; all 0 without stage_timing
  std::uint64_t stage_preemptions = 0;               ///< stages left out because they took over 100 us
  wire::DropCounters drops;  ///< by reason; sum of all but kNone takes part in conservation
  std::array<PortStats, kMaxPlanes> ports{};
};

/// Of a port's driver, since the port was opened: what no worker ever saw. Zeros when it does not tell.
struct DriverStats {
  std::uint64_t rx_missed = 0, rx_error = 0, rx_no_mbuf = 0, tx_error = 0;
};

/// One QP, copied at one instant by its owner.
struct QpSnapshot {
  std::uint32_t qpn = 0;
  transport::QpState state{};
  transport::QpCounters counters;
  std::vector<EvStats> evs;
  std::vector<path::EvState> ev_states;
  path::EvSetCounters ev_counters;
  std::uint32_t planes_in_service = 0;  ///< bit p: link up here and there, and not silent (D9)
  std::int64_t cwnd_bytes = 0;          ///< of its controller, shared or not
  std::int64_t inflight_bytes = 0;
};

/// The congestion controller of a QP, shared or not, copied at one instant by its owner.
struct CcSnapshot {
  std::int64_t cwnd_bytes = 0;
  std::int64_t inflight_bytes = 0;
  bool adaptive = false;  ///< false: the window never moves, `windows` is empty
  cc::CcFigures figures;
  cc::WindowHistogram windows;                     ///< after each news
  std::array<Duration, cc::kSchedStates> spent{};  ///< by cc::SchedState, since the first work
};

/// What became of a QP's EVs, oldest first (5.6).
struct EvEvents {
  std::vector<path::EvSet::Event> events;
  std::uint64_t dropped = 0;  ///< since the last call, for want of room
};

/// mbufs of the Nic's own pools that are neither free nor staged. 0 once ports and peers are drained:
/// anything else is a leak.
struct MbufAccount {
  std::uint64_t payload_total = 0;
  std::uint64_t payload_out = 0;
  std::uint64_t control_total = 0;
  std::uint64_t control_out = 0;
  [[nodiscard]] bool balanced() const { return payload_out == 0 && control_out == 0; }
};

}  // namespace mrc::nic
