// SPDX-License-Identifier: BSD-3-Clause
// A peer outside of QPs (D19): what it is told of our ports goes as its QPs' data do, and what it told of its
// own is forgotten with its last QP.
#include <algorithm>
#include <set>
#include <vector>

#include "two_nics.h"

namespace mrc::nic {
namespace {

struct Links {
  static inline std::uint32_t down_ports = 0;  // bit per DPDK port
  static bool up(std::uint16_t port) { return (down_ports >> port & 1U) == 0; }
};

/// What the hosts sent, by what it was routed by: the UDP source port, or the outer destination of IPv6.
struct Seen {
  static inline std::set<std::vector<std::uint8_t>> routes;
  static std::vector<std::uint8_t> route_of(const rte_mbuf* m) {
    const auto* f = rte_pktmbuf_mtod(m, const std::uint8_t*);
    if (f[12] == 0x08) return {f + 34, f + 36};
    constexpr std::uint8_t kUdp = 17;
    return f[20] == kUdp ? std::vector<std::uint8_t>(f + 54, f + 56)
                         : std::vector<std::uint8_t>(f + 38, f + 54);
  }
  static std::uint16_t tx(std::uint16_t port, std::uint16_t queue, rte_mbuf** pkts, std::uint16_t n) {
    for (std::uint16_t i = 0; i < n; ++i) routes.insert(route_of(pkts[i]));
    return rte_eth_tx_burst(port, queue, pkts, n);
  }
};

std::vector<std::uint8_t> route_of(const path::EvEntry& e, path::EvFormat format) {
  if (path::is_srv6(format)) return {e.value.begin(), e.value.begin() + 16};
  return {static_cast<std::uint8_t>(e.udp_sport >> 8), static_cast<std::uint8_t>(e.udp_sport)};
}

Wiring with_links(path::EvFormat format = path::EvFormat::kUdp) {
  Links::down_ports = 0;
  Seen::routes.clear();
  Wiring s;
  s.format = format;
  s.ipv6 = format != path::EvFormat::kUdp;
  s.link_up = Links::up;
  s.nic.link_poll_interval = microseconds(10);
  return s;
}

/// The QP of `h` denies all EVs but `left`; returns their routes.
std::set<std::vector<std::uint8_t>> deny_all_but(TwoNics& net, unsigned h, path::EvFormat format,
                                                 const std::set<std::size_t>& left) {
  std::set<std::vector<std::uint8_t>> routes;
  const auto evs = net.evs();
  Host& host = net.host[h];
  for (std::size_t i = 0; i < evs->size(); ++i) {
    if (left.count(i) != 0) {
      routes.insert(route_of((*evs)[i], format));
    } else {
      EXPECT_TRUE(host.nic->set_ev_state(host.qpn, static_cast<path::EvIndex>(i), path::EvState::kDenied));
    }
  }
  return routes;
}

TEST(Peer, ReportsOfPortsAndTheirAnswersUseNoDeniedEv) {
  for (const auto format : {path::EvFormat::kUdp, path::EvFormat::kSrv6}) {
    for (const unsigned who : {0U, 1U}) {  // who tells, and who answers: a question in segments
      if (who == 1 && format == path::EvFormat::kUdp)
        continue;  // an answer keeps the question's entropy (C30)
      SCOPED_TRACE(std::to_string(static_cast<int>(format)) + (who == 0 ? " tells" : " answers"));
      Wiring s = with_links(format);
      s.tx_tap[who] = Seen::tx;
      TwoNics net(s);
      const auto allowed = deny_all_but(net, who, format, {4, 5, 6, 7});  // one a plane
      Seen::routes.clear();
      const std::uint64_t told = net.host[0].nic->snapshot(0).port_reports;
      for (int flap = 0; flap < 20; ++flap) {
        Links::down_ports = flap % 2 == 0 ? 1U << net.port(0, 2) : 0;
        net.run([] { return false; }, 200);
      }
      EXPECT_GE(net.host[0].nic->snapshot(0).port_reports - told, 20U);
      EXPECT_GE(Seen::routes.size(), 3U);
      EXPECT_TRUE(std::includes(allowed.begin(), allowed.end(), Seen::routes.begin(), Seen::routes.end()));
    }
  }
}

TEST(Peer, ControlPacketsInSegmentsUseNoDeniedEvEither) {
  Wiring s = with_links(path::EvFormat::kSrv6);
  s.tx_tap[1] = Seen::tx;
  TwoNics net(s);
  deny_all_but(net, 1, path::EvFormat::kSrv6, {});
  Seen::routes.clear();
  ASSERT_EQ(TwoNics::post(net.host[0], TwoNics::write(net.host[0], net.host[1], 1, 0, 20'000)),
            PostStatus::kOk);
  net.run([] { return false; }, 200);
  EXPECT_TRUE(Seen::routes.empty());
  EXPECT_GT(net.host[1].nic->snapshot(0).control_dropped, 0U);
}

// Two QPs with one peer, the second one routed by segments: reports go with the segments of its own EVs.
TEST(Peer, IsToldOverTheEvsOfTheQpWhoseAddressIsUsed) {
  Wiring s = with_links();
  s.ipv6 = true;
  s.tx_tap[0] = Seen::tx;
  TwoNics net(s);
  Host& a = net.host[0];
  constexpr unsigned kEvs = 8;
  std::vector<path::EvValue> values(kEvs);
  std::vector<std::uint8_t> ports(kEvs);
  for (unsigned i = 0; i < kEvs; ++i) {
    values[i][0] = 0xFC;
    values[i][15] = static_cast<std::uint8_t>(i + 1);
    ports[i] = static_cast<std::uint8_t>(i % 4);
  }
  auto table = path::EvTable::create(path::EvFormat::kSrv6, s.nic.ev_order, true, values, ports);
  ASSERT_TRUE(table) << table.error().message;
  QpParams params;
  params.evs = std::make_shared<const path::EvTable>(std::move(*table));
  const auto qpn = a.nic->create_qp(a.worker, params);
  ASSERT_TRUE(qpn) << qpn.error().message;
  transport::QpAttr attr;
  attr.dest_qpn = net.host[1].qpn;
  const auto connected = a.nic->connect_qp(*qpn, attr, net.host[1].planes);
  ASSERT_TRUE(connected) << connected.error().message;
  std::set<std::vector<std::uint8_t>> allowed;
  for (const path::EvEntry& e : params.evs->entries()) allowed.insert(route_of(e, path::EvFormat::kSrv6));
  const auto flap = [&] {
    Seen::routes.clear();
    for (int i = 0; i < 20; ++i) {
      Links::down_ports = i % 2 == 0 ? 1U << net.port(0, 2) : 0;
      net.run([] { return false; }, 200);
    }
    EXPECT_GE(Seen::routes.size(), 3U);
    return std::includes(allowed.begin(), allowed.end(), Seen::routes.begin(), Seen::routes.end());
  };
  EXPECT_TRUE(flap());
  // That QP ends, and the other one's address serves.
  ASSERT_TRUE(a.nic->destroy_qp(*qpn));
  allowed.clear();
  const auto evs = net.evs();
  for (const path::EvEntry& e : evs->entries()) allowed.insert(route_of(e, path::EvFormat::kUdp));
  EXPECT_TRUE(flap());
}

/// A QP of host `h` towards the other one's QP.
std::uint32_t connect_anew(TwoNics& net, unsigned h, std::uint32_t peer_qpn) {
  Host& host = net.host[h];
  QpParams params;
  params.evs = net.evs();
  const auto qpn = host.nic->create_qp(host.worker, params);
  EXPECT_TRUE(qpn) << qpn.error().message;
  transport::QpAttr attr;
  attr.dest_qpn = peer_qpn;
  EXPECT_TRUE(host.nic->connect_qp(*qpn, attr, net.host[1 - h].planes));
  return *qpn;
}

// Plane 2 of host 1 went down, and host 1 was started anew with all ports up: nobody says so.
TEST(Peer, WhatItSaidOfItsPortsEndsWithItsLastQp) {
  for (const bool reset : {false, true}) {
    SCOPED_TRACE(reset ? "reset" : "destroyed");
    Wiring s = with_links();
    TwoNics net(s);
    Host& a = net.host[0];
    const std::uint32_t second = connect_anew(net, 0, net.host[1].qpn);
    Links::down_ports = 1U << net.port(1, 2);
    net.run([] { return false; }, 2'500);
    ASSERT_FALSE(a.w().qp(a.qpn)->ev_set().port_usable(2));
    Links::down_ports = 0;
    ASSERT_TRUE(a.nic->destroy_qp(second));
    const std::uint32_t third = connect_anew(net, 0, net.host[1].qpn);
    EXPECT_FALSE(a.w().qp(third)->ev_set().port_usable(2)) << "another QP with that peer is alive";
    ASSERT_TRUE(a.nic->destroy_qp(third));
    if (reset) {
      ASSERT_TRUE(a.nic->modify_qp(a.qpn, transport::QpState::kReset, {}, 0, {}));
    } else {
      ASSERT_TRUE(a.nic->destroy_qp(a.qpn));
    }
    const std::uint32_t fourth = connect_anew(net, 0, net.host[1].qpn);
    EXPECT_TRUE(a.w().qp(fourth)->ev_set().port_usable(2));
  }
}

// Host 0 has QPs left with host 1 when that one starts anew and one more is made: it has to hear what its
// predecessor heard.
TEST(Peer, ThatIsMetAgainIsToldOfAPortThatIsDown) {
  Wiring s = with_links();
  TwoNics net(s);
  Host& b = net.host[1];
  Links::down_ports = 1U << net.port(0, 2);
  net.run([] { return false; }, 2'500);
  ASSERT_FALSE(b.w().qp(b.qpn)->ev_set().port_usable(2));
  ASSERT_TRUE(b.nic->destroy_qp(b.qpn));
  const std::uint32_t anew = connect_anew(net, 1, net.host[0].qpn);
  ASSERT_TRUE(b.w().qp(anew)->ev_set().port_usable(2));
  connect_anew(net, 0, anew);
  net.run([] { return false; }, 2'500);
  EXPECT_FALSE(b.w().qp(anew)->ev_set().port_usable(2));
  Links::down_ports = 0;
  net.run([] { return false; }, 2'500);
  EXPECT_TRUE(b.w().qp(anew)->ev_set().port_usable(2));
}

}  // namespace
}  // namespace mrc::nic
