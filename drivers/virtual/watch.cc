// SPDX-License-Identifier: BSD-3-Clause
#include "virtual/watch.h"

namespace mrc::virt {

using fabric::kKinds;

fabric::PerKind Watches::count(const fabric::Fabric& fabric, const Watch& w) {
  fabric::PerKind sum{};
  for (const fabric::LinkId id : w.into) fabric::add(sum, fabric.link(id).counters.offered);
  return sum;
}

bool Watches::add(const fabric::Fabric& fabric, std::uint32_t plane, std::uint32_t path, Time now) {
  WatchTotals known;
  if (totals(plane, path, known)) return true;
  const std::size_t n = count_.load(std::memory_order_relaxed);
  if (n == kMaxWatches) return false;
  Watch& w = watches_[n];
  w.plane = plane;
  w.path = path;
  w.spine = fabric.topology().find(plane, 1, path);
  if (w.spine == fabric::kNil) return false;
  for (const fabric::SwitchSpec& sw : fabric.topology().switches) {
    for (const fabric::LinkId id : sw.up) {
      if (fabric.link(id).to.id == w.spine) w.into.push_back(id);
    }
  }
  w.seen = count(fabric, w);
  count_.store(n + 1, std::memory_order_release);
  poll(fabric, now);
  return true;
}

void Watches::put(const Observation& o) {
  if (!ring_.push(o)) lost_.fetch_add(1, std::memory_order_relaxed);
}

void Watches::poll(const fabric::Fabric& fabric, Time now) {
  const std::size_t n = count_.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < n; ++i) {
    Watch& w = watches_[i];
    const fabric::PerKind current = count(fabric, w);
    for (std::size_t k = 0; k < kKinds; ++k) {
      if (current[k] == w.seen[k]) continue;
      w.shared[k].entered.fetch_add(current[k] - w.seen[k], std::memory_order_relaxed);
      w.shared[k].last_entered_ns.store(now.ns, std::memory_order_relaxed);
      w.seen[k] = current[k];
      if (w.entered[k]) continue;
      w.entered[k] = true;
      Observation o;
      o.at = now;
      o.what = Observation::What::kFirstEntered;
      o.kind = static_cast<fabric::Kind>(k);
      o.plane = static_cast<std::uint8_t>(w.plane);
      o.path = static_cast<std::uint16_t>(w.path);
      put(o);
    }
  }
}

void Watches::note_drop(const fabric::Fabric& fabric, const fabric::Outcome& outcome) {
  const fabric::Link& link = fabric.link(outcome.link);
  const std::size_t n = count_.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < n; ++i) {
    const Watch& w = watches_[i];
    const bool here =
        (!link.to.is_host && link.to.id == w.spine) || (!link.from.is_host && link.from.id == w.spine);
    if (!here) continue;
    Observation o;
    o.at = outcome.at;
    o.what = Observation::What::kDropped;
    o.kind = outcome.packet.kind;
    o.reason = outcome.reason;
    o.plane = static_cast<std::uint8_t>(w.plane);
    o.path = static_cast<std::uint16_t>(w.path);
    o.from = outcome.packet.src_host;
    o.psn = outcome.packet.psn;
    put(o);
  }
}

void Watches::note_state(fabric::SwitchId id, bool up, Time now) {
  const std::size_t n = count_.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < n; ++i) {
    Watch& w = watches_[i];
    if (w.spine != id) continue;
    w.entered.fill(false);
    Observation o;
    o.at = now;
    o.what = up ? Observation::What::kUp : Observation::What::kDown;
    o.plane = static_cast<std::uint8_t>(w.plane);
    o.path = static_cast<std::uint16_t>(w.path);
    put(o);
  }
}

bool Watches::totals(std::uint32_t plane, std::uint32_t path, WatchTotals& out) const {
  const std::size_t n = count_.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < n; ++i) {
    const Watch& w = watches_[i];
    if (w.plane != plane || w.path != path) continue;
    for (std::size_t k = 0; k < kKinds; ++k) {
      out.kinds[k].entered = w.shared[k].entered.load(std::memory_order_relaxed);
      out.kinds[k].last_entered = Time{w.shared[k].last_entered_ns.load(std::memory_order_relaxed)};
    }
    out.observations_lost = lost_.load(std::memory_order_relaxed);
    return true;
  }
  return false;
}

}  // namespace mrc::virt
