// SPDX-License-Identifier: BSD-3-Clause
#include "report/result.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "schema_check.h"

namespace mrc::report {
namespace {

using nlohmann::json;

json load_schema() {
  const char* dir = std::getenv("MRC_SCHEMA_DIR");
  std::ifstream in(std::string(dir == nullptr ? "lib/report/schema" : dir) + "/softmrc.result-1.json");
  return json::parse(in);
}

RunResult good_run() {
  RunResult run;
  run.tool = "mrc-endpoint";
  run.version = "0.1.0";
  run.started_utc = "2024-01-02T03:04:05Z";
  run.command = "mrc-endpoint run --loopback";
  run.role = "run";
  run.profile = "vhost";
  run.seed = ~0ULL;
  PhaseResult p;
  p.workload = "write_bw";
  p.size_bytes = 65536;
  p.qps = 1;
  p.depth = 16;
  p.path_mtu_bytes = 4096;
  p.duration_s = 1;
  p.messages_offered = 1000;
  p.messages_completed = 1000;
  p.bytes_completed = 65536000;
  p.achieved = rates_of(1000, 65536000, 16000, 66560000, 1);
  p.offered = p.achieved;
  Histogram h;
  for (std::uint64_t i = 1; i <= 1000; ++i) h.record(i * 1000);
  p.latency = latency_of(h, "post to completion");
  p.peer_verification = {true, "pattern", 1000, 65536000, 0, ""};
  p.planes.push_back({0, "fd00::1", "vhost0", true, 16000, 66560000, 16000, 4000, 300000, 1.0});
  p.evs.push_back({0, 3, 0, "0xc003", "GOOD", 16000, 65536000, 2, 0});
  p.ev_events.events.push_back({0, 3, 0, -500, "GOOD", "DENIED", "controller"});
  p.ev_events.dropped = 2;
  ControllerResult c;
  c.kind = "nscc";
  c.qps = 1;
  c.acks = 4000;
  c.marked = 7;
  c.windows = 4000;
  c.cwnd_min_bytes = 4160;
  c.cwnd_median_bytes = 70000;
  c.cwnd_max_bytes = 90000;
  c.inflight_bytes = -96;
  c.active_ns = 250;
  c.ready_ns = 750;
  p.controllers.push_back(c);
  p.retransmissions = {{"inferred_loss", 2}};
  p.drops = {{"icrc", 1}};
  p.fabric = {{"dropped_random_loss", 2}, {"marked", 7}};
  p.of_both_ends = {"drops", "engine"};
  p.engine = {{"polls", 5}};
  run.phases.push_back(p);
  return run;
}

TEST(Result, GoodRunHasNoFailures) {
  EXPECT_TRUE(find_failures(good_run()).empty());
}

TEST(Result, BlanksAreFailures) {
  EXPECT_EQ(find_failures(RunResult{}).size(), 1U) << "no phase";
  const auto broken = [](auto change) {
    RunResult run = good_run();
    change(run.phases[0]);
    return find_failures(run);
  };
  const auto says = [](const std::vector<std::string>& f, const std::string& what) {
    return f.size() == 1 && f[0].find(what) != std::string::npos;
  };
  EXPECT_TRUE(says(broken([](PhaseResult& p) { p.messages_completed = 0; }), "0 messages completed"));
  EXPECT_TRUE(says(broken([](PhaseResult& p) { p.latency.samples = 0; }), "0 latency samples"));
  EXPECT_TRUE(says(broken([](PhaseResult& p) { p.peer_verification.messages = 0; }), "verified 0 messages"));
  EXPECT_TRUE(says(broken([](PhaseResult& p) { p.peer_verification.messages_bad = 1; }),
                   "1 of 1000 messages are wrong"));
  EXPECT_TRUE(
      says(broken([](PhaseResult& p) { p.messages_completed = 1001; }), "1001 messages completed but 1000"));
  EXPECT_TRUE(says(broken([](PhaseResult& p) { p.conserved = false; }), "packets are missing"));
  EXPECT_TRUE(says(broken([](PhaseResult& p) { p.latency.max_ns = 5e9; }), "longer than the run"));
  EXPECT_TRUE(
      broken([](PhaseResult& p) { p.peer_verification = {false, "--no-verify", 0, 0, 0, ""}; }).empty());
}

TEST(Result, ARateAboveTheLinkIsAFailure) {
  RunResult run = good_run();
  run.link_speed_bps = 1e9;
  EXPECT_TRUE(find_failures(run).empty());
  run.link_speed_bps = 0.5e9;
  ASSERT_EQ(find_failures(run).size(), 1U);
  EXPECT_NE(find_failures(run)[0].find("measurement is wrong"), std::string::npos);
}

TEST(Result, JsonFollowsItsSchema) {
  const json schema = load_schema();
  SchemaCheck check(schema);
  RunResult run = good_run();
  EXPECT_EQ(check.errors(json::parse(to_json(run))), std::vector<std::string>{});
  run.phases[0].latency.samples = 0;
  run.phases[0].controllers[0].windows = 0;
  run.failures = find_failures(run);
  run.exit_code = 1;
  const json j = json::parse(to_json(run));
  EXPECT_EQ(check.errors(j), std::vector<std::string>{});
  EXPECT_EQ(j["pass"], false);
  EXPECT_FALSE(j["phases"][0]["latency"].contains("p50_ns")) << "not measured is absent, not 0";
  EXPECT_FALSE(j["phases"][0]["controllers"][0].contains("cwnd_median_bytes"));
  EXPECT_EQ(j["seed"], "18446744073709551615");
}

TEST(Result, SchemaRefusesWhatItShould) {
  const json schema = load_schema();
  SchemaCheck check(schema);
  const json good = json::parse(to_json(good_run()));
  const auto refused = [&](auto change) {
    json j = good;
    change(j);
    return !check.errors(j).empty();
  };
  EXPECT_TRUE(refused([](json& j) { j["schema"] = "softmrc.result/2"; }));
  EXPECT_TRUE(refused([](json& j) { j.erase("phases"); }));
  EXPECT_TRUE(refused([](json& j) { j["surprise"] = 1; }));
  EXPECT_TRUE(refused([](json& j) { j["phases"][0]["planes"][0]["tx_share"] = 1.5; }));
  EXPECT_TRUE(refused([](json& j) { j["phases"][0]["drops"]["icrc"] = "many"; }));
  EXPECT_TRUE(refused([](json& j) { j["phases"][0]["evs"][0]["state"] = "FINE"; }));
  EXPECT_TRUE(refused([](json& j) { j["phases"][0]["controllers"][0]["kind"] = "reno"; }));
  EXPECT_TRUE(refused([](json& j) { j["exit_code"] = 5; }));
}

TEST(Result, WarnsOfOverload) {
  RunResult run = good_run();
  EXPECT_TRUE(find_warnings(run.phases).empty());
  run.phases[0].transport = {{"tx_rtx", 10}, {"spurious_rtx", 4}};
  EXPECT_TRUE(find_warnings(run.phases).empty()) << "most of them were losses";
  EXPECT_NE(to_table(run).find("inferred_loss 2; spurious_rtx 4 (the packet had arrived)"),
            std::string::npos);
  run.phases[0].transport = {{"tx_rtx", 10}, {"spurious_rtx", 9}};
  ASSERT_EQ(find_warnings(run.phases).size(), 1U);
  EXPECT_NE(find_warnings(run.phases)[0].find("10 retransmissions, 9 of them of packets that had arrived"),
            std::string::npos);
}

TEST(Result, WarnsAReceiverWhosePeerSendsForNothing) {
  RunResult run = good_run();
  run.phases[0].transport = {{"rx_write", 2000}, {"rx_duplicate", 19}};
  EXPECT_TRUE(find_warnings(run.phases).empty()) << "fewer than one in a hundred";
  run.phases[0].transport = {{"rx_write", 100}, {"rx_duplicate", 9}};
  EXPECT_TRUE(find_warnings(run.phases).empty()) << "a handful";
  run.phases[0].transport = {{"rx_write", 2000}, {"rx_duplicate", 20}};
  ASSERT_EQ(find_warnings(run.phases).size(), 1U);
  EXPECT_NE(find_warnings(run.phases)[0].find("20 of 2000 Writes received had arrived before"),
            std::string::npos);
}

TEST(Result, PortsThatLosePacketsAreTold) {
  RunResult run = good_run();
  run.phases[0].planes[0].rx_missed_pkts = 7;
  run.phases[0].planes[0].tx_error_pkts = 2;
  ASSERT_EQ(find_warnings(run.phases).size(), 2U);
  EXPECT_NE(find_warnings(run.phases)[0].find(
                "plane 0: the port lost packets before a worker saw them: rx_missed 7"),
            std::string::npos);
  EXPECT_NE(to_table(run).find("port of plane 0: rx_missed 7, rx_error 0, rx_no_mbuf 0, tx_error 2"),
            std::string::npos);
  EXPECT_EQ(json::parse(to_json(run))["phases"][0]["planes"][0]["rx_missed_pkts"], 7);
}

TEST(Result, WindowsAreThereWhenThereWereSome) {
  RunResult run = good_run();
  run.phases[0].window_s = 0.1;
  const auto windows = [&] { return json::parse(to_json(run))["phases"][0]["goodput_windows"]; };
  EXPECT_EQ(windows()["windows"], 0);
  EXPECT_EQ(windows()["min_bps"], run.phases[0].achieved.goodput_bps) << "all there is";
  EXPECT_EQ(to_table(run).find("slowest window"), std::string::npos);
  run.phases[0].goodput_windows_bps.add(1e9);
  run.phases[0].goodput_windows_bps.add(3e9);
  EXPECT_EQ(windows()["average_bps"], 2e9);
  EXPECT_NE(to_table(run).find("slowest window 1.00 Gb/s, fastest 3.00 Gb/s, of 2 whole windows"),
            std::string::npos);
}

TEST(Result, ASweepEndsWithALineASize) {
  RunResult run = good_run();
  EXPECT_EQ(to_table(run).find("size B"), std::string::npos);
  run.phases.push_back(run.phases[0]);
  run.phases[1].size_bytes = 64;
  run.phases[1].peer_verification.messages_bad = 3;
  const std::string text = to_table(run);
  const std::string table = text.substr(text.find("size B"));
  EXPECT_NE(table.find("65536          1000"), std::string::npos) << table;
  EXPECT_NE(table.find("all right\n"), std::string::npos) << table;
  EXPECT_NE(table.find("3 WRONG\n"), std::string::npos) << table;
}

TEST(Result, JsonIsAsciiWhateverTheCommandWas) {
  RunResult run = good_run();
  run.command = "x \xC2\x9B[31m \xE2\x80\xAE";
  for (const char c : to_json(run)) ASSERT_TRUE(c == '\n' || (c >= 0x20 && c < 0x7F));
}

TEST(Result, OddBytesInTheCommandAreReplaced) {
  RunResult run = good_run();
  run.command = "x \xff\xfe";
  EXPECT_TRUE(json::accept(to_json(run)));
}

TEST(Result, TableSaysWhatPeopleAskFor) {
  RunResult run = good_run();
  std::string text = to_table(run);
  for (const char* part :
       {"PASS", "goodput", "L1", "p99.9", "1000 samples", "method: post to completion",
        "cwnd min 4160 median 70000 max 90000 B", "7 of 4000 SACKs marked", "window closed 25.0 %",
        "inferred_loss 2", "icrc 1", "1000 of 1000 messages right"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
  run.phases[0].peer_verification = {false, "--no-verify was given", 0, 0, 0, ""};
  run.failures = {"something"};
  text = to_table(run, {.evs = true});
  EXPECT_NE(text.find("OFF: --no-verify was given"), std::string::npos) << text;
  EXPECT_NE(text.find("0xc003"), std::string::npos);
  EXPECT_NE(text.find("FAIL"), std::string::npos);
}

}  // namespace
}  // namespace mrc::report
