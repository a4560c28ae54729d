// SPDX-License-Identifier: BSD-3-Clause
// The burst guard, with drivers that behave: it lets bursts through, stops them on request, and leaves every
// fault alone that is not the one it is for. That it catches that one, driver_memif.py shows with processes
// that are killed.
#include <gtest/gtest.h>
#include <rte_mbuf.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <thread>

#include "ethdev/burst.h"
#include "ethdev/port.h"
#include "ethdev/vdev.h"

namespace mrc::ethdev {
namespace {

class GuardTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto pool = make_pool("guard_test", 255, 2048 + RTE_PKTMBUF_HEADROOM);
    ASSERT_TRUE(pool) << pool.error().message;
    pool_ = *pool;
    PortConfig config;
    config.rx_pools = {pool_};
    static unsigned next_ring = 2;
    auto port = Port::open(ring_vdev(next_ring++), config);
    ASSERT_TRUE(port) << port.error().message;
    port_.emplace(*std::move(port));
    ASSERT_TRUE(port_->start());
  }
  void TearDown() override {
    port_.reset();
    rte_mempool_free(pool_);
  }
  std::uint16_t id() const { return port_->id(); }

  rte_mempool* pool_ = nullptr;
  std::optional<Port> port_;
};

TEST_F(GuardTest, AnOpenGatePassesFramesAndAClosedOneNone) {
  install_burst_guard();
  rte_mbuf* out = rte_pktmbuf_alloc(pool_);
  rte_pktmbuf_append(out, 64);
  EXPECT_EQ(guarded_tx_burst(id(), 0, &out, 1), 0) << "gates start closed";
  open_gate(id());
  EXPECT_EQ(guarded_tx_burst(id(), 0, &out, 1), 1);
  close_gate(id());
  EXPECT_FALSE(gate_is_open(id()));
  rte_mbuf* in[4]{};
  EXPECT_EQ(guarded_rx_burst(id(), 0, in, 4), 0);
  open_gate(id());
  ASSERT_EQ(guarded_rx_burst(id(), 0, in, 4), 1);
  EXPECT_EQ(in[0], out);
  rte_pktmbuf_free(in[0]);
  EXPECT_EQ(guard_stats(id()).faults, 0U);
}

TEST_F(GuardTest, AfterCloseNoThreadIsInsideABurst) {
  install_burst_guard();
  // The poller would trip over a port that stops under it: the driver's functions are exchanged then, with a
  // stack dump.
  std::atomic<bool> done{false};
  std::atomic<std::uint64_t> polls{0};
  open_gate(id());
  std::thread poller([&] {
    rte_mbuf* in[8];
    while (!done) {
      guarded_rx_burst(id(), 0, in, 8);
      ++polls;
      std::this_thread::yield();
    }
  });
  while (polls < 10) std::this_thread::yield();
  ::testing::internal::CaptureStderr();
  for (int i = 0; i < 50; ++i) {
    close_gate(id());
    port_->stop();
    ASSERT_TRUE(port_->start());
    open_gate(id());
    const std::uint64_t seen = polls;
    while (polls < seen + 2) std::this_thread::yield();
  }
  done = true;
  poller.join();
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

using GuardDeathTest = GuardTest;

// First of the process (death tests run before others): handlers are installed once.
TEST_F(GuardDeathTest, AnEarlierHandlerStillGetsItsFaults) {
  EXPECT_EXIT(
      {
        std::signal(SIGSEGV, [](int) { std::_Exit(42); });
        install_burst_guard();
        std::raise(SIGSEGV);
      },
      ::testing::ExitedWithCode(42), "");
}

TEST_F(GuardDeathTest, AFaultOutsideABurstKillsAsBefore) {
  install_burst_guard();
  EXPECT_DEATH(std::raise(SIGSEGV), "");
  EXPECT_DEATH(std::raise(SIGBUS), "");
}

TEST_F(GuardDeathTest, AFaultOfOursInsideABurstIsNotHidden) {
  install_burst_guard();
  // The link is up, so the peer has not left: this is a defect, and must look like one.
  open_gate(id());
  ASSERT_TRUE(port_->link().up);
  EXPECT_DEATH(guarded_rx_burst(id(), 60000, nullptr, 1), "");
}

}  // namespace
}  // namespace mrc::ethdev
