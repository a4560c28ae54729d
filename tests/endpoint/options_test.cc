// SPDX-License-Identifier: BSD-3-Clause
#include "options.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/program_name.h"
#include "socket_directory.h"

namespace mrc::endpoint {
namespace {

/// Not the name of this test.
const bool kNamed = (set_program_name("mrc-endpoint"), true);

using Args = std::vector<std::string>;

config::EndpointConfig config_of(const Args& args) {
  const Parsed p = parse_command_line(args);
  EXPECT_TRUE(p.run) << p.exit.text;
  return p.options.config;
}

TEST(Options, NothingPrintsACommandThatWorks) {
  const Parsed p = parse_command_line({});
  EXPECT_FALSE(p.run);
  EXPECT_EQ(p.exit.code, ExitCode::kUsage);
  EXPECT_NE(p.exit.text.find("mrc-endpoint run --loopback -D 2"), std::string::npos);
  EXPECT_TRUE(parse_command_line({"run", "--loopback", "-D", "2"}).run);
}

TEST(Options, PerftestNames) {
  const config::EndpointConfig c = config_of({"run", "--loopback", "-s", "4K", "-q", "3", "-n", "10", "-t",
                                              "16", "-b", "-m", "1024", "-w", "write_imm", "--pin-ev", "2"});
  EXPECT_EQ(c.workload.size_bytes, 4096U);
  EXPECT_EQ(c.workload.qps, 3U);
  EXPECT_EQ(c.workload.iterations, 10U);
  EXPECT_EQ(c.workload.depth, 16U);
  EXPECT_TRUE(c.workload.bidirectional);
  EXPECT_EQ(c.qp.attr.path_mtu, 1024);
  EXPECT_EQ(c.workload.kind, config::WorkloadKind::kWriteImm);
  EXPECT_EQ(c.workload.pin_ev, 2);
  const config::EndpointConfig all = config_of({"run", "--loopback", "-a", "--no-verify"});
  ASSERT_EQ(all.workload.sweep_bytes.size(), 23U);
  EXPECT_EQ(all.workload.sweep_bytes.front(), 2U);
  EXPECT_EQ(all.workload.sweep_bytes.back(), 8U << 20);
  EXPECT_FALSE(all.workload.verify);
}

TEST(Options, CongestionControl) {
  EXPECT_EQ(config_of({"run", "--loopback"}).cc.mode, config::CcMode::kFixed);
  const config::EndpointConfig c =
      config_of({"run", "--loopback", "--cc", "nscc", "--rate-gbps", "400", "--base-rtt-us", "12"});
  EXPECT_EQ(c.cc.mode, config::CcMode::kNscc);
  EXPECT_EQ(c.cc.rate_gbps, 400);
  EXPECT_EQ(c.qp.policy.base_rtt.ns, 12000);
}

TEST(Options, DevicesMakePlanes) {
  const config::EndpointConfig c =
      config_of({"serve", "--profile", "vhost", "--device", "/tmp/a b.sock", "--device", "/tmp/\"c\".sock",
                 "--ip", "fd00::1", "--ip", "fd00::2"});
  ASSERT_EQ(c.planes.size(), 2U);
  EXPECT_EQ(c.planes[0].device, "/tmp/a b.sock");
  EXPECT_EQ(c.planes[1].device, "/tmp/\"c\".sock");
  EXPECT_EQ(c.planes[1].ip, "fd00::2");
}

TEST(Options, EverythingAfterTheDashesGoesToEal) {
  const config::EndpointConfig c =
      config_of({"run", "--loopback", "--set", "eal.args=[--a]", "--", "-s", "--log-level=8"});
  EXPECT_EQ(c.eal.args, (std::vector<std::string>{"--a", "-s", "--log-level=8"}));
}

TEST(Options, TheLastOneWinsAndSetReachesEveryKey) {
  const config::EndpointConfig c = config_of(
      {"run", "--loopback", "-s", "1", "-s", "2", "--set", "fabric.delay_us=7.5", "--set", "qp.mpr=3"});
  EXPECT_EQ(c.workload.size_bytes, 2U);
  EXPECT_EQ(c.fabric.delay.ns, 7500);
  EXPECT_EQ(c.qp.attr.mpr, 3);
}

TEST(Options, MistakesNameTheCommandLine) {
  const auto said = [](const Args& args) {
    const Parsed p = parse_command_line(args);
    EXPECT_FALSE(p.run);
    EXPECT_EQ(p.exit.code, ExitCode::kUsage);
    EXPECT_TRUE(p.exit.to_stderr);
    return p.exit.text;
  };
  EXPECT_EQ(said({"run", "--loopback", "-q", "0"}),
            "command line: workload.qps: 0 is below the limit 1; use 1 to 4096\n");
  EXPECT_EQ(said({"run", "--set", "qp.mtuu=5"}), "command line: qp.mtuu: unknown key; did you mean 'mtu'?\n");
  EXPECT_EQ(said({"run", "--set", "qp"}), "--set qp: expected KEY=VALUE\n");
  EXPECT_EQ(said({"run", "--set", "a..b=1"}),
            "command line: a..b: not a key; keys look like qp.mtu or planes[0].ip\n");
  EXPECT_EQ(said({"run", "--set", "planes[5].ip=::1"}),
            "command line: planes[5].ip: not a key; keys look like qp.mtu or planes[0].ip\n");
  EXPECT_NE(said({"run", "-s", "[1"}).find("is not a YAML value"), std::string::npos);
  EXPECT_NE(said({"serve", "--loopback"}).find("--loopback"), std::string::npos);
  EXPECT_EQ(said({"run", "--loopback", "--workers", "3", "-q", "2"}),
            "mrc-endpoint: engine.workers: 3 workers for 2 QPs; a QP lives on one worker: use --workers 2, "
            "or --qps 3 or "
            "more\n");
  for (const Args& args : {Args{"run", "--profile", "virtual"}, Args{"serve", "--profile", "ring"}}) {
    EXPECT_NE(said(args).find("has both ends in one process: use 'mrc-endpoint run --loopback'"),
              std::string::npos);
  }
  EXPECT_NE(said({"run", "--loopback", "--profile", "vhost", "--device", "s"}).find("joins two processes"),
            std::string::npos);
  EXPECT_NE(said({"walk"}).find("walk"), std::string::npos);
}

TEST(Options, WhereNothingSaysWhatThePlanesAre) {
  EXPECT_EQ(config_of({"run", "--loopback"}).profile, config::Profile::kVirtual);
  const config::EndpointConfig run = config_of({"run", "--planes", "2"});
  const config::EndpointConfig serve = config_of({"serve", "--planes", "2"});
  for (const config::EndpointConfig& c : {run, serve}) {
    EXPECT_EQ(c.profile, config::Profile::kVhost);
    ASSERT_EQ(c.planes.size(), 2U);
    EXPECT_EQ(c.planes[1].device, socket_directory() + "/vhost1.sock") << "the same at both ends";
  }
  EXPECT_EQ(config_of({"serve"}).planes.size(), 4U);
}

TEST(SocketDirectory, BelongsToItsUserAlone) {
  const std::string path = testing::TempDir() + "mrc_socket_directory_test";
  const auto said = [&] {
    const Result<void> r = claim_socket_directory(path);
    return r ? std::string() : r.error().message;
  };
  std::filesystem::remove_all(path);
  EXPECT_EQ(said(), "");
  EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms::owner_all);
  EXPECT_EQ(said(), "") << "there already";
  std::filesystem::permissions(path, std::filesystem::perms(0750));
  EXPECT_NE(said().find("open to others; chmod 700 " + path), std::string::npos) << said();
  std::filesystem::remove(path);
  std::filesystem::create_directory_symlink(testing::TempDir(), path);
  EXPECT_NE(said().find("is no directory of this user; remove it"), std::string::npos) << said();
  std::filesystem::remove(path);
  EXPECT_NE(claim_socket_directory(path + "/deeper").error().message.find("No such file"), std::string::npos);
}

TEST(Options, AServingEndTakesItsQpsFromThePeer) {
  EXPECT_EQ(config_of({"serve", "--profile", "vhost", "--device", "s", "--workers", "4"}).engine.workers, 4U);
}

TEST(Options, AnOptionTakesThePlaceOfWhatTheFileSays) {
  const std::string path = testing::TempDir() + "mrc_options_test.yaml";
  const auto with_file = [&](const char* text, const Args& args) {
    std::ofstream(path) << text;
    Args all{"run", "--loopback", "-c", path};
    all.insert(all.end(), args.begin(), args.end());
    return config_of(all).workload;
  };
  EXPECT_EQ(with_file("workload: {duration_s: 3}\n", {"-n", "7"}).iterations, 7U);
  EXPECT_EQ(with_file("workload: {duration_s: 3}\n", {"-n", "7"}).duration_s, 0);
  EXPECT_EQ(with_file("workload: {iterations: 9}\n", {"-D", "2"}).duration_s, 2);
  EXPECT_EQ(with_file("workload: {iterations: 9}\n", {"-D", "2"}).iterations, 0U);
  EXPECT_TRUE(with_file("workload: {sweep: [1, 2]}\n", {"-s", "64"}).sweep_bytes.empty());
  EXPECT_EQ(with_file("workload: {size: 5}\n", {"-a"}).sweep_bytes.size(), 23U);
  std::remove(path.c_str());
}

TEST(Options, WhatHasNoEffectIsRefused) {
  const auto said = [](const Args& args) {
    const Parsed p = parse_command_line(args);
    EXPECT_FALSE(p.run) << args.back();
    EXPECT_EQ(p.exit.code, ExitCode::kUsage);
    return p.exit.text;
  };
  const Args vhost{"--profile", "vhost", "--device", "s"};
  const auto with = [&](Args words, const Args& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  EXPECT_EQ(said({"run", "--loopback", "--profile", "ring", "--loss", "0.1"}),
            "command line: fabric.loss: has no effect: only the profile virtual has a fabric\n");
  for (const Args& args :
       {Args{"run", "--loopback", "--connect", "10.0.0.1"}, Args{"run", "--loopback", "--device", "eth0"},
        Args{"run", "--loopback", "-w", "write_lat", "-t", "16"},
        Args{"run", "--loopback", "-w", "write_lat", "-b"},
        Args{"run", "--loopback", "--set", "capture.snap_bytes=100"},
        Args{"run", "--loopback", "--cc", "off", "--set", "cc.window=1M"},
        Args{"run", "--loopback", "--cc", "off", "--set", "cc.send_test=uet"},
        Args{"run", "--loopback", "--set", "cc.rate_gbps=100"},
        Args{"run", "--loopback", "--set", "cc.max_window=1M"},
        Args{"run", "--loopback", "--set", "cc.target_delay_us=5"},
        Args{"run", "--loopback", "--cc", "off", "--set", "cc.quick_adapt=false"},
        Args{"run", "--set", "qp.receive_penalty=true"},
        Args{"serve", "--no-verify", "--set", "qp.receive_penalty=true"},
        with({"serve", "--set", "workload.size=5"}, vhost), with({"run", "--planes", "3"}, vhost)}) {
    EXPECT_NE(said(args).find("has no effect"), std::string::npos) << args.back() << ": " << said(args);
  }
  for (const Args& args :
       {Args{"run", "--loopback", "-n", "5", "-D", "3"}, Args{"run", "--loopback", "-a", "-s", "1"}}) {
    EXPECT_NE(said(args).find("excludes"), std::string::npos) << said(args);
  }
  EXPECT_NE(said({"run", "serve"}).find("not expected"), std::string::npos);
  EXPECT_TRUE(parse_command_line(with({"serve", "--no-verify", "--planes", "1"}, vhost)).run)
      << "these have one";
  for (const Args& args : {Args{"serve"}, Args{"run", "-b"}, Args{"run", "--loopback"}})
    EXPECT_TRUE(parse_command_line(with(args, {"--set", "qp.receive_penalty=true"})).run) << args.front();
}

TEST(Options, NsccWithoutARateIsRefusedBeforeAnythingIsSetUp) {
  const Args vhost{"run", "--profile", "vhost", "--device", "/tmp/a.sock", "--cc", "nscc"};
  const Parsed refused = parse_command_line(vhost);
  EXPECT_FALSE(refused.run);
  EXPECT_EQ(refused.exit.code, ExitCode::kUsage);
  for (const char* word : {"cc.rate_gbps", "profile vhost", "--rate-gbps N"})
    EXPECT_NE(refused.exit.text.find(word), std::string::npos) << refused.exit.text;
  Args told = vhost;
  told.insert(told.end(), {"--rate-gbps", "100"});
  EXPECT_TRUE(parse_command_line(told).run) << parse_command_line(told).exit.text;
  EXPECT_FALSE(parse_command_line({"run", "--loopback", "--cc", "nscc", "--set", "fabric.link_gbps=0"}).run);
  EXPECT_TRUE(
      parse_command_line({"run", "--profile", "ethdev", "--device", "0000:01:00.0", "--cc", "nscc"}).run)
      << "a physical port tells its speed when its link is up";
}

TEST(Options, TheResultFileIsKnownAlsoWhenTheRunIsRefused) {
  EXPECT_EQ(parse_command_line({"run", "--loopback", "-q", "0", "--json", "r.json"}).json_path, "r.json");
  EXPECT_EQ(parse_command_line({"run", "--loopback", "--json", "r.json"}).json_path, "r.json");
  EXPECT_EQ(parse_command_line({"run", "--loopback", "--json", "r.json", "--check-config"}).json_path, "")
      << "nothing is run, an older result stays";
}

TEST(Options, CommandsInMessagesAreAsTheUserTypesThem) {
  set_program_name("./build dir/mrc-endpoint");
  EXPECT_NE(parse_command_line({}).exit.text.find("\n  './build dir/mrc-endpoint' run --loopback -D 2\n"),
            std::string::npos);
  EXPECT_NE(parse_command_line({"run", "--profile", "ring"})
                .exit.text.find("use ''./build dir/mrc-endpoint' run --loopback'"),
            std::string::npos);
  set_program_name("mrc-endpoint");
}

std::string text_of(const Args& args) {
  return parse_command_line(args).exit.text;
}

TEST(Options, WordsForWhoTookOneThingForAnother) {
  EXPECT_NE(text_of({"serve", "--connect", "192.0.2.1"}).find("--listen ADDRESS"), std::string::npos);
  EXPECT_NE(text_of({"run", "--listen", "192.0.2.1"}).find("--connect ADDRESS"), std::string::npos);
  EXPECT_NE(text_of({"run", "--profile", "ethdev", "--device", "eth1"}).find("'eth1' is no PCI address"),
            std::string::npos);
  const Args two{"run", "--profile", "af_packet", "--device", "d0", "--ip", "10.0.0.1", "--ip", "10.0.0.2"};
  EXPECT_NE(text_of(two).find("--ip is given 2 times and --device 1"), std::string::npos) << text_of(two);
  EXPECT_NE(text_of({"run", "--ip", "300.1.1.1"}).find("found '300.1.1.1'"), std::string::npos);
}

TEST(Options, HelpNamesDefaultsAndLimits) {
  const std::string help = text_of({"run", "--help"});
  for (const char* words :
       {"(default 4; 1 to 16)", "(default auto; auto, or 1 to 4096)", "(default fixed)", "(default 18515; "})
    EXPECT_NE(help.find(words), std::string::npos) << words << " in " << help;
}

TEST(Options, HelpIsNoError) {
  for (const Args& args : {Args{"--help"}, Args{"run", "--help"}, Args{"serve", "-h"}, Args{"--help-config"},
                           Args{"--version"}}) {
    const Parsed p = parse_command_line(args);
    EXPECT_FALSE(p.run);
    EXPECT_EQ(p.exit.code, ExitCode::kPass) << p.exit.text;
    EXPECT_FALSE(p.exit.text.empty());
  }
  EXPECT_NE(parse_command_line({"run", "--help"}).exit.text.find("--tx-depth"), std::string::npos);
  EXPECT_NE(parse_command_line({"run", "--help"}).exit.text.find("Exit codes"), std::string::npos);
  EXPECT_NE(parse_command_line({"--help"}).exit.text.find("\n  demo "), std::string::npos);
}

}  // namespace
}  // namespace mrc::endpoint
