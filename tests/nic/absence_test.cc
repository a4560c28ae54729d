// SPDX-License-Identifier: BSD-3-Clause
// Real time: a host that is away in the midst of a poll. What it fetched then had arrived long before, or
// while it was away, and nobody can tell: no RTT may come out of it that is smaller than the path's (D18),
// and no deadline may count it (D13).
#include "nic/clock.h"
#include "two_nics.h"

namespace mrc::nic {
namespace {

constexpr Duration kPath = microseconds(50);  // each packet takes at least as long to its answer
constexpr Duration kAway = milliseconds(1);   // over poll_gap_min

void spin(Duration d) {
  const TscClock clock;
  const Time end = clock.now() + d;
  while (clock.now() < end) {
  }
}

/// Host 0 is away before or behind the burst of one of its ports; its peer answers meanwhile.
struct Away {
  static inline TwoNics* net = nullptr;
  static inline unsigned plane = 0;
  static inline bool before = true;
  static inline Duration how_long{};
  static void leave() {
    spin(how_long);
    for (int i = 0; i < 4; ++i) net->host[1].w().poll();
  }
  static std::uint16_t rx(std::uint16_t port, std::uint16_t queue, rte_mbuf** pkts, std::uint16_t n) {
    const bool here = net != nullptr && port == net->port(0, plane);
    if (here && before) leave();
    const std::uint16_t got = rte_eth_rx_burst(port, queue, pkts, n);
    if (here && !before) leave();
    return got;
  }
};

/// One packet and its answer, fetched by a poll of host 0 in which it was away for `away`. Returns the
/// absences that this poll noticed.
std::uint64_t round_trip(TwoNics& net, Duration away) {
  Host& a = net.host[0];
  EXPECT_EQ(TwoNics::post(a, TwoNics::write(a, net.host[1], 1, 0, 1024)), PostStatus::kOk);
  a.w().poll();
  if (away == Duration{}) {
    spin(kPath);
    net.host[1].w().poll();
  }
  const std::uint64_t gaps = a.w().stats().poll_gaps;
  Away::net = away == Duration{} ? nullptr : &net;
  Away::how_long = away;
  a.w().poll();
  Away::net = nullptr;
  const std::uint64_t noticed = a.w().stats().poll_gaps - gaps;
  std::vector<transport::Completion> done;
  for (int i = 0; done.empty() && i < 1'000'000; ++i) {
    net.host[1].w().poll();
    a.w().poll();
    net.drain_cq(a, done);
  }
  EXPECT_EQ(done.size(), 1U);
  return noticed;
}

TEST(Absence, InTheMidstOfAPollMakesNoRttSmallerThanThePath) {
  for (const unsigned planes : {1U, 2U}) {
    for (const bool before : {true, false}) {
      for (const Duration away : {microseconds(60), kAway}) {
        SCOPED_TRACE(std::to_string(planes) + (before ? " planes, before" : " planes, behind") +
                     " the burst, ns " + std::to_string(away.ns));
        Wiring s;
        s.planes = planes;
        s.evs = planes;
        s.real_time = true;
        s.rx_tap = {Away::rx, nullptr};
        s.attr.path_mtu = 1024;
        s.policy.base_rtt = nanoseconds(100);
        TwoNics net(s);
        Away::plane = 0;
        Away::before = before;
        const transport::Qp& qp = *net.host[0].w().qp(net.host[0].qpn);
        for (int i = 0; i < 8; ++i) round_trip(net, {});
        ASSERT_GE(qp.base_rtt(), kPath);
        for (int i = 0; i < 8; ++i) round_trip(net, away);
        EXPECT_GE(qp.base_rtt(), kPath);
      }
    }
  }
}

TEST(Absence, InTheMidstOfAPollIsNoticed) {
  Wiring s;
  s.planes = 1;
  s.real_time = true;
  s.rx_tap = {Away::rx, nullptr};
  TwoNics net(s);
  Away::plane = 0;
  Away::before = true;
  std::uint64_t noticed = 0;
  int away = 0;
  // Not each: after an absence, the machine's own ones too, the next counts when the host was here for as
  // long.
  for (; away < 200 && noticed < 5; ++away) {
    const TscClock clock;
    for (const Time end = clock.now() + kAway * 2; clock.now() < end;) net.host[0].w().poll();
    noticed += round_trip(net, kAway);
  }
  EXPECT_GE(noticed, 5U) << "of " << away;
}

}  // namespace
}  // namespace mrc::nic
