// SPDX-License-Identifier: BSD-3-Clause
// Nobody answers, nothing is up, nobody polls: every request still ends.
#include <algorithm>

#include "two_nics.h"

namespace mrc::nic {
namespace {

using transport::Completion;
using transport::WcStatus;

struct Links {
  static inline std::uint32_t down_ports = 0;  // bit per DPDK port
  static bool up(std::uint16_t port) { return (down_ports >> port & 1U) == 0; }
};

Wiring short_timers() {
  Wiring s;
  s.attr.path_mtu = 1024;
  s.attr.timeout = 10;  // 1 ms
  s.attr.linear_cnt = 2;
  s.attr.exp_cnt = 2;
  s.nic.link_poll_interval = microseconds(10);
  return s;
}
/// Sum of the intervals of short_timers() (D13), and one more for rounding.
constexpr Duration kBudget = milliseconds(1 + 1 + 1 + 2 + 4 + 4);

/// Polls host 0 alone until its QP completes something, at most `limit` from now.
std::vector<Completion> poll_alone(TwoNics& net, std::uint32_t qpn, Duration step, Duration limit) {
  Host& a = net.host[0];
  std::vector<Completion> done;
  const Time end = net.now + limit;
  while (net.now < end && done.empty()) {
    net.now = net.now + step;
    a.w().poll_at(net.now);
    std::array<Completion, 4> some;
    const std::size_t n = a.w().poll_cq(qpn, some);
    done.insert(done.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(n));
  }
  return done;
}

TEST(Silence, APostWhileAllPlanesAreDownEnds) {
  Links::down_ports = 0;
  Wiring s = short_timers();
  s.link_up = Links::up;
  TwoNics net(s);
  Host& a = net.host[0];
  Links::down_ports = ~0U;
  net.run([] { return false; }, 20);
  ASSERT_EQ(TwoNics::post(a, TwoNics::write(a, net.host[1], 1, 0, 5000)), PostStatus::kOk);
  const auto done = poll_alone(net, a.qpn, microseconds(2), kBudget * 2);
  Links::down_ports = 0;
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].status, WcStatus::kRetryExcErr);
  EXPECT_EQ(a.nic->query_qp(a.qpn)->counters.tx_new, 0U);
}

