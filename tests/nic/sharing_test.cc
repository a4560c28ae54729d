// SPDX-License-Identifier: BSD-3-Clause
// QPs that share a congestion controller: what one gives back, the others may use (D7).
#include <algorithm>

#include "two_nics.h"

namespace mrc::nic {
namespace {

using transport::Completion;
using transport::WcStatus;

struct Sharing : ::testing::Test {
  static Wiring wiring() {
    Wiring s;
    s.attr.path_mtu = 1024;
    s.attr.timeout = 20;  // no timer shall be what wakes a QP
    return s;
  }
  /// One message a QP, posted to all of them at once. Returns completions with success.
  static std::size_t send_on_each(TwoNics& net, const std::vector<std::uint32_t>& qpns, std::uint32_t bytes,
                                  int limit = 20'000) {
    Host& a = net.host[0];
    for (const std::uint32_t qpn : qpns) {
      EXPECT_EQ(a.w().post_send(qpn, a.source_keys.lkey, TwoNics::write(a, net.host[1], qpn, 0, bytes)),
                PostStatus::kOk);
    }
    std::size_t good = 0;
    net.run(
        [&] {
          for (const std::uint32_t qpn : qpns) {
            std::array<Completion, 4> some;
            const std::size_t n = a.w().poll_cq(qpn, some);
            for (std::size_t i = 0; i < n; ++i) good += some[i].status == WcStatus::kSuccess ? 1 : 0;
          }
          return good == qpns.size();
        },
        limit);
    return good;
  }
};

TEST_F(Sharing, AllFinishThroughOneSmallWindow) {
  TwoNics net(wiring());
  const auto cc = std::make_shared<cc::Qpcc>(cc::FixedWindow(65536));
  std::vector<std::uint32_t> qpns;
  for (int i = 0; i < 64; ++i) qpns.push_back(net.add_pair(cc)[0]);
  EXPECT_EQ(send_on_each(net, qpns, 50'000), 64U);
  for (const std::uint32_t qpn : qpns) {
    EXPECT_EQ(net.host[0].nic->query_qp(qpn)->counters.timer_expiries, 0U);
  }
}

TEST_F(Sharing, NoneOvertakesThoseThatWait) {
  TwoNics net(wiring());
  const auto cc = std::make_shared<cc::Qpcc>(cc::FixedWindow(16384));
  std::vector<std::uint32_t> qpns;
  for (int i = 0; i < 8; ++i) qpns.push_back(net.add_pair(cc)[0]);
  Host& a = net.host[0];
  for (const std::uint32_t qpn : qpns) {
    ASSERT_EQ(a.w().post_send(qpn, a.source_keys.lkey, TwoNics::write(a, net.host[1], 0, 0, 1 << 20)),
              PostStatus::kOk);
  }
  net.run([] { return false; }, 1'000);
  std::vector<std::uint64_t> sent;
  for (const std::uint32_t qpn : qpns) sent.push_back(a.nic->query_qp(qpn)->counters.tx_payload_bytes);
  const auto [low, high] = std::minmax_element(sent.begin(), sent.end());
  EXPECT_GT(*low, 100'000U);
  EXPECT_LT(*high, *low * 2);
}

TEST_F(Sharing, ASiblingThatLeavesGivesItsShareToTheOthers) {
  for (const bool destroy : {true, false}) {
    TwoNics net(wiring());
    Host& a = net.host[0];
    const auto cc = std::make_shared<cc::Qpcc>(cc::FixedWindow(65536));
    const std::uint32_t first = net.add_pair(cc)[0];
    const std::uint32_t second = net.add_pair(cc)[0];
    ASSERT_EQ(a.w().post_send(first, a.source_keys.lkey, TwoNics::write(a, net.host[1], 1, 0, 1 << 20)),
              PostStatus::kOk);
    net.now = net.now + microseconds(2);
    a.w().poll_at(net.now);  // takes the whole window; host 1 has seen nothing
    net.now = net.now + microseconds(2);
    a.w().poll_at(net.now);
    ASSERT_GE(cc->inflight_bytes(), 65536);
    ASSERT_EQ(a.w().post_send(second, a.source_keys.lkey, TwoNics::write(a, net.host[1], 2, 0, 1000)),
              PostStatus::kOk);
    net.now = net.now + microseconds(2);
    a.w().poll_at(net.now);
    EXPECT_EQ(a.nic->query_qp(second)->counters.tx_new, 0U);
    if (destroy) {
      ASSERT_TRUE(a.nic->destroy_qp(first));
    } else {
      ASSERT_TRUE(a.nic->modify_qp(first, transport::QpState::kError, {}, 0));
    }
    std::array<Completion, 4> some;
    EXPECT_TRUE(net.run([&] { return a.w().poll_cq(second, some) == 1; }, 1'000)) << destroy;
    EXPECT_EQ(some[0].status, WcStatus::kSuccess);
  }
}

TEST_F(Sharing, OneControllerLivesOnOneWorker) {
  Wiring s = wiring();
  s.workers = 2;
  TwoNics net(s);
  QpParams params;
  params.evs = net.evs();
  params.cc = std::make_shared<cc::Qpcc>(cc::FixedWindow(65536));
  ASSERT_TRUE(net.host[0].nic->create_qp(0, params));
  EXPECT_TRUE(net.host[0].nic->create_qp(0, params));
  const auto other = net.host[0].nic->create_qp(1, params);
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().message.find("worker 0"), std::string::npos) << other.error().message;
}

TEST_F(Sharing, AQpThatIsRefusedClaimsNoController) {
  Wiring s;
  s.workers = 2;
  s.nic.max_qps_per_worker = 1;
  TwoNics net(s);  // its QP is on worker 1
  QpParams params;
  params.evs = net.evs();
  params.cc = std::make_shared<cc::Qpcc>(cc::FixedWindow(1 << 20));
  const auto full = net.host[0].nic->create_qp(1, params);
  ASSERT_FALSE(full);
  EXPECT_NE(full.error().message.find("are in use"), std::string::npos) << full.error().message;
  const auto other = net.host[0].nic->create_qp(0, params);
  EXPECT_TRUE(other) << other.error().message;
}

}  // namespace
}  // namespace mrc::nic
