// SPDX-License-Identifier: BSD-3-Clause
// Real bytes from one application's memory to another's, through everything but a wire.
#include <algorithm>
#include <numeric>

#include "two_nics.h"

namespace mrc::nic {
namespace {

using transport::Completion;
using transport::WcStatus;

struct Tap {  // drops every nth packet of a burst; one per direction, plain functions as the ports want them
  static inline std::uint64_t every = 0;
  static inline std::uint64_t seen = 0;
  static inline std::uint64_t dropped = 0;
  static std::uint16_t tx(std::uint16_t port, std::uint16_t queue, rte_mbuf** pkts, std::uint16_t n);
};

std::uint16_t Tap::tx(std::uint16_t port, std::uint16_t queue, rte_mbuf** pkts, std::uint16_t n) {
  std::uint16_t sent = 0;
  for (std::uint16_t i = 0; i < n; ++i) {
    if (++seen % every == 0) {
      rte_pktmbuf_free(pkts[i]);
      ++dropped;
      ++sent;
    } else if (rte_eth_tx_burst(port, queue, &pkts[i], 1) == 1) {
      ++sent;
    } else {
      break;
    }
  }
  return sent;
}

/// Posts `count` writes of `bytes` at consecutive offsets and runs until all have completed well.
void transfer(TwoNics& net, Host& from, Host& to, std::uint32_t count, std::uint32_t bytes) {
  std::vector<Completion> done;
  std::uint32_t posted = 0;
  const bool finished = net.run([&] {
    while (posted < count && net.post(from, net.write(from, to, posted, std::size_t{posted} * bytes,
                                                      bytes)) == PostStatus::kOk) {
      ++posted;
    }
    net.drain_cq(from, done);
    return done.size() == count;
  });
  ASSERT_TRUE(finished) << done.size() << " of " << count << " completed, " << posted << " posted";
  for (std::uint32_t i = 0; i < count; ++i) {
    EXPECT_EQ(done[i].wr_id, i);
    EXPECT_EQ(done[i].status, WcStatus::kSuccess);
  }
  const auto end = static_cast<std::ptrdiff_t>(std::size_t{count} * bytes);
  EXPECT_TRUE(std::equal(from.source.begin(), from.source.begin() + end, to.target.begin()));
  EXPECT_TRUE(std::all_of(to.target.begin() + end, to.target.end(), [](std::uint8_t b) { return b == 0xEE; }))
      << "bytes beyond the last message were touched";
}

struct Shape {
  bool ipv6;
  std::uint16_t pmtu;
  std::uint32_t message_bytes;
  path::EvFormat format = path::EvFormat::kUdp;
};
class Transfer : public ::testing::TestWithParam<Shape> {};

TEST_P(Transfer, EveryByteArrivesOverFourPlanesBothWays) {
  Wiring s;
  s.ipv6 = GetParam().ipv6;
  s.format = GetParam().format;
  s.attr.path_mtu = GetParam().pmtu;
  TwoNics net(s);
  const std::uint32_t count = std::min(500U, 900'000U / GetParam().message_bytes);
  transfer(net, net.host[0], net.host[1], count, GetParam().message_bytes);
  transfer(net, net.host[1], net.host[0], count, GetParam().message_bytes);
  for (Host& h : net.host) {
    TwoNics::expect_conserved(h);
    const auto snapshot = h.nic->query_qp(h.qpn);
    ASSERT_TRUE(snapshot);
    EXPECT_EQ(snapshot->counters.tx_rtx, 0U);
    EXPECT_EQ(h.nic->snapshot(0).drops.total(), 0U);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Transfer,
                         ::testing::Values(Shape{false, 4096, 64}, Shape{false, 4096, 1},
                                           Shape{false, 4096, 4096}, Shape{false, 4096, 100'001},
                                           Shape{false, 1024, 65'536}, Shape{true, 4096, 300'003},
                                           Shape{true, 1024, 5'555}, Shape{true, 256, 10'000},
                                           Shape{true, 4096, 200'000, path::EvFormat::kStev},
                                           Shape{true, 2048, 100'000, path::EvFormat::kSrv6},
                                           Shape{true, 2048, 100'000, path::EvFormat::kSrv6Srh}));

TEST(TransferSpread, PlanesGetEqualSharesAndEvCountersAgree) {
  Wiring s;
  s.attr.path_mtu = 1024;
  TwoNics net(s);
  transfer(net, net.host[0], net.host[1], 1, 1 << 20);
  const auto snapshot = net.host[0].nic->query_qp(net.host[0].qpn);
  ASSERT_TRUE(snapshot);
  std::array<std::uint64_t, 4> per_plane{};
  for (std::size_t i = 0; i < snapshot->evs.size(); ++i) per_plane[i % 4] += snapshot->evs[i].tx_pkts;
  EXPECT_EQ(std::accumulate(per_plane.begin(), per_plane.end(), std::uint64_t{0}), 1024U);
  const WorkerStats stats = net.host[0].nic->snapshot(0);
  for (std::size_t p = 0; p < 4; ++p) {
    EXPECT_NEAR(static_cast<double>(per_plane[p]), 256.0, 8.0);
    EXPECT_EQ(stats.ports[p].tx_data_pkts, per_plane[p]);
  }
}

TEST(TransferLoss, EveryFiftiethPacketIsLostBothWaysAndRepaired) {
  Tap::every = 50;
  Tap::seen = Tap::dropped = 0;
  Wiring s;
  s.attr.path_mtu = 1024;
  s.tx_tap = {Tap::tx, Tap::tx};
  s.attr.timeout = 8;  // 262 us of virtual time
  TwoNics net(s);
  transfer(net, net.host[0], net.host[1], 16, 65'536);
  EXPECT_GT(Tap::dropped, 15U);
  const auto snapshot = net.host[0].nic->query_qp(net.host[0].qpn);
  ASSERT_TRUE(snapshot);
  EXPECT_GT(snapshot->counters.tx_rtx, 0U);
  TwoNics::expect_conserved(net.host[0]);
  TwoNics::expect_conserved(net.host[1]);
}

TEST(TransferImm, ReceivesCompleteInMessageOrder) {
  Wiring s;
  s.attr.path_mtu = 1024;
  TwoNics net(s);
  Host& a = net.host[0];
  Host& b = net.host[1];
  for (std::uint64_t i = 0; i < 20; ++i) {
    ASSERT_EQ(b.w().post_recv(b.qpn, transport::RecvRequest{100 + i}), PostStatus::kOk);
    auto wr = TwoNics::write(a, b, i, i * 5000, 5000);
    wr.opcode = transport::WrOpcode::kRdmaWriteWithImm;
    wr.immdt = static_cast<std::uint32_t>(7 * i);
    ASSERT_EQ(TwoNics::post(a, wr), PostStatus::kOk);
  }
  std::vector<Completion> sent;
  std::vector<Completion> received;
  ASSERT_TRUE(net.run([&] {
    net.drain_cq(a, sent);
    net.drain_cq(b, received);
    return sent.size() == 20 && received.size() == 20;
  }));
  for (std::uint64_t i = 0; i < 20; ++i) {
    EXPECT_EQ(received[i].wr_id, 100 + i);
    EXPECT_EQ(received[i].immdt, 7 * i);
    EXPECT_EQ(received[i].byte_len, 5000U);
  }
  EXPECT_TRUE(std::equal(a.source.begin(), a.source.begin() + 100'000, b.target.begin()));
}

}  // namespace
}  // namespace mrc::nic
