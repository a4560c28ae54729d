// SPDX-License-Identifier: BSD-3-Clause
// Movement of packets. Set-up stands in fabric_create.cc, changes at run time in fabric_change.cc.
#include "fabric/fabric.h"

#include <algorithm>
#include <cassert>

namespace mrc::fabric {

namespace {
std::size_t index(Kind k) {
  return static_cast<std::size_t>(k);
}
std::size_t index(DropReason r) {
  return static_cast<std::size_t>(r);
}
}  // namespace

// Entering
// -----------------------------------------------------------------------------------------------------

DropReason Fabric::inject(HostId host, std::uint8_t plane, const Packet& view, Time now) {
  assert(host < topology_.hosts && plane < topology_.planes);
  const LinkId id = topology_.up_of(host, plane);
  Link& link = links_[id];
  const auto refuse = [&](DropReason reason) {
    ++counters_.refused[index(view.kind)];
    return reason;
  };
  if (!link.up) return refuse(DropReason::kPortDown);
  const std::uint32_t slot = pool_.take();
  if (slot == kNil) return refuse(DropReason::kNoSlot);
  Slot& s = pool_[slot];
  s.packet = view;
  s.packet.src_host = host;
  s.packet.plane = plane;
  s.twin = kNil;
  if (!ev_rules_.empty() && ev_rule_hits(ev_rules_, view, plane, link.rng)) {
    ++counters_.injected[index(view.kind)];
    ++link.counters.offered[index(view.kind)];
    finish(slot, id, DropReason::kEvLoss, kNil, now);
    return DropReason::kNone;
  }
  if (passes_at_once(link, now)) {
    ++counters_.injected[index(view.kind)];
    walk(id, slot, now);
    return DropReason::kNone;
  }
  const Admission a = enqueue(link, id, slot, now);
  if (a.reason != DropReason::kNone && !a.swapped) {
    pool_.release(slot);
    return refuse(a.reason);
  }
  ++counters_.injected[index(view.kind)];
  ++link.counters.offered[index(view.kind)];
  if (a.reason != DropReason::kNone) finish(slot, id, a.reason, kNil, now);  // a neighbour lost its place
  return DropReason::kNone;
}

bool Fabric::can_inject(HostId host, std::uint8_t plane, std::uint32_t bytes, Time now) const {
  const Link& link = links_[topology_.up_of(host, plane)];
  if (pool_.in_use() == pool_.capacity()) return false;
  if (link.idle(now) || link.config.data_queue_bytes == 0) return true;
  return link.queue.data_bytes() + link.serving_data_bytes(now) + bytes <= link.config.data_queue_bytes;
}

Time Fabric::port_free_at(HostId host, std::uint8_t plane) const {
  const Link& link = links_[topology_.up_of(host, plane)];
  return link.busy_until + link.transmission_time(link.queue.data_bytes() + link.queue.control_bytes());
}

bool Fabric::ev_rule_hits(std::span<const EvRule> rules, const Packet& p, std::uint8_t plane, Rng& rng) {
  for (const EvRule& r : rules) {
    if (r.plane == plane && r.sport == p.sport && r.label == p.label) return rng.chance(r.probability);
  }
  return false;
}

// Moving
// -------------------------------------------------------------------------------------------------------

bool Fabric::passes_at_once(const Link& link, Time now) {
  return link.immediate() && link.wire.empty() && link.idle(now);
}

void Fabric::walk(LinkId id, std::uint32_t slot, Time now) {
  while (id != kNil) {
    Link& link = links_[id];
    const std::size_t kind = index(pool_[slot].packet.kind);
    ++link.counters.offered[kind];
    if (!link.up) return finish(slot, id, DropReason::kLinkDown, kNil, now);
    if (!passes_at_once(link, now)) {
      const Admission a = enqueue(link, id, slot, now);
      if (a.reason != DropReason::kNone) finish(slot, id, a.reason, kNil, now);
      return;
    }
    count_sent(link, pool_[slot].packet);
    id = arrive(id, slot, now);
  }
}

LinkId Fabric::arrive(LinkId id, std::uint32_t slot, Time now) {
  const End to = links_[id].to;
  if (to.is_host) {
    finish(slot, id, DropReason::kNone, to.id, now);
    return kNil;
  }
  const Switch& sw = switches_[to.id];
  Packet& p = pool_[slot].packet;
  DropReason reason = DropReason::kNone;
  LinkId next = kNil;
  if (sw.black_hole) {
    reason = DropReason::kBlackHole;
  } else if (p.hops >= kMaxHops) {
    reason = DropReason::kHopLimit;
  } else {
    next = sw.route(p, config_.forwarding);
    ++p.hops;
    if (next == kNil) reason = DropReason::kNoRoute;
  }
  if (next == kNil) finish(slot, id, reason, kNil, now);
  return next;
}

Admission Fabric::enqueue(Link& link, LinkId id, std::uint32_t slot, Time now) {
  if (link.idle(now)) {
    serve(link, id, slot, now);
    return {};
  }
  const bool last_hop = link.to.is_host;
  const Admission a = link.queue.admit(pool_, link.config, last_hop, slot, link.serving_data_bytes(now),
                                       link.serving_control_bytes(now), link.rng);
  if (a.trimmed) ++link.counters.trimmed;
  link.counters.max_data_queue_bytes =
      std::max(link.counters.max_data_queue_bytes, link.queue.data_bytes() + link.serving_data_bytes(now));
  if (!link.service_pending && !link.queue.empty()) {
    link.service_pending = true;
    heap_.push(link.busy_until, EventType::kService, id);
  }
  return a;
}

void Fabric::serve(Link& link, LinkId id, std::uint32_t slot, Time now) {
  link.start_service(pool_[slot].packet, slot, now);
  link.counters.max_data_queue_bytes = std::max<std::uint64_t>(
      link.counters.max_data_queue_bytes, link.queue.data_bytes() + link.serving_data_bytes(now));
  count_sent(link, pool_[slot].packet);
  if (link.has_faults()) {
    launch_with_faults(link, id, slot, now);
  } else {
    put_on_wire(link, id, slot);
  }
  if (!link.queue.empty()) {
    link.service_pending = true;
    heap_.push(link.busy_until, EventType::kService, id);
  }
}

void Fabric::launch_with_faults(Link& link, LinkId id, std::uint32_t slot, Time now) {
  const LinkFaults& f = link.faults();
  if (f.loss > 0 && link.rng.chance(f.loss)) {
    link.serving = kNil;
    return finish(slot, id, DropReason::kRandomLoss, kNil, now);
  }
  if (f.corrupt > 0 && link.rng.chance(f.corrupt)) {
    pool_[slot].packet.corrupted = true;
    pool_[slot].corrupted_at = id;
    pool_[slot].corrupted_when = now;
    ++link.counters.corrupted;
  }
  const bool twice = f.duplicate > 0 && link.rng.chance(f.duplicate) && pool_[slot].twin == kNil;
  if (f.reorder > 0 && strays_ < config_.max_strays && link.rng.chance(f.reorder)) {
    ++strays_;
    ++link.counters.reordered;
    link.serving = kNil;  // held back out of the port's sight: its mark, if any, is lost
    pool_[slot].link = id;
    heap_.push(link.busy_until + link.config.delay + f.reorder_delay, EventType::kStray, slot);
  } else {
    put_on_wire(link, id, slot);
  }
  const std::uint32_t copy = twice ? pool_.take() : kNil;
  if (copy == kNil) return;
  pool_[copy].packet = pool_[slot].packet;
  pool_[copy].corrupted_at = pool_[slot].corrupted_at;
  pool_[copy].corrupted_when = pool_[slot].corrupted_when;
  pool_[copy].twin = slot;
  pool_[slot].twin = copy;
  ++link.counters.duplicated;
  ++counters_.duplicated;
  put_on_wire(link, id, copy);
}

void Fabric::put_on_wire(Link& link, LinkId id, std::uint32_t slot) {
  const Time at = link.arrival_after(link.busy_until);
  pool_[slot].at = at;
  if (link.wire.empty()) heap_.push(at, EventType::kArrival, id);
  pool_.append(link.wire, slot);
}

void Fabric::count_sent(Link& link, const Packet& p) {
  ++link.counters.sent[index(p.kind)];
  link.counters.sent_bytes += p.size_bytes;
  ++counters_.hops;
}

// Events
// -------------------------------------------------------------------------------------------------------

Time Fabric::next_event() const {
  if (!done_.empty()) return Time{};
  Time t = heap_.empty() ? Time::never() : heap_.top().at;
  if (next_change_ < config_.schedule.size()) t = earlier(t, config_.schedule[next_change_].at);
  return t;
}

std::size_t Fabric::advance(Time now, std::span<Outcome> out) {
  std::size_t n = 0;
  while (n < out.size()) {
    if (!done_.empty()) {
      write_outcome(pool_.pop(done_), out[n++]);
      continue;
    }
    const Time next = next_event();
    if (next > now) break;
    if (next_change_ < config_.schedule.size() && config_.schedule[next_change_].at <= next) {
      apply(config_.schedule[next_change_++].change, next);
      continue;
    }
    const Event e = heap_.top();
    switch (e.type) {
      case EventType::kService:
        heap_.pop();
        on_service_end(e.target, e.at);
        break;
      case EventType::kArrival:
        on_arrival(e.target, e.at);
        break;
      case EventType::kStray:
        heap_.pop();
        --strays_;
        walk(arrive(pool_[e.target].link, e.target, e.at), e.target, e.at);
        break;
    }
  }
  return n;
}

void Fabric::on_service_end(LinkId id, Time now) {
  Link& link = links_[id];
  assert(link.service_pending && now == link.busy_until && !link.queue.empty());
  link.service_pending = false;
  // The mark depends on what the packet leaves behind (dequeue marking): it is on the wire already, but
  // nobody has seen it.
  const bool marks_here = link.config.ecn.enabled && (link.config.ecn.on_last_hop || !link.to.is_host);
  if (marks_here && link.serving != kNil && !link.serving_control) {
    Packet& p = pool_[link.serving].packet;
    if (p.ect && !p.ce && ecn_marks(link.config.ecn, link.queue.data_bytes(), link.rng)) {
      p.ce = true;
      ++link.counters.ce_marked;
    }
  }
  serve(link, id, link.queue.pop(pool_), now);
}

void Fabric::on_arrival(LinkId id, Time now) {
  Link& link = links_[id];
  const std::uint32_t slot = pool_.pop(link.wire);
  assert(pool_[slot].at == now);
  if (link.wire.empty()) {
    heap_.pop();
  } else {
    heap_.replace_top(pool_[link.wire.head].at, EventType::kArrival, id);
  }
  walk(arrive(id, slot, now), slot, now);
}

// Leaving
// ------------------------------------------------------------------------------------------------------

void Fabric::finish(std::uint32_t slot, LinkId link, DropReason reason, HostId host, Time now) {
  Slot& s = pool_[slot];
  s.at = now;
  s.link = link;
  s.host = host;
  s.reason = reason;
  const std::size_t kind = index(s.packet.kind);
  if (reason == DropReason::kNone) {
    ++counters_.delivered[kind];
  } else {
    ++counters_.dropped[index(reason)][kind];
    ++links_[link].counters.dropped[index(reason)][kind];
  }
  pool_.append(done_, slot);
}

void Fabric::write_outcome(std::uint32_t slot, Outcome& out) {
  const Slot& s = pool_[slot];
  out.packet = s.packet;
  out.at = s.at;
  out.link = s.link;
  out.host = s.host;
  out.reason = s.reason;
  out.shared = s.twin != kNil;
  out.corrupted_at = s.packet.corrupted ? s.corrupted_at : kNil;
  out.corrupted_when = s.corrupted_when;
  if (s.twin != kNil) pool_[s.twin].twin = kNil;
  pool_.release(slot);
}

LinkCounters Fabric::counters_into(SwitchId id) const {
  LinkCounters total;
  for (const Link& link : links_) {
    if (!link.to.is_host && link.to.id == id) total += link.counters;
  }
  return total;
}

std::vector<LinkId> Fabric::path_of(HostId host, std::uint8_t plane, Packet view) const {
  std::vector<LinkId> path{topology_.up_of(host, plane)};
  view.src_host = host;
  view.plane = plane;
  for (view.hops = 0; view.hops < kMaxHops; ++view.hops) {
    const End to = links_[path.back()].to;
    const LinkId next = to.is_host ? kNil : switches_[to.id].route(view, config_.forwarding);
    if (next == kNil) break;
    path.push_back(next);
  }
  return path;
}

bool Fabric::conserves() const {
  // Outcomes not yet fetched are counted as delivered or dropped but still hold their slot.
  const std::uint64_t inside = pool_.in_use() - done_.count;
  return sum(counters_.injected) + counters_.duplicated ==
         sum(counters_.delivered) + counters_.dropped_total() + inside;
}

}  // namespace mrc::fabric
