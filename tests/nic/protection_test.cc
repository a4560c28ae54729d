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

// What is posted may be sent, and sent again, at any time until it completes: the memory must stay.
TEST(Protection, ASourceIsNotReleasedBeforeItsRequestsComplete) {
  TwoNics net(Wiring{});
  Host& a = net.host[0];
  ASSERT_EQ(TwoNics::post(a, TwoNics::write(a, net.host[1], 1, 0, 1 << 20)), PostStatus::kOk);
  const auto early = a.nic->deregister_memory(a.source_keys);
  ASSERT_FALSE(early);
  EXPECT_NE(early.error().message.find("1 posted request"), std::string::npos) << early.error().message;
  std::vector<Completion> done;
  ASSERT_TRUE(net.run([&] { return net.drain_cq(a, done) != 0; })) << "the refusal changed nothing";
  EXPECT_EQ(done[0].status, WcStatus::kSuccess);
  ASSERT_TRUE(a.nic->deregister_memory(a.source_keys));
  EXPECT_EQ(TwoNics::post(a, TwoNics::write(a, net.host[1], 2, 0, 64)), PostStatus::kBadLkey);
}

TEST(Protection, ASourceOfAQpInErrorIsReleased) {
  TwoNics net(Wiring{});
  Host& a = net.host[0];
  ASSERT_EQ(TwoNics::post(a, TwoNics::write(a, net.host[1], 1, 0, 1 << 20)), PostStatus::kOk);
  ASSERT_TRUE(a.nic->modify_qp(a.qpn, transport::QpState::kError, {}, 0));
  ASSERT_TRUE(a.nic->deregister_memory(a.source_keys));
  std::fill(a.source.begin(), a.source.end(), std::uint8_t{0});
  net.run([] { return false; }, 1'000);
  EXPECT_EQ(a.nic->query_qp(a.qpn)->counters.tx_new, 0U);
}

// What a QP refuses is a drop by reason, in the sum and in the capture.
TEST(Protection, WhatAQpRefusesIsADropByItsReason) {
  Wiring s;
  s.nic.capture_ring = 64;
  TwoNics net(s);
  Host& b = net.host[1];
  auto wr = TwoNics::write(net.host[0], b, 1, 0, 64);
  wr.rkey ^= 1;
  expect_access_error(net, wr);
  const WorkerStats refused = b.nic->snapshot(0);
  EXPECT_GE(refused.drops[wire::DropReason::kAccess], 1U);
  std::vector<CaptureRecord> frames(64);
  frames.resize(b.nic->capture(0)->poll(frames));
  EXPECT_TRUE(std::any_of(frames.begin(), frames.end(), [](const CaptureRecord& f) {
    return !f.outbound && f.drop == wire::DropReason::kAccess;
  }));
  TwoNics::expect_conserved(b);

  // Both ends are in ERROR now; a new pair, of which one end is.
  const auto qpns = net.add_pair();
  ASSERT_TRUE(b.nic->modify_qp(qpns[1], transport::QpState::kError, {}, 0));
  Host& a = net.host[0];
  ASSERT_EQ(a.w().post_send(qpns[0], a.source_keys.lkey, TwoNics::write(a, b, 2, 0, 64)), PostStatus::kOk);
  net.run([] { return false; }, 20);
  EXPECT_GE(b.nic->snapshot(0).drops[wire::DropReason::kQpState], 1U);
  EXPECT_EQ(b.nic->snapshot(0).delivered, refused.delivered);
  TwoNics::expect_conserved(b);
}

TEST(Protection, NumbersOfDestroyedQpsStayUnusedForLong) {
  TwoNics net(Wiring{});
  QpParams params;
  params.evs = net.evs();
  params.limits.max_send_wr = params.limits.max_recv_wr = 4;
  params.limits.max_mpr = params.limits.max_mpr_dest = 1;
  const auto first = net.host[0].nic->create_qp(0, params);
  ASSERT_TRUE(first);
  ASSERT_TRUE(net.host[0].nic->destroy_qp(*first));
  for (int i = 0; i < 100; ++i) {  // more than there are generations of a slot
    const auto qpn = net.host[0].nic->create_qp(0, params);
    ASSERT_TRUE(qpn);
    EXPECT_NE(*qpn, *first);
    ASSERT_TRUE(net.host[0].nic->destroy_qp(*qpn));
  }
}

TEST(Protection, ParametersThatTheTransportCouldNotBearAreRefused) {
  TwoNics net(Wiring{});
  TwoNics other(Wiring{});
  QpParams params;
  params.evs = net.evs();
  params.limits.max_wimm_dest = 0;
  EXPECT_FALSE(net.host[0].nic->create_qp(0, params));
  params.limits.max_wimm_dest = 1;
  params.app = *other.host[0].nic->create_app_queue(0, 16);
  EXPECT_FALSE(net.host[0].nic->create_qp(0, params)) << "a queue of another Nic";
  params.app = *net.host[0].nic->create_app_queue(0, 16);
  EXPECT_TRUE(net.host[0].nic->create_qp(0, params));
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

TEST(Protection, AWriteOfNothingNeedsNoMemoryAtEitherEnd) {
  TwoNics net(Wiring{});
  Host& a = net.host[0];
  Host& b = net.host[1];
  const transport::WorkRequest nothing{.wr_id = 5};
  ASSERT_EQ(nothing.local + nothing.remote_va + nothing.rkey + nothing.length_bytes, 0U);
  ASSERT_EQ(a.w().post_send(a.qpn, 0, nothing), PostStatus::kOk);
  std::vector<transport::Completion> done;
  ASSERT_TRUE(net.run([&] {
    net.drain_cq(a, done);
    return !done.empty();
  }));
  EXPECT_EQ(done[0].status, transport::WcStatus::kSuccess);
  EXPECT_EQ(b.nic->snapshot(0).drops.total(), 0U);
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
