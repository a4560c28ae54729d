// SPDX-License-Identifier: BSD-3-Clause
// Workers on threads of their own, application threads beside them: the part that ThreadSanitizer watches.
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>

#include "base/spsc_ring.h"
#include "two_nics.h"

namespace mrc::nic {
namespace {

/// Runs every worker of both hosts on a thread until it goes.
class Running {
 public:
  explicit Running(TwoNics& net) {
    for (Host& h : net.host) {
      for (unsigned w = 0; w < h.nic->workers(); ++w) {
        threads_.emplace_back([&worker = h.nic->worker(w), this] { worker.run(stop_); });
      }
    }
  }
  ~Running() {
    stop_ = true;
    for (auto& t : threads_) t.join();
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

/// Writes all of host 0's source through its application queue; returns completions with success.
std::size_t send_all(Host& a, const Host& b, std::uint32_t count, std::uint32_t bytes) {
  std::uint32_t posted = 0;
  std::size_t done = 0;
  std::size_t good = 0;
  while (done < count) {
    while (posted < count && a.app->post_send(a.qpn, a.source_keys.lkey,
                                              TwoNics::write(a, b, posted, std::size_t{posted} * bytes,
                                                             bytes)) == PostStatus::kOk) {
      ++posted;
    }
    std::array<QpCompletion, 16> some;
    const std::size_t n = a.app->poll_cq(some);
    for (std::size_t i = 0; i < n; ++i) {
      EXPECT_EQ(some[i].qpn, a.qpn);
      EXPECT_EQ(some[i].wc.wr_id, done + i);
      good += some[i].wc.status == transport::WcStatus::kSuccess ? 1 : 0;
    }
    done += n;
    if (n == 0) sched_yield();
  }
  return good;
}

/// The cable of these tests: rings of our own, compiled here. DPDK's ring driver comes without
/// instrumentation, so ThreadSanitizer would not see that it orders anything.
struct Cable {
  static inline std::array<std::unique_ptr<SpscRing<rte_mbuf*>>, 32 * 2>
      rings;  // by receiving port and queue
  static inline std::array<std::uint16_t, 32> peer_of{};

  static void lay(const TwoNics& net, unsigned planes) {
    for (auto& r : rings) r = std::make_unique<SpscRing<rte_mbuf*>>(1024);
    for (unsigned p = 0; p < planes; ++p) {
      peer_of[net.port(0, p)] = net.port(1, p);
      peer_of[net.port(1, p)] = net.port(0, p);
    }
  }
  static std::uint16_t tx(std::uint16_t port, std::uint16_t queue, rte_mbuf** pkts, std::uint16_t n) {
    return static_cast<std::uint16_t>(rings[peer_of[port] * 2U + queue]->push({pkts, n}));
  }
  static std::uint16_t rx(std::uint16_t port, std::uint16_t queue, rte_mbuf** pkts, std::uint16_t n) {
    return static_cast<std::uint16_t>(rings[port * 2U + queue]->pop({pkts, n}));
  }
};

/// Two Nics on that cable.
struct ThreadedNics : TwoNics {
  explicit ThreadedNics(const Wiring& w) : TwoNics(w) { Cable::lay(*this, w.planes); }
};

Wiring threaded(unsigned workers, std::uint16_t queues) {
  Wiring s;
  s.workers = workers;
  s.queues = queues;
  s.use_app_queue = true;
  s.attr.path_mtu = 1024;
  s.real_time = true;
  s.policy.base_rtt = milliseconds(20);  // many pollers on few CPUs: slices, not losses
  s.attr.timeout = 20;
  s.nic.idle = IdlePolicy::kYield;
  s.tx_tap = {Cable::tx, Cable::tx};
  s.rx_tap = {Cable::rx, Cable::rx};
  return s;
}

TEST(Threads, ApplicationThreadToApplicationThread) {
  ThreadedNics net(threaded(1, 1));
  {
    const Running running(net);
    EXPECT_EQ(send_all(net.host[0], net.host[1], 50, 20'000), 50U);
  }
  EXPECT_TRUE(std::equal(net.host[0].source.begin(), net.host[0].source.begin() + 1'000'000,
                         net.host[1].target.begin()));
}

TEST(Threads, SingleQueuePortsHandOverToTheHomeWorker) {
  ThreadedNics net(threaded(2, 1));  // the QPs live on worker 1; half of the ports belong to worker 0
  {
    const Running running(net);
    EXPECT_EQ(send_all(net.host[0], net.host[1], 50, 20'000), 50U);
  }
  EXPECT_TRUE(std::equal(net.host[0].source.begin(), net.host[0].source.begin() + 1'000'000,
                         net.host[1].target.begin()));
  // What one worker handed over last the other may not have taken when both were stopped.
  for (int i = 0; i < 100 && net.host[1].nic->worker(0).poll() + net.host[1].nic->worker(1).poll() != 0;) ++i;
  const WorkerStats other = net.host[1].nic->snapshot(0);
  EXPECT_GT(other.handed_out, 0U);
  EXPECT_EQ(other.delivered, 0U);
  EXPECT_EQ(net.host[1].nic->snapshot(1).handed_in, other.handed_out);
  for (const Host& h : net.host) TwoNics::expect_conserved(h);
}

TEST(Threads, AQueueAWorkerNeedsNoHandOver) {
  ThreadedNics net(threaded(2, 2));
  {
    const Running running(net);
    EXPECT_EQ(send_all(net.host[0], net.host[1], 50, 20'000), 50U);
  }
  EXPECT_EQ(net.host[1].nic->snapshot(0).handed_out, 0U);
  EXPECT_GT(net.host[1].nic->snapshot(1).delivered, 0U);
}

TEST(Threads, ControlCallsAreServedByRunningWorkers) {
  ThreadedNics net(threaded(1, 1));
  const Running running(net);
  Host& a = net.host[0];
  while (a.nic->snapshot(0).polls == 0) sched_yield();  // the thread has come up
  for (int i = 0; i < 20; ++i) {
    std::vector<std::uint8_t> region(4096);
    const auto keys = a.nic->register_memory(region.data(), region.size(), kAccessRemoteWrite);
    ASSERT_TRUE(keys);
    EXPECT_EQ(a.nic->query_qp(a.qpn)->state, transport::QpState::kRts);
    ASSERT_TRUE(a.nic->deregister_memory(*keys));
  }
}

TEST(Threads, RefusedPostsComeBackAsCompletions) {
  ThreadedNics net(threaded(1, 1));
  const Running running(net);
  Host& a = net.host[0];
  auto wr = TwoNics::write(a, net.host[1], 77, 0, 100);
  ASSERT_EQ(a.app->post_send(a.qpn, a.source_keys.lkey ^ 1, wr), PostStatus::kOk);
  QpCompletion c;
  while (a.app->poll_cq({&c, 1}) == 0) sched_yield();
  EXPECT_EQ(c.wc.wr_id, 77U);
  EXPECT_EQ(c.wc.status, transport::WcStatus::kLocLenErr);
}

}  // namespace
}  // namespace mrc::nic
