// SPDX-License-Identifier: BSD-3-Clause
// Full queues, lost links, absences: nothing is encoded twice, nothing leaks, nothing is retransmitted
// without a reason.
#include <algorithm>

#include "two_nics.h"

namespace mrc::nic {
namespace {

using transport::Completion;
using transport::WcStatus;

bool complete_all(TwoNics& net, Host& from, Host& to, std::uint32_t count, std::uint32_t bytes,
                  Duration step = microseconds(2)) {
  std::vector<Completion> done;
  std::uint32_t posted = 0;
  const bool ok = net.run(
      [&] {
        while (posted < count &&
               TwoNics::post(from, TwoNics::write(from, to, posted, std::size_t{posted} * bytes, bytes)) ==
                   PostStatus::kOk) {
          ++posted;
        }
        net.drain_cq(from, done);
        return done.size() == count;
      },
      200'000, step);
  const auto end = static_cast<std::ptrdiff_t>(std::size_t{count} * bytes);
  return ok &&
         std::all_of(done.begin(), done.end(),
                     [](const Completion& c) { return c.status == WcStatus::kSuccess; }) &&
         std::equal(from.source.begin(), from.source.begin() + end, to.target.begin());
}

struct Narrow {  // a port that takes at most one packet a burst, and none every third time
  static inline std::uint64_t calls = 0;
  static std::uint16_t tx(std::uint16_t port, std::uint16_t queue, rte_mbuf** pkts, std::uint16_t n) {
    if (++calls % 3 == 0 || n == 0) return 0;
    return rte_eth_tx_burst(port, queue, pkts, 1);
  }
};

TEST(Pressure, ShortBurstsHoldBackTheTransportAndLoseNothing) {
  Wiring s;
  s.attr.path_mtu = 1024;
  s.tx_tap = {Narrow::tx, Narrow::tx};
  s.policy.base_rtt = microseconds(200);  // a narrow port reorders; that is no loss
  TwoNics net(s);
  EXPECT_TRUE(complete_all(net, net.host[0], net.host[1], 8, 100'000));
  const auto q = net.host[0].nic->query_qp(net.host[0].qpn);
  const WorkerStats stats = net.host[0].nic->snapshot(0);
  std::uint64_t sent = 0;
  std::uint64_t staged = 0;
  std::uint64_t shorts = 0;
  for (const PortStats& p : stats.ports) {
    sent += p.tx_pkts;
    staged += p.tx_data_pkts + p.tx_control_pkts;
    shorts += p.tx_short_bursts;
  }
  EXPECT_GT(shorts, 100U);
  EXPECT_EQ(sent, staged) << "each packet is encoded once and leaves once";
  EXPECT_EQ(q->counters.tx_new, 8U * 98);
  TwoNics::expect_conserved(net.host[1]);
}

TEST(Pressure, FewPayloadMbufsAreWaitedFor) {
  Wiring s;
  s.attr.path_mtu = 1024;
  s.nic.payload_mbufs = 64;
  TwoNics net(s);
  EXPECT_TRUE(complete_all(net, net.host[0], net.host[1], 8, 100'000));
}

TEST(Pressure, TinyRingsAreEnough) {
  Wiring s;
  s.attr.path_mtu = 256;
  s.ring_depth = 16;
  TwoNics net(s);
  EXPECT_TRUE(complete_all(net, net.host[0], net.host[1], 4, 100'000));
}

TEST(Pressure, AnAbsenceMovesDeadlinesInsteadOfFiringThem) {
  Wiring s;
  s.attr.path_mtu = 1024;
  s.attr.timeout = 10;  // 1 ms
  TwoNics net(s);
  Host& a = net.host[0];
  ASSERT_EQ(TwoNics::post(a, TwoNics::write(a, net.host[1], 1, 0, 50'000)), PostStatus::kOk);
  net.now = net.now + microseconds(2);
  a.w().poll_at(net.now);          // sent; nobody has answered
  net.now = net.now + seconds(1);  // both hosts away for a thousand timeouts
  std::vector<Completion> done;
  ASSERT_TRUE(net.run([&] {
    net.drain_cq(a, done);
    return !done.empty();
  }));
  EXPECT_EQ(done[0].status, WcStatus::kSuccess);
  const auto q = a.nic->query_qp(a.qpn);
  EXPECT_EQ(q->counters.timer_expiries, 0U);
  EXPECT_EQ(q->counters.tx_rtx, 0U);
  EXPECT_EQ(a.nic->snapshot(0).poll_gaps, 1U);
}

TEST(Pressure, ASilentPeerEndsInRetryExceededNotInAHang) {
  Wiring s;
  s.attr.timeout = 4;  // 16 us
  s.attr.linear_cnt = 2;
  s.attr.exp_cnt = 2;
  TwoNics net(s);
  Host& a = net.host[0];
  ASSERT_EQ(TwoNics::post(a, TwoNics::write(a, net.host[1], 1, 0, 64)), PostStatus::kOk);
  std::vector<Completion> done;
  for (int i = 0; i < 2'000 && done.empty(); ++i) {
    net.now = net.now + microseconds(2);
    a.w().poll_at(net.now);  // host 1 is never polled
    net.drain_cq(a, done);
  }
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].status, WcStatus::kRetryExcErr);
}

/// A driver that fills its bursts from a pool, one that is empty for a while.
struct Starved {
  static inline rte_mempool* pool = nullptr;
  static std::uint16_t rx(std::uint16_t port, std::uint16_t queue, rte_mbuf** pkts, std::uint16_t n) {
    return rte_mempool_empty(pool) ? 0 : rte_eth_rx_burst(port, queue, pkts, n);
  }
};

// D13. The answers lie in the queues, and the driver has no mbuf to bring them in: that is no silence of the
// peer.
TEST(Pressure, AnEmptyRxPoolIsNoEmptyQueue) {
  Starved::pool = rte_pktmbuf_pool_create("starved", 1, 0, 0, 256, SOCKET_ID_ANY);
  ASSERT_NE(Starved::pool, nullptr);
  {
    Wiring s;
    s.attr.path_mtu = 1024;
    s.attr.timeout = 10;  // 1 ms
    s.rx_tap = {Starved::rx, nullptr};
    s.rx_pool = {Starved::pool, nullptr};
    TwoNics net(s);
    Host& a = net.host[0];
    rte_mbuf* last = rte_pktmbuf_alloc(Starved::pool);
    ASSERT_NE(last, nullptr);
    ASSERT_EQ(TwoNics::post(a, TwoNics::write(a, net.host[1], 1, 0, 50'000)), PostStatus::kOk);
    net.run([] { return false; }, 5'000);  // 10 ms
    EXPECT_EQ(a.nic->query_qp(a.qpn)->counters.timer_expiries, 0U);
    rte_pktmbuf_free(last);
    std::vector<Completion> done;
    ASSERT_TRUE(net.run([&] { return net.drain_cq(a, done) != 0; }));
    EXPECT_EQ(done[0].status, WcStatus::kSuccess);
    EXPECT_EQ(a.nic->query_qp(a.qpn)->counters.tx_rtx, 0U);
  }
  rte_mempool_free(Starved::pool);
}

struct Stop {  // a port that takes nothing for a while
  static inline std::uint16_t port = 0xFFFF;
  static std::uint16_t tx(std::uint16_t p, std::uint16_t queue, rte_mbuf** pkts, std::uint16_t n) {
    return p == port ? 0 : rte_eth_tx_burst(p, queue, pkts, n);
  }
};

// Three planes of the responder stand still while it owes more SACKs than there are control mbufs: what the
// transport owes is kept until one is free, so nothing has to be repaired by a timer.
TEST(Pressure, FewControlMbufsLoseNoAcknowledgement) {
  Wiring s;
  s.attr.path_mtu = 256;
  s.attr.timeout = 20;
  s.nic.control_mbufs = 64;
  s.planes = 1;
  s.evs = 4;
  s.tx_tap = {nullptr, Stop::tx};
  s.policy.sack_gen_threshold = 256;  // a SACK a packet
  s.policy.base_rtt = milliseconds(1);
  TwoNics net(s);
  std::vector<std::uint32_t> qpns{net.host[0].qpn};
  while (qpns.size() < 100) qpns.push_back(net.add_pair()[0]);
  Stop::port = net.port(1, 0);
  Host& a = net.host[0];
  for (const std::uint32_t qpn : qpns) {
    ASSERT_EQ(a.w().post_send(qpn, a.source_keys.lkey, TwoNics::write(a, net.host[1], 1, 0, 256)),
              PostStatus::kOk);
  }
  net.run([] { return false; }, 50);
  Stop::port = 0xFFFF;
  std::size_t done = 0;
  net.run(
      [&] {
        std::array<Completion, 4> some;
        for (const std::uint32_t qpn : qpns) done += a.w().poll_cq(qpn, some);
        return done == qpns.size();
      },
      400);
  EXPECT_EQ(done, qpns.size()) << "within less than a base RTT: no probe, no timer helped";
  EXPECT_EQ(net.host[1].nic->snapshot(0).control_dropped, 0U);
}

struct Link {
  static inline std::uint16_t dead_port = 0xFFFF;
  static bool up(std::uint16_t port) { return port != dead_port; }
  static std::uint16_t tx(std::uint16_t port, std::uint16_t queue, rte_mbuf** pkts, std::uint16_t n) {
    if (port != dead_port) return rte_eth_tx_burst(port, queue, pkts, n);
    rte_pktmbuf_free_bulk(pkts, n);  // a dead link swallows
    return n;
  }
};

TEST(Pressure, ALinkThatGoesDownCarriesNothingAndComesBack) {
  Wiring s;
  s.attr.path_mtu = 1024;
  s.attr.timeout = 8;
  s.nic.link_poll_interval = microseconds(10);
  s.tx_tap = {Link::tx, Link::tx};
  s.link_up = Link::up;
  Link::dead_port = 0xFFFF;
  TwoNics net(s);
  EXPECT_TRUE(complete_all(net, net.host[0], net.host[1], 2, 100'000));
  Link::dead_port = net.port(0, 2);
  net.run([] { return false; }, 20);
  const std::uint64_t before = net.host[0].nic->snapshot(0).ports[2].tx_data_pkts;
  EXPECT_TRUE(complete_all(net, net.host[0], net.host[1], 8, 100'000));
  EXPECT_EQ(net.host[0].nic->snapshot(0).ports[2].tx_data_pkts, before);
  Link::dead_port = 0xFFFF;
  net.run([] { return false; }, 20);
  EXPECT_TRUE(complete_all(net, net.host[0], net.host[1], 8, 100'000));
  EXPECT_GT(net.host[0].nic->snapshot(0).ports[2].tx_data_pkts, before + 100);
}

// D16, 6.5. The host of a responder that is short of room narrows the peer's windows, the one in packets and
// the one in bytes, while data flows; what may not be is refused with the reason.
TEST(Pressure, AResponderNarrowsItsPeersWindows) {
  Wiring s;
  s.attr.path_mtu = 1024;
  s.attr.dynamic_mpr = true;
  s.policy.receive_penalty = true;
  TwoNics net(s);
  Nic& nic = *net.host[1].nic;
  const std::uint32_t qpn = net.host[1].qpn;
  // How many packets the peer sends while nobody answers, of a message that has 1000.
  const auto sent_unanswered = [&] {
    Host& a = net.host[0];
    EXPECT_EQ(TwoNics::post(a, TwoNics::write(a, net.host[1], 1, 0, 1'000 * 1024)), PostStatus::kOk);
    for (int i = 0; i < 200; ++i) a.w().poll_at(net.now);
    const transport::Qp& qp = *a.w().qp(a.qpn);
    const std::int32_t sent = qp.max_psn_sent() - qp.unack_psn();
    std::vector<Completion> done;
    EXPECT_TRUE(net.run([&] { return net.drain_cq(a, done) != 0; }));
    return sent;
  };
  EXPECT_EQ(sent_unanswered(), 1'000);
  ASSERT_TRUE(nic.set_mpr_dest(qpn, 1));
  ASSERT_TRUE(nic.set_receive_occupancy(qpn, 75));
  EXPECT_TRUE(complete_all(net, net.host[0], net.host[1], 8, 100'000));
  EXPECT_EQ(sent_unanswered(), 128);
  EXPECT_EQ(net.host[1].w().qp(qpn)->mpr_dest(), 1);
  EXPECT_EQ(net.host[1].w().qp(qpn)->receive_penalty(), 127);
  ASSERT_TRUE(nic.set_receive_occupancy(qpn, 0));
  EXPECT_EQ(net.host[1].w().qp(qpn)->receive_penalty(), 0);
  ASSERT_TRUE(nic.set_mpr_dest(qpn, s.attr.mpr_dest));
  EXPECT_EQ(net.host[1].w().qp(qpn)->mpr_dest(), s.attr.mpr_dest);

  const auto refused = [](const Result<void>& r, const char* why) {
    return !r && r.error().message.find(why) != std::string::npos;
  };
  EXPECT_TRUE(refused(nic.set_mpr_dest(qpn, 0), "1 to 8"));
  EXPECT_TRUE(refused(nic.set_mpr_dest(qpn, 9), "1 to 8"));
  EXPECT_TRUE(refused(nic.set_receive_occupancy(qpn, 101), "100 percent"));
  EXPECT_FALSE(nic.set_mpr_dest(qpn + 1, 1));
  EXPECT_FALSE(nic.set_receive_occupancy(qpn + 1, 1));
  QpParams params;
  params.evs = net.evs();
  params.cc = std::make_shared<cc::Qpcc>(cc::FixedWindow::off());
  const auto fresh = nic.create_qp(net.host[1].worker, params);
  ASSERT_TRUE(fresh) << fresh.error().message;
  EXPECT_TRUE(refused(nic.set_mpr_dest(*fresh, 1), "connect it first"));
  EXPECT_TRUE(refused(nic.set_receive_occupancy(*fresh, 1), "connect it first"));
}

TEST(Pressure, WindowsAreNarrowedOnlyWhereThatWasAgreed) {
  TwoNics net(Wiring{});
  Nic& nic = *net.host[1].nic;
  EXPECT_FALSE(nic.set_mpr_dest(net.host[1].qpn, 1));
  EXPECT_FALSE(nic.set_receive_occupancy(net.host[1].qpn, 50));
}

}  // namespace
}  // namespace mrc::nic
