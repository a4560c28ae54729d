// SPDX-License-Identifier: BSD-3-Clause
// The two-class queue: what is served first, what is dropped, trimmed and marked.
#include "fabric/output_queue.h"

#include <algorithm>

#include "harness.h"

namespace mrc::fabric::test {
namespace {

constexpr std::uint32_t kMtu = 4150;

// Two senders on one T0, the receiver's port is the bottleneck: everything queues at the last hop.
ClosSpec incast(const PortConfig& last_hop) {
  ClosSpec s;
  s.hosts = 3;
  s.hosts_per_t0 = 3;
  s.t0_down = last_hop;
  return s;
}
PortConfig bottleneck() {
  PortConfig p;
  p.rate_bps = 100 * kGbps;
  return p;
}

TEST(OutputQueue, ServesControlStrictlyFirst) {
  auto f = make_fabric(checked(make_clos(incast(bottleneck()))));
  for (int i = 0; i < 4; ++i) f->inject(0, 0, data(i, 2, 1), Time{1});
  f->inject(1, 0, control(10, 2, 1), Time{2});
  const auto out = run_out(*f);
  ASSERT_EQ(out.size(), 5U);
  EXPECT_EQ(out[0].packet.handle, 0U) << "in service already";
  EXPECT_EQ(out[1].packet.handle, 10U);
}

TEST(OutputQueue, DropsAtTheTailOfADataQueueThatIsFull) {
  PortConfig port = bottleneck();
  port.data_queue_bytes = 4 * kMtu;
  auto f = make_fabric(checked(make_clos(incast(port))));
  for (int i = 0; i < 6; ++i) f->inject(0, 0, data(i, 2, 1), Time{1});
  std::vector<std::uint64_t> lost;
  for (const Outcome& o : run_out(*f)) {
    if (!o.delivered()) {
      EXPECT_EQ(o.reason, DropReason::kQueueFull);
      lost.push_back(o.packet.handle);
    }
  }
  EXPECT_EQ(lost, (std::vector<std::uint64_t>{4, 5})) << "the packet in service counts";
}

TEST(OutputQueue, TrimsInsteadOfDroppingAndSendsTheRestAhead) {
  PortConfig port = bottleneck();
  port.data_queue_bytes = 4 * kMtu;
  port.trim.enabled = true;
  auto f = make_fabric(checked(make_clos(incast(port))));
  for (int i = 0; i < 6; ++i) f->inject(0, 0, data(i, 2, 1), Time{1});
  const auto out = run_out(*f);
  ASSERT_EQ(out.size(), 6U);
  EXPECT_EQ(out[1].packet.handle, 4U);
  EXPECT_EQ(out[2].packet.handle, 5U);
  for (const Outcome& o : {out[1], out[2]}) {
    EXPECT_EQ(o.packet.dscp, wire::DscpClass::kTrimmedLasthop);
    EXPECT_EQ(o.packet.size_bytes, 128U);
  }
  EXPECT_EQ(f->link(f->topology().down_of(2, 0)).counters.trimmed, 2U);
}

TEST(OutputQueue, AShortPacketKeepsItsLengthButLosesItsClass) {
  PortConfig port = bottleneck();
  port.data_queue_bytes = kMtu;
  port.trim.enabled = true;
  auto f = make_fabric(checked(make_clos(incast(port))));
  f->inject(0, 0, data(0, 2, 1), Time{1});
  f->inject(0, 0, data(1, 2, 1, 90), Time{1});
  const auto out = run_out(*f);
  ASSERT_EQ(out.size(), 2U);
  EXPECT_EQ(out[1].packet.size_bytes, 90U);
  EXPECT_TRUE(out[1].packet.trimmed());
}

TEST(OutputQueue, NeverTrimsWhatMustNotBeTrimmed) {
  PortConfig port = bottleneck();
  port.data_queue_bytes = kMtu;
  port.trim.enabled = true;
  auto f = make_fabric(checked(make_clos(incast(port))));
  f->inject(0, 0, data(0, 2, 1), Time{1});
  Packet p = data(1, 2, 1);
  p.dscp = wire::DscpClass::kNoTrim;
  f->inject(0, 0, p, Time{1});
  const auto out = run_out(*f);
  ASSERT_EQ(out.size(), 2U);
  EXPECT_TRUE(std::any_of(out.begin(), out.end(), [](const Outcome& o) {
    return o.reason == DropReason::kQueueFull && o.packet.handle == 1;
  }));
}

TEST(OutputQueue, AFullControlQueueDropsTrimmedPackets) {
  PortConfig port = bottleneck();
  port.data_queue_bytes = kMtu;
  port.control_queue_bytes = 128;
  port.trim.enabled = true;
  auto f = make_fabric(checked(make_clos(incast(port))));
  for (int i = 0; i < 3; ++i) f->inject(0, 0, data(i, 2, 1), Time{1});
  EXPECT_EQ(run_out(*f).size(), 3U);
  EXPECT_EQ(f->counters().dropped[static_cast<std::size_t>(DropReason::kControlQueueFull)][0], 1U);
}

TEST(OutputQueue, AFairCoinTrimsTheLastOneQueuedHalfOfTheTime) {
  PortConfig port = bottleneck();
  port.data_queue_bytes = 3 * kMtu;
  port.trim.enabled = true;
  port.trim.fair_coin = true;
  int arriving = 0;
  constexpr int kRuns = 2000;
  for (int run_no = 0; run_no < kRuns; ++run_no) {
    FabricConfig config;
    config.seed = static_cast<std::uint64_t>(run_no) + 1;
    config.max_packets = 16;
    auto f = make_fabric(checked(make_clos(incast(port))), config);
    for (int i = 0; i < 4; ++i) f->inject(0, 0, data(i, 2, 1), Time{1});
    const auto out = run_out(*f);
    ASSERT_EQ(out.size(), 4U);
    std::vector<std::uint64_t> whole;
    for (const Outcome& o : out) {
      if (o.packet.trimmed()) {
        ASSERT_TRUE(o.packet.handle == 2 || o.packet.handle == 3);
        arriving += o.packet.handle == 3 ? 1 : 0;
      } else {
        whole.push_back(o.packet.handle);
      }
    }
    ASSERT_TRUE(std::is_sorted(whole.begin(), whole.end()));
  }
  EXPECT_NEAR(arriving, kRuns / 2, 4 * 22.4);  // 4 sigma of a fair coin
}

TEST(Ecn, MarksByWhatThePacketLeavesBehind) {
  PortConfig port = bottleneck();
  port.ecn = {.enabled = true, .min_bytes = 2 * kMtu, .max_bytes = 2 * kMtu, .on_last_hop = true};
  auto f = make_fabric(checked(make_clos(incast(port))));
  for (int i = 0; i < 6; ++i) f->inject(0, 0, data(i, 2, 1), Time{1});
  std::vector<bool> marks;
  for (const Outcome& o : run_out(*f)) marks.push_back(o.packet.ce);
  // Left behind when each leaves: 5, 4, 3, 2, 1, 0 packets; more than two are marked.
  EXPECT_EQ(marks, (std::vector<bool>{true, true, true, false, false, false}));
}

TEST(Ecn, LeavesTheLastHopAndNonEctPacketsUnmarked) {
  PortConfig port = bottleneck();
  port.ecn = {.enabled = true, .min_bytes = 0, .max_bytes = 0};
  auto f = make_fabric(checked(make_clos(incast(port))));
  for (int i = 0; i < 6; ++i) f->inject(0, 0, data(i, 2, 1), Time{1});
  for (const Outcome& o : run_out(*f)) EXPECT_FALSE(o.packet.ce);

  port.ecn.on_last_hop = true;
  auto g = make_fabric(checked(make_clos(incast(port))));
  for (int i = 0; i < 6; ++i) {
    Packet p = data(i, 2, 1);
    p.ect = i % 2 == 0;
    g->inject(0, 0, p, Time{1});
  }
  for (const Outcome& o : run_out(*g)) {
    EXPECT_EQ(o.packet.ce, o.packet.handle % 2 == 0 && o.packet.handle < 5) << o.packet.handle;
  }
}

TEST(Ecn, ProbabilityIsLinearBetweenItsLimits) {
  const EcnConfig ecn{.enabled = true, .min_bytes = 37350, .max_bytes = 145250};
  Rng rng(3);
  for (const std::uint64_t depth : {37350ULL, 50000ULL, 91300ULL, 140000ULL, 145250ULL}) {
    constexpr int kDraws = 40000;
    int marked = 0;
    for (int i = 0; i < kDraws; ++i) marked += ecn_marks(ecn, depth, rng) ? 1 : 0;
    const double want = static_cast<double>(depth - 37350) / (145250.0 - 37350.0);
    EXPECT_NEAR(marked / double{kDraws}, want, 0.011) << depth;
  }
}

}  // namespace
}  // namespace mrc::fabric::test
