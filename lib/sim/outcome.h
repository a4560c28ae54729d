// SPDX-License-Identifier: BSD-3-Clause
// What a run of a scenario came to, as values; as JSON for programs and a table for people. Nothing here
// depends on the machine or its clock: the same seed gives the same bytes.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sim/world.h"

namespace mrc::sim {

inline constexpr const char* kOutcomeSchema = "softmrc.sim/1";

using Counts = std::vector<std::pair<std::string, std::uint64_t>>;

/// Nearest-rank percentiles of a list of durations.
struct Spread {
  std::uint64_t samples = 0;
  std::int64_t min_ns = 0, median_ns = 0, p99_ns = 0, p999_ns = 0, max_ns = 0;
};
Spread spread_of(std::vector<std::int64_t> values_ns);

struct FlowOutcome {
  std::uint32_t src = 0, dst = 0;
  std::uint64_t bytes = 0;
  std::int64_t start_ns = 0;
  std::int64_t completed_ns = -1;  ///< -1: not completed
  bool failed = false;
};

struct QueueOutcome {
  std::string where;
  std::uint64_t links = 0, samples = 0;
  std::uint64_t p50_bytes = 0, p99_bytes = 0, p999_bytes = 0, max_bytes = 0;
  std::uint64_t ce_marked = 0, trimmed = 0, dropped = 0;
};

struct PlaneOutcome {
  std::uint64_t data_pkts = 0, data_bytes = 0;  ///< put on the wire by the hosts
  std::uint64_t dropped = 0;
  std::uint64_t received_bytes = 0;  ///< payload placed
};

struct EvOutcome {
  std::uint64_t smallest_pkts = 0, median_pkts = 0, largest_pkts = 0;  ///< sent on one EV of one QP
  std::vector<std::uint64_t> pkts;                                     ///< by EV, all QPs
};

struct FaultOutcome {
  std::string where;
  std::int64_t at_ns = 0;
  std::uint64_t lost_data = 0, lost_other = 0, open = 0;
  std::int64_t last_sent_into_ns = -1;  ///< after the beginning of the fault; -1: nothing was lost
  std::int64_t last_repair_ns = -1;
};

struct Outcome {
  std::string scenario;
  std::string transport;      ///< "mrc", "rc"
  config::Settings settings;  ///< over the file, seed apart; collect() leaves it empty
  std::uint64_t seed = 0;
  std::uint32_t hosts = 0, planes = 0;
  std::size_t qps = 0;
  std::int64_t base_rtt_ns = 0, ideal_ns = 0, end_ns = 0;
  bool quiet = false;     ///< nothing was left to do, not even a probe of a dead path
  bool finished = false;  ///< every message of every round has ended
  bool cut = false;       ///< run.cut: it need not finish
  std::uint64_t unfinished = 0;
  std::string violation;
  std::vector<FlowOutcome> flows;
  std::uint64_t completed = 0, failed = 0;
  Spread fct;     ///< of completed flows
  Spread rounds;  ///< of finished rounds; samples 0 with one round
  std::uint64_t received_bytes = 0;
  double goodput_bps = 0;  ///< payload placed from the first start to the last completion or the end
  Counts packets;          ///< new, rtx, sack, nack, ack ...
  Counts rtx_by_cause;     ///< empty for the baseline, as are the next and `ev`
  Counts evs;              ///< verdicts and states, all QPs
  Counts network;          ///< injected, delivered, dropped by reason, in flight
  std::uint64_t hops = 0;
  std::vector<QueueOutcome> queues;
  std::vector<PlaneOutcome> planes_out;
  EvOutcome ev;
  std::vector<FaultOutcome> faults;
  std::int64_t series_step_ns = 0;
  std::vector<std::vector<std::uint64_t>> series_bytes;  ///< per plane, payload placed per step

  [[nodiscard]] bool pass() const { return violation.empty() && failed == 0 && (finished || cut); }
  /// One line: "PASS", how a run was cut by design, or what failed.
  [[nodiscard]] std::string verdict() const;
  [[nodiscard]] double tail_over_ideal() const {
    return ideal_ns > 0 ? static_cast<double>(fct.max_ns) / static_cast<double>(ideal_ns) : 0;
  }
  [[nodiscard]] std::uint64_t count(const Counts& of, std::string_view name) const;
};

Outcome collect(const World& world, const RunEnd& end, std::string name);

/// Pretty JSON with a newline at the end. `flows`: also each flow; `series`: also bytes over time.
std::string to_json(const Outcome& outcome, bool flows = true, bool series = true);
std::string to_table(const Outcome& outcome);

}  // namespace mrc::sim
