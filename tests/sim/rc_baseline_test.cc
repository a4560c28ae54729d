// SPDX-License-Identifier: BSD-3-Clause
// The single-path baseline against what theory says of it, before anything is compared with it.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "sim/rc_simulation.h"

namespace mrc::sim {
namespace {

constexpr std::uint64_t kRate = 100'000'000'000;
constexpr double kWireBytes = 4096 + 24 + 78;
constexpr double kPacketNs = kWireBytes * 8e9 / kRate;

struct Shape {
  std::uint32_t hosts_per_t0 = 1;
  std::uint32_t spines = 1;
  Duration delay = microseconds(1);
  std::uint32_t queue_bytes = 0;
  bool ecn = false;
  std::vector<fabric::ScheduledChange> schedule;
};

/// Two T0s; the first half of the hosts is below the first.
RcSimulation world(const Shape& shape, std::uint64_t seed) {
  fabric::ClosSpec clos;
  clos.hosts = 2 * shape.hosts_per_t0;
  clos.hosts_per_t0 = shape.hosts_per_t0;
  clos.t1 = shape.spines;
  for (fabric::PortConfig* p : {&clos.host_port, &clos.t0_down, &clos.t0_up, &clos.t1_down}) {
    p->rate_bps = kRate;
    p->delay = shape.delay;
    p->data_queue_bytes = p == &clos.host_port ? 0 : shape.queue_bytes;
    p->ecn = {shape.ecn, 40'000, 160'000, 1.0, true};
  }
  auto topology = fabric::make_clos(clos);
  EXPECT_TRUE(topology);
  fabric::FabricConfig config;
  config.seed = seed;
  config.schedule = shape.schedule;
  auto fabric = fabric::Fabric::create(std::move(*topology), config);
  EXPECT_TRUE(fabric);
  RcSimOptions options;
  options.seed = seed;
  return RcSimulation(std::move(*fabric), options);
}

QpId connect(RcSimulation& sim, HostId a, HostId b, const RcConfig& config) {
  auto qp = sim.connect(a, b, {config, {}, {}});
  EXPECT_TRUE(qp) << qp.error().message;
  return *qp;
}

double took_ns(const Flow& f) {
  EXPECT_FALSE(f.completed.is_never());
  EXPECT_FALSE(f.failed);
  return static_cast<double>((f.completed - f.start).ns);
}

void finish(RcSimulation& sim) {
  const RunEnd end = sim.run(Time{} + seconds(10));
  EXPECT_EQ(end.violation, "");
  EXPECT_TRUE(end.quiet);
  EXPECT_TRUE(sim.network().conserves());
  EXPECT_EQ(sim.network().in_flight(), 0U);
}

RcConfig windowed(double rtt_ns, double bdps) {
  RcConfig c;
  c.window_bytes = static_cast<std::uint64_t>(rtt_ns * kRate / 8e9 * bdps);
  return c;
}

TEST(RcBaseline, OneFlowFillsTheLine) {
  for (const bool dcqcn : {false, true}) {
    RcSimulation sim = world({.ecn = true}, 1);
    RcConfig c = windowed(9400, 2);
    if (dcqcn) c.dcqcn = DcqcnParams::paper(kRate);
    const QpId qp = connect(sim, 0, 1, c);
    sim.send(qp, 16 << 20, Time{1});
    finish(sim);
    const double share = (16 << 20) * 8e9 / took_ns(sim.flows()[0]) / kRate;
    EXPECT_GE(share, 0.95) << "dcqcn " << dcqcn;
    EXPECT_LE(share, 4096 / kWireBytes) << "not above what headers leave";
    EXPECT_EQ(sim.total().tx_rtx, 0U);
  }
}

TEST(RcBaseline, AWindowLimitsToOneWindowAnRtt) {
  constexpr double kAckNs = 106 * 8e9 / kRate;
  constexpr double kRttNs = 8 * 1000 + 4 * kPacketNs + 4 * kAckNs;
  for (const unsigned pkts : {1U, 7U, 14U}) {
    RcSimulation sim = world({}, 1);
    RcConfig c;
    c.window_bytes = pkts * 4096;
    c.ack_every_pkts = 1;
    sim.send(connect(sim, 0, 1, c), 4 << 20, Time{1});
    finish(sim);
    const double rate = (4 << 20) / took_ns(sim.flows()[0]);
    EXPECT_NEAR(rate / (pkts * 4096 / kRttNs), 1, 0.02) << pkts;
  }
}

/// Of the line's packets, the part that is new: a loss costs itself and what follows until the NAK is back; a
/// lost retransmission costs a timeout, for a receiver says NAK once.
double go_back_n(double loss, double rtt_ns, double timeout_ns) {
  const double wasted = 1 + rtt_ns / kPacketNs;
  return 1 / (1 + loss * wasted + loss * loss * timeout_ns / kPacketNs);
}

TEST(RcBaseline, GoBackNMeetsTheClosedForm) {
  constexpr Duration kDelay = microseconds(20);
  constexpr double kRttNs = 8 * 20'000 + 4 * kPacketNs;
  constexpr std::uint64_t kBytes = 24 << 20;
  for (const double loss : {0.001, 0.01}) {
    double total_ns = 0;
    std::uint64_t losses = 0;
    constexpr int kSeeds = 12;
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
      RcSimulation sim = world({.delay = kDelay}, seed);
      fabric::Change change;
      change.action = fabric::Action::kFaults;
      change.faults.loss = loss;
      const auto& links = sim.network().topology().links;
      for (fabric::LinkId l = 0; l < links.size(); ++l)
        if (!links[l].from.is_host && !links[l].to.is_host) {
          change.target = {fabric::Scope::kLink, l};  // out of the first T0: data passes it, ACKs do not
          break;
        }
      ASSERT_TRUE(sim.network().apply(change, Time{1}));
      RcConfig c = windowed(kRttNs, 3);
      c.timeout = milliseconds(1);
      c.retries = 100;
      const QpId qp = connect(sim, 0, 1, c);
      sim.send(qp, kBytes, Time{1});
      finish(sim);
      total_ns += took_ns(sim.flows()[0]);
      losses += sim.total().go_backs + sim.total().timeouts;
    }
    ASSERT_GT(losses, 50U);
    const double measured = kSeeds * (kBytes / 4096.0) * kPacketNs / total_ns;
    const double expected = go_back_n(loss, kRttNs, 1e6);
    EXPECT_NEAR(measured / expected, 1, 0.15) << "loss " << loss << ": " << measured << " of " << expected;
    RecordProperty(loss < 0.005 ? "share_at_0.1_percent" : "share_at_1_percent", std::to_string(measured));
  }
}

/// Expected largest number of balls in a bin, exactly: P(max <= k) = n! / m^n [x^n] (sum_{j<=k} x^j/j!)^m.
double expected_max_load(unsigned balls, unsigned bins) {
  double expected = 0;
  for (unsigned k = 0; k < balls; ++k) {
    std::vector<double> ways(balls + 1, 0);
    ways[0] = 1;
    for (unsigned bin = 0; bin < bins; ++bin) {
      std::vector<double> next(balls + 1, 0);
      for (unsigned have = 0; have <= balls; ++have)
        for (unsigned j = 0; j <= k && have + j <= balls; ++j)
          next[have + j] += ways[have] * std::tgamma(have + j + 1) / std::tgamma(have + 1) /
                            std::tgamma(j + 1) / std::pow(bins, j);
      ways = next;
    }
    expected += 1 - ways[balls];
  }
  return expected;
}

TEST(RcBaseline, CollisionsAreBallsInBins) {
  EXPECT_NEAR(expected_max_load(2, 2), 1.5, 1e-9);
  constexpr unsigned kFlows = 16;
  constexpr std::uint64_t kBytes = 1 << 20;
  constexpr int kSeeds = 40;
  double slowest = 0;
  double used = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    RcSimulation sim = world({.hosts_per_t0 = kFlows, .spines = kFlows}, seed);
    for (HostId h = 0; h < kFlows; ++h)
      sim.send(connect(sim, h, kFlows + h, windowed(9400, 1)), kBytes, Time{1});
    finish(sim);
    const double alone_ns = kBytes / 4096.0 * kPacketNs;
    double last = 0;
    for (const Flow& f : sim.flows()) last = std::max(last, took_ns(f));
    slowest += (last - 9400) / alone_ns;
    unsigned links_used = 0;
    const auto& topology = sim.network().topology();
    for (fabric::LinkId l = 0; l < topology.links.size(); ++l) {
      const auto& spec = topology.links[l];
      if (spec.from.is_host || spec.to.is_host || topology.switches[spec.from.id].tier != 0) continue;
      links_used += sim.network().link(l).counters.offered[static_cast<int>(fabric::Kind::kData)] > 0 ? 1 : 0;
    }
    used += links_used;
  }
  EXPECT_NEAR(used / kSeeds, kFlows * (1 - std::pow(1 - 1.0 / kFlows, kFlows)), 0.6)
      << "bins that are not empty";
  EXPECT_NEAR(slowest / kSeeds / expected_max_load(kFlows, kFlows), 1, 0.12) << "the fullest bin";
}

