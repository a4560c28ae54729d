// SPDX-License-Identifier: BSD-3-Clause
// Movement: host rings -> fabric -> host rings. One thread.
#include <rte_ethdev.h>
#include <rte_lcore.h>
#include <sched.h>

#include <cassert>
#include <cstring>

#include "nic/clock.h"
#include "tsan/order.h"
#include "virtual/impl.h"

namespace mrc::virt {

std::size_t VirtualFabric::Impl::poll(Time now) {
  ++counters.polls;
  run_commands(now);
  std::size_t moved = give(now);
  std::size_t taken = 0;
  for (std::uint32_t i = 0; i < ports.size(); ++i) taken += take(i, now);
  if (taken != 0) moved += taken + give(now);  // paths without delay deliver within the round
  if (moved != 0 && !watches.empty()) watches.poll(*fabric, now);
  return moved;
}

// Host -> fabric
// -------------------------------------------------------------------------------------------------

std::size_t VirtualFabric::Impl::take(std::uint32_t index, Time now) {
  const std::uint32_t host = index / fabric->topology().planes;
  const auto plane = static_cast<std::uint8_t>(index % fabric->topology().planes);
  std::array<rte_mbuf*, kBurst> burst;
  std::size_t total = 0;
  for (const RingPtr& ring : ports[index].tx) {
    std::uint32_t room = kBurst;
    // A port with a speed takes what it can send soon; the rest waits in the ring, and a full ring is a short
    // burst to the host: back-pressure as hardware does it.
    if (config.host_port.rate_bps != 0 && fabric->host_port_up(host, plane)) {
      room = 0;
      const std::uint32_t largest = 9216;
      while (room < kBurst && fabric->can_inject(host, plane, (room + 1) * largest, now)) ++room;
    }
    if (fabric->in_flight() + room > config.max_packets) room = config.max_packets - fabric->in_flight();
    const unsigned n =
        rte_ring_sc_dequeue_burst(ring.get(), reinterpret_cast<void**>(burst.data()), room, nullptr);
    tsan::takes(burst.data(), n);
    for (unsigned i = 0; i < n; ++i) __builtin_prefetch(rte_pktmbuf_mtod(burst[i], void*));
    for (unsigned i = 0; i < n; ++i) inject(burst[i], index, now);
    total += n;
  }
  return total;
}

void VirtualFabric::Impl::inject(rte_mbuf* m, std::uint32_t index, Time now) {
  const std::uint32_t host = index / fabric->topology().planes;
  const auto plane = static_cast<std::uint8_t>(index % fabric->topology().planes);
  ++counters.taken;
  fabric::Packet view;
  if (!reader->read(m, host, view)) {
    ++counters.no_destination;
  } else if (fabric->inject(host, plane, view, now) == fabric::DropReason::kNone) {
    return;
  } else {
    ++counters.refused;
  }
  rte_pktmbuf_free(m);
}

// Fabric -> host
// -------------------------------------------------------------------------------------------------

std::size_t VirtualFabric::Impl::give(Time now) {
  std::size_t total = 0;
  std::size_t n = 0;
  do {
    n = fabric->advance(now, outcomes);
    for (std::size_t i = 0; i < n; ++i)
      __builtin_prefetch(reinterpret_cast<void*>(outcomes[i].packet.handle));
    for (std::size_t i = 0; i < n; ++i) deliver(outcomes[i]);
    total += n;
  } while (n == outcomes.size());
  for (const std::uint32_t where : staged) {
    flush(where);
    stages[where].listed = false;
  }
  staged.clear();
  return total;
}

void VirtualFabric::Impl::deliver(const fabric::Outcome& o) {
  if (!o.delivered()) {
    if (!watches.empty()) watches.note_drop(*fabric, o);
    if (!o.shared) rte_pktmbuf_free(reinterpret_cast<rte_mbuf*>(o.packet.handle));
    return;
  }
  rte_mbuf* m = handle_of(o);
  if (m == nullptr) return;
  if (is_changed(o.packet) && !write_back(o.packet, config.decode.dscp, pool.get(), m)) {
    ++counters.no_copy;
    rte_pktmbuf_free(m);
    return;
  }
  const std::size_t port = std::size_t{o.host} * fabric->topology().planes + o.packet.plane;
  stage(port * config.queues + queue_for(o.host, m), m);
}

/// The mbuf to deliver: its own, or a copy while a twin is still inside.
rte_mbuf* VirtualFabric::Impl::handle_of(const fabric::Outcome& o) {
  auto* m = reinterpret_cast<rte_mbuf*>(o.packet.handle);
  if (!o.shared) return m;
  rte_mbuf* copy = rte_pktmbuf_copy(m, pool.get(), 0, UINT32_MAX);
  if (copy == nullptr) ++counters.no_copy;
  return copy;
}

std::uint16_t VirtualFabric::Impl::queue_for(fabric::HostId host, const rte_mbuf* m) const {
  if (config.queues == 1 || steering[host].empty()) return 0;
  const std::uint8_t* frame = rte_pktmbuf_mtod(m, const std::uint8_t*);
  const std::uint32_t bytes = rte_pktmbuf_data_len(m);
  const std::uint32_t type = bytes >= 14 ? static_cast<std::uint32_t>(frame[12]) << 8 | frame[13] : 0;
  for (const Steered& s : steering[host]) {
    const bool hit =
        s.ip.v6 ? type == 0x86DD && bytes >= 54 && std::memcmp(frame + 38, s.ip.bytes.data(), 16) == 0
                : type == 0x0800 && bytes >= 34 && std::memcmp(frame + 30, s.ip.bytes.data(), 4) == 0;
    if (hit) return s.queue;
  }
  return 0;
}

void VirtualFabric::Impl::stage(std::size_t where, rte_mbuf* m) {
  Stage& s = stages[where];
  if (!s.listed) {
    s.listed = true;
    staged.push_back(static_cast<std::uint32_t>(where));
  }
  s.mbufs[s.count++] = m;
  if (s.count == kBurst) flush(where);
}

void VirtualFabric::Impl::flush(std::size_t where) {
  Stage& s = stages[where];
  if (s.count == 0) return;
  rte_ring* ring = ports[where / config.queues].rx[where % config.queues].get();
  for (std::uint32_t i = 0; i < s.count; ++i) counters.given_bytes += rte_pktmbuf_pkt_len(s.mbufs[i]);
  tsan::gives(s.mbufs.data(), s.count);
  const unsigned n =
      rte_ring_sp_enqueue_burst(ring, reinterpret_cast<void**>(s.mbufs.data()), s.count, nullptr);
  counters.given += n;
  counters.rx_full += s.count - n;
  for (unsigned i = n; i < s.count; ++i) {
    counters.given_bytes -= rte_pktmbuf_pkt_len(s.mbufs[i]);
    rte_pktmbuf_free(s.mbufs[i]);
  }
  s.count = 0;
}

void VirtualFabric::Impl::drain() {
  const auto empty = [](const RingPtr& ring) {
    void* m = nullptr;
    while (rte_ring_dequeue(ring.get(), &m) == 0) rte_pktmbuf_free(static_cast<rte_mbuf*>(m));
  };
  for (const Port& p : ports) {
    for (const RingPtr& r : p.tx) empty(r);
  }
  // Time without end: everything inside arrives or dies.
  while (fabric->in_flight() > 0) give(Time{Time::never().ns - 1});
  for (const Port& p : ports) {
    for (const RingPtr& r : p.rx) empty(r);
  }
}

std::size_t VirtualFabric::poll(Time now) {
  return impl_->poll(now);
}

void VirtualFabric::run(const std::atomic<bool>& stop, bool yield) {
  const bool registered = rte_lcore_id() == LCORE_ID_ANY && rte_thread_register() == 0;
  const nic::TscClock clock;
  while (!stop.load(std::memory_order_relaxed)) {
    if (impl_->poll(clock.now()) == 0 && yield) sched_yield();
  }
  if (registered) rte_thread_unregister();
}

}  // namespace mrc::virt
