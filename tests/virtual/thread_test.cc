// SPDX-License-Identifier: BSD-3-Clause
// The pump on a thread of its own, hosts on another, control on a third.
#include <atomic>
#include <set>
#include <thread>

#include "ethdev/eal.h"
#include "fixture.h"

namespace mrc::virt::test {
namespace {

class ThreadTest : public VirtualTest {};

TEST_F(ThreadTest, NothingIsLostOrLeakedAcrossThreadsWhilePathsFlap) {
  VirtualConfig c = parallel(microseconds(20));
  start(c);
  std::atomic<bool> stop_pump{false};
  std::atomic<bool> stop_control{false};
  std::thread pump([&] { net_->run(stop_pump, true); });
  std::uint64_t commands = 0;
  std::thread control([&] {
    // Paths 1 to 3 flap; path 0 stays.
    for (std::uint32_t i = 0; !stop_control.load(std::memory_order_relaxed); ++i) {
      if (net_->set_path_up(i % 2, 1 + i % 3, i % 5 != 0)) ++commands;
      std::this_thread::yield();
    }
  });
  constexpr std::uint32_t kPackets = 30'000;
  std::set<std::uint32_t> steady;  // PSNs that went over path 0
  std::uint64_t received = 0;
  const auto take = [&] {
    for (std::uint32_t plane = 0; plane < 2; ++plane) {
      for (const auto& r : receive(1, plane)) {
        EXPECT_TRUE(r.icrc_ok());
        ++received;
        const bool twice = r.view.udp_sport % 4 == 0 && !steady.insert(r.view.bth.psn.value()).second;
        EXPECT_FALSE(twice);
      }
    }
  };
  for (std::uint32_t i = 0; i < kPackets; ++i) {
    // Rings of 2048 and a pool of 8191: wait for what is on its way.
    while (rte_mempool_avail_count(pool_) < 6800) {
      take();
      std::this_thread::yield();
    }
    rte_mbuf* m = make_write({.plane = i % 2, .sport = static_cast<std::uint16_t>(i / 2 % 4), .psn = i});
    while (rte_eth_tx_burst(net_->port_id(0, i % 2), 0, &m, 1) != 1) {
      take();
      std::this_thread::yield();
    }
  }
  stop_control = true;
  control.join();
  // Every mbuf comes home: received here or freed as a drop by the pump.
  while (rte_mempool_avail_count(pool_) != kMbufs) {
    take();
    std::this_thread::yield();
  }
  stop_pump = true;
  pump.join();
  net_->drain();
  EXPECT_EQ(steady.size(), kPackets / 4);
  const PumpCounters& p = net_->counters();
  EXPECT_EQ(p.taken, kPackets);
  EXPECT_EQ(p.rx_full, 0U);
  EXPECT_EQ(p.given, received);
  EXPECT_EQ(received + net_->fabric().counters().dropped_total(), kPackets);
  EXPECT_GT(net_->fabric().counters().dropped_total(), 0U) << "the flaps did something";
  EXPECT_EQ(net_->commands_done(), commands);
  EXPECT_TRUE(net_->fabric().conserves());
}

// Hosts and pump on one thread, control and observation on another: what crosses threads is ours alone, so
// ThreadSanitizer sees all of it (the ring driver is not instrumented).
TEST_F(ThreadTest, ControlAndObservationCrossThreadsCleanly) {
  start(parallel(microseconds(5)));
  std::atomic<bool> stop{false};
  std::uint64_t commands = 0;
  std::uint64_t seen_dropped = 0;
  std::thread control([&] {
    Observation batch[16];
    WatchTotals totals;
    if (net_->watch_path(0, 1)) ++commands;
    for (std::uint32_t i = 0; !stop.load(std::memory_order_relaxed); ++i) {
      if (net_->set_path_up(0, 1, i % 3 != 0)) ++commands;
      const std::size_t n = net_->take_observations(batch);
      for (std::size_t k = 0; k < n; ++k)
        seen_dropped += batch[k].what == Observation::What::kDropped ? 1 : 0;
      net_->watch_totals(0, 1, totals);
      std::this_thread::yield();
    }
  });
  std::size_t received = 0;
  std::uint32_t sent = 0;
  // Until the control thread has really taken part, and then some.
  while (sent < 5000 || net_->commands_done() < 50) {
    send({.sport = static_cast<std::uint16_t>(sent % 4), .psn = sent});
    net_->poll(Time{1 + 1000LL * ++sent});
    received += receive(1, 0).size();
  }
  stop = true;
  control.join();
  net_->poll(Time{1 + 1000LL * (sent + 100)});
  received += receive(1, 0).size();
  Observation o;
  while (net_->take_observations(std::span(&o, 1)) == 1)
    seen_dropped += o.what == Observation::What::kDropped ? 1 : 0;
  WatchTotals totals;
  ASSERT_TRUE(net_->watch_totals(0, 1, totals));
  const std::uint64_t dropped = net_->fabric().counters().dropped_total();
  EXPECT_EQ(received + dropped, sent);
  EXPECT_LE(seen_dropped, dropped);
  EXPECT_EQ(net_->commands_done(), commands);
}

}  // namespace
}  // namespace mrc::virt::test
