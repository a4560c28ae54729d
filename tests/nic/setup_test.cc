// SPDX-License-Identifier: BSD-3-Clause
// What is refused at set-up and how it is said; many QPs; the start-up lines.
#include <algorithm>

#include "two_nics.h"

namespace mrc::nic {
namespace {

bool mentions(const Error& e, const std::string& word) {
  return e.message.find(word) != std::string::npos;
}

TEST(Setup, ConfigurationsAreRefusedWithTheLimit) {
  auto pair = ring::RingPair::create({});
  ASSERT_TRUE(pair);
  NicConfig good;
  good.planes.resize(1);
  good.planes[0].dpdk_port = (*pair)->port(0, 0);
  good.planes[0].ips = {*IpAddress::parse("10.0.0.1")};
  ASSERT_TRUE(Nic::create(good));
  const auto refused = [&](auto change, const char* word) {
    NicConfig c = good;
    change(c);
    const auto r = Nic::create(c);
    ASSERT_FALSE(r) << word;
    EXPECT_TRUE(mentions(r.error(), word)) << r.error().message;
  };
  refused([](NicConfig& c) { c.planes.clear(); }, "planes: 0, allowed 1 to 16");
  refused([](NicConfig& c) { c.workers = 17; }, "workers: 17, allowed 1 to 16");
  refused([](NicConfig& c) { c.max_qps_per_worker = 20'000; }, "allowed 1 to 16382");
  refused([](NicConfig& c) { c.max_pmtu = 1500; }, "1500");
  refused([](NicConfig& c) { c.planes[0].dpdk_port = 31; }, "no such DPDK port");
  refused([](NicConfig& c) { c.planes[0].rx_queues = 2; }, "are set up");
  refused([](NicConfig& c) { c.planes[0].ips.clear(); }, "addresses");
  refused([](NicConfig& c) { c.planes[0].ips[0] = IpAddress{}; }, "all zero");
  refused([](NicConfig& c) { c.dscp[3] = c.dscp[0]; }, "dscp");
}

TEST(Setup, QpsAreRefusedWithTheReason) {
  Wiring s;
  s.nic.max_qps_per_worker = 2;
  TwoNics net(s);
  Host& a = net.host[0];
  QpParams p;
  EXPECT_TRUE(mentions(a.nic->create_qp(0, p).error(), "no EV table"));
  p.evs = net.evs();
  EXPECT_TRUE(mentions(a.nic->create_qp(3, p).error(), "worker 3"));
  p.limits.max_send_wr = 0;
  EXPECT_TRUE(mentions(a.nic->create_qp(0, p).error(), "max_send_wr"));
  p.limits = {};
  const auto second = a.nic->create_qp(0, p);
  ASSERT_TRUE(second);
  EXPECT_TRUE(mentions(a.nic->create_qp(0, p).error(), "max_qps_per_worker"));

  transport::QpAttr attr;
  attr.dest_qpn = 99;
  EXPECT_TRUE(mentions(a.nic->connect_qp(*second, attr, {}).error(), "peer planes"));
  ASSERT_TRUE(a.nic->destroy_qp(*second));
  const auto third = a.nic->create_qp(0, p);
  ASSERT_TRUE(third);
  std::vector<PeerPlane> peers = net.host[1].planes;
  peers[1].mac = {};
  EXPECT_TRUE(mentions(a.nic->connect_qp(*third, attr, peers).error(), "MAC"));
}

// Who asks what a peer's QPs would take refuses what is too much: each part that grows counts.
TEST(Setup, AQpSaysWhatItTakes) {
  QpParams p;
  p.evs = TwoNics(Wiring{}).evs();
  const std::size_t plain = Nic::qp_bytes(p);
  EXPECT_GT(plain, sizeof(transport::Qp) + p.evs->size() * sizeof(EvStats));
  QpParams queues = p;
  queues.limits.max_send_wr = queues.limits.max_recv_wr = 32768;
  EXPECT_GT(Nic::qp_bytes(queues),
            plain + 32768 * (sizeof(transport::WorkRequest) + sizeof(transport::Completion)) / 2);
  QpParams window = p;
  window.limits.max_mpr = window.limits.max_mpr_dest = 255;
  EXPECT_GT(Nic::qp_bytes(window), plain + 255 * 32);
  QpParams events = p;
  events.policy.ev.event_capacity += 10'000;
  EXPECT_GT(Nic::qp_bytes(events), plain + 10'000 * sizeof(path::EvSet::Event) - 1);
}

TEST(Setup, PathMtuIsHeldAgainstTheNicAndThePort) {
  Wiring s;
  s.nic.max_pmtu = 1024;
  s.attr.path_mtu = 2048;
  try {
    TwoNics net(s);
    FAIL() << "path_mtu 2048 on a NIC made for 1024";
  } catch (const std::runtime_error& e) {
    EXPECT_TRUE(std::string(e.what()).find("raise max_pmtu") != std::string::npos) << e.what();
  }
}

TEST(Setup, StartUpLinesNamePortsQueuesSteeringAndFallbacks) {
  Wiring s;
  s.workers = 2;
  TwoNics net(s);
  std::string all;
  for (const std::string& line : net.host[0].nic->describe()) all += line + "\n";
  for (const char* word : {"plane 3: port", "net_ring", "hand-over by QPN in software", "worker 1: RX",
                           "by worker 0", "ISA-L", "payload mbufs"}) {
    EXPECT_NE(all.find(word), std::string::npos) << word << " is missing in\n" << all;
  }
}

/// One more QP on both hosts, connected to each other.
std::array<std::uint32_t, 2> add_pair(TwoNics& net) {
  std::array<std::uint32_t, 2> qpns{};
  QpParams p;
  p.evs = net.evs();
  for (unsigned h = 0; h < 2; ++h) qpns[h] = *net.host[h].nic->create_qp(0, p);
  for (unsigned h = 0; h < 2; ++h) {
    transport::QpAttr attr;
    attr.dest_qpn = qpns[1 - h];
    attr.path_mtu = 1024;
    EXPECT_TRUE(net.host[h].nic->connect_qp(qpns[h], attr, net.host[1 - h].planes));
  }
  return qpns;
}

TEST(Setup, ManyQpsShareAWorkerFairly) {
  TwoNics net(Wiring{});
  Host& a = net.host[0];
  constexpr std::size_t kQps = 16;
  constexpr std::uint32_t kBytes = 60'000;
  std::vector<std::uint32_t> qpns;
  for (std::size_t i = 0; i < kQps; ++i) {
    qpns.push_back(add_pair(net)[0]);
    const auto wr = TwoNics::write(a, net.host[1], i, i * kBytes, kBytes);
    ASSERT_EQ(a.w().post_send(qpns[i], a.source_keys.lkey, wr), PostStatus::kOk);
  }
  std::vector<int> finished_at(kQps, 0);
  int iteration = 0;
  std::size_t done = 0;
  ASSERT_TRUE(net.run([&] {
    ++iteration;
    for (std::size_t i = 0; i < kQps; ++i) {
      transport::Completion c;
      if (a.w().poll_cq(qpns[i], {&c, 1}) == 0) continue;
      EXPECT_EQ(c.status, transport::WcStatus::kSuccess);
      finished_at[i] = iteration;
      ++done;
    }
    return done == kQps;
  }));
  EXPECT_TRUE(std::equal(a.source.begin(), a.source.begin() + kQps * kBytes, net.host[1].target.begin()));
  const auto [first, last] = std::minmax_element(finished_at.begin(), finished_at.end());
  EXPECT_LT(*last - *first, iteration / 2) << "all began together, so all should end together";
}

}  // namespace
}  // namespace mrc::nic