// DCQCN is made for networks that do not drop: with buffers to match it shares a receiver's line, and keeps
// the queue at the marks; a window alone fills the buffer to its sum.
TEST(RcBaseline, DcqcnSharesAnIncast) {
  constexpr unsigned kSenders = 8;
  constexpr std::uint64_t kBytes = 24 << 20;
  const auto run = [](bool dcqcn) {
    RcSimulation sim = world({.hosts_per_t0 = kSenders + 1, .spines = kSenders, .ecn = true}, 3);
    RcConfig c;
    c.window_bytes = 1 << 20;
    if (dcqcn) c.dcqcn = DcqcnParams::paper(kRate);
    for (HostId h = 0; h < kSenders; ++h) sim.send(connect(sim, h, kSenders + 1, c), kBytes, Time{1});
    finish(sim);
    double last = 0;
    double first = 1e18;
    for (const Flow& f : sim.flows()) {
      last = std::max(last, took_ns(f));
      first = std::min(first, took_ns(f));
    }
    const RcCounters t = sim.total();
    EXPECT_EQ(t.tx_rtx, 0U);
    EXPECT_EQ(t.rx_cnp, t.tx_cnp);
    struct {
      double share, spread, marked;
    } out{kSenders * kBytes * 8e9 / last / kRate, first / last,
          static_cast<double>(t.rx_ce) / static_cast<double>(t.rx_in_order)};
    return out;
  };
  const auto with = run(true);
  const auto without = run(false);
  EXPECT_GT(with.share, 0.5);
  EXPECT_GT(with.spread, 0.8);
  EXPECT_LT(with.marked, 0.2);
  EXPECT_GT(without.share, 0.95);
  EXPECT_GT(without.marked, 0.95);
}

