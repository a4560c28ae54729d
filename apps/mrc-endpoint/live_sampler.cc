// SPDX-License-Identifier: BSD-3-Clause
#include "live_sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

namespace mrc::endpoint {
namespace {

using report::Join;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr Duration kFirstInterval = milliseconds(1);
constexpr std::int64_t kNoWindow = std::int64_t{1}
                                   << 50;  ///< a controller that is off has a window beyond this

std::uint8_t cell_of(const nic::QpSnapshot& qp, const path::EvTable& evs, path::EvIndex ev) {
  using report::html::EvCell;
  const path::EvState s = qp.ev_states[ev];
  if (s == path::EvState::kDenied) return static_cast<std::uint8_t>(EvCell::kDenied);
  if ((qp.planes_in_service >> evs[ev].port & 1U) == 0) return static_cast<std::uint8_t>(EvCell::kPlaneDown);
  return static_cast<std::uint8_t>(s);
}

}  // namespace

void LiveSampler::begin(LiveSource source, Time now) {
  source_ = std::move(source);
  if (timeline_) return;
  choose();
  read(nullptr);
  timeline_.emplace(joins_, states_.size(), kFirstInterval);
  timeline_->begin(now, values_, carried_);
}

void LiveSampler::choose() {
  const path::EvTable& evs = *source_.evs;
  planes_ = source_.nic->config().planes.size();
  for (std::size_t ev = 0; ev < evs.size(); ++ev) order_.push_back(static_cast<path::EvIndex>(ev));
  const auto key = [&](path::EvIndex ev) {
    return std::tuple(evs[ev].port, source_.path_of ? source_.path_of(ev) : 0U, ev);
  };
  std::sort(order_.begin(), order_.end(), [&](auto a, auto b) { return key(a) < key(b); });
  if (order_.size() > kMostRows) order_.resize(kMostRows);
  const std::size_t fit = order_.empty() ? 1 : kMostRows / order_.size();
  followed_ = std::min({source_.qpns.size(), kMostQps, fit});
  states_.resize(followed_ * order_.size());
  carried_.resize(states_.size());
  const auto add = [&](std::size_t& place, Join join, std::size_t n = 1) {
    place = joins_.size();
    joins_.resize(joins_.size() + n, join);
  };
  add(at_.payload, Join::kLast);
  add(at_.received, Join::kLast);
  add(at_.tx, Join::kLast, planes_);
  add(at_.rx, Join::kLast, planes_);
  add(at_.causes, Join::kLast, transport::kRtxCauses);
  add(at_.marked, Join::kLast);
  add(at_.trimmed, Join::kLast);
  add(at_.cwnd, Join::kMean);
  add(at_.inflight, Join::kMean);
  add(at_.queue, Join::kMost);
  add(at_.inside, Join::kMost);
  add(at_.messages, Join::kLast);
  add(at_.latency_sum, Join::kLast);
  add(at_.latency_most, Join::kMost);
  values_.resize(joins_.size());
}

void LiveSampler::sample(Time now, const report::Histogram* latency) {
  read(latency);
  timeline_->add(now, values_, states_, carried_);
}

void LiveSampler::read(const report::Histogram* latency) {
  for (std::size_t p = 0; p < planes_; ++p) values_[at_.tx + p] = values_[at_.rx + p] = 0;
  for (unsigned w = 0; w < source_.nic->workers(); ++w) {
    const nic::WorkerStats s = source_.nic->snapshot(w);
    for (std::size_t p = 0; p < planes_; ++p) {
      values_[at_.tx + p] += static_cast<double>(s.ports[p].tx_bytes);
      values_[at_.rx + p] += static_cast<double>(s.ports[p].rx_bytes);
    }
  }
  read_qps();
  read_fabric();
  values_[at_.latency_most] = kNone;
  if (latency != nullptr) read_latency(*latency);
}

void LiveSampler::read_qps() {
  std::fill_n(values_.begin() + static_cast<std::ptrdiff_t>(at_.causes), transport::kRtxCauses, 0.0);
  double payload = 0, received = 0, marked = 0, trimmed = 0, cwnd = 0, inflight = 0;
  std::size_t windows = 0;
  const auto read_receiver = [&](const nic::QpSnapshot& qp) {
    received += static_cast<double>(qp.counters.rx_placed_bytes);
    marked += static_cast<double>(qp.counters.rx_ce);
    trimmed += static_cast<double>(qp.counters.rx_trimmed);
  };
  for (std::size_t q = 0; q < followed_; ++q) {
    const Result<nic::QpSnapshot> qp = source_.nic->query_qp(source_.qpns[q]);
    if (!qp) continue;
    payload += static_cast<double>(qp->counters.tx_payload_bytes);
    read_receiver(*qp);
    for (std::size_t i = 0; i < transport::kRtxCauses; ++i)
      values_[at_.causes + i] += static_cast<double>(qp->counters.rtx_by_cause[i]);
    if (qp->cwnd_bytes < kNoWindow) {
      cwnd += static_cast<double>(qp->cwnd_bytes);
      ++windows;
    }
    inflight += static_cast<double>(std::max<std::int64_t>(qp->inflight_bytes, 0));
    for (std::size_t i = 0; i < order_.size(); ++i) {
      states_[q * order_.size() + i] = cell_of(*qp, *source_.evs, order_[i]);
      carried_[q * order_.size() + i] = qp->evs[order_[i]].tx_pkts;
    }
  }
  for (std::size_t q = 0;
       source_.receiver != nullptr && q < std::min(followed_, source_.receiver_qpns.size()); ++q) {
    const Result<nic::QpSnapshot> qp = source_.receiver->query_qp(source_.receiver_qpns[q]);
    if (qp) read_receiver(*qp);
  }
  values_[at_.payload] = payload;
  values_[at_.received] = received;
  values_[at_.marked] = marked;
  values_[at_.trimmed] = trimmed;
  values_[at_.cwnd] = windows == 0 ? kNone : cwnd / static_cast<double>(windows);
  values_[at_.inflight] = followed_ == 0 ? kNone : inflight / static_cast<double>(followed_);
}

void LiveSampler::read_fabric() {
  values_[at_.queue] = values_[at_.inside] = source_.fabric == nullptr ? kNone : 0;
  if (source_.fabric == nullptr) return;
  const fabric::Fabric& net = *source_.fabric;
  values_[at_.inside] = static_cast<double>(net.in_flight());
  for (fabric::LinkId id = 0; id < net.topology().links.size(); ++id) {
    const fabric::Link& link = net.link(id);
    values_[at_.queue] = std::max(values_[at_.queue], static_cast<double>(link.queue.data_bytes()));
  }
}

/// The slowest of what was measured since the last sample: the highest bucket that holds more than it did.
void LiveSampler::read_latency(const report::Histogram& latency) {
  fresh_.clear();
  std::uint64_t most = 0;
  auto before = seen_.begin();
  latency.for_each_bucket([&](std::uint64_t low, std::uint64_t high, std::uint64_t count) {
    while (before != seen_.end() && before->first < low) ++before;
    const std::uint64_t had = before != seen_.end() && before->first == low ? before->second : 0;
    if (count > had) most = std::min(high, latency.max());
    fresh_.emplace_back(low, count);
  });
  seen_.swap(fresh_);
  values_[at_.latency_most] = most == 0 ? kNone : static_cast<double>(most);
  const auto n = static_cast<double>(latency.samples());
  values_[at_.messages] = static_cast<double>(latency_.samples()) + n;
  values_[at_.latency_sum] = latency_.mean() * static_cast<double>(latency_.samples()) + latency.mean() * n;
}

void LiveSampler::end_phase(Time now, const report::Histogram& latency) {
  if (!timeline_) return;
  sample(now, &latency);
  latency_.merge(latency);
  seen_.clear();
}

void LiveSampler::mark(Time now, std::string text) {
  if (timeline_ && marks_.size() < 2 * report::html::kMaxMarkers) marks_.emplace_back(now, std::move(text));
}

}  // namespace mrc::endpoint
