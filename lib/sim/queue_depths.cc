// SPDX-License-Identifier: BSD-3-Clause
#include "sim/queue_depths.h"

namespace mrc::sim {

QueueClass class_of_link(const fabric::Topology& t, const fabric::LinkSpec& link) {
  if (link.from.is_host) return QueueClass::kHost;
  if (link.to.is_host) return QueueClass::kLastHop;
  const std::uint8_t from = t.switches[link.from.id].tier;
  if (from < t.switches[link.to.id].tier) return from == 0 ? QueueClass::kT0Up : QueueClass::kT1Up;
  return from == 2 ? QueueClass::kT2Down : QueueClass::kT1Down;
}

QueueDepths::QueueDepths(const fabric::Topology& topology, Duration interval)
    : interval_(interval), next_(interval.ns > 0 ? Time{} + interval : Time::never()) {
  for (const fabric::LinkSpec& link : topology.links) {
    class_.push_back(class_of_link(topology, link));
    ++links_[static_cast<std::size_t>(class_.back())];
  }
}

void QueueDepths::sample(const fabric::Fabric& network, Time until, bool busy) {
  if (next_ > until || until.is_never()) return;
  const std::int64_t times = (until - next_).ns / interval_.ns + 1;
  if (!busy) {
    next_ = next_ + interval_ * times;
    return;
  }
  if (network.in_flight() == 0) {  // idle: all queues are empty, however long
    for (std::size_t c = 0; c < kQueueClasses; ++c)
      if (links_[c] != 0) depths_[c].record(0, links_[c] * static_cast<std::uint64_t>(times));
    next_ = next_ + interval_ * times;
    return;
  }
  for (; next_ <= until; next_ = next_ + interval_)
    for (fabric::LinkId id = 0; id < class_.size(); ++id) {
      const fabric::Link& link = network.link(id);
      depths_[static_cast<std::size_t>(class_[id])].record(link.queue.data_bytes() +
                                                           link.serving_data_bytes(next_));
    }
}

}  // namespace mrc::sim