TEST(Silence, APostWhileAllPlanesAreDownIsSentWhenOneComesBack) {
  Links::down_ports = 0;
  Wiring s = short_timers();
  s.link_up = Links::up;
  TwoNics net(s);
  Host& a = net.host[0];
  Links::down_ports = ~0U;
  net.run([] { return false; }, 20);
  ASSERT_EQ(TwoNics::post(a, TwoNics::write(a, net.host[1], 1, 0, 5000)), PostStatus::kOk);
  net.run([] { return false; }, 200);
  Links::down_ports = 0;
  std::vector<Completion> done;
  ASSERT_TRUE(net.run([&] { return net.drain_cq(a, done) != 0; }, 2'000));
  EXPECT_EQ(done[0].status, WcStatus::kSuccess);
}

struct Stopped {  // a peer that takes nothing more: its rings are full, the links are up
  static inline bool on = false;
  static std::uint16_t tx(std::uint16_t port, std::uint16_t queue, rte_mbuf** pkts, std::uint16_t n) {
    return on ? std::uint16_t{0} : rte_eth_tx_burst(port, queue, pkts, n);
  }
};

TEST(Silence, PostsBehindPortsThatStayFullEndAsWell) {
  Links::down_ports = 0;
  Stopped::on = false;
  Wiring s = short_timers();
  s.tx_tap = {Stopped::tx, nullptr};
  TwoNics net(s);
  Host& a = net.host[0];
  const std::uint32_t second = net.add_pair()[0];
  Stopped::on = true;
  ASSERT_EQ(TwoNics::post(a, TwoNics::write(a, net.host[1], 1, 0, 1 << 20)), PostStatus::kOk);
  std::vector<Completion> done;
  ASSERT_TRUE(net.run([&] { return net.drain_cq(a, done) != 0; }));
  EXPECT_EQ(done[0].status, WcStatus::kRetryExcErr);
  // All stages are full of the first QP's packets.
  ASSERT_EQ(a.w().post_send(second, a.source_keys.lkey, TwoNics::write(a, net.host[1], 2, 0, 64)),
            PostStatus::kOk);
  std::array<Completion, 1> other;
  ASSERT_TRUE(net.run([&] { return a.w().poll_cq(second, other) != 0; })) << "it waits for ever";
  EXPECT_EQ(other[0].wr_id, 2U);
  EXPECT_EQ(other[0].status, WcStatus::kRetryExcErr);
  Stopped::on = false;
}

TEST(Silence, AQpMadeWhileAPlaneIsDownKnowsIt) {
  Links::down_ports = 0;
  Wiring s = short_timers();
  s.link_up = Links::up;
  TwoNics net(s);
  Links::down_ports = 1U << net.port(0, 1) | 1U << net.port(0, 2) | 1U << net.port(0, 3);
  net.run([] { return false; }, 20);
  const std::uint32_t qpn = net.add_pair()[0];
  const transport::Qp* qp = net.host[0].w().qp(qpn);
  Links::down_ports = 0;
  ASSERT_NE(qp, nullptr);
  EXPECT_TRUE(qp->ev_set().port_usable(0));
  for (unsigned p = 1; p < 4; ++p) EXPECT_FALSE(qp->ev_set().port_usable(static_cast<std::uint8_t>(p)));
}

// A report goes on as its QPs' data do, so in segments where they are routed by segments; and so does its
// answer, without which it would be said again every millisecond (D19).
TEST(Silence, APeersPortThatIsDownIsToldOfInEveryFormat) {
  for (const auto format :
       {path::EvFormat::kUdp, path::EvFormat::kStev, path::EvFormat::kSrv6, path::EvFormat::kSrv6Srh}) {
    SCOPED_TRACE(static_cast<int>(format));
    Links::down_ports = 0;
    Wiring s = short_timers();
    s.link_up = Links::up;
    s.format = format;
    s.ipv6 = format != path::EvFormat::kUdp;
    TwoNics net(s);
    net.run([] { return false; }, 100);
    const std::uint64_t told = net.host[1].nic->snapshot(0).port_reports;
    const transport::Qp* qp = net.host[0].w().qp(net.host[0].qpn);
    ASSERT_NE(qp, nullptr);
    Links::down_ports = 1U << net.port(1, 2);
    net.run([] { return false; }, 2'500);  // 5 ms
    for (unsigned p = 0; p < 4; ++p) {
      EXPECT_EQ(qp->ev_set().port_usable(static_cast<std::uint8_t>(p)), p != 2) << "plane " << p;
    }
    EXPECT_LE(net.host[1].nic->snapshot(0).port_reports - told, 2U) << "nobody answered";
    Links::down_ports = 0;
    net.run([] { return false; }, 2'500);
    EXPECT_TRUE(qp->ev_set().port_usable(2));
    TwoNics::expect_conserved(net.host[0]);
    EXPECT_EQ(net.host[0].nic->snapshot(0).drops.total(), 0U);
  }
}

// The ends of a QP are connected one after the other. What the first tells of its ports before the second
// knows it is dropped with a reason, not answered, and so said again (D19).
TEST(Silence, APortThatIsDownBeforeThePeerIsConnectedIsToldOfAfterwards) {
  Links::down_ports = 0;
  Wiring s = short_timers();
  s.link_up = Links::up;
  s.half_way = [](TwoNics& net) {
    Links::down_ports = 1U << net.port(0, 2);
    net.run([] { return false; }, 2'500);  // 5 ms
    EXPECT_GE(net.host[0].nic->snapshot(0).port_reports, 4U) << "an answer ended it";
    EXPECT_GE(net.host[1].nic->snapshot(0).drops[wire::DropReason::kUnknownQp], 4U);
    EXPECT_EQ(net.host[1].nic->snapshot(0).endpoint, 0U) << "a stranger was answered";
  };
  TwoNics net(s);
  const std::uint64_t told = net.host[0].nic->snapshot(0).port_reports;
  net.run([] { return false; }, 2'500);
  const transport::Qp* qp = net.host[1].w().qp(net.host[1].qpn);
  ASSERT_NE(qp, nullptr);
  for (unsigned p = 0; p < 4; ++p)
    EXPECT_EQ(qp->ev_set().port_usable(static_cast<std::uint8_t>(p)), p != 2) << "plane " << p;
  EXPECT_LE(net.host[0].nic->snapshot(0).port_reports - told, 2U) << "nobody answered";
  Links::down_ports = 0;
  net.run([] { return false; }, 2'500);
  EXPECT_TRUE(qp->ev_set().port_usable(2));
  for (const Host& h : net.host) TwoNics::expect_conserved(h);
}

TEST(Silence, APollEveryMillisecondStillLetsTimePass) {
  TwoNics net(short_timers());
  Host& a = net.host[0];
  ASSERT_EQ(TwoNics::post(a, TwoNics::write(a, net.host[1], 1, 0, 64)), PostStatus::kOk);
  const auto done = poll_alone(net, a.qpn, milliseconds(1), kBudget * 2 + milliseconds(2));
  ASSERT_EQ(done.size(), 1U) << "all timers stood still";
  EXPECT_EQ(done[0].status, WcStatus::kRetryExcErr);
}

/// Plane 0 of host 0 takes nothing, though its link is up.
struct Stuck {
  static inline std::uint16_t port = 0xFFFF;
  static std::uint16_t tx(std::uint16_t p, std::uint16_t queue, rte_mbuf** pkts, std::uint16_t n) {
    return p == port ? 0 : rte_eth_tx_burst(p, queue, pkts, n);
  }
};

// Each of 200 QPs has probes that are due for a plane that takes none; all of their timers end nevertheless.
TEST(Silence, ManyQpsWithProbesThatCanNotLeaveAllEnd) {
  Wiring s = short_timers();
  s.tx_tap = {Stuck::tx, Stuck::tx};
  s.limits.max_send_wr = 4;
  s.limits.max_mpr = s.limits.max_mpr_dest = s.attr.mpr = s.attr.mpr_dest = 1;
  s.evs = 8;
  TwoNics net(s, 65536);
  Host& a = net.host[0];
  std::vector<std::uint32_t> qpns;
  for (int i = 0; i < 200; ++i) qpns.push_back(net.add_pair()[0]);
  for (const std::uint32_t qpn : qpns) {
    ASSERT_EQ(a.w().post_send(qpn, a.source_keys.lkey, TwoNics::write(a, net.host[1], 1, 0, 20'000)),
              PostStatus::kOk);
  }
  net.now = net.now + microseconds(2);
  Stuck::port = net.port(0, 0);
  std::size_t ended = 0;
  const Time end = net.now + kBudget * 3;
  while (net.now < end && ended < qpns.size()) {
    net.now = net.now + microseconds(20);
    a.w().poll_at(net.now);  // host 1 never answers
    for (const std::uint32_t qpn : qpns) {
      std::array<Completion, 4> some;
      ended += a.w().poll_cq(qpn, some);
    }
  }
  Stuck::port = 0xFFFF;
  EXPECT_EQ(ended, qpns.size());
}

/// Congestion everywhere: every packet that comes is marked, so each Write has a SACK of its own (3.5).
struct Marked {
  static std::uint16_t rx(std::uint16_t port, std::uint16_t queue, rte_mbuf** pkts, std::uint16_t n) {
    const std::uint16_t got = rte_eth_rx_burst(port, queue, pkts, n);
    for (std::uint16_t i = 0; i < got; ++i)
      *rte_pktmbuf_mtod_offset(pkts[i], std::uint8_t*, 15) |= 0x30;  // IPv6
    return got;
  }
};

// Answers that wait for a port which takes nothing any more leave over others after a millisecond (D5).
TEST(Silence, AnswersLeaveAPortThatTakesNothing) {
  Wiring s = short_timers();
  s.ipv6 = true;
  s.tx_tap = {nullptr, Stuck::tx};
  s.rx_tap = {nullptr, Marked::rx};
  TwoNics net(s);
  Host& a = net.host[0];
  const transport::Qp& answers = *net.host[1].w().qp(net.host[1].qpn);
  Stuck::port = net.port(1, 0);
  // 75 answers or so for that plane, and 32 find a place on its port.
  ASSERT_EQ(TwoNics::post(a, TwoNics::write(a, net.host[1], 1, 0, 300 * 1024)), PostStatus::kOk);
  EXPECT_TRUE(net.run([&] { return answers.wake().control_ready; }, 200));
  EXPECT_TRUE(net.run([&] { return !answers.wake().control_ready; }, 2'000)) << "they wait for ever";
  std::vector<Completion> done;
  EXPECT_TRUE(net.run([&] { return net.drain_cq(a, done) != 0; }, 2'000));
  Stuck::port = 0xFFFF;
}

}  // namespace
}  // namespace mrc::nic
