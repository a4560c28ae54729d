// SPDX-License-Identifier: BSD-3-Clause
// A host that is away between two of its ports finds more at the later one. That is no hole in what the peer
// sent.
#include <chrono>
#include <thread>

#include "two_nics.h"

namespace mrc::nic {
namespace {

/// Host 1 is away behind the burst of its first port, and host 0 goes on sending.
struct Away {
  static inline TwoNics* net = nullptr;
  static inline int times = 0;
  static std::uint16_t rx(std::uint16_t port, std::uint16_t queue, rte_mbuf** pkts, std::uint16_t n) {
    const std::uint16_t got = rte_eth_rx_burst(port, queue, pkts, n);
    if (net == nullptr || times == 0 || port != net->port(1, 0) || got == 0) return got;
    --times;
    for (int i = 0; i < 3; ++i) {  // longer than any reordering that a sender allows for
      std::this_thread::sleep_for(std::chrono::microseconds(200));
      net->host[0].w().poll();
    }
    return got;
  }
};

TEST(Skew, AnAbsenceBetweenTwoPortsIsNoLoss) {
  Wiring s;
  s.planes = 2;
  s.real_time = true;
  s.attr.path_mtu = 1024;
  s.policy.base_rtt = microseconds(20);
  s.nic.tx_budget_pkts = 16;  // eight a plane an iteration: what arrived meanwhile has room in one burst
  s.rx_tap = {nullptr, Away::rx};
  TwoNics net(s);
  Host& a = net.host[0];
  Host& b = net.host[1];
  constexpr int kMessages = 40;
  for (int i = 0; i < kMessages; ++i) {
    ASSERT_EQ(TwoNics::post(a, TwoNics::write(a, b, static_cast<std::uint64_t>(i), 0, 65536)),
              PostStatus::kOk);
    Away::net = &net;
    Away::times = 1;
    std::vector<transport::Completion> done;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (done.empty() && std::chrono::steady_clock::now() < end) {
      a.w().poll();
      b.w().poll();
      net.drain_cq(a, done);
    }
    Away::net = nullptr;
    ASSERT_EQ(done.size(), 1U);
    ASSERT_EQ(done[0].status, transport::WcStatus::kSuccess);
    ASSERT_EQ(Away::times, 0);
  }
  const auto qp = a.nic->query_qp(a.qpn);
  EXPECT_EQ(qp->counters.tx_rtx, 0U);
  EXPECT_EQ(qp->ev_counters.planes_down, 0U);
}

}  // namespace
}  // namespace mrc::nic
