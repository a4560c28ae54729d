// SPDX-License-Identifier: BSD-3-Clause
// Packets from host to host: where, when, in which order, and counted.
#include "fixture.h"

namespace mrc::virt::test {
namespace {

using fabric::DropReason;
using fabric::Kind;

class PumpTest : public VirtualTest {};

TEST_F(PumpTest, CarriesFramesUnchangedBetweenTheSamePlanes) {
  start(parallel());
  for (std::uint32_t plane = 0; plane < 2; ++plane) {
    send({.from = 0, .plane = plane, .psn = 7 + plane});
    send({.from = 1, .plane = plane, .psn = 17 + plane, .ipv6 = true});
  }
  EXPECT_EQ(net_->poll(Time{1}), 8U);
  for (std::uint32_t plane = 0; plane < 2; ++plane) {
    const auto at_b = receive(1, plane);
    const auto at_a = receive(0, plane);
    ASSERT_EQ(at_b.size(), 1U);
    ASSERT_EQ(at_a.size(), 1U);
    EXPECT_EQ(at_b[0].view.bth.psn.value(), 7 + plane);
    EXPECT_TRUE(at_b[0].icrc_ok());
    EXPECT_EQ(at_a[0].view.bth.psn.value(), 17 + plane);
    EXPECT_TRUE(at_a[0].icrc_ok());
  }
  EXPECT_EQ(net_->counters().taken, 4U);
  EXPECT_EQ(net_->counters().given, 4U);
}

TEST_F(PumpTest, DelayIsKeptAndOrderToo) {
  start(parallel(microseconds(5)));
  for (std::uint32_t i = 0; i < 100; ++i) {
    send({.psn = i});
    net_->poll(Time{1000 + 10 * i});
  }
  EXPECT_TRUE(receive(1, 0).empty());
  EXPECT_EQ(net_->next_event(), Time{6000});
  net_->poll(Time{5999});
  EXPECT_TRUE(receive(1, 0).empty());
  net_->poll(Time{6490});
  const auto first = receive(1, 0);
  ASSERT_EQ(first.size(), 50U);
  net_->poll(Time{10'000});
  const auto rest = receive(1, 0);
  ASSERT_EQ(rest.size(), 50U);
  for (std::uint32_t i = 0; i < 50; ++i) {
    EXPECT_EQ(first[i].view.bth.psn.value(), i);
    EXPECT_EQ(rest[i].view.bth.psn.value(), i + 50);
  }
}

TEST_F(PumpTest, CountsByPathAndKind) {
  start(parallel());
  for (std::uint16_t sport = 0; sport < 8; ++sport) {
    send({.sport = sport, .psn = sport, .rtx = sport >= 6});
  }
  net_->poll(Time{1});
  EXPECT_EQ(receive(1, 0).size(), 8U);
  const auto& f = net_->fabric();
  for (std::uint32_t path = 0; path < 4; ++path) {
    const auto c = f.counters_into(f.topology().find(0, 1, path));
    EXPECT_EQ(c.sent[static_cast<std::size_t>(Kind::kData)], path < 2 ? 2U : 1U);
    EXPECT_EQ(c.sent[static_cast<std::size_t>(Kind::kRetransmission)], path < 2 ? 0U : 1U);
  }
}

TEST_F(PumpTest, LosesTheConfiguredShareOfOnePath) {
  start(parallel(microseconds(1)));
  ASSERT_TRUE(net_->set_path_loss(0, 1, 0.01));
  constexpr std::uint32_t kPackets = 40'000;
  std::size_t received = 0;
  std::size_t other = 0;
  for (std::uint32_t i = 0; i < kPackets; ++i) {
    send({.sport = static_cast<std::uint16_t>(i % 2), .psn = i & 0xFFFFFF});
    if (i % 16 != 15) continue;
    net_->poll(Time{static_cast<std::int64_t>(i) * 1000 + 1});
    for (const auto& r : receive(1, 0)) (r.view.udp_sport == 1 ? received : other) += 1;
  }
  net_->poll(Time{1'000'000'000});
  for (const auto& r : receive(1, 0)) (r.view.udp_sport == 1 ? received : other) += 1;
  EXPECT_EQ(other, kPackets / 2);
  const auto& lost = net_->fabric().counters().dropped[static_cast<std::size_t>(DropReason::kRandomLoss)];
  EXPECT_EQ(fabric::sum(lost), kPackets / 2 - received);
  EXPECT_NEAR(static_cast<double>(fabric::sum(lost)), 200.0, 5 * 14.1);  // binomial, five sigma
  EXPECT_TRUE(net_->fabric().conserves());
}

TEST_F(PumpTest, AReceiverThatDoesNotPollLosesAtItsPortAndNothingLeaks) {
  VirtualConfig c = parallel();
  c.ring_size = 64;
  start(c);
  for (std::uint32_t i = 0; i < 200; ++i) {
    send({.psn = i});
    net_->poll(Time{1 + i});
  }
  EXPECT_EQ(net_->counters().given, 63U);  // a ring of 64 holds 63
  EXPECT_EQ(net_->counters().rx_full, 137U);
  EXPECT_EQ(receive(1, 0).size(), 63U);
}

TEST_F(PumpTest, ASlowHostPortPushesBackThroughItsRing) {
  VirtualConfig c = parallel();
  c.ring_size = 64;
  c.host_port.rate_bps = 1'000'000'000;
  c.host_port.data_queue_bytes = 40'000;
  start(c);
  std::uint32_t accepted = 0;
  for (std::uint32_t i = 0; i < 500; ++i) {
    rte_mbuf* m = make_write({.psn = i, .payload_bytes = 1024});
    if (rte_eth_tx_burst(net_->port_id(0, 0), 0, &m, 1) == 1) {
      ++accepted;
    } else {
      rte_pktmbuf_free(m);
    }
    net_->poll(Time{1});
  }
  EXPECT_LT(accepted, 120U) << "a ring of 64 and what the port queue holds";
  EXPECT_GT(accepted, 63U);
  std::size_t received = 0;
  for (std::int64_t t = 0; t < 5'000'000; t += 10'000) {
    net_->poll(Time{1 + t});
    received += receive(1, 0).size();
  }
  EXPECT_EQ(received, accepted) << "nothing is lost at the port";
  EXPECT_EQ(net_->counters().refused, 0U);
}

TEST_F(PumpTest, SteersByDestinationAddressToQueues) {
  VirtualConfig c = parallel();
  c.queues = 2;
  start(c);
  ASSERT_TRUE(net_->steer(1, *IpAddress::parse("10.0.0.3"), 1));
  IpAddress v6;
  v6.v6 = true;
  v6.bytes = {0xfd, 2};
  v6.bytes[15] = 3;
  ASSERT_TRUE(net_->steer(1, v6, 1));
  for (const bool ipv6 : {false, true}) {
    send({.psn = 2, .ipv6 = ipv6, .to_ip = 2});
    send({.psn = 3, .ipv6 = ipv6, .to_ip = 3});
    net_->poll(Time{1});
    const auto q0 = receive(1, 0, 0);
    const auto q1 = receive(1, 0, 1);
    ASSERT_EQ(q0.size(), 1U);
    ASSERT_EQ(q1.size(), 1U);
    EXPECT_EQ(q0[0].view.bth.psn.value(), 2U);
    EXPECT_EQ(q1[0].view.bth.psn.value(), 3U);
  }
}

TEST_F(PumpTest, AmongManyHostsTheDestinationMacDecides) {
  VirtualConfig c = parallel();
  c.hosts = 3;
  start(c);
  for (const fabric::HostId to : {0U, 1U}) {
    rte_mbuf* m = make_write({.from = 2, .psn = to});
    std::memcpy(rte_pktmbuf_mtod(m, void*), port_mac(to, 0).bytes.data(), 6);
    send_mbuf(2, 0, m);
  }
  rte_mbuf* broadcast = make_write({.from = 2});
  std::memset(rte_pktmbuf_mtod(broadcast, void*), 0xFF, 6);
  send_mbuf(2, 0, broadcast);
  net_->poll(Time{1});
  EXPECT_EQ(receive(0, 0).size(), 1U);
  EXPECT_EQ(receive(1, 0).size(), 1U);
  EXPECT_EQ(net_->counters().no_destination, 1U);
}

TEST_F(PumpTest, ForwardsWhatIsNotMrc) {
  start(parallel());
  rte_mbuf* m = rte_pktmbuf_alloc(pool_);
  auto* frame = reinterpret_cast<std::uint8_t*>(rte_pktmbuf_append(m, 60));
  std::memset(frame, 0xFF, 60);
  frame[12] = 0x08;
  frame[13] = 0x06;  // ARP
  send_mbuf(0, 1, m);
  rte_mbuf* runt = rte_pktmbuf_alloc(pool_);
  rte_pktmbuf_append(runt, 3);
  send_mbuf(0, 1, runt);
  net_->poll(Time{1});
  const auto got = receive(1, 1);
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].bytes.size(), 60U);
  EXPECT_EQ(net_->counters().no_destination, 1U) << "three bytes are no frame";
  EXPECT_EQ(net_->fabric().counters().delivered[static_cast<std::size_t>(Kind::kOther)], 1U);
}

TEST_F(PumpTest, DrainingEndsEverythingOnItsWay) {
  start(parallel(seconds(10)));
  for (std::uint32_t i = 0; i < 50; ++i) send({.psn = i});
  net_->poll(Time{1});
  for (std::uint32_t i = 0; i < 20; ++i) send({.psn = i});  // still in the TX ring
  net_->drain();
  EXPECT_EQ(net_->fabric().in_flight(), 0U);
  EXPECT_EQ(rte_mempool_avail_count(pool_), kMbufs);
}

TEST_F(PumpTest, RefusesWhatCannotBeBuilt) {
  const auto refused = [](auto&& edit, const char* word) {
    VirtualConfig c = parallel();
    edit(c);
    const auto r = VirtualFabric::create(c);
    ASSERT_FALSE(r);
    EXPECT_NE(r.error().message.find(word), std::string::npos) << r.error().message;
  };
  refused([](VirtualConfig& c) { c.ring_size = 100; }, "power of two");
  refused([](VirtualConfig& c) { c.queues = 0; }, "queues");
  refused([](VirtualConfig& c) { c.name = "much-too-long-name"; }, "name");
  refused([](VirtualConfig& c) { c.hosts = 40; }, "ports");
  refused([](VirtualConfig& c) { c.planes = 0; }, "planes");
  refused([](VirtualConfig& c) { c.paths = 0; }, "t1");
}

}  // namespace
}  // namespace mrc::virt::test
