// SPDX-License-Identifier: BSD-3-Clause
// Changes while traffic runs, and what they do to the bytes.
#include "fixture.h"

namespace mrc::virt::test {
namespace {

using fabric::DropReason;

class ChangeTest : public VirtualTest {
 protected:
  bool link_is_up(fabric::HostId host, std::uint32_t plane) {
    rte_eth_link link{};
    EXPECT_EQ(rte_eth_link_get_nowait(net_->port_id(host, plane), &link), 0);
    return link.link_status == RTE_ETH_LINK_UP;
  }
  std::uint64_t dropped(DropReason r) {
    return fabric::sum(net_->fabric().counters().dropped[static_cast<std::size_t>(r)]);
  }
};

TEST_F(ChangeTest, APathGoesDownAndUpInSilence) {
  start(parallel(microseconds(10)));
  send({.sport = 1, .psn = 1});
  net_->poll(Time{1});
  ASSERT_TRUE(net_->set_path_up(0, 1, false));
  send({.sport = 1, .psn = 2});
  send({.sport = 2, .psn = 3});
  net_->poll(Time{100});
  EXPECT_EQ(net_->commands_done(), 1U);
  EXPECT_TRUE(link_is_up(0, 0));
  EXPECT_TRUE(link_is_up(1, 0));
  net_->poll(Time{50'000});
  const auto got = receive(1, 0);
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].view.bth.psn.value(), 3U);
  EXPECT_EQ(dropped(DropReason::kLinkDown), 2U) << "one flew, one came after";
  ASSERT_TRUE(net_->set_path_up(0, 1, true));
  send({.sport = 1, .psn = 4});
  net_->poll(Time{60'000});
  net_->poll(Time{80'000});
  EXPECT_EQ(receive(1, 0).size(), 1U);
}

TEST_F(ChangeTest, APortThatGoesDownIsSeenByItsHostAlone) {
  start(parallel());
  ASSERT_TRUE(net_->set_port_up(0, 1, false));
  net_->poll(Time{1});
  EXPECT_FALSE(link_is_up(0, 1));
  EXPECT_TRUE(link_is_up(1, 1));
  EXPECT_TRUE(link_is_up(0, 0));
  send({.from = 0, .plane = 1});
  send({.from = 1, .plane = 1});
  net_->poll(Time{2});
  EXPECT_TRUE(receive(0, 1).empty());
  EXPECT_TRUE(receive(1, 1).empty());
  EXPECT_EQ(net_->counters().refused, 1U);
  EXPECT_EQ(dropped(DropReason::kLinkDown), 1U);
  ASSERT_TRUE(net_->set_port_up(0, 1, true));
  net_->poll(Time{3});
  EXPECT_TRUE(link_is_up(0, 1));
  send({.from = 0, .plane = 1});
  net_->poll(Time{4});
  EXPECT_EQ(receive(1, 1).size(), 1U);
}

TEST_F(ChangeTest, DelayAndPlaneLossTakeEffect) {
  start(parallel(microseconds(1)));
  ASSERT_TRUE(net_->set_path_delay(0, 2, microseconds(30)));
  ASSERT_TRUE(net_->set_plane_loss(1, 1.0));
  send({.plane = 0, .sport = 2});
  send({.plane = 1, .sport = 2});
  net_->poll(Time{1});
  net_->poll(Time{30'000});
  EXPECT_TRUE(receive(1, 0).empty());
  net_->poll(Time{30'001});
  EXPECT_EQ(receive(1, 0).size(), 1U);
  EXPECT_TRUE(receive(1, 1).empty());
  EXPECT_EQ(dropped(DropReason::kRandomLoss), 1U);
  EXPECT_FALSE(net_->set_path_delay(0, 2, nanoseconds(-1)));
}

TEST_F(ChangeTest, AChangeOfNothingIsCounted) {
  start(parallel());
  ASSERT_TRUE(net_->set_path_up(0, 99, false));
  ASSERT_TRUE(net_->set_port_up(7, 0, false));
  ASSERT_TRUE(net_->steer(0, IpAddress{}, 5));
  ASSERT_TRUE(net_->watch_path(9, 0));
  net_->poll(Time{1});
  EXPECT_EQ(net_->counters().bad_command, 4U);
  EXPECT_EQ(net_->commands_done(), 4U);
}

TEST_F(ChangeTest, CommandsAreBounded) {
  start(parallel());
  int accepted = 0;
  while (accepted < 10'000 && net_->set_path_up(0, 0, true)) ++accepted;
  EXPECT_EQ(accepted, 256);
  net_->poll(Time{1});
  EXPECT_EQ(net_->commands_done(), 256U);
}

TEST_F(ChangeTest, ACorruptedPacketFailsItsIcrc) {
  start(parallel());
  fabric::Change c;
  c.action = fabric::Action::kFaults;
  c.target = {fabric::Scope::kPlane, 0};
  c.faults.corrupt = 1.0;
  ASSERT_TRUE(net_->change(c));
  for (const std::uint32_t bytes : {0U, 1U, 64U, 1024U}) send({.psn = bytes, .payload_bytes = bytes});
  net_->poll(Time{1});
  const auto got = receive(1, 0);
  ASSERT_EQ(got.size(), 4U);
  for (const auto& r : got) {
    EXPECT_EQ(r.reason, wire::DropReason::kNone);
    EXPECT_FALSE(r.icrc_ok()) << r.view.bth.psn.value();
  }
}

TEST_F(ChangeTest, ADuplicateIsASecondFrameWithTheSameBytes) {
  start(parallel(microseconds(1)));
  fabric::Change c;
  c.action = fabric::Action::kFaults;
  c.target = {fabric::Scope::kPlane, 0};
  c.faults.duplicate = 1.0;
  ASSERT_TRUE(net_->change(c));
  for (std::uint32_t i = 0; i < 10; ++i) send({.psn = i});
  net_->poll(Time{1});
  net_->poll(Time{5000});
  const auto got = receive(1, 0);
  ASSERT_EQ(got.size(), 20U);
  for (std::size_t i = 0; i < 20; i += 2) {
    EXPECT_EQ(got[i].bytes, got[i + 1].bytes);
    EXPECT_TRUE(got[i].icrc_ok());
  }
}

TEST_F(ChangeTest, ATrimmedFrameIsShortAndSaysSo) {
  VirtualConfig c = parallel();
  c.path.rate_bps = 1'000'000'000;
  c.path.data_queue_bytes = 1200;
  c.path.trim.enabled = true;
  c.path.trim.size_bytes = 128;
  start(c);
  for (const bool ipv6 : {false, true}) {
    const std::int64_t base = ipv6 ? 1'000'000'000 : 1;
    for (std::uint32_t i = 0; i < 2; ++i) send({.sport = 0, .psn = i, .ipv6 = ipv6, .payload_bytes = 1024});
    net_->poll(Time{base});
    net_->poll(Time{base + 100'000});
    const auto got = receive(1, 0);
    ASSERT_EQ(got.size(), 2U);
    EXPECT_TRUE(got[0].icrc_ok());
    EXPECT_EQ(got[1].reason, wire::DropReason::kNone);
    EXPECT_EQ(got[1].bytes.size(), 128U);
    EXPECT_EQ(got[1].view.trim, wire::Trim::kTrimmed);
    EXPECT_EQ(got[1].view.bth.psn.value(), 1U);
    EXPECT_GT(got[1].view.udp_length, 1024U) << "lengths are what they were";
  }
}

TEST_F(ChangeTest, CongestionMarksCe) {
  VirtualConfig c = parallel();
  c.path.rate_bps = 1'000'000'000;
  c.path.ecn.enabled = true;
  start(c);
  for (const bool ipv6 : {false, true}) {
    const std::int64_t base = ipv6 ? 1'000'000'000 : 1;
    for (std::uint32_t i = 0; i < 3; ++i) send({.sport = 0, .psn = i, .ipv6 = ipv6});
    net_->poll(Time{base});
    net_->poll(Time{base + 100'000});
    const auto got = receive(1, 0);
    ASSERT_EQ(got.size(), 3U);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(got[i].reason, wire::DropReason::kNone) << "the IPv4 checksum follows";
      EXPECT_EQ(got[i].view.ce, i < 2);
      EXPECT_TRUE(got[i].icrc_ok()) << "the mask hides the mark";
    }
  }
}

TEST_F(ChangeTest, AChangedFrameThatIsSharedIsCopiedFirst) {
  VirtualConfig c = parallel();
  c.path.rate_bps = 1'000'000'000;
  c.path.ecn.enabled = true;
  start(c);
  std::vector<rte_mbuf*> kept;
  for (std::uint32_t i = 0; i < 2; ++i) {
    rte_mbuf* m = make_write({.sport = 0, .psn = i});
    rte_mbuf_refcnt_update(m, 1);
    kept.push_back(m);
    send_mbuf(0, 0, m);
  }
  const std::uint8_t tos_before = rte_pktmbuf_mtod(kept[0], std::uint8_t*)[15];
  net_->poll(Time{1});
  net_->poll(Time{100'000});
  const auto got = receive(1, 0);
  ASSERT_EQ(got.size(), 2U);
  EXPECT_TRUE(got[0].view.ce);
  EXPECT_EQ(rte_pktmbuf_mtod(kept[0], std::uint8_t*)[15], tos_before) << "the sender's bytes are not touched";
  for (rte_mbuf* m : kept) rte_pktmbuf_free(m);
}

TEST_F(ChangeTest, ATrimCutsAChainInTheRightSegment) {
  start(parallel());
  rte_mbuf* head = make_write({.payload_bytes = 64});
  for (int i = 0; i < 2; ++i) {
    rte_mbuf* tail = rte_pktmbuf_alloc(pool_);
    rte_pktmbuf_append(tail, 200);
    ASSERT_EQ(rte_pktmbuf_chain(head, tail), 0);
  }
  const std::uint32_t first = head->data_len;
  fabric::Packet p;
  p.dscp = wire::DscpClass::kTrimmed;
  for (const std::uint32_t bytes : {first + 300, first + 200, first + 10, first, 64U}) {
    p.size_bytes = bytes;
    ASSERT_TRUE(write_back(p, wire::DscpMap{}, pool_, head));
    EXPECT_EQ(head->pkt_len, bytes);
    std::uint32_t sum = 0;
    std::uint16_t segments = 0;
    for (const rte_mbuf* s = head; s != nullptr; s = s->next, ++segments) sum += s->data_len;
    EXPECT_EQ(sum, bytes);
    EXPECT_EQ(head->nb_segs, segments);
  }
  rte_pktmbuf_free(head);
}

}  // namespace
}  // namespace mrc::virt::test
