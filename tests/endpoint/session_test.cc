// SPDX-License-Identifier: BSD-3-Clause
// Two sessions over ring ports in one process: what is verified is verified, and a placement that does not
// happen fails the test. One EAL serves all tests of this program.
#include "session.h"

#include <gtest/gtest.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <algorithm>

#include <cstring>
#include <memory>

#include "end.h"
#include "ethdev/eal.h"
#include "nic/clock.h"
#include "phase_stats.h"
#include "ring/ring_pair.h"

namespace mrc::endpoint {
namespace {

class EalEnvironment : public ::testing::Environment {
 public:
  void SetUp() override {
    Result<ethdev::Eal> eal = ethdev::Eal::init(ethdev::EalConfig::for_tests());
    ASSERT_TRUE(eal) << eal.error().message;
    eal_.emplace(*std::move(eal));
  }
  void TearDown() override { eal_.reset(); }

 private:
  std::optional<ethdev::Eal> eal_;
};
const auto* const kEnvironment = ::testing::AddGlobalTestEnvironment(new EalEnvironment);

/// A serving and a running end, polled in turn until both are done.
class Loop {
 public:
  explicit Loop(const config::EndpointConfig& config) : config_{config, config} {
    ring::RingPairConfig rings;
    rings.planes = config.plane_count;
    Result<std::unique_ptr<ring::RingPair>> pair = ring::RingPair::create(rings);
    EXPECT_TRUE(pair) << pair.error().message;
    rings_ = *std::move(pair);
  }

  /// `tap`: rx_burst of the serving end. `on_phase`: of the serving end.
  void run(nic::BurstFn tap = nullptr, std::function<void(PhaseRunner&)> on_phase = {}) {
    for (std::size_t i = 0; i < 2; ++i) open(i, i == 0 ? tap : nullptr, i == 0 ? on_phase : nullptr);
    const Time give_up = clock_.now() + seconds(60);
    while (!session_[0]->over() || !session_[1]->over()) {
      for (std::size_t i = 0; i < 2; ++i) end_[i]->poll();
      for (std::size_t i = 0; i < 2; ++i) {
        if (i == 0 && ++turns_ % serve_steps_every != 0) continue;
        session_[i]->step(clock_.now());
        if (during) during(*this);
        const std::string lines = session_[i]->exchange().take_output();
        if (!lines.empty()) session_[1 - i]->exchange().on_bytes(lines, clock_.now());
      }
      ASSERT_LT(clock_.now(), give_up) << "hangs";
    }
    for (std::size_t i = 0; i < 2; ++i) results[i] = session_[i]->take_results();
    for (std::size_t i = 0; i < 2; ++i) failure[i] = session_[i]->failure();
    for (auto& s : session_) s.reset();
    for (auto& e : end_) {
      const nic::MbufAccount a = e->finish();
      EXPECT_TRUE(a.balanced()) << a.payload_out << " payload and " << a.control_out
                                << " control mbufs leaked";
    }
  }
  Session& session(std::size_t i) { return *session_[i]; }
  config::EndpointConfig& config(std::size_t i) { return config_[i]; }
  [[nodiscard]] Time now() const { return clock_.now(); }
  /// A QP of that end, null before it has one.
  const transport::Qp* qp(std::size_t i) {
    for (std::uint32_t qpn = 0; qpn < 1U << 24; ++qpn) {
      if (const transport::Qp* found = end_[i]->nic().worker(0).qp(qpn)) return found;
    }
    return nullptr;
  }

  std::function<void(Loop&)> during;
  unsigned serve_steps_every = 1;  ///< rounds: more, and the messages of the running end come in batches
  std::vector<report::PhaseResult> results[2];
  std::optional<ExchangeFailure> failure[2];

