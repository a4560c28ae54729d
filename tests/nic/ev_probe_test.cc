// SPDX-License-Identifier: BSD-3-Clause
// A QP that only receives keeps the ways of its answers alive (MRC 6.5.2, 7.4.7; D19), through frames and
// workers.
#include <algorithm>

#include "nic/core.h"
#include "two_nics.h"

namespace mrc::nic {
namespace {

using transport::Completion;

Wiring probing(path::EvFormat format = path::EvFormat::kUdp) {
  Wiring s;
  s.format = format;
  s.ipv6 = format != path::EvFormat::kUdp;
  s.policy.reverse_probes = true;
  s.policy.base_rtt = microseconds(20);
  s.attr.timeout = 14;
  return s;
}

/// Messages of 64 KiB from host 0 to host 1, one after the other.
void send_some(TwoNics& net, int messages) {
  Host& a = net.host[0];
  std::vector<Completion> done;
  for (int i = 0; i < messages; ++i) {
    ASSERT_EQ(TwoNics::post(a, TwoNics::write(a, net.host[1], 1, 0, 65536)), PostStatus::kOk);
    done.clear();
    ASSERT_TRUE(net.run([&] { return net.drain_cq(a, done) != 0; }));
    ASSERT_EQ(done[0].status, transport::WcStatus::kSuccess);
  }
}

std::uint16_t sport_of(const rte_mbuf* m) {  // Ethernet and IPv4 without options
  const auto* frame = rte_pktmbuf_mtod(m, const std::uint8_t*);
  return static_cast<std::uint16_t>(frame[34] << 8 | frame[35]);
}

/// What host 1 sends with that source port on that port dies.
struct DeadPath {
  static inline std::uint16_t port = 0;
  static inline int sport = -1;
  static inline std::uint64_t died = 0;
  static std::uint16_t tx(std::uint16_t p, std::uint16_t queue, rte_mbuf** pkts, std::uint16_t n) {
    for (std::uint16_t i = 0; i < n; ++i) {
      if (p == port && sport_of(pkts[i]) == sport) {
        rte_pktmbuf_free(pkts[i]);
        ++died;
      } else if (rte_eth_tx_burst(p, queue, &pkts[i], 1) != 1) {
        return i;
      }
    }
    return n;
  }
};

TEST(EvProbes, AReceiverLeavesADeadWayBack) {
  Wiring s = probing();
  s.tx_tap = {nullptr, DeadPath::tx};
  DeadPath::sport = -1;
  TwoNics net(s);
  Host& b = net.host[1];
  send_some(net, 100);
  auto before = b.nic->query_qp(b.qpn);
  ASSERT_TRUE(before);
  EXPECT_GT(before->counters.tx_ev_probe, 8U);
  EXPECT_GT(before->counters.rx_ev_answer, 8U);
  EXPECT_EQ(before->ev_counters.reverse_replaced, 0U);

  const transport::Qp& qp = *b.w().qp(b.qpn);
  const path::EvIndex dead = qp.ev_set().choose_for_control(1U << 2, 2).ev;
  DeadPath::port = net.port(1, 2);
  DeadPath::sport = (*net.evs())[dead].udp_sport;
  DeadPath::died = 0;
  send_some(net, 100);
  const auto after = b.nic->query_qp(b.qpn);
  EXPECT_GE(after->ev_counters.reverse_replaced, 1U);
  EXPECT_NE(qp.ev_set().choose_for_control(1U << 2, 2).ev, dead);
  const std::uint64_t died = DeadPath::died;
  EXPECT_GT(died, 0U);
  send_some(net, 100);
  EXPECT_EQ(DeadPath::died, died) << "nothing goes there any more";
  for (const Host& h : net.host) TwoNics::expect_conserved(h);
}

TEST(EvProbes, SentAsProbesAreCountedWithTheirEv) {
  TwoNics net(probing());
  send_some(net, 100);
  const auto qp = net.host[1].nic->query_qp(net.host[1].qpn);
  std::uint64_t by_ev = 0;
  for (const EvStats& ev : qp->evs) by_ev += ev.tx_probes;
  EXPECT_EQ(by_ev, qp->counters.tx_ev_probe);
}

// Whoever's queue the answer comes to, the worker that asked hears it.
TEST(EvProbes, AnswersFindTheirWorker) {
  Wiring s = probing();
  s.workers = 2;
  TwoNics net(s);  // the QPs live on worker 1, worker 0 polls planes too
  send_some(net, 100);
  Host& b = net.host[1];
  const auto qp = b.nic->query_qp(b.qpn);
  EXPECT_GT(qp->counters.tx_ev_probe, 8U);
  EXPECT_GE(qp->counters.rx_ev_answer + 4, qp->counters.tx_ev_probe);
  for (const Host& h : net.host) TwoNics::expect_conserved(h);
}

TEST(EvProbes, EncapsulatedOnesAreAnsweredOverSegmentsOfOurOwn) {
  TwoNics net(probing(path::EvFormat::kSrv6));
  send_some(net, 100);
  const auto qp = net.host[1].nic->query_qp(net.host[1].qpn);
  EXPECT_GT(qp->counters.tx_ev_probe, 8U);
  EXPECT_GE(qp->counters.rx_ev_answer + 4, qp->counters.tx_ev_probe);
}

// Who guesses ids, or answers for another, gets nothing.
TEST(EvProbes, AnAnswerToNothingIsDropped) {
  EvProbeTable table;
  const std::uint16_t id = table.begin(3, 77, 5);
  EXPECT_EQ(EvProbeTable::worker_of(id), 3U);
  EvProbeTable::Probe probe;
  EXPECT_FALSE(table.answered(static_cast<std::uint16_t>(id ^ 1U), probe));
  EXPECT_FALSE(table.answered(static_cast<std::uint16_t>(id ^ 0x8000U), probe)) << "of another worker";
  ASSERT_TRUE(table.answered(id, probe));
  EXPECT_EQ(probe.qpn, 77U);
  EXPECT_EQ(probe.of_qp, 5U);
  EXPECT_FALSE(table.answered(id, probe)) << "once";
  for (unsigned i = 0; i < 5000; ++i) {
    const std::uint16_t next = table.begin(3, i, static_cast<std::uint16_t>(i));
    ASSERT_EQ(EvProbeTable::worker_of(next), 3U);
    if (i % 2 == 0) {
      ASSERT_TRUE(table.answered(next, probe));
    }
  }
}

}  // namespace
}  // namespace mrc::nic
