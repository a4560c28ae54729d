// SPDX-License-Identifier: BSD-3-Clause
#include "sim/workload.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <utility>

#include "base/rng.h"
#include "config/yaml_tree.h"

namespace mrc::sim {

namespace {

// How many a shape makes; a file says so itself.
std::uint64_t connections_of(const Scenario& s) {
  const std::uint64_t hosts = s.network.hosts;
  switch (s.workload.shape) {
    case Shape::kPermutation:
      return hosts;
    case Shape::kIncast:
      return s.workload.senders;
    case Shape::kRingAllReduce:
      return 2 * (hosts - 1) * hosts;
    case Shape::kAllToAll:
      return (hosts - 1) * hosts;
    case Shape::kMix:
      return s.workload.flows;
    case Shape::kPointToPoint:
    case Shape::kMatrix:
      break;
  }
  return 1;
}

Result<Matrix> matrix_of(const Scenario& s) {
  const WorkloadScenario& w = s.workload;
  const std::uint32_t hosts = s.network.hosts;
  if (const std::uint64_t n = connections_of(s); n > kMaxConnections)
    return Error{"workload.shape: " + std::to_string(hosts) + " network.hosts make " + std::to_string(n) +
                 " connections; the limit is " + std::to_string(kMaxConnections)};
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
      const auto text = config::read_text_file(w.matrix, kMaxMatrixBytes);
      if (!text) return Error{"workload.matrix: " + text.error().message};
      return parse_matrix(*text, w.matrix);
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
  if (auto ok = made.count_starts(); !ok) return ok.error();
  made.count_pairs();
  return made;
}

// Oneshot triggers and barriers fire once a round at most. A multishot trigger fires as often as something
// counts into it, which may be the work of other multishot triggers: these come first.
Result<void> Workload::count_starts() {
  constexpr std::uint64_t kEnough = std::uint64_t{1} << 40;  // more is refused whatever it is
  const auto counts_into = [](const Connection& c) {
    return std::array{c.send_done_trigger, c.recv_done_trigger};
  };
  const auto multishot = [&](std::uint32_t id) {
    return id != kNoTrigger && triggers_.at(id).trigger.type == TriggerType::kMultishot;
  };
  std::map<std::uint32_t, std::uint64_t> fires;      // of multishot triggers
  std::map<std::uint32_t, std::size_t> open_inputs;  // connections of multishot triggers that count into them
  for (const Connection& c : matrix_.connections)
    for (const std::uint32_t into : counts_into(c))
      if (multishot(into) && multishot(c.trigger)) ++open_inputs[into];
  std::vector<std::uint32_t> known;
  const auto start = [&](const Connection& c, std::uint64_t times) {
    starts_ = std::min(starts_ + times, kEnough);
    for (const std::uint32_t into : counts_into(c)) {
      if (!multishot(into)) continue;
      fires[into] = std::min(fires[into] + times, kEnough);
      if (multishot(c.trigger) && --open_inputs[into] == 0) known.push_back(into);
    }
  };
  for (const auto& [id, t] : triggers_)
    if (multishot(id) && !open_inputs.contains(id)) known.push_back(id);
  for (const Connection& c : matrix_.connections)
    if (!multishot(c.trigger)) start(c, 1);
  for (std::size_t i = 0; i < known.size(); ++i)
    for (const std::uint32_t c : triggers_.at(known[i]).starts)
      start(matrix_.connections[c], fires[known[i]]);
  for (const auto& [id, inputs] : open_inputs)
    if (inputs != 0)
      return Error{"workload.matrix: trigger " + std::to_string(id) +
                   " is multishot and starts what counts into it again: it would never come to an end"};
  return {};
}

void Workload::count_pairs() {
  std::vector<std::uint64_t> pairs;
  pairs.reserve(matrix_.connections.size());
  for (const Connection& c : matrix_.connections) pairs.push_back(std::uint64_t{c.src} << 32 | c.dst);
  std::sort(pairs.begin(), pairs.end());
  pairs_ = static_cast<std::uint64_t>(std::unique(pairs.begin(), pairs.end()) - pairs.begin());
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
