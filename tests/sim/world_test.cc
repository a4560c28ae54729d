// SPDX-License-Identifier: BSD-3-Clause
// Whole scenarios: the same seed gives the same bytes, counts add up, workloads do what their names say.
#include "sim/world.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "run_scenario.h"
#include "sim/median.h"
#include "sim/outcome.h"

namespace mrc::sim {
namespace {

constexpr const char* kFaulty =
    "network: {planes: 4, hosts: 8, hosts_per_t0: 4, t1: 4}\n"
    "workload: {shape: permutation, bytes: 1M}\n"
    "faults:\n"
    "  - {kind: loss, place: fabric, probability: 0.005}\n"
    "  - {at_us: 20, for_us: 100, kind: down, place: uplink, random: true}\n"
    "  - {kind: duplicate, place: plane, plane: 1, probability: 0.01}\n"
    "  - {kind: corrupt, place: plane, plane: 2, probability: 0.01}\n"
    "  - {kind: reorder, place: plane, plane: 3, probability: 0.02, delay_us: 3}\n";

TEST(World, TheSameSeedGivesTheSameBytesAndAnotherSeedOthers) {
  const Outcome a = run(kFaulty);
  EXPECT_TRUE(a.pass()) << to_table(a);
  EXPECT_EQ(to_json(a), to_json(run(kFaulty)));
  EXPECT_NE(to_json(a), to_json(run(kFaulty, {{"seed", "2"}})));
}

TEST(World, EveryPacketIsAccountedForUnderFaultsOfAllKinds) {
  for (const char* seed : {"1", "2", "3", "4", "5", "6", "7", "8"}) {
    const Outcome o = run(kFaulty, {{"seed", seed}});
    EXPECT_TRUE(o.pass()) << to_table(o);
    EXPECT_EQ(o.completed, 8U);
    std::uint64_t dropped = 0;
    for (const auto& [name, n] : o.network)
      if (name.starts_with("dropped_") && name != "dropped_port_down") dropped += n;
    EXPECT_EQ(o.count(o.network, "sent") + o.count(o.network, "duplicated"),
              o.count(o.network, "delivered") + dropped + o.count(o.network, "refused_at_port"));
    EXPECT_GT(dropped, 0U);
    EXPECT_GT(o.count(o.network, "corrupt_dropped"), 0U);
    EXPECT_GT(o.count(o.packets, "rtx"), 0U);
  }
}

TEST(World, AHealthyNetworkLosesNothingCondemnsNothingAndRunsAtLineRate) {
  const Outcome o = run("network: {hosts: 4}\nworkload: {bytes: 16M, dst: 3}\n");
  EXPECT_TRUE(o.pass()) << to_table(o);
  EXPECT_EQ(o.count(o.packets, "rtx"), 0U);
  EXPECT_EQ(o.count(o.evs, "assumed_bad"), 0U);
  EXPECT_LT(o.tail_over_ideal(), 1.03);
}

TEST(World, FaultsAreAttributedAndRepaired) {
  const Outcome o =
      run("network: {planes: 4, hosts: 4, delay_us: 1}\nworkload: {bytes: 8M, dst: 3}\n"
          "faults: [{at_us: 50, kind: down, place: uplink, plane: 1, index: 0, uplink: 2}]\n");
  EXPECT_TRUE(o.pass()) << to_table(o);
  ASSERT_EQ(o.faults.size(), 1U);
  EXPECT_GT(o.faults[0].lost_data, 0U);
  EXPECT_EQ(o.faults[0].open, 0U);
  EXPECT_GT(o.faults[0].last_sent_into_ns, 0);
  EXPECT_GT(o.faults[0].last_repair_ns, 0);
  EXPECT_LT(o.faults[0].last_repair_ns, 8 * o.base_rtt_ns) << to_table(o);
  EXPECT_GT(o.count(o.evs, "assumed_bad"), 0U);
  EXPECT_EQ(o.count(o.evs, "false_assumed_bad"), 0U);
  EXPECT_EQ(o.count(o.packets, "timer_expiries"), 0U);
}

// A QP that only receives has one EV for its answers until EV Probes prove another (D19). On a single plane
// nothing else brings them, so that one on a dead path is a flow that never ends.
TEST(World, AnswersFindALivingWayOnASinglePlane) {
  const auto failed = [](const char* at_us, const char* probes, const std::string& seed) {
    const Outcome o =
        run("network: {planes: 1, hosts: 8, hosts_per_t0: 4, t1: 4}\n"
            "workload: {shape: permutation, bytes: 1M}\n",
            {{"faults", std::string("[{kind: down, place: uplink, uplink: 1, at_us: ") + at_us + "}]"},
             {"qp.reverse_probes", probes},
             {"seed", seed}});
    EXPECT_EQ(o.violation, "") << seed;
    EXPECT_EQ(o.completed + o.failed, 8U) << seed;
    return o.failed;
  };
  for (const char* at_us : {"0", "30"}) {
    std::size_t failures = 0;
    for (unsigned seed = 1; seed <= 20; ++seed) {
      EXPECT_EQ(failed(at_us, "true", std::to_string(seed)), 0U) << "from " << at_us << " us, seed " << seed;
      failures += failed(at_us, "false", std::to_string(seed));
    }
    EXPECT_GT(failures, 10U) << "the control: without them flows fail";
  }
}

// I8 of names: planes have an order, in which they take turns, but none is another network for it. The same
// link dies on each of them in turn; what it costs does not depend on which.
TEST(World, NoPlaneIsSpecial) {
  std::vector<double> tails, shares;
  for (unsigned plane = 0; plane < 4; ++plane) {
    std::vector<double> tail, share;
    for (unsigned seed = 1; seed <= 10; ++seed) {
      const Outcome o =
          run("network: {planes: 4, hosts: 8, hosts_per_t0: 4, t1: 8}\n"
              "workload: {shape: permutation, bytes: 4M}\n",
              {{"faults",
                "[{at_us: 30, kind: down, place: uplink, uplink: 2, plane: " + std::to_string(plane) + "}]"},
               {"seed", std::to_string(seed)}});
      EXPECT_TRUE(o.pass()) << to_table(o);
      tail.push_back(o.tail_over_ideal());
      share.push_back(static_cast<double>(o.planes_out[plane].received_bytes) /
                      static_cast<double>(o.received_bytes));
    }
    tails.push_back(median_of(tail));
    shares.push_back(median_of(share));
  }
  for (unsigned plane = 1; plane < 4; ++plane) {
    EXPECT_NEAR(tails[plane], tails[0], 0.05 * tails[0]) << plane;
    EXPECT_NEAR(shares[plane], shares[0], 0.005) << plane;
  }
}

// Six of eight ways of one of two planes are dead and backups replace what dies, so that the plane falls
// silent again and again. It must come back by the EVs that live, not when their turn among all comes.
TEST(World, APlaneThatIsMostlyDeadCarriesWhatItCan) {
  std::vector<double> tails;
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const Outcome o =
        run("network: {planes: 2, hosts: 16, hosts_per_t0: 4, t1: 8}\n"
            "paths: {evs: 512, active: 128}\n"
            "workload: {shape: incast, dst: 12, senders: 2, bytes: 16M}\n"
            "faults: [{kind: down, place: uplink, index: 3, uplink: 0, number: 6, plane: 0}]\n",
            {{"seed", std::to_string(seed)}});
    EXPECT_TRUE(o.pass()) << seed << "\n" << to_table(o);
    tails.push_back(o.tail_over_ideal());
  }
  EXPECT_LT(median_of(tails), 1.35) << "1.5 when all EVs are asked in turn";
}

// Under incast thousands of packets are trimmed, and of a hundred notices one is lost: the requestor hears as
// little of such a packet as of a lost one, so that its EV is assumed bad (D9). That is no false verdict.
TEST(World, ALostNoticeOfATrimmedPacketLooksLikeALoss) {
  for (const char* seed : {"1", "2", "3"}) {
    const Outcome o =
        run("network: {planes: 2, hosts: 32, hosts_per_t0: 8, t1: 4}\n"
            "workload: {shape: incast, dst: 0, senders: 31, bytes: 1M}\n"
            "faults: [{kind: loss, place: fabric, probability: 0.01}]\n",
            {{"seed", seed}});
    EXPECT_TRUE(o.pass()) << seed << "\n" << to_table(o);
    const auto verdicts = o.count(o.evs, "assumed_bad");
    EXPECT_GT(verdicts, o.count(o.evs, "lost_data") + 50) << "more than EVs that lost data themselves";
    EXPECT_LE(o.count(o.evs, "false_assumed_bad"), verdicts / 50) << to_table(o);
    EXPECT_EQ(o.count(o.evs, "recovered"), verdicts);
  }
}

TEST(World, WorkloadsCompleteAndShareControllers) {
  for (const char* shape : {"permutation", "incast", "ring_all_reduce", "all_to_all", "mix"}) {
    const Outcome o = run("network: {hosts: 8, hosts_per_t0: 4}\n", {{"workload.shape", shape},
                                                                     {"workload.senders", "7"},
                                                                     {"workload.bytes", "256K"},
                                                                     {"workload.qps", "3"},
                                                                     {"workload.rounds", "3"}});
    EXPECT_TRUE(o.pass()) << shape << "\n" << to_table(o);
    EXPECT_EQ(o.rounds.samples, 3U) << shape;
    EXPECT_EQ(o.completed, o.flows.size()) << shape;
  }
}

TEST(World, ARingPassesAChunkOnOnlyWhenItHasArrived) {
  const Outcome o = run("network: {hosts: 4}\nworkload: {shape: ring_all_reduce, bytes: 64K}\n");
  ASSERT_TRUE(o.pass()) << to_table(o);
  ASSERT_EQ(o.flows.size(), 24U);
  std::set<std::int64_t> starts;
  for (const FlowOutcome& f : o.flows) starts.insert(f.start_ns);
  EXPECT_GE(starts.size(), 6U) << "six steps, one after the other";
}

TEST(World, PlanesOfDifferentSpeedsAddUp) {
  const std::string text =
      "network: {planes: 3, hosts: 4, plane_speeds: [{plane: 1, link_gbps: 50}, {plane: 2, link_gbps: "
      "200}]}\n"
      "workload: {bytes: 32M, dst: 3}\n";
  const Outcome o = run(text);
  EXPECT_TRUE(o.pass()) << to_table(o);
  EXPECT_LT(o.tail_over_ideal(), 1.06) << "of 350 Gb/s\n" << to_table(o);
  const auto share = [&](std::size_t plane) {
    return static_cast<double>(o.planes_out[plane].received_bytes) / static_cast<double>(o.received_bytes);
  };
  EXPECT_NEAR(share(1), 50. / 350, 0.02) << to_table(o);
  EXPECT_NEAR(share(2), 200. / 350, 0.02) << to_table(o);
}

// Four flows into a rack of four uplinks, 1024 packets each over 32 EVs. What each selector is for: oblivious
// sprays evenly whatever happens; mrc, bitmap and score in turn until something is slow; reps comes back to
// what was good; single stays on one. All but oblivious and single leave a slow uplink alone and so end
// earlier.
TEST(World, EverySelectorDoesWhatItIsFor) {
  const char* text =
      "network: {planes: 1, hosts: 8, hosts_per_t0: 4, t1: 4}\npaths: {evs: 32}\n"
      "workload: {shape: permutation, bytes: 4M}\nslow_links: {tier: 0, direction: up, fraction: 0.25}\n";
  const auto run_with = [&](const char* selector, const char* slow) {
    const Outcome o = run(text, {{"paths.selector", selector}, {"slow_links.number", slow}});
    EXPECT_TRUE(o.pass()) << selector << to_table(o);
    return o;
  };
  const Outcome even = run_with("oblivious", "0");
  EXPECT_EQ(even.ev.smallest_pkts, 32U);
  EXPECT_EQ(even.ev.largest_pkts, 32U);
  const Outcome blind = run_with("oblivious", "1");
  EXPECT_GE(blind.ev.smallest_pkts, 32U) << "slow or not";
  EXPECT_GT(blind.tail_over_ideal(), 1.8);
  for (const char* selector : {"mrc", "bitmap", "score", "reps"}) {
    const Outcome healthy = run_with(selector, "0");
    EXPECT_LT(healthy.tail_over_ideal(), 1.03) << selector;
    if (std::string(selector) == "reps") {
      EXPECT_GT(healthy.ev.largest_pkts, 40U) << "what was acknowledged clean is taken again";
    } else {
      EXPECT_GE(healthy.ev.smallest_pkts, 30U) << selector << " takes them in turn";
      EXPECT_LE(healthy.ev.largest_pkts, 34U) << selector;
    }
    const Outcome slow = run_with(selector, "1");
    EXPECT_LT(slow.ev.smallest_pkts, 24U) << selector << " leaves what is slow";
    EXPECT_LT(slow.tail_over_ideal(), 0.8 * blind.tail_over_ideal()) << selector;
  }
  const Outcome one = run_with("single", "0");
  EXPECT_EQ(one.ev.median_pkts, 0U);
  EXPECT_GE(one.ev.largest_pkts, 1024U) << "all of a flow";
  EXPECT_GT(one.tail_over_ideal(), 1.5) << "flows meet";
}

TEST(World, DenylistCoversWhatIsDeadAtTheStart) {
  const char* text =
      "network: {planes: 2, hosts: 4, t1: 8}\nworkload: {bytes: 1M, dst: 3}\npaths: {evs: 64}\n"
      "faults: [{kind: down, place: uplink, plane: 0, index: 0, uplink: 1, number: 2}]\n";
  const Outcome none = run(text);
  const Outcome full = run(text, {{"paths.denylist_coverage", "1"}});
  EXPECT_TRUE(none.pass() && full.pass());
  EXPECT_GT(full.count(full.evs, "denied_at_start"), 0U);
  EXPECT_EQ(full.count(full.packets, "rtx"), 0U);
  EXPECT_GT(none.count(none.packets, "rtx"), 0U);
}

// Entropy for ECMP, structured EVs, and SRv6 as names of switches or of cables, with the plane in either
// place.
TEST(World, APermutationRunsOverEveryFormatOfEvs) {
  for (const char* network :
       {"tiers: 2, planes: 2, hosts: 16, hosts_per_t0: 4, t1: 4, parallel: 2",
        "tiers: 3, planes: 2, hosts: 16, hosts_per_t0: 2, t1: 2, t0_per_pod: 2, t2_per_t1: 2"}) {
    const std::string text =
        "network: {" + std::string(network) + "}\nworkload: {shape: permutation, bytes: 2M}\n";
    const Outcome ecmp = run(text);
    ASSERT_TRUE(ecmp.pass()) << to_table(ecmp);
    const Outcome stev = run(text, {{"paths.format", "stev"}, {"network.forwarding", "structured"}});
    EXPECT_TRUE(stev.pass()) << to_table(stev);
    EXPECT_LT(stev.tail_over_ideal(), 1.3) << to_table(stev);
    for (const char* format : {"srv6", "srv6_srh"}) {
      for (const char* usids : {"un", "ua"}) {
        for (const char* planes : {"usid", "locator"}) {
          const Outcome o =
              run(text, {{"paths.format", format}, {"paths.usids", usids}, {"paths.usid_planes", planes}});
          EXPECT_TRUE(o.pass()) << format << usids << planes << to_table(o);
          EXPECT_LT(o.tail_over_ideal(), 1.3) << format << usids << planes << to_table(o);
          // One more header on every packet; nothing loses its way.
          EXPECT_GT(o.ideal_ns, ecmp.ideal_ns);
          EXPECT_EQ(o.count(o.network, "dropped_no_route"), 0U);
        }
      }
    }
  }
}

// Way k of each plane leads over T1 k, whatever the EV's format: those over a dead one are condemned, no
// others.
TEST(World, ADeadT1TakesTheEvsThatNameIt) {
  const std::string text =
      "network: {planes: 2, hosts: 4, hosts_per_t0: 2, t1: 4}\npaths: {evs: 8}\n"
      "workload: {bytes: 4M, dst: 3}\n"
      "faults: [{kind: black_hole, place: switch, tier: 1, index: 2, plane: 1}]\n";
  const config::Settings formats[] = {{{"paths.format", "stev"}, {"network.forwarding", "structured"}},
                                      {{"paths.format", "srv6"}},
                                      {{"paths.format", "srv6"}, {"paths.usids", "ua"}},
                                      {{"paths.format", "srv6_srh"}, {"paths.usid_planes", "locator"}}};
  for (const config::Settings& format : formats) {
    const Outcome o = run(text, format);
    EXPECT_TRUE(o.pass()) << to_table(o);
    EXPECT_EQ(o.count(o.evs, "bad_at_end"), 1U) << to_table(o);
    EXPECT_LT(o.ev.pkts[2 * 2 + 1], o.ev.pkts[0] / 4) << "EV 5 is plane 1, way 2";
  }
}

TEST(World, TheBaselineHasTheSameOutcome) {
  const std::string text =
      "transport: rc\nnetwork: {planes: 2, hosts: 8, hosts_per_t0: 4, t1: 4}\n"
      "queues: {trim: false, data: 8M, last_hop: 8M}\n"
      "workload: {shape: ring_all_reduce, bytes: 1M, qps: 4, stripe: true, rounds: 2}\n"
      "faults: [{at_us: 30, for_us: 100, kind: loss, place: fabric, probability: 0.01}]\n";
  const Outcome o = run(text);
  EXPECT_TRUE(o.pass()) << to_table(o);
  EXPECT_EQ(o.transport, "rc");
  EXPECT_EQ(o.qps, 8U * 4);
  EXPECT_EQ(o.completed, 2U * 8 * 14) << "messages, not their parts";
  EXPECT_EQ(o.rounds.samples, 2U);
  EXPECT_EQ(o.received_bytes, 2U * 14 * (1U << 20));
  EXPECT_GT(o.count(o.packets, "go_backs"), 0U);
  ASSERT_EQ(o.faults.size(), 1U);
  EXPECT_GT(o.faults[0].lost_data, 0U);
  EXPECT_EQ(o.faults[0].open, 0U);
  EXPECT_EQ(o.faults[0].lost_data + o.faults[0].lost_other, o.count(o.network, "dropped_random_loss"));
  std::uint64_t by_plane = 0;
  for (const PlaneOutcome& p : o.planes_out) by_plane += p.received_bytes;
  EXPECT_EQ(by_plane, o.received_bytes);
  ASSERT_FALSE(o.queues.empty());
  EXPECT_GT(o.queues[0].samples, 0U);
  EXPECT_EQ(to_json(o), to_json(run(text)));
  EXPECT_NE(to_json(o), to_json(run(text, {{"seed", "2"}})));
}

TEST(World, AStripedMessageUsesAllQpsOfItsPair) {
  const std::string text = "network: {planes: 2, hosts: 4}\nworkload: {bytes: 1M, dst: 3, qps: 4}\n";
  for (const char* transport : {"mrc", "rc"}) {
    const Outcome one = run(text, {{"transport", transport}});
    const Outcome all = run(text, {{"transport", transport}, {"workload.stripe", "true"}});
    EXPECT_TRUE(one.pass() && all.pass());
    EXPECT_EQ(one.flows.size(), 1U);
    EXPECT_EQ(all.flows.size(), 1U);
    EXPECT_EQ(one.received_bytes, all.received_bytes);
    if (std::string(transport) == "rc") {
      EXPECT_EQ(one.planes_out[0].received_bytes * one.planes_out[1].received_bytes, 0U) << "one path";
      EXPECT_EQ(all.planes_out[0].received_bytes, all.planes_out[1].received_bytes) << "two QPs a plane";
    }
  }
}

// 1.14. A small packet of the data class gets the class of trimmed ones where the queue is full, whole as it
// is, and overtakes the data on its EV: an answer to it would tell what waits for lost (D8).
TEST(World, TrimmedProbesAreNotAnswered) {
  const char* text =
      "network: {planes: 2, hosts: 32, hosts_per_t0: 8, t1: 4}\n"
      "workload: {shape: incast, dst: 0, senders: 31, bytes: 512K}\n";
  for (const char* seed : {"1", "2", "3", "4"}) {
    const Outcome o = run(text, {{"seed", seed}});
    EXPECT_TRUE(o.pass()) << to_table(o);
    EXPECT_LE(o.count(o.evs, "assumed_bad"), 2U) << to_table(o);
  }
  // Losses bring probes, and a window without control keeps the queues full that they meet.
  const Outcome o = run(
      text,
      {{"cc.kind", "fixed"}, {"faults", "[{kind: loss, place: fabric, probability: 0.01, direction: up}]"}});
  EXPECT_TRUE(o.pass()) << to_table(o);
  EXPECT_GT(o.count(o.network, "trimmed_opcode"), 0U) << to_table(o);
}

// I3. With UET's send test a packet larger than the window would wait for ever, and no timer would run.
TEST(World, TheSmallestWindowTakesAFullPacketWithImmediateData) {
  const char* text =
      "network: {planes: 1, hosts: 8, hosts_per_t0: 4}\nworkload: {shape: incast, senders: 7, bytes: 1M,\n"
      "  with_immediate: true}\ncc: {send_test: uet, max_cwnd: 4188}\n";
  EXPECT_TRUE(run(text).pass()) << to_table(run(text));
  const auto smaller = load_scenario_text(text, "test", {{"cc.max_cwnd", "4184"}});
  ASSERT_TRUE(smaller) << smaller.error().message;
  const auto world = World::create(*smaller);
  ASSERT_FALSE(world);
  EXPECT_NE(world.error().message.find("one packet of 4188 bytes"), std::string::npos)
      << world.error().message;
}

// A run that ends with flows open is stuck, or was not given the time; only a scenario may say that it is
// meant.
TEST(World, FlowsThatAreOpenAtTheEndFailTheRunUnlessItIsCutByDesign) {
  const char* text = "network: {hosts: 4}\nworkload: {shape: permutation, bytes: 8M}\nrun: {until_us: 50}\n";
  const Outcome stuck = run(text);
  EXPECT_EQ(stuck.violation, "");
  EXPECT_EQ(stuck.failed, 0U);
  EXPECT_EQ(stuck.completed, 0U);
  EXPECT_EQ(stuck.unfinished, 4U);
  EXPECT_FALSE(stuck.finished);
  EXPECT_FALSE(stuck.pass());
  EXPECT_NE(to_table(stuck).find("FAIL: 4 flows of the last round had not completed"), std::string::npos);
  EXPECT_NE(to_json(stuck).find("\"finished\": false"), std::string::npos);
  const Outcome cut = run(text, {{"run.cut", "true"}});
  EXPECT_TRUE(cut.pass());
  EXPECT_FALSE(cut.finished);
  EXPECT_NE(to_table(cut).find("PASS, cut at"), std::string::npos);
  const Outcome whole = run(text, {{"run.until_us", "1e6"}});
  EXPECT_TRUE(whole.pass());
  EXPECT_EQ(whole.unfinished, 0U);
  // Nothing arrives, and there was no time to give up.
  const Outcome silent = run(text, {{"faults", "[{kind: loss, place: fabric}]"}, {"run.until_us", "2000"}});
  EXPECT_FALSE(silent.pass()) << to_table(silent);
  EXPECT_EQ(silent.unfinished, 4U);
  // The next round never came.
  const Outcome rounds = run(text, {{"workload.rounds", "1000"}, {"run.until_us", "1000"}});
  EXPECT_FALSE(rounds.pass()) << to_table(rounds);
  EXPECT_GT(rounds.completed, 0U);
}

// Probes of a dead path never end: rest is judged all the same, and they alone may be in flight.
TEST(World, RestIsJudgedWhileProbesOfADeadPathGoOn) {
  const auto s = load_scenario_text(
      "network: {planes: 2, hosts: 4}\nworkload: {bytes: 1M, dst: 3}\nrun: {until_us: 50000}\n"
      "faults: [{at_us: 10, kind: down, place: uplink, uplink: 1}]\n",
      "test");
  ASSERT_TRUE(s) << s.error().message;
  auto world = World::create(*s);
  ASSERT_TRUE(world) << world.error().message;
  const RunEnd end = (*world)->run();
  EXPECT_FALSE(end.quiet);
  EXPECT_EQ(end.violation, "");
  EXPECT_TRUE((*world)->done());
  EXPECT_EQ((*world)->sim().check_at_rest(false), "");
  const Outcome o = collect(**world, end, "test");
  EXPECT_TRUE(o.pass() && o.finished && !o.quiet) << to_table(o);
  EXPECT_GT(o.faults.at(0).lost_other, 0U);
  // Cut in the middle, the same question names what is not at rest.
  auto early = *s;
  early.run.until_us = 20;
  auto cut = World::create(early);
  ASSERT_TRUE(cut) << cut.error().message;
  (void)(*cut)->run();
  EXPECT_NE((*cut)->sim().check_at_rest(false).find("1 flows never completed"), std::string::npos);
}

TEST(World, PeersLearnOfADeadPortWhenToldTo) {
  const char* text =
      "network: {planes: 4, hosts: 4}\nworkload: {bytes: 16M, dst: 3}\n"
      "faults: [{at_us: 60, kind: down, place: host_port, host: 3, plane: 2}]\n";
  const Outcome o = run(text);
  EXPECT_TRUE(o.pass()) << to_table(o);
  ASSERT_EQ(o.faults.size(), 1U);
  EXPECT_LT(o.faults[0].last_sent_into_ns, 8'000) << to_table(o);
  // Untold, it has to infer it.
  const Outcome untold = run(text, {{"run.port_status", "false"}});
  EXPECT_TRUE(untold.pass()) << to_table(untold);
  ASSERT_EQ(untold.faults.size(), 1U);
  EXPECT_GT(untold.faults[0].last_sent_into_ns, 8'000) << to_table(untold);
}

// Settings that end badly for the flows are no fault of the transport: no invariant may say so.
TEST(World, HardSettingsBreakNoInvariant) {
  const std::pair<const char*, config::Settings> cases[] = {
      {"repetitions overtake the first news from far away",
       {{"preset", "htsim-compat"}, {"network.delay_us", "1e5"}, {"run.until_us", "2e5"}}},
      {"a trickle between the switches",
       {{"preset", "htsim-compat"}, {"network.uplink_gbps", "0.001"}, {"run.until_us", "1e5"}}},
      {"no SACK fits, and flows wait behind one that fails",
       {{"qp.send_queue", "1"},
        {"workload.victim_src", "0"},
        {"workload.victim_dst", "1"},
        {"queues.control", "100"}}},
      {"the last packet is repeated on the only EV, which nothing was lost on",
       {{"qp.mpr", "1"},
        {"workload.victim_src", "0"},
        {"workload.victim_dst", "1"},
        {"queues.control", "1"},
        {"paths.active", "1"},
        {"workload.bytes", "100000"}}},
  };
  for (const auto& [what, settings] : cases) {
    const Outcome o = run("", settings);
    EXPECT_EQ(o.violation, "") << what;
    EXPECT_FALSE(o.pass()) << what;
  }
  for (const char* transport : {"mrc", "rc"}) {
    const Outcome o = run("faults: [{kind: down, place: fabric}]\nworkload: {with_immediate: true}\n",
                          {{"transport", transport}});
    EXPECT_EQ(o.violation, "") << "no host has a port to send on";
    EXPECT_FALSE(o.pass());
  }
}

// What was repeated in vain is on its way for longer than answers to anything are awaited.
TEST(World, RestIsNotJudgedBeforeEveryPacketCanHaveEnded) {
  const config::Settings cases[] = {
      {{"network.hosts", "8"},
       {"network.t1", "2"},
       {"workload.bytes", "100000"},
       {"workload.qps", "9"},
       {"workload.shuffle", "true"},
       {"faults", "[{kind: reorder, place: uplink, delay_us: 1e6}]"}},
      {{"preset", "htsim-compat"},
       {"network.planes", "2"},
       {"network.hosts", "8"},
       {"workload.bytes", "1000000"},
       {"network.plane_speeds", "[{plane: 0, link_gbps: 0.01}]"},
       {"network.sizes", "real"},
       {"cc.send_test", "uet"},
       {"detect.sack_first", "true"}},
  };
  for (const config::Settings& settings : cases) {
    const Outcome o = run("run: {until_us: 20000}\n", settings);
    EXPECT_TRUE(o.pass()) << to_table(o);
    EXPECT_FALSE(o.quiet) << "something is on its way";
  }
}

TEST(World, WriteImmsWaitForReceives) {
  for (const char* receives : {"1", "2", "32768"}) {
    const Outcome o =
        run("network: {hosts: 8}\nworkload: {shape: ring_all_reduce, bytes: 100000, with_immediate: true}\n",
            {{"qp.recv_queue", receives}});
    EXPECT_TRUE(o.pass()) << receives << to_table(o);
  }
}

TEST(World, AMemoryOfPacketsThatIsTooSmallNamesItsKey) {
  for (const char* transport : {"mrc", "rc"}) {
    const Outcome o =
        run("network: {max_packets: 10}\nworkload: {shape: permutation}\n", {{"transport", transport}});
    EXPECT_NE(o.violation.find("set network.max_packets to more than 10"), std::string::npos) << o.violation;
  }
}

TEST(World, OneEvAtLeastIsLeftToSendOn) {
  const auto s =
      load_scenario_text("paths: {denylist_coverage: 1}\nfaults: [{kind: down, place: fabric}]\n", "test");
  ASSERT_TRUE(s) << s.error().message;
  const auto world = World::create(*s);
  ASSERT_FALSE(world);
  EXPECT_NE(world.error().message.find("all 128 EVs from host 0 to host 1 lead over links dead at the start"),
            std::string::npos)
      << world.error().message;
}

}  // namespace
}  // namespace mrc::sim
