// SPDX-License-Identifier: BSD-3-Clause
// What ThreadSanitizer has to be told about DPDK. The installed libraries are not instrumented: that a packet
// sent by one thread and received by another has been handed over in order, it does not see, and every byte
// of it would be reported as a race. In builds with -Db_sanitize=thread these calls say so, mbuf by mbuf, and
// a mempool handler compiled here takes the place of the library's (order.cc). In all other builds they are
// empty. Nothing of ours is suppressed: two threads that touch an mbuf without such a hand-over are reported.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__SANITIZE_THREAD__)
#define MRC_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define MRC_TSAN 1
#endif
#endif

struct rte_mbuf;

namespace mrc::tsan {

#ifdef MRC_TSAN
/// Before mbufs go into a ring whose other end is a driver's.
void gives(rte_mbuf* const* mbufs, std::size_t n);
/// After mbufs came out of one.
void takes(rte_mbuf* const* mbufs, std::size_t n);
/// Has every burst of the port do both. Once, between its configuration and its start. Set-up thread.
void watch_port(std::uint16_t port, std::uint16_t rx_queues, std::uint16_t tx_queues);
#else
inline void gives(rte_mbuf* const*, std::size_t) {}
inline void takes(rte_mbuf* const*, std::size_t) {}
inline void watch_port(std::uint16_t, std::uint16_t, std::uint16_t) {}
#endif

}  // namespace mrc::tsan
