// SPDX-License-Identifier: BSD-3-Clause
#include "sim/workload.h"

#include <fstream>
#include <numeric>
#include <string>
#include <utility>

#include "base/rng.h"

namespace mrc::sim {

namespace {

Result<Matrix> matrix_of(const Scenario& s) {
  const WorkloadScenario& w = s.workload;
  const std::uint32_t hosts = s.network.hosts;
  Rng rng(mix64(s.seed ^ 0x3A7121ULL));
  switch (w.shape) {
    case Shape::kPointToPoint:
      return make_point_to_point(hosts, w.src, w.dst, w.bytes);
    case Shape::kPermutation:
      return make_permutation(hosts, w.bytes, rng);
    case Shape::kIncast:
      return make_incast(hosts, w.dst, w.senders, w.bytes);
    case Shape::kRingAllReduce:
      return make_ring_all_reduce(hosts, w.bytes);
    case Shape::kAllToAll:
      return make_all_to_all(hosts, w.bytes);
    case Shape::kMix:
      return make_mix(hosts, w.flows, w.elephants, w.bytes, w.mouse_bytes, w.span, rng);
    case Shape::kMatrix: {
      std::ifstream in(w.matrix);
      if (!in) return Error{"workload.matrix: cannot read '" + w.matrix + "'"};
      return parse_matrix(in, w.matrix);
    }
  }
  return Error{"workload.shape: unknown"};
}

// Ranks of a job are where a scheduler put them.
void shuffle(Matrix& matrix, std::uint32_t hosts, std::uint64_t seed) {
  std::vector<std::uint32_t> host_of(hosts);
  std::iota(host_of.begin(), host_of.end(), 0U);
  Rng rng(mix64(seed ^ 0x5A0FF1EULL));
  for (std::uint32_t i = hosts; i > 1; --i) std::swap(host_of[i - 1], host_of[rng.below(i)]);
  for (Connection& c : matrix.connections) {
    c.src = host_of[c.src];
    c.dst = host_of[c.dst];
  }
}

}  // namespace

Result<Workload> Workload::create(const Scenario& s) {
  const WorkloadScenario& w = s.workload;
  auto matrix = matrix_of(s);
  if (!matrix) return matrix.error();
  const std::uint32_t hosts = s.network.hosts;
  if (w.victim_src >= 0) {
    Connection c;
    c.src = static_cast<std::uint32_t>(w.victim_src);
    c.dst = static_cast<std::uint32_t>(w.victim_dst);
    c.id = static_cast<std::uint32_t>(matrix->connections.size() + 1);
    c.size_bytes = w.victim_bytes;
    matrix->connections.push_back(c);
  }
  for (const Connection& c : matrix->connections)
    if (c.src >= hosts || c.dst >= hosts || c.size_bytes > kMaxMessageBytes)
      return Error{"workload.matrix: connection " + std::to_string(c.src) + "->" + std::to_string(c.dst) +
                   " of " + std::to_string(c.size_bytes) + " bytes; hosts are 0 to " +
                   std::to_string(hosts - 1) + ", messages have at most " + std::to_string(kMaxMessageBytes)};
  if (matrix->connections.empty()) return Error{"workload: nothing to send"};
  if (w.shuffle) shuffle(*matrix, hosts, s.seed);
  Workload made;
  made.matrix_ = std::move(*matrix);
  made.wanted_rounds_ = w.rounds;
  for (const Trigger& t : made.matrix_.triggers) made.triggers_[t.id].trigger = t;
  for (std::uint32_t i = 0; i < made.matrix_.connections.size(); ++i)
    if (const std::uint32_t t = made.matrix_.connections[i].trigger; t != kNoTrigger)
      made.triggers_[t].starts.push_back(i);
  return made;
}

void Workload::start_round(Time now) {
  ++rounds_started_;
  round_start_ = now;
  open_ = matrix_.connections.size();
  for (auto& [id, t] : triggers_) {
    t.counted = 0;
    t.fired = false;
  }
  for (std::uint32_t i = 0; i < matrix_.connections.size(); ++i)
    if (matrix_.connections[i].trigger == kNoTrigger) start_(i, now + matrix_.connections[i].start);
}

void Workload::count(std::uint32_t trigger, Time now) {
  if (trigger == kNoTrigger) return;
  TriggerState& t = triggers_.at(trigger);
  ++t.counted;
  const bool due = t.trigger.type == TriggerType::kBarrier ? t.counted >= t.trigger.count : true;
  if (!due || (t.fired && t.trigger.type != TriggerType::kMultishot)) return;
  t.fired = true;
  for (const std::uint32_t c : t.starts) start_(c, now);
}

void Workload::received(std::uint32_t connection, Time now) {
  count(matrix_.connections[connection].recv_done_trigger, now);
}

void Workload::completed(std::uint32_t connection, Time now) {
  count(matrix_.connections[connection].send_done_trigger, now);
  if (open_ == 0 || --open_ != 0) return;
  rounds_.push_back(now - round_start_);
  if (rounds_started_ < wanted_rounds_) start_round(now);
}

}  // namespace mrc::sim
