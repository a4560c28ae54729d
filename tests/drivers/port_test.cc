// SPDX-License-Identifier: BSD-3-Clause
// Ports of a real EAL without hugepages or NIC: ring, null and pcap devices of one process.
#include "ethdev/port.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <rte_mbuf.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <optional>
#include <thread>

#include "ethdev/eal.h"
#include "ethdev/vdev.h"

namespace mrc::ethdev {
namespace {

std::optional<Eal>& eal() {
  static std::optional<Eal> instance;
  return instance;
}

const std::string& pcap_path() {
  static const std::string path = "/tmp/ethdev-port-test-" + std::to_string(getpid()) + ".pcap";
  return path;
}

/// EAL starts once a process, so all tests share it; the first test fails if it did not start.
class Environment : public ::testing::Environment {
 public:
  void SetUp() override {
    cpus_before_ = this_thread_cpus();
    EalConfig config = EalConfig::for_tests(2);
    config.vdevs = {*null_vdev(0, 64, true), *pcap_vdev({.tx_path = pcap_path()})};
    // Closing a port takes its device away, so every test of guard_test.cc has a ring of its own.
    for (unsigned i = 0; i < 7; ++i) config.vdevs.push_back(ring_vdev(i));
    auto started = Eal::init(config);
    if (!started) FAIL() << started.error().message;
    eal().emplace(*std::move(started));
  }
  void TearDown() override {
    eal().reset();
    std::filesystem::remove(pcap_path());
  }
  static std::vector<unsigned> cpus_before_;
};
std::vector<unsigned> Environment::cpus_before_;
const auto* const environment = ::testing::AddGlobalTestEnvironment(new Environment);

class PortTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto made = make_pool("port_test", 2047, 9216 + RTE_PKTMBUF_HEADROOM);
    ASSERT_TRUE(made) << made.error().message;
    pool_ = *made;
  }
  static void TearDownTestSuite() { rte_mempool_free(pool_); }
  void TearDown() override { EXPECT_EQ(rte_mempool_avail_count(pool_), 2047U) << "every mbuf came back"; }

  static Result<Port> open(const std::string& name, std::uint32_t mtu = 1500, std::uint16_t queues = 1) {
    PortConfig config;
    config.rx_queues = config.tx_queues = queues;
    config.mtu_bytes = mtu;
    config.rx_pools = {pool_};
    return Port::open(name, config);
  }
  static rte_mempool* pool_;
};
rte_mempool* PortTest::pool_ = nullptr;

// First: closing a port takes virtual devices away.
TEST_F(PortTest, EveryPortIsDescribed) {
  const auto all = probe_all();
  ASSERT_GE(all.size(), 4U);
  for (const PortCaps& caps : all) EXPECT_NE(caps.describe().find(caps.name), std::string::npos);
}

TEST_F(PortTest, TheCallersAffinityAndThatOfNewThreadsAreUntouched) {
  EXPECT_EQ(this_thread_cpus(), Environment::cpus_before_);
  std::vector<unsigned> in_thread;
  std::thread([&] { in_thread = this_thread_cpus(); }).join();
  EXPECT_EQ(in_thread, Environment::cpus_before_);
}

TEST_F(PortTest, AThreadIsPinnedOnRequest) {
  std::thread([] {
    ASSERT_TRUE(pin_this_thread_to_lcore(1));
    EXPECT_EQ(this_thread_cpus().size(), 1U);
    EXPECT_FALSE(pin_this_thread_to_lcore(99));
    EXPECT_FALSE(set_this_thread_cpus({}));
  }).join();
}

TEST_F(PortTest, ASecondStartIsRefusedInWords) {
  auto second = Eal::init(EalConfig::for_tests());
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find("already started"), std::string::npos);
}

TEST_F(PortTest, EffectiveArgumentsArePrintable) {
  EXPECT_NE(eal()->command_line().find("--vdev net_ring0"), std::string::npos);
  EXPECT_GE(eal()->plan().notes.size(), 3U);
}

TEST_F(PortTest, FramesOfAllSizesPassARing) {
  auto port = open("net_ring0", 9000);
  ASSERT_TRUE(port) << port.error().message;
  ASSERT_TRUE(port->start());
  ASSERT_TRUE(port->wait_link_up(std::chrono::seconds(1)));
  for (const std::uint16_t bytes : {std::uint16_t{64}, std::uint16_t{1514}, std::uint16_t{9014}}) {
    rte_mbuf* out = rte_pktmbuf_alloc(pool_);
    std::memset(rte_pktmbuf_append(out, bytes), bytes & 0xFF, bytes);
    ASSERT_EQ(tx_burst(port->burst_port(), 0, &out, 1), 1);
    rte_mbuf* in = nullptr;
    ASSERT_EQ(rx_burst(port->burst_port(), 0, &in, 1), 1);
    EXPECT_EQ(rte_pktmbuf_pkt_len(in), bytes);
    EXPECT_EQ(*rte_pktmbuf_mtod_offset(in, std::uint8_t*, bytes - 1), bytes & 0xFF);
    rte_pktmbuf_free(in);
  }
  const PortStats stats = port->stats();
  EXPECT_EQ(stats.tx_pkts, 3U);
  EXPECT_EQ(stats.rx_pkts, 3U);
}

TEST_F(PortTest, QueuesAreClampedWithANote) {
  auto port = open("net_ring1", 1500, 100);
  ASSERT_TRUE(port) << port.error().message;
  EXPECT_LT(port->rx_queues(), 100);
  EXPECT_EQ(port->rx_queues(), port->caps().max_rx_queues);
  ASSERT_EQ(port->notes().size(), 2U);
  EXPECT_NE(port->notes()[0].find("100 rx queues wanted"), std::string::npos);
}

TEST_F(PortTest, UnfitPoolsAndUnknownPortsAreRefused) {
  auto small = make_pool("small", 63, 512);
  ASSERT_TRUE(small);
  PortConfig config;
  config.rx_pools = {*small};
  auto port = Port::open("net_null0", config);
  ASSERT_FALSE(port);
  EXPECT_NE(port.error().message.find("data room 512 is unfit for MTU 1500"), std::string::npos);
  rte_mempool_free(*small);

  auto missing = Port::open("net_ring7", config);
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find("does not exist; there are: "), std::string::npos);
  EXPECT_FALSE(probe(77));
}

TEST_F(PortTest, APoolThatDoesNotFitNamesItsSize) {
  auto pool = make_pool("huge", 1U << 20, 9344);
  ASSERT_FALSE(pool);
  EXPECT_NE(pool.error().message.find("MiB"), std::string::npos);
}

TEST_F(PortTest, PcapTakesWhatIsSent) {
  auto port = open("net_pcap0");
  ASSERT_TRUE(port) << port.error().message;
  ASSERT_TRUE(port->start());
  rte_mbuf* out = rte_pktmbuf_alloc(pool_);
  std::memset(rte_pktmbuf_append(out, 100), 0, 100);
  ASSERT_EQ(tx_burst(port->burst_port(), 0, &out, 1), 1);
  port->close();
  EXPECT_EQ(std::filesystem::file_size(pcap_path()), 24U + 16U + 100U);
}

}  // namespace
}  // namespace mrc::ethdev
