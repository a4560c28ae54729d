// SPDX-License-Identifier: BSD-3-Clause
// Only in builds with ThreadSanitizer.
#include "tsan/order.h"

#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <rte_ring.h>
#include <sanitizer/tsan_interface.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

namespace mrc::tsan {
namespace {

std::uint16_t after_rx(std::uint16_t, std::uint16_t, rte_mbuf** mbufs, std::uint16_t n, std::uint16_t,
                       void*) {
  takes(mbufs, n);
  return n;
}

std::uint16_t before_tx(std::uint16_t, std::uint16_t, rte_mbuf** mbufs, std::uint16_t n, void*) {
  gives(mbufs, n);
  return n;
}

// A freed mbuf may be taken by another thread: what orders that is the ring of its pool. The same ring,
// instrumented, under the name of the default handler. Handlers are found by name, the first wins, and the
// library's comes when EAL loads it.
int pool_alloc(rte_mempool* pool) {
  const std::string name = "MP_" + std::string(pool->name);
  rte_ring* ring = rte_ring_create(name.c_str(), rte_align32pow2(pool->size + 1), pool->socket_id, 0);
  if (ring == nullptr) return -rte_errno;
  pool->pool_data = ring;
  return 0;
}
void pool_free(rte_mempool* pool) {
  rte_ring_free(static_cast<rte_ring*>(pool->pool_data));
}
int pool_put(rte_mempool* pool, void* const* objects, unsigned n) {
  return rte_ring_mp_enqueue_bulk(static_cast<rte_ring*>(pool->pool_data), objects, n, nullptr) == n
             ? 0
             : -ENOBUFS;
}
int pool_get(rte_mempool* pool, void** objects, unsigned n) {
  return rte_ring_mc_dequeue_bulk(static_cast<rte_ring*>(pool->pool_data), objects, n, nullptr) == n
             ? 0
             : -ENOBUFS;
}
/// rte_ring_count, which reads plainly what others write: a guess while they do.
unsigned pool_count(const rte_mempool* pool) {
  const auto* ring = static_cast<const rte_ring*>(pool->pool_data);
  const std::uint32_t put = __atomic_load_n(&ring->prod.tail, __ATOMIC_RELAXED);
  const std::uint32_t got = __atomic_load_n(&ring->cons.tail, __ATOMIC_RELAXED);
  return std::min((put - got) & ring->mask, ring->capacity);
}

const bool registered = [] {
  rte_mempool_ops ops{};
  std::strncpy(ops.name, "ring_mp_mc", sizeof(ops.name) - 1);
  ops.alloc = pool_alloc;
  ops.free = pool_free;
  ops.enqueue = pool_put;
  ops.dequeue = pool_get;
  ops.get_count = pool_count;
  // Were another before it, the tests would report races that are none.
  if (rte_mempool_register_ops(&ops) != 0) std::fputs("tsan: the mempool handler was refused\n", stderr);
  return true;
}();

}  // namespace

void gives(rte_mbuf* const* mbufs, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) __tsan_release(mbufs[i]);
}

void takes(rte_mbuf* const* mbufs, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) __tsan_acquire(mbufs[i]);
}

void watch_port(std::uint16_t port, std::uint16_t rx_queues, std::uint16_t tx_queues) {
  for (std::uint16_t q = 0; q < rx_queues; ++q) rte_eth_add_rx_callback(port, q, after_rx, nullptr);
  for (std::uint16_t q = 0; q < tx_queues; ++q) rte_eth_add_tx_callback(port, q, before_tx, nullptr);
}

}  // namespace mrc::tsan
