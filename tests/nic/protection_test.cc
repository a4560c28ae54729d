// SPDX-License-Identifier: BSD-3-Clause
// What must never touch memory: corrupt packets, keys that open nothing, packets of strangers.
#include <algorithm>

#include "two_nics.h"

namespace mrc::nic {
namespace {

using transport::Completion;
using transport::WcStatus;

struct Flip {  // flips one bit of every packet on one port, at a place that moves through the frame
  static inline bool on = false;
  static inline std::uint64_t flipped = 0;
  static std::uint16_t tx(std::uint16_t port, std::uint16_t queue, rte_mbuf** pkts, std::uint16_t n) {
    for (std::uint16_t i = 0; on && i < n; ++i) {
      if (pkts[i]->data_len < 200) continue;  // data only: let the control packets tell what arrived
      auto* bytes = rte_pktmbuf_mtod(pkts[i], std::uint8_t*);
      // From RETH to ICRC: what headers before it carry is checked elsewhere or masked.
      bytes[60 + (flipped * 97) % (pkts[i]->data_len - 60U)] ^= 1U << (flipped % 8);
      ++flipped;
    }
    return rte_eth_tx_burst(port, queue, pkts, n);
  }
};

bool untouched(const Host& h) {
  return std::all_of(h.target.begin(), h.target.end(), [](std::uint8_t b) { return b == 0xEE; });
}

TEST(Protection, CorruptPacketsNeverWriteMemory) {
  Flip::on = true;
  Flip::flipped = 0;
  Wiring s;
  s.attr.path_mtu = 1024;
  s.attr.timeout = 8;
  s.tx_tap[0] = Flip::tx;
  TwoNics net(s);
  Host& a = net.host[0];
  Host& b = net.host[1];
  ASSERT_EQ(TwoNics::post(a, TwoNics::write(a, b, 1, 0, 400'000)), PostStatus::kOk);
  net.run([] { return Flip::flipped >= 1000; }, 20'000);
  EXPECT_GE(Flip::flipped, 1000U);
  EXPECT_TRUE(untouched(b));
  EXPECT_EQ(b.nic->snapshot(0).drops[wire::DropReason::kIcrc], b.nic->snapshot(0).drops.total());
  EXPECT_GE(b.nic->snapshot(0).drops.total(), 1000U);
  // The link heals before the budget is used up: everything is repaired.
  Flip::on = false;
  std::vector<Completion> done;
  ASSERT_TRUE(net.run([&] {
    net.drain_cq(a, done);
    return !done.empty();
  }));
  EXPECT_EQ(done[0].status, WcStatus::kSuccess);
  EXPECT_TRUE(std::equal(a.source.begin(), a.source.begin() + 400'000, b.target.begin()));
}

void expect_access_error(TwoNics& net, const transport::WorkRequest& wr) {
  Host& a = net.host[0];
  Host& b = net.host[1];
  ASSERT_EQ(TwoNics::post(a, wr), PostStatus::kOk);
  std::vector<Completion> done;
  ASSERT_TRUE(net.run([&] {
    net.drain_cq(a, done);
    return !done.empty();
  }));
  EXPECT_EQ(done[0].status, WcStatus::kRemAccessErr);
  EXPECT_TRUE(untouched(b));
  const auto s = b.nic->query_qp(b.qpn);
  ASSERT_TRUE(s);
  EXPECT_GE(s->counters.rx_access, 1U);
  EXPECT_GE(s->counters.tx_nak, 1U);
}

TEST(Protection, BeyondTheRegionIsNak62) {
  TwoNics net(Wiring{});
  auto wr = TwoNics::write(net.host[0], net.host[1], 1, 0, 64);
  wr.remote_va += net.host[1].target.size() - 63;  // one byte too far
  expect_access_error(net, wr);
}

TEST(Protection, WrongKeyIsNak62) {
  TwoNics net(Wiring{});
  auto wr = TwoNics::write(net.host[0], net.host[1], 1, 0, 64);
  wr.rkey ^= 1;
  expect_access_error(net, wr);
}

TEST(Protection, KeyWithoutRemoteWriteIsNak62) {
  TwoNics net(Wiring{});
  auto wr = TwoNics::write(net.host[0], net.host[1], 1, 0, 64);
  wr.remote_va = reinterpret_cast<std::uint64_t>(net.host[1].source.data());
  wr.rkey = net.host[1].source_keys.rkey;
  expect_access_error(net, wr);
}

TEST(Protection, DeregisteredKeyIsNak62) {
  TwoNics net(Wiring{});
  ASSERT_TRUE(net.host[1].nic->deregister_memory(net.host[1].target_keys));
  EXPECT_FALSE(net.host[1].nic->deregister_memory(net.host[1].target_keys));
  expect_access_error(net, TwoNics::write(net.host[0], net.host[1], 1, 0, 64));
}

TEST(Protection, LocalKeyIsCheckedAtThePost) {
  TwoNics net(Wiring{});
  Host& a = net.host[0];
  auto wr = TwoNics::write(a, net.host[1], 1, a.source.size() - 10, 11);
  EXPECT_EQ(TwoNics::post(a, wr), PostStatus::kBadLkey);
  EXPECT_EQ(a.w().post_send(a.qpn ^ 1, a.source_keys.lkey, wr), PostStatus::kNoSuchQp);
  wr.length_bytes = 10;
  EXPECT_EQ(TwoNics::post(a, wr), PostStatus::kOk);
}

TEST(Protection, DestroyedQpsAreDropsAndTheirSlotGetsANewNumber) {
  TwoNics net(Wiring{});
  Host& a = net.host[0];
  Host& b = net.host[1];
  ASSERT_EQ(TwoNics::post(a, TwoNics::write(a, b, 1, 0, 64)), PostStatus::kOk);
  ASSERT_TRUE(b.nic->destroy_qp(b.qpn));
  EXPECT_FALSE(b.nic->destroy_qp(b.qpn));
  EXPECT_FALSE(b.nic->query_qp(b.qpn));
  net.run([] { return false; }, 10);
  EXPECT_GE(b.nic->snapshot(0).drops[wire::DropReason::kUnknownQp], 1U);
  EXPECT_EQ(b.nic->snapshot(0).delivered, 0U);
  QpParams params;
  params.evs = net.evs();
  const auto again = b.nic->create_qp(0, params);
  ASSERT_TRUE(again);
  EXPECT_NE(*again, b.qpn);
  EXPECT_TRUE(untouched(b));
}

}  // namespace
}  // namespace mrc::nic