// Without such buffers its first reaction, an RTT and a CNP later, comes after the loss.
TEST(RcBaseline, GoBackNSurvivesAnIncastThatOverflows) {
  RcSimulation sim = world({.hosts_per_t0 = 9, .spines = 9, .queue_bytes = 1'000'000, .ecn = true}, 3);
  RcConfig c;
  c.window_bytes = 1 << 20;
  c.timeout = milliseconds(1);
  c.dcqcn = DcqcnParams::nic(kRate);
  for (HostId h = 0; h < 8; ++h) sim.send(connect(sim, h, 9, c), 2 << 20, Time{1});
  finish(sim);
  for (const Flow& f : sim.flows()) EXPECT_GT(took_ns(f), 0);
  EXPECT_GT(sim.total().tx_rtx, 100U);
  EXPECT_GT(sim.total().go_backs, 0U);
}

TEST(RcBaseline, ADeadPathStopsItUntilItReturnsOrRetriesEnd) {
  Shape shape;
  shape.schedule.push_back(
      {Time{} + microseconds(50), {fabric::Action::kDown, {fabric::Scope::kHostPort, 0}}});
  shape.schedule.push_back(
      {Time{} + microseconds(950), {fabric::Action::kUp, {fabric::Scope::kHostPort, 0}}});
  RcConfig c = windowed(9400, 2);
  c.timeout = microseconds(200);
  RcSimulation sim = world(shape, 1);
  sim.send(connect(sim, 0, 1, c), 2 << 20, Time{1});
  finish(sim);
  EXPECT_GT(took_ns(sim.flows()[0]), 900e3);
  EXPECT_GE(sim.total().timeouts, 3U);

  shape.schedule.pop_back();
  RcSimulation dead = world(shape, 1);
  dead.send(connect(dead, 0, 1, c), 2 << 20, Time{1});
  finish(dead);
  EXPECT_TRUE(dead.flows()[0].failed);
  EXPECT_EQ(dead.total().timeouts, c.retries);
}

TEST(RcBaseline, TheSameSeedGivesTheSameRun) {
  const auto run = [](std::uint64_t seed) {
    RcSimulation sim = world({.hosts_per_t0 = 8, .spines = 4, .queue_bytes = 200'000, .ecn = true}, seed);
    RcConfig c;
    c.window_bytes = 1 << 20;
    c.timeout = milliseconds(1);
    c.dcqcn = DcqcnParams::nic(kRate);
    for (HostId h = 0; h < 8; ++h) sim.send(connect(sim, h, 8 + (h + 3) % 8, c), 1 << 20, Time{1});
    finish(sim);
    std::vector<std::int64_t> times;
    for (const Flow& f : sim.flows()) times.push_back(f.completed.ns);
    return times;
  };
  EXPECT_EQ(run(5), run(5));
  EXPECT_NE(run(5), run(6));
}

TEST(RcBaseline, RefusesWhatIsNotThere) {
  RcSimulation sim = world({}, 1);
  EXPECT_FALSE(sim.connect(0, 2, {}));
  EXPECT_FALSE(sim.connect(0, 1, {{}, std::uint8_t{7}, {}}));
  RcConfig no_time;
  no_time.timeout = {};
  EXPECT_FALSE(sim.connect(0, 1, {no_time, {}, {}}));
  RcConfig bad;
  bad.dcqcn = DcqcnParams::paper(0);
  EXPECT_FALSE(sim.connect(0, 1, {bad, {}, {}}));
}

}  // namespace
}  // namespace mrc::sim
