// SPDX-License-Identifier: BSD-3-Clause
// Fewer queues than workers, in virtual time: what one worker holds for another is neither lost nor late.
#include <algorithm>

#include "two_nics.h"

namespace mrc::nic {
namespace {

using transport::Completion;
using transport::WcStatus;

Wiring two_workers(unsigned planes) {
  Wiring s;
  s.workers = 2;
  s.queues = 1;
  s.planes = planes;
  s.attr.path_mtu = 1024;
  s.attr.timeout = 8;  // 256 us
  s.attr.linear_cnt = 2;
  s.attr.exp_cnt = 2;
  return s;
}

void poll(TwoNics& net, Host& h, unsigned worker) {
  h.nic->worker(worker).poll_at(net.now);
}

// D13: an answer that waits at another worker's queue has arrived.
TEST(HandOver, WhatAnotherWorkerHasNotReadYetIsNoSilence) {
  TwoNics net(two_workers(4));
  Host& a = net.host[0];
  Host& b = net.host[1];
  ASSERT_EQ(TwoNics::post(a, TwoNics::write(a, b, 1, 0, 100'000)), PostStatus::kOk);
  for (int i = 0; i < 20; ++i) {  // everything is sent and answered; the answers wait at worker 0
    net.now = net.now + microseconds(2);
    poll(net, a, 1);
    if (i < 4) poll(net, a, 0);  // it sends for worker 1
    poll(net, b, 0);
    poll(net, b, 1);
  }
  for (int i = 0; i < 300; ++i) {  // twice the time out
    net.now = net.now + microseconds(2);
    poll(net, a, 1);
  }
  EXPECT_EQ(a.nic->query_qp(a.qpn)->counters.timer_expiries, 0U);
  std::vector<Completion> done;
  ASSERT_TRUE(net.run([&] { return net.drain_cq(a, done) != 0; }, 1'000));
  EXPECT_EQ(done[0].status, WcStatus::kSuccess);
  EXPECT_EQ(a.nic->query_qp(a.qpn)->counters.timer_expiries, 0U);
}

// One plane, one queue: worker 1 polls none. Its QPs' timers run, all of them, and not before their time.
TEST(HandOver, AWorkerWithoutAReceiveQueueKeepsTime) {
  TwoNics net(two_workers(1));
  Host& a = net.host[0];
  std::vector<std::uint32_t> qpns;
  while (qpns.size() < 50) qpns.push_back(net.add_pair()[0]);
  net.run([] { return false; }, 10);
  for (const std::uint32_t qpn : qpns) {
    ASSERT_EQ(a.w().post_send(qpn, a.source_keys.lkey, TwoNics::write(a, net.host[1], 1, 0, 64)),
              PostStatus::kOk);
  }
  const Time start = net.now;
  std::size_t ended = 0;
  Time first = Time::never();
  while (net.now < start + milliseconds(10) && ended < qpns.size()) {
    net.now = net.now + microseconds(2);
    for (unsigned w = 0; w < 2; ++w) poll(net, a, w);  // host 1 never answers
    for (const std::uint32_t qpn : qpns) {
      Completion c;
      if (a.w().poll_cq(qpn, {&c, 1}) == 0) continue;
      EXPECT_EQ(c.status, WcStatus::kRetryExcErr);
      first = earlier(first, net.now);
      ++ended;
    }
  }
  EXPECT_EQ(ended, qpns.size());
  EXPECT_GE(first, start + microseconds(1000)) << "the sum of the intervals";
}

/// Of host 0, plane 0 takes nothing while `stuck`.
struct Stuck {
  static inline std::uint16_t port = 0xFFFF;
  static std::uint16_t tx(std::uint16_t p, std::uint16_t queue, rte_mbuf** pkts, std::uint16_t n) {
    return p == port ? 0 : rte_eth_tx_burst(p, queue, pkts, n);
  }
};

// Worker 0 sends for worker 1 on planes 0 and 2. That plane 0 takes nothing is no reason to keep plane 2's.
TEST(HandOver, APlaneThatTakesNothingHoldsBackOnlyItsOwn) {
  Wiring s = two_workers(4);
  s.attr.timeout = 18;
  s.nic.handover_ring = 64;
  s.tx_tap = {Stuck::tx, nullptr};
  TwoNics net(s);
  Host& a = net.host[0];
  Stuck::port = net.port(0, 0);
  net.run([] { return false; }, 10);
  ASSERT_EQ(TwoNics::post(a, TwoNics::write(a, net.host[1], 1, 0, 1 << 20)), PostStatus::kOk);
  net.run([] { return false; }, 500);
  const std::uint64_t sent = a.nic->snapshot(0).ports[2].tx_pkts;
  net.run([] { return false; }, 500);
  const std::uint64_t then = a.nic->snapshot(0).ports[2].tx_pkts;
  Stuck::port = 0xFFFF;
  EXPECT_GT(sent, 100U);
  EXPECT_GE(then, sent);
}

struct Links {
  static inline std::uint16_t down = 0xFFFF;
  static bool up(std::uint16_t port) { return port != down; }
};

TEST(HandOver, ForADeadLinkNothingIsKept) {
  Wiring s = two_workers(1);
  s.tx_tap = {Stuck::tx, nullptr};
  s.nic.link_poll_interval = microseconds(10);
  s.link_up = Links::up;
  s.attr.timeout = 18;
  TwoNics net(s);
  Host& a = net.host[0];
  Stuck::port = net.port(0, 0);
  ASSERT_EQ(TwoNics::post(a, TwoNics::write(a, net.host[1], 1, 0, 500'000)), PostStatus::kOk);
  net.run([] { return false; }, 100);
  Links::down = net.port(0, 0);
  net.run([] { return false; }, 100);
  Links::down = Stuck::port = 0xFFFF;
  const WorkerStats owner = a.nic->snapshot(0);
  const WorkerStats home = a.nic->snapshot(1);
  EXPECT_EQ(owner.ports[0].tx_pkts, 0U);
  EXPECT_GT(owner.ports[0].tx_abandoned, 100U);
  EXPECT_EQ(owner.ports[0].tx_abandoned + home.ports[0].tx_abandoned,
            home.ports[0].tx_data_pkts + home.ports[0].tx_control_pkts);
}

TEST(HandOver, OneFrameIsCapturedOnce) {
  Wiring s = two_workers(1);
  s.nic.capture_ring = 256;
  TwoNics net(s);
  Host& a = net.host[0];
  ASSERT_EQ(TwoNics::post(a, TwoNics::write(a, net.host[1], 1, 0, 4096)), PostStatus::kOk);
  std::vector<Completion> done;
  ASSERT_TRUE(net.run([&] { return net.drain_cq(a, done) != 0; }, 1'000));
  std::size_t frames = 0;
  std::vector<CaptureRecord> some(256);
  for (unsigned w = 0; w < 2; ++w) {
    const std::size_t n = a.nic->capture(w)->poll(some);
    for (std::size_t i = 0; i < n; ++i) frames += some[i].outbound ? 1 : 0;
  }
  EXPECT_EQ(frames, a.nic->snapshot(0).ports[0].tx_pkts);
}

TEST(HandOver, QueuesThatNobodyWouldPollAreRefused) {
  ring::RingPairConfig rings;
  rings.planes = 1;
  rings.rx_queues = 2;
  const auto pair = ring::RingPair::create(rings);
  ASSERT_TRUE(pair);
  for (const std::uint16_t named : {std::uint16_t{1}, std::uint16_t{2}}) {
    NicConfig c;
    PlanePort port;
    port.dpdk_port = (*pair)->port(0, 0);
    port.rx_queues = port.tx_queues = named;
    port.mac.bytes = {2, 0, 0, 0, 0, 1};
    port.ips = {*IpAddress::parse("10.0.0.1")};
    c.planes.push_back(port);
    const auto nic = Nic::create(c);  // one worker
    ASSERT_FALSE(nic) << named;
    EXPECT_NE(nic.error().message.find("2 RX queues are set up"), std::string::npos) << nic.error().message;
  }
}

}  // namespace
}  // namespace mrc::nic
