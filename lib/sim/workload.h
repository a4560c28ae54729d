// SPDX-License-Identifier: BSD-3-Clause
// Who sends what to whom, after what, and how often: a matrix with its triggers, in rounds. Knows no
// transport.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "base/result.h"
#include "sim/matrix.h"
#include "sim/scenario.h"

namespace mrc::sim {

/// Thread rule: one owner. Connections are numbers into matrix().connections.
class Workload {
 public:
  /// Makes the matrix or reads its file. Errors: the file, hosts that do not exist, messages too large, more
  /// than kMaxConnections, triggers that would never come to an end.
  static Result<Workload> create(const Scenario& scenario);

  /// Who is told to send, and when. Set before the first round.
  void on_start(std::function<void(std::uint32_t connection, Time at)> callback) {
    start_ = std::move(callback);
  }
  /// Everything without a trigger starts.
  void start_round(Time now);
  /// The receiver of a connection has all bytes.
  void received(std::uint32_t connection, Time now);
  /// Its sender knows. The last of a round starts the next.
  void completed(std::uint32_t connection, Time now);

  /// Whether all rounds are over: every connection started and completed.
  [[nodiscard]] bool done() const { return rounds_.size() == wanted_rounds_; }
  /// Connections of this round that have not completed, or not started.
  [[nodiscard]] std::size_t open() const { return open_; }
  [[nodiscard]] const Matrix& matrix() const { return matrix_; }
  /// Messages that start in a round, at most: a multishot trigger starts its connections again and again.
  [[nodiscard]] std::uint64_t starts() const { return starts_; }
  /// Pairs of hosts that have a connection.
  [[nodiscard]] std::uint64_t pairs() const { return pairs_; }
  /// How long each finished round took.
  [[nodiscard]] const std::vector<Duration>& rounds() const { return rounds_; }
  /// Bytes of all rounds.
  [[nodiscard]] std::uint64_t total_bytes() const { return matrix_.total_bytes() * wanted_rounds_; }

 private:
  struct TriggerState {
    Trigger trigger;
    std::uint32_t counted = 0;
    bool fired = false;
    std::vector<std::uint32_t> starts;  ///< connections
  };

  Result<void> count_starts();
  void count_pairs();
  void count(std::uint32_t trigger, Time now);

  Matrix matrix_;
  std::function<void(std::uint32_t, Time)> start_;
  std::map<std::uint32_t, TriggerState> triggers_;
  std::uint64_t starts_ = 0;
  std::uint64_t pairs_ = 0;
  std::vector<Duration> rounds_;
  Time round_start_;
  std::uint32_t wanted_rounds_ = 1;
  std::uint32_t rounds_started_ = 0;
  std::size_t open_ = 0;  ///< connections of this round not completed
};

}  // namespace mrc::sim