 private:
  unsigned turns_ = 0;
  void open(std::size_t i, nic::BurstFn tap, std::function<void(PhaseRunner&)> on_phase) {
    config::EndpointConfig& c = config_[i];
    c.profile = config::Profile::kRing;
    fill_addresses(c, static_cast<std::uint8_t>(i + 1));
    nic::NicConfig n;
    n.max_pmtu = c.qp.attr.path_mtu;
    n.max_qps_per_worker = std::max(n.max_qps_per_worker, c.workload.qps);
    n.icrc = c.net.icrc == config::IcrcPolicy::kVerify ? nic::IcrcMode::kVerify : nic::IcrcMode::kIgnore;
    for (unsigned p = 0; p < c.planes.size(); ++p) {
      nic::PlanePort port;
      port.dpdk_port = rings_->port(static_cast<unsigned>(i), p);
      port.mac = *MacAddress::parse(c.planes[p].mac);
      port.ips = {*IpAddress::parse(c.planes[p].ip)};
      port.rx_burst = tap;
      n.planes.push_back(port);
    }
    Result<std::unique_ptr<End>> end = End::create(n, {0});
    ASSERT_TRUE(end) << end.error().message;
    end_[i] = *std::move(end);
    SessionOptions o;
    o.seed = 11;
    o.clock = [this] { return clock_.now(); };
    o.log = [](const std::string&) {};
    o.on_phase = std::move(on_phase);
    session_[i] = std::make_unique<Session>(i == 0 ? ExchangeRole::kServe : ExchangeRole::kRun, c, *end_[i],
                                            std::move(o), clock_.now());
  }

