// SPDX-License-Identifier: BSD-3-Clause
// The result of a run as values: what the table shows and what the JSON carries
// (schema/softmrc.result-1.json). Units stand last in each name. Counters are packets unless a unit is named.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/histogram.h"
#include "report/rates.h"

namespace mrc::report {

inline constexpr const char* kResultSchema = "softmrc.result/1";

/// Named counters in a fixed order.
using Counters = std::vector<std::pair<std::string, std::uint64_t>>;

struct Latency {
  std::string method;  ///< what was timed, from where to where, by which clock
  std::uint64_t samples = 0;
  double min_ns = 0, mean_ns = 0, p50_ns = 0, p99_ns = 0, p999_ns = 0, max_ns = 0;
};
/// `divisor` 2 turns round trips into half round trips.
Latency latency_of(const Histogram& h, std::string method, double divisor = 1);

struct Verification {
  bool on = true;
  std::string method;  ///< how bytes were checked, or why not
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  std::uint64_t messages_bad = 0;
  std::string first_bad;  ///< where, wanted, found
};

struct PlaneResult {
  unsigned plane = 0;
  std::string address;
  std::string port;
  bool link_up = true;
  std::uint64_t tx_pkts = 0, tx_bytes = 0, tx_data_pkts = 0, rx_pkts = 0, rx_bytes = 0;
  double tx_share = 0;  ///< of all data packets sent
  /// What the driver counted beside: never seen by a worker.
  std::uint64_t rx_missed_pkts = 0, rx_error_pkts = 0, rx_no_mbuf_pkts = 0, tx_error_pkts = 0;
};

struct EvResult {
  unsigned qp = 0;
  unsigned ev = 0;
  unsigned plane = 0;
  std::string value;
  std::string state;
  std::uint64_t tx_pkts = 0, tx_bytes = 0, tx_rtx = 0, tx_probes = 0;
};

/// An EV that changed its state (SPECIFICATION 5.6).
struct EvEventResult {
  unsigned qp = 0;
  unsigned ev = 0;
  unsigned plane = 0;
  std::int64_t t_ns = 0;  ///< since the phase's counters began; below 0: while the QP was set up
  std::string from, to;   ///< states as in EvResult
  std::string cause;
};

/// Oldest first by QP; bounded.
struct EvEvents {
  std::vector<EvEventResult> events;
  std::uint64_t dropped = 0;  ///< that did not fit
};

/// The congestion controller of one destination, shared by the QPs of one worker.
struct ControllerResult {
  std::string kind;  ///< "off", "fixed", "nscc"
  unsigned worker = 0;
  unsigned qps = 0;
  std::uint64_t acks = 0, marked = 0, trims = 0, losses = 0, cuts = 0;
  std::uint64_t windows = 0;  ///< samples of cwnd, one a news; 0: the window never moves
  std::int64_t cwnd_min_bytes = 0, cwnd_median_bytes = 0, cwnd_max_bytes = 0;
  std::int64_t cwnd_bytes = 0, inflight_bytes = 0;                         ///< at the end
  std::uint64_t idle_ns = 0, active_ns = 0, ready_ns = 0, pending_ns = 0;  ///< in each schedule state
};

/// One size of one workload.
struct PhaseResult {
  std::string workload;
  std::uint64_t size_bytes = 0;
  unsigned qps = 0;
  unsigned depth = 0;
  unsigned path_mtu_bytes = 0;  ///< payload of a full packet, as agreed with the peer
  bool bidirectional = false;
  bool interrupted = false;
  double duration_s = 0;                 ///< first post to last completion
  std::uint64_t messages_offered = 0;    ///< posted by this end
  std::uint64_t messages_completed = 0;  ///< acknowledged to this end
  std::uint64_t bytes_completed = 0;
  std::uint64_t messages_received = 0;  ///< counted by this end's receiver
  Rates offered;                        ///< what was posted
  Rates achieved;                       ///< what was acknowledged; l1 and l2 of all frames this end sent
  Windows goodput_windows_bps;          ///< whole windows between the first post and the last completion
  double window_s = 0;
  Latency latency;
  Verification verification;       ///< of what this end received
  Verification peer_verification;  ///< of what this end sent, as the peer reports it
  std::vector<PlaneResult> planes;
  std::vector<EvResult> evs;
  EvEvents ev_events;
  std::vector<ControllerResult> controllers;
  Counters retransmissions;  ///< by cause
  Counters transport;        ///< the QPs' counters, summed
  Counters engine;           ///< the workers': polls, gaps, back-pressure, want of mbufs
  Counters drops;            ///< by reason; only those that are not 0
  Counters fabric;           ///< of the virtual fabric: dropped by reason, marked, trimmed; not 0 ones
  /// Members that hold the sums of both ends, where both are in this process; the others are of the run end.
  std::vector<std::string> of_both_ends;
  bool conserved = true;     ///< every packet received is accounted for
  std::string conservation;  ///< the account in words
};

struct RunResult {
  std::string tool;
  std::string version;
  std::string started_utc;
  std::string command;
  std::string role;  ///< "serve", "run", "loopback"
  std::string profile;
  std::string machine;
  std::uint64_t seed = 0;
  double link_speed_bps = 0;           ///< of one plane; 0: unknown
  std::vector<std::string> effective;  ///< EAL line, steering, offloads, idle policy ... as printed at start
  std::vector<PhaseResult> phases;
  std::vector<std::string> warnings;
  std::vector<std::string> failures;  ///< why the run is not a pass; empty: pass
  int exit_code = 0;
  [[nodiscard]] bool pass() const { return failures.empty() && exit_code == 0; }
};

/// What makes a phase fail, in words: nothing measured, bytes wrong, packets unaccounted for, impossible
/// rates. A blank is a failure: no phase, no message, no sample, nothing verified although verification is
/// on.
std::vector<std::string> find_failures(const RunResult& run);

/// What does not fail a run but explains its numbers: retransmissions of packets that had arrived, packets
/// that a port lost by itself.
std::vector<std::string> find_warnings(const std::vector<PhaseResult>& phases);

/// The value of a counter; 0 when it is not there.
std::uint64_t value_of(const Counters& counters, std::string_view name);

/// Pretty JSON with a newline at the end.
std::string to_json(const RunResult& run);

struct TableOptions {
  bool evs = false;  ///< one line an EV instead of a summary
};
/// For people; plain text, at most about 110 columns.
std::string to_table(const RunResult& run, const TableOptions& options = {});

}  // namespace mrc::report
