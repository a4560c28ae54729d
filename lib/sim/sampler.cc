// SPDX-License-Identifier: BSD-3-Clause
#include "sim/sampler.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

namespace mrc::sim {
namespace {

using report::Join;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t kNoWindow = std::int64_t{1}
                                   << 50;  ///< a controller that is off has a window beyond this

std::uint8_t cell_of(const path::EvSet& set, path::EvIndex ev) {
  using report::html::EvCell;
  const path::EvState s = set.state(ev);
  if (s == path::EvState::kDenied) return static_cast<std::uint8_t>(EvCell::kDenied);
  if (!set.port_usable(set.table()[ev].port)) return static_cast<std::uint8_t>(EvCell::kPlaneDown);
  return static_cast<std::uint8_t>(s);
}
static_assert(static_cast<int>(path::EvState::kSkip) == static_cast<int>(report::html::EvCell::kSkip));
static_assert(static_cast<int>(path::EvState::kAssumedBad) ==
              static_cast<int>(report::html::EvCell::kAssumedBad));

}  // namespace

Sampler::Sampler(World& world) : world_(world) {
  const fabric::Fabric& net = world_.sim().network();
  host_links_.resize(net.topology().planes);
  std::set<QueueClass> classes;
  for (fabric::LinkId id = 0; id < net.topology().links.size(); ++id) {
    if (net.link(id).from.is_host) host_links_[net.link(id).plane].push_back(id);
    classes.insert(world_.sim().class_of(id));
  }
  classes_.assign(classes.begin(), classes.end());
  std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (const Connection& c : world_.matrix().connections) {
    if (controllers_.size() == kMostControllers || !pairs.insert({c.src, c.dst}).second) continue;
    if (const cc::Qpcc* q = world_.controller(c.src, c.dst); q != nullptr) controllers_.push_back(q);
  }
  choose_qps();
  choose_columns();
  read(Time{1});
  // Finer than what anything reacts in; what is too fine for the run's length is joined as it goes on.
  const Duration first = std::max(world_.scenario().qp.policy.base_rtt / 8, nanoseconds(500));
  timeline_.emplace(joins_, states_.size(), first);
  timeline_->begin(Time{1}, values_, carried_);
  world_.sim().on_outcome([this](const fabric::Outcome& o, const Token& t) { note(o, t); });
  world_.sim().on_look(timeline_->due(), [this](Time now) {
    read(now);
    timeline_->add(now, values_, states_, carried_);
    delay_most_ns_ = 0;
    // What is left when the last flow is done is probes of dead paths, for as long as the scenario lasts.
    return world_.sim().open_flows() == 0 ? Time::never() : timeline_->due();
  });
}

/// Sending ends, spread evenly over all, as many as there is room for.
void Sampler::choose_qps() {
  const Simulation& sim = world_.sim();
  const std::size_t senders = sim.qps() / 2;  // the sending end of each connection is the even one
  const std::size_t evs = std::max<std::size_t>(world_.scenario().paths.evs, 1);
  const std::size_t most = std::clamp<std::size_t>(kMostRows / evs, 1, kMostQps);
  const std::size_t n = std::min(senders, most);
  for (std::size_t i = 0; i < n; ++i) {
    Followed f;
    f.qp = static_cast<QpId>(2 * (i * senders / n));
    f.first = states_.size();
    const path::EvTable& table = sim.evs_of(f.qp);
    // EVs that share a way through the network stand together: a dead link is a stripe.
    std::map<std::pair<std::uint8_t, std::vector<fabric::LinkId>>, std::vector<path::EvIndex>> ways;
    for (std::size_t e = 0; e < table.size(); ++e) {
      const auto ev = static_cast<path::EvIndex>(e);
      ways[{table[ev].port, sim.network().path_of(sim.host_of(f.qp), table[ev].port, sim.view_of(f.qp, ev))}]
          .push_back(ev);
    }
    std::map<std::uint8_t, unsigned> way_of_plane;
    for (const auto& [way, list] : ways) {
      const unsigned number = way_of_plane[way.first]++;
      for (const path::EvIndex ev : list) {
        f.order.push_back(ev);
        f.labels.push_back("EV " + std::to_string(ev) + ", plane " + std::to_string(way.first) + ", path " +
                           std::to_string(number));
      }
    }
    states_.resize(states_.size() + f.order.size());
    followed_.push_back(std::move(f));
  }
  carried_.resize(states_.size());
}

void Sampler::choose_columns() {
  const auto add = [&](std::size_t& place, std::initializer_list<Join> joins) {
    place = joins_.size();
    joins_.insert(joins_.end(), joins);
  };
  add(at_.placed, {Join::kLast});
  at_.planes = joins_.size();
  joins_.resize(joins_.size() + host_links_.size(), Join::kLast);
  at_.causes = joins_.size();
  joins_.resize(joins_.size() + transport::kRtxCauses, Join::kLast);
  add(at_.marked, {Join::kLast});
  add(at_.trimmed, {Join::kLast});
  add(at_.cwnd, {Join::kMean, Join::kLeast, Join::kMost});
  add(at_.inflight, {Join::kMean, Join::kLeast, Join::kMost});
  add(at_.delays, {Join::kLast});
  add(at_.delay_sum, {Join::kLast});
  add(at_.delay_most, {Join::kMost});
  at_.queues = joins_.size();
  joins_.resize(joins_.size() + classes_.size(), Join::kMost);
  values_.resize(joins_.size());
}

void Sampler::note(const fabric::Outcome& outcome, const Token& token) {
  if (!token.is_data || !outcome.delivered() || outcome.packet.trimmed() || outcome.packet.corrupted) return;
  const auto ns = static_cast<std::uint64_t>((outcome.at - token.sent).ns);
  delays_.record(ns);
  delay_sum_ns_ += static_cast<double>(ns);
  delay_most_ns_ = std::max(delay_most_ns_, static_cast<double>(ns));
}

void Sampler::read_windows() {
  for (const std::size_t place : {at_.cwnd, at_.inflight}) {
    double sum = 0;
    double least = kNone;
    double most = kNone;
    std::size_t n = 0;
    for (const cc::Qpcc* q : controllers_) {
      const std::int64_t bytes = place == at_.cwnd ? q->cwnd_bytes() : q->inflight_bytes();
      if (bytes > kNoWindow) continue;
      const auto v = static_cast<double>(std::max<std::int64_t>(bytes, 0));
      sum += v;
      least = n == 0 ? v : std::min(least, v);
      most = n == 0 ? v : std::max(most, v);
      ++n;
    }
    values_[place] = n == 0 ? kNone : sum / static_cast<double>(n);
    values_[place + 1] = least;
    values_[place + 2] = most;
  }
}

void Sampler::read_queues(Time now) {
  const fabric::Fabric& net = world_.sim().network();
  for (std::size_t c = 0; c < classes_.size(); ++c) values_[at_.queues + c] = 0;
  if (net.in_flight() == 0) return;
  for (fabric::LinkId id = 0; id < net.topology().links.size(); ++id) {
    const fabric::Link& link = net.link(id);
    const auto c = static_cast<std::size_t>(
        std::find(classes_.begin(), classes_.end(), world_.sim().class_of(id)) - classes_.begin());
    double& deepest = values_[at_.queues + c];
    deepest = std::max(deepest, static_cast<double>(link.queue.data_bytes() + link.serving_data_bytes(now)));
  }
}

void Sampler::read(Time now) {
  const Simulation& sim = world_.sim();
  values_[at_.placed] = static_cast<double>(sim.placed_bytes());
  for (std::size_t p = 0; p < host_links_.size(); ++p) {
    std::uint64_t bytes = 0;
    for (const fabric::LinkId id : host_links_[p]) bytes += sim.network().link(id).counters.sent_bytes;
    values_[at_.planes + p] = static_cast<double>(bytes);
  }
  std::fill_n(values_.begin() + static_cast<std::ptrdiff_t>(at_.causes), transport::kRtxCauses + 2, 0.0);
  for (QpId id = 0; id < sim.qps(); ++id) {
    const transport::QpCounters& c = sim.qp(id).counters();
    for (std::size_t i = 0; i < transport::kRtxCauses; ++i)
      values_[at_.causes + i] += static_cast<double>(c.rtx_by_cause[i]);
    values_[at_.marked] += static_cast<double>(c.rx_ce);
    values_[at_.trimmed] += static_cast<double>(c.rx_trimmed);
  }
  read_windows();
  values_[at_.delays] = static_cast<double>(delays_.samples());
  values_[at_.delay_sum] = delay_sum_ns_;
  values_[at_.delay_most] = delay_most_ns_ > 0 ? delay_most_ns_ : kNone;
  read_queues(now);
  for (const Followed& f : followed_) {
    const path::EvSet& set = sim.qp(f.qp).ev_set();
    for (std::size_t i = 0; i < f.order.size(); ++i) {
      states_[f.first + i] = cell_of(set, f.order[i]);
      carried_[f.first + i] = sim.sent_on(f.qp, f.order[i]);
    }
  }
}

void Sampler::finish(Time end) {
  if (world_.sim().open_flows() == 0 && timeline_->size() != 0) return;
  read(end);
  timeline_->add(end, values_, states_, carried_);
}

}  // namespace mrc::sim