  nic::TscClock clock_;
  config::EndpointConfig config_[2];
  std::unique_ptr<ring::RingPair> rings_;
  std::unique_ptr<End> end_[2];
  std::unique_ptr<Session> session_[2];
};

config::EndpointConfig workload(config::WorkloadKind kind, std::uint64_t size, std::uint64_t iterations) {
  config::EndpointConfig c;
  c.plane_count = 2;
  c.ev.count = 16;
  c.workload.kind = kind;
  c.workload.size_bytes = size;
  c.workload.iterations = iterations;
  return c;
}

void expect_clean(const Loop& loop, std::size_t messages, std::uint64_t size) {
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(loop.failure[i]) << loop.failure[i]->message;
  ASSERT_EQ(loop.results[0].size(), 1U);
  ASSERT_EQ(loop.results[1].size(), 1U);
  EXPECT_EQ(loop.results[1][0].messages_completed, messages);
  EXPECT_EQ(loop.results[0][0].verification.messages, messages);
  EXPECT_EQ(loop.results[0][0].verification.bytes, messages * size);
  EXPECT_EQ(loop.results[0][0].verification.messages_bad, 0U) << loop.results[0][0].verification.first_bad;
  EXPECT_EQ(loop.results[1][0].peer_verification.messages, messages);
  EXPECT_EQ(loop.results[1][0].latency.samples, messages);
  EXPECT_TRUE(loop.results[0][0].conserved) << loop.results[0][0].conservation;
  EXPECT_TRUE(loop.results[1][0].conserved) << loop.results[1][0].conservation;
}

TEST(Session, EachWorkloadIsVerified) {
  for (const auto kind :
       {config::WorkloadKind::kWriteBw, config::WorkloadKind::kWriteImm, config::WorkloadKind::kWriteLat}) {
    for (const std::uint64_t size : {0U, 1U, 4096U, 30001U}) {
      SCOPED_TRACE(std::string(name_of(kind)) + " " + std::to_string(size));
      Loop loop(workload(kind, size, 600));
      loop.run();
      expect_clean(loop, 600, size);
    }
  }
}

TEST(Session, BothWaysOverManyQps) {
  config::EndpointConfig c = workload(config::WorkloadKind::kWriteBw, 9000, 50);
  c.workload.qps = kMaxInlineQps + 4;  // through the queue
  c.workload.bidirectional = true;
  Loop loop(c);
  loop.run();
  expect_clean(loop, 50 * c.workload.qps, 9000);
  EXPECT_EQ(loop.results[1][0].verification.messages, 50 * c.workload.qps);
}

// More receives than a queue to a worker holds: they are posted as it takes them.
TEST(Session, WriteImmOverMoreQpsThanTheQueueHoldsReceivesFor) {
  config::EndpointConfig c = workload(config::WorkloadKind::kWriteImm, 64, 3);
  c.workload.qps = 300;
  Loop loop(c);
  ASSERT_GT(c.workload.qps * c.qp.limits.max_recv_wr, 65536U);
  loop.run();
  expect_clean(loop, 3 * c.workload.qps, 64);
}

TEST(Session, ASweepRunsEverySizeOnTheSameQps) {
  config::EndpointConfig c = workload(config::WorkloadKind::kWriteImm, 0, 300);
  c.workload.sweep_bytes = {1, 70000, 64};
  Loop loop(c);
  loop.run();
  ASSERT_EQ(loop.results[1].size(), 3U);
  for (const auto& phase : loop.results[1]) EXPECT_EQ(phase.peer_verification.messages, 300U);
}

TEST(Session, AReportAndTheNextPhaseMayComeInOnePiece) {
  for (const auto kind : {config::WorkloadKind::kWriteBw, config::WorkloadKind::kWriteLat}) {
    for (const bool both_ways : {false, true}) {
      config::EndpointConfig c = workload(kind, 0, 2);
      c.workload.sweep_bytes = std::vector<std::uint64_t>(20, 64);
      c.workload.bidirectional = both_ways && kind != config::WorkloadKind::kWriteLat;
      Loop loop(c);
      loop.serve_steps_every = 300;
      loop.run();
      for (const auto& failure : loop.failure) EXPECT_FALSE(failure) << failure->message;
      EXPECT_EQ(loop.results[0].size(), 20U);
      EXPECT_EQ(loop.results[1].size(), 20U);
    }
  }
}

TEST(Session, AReportAndTheByeMayComeInOnePiece) {
  for (const auto kind : {config::WorkloadKind::kWriteBw, config::WorkloadKind::kWriteLat}) {
    Loop loop(workload(kind, 4096, 50));
    loop.serve_steps_every = 300;
    loop.run();
    expect_clean(loop, 50, 4096);
    for (const auto& results : loop.results) EXPECT_FALSE(results.at(0).interrupted);
  }
}

TEST(Session, VerificationIsOffAtBothEndsOrAtNone) {
  for (const std::size_t who : {0U, 1U}) {
    Loop loop(workload(config::WorkloadKind::kWriteBw, 3000, 100));
    loop.config(who).workload.verify = false;
    loop.run();
    for (std::size_t i = 0; i < 2; ++i) {
      ASSERT_FALSE(loop.failure[i]) << loop.failure[i]->message;
      report::RunResult r;
      r.role = i == 0 ? "serve" : "run";
      r.phases = loop.results[i];
      EXPECT_EQ(report::find_failures(r), std::vector<std::string>{}) << r.role;
      EXPECT_FALSE(r.phases[0].verification.on || r.phases[0].peer_verification.on);
      EXPECT_EQ(r.phases[0].verification.method,
                i == who ? "--no-verify at this end; bytes were not looked at"
                         : "--no-verify at the other end; bytes were not looked at");
    }
  }
}

TEST(Session, AServingEndKeepsToItsMemoryLimit) {
  Loop loop(workload(config::WorkloadKind::kWriteBw, 4096, 10));
  loop.config(0).oob.memory_limit_bytes = 1U << 20;
  loop.run();
  ASSERT_TRUE(loop.failure[1]);
  EXPECT_NE(loop.failure[1]->message.find("which gives 1 MiB at most (oob.memory_limit)"), std::string::npos)
      << loop.failure[1]->message;
}

TEST(Session, PhasesComeInOrder) {
  for (const std::uint32_t index : {1U, 0xFFFFFFFFU}) {
    Loop loop(workload(config::WorkloadKind::kWriteBw, 64, 10));
    bool sent = false;
    loop.during = [&](Loop& l) {
      if (sent || l.session(0).exchange().state() != Exchange::State::kRunning) return;
      sent = true;
      l.session(0).exchange().on_bytes(encode(PhaseStart{index, 64, 1, 1, 0}), l.now());
    };
    loop.run();
    ASSERT_TRUE(loop.failure[0]);
    EXPECT_NE(loop.failure[0]->message.find("where 0 of at most 64 was due"), std::string::npos)
        << loop.failure[0]->message;
  }
}

// --- a placement that does not happen
// ---------------------------------------------------------------------------

TEST(Session, ASkippedPlacementFails) {
  Loop loop(workload(config::WorkloadKind::kWriteImm, 20000, 40));
  loop.run(nullptr, [](PhaseRunner& phase) { phase.lose_placement(17, 8192, 1); });
  ASSERT_EQ(loop.results[0].size(), 1U);
  EXPECT_EQ(loop.results[0][0].verification.messages_bad, 1U);
  EXPECT_NE(loop.results[0][0].verification.first_bad.find("message 17, byte 8192"), std::string::npos)
      << loop.results[0][0].verification.first_bad;
  report::RunResult run;
  run.role = "run";
  run.phases = loop.results[1];
  const std::vector<std::string> failures = report::find_failures(run);
  ASSERT_EQ(failures.size(), 1U);
  EXPECT_NE(failures[0].find("the peer: 1 of 40 messages are wrong"), std::string::npos) << failures[0];
}

constexpr std::size_t kBthOpcode = 14 + 40 + 8;  // Ethernet, IPv6, UDP
constexpr std::size_t kRethVa = kBthOpcode + 12 + 4 + 4;

/// The serving end's port: the address of one packet in the middle is moved into another slot, so what it
/// carried is placed, but not where it belongs.
std::uint16_t misplace_one(std::uint16_t port, std::uint16_t queue, rte_mbuf** pkts, std::uint16_t n) {
  static int writes = 0;
  const std::uint16_t got = rte_eth_rx_burst(port, queue, pkts, n);
  for (std::uint16_t i = 0; i < got; ++i) {
    auto* frame = rte_pktmbuf_mtod(pkts[i], unsigned char*);
    if (frame[kBthOpcode] != 0xC7 || ++writes != 100) continue;
    frame[kRethVa + 6] ^= 0x10;  // 4096 bytes away
  }
  return got;
}

TEST(Session, AMisplacedPacketFails) {
  config::EndpointConfig c = workload(config::WorkloadKind::kWriteBw, 65536, 60);
  c.net.icrc = config::IcrcPolicy::kIgnore;  // the change on the way would be caught there
  Loop loop(c);
  loop.run(misplace_one);
  ASSERT_EQ(loop.results[1].size(), 1U);
  EXPECT_GE(loop.results[1][0].peer_verification.messages_bad, 1U);
}

// --- responder flow control
// -------------------------------------------------------------------------------------

std::uint64_t counter(const report::PhaseResult& r, const std::string& name) {
  for (const auto& [key, value] : r.transport) {
    if (key == name) return value;
  }
  ADD_FAILURE() << "no counter " << name;
  return 0;
}

// A serving end that looks at its messages now and then tells the other end's NSCC, which takes off its
// window.
TEST(Session, MessagesThatWaitToBeCheckedHoldTheRunningEndBack) {
  for (const bool penalty : {false, true}) {
    config::EndpointConfig c = workload(config::WorkloadKind::kWriteImm, 65536, 400);
    c.cc.mode = config::CcMode::kNscc;
    c.cc.rate_gbps = 100;
    c.qp.policy.base_rtt = milliseconds(50);  // no delay of a slow build takes from the window
    Loop loop(c);
    loop.config(0).qp.policy.receive_penalty = penalty;
    loop.serve_steps_every = 100;
    loop.run();
    expect_clean(loop, 400, 65536);
    const std::uint64_t told = counter(loop.results[0][0], "tx_sack_penalty");
    EXPECT_EQ(told != 0, penalty) << told;
    EXPECT_LE(told, counter(loop.results[0][0], "tx_sack"));
    EXPECT_EQ(counter(loop.results[1][0], "tx_sack_penalty"), 0U) << "it receives nothing";
    const report::ControllerResult& cc = loop.results[1][0].controllers.at(0);
    EXPECT_EQ(cc.cwnd_min_bytes < cc.cwnd_max_bytes, penalty) << cc.cwnd_min_bytes;
  }
}

// --- which EVs carry it
// -----------------------------------------------------------------------------------------

TEST(Session, ADeniedEvCarriesNothingAndIsTold) {
  config::EndpointConfig c = workload(config::WorkloadKind::kWriteBw, 65536, 100);
  c.ev.denied.resize(2);
  c.ev.denied[0].index = 3;
  c.ev.denied[1].index = 8;
  Loop loop(c);
  loop.run();
  expect_clean(loop, 100, 65536);
  const report::PhaseResult& r = loop.results[1][0];
  for (const report::EvResult& e : r.evs) {
    EXPECT_EQ(e.state, e.ev == 3 || e.ev == 8 ? "DENIED" : "GOOD") << e.ev;
    EXPECT_EQ(e.tx_pkts == 0, e.ev == 3 || e.ev == 8) << e.ev;
  }
  ASSERT_EQ(r.ev_events.events.size(), 2U);
  EXPECT_EQ(r.ev_events.dropped, 0U);
  for (const report::EvEventResult& e : r.ev_events.events) {
    EXPECT_EQ(e.to, "DENIED");
    EXPECT_EQ(e.cause, "controller");
    EXPECT_LT(e.t_ns, 0) << "before the phase";
  }
}

TEST(Session, MoreEvEventsThanAreKeptAreCounted) {
  config::EndpointConfig c = workload(config::WorkloadKind::kWriteBw, 64, 10);
  c.plane_count = 2;
  c.ev.count = 1200;
  c.ev.count_auto = false;
  c.workload.qps = 6;
  for (int ev = 0; ev < 300; ++ev) c.ev.denied.emplace_back().index = ev;
  Loop loop(c);
  loop.run();
  const report::EvEvents& e = loop.results[1].at(0).ev_events;
  EXPECT_EQ(e.events.size(), kMostEvEvents);
  EXPECT_EQ(e.events.size() + e.dropped, 6U * 300) << "256 of a QP, 1024 of a phase";
}

TEST(Session, WhatChoosesPathsReachesTheQps) {
  config::EndpointConfig c = workload(config::WorkloadKind::kWriteBw, 64, 10);
  c.paths.rtt_reroute = true;
  c.paths.active = 6;
  c.paths.selector = path::Selector::kMrc;
  Loop loop(c);
  bool looked = false;
  loop.during = [&](Loop& l) {
    if (looked || l.session(1).exchange().state() != Exchange::State::kRunning) return;
    looked = true;
    for (const std::size_t end : {0U, 1U}) {
      const transport::Qp* const qp = l.qp(end);
      ASSERT_NE(qp, nullptr);
      EXPECT_TRUE(qp->policy().ev.rtt_reroute);
      EXPECT_EQ(qp->policy().ev.active_evs, 6U);
    }
  };
  loop.run();
  EXPECT_TRUE(looked);
}

std::size_t carrying(const report::PhaseResult& r) {
  return static_cast<std::size_t>(
      std::count_if(r.evs.begin(), r.evs.end(), [](const auto& e) { return e.tx_pkts != 0; }));
}

TEST(Session, AnActiveSetLeavesBackupsIdle) {
  config::EndpointConfig c = workload(config::WorkloadKind::kWriteBw, 65536, 100);
  c.paths.active = 4;
  Loop loop(c);
  loop.run();
  expect_clean(loop, 100, 65536);
  EXPECT_EQ(carrying(loop.results[1][0]), 4U);
}

TEST(Session, TheSelectorIsAsConfigured) {
  config::EndpointConfig c = workload(config::WorkloadKind::kWriteBw, 65536, 100);
  c.paths.selector = path::Selector::kSingle;
  Loop single(c);
  single.run();
  expect_clean(single, 100, 65536);
  EXPECT_EQ(carrying(single.results[1][0]), c.plane_count) << "one EV a plane";
  c.paths.selector = path::Selector::kOblivious;
  Loop oblivious(c);
  oblivious.run();
  EXPECT_EQ(carrying(oblivious.results[1][0]), c.ev.count);
}

// --- early ends
// -------------------------------------------------------------------------------------------------

TEST(Session, StopAtEitherEndGivesEqualCounts) {
  for (const std::size_t who : {0U, 1U}) {
    config::EndpointConfig c = workload(config::WorkloadKind::kWriteBw, 5000, 0);
    c.workload.duration_s = 60;
    Loop loop(c);
    int rounds = 0;
    loop.during = [&](Loop& l) {
      if (++rounds == 20000) l.session(who).request_stop();
    };
    loop.run();
    for (int i = 0; i < 2; ++i) EXPECT_FALSE(loop.failure[i]) << loop.failure[i]->message;
    ASSERT_EQ(loop.results[1].size(), 1U);
    EXPECT_TRUE(loop.results[1][0].interrupted);
    EXPECT_GT(loop.results[1][0].messages_completed, 0U);
    EXPECT_EQ(loop.results[1][0].messages_completed, loop.results[0][0].verification.messages);
  }
}

TEST(Session, NoLinkIsTold) {
  config::EndpointConfig c = workload(config::WorkloadKind::kWriteBw, 5000, 0);
  c.workload.duration_s = 60;
  Loop loop(c);
  Time now{1};
  int rounds = 0;
  loop.during = [&](Loop& l) {
    if (++rounds < 20000) return;
    now = now + milliseconds(200);
    l.session(1).note_links({false, false}, now);
  };
  loop.run();
  ASSERT_TRUE(loop.failure[1]);
  EXPECT_EQ(loop.failure[1]->message, "all 2 planes are down");
  EXPECT_EQ(loop.failure[1]->code, ExitCode::kTransport);
  EXPECT_EQ(loop.failure[0]->code, ExitCode::kTransport);
  ASSERT_EQ(loop.results[1].size(), 1U) << "what was measured is still told";
}

TEST(Session, ASmallReceiveQueueLimitsWhatIsUnderWay) {
  config::EndpointConfig c = workload(config::WorkloadKind::kWriteImm, 64, 200);
  c.qp.limits.max_recv_wr = 8;
  Loop loop(c);
  loop.run();
  expect_clean(loop, 200, 64);
}

}  // namespace
}  // namespace mrc::endpoint
