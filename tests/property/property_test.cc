// SPDX-License-Identifier: BSD-3-Clause
// Seeded random runs of two QPs over a channel that does everything wrong; invariants I1 to I10.
//
//   property_test                   the normal test run
//   property_test --seed=N          one seed, with its trace; exit code 1 when it breaks a rule
//   property_test --burst=1 --seed=N   the same, one descriptor a call
//   property_test --shifted --seed=N   the same, numbers and clock moved as the test of I8 moves them
//   property_test --seeds=N         N seeds instead of the default
//   MRC_PROPERTY_SEEDS=N            the same from outside, for slow (sanitizer) builds
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "replay.h"
#include "run.h"

namespace mrc::property {
namespace {

std::uint64_t g_seeds = 4000;
std::string g_program = "property_test";  // NOLINT: for the replay line

std::string replay(std::uint64_t seed) {
  return "  replay: " + g_program + " --seed=" + std::to_string(seed);
}

/// The same for a run that does not come back.
void name_if_it_dies(std::uint64_t seed, const char* options = "") {
  testing::replay_by(g_program + options + " --seed=", seed);
}

TEST(Property, EveryInvariantHoldsOnRandomSeeds) {
  std::uint64_t packets = 0, retransmissions = 0, failures = 0;
  std::uint64_t of_kind[kKinds] = {};
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint64_t seed = 1; seed <= g_seeds && failures < 5; ++seed) {
    name_if_it_dies(seed);
    const Scenario s = make_scenario(seed);
    ++of_kind[static_cast<int>(s.kind)];
    const RunResult result = run(s);
    packets += result.packets;
    retransmissions += result.retransmissions;
    if (result.ok) continue;
    ++failures;
    ADD_FAILURE() << result.failure << "\n" << describe(s) << replay(seed);
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::printf("seeds 1..%llu: %llu packets, %llu retransmissions, %.1f s, %.0f seeds/s\n",
              static_cast<unsigned long long>(g_seeds), static_cast<unsigned long long>(packets),
              static_cast<unsigned long long>(retransmissions), took.count(),
              static_cast<double>(g_seeds) / took.count());
  for (int k = 0; k < kKinds; ++k) {
    std::printf("  %s: %llu\n", name_of(static_cast<Kind>(k)), static_cast<unsigned long long>(of_kind[k]));
    if (g_seeds < 400) continue;
    EXPECT_GT(of_kind[k], 0U) << "no run of this kind: the seeds prove nothing about it";
  }
  EXPECT_GT(packets, 0U);
  EXPECT_GT(retransmissions, 0U) << "the channel never hurt anybody";
}

/// I8 and "bursts are an interface": 32 descriptors per call or one at a time, the same packets leave.
TEST(Property, BurstsOf32AndOf1GiveTheSameTrace) {
  for (std::uint64_t seed = 1; seed <= g_seeds / 20; ++seed) {
    const Scenario s = make_scenario(seed);
    name_if_it_dies(seed);
    const RunResult whole = run(s);
    name_if_it_dies(seed, " --burst=1");
    const RunResult single = run(s, {.burst = 1});
    ASSERT_GT(whole.trace_events, 0U);
    ASSERT_EQ(whole.trace_hash, single.trace_hash)
        << "I8: bursts of 1 differ from bursts of 32; " << single.failure << "\n"
        << describe(s) << replay(seed);
  }
}

RunOptions shifted_run(std::uint64_t seed) {
  return {.number_shift = static_cast<std::int32_t>((seed * 0x3457F) & 0xFFFFFF),
          .clock_shift = kTick * static_cast<std::int64_t>(seed * 7919 % 65536)};
}

/// I8: first PSN, MSN, RQMSN, rcvd_bytes and clock moved by a constant, so that wraps fall elsewhere in the
/// run.
TEST(Property, ShiftingNumbersAndClockGivesTheSameTrace) {
  for (std::uint64_t seed = 1; seed <= g_seeds / 20; ++seed) {
    const Scenario s = make_scenario(seed);
    name_if_it_dies(seed);
    const RunResult plain = run(s);
    const RunOptions options = shifted_run(seed);
    name_if_it_dies(seed, " --shifted");
    const RunResult shifted = run(s, options);
    ASSERT_EQ(plain.trace_hash, shifted.trace_hash)
        << "I8: serial numbers + " << options.number_shift << ", clock + " << options.clock_shift.ns
        << " ns changed the trace; " << shifted.failure << "\n"
        << describe(s) << replay(seed) << " [--shifted]";
  }
}

/// I8: EVs by other names. Nothing but the network may go by their values.
TEST(Property, RenamingEvsGivesTheSameTrace) {
  for (std::uint64_t seed = 1; seed <= g_seeds / 20; ++seed) {
    const Scenario s = make_scenario(seed);
    const auto names = static_cast<std::uint16_t>(seed * 0x9E5 % 0xFFF + 1);
    name_if_it_dies(seed);
    const RunResult plain = run(s);
    const RunResult renamed = run(s, {.ev_names = names});
    ASSERT_EQ(plain.trace_hash, renamed.trace_hash)
        << "I8: source ports with " << names << " turned changed the trace; " << renamed.failure << "\n"
        << describe(s) << replay(seed);
  }
}

/// I10: a packet may be trimmed more often than the retry budget counts, and the QP lives.
TEST(Property, TrimsOfLessThanEveryCopyEndNothing) {
  std::uint64_t runs = 0, packets = 0, retransmissions = 0;
  for (std::uint64_t seed = 2; seed <= std::max<std::uint64_t>(g_seeds / 20, 20); seed += 2) {
    testing::replay_by("property_test, a blinking run of seed ", seed);
    const Scenario s = make_scenario(seed, Kind::kBlinking);
    ASSERT_TRUE(s.trims_endlessly && s.outages.empty());
    const transport::QpAttr& attr = s.side[0].attr;
    ASSERT_LT(attr.exp_cnt, 25) << "this QP would never die";
    ASSERT_GT(s.fault_end, retry_budget(attr) * 10);
    const RunResult result = run(s);
    ASSERT_TRUE(result.ok) << result.failure << "\n" << describe(s);
    ++runs;
    packets += result.packets;
    retransmissions += result.retransmissions;
  }
  EXPECT_GT(retransmissions, runs * 160) << "hardly a message was trimmed";
  EXPECT_GT(packets, retransmissions);
}

/// 70 000 messages without payload: MSN and RQMSN wrap (16 bits), half of them consume a receive.
TEST(Property, MessageNumbersWrap) {
  testing::replay_by("property_test --gtest_filter=Property.MessageNumbersWrap, its seed is ", 7);
  Scenario s = make_scenario(7, Kind::kBenign);
  s.side[0].messages.assign(70'000, {.length_bytes = 0});
  for (std::size_t i = 0; i < s.side[0].messages.size(); ++i)
    s.side[0].messages[i].immediate = i > 60'000 || i % 16 != 0;
  s.side[1].messages.clear();
  s.side[0].limits.max_send_wr = 128;
  s.side[0].cwnd_bytes = 1 << 20;
  s.side[0].port_credits = 16;
  const RunResult result = run(s);
  EXPECT_TRUE(result.ok) << result.failure;
  EXPECT_GT(result.packets, 70'000U);
}

/// D7, C25: a responder that counts 60 bytes a packet less than was sent. Resynchronised, the window stays
/// open; read literally it leaks away and the QP stops.
TEST(Property, APeerThatCountsLessDoesNotCloseTheWindow) {
  testing::replay_by("property_test --gtest_filter=Property.APeerThat*, its seed is ", 11);
  Scenario s = make_scenario(11, Kind::kBenign);
  s.side[0].messages.assign(1500, {.length_bytes = 1000});
  s.side[1].messages.clear();
  s.side[0].cwnd_bytes = 30'000;
  s.uncounted_bytes = 60;
  s.wire_bytes = false;
  s.policy.inflight_resync = true;
  const RunResult kept_open = run(s);
  EXPECT_TRUE(kept_open.ok) << kept_open.failure;
  s.policy.inflight_resync = false;
  const RunResult leaked = run(s);
  EXPECT_FALSE(leaked.ok) << "the window did not leak: this test proves nothing";
  EXPECT_EQ(leaked.failure.substr(0, 2), "I3") << leaked.failure;
}

int print_seed(std::uint64_t seed, RunOptions options) {
  const Scenario s = make_scenario(seed);
  std::fputs(describe(s).c_str(), stdout);
  options.trace = stdout;
  const RunResult result = run(s, options);
  std::printf("%llu packets, %llu retransmissions, %.3f us\n",
              static_cast<unsigned long long>(result.packets),
              static_cast<unsigned long long>(result.retransmissions),
              static_cast<double>(result.virtual_time.ns) / 1000.0);
  std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed),
              result.ok ? "ok" : result.failure.c_str());
  return result.ok ? 0 : 1;
}

}  // namespace

int main_of_property_test(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  g_program = argv[0];
  if (const char* seeds = std::getenv("MRC_PROPERTY_SEEDS")) g_seeds = std::strtoull(seeds, nullptr, 10);
  RunOptions options;
  bool is_shifted = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view arg = argv[i];
    const auto number = [&arg] { return std::strtoull(arg.substr(arg.find('=') + 1).data(), nullptr, 10); };
    if (arg.starts_with("--seed=")) return print_seed(number(), is_shifted ? shifted_run(number()) : options);
    if (arg == "--shifted") {
      is_shifted = true;
    } else if (arg.starts_with("--burst=")) {
      options.burst = static_cast<std::uint32_t>(number());
    } else if (arg.starts_with("--seeds=")) {
      g_seeds = number();
    } else {
      std::fprintf(stderr, "property_test: unknown argument %s; --seed=N or --seeds=N\n", argv[i]);
      return 2;
    }
  }
  if (g_seeds == 0) {
    std::fprintf(stderr,
                 "property_test: 0 seeds test nothing; --seeds=N or MRC_PROPERTY_SEEDS=N with N > 0\n");
    return 2;
  }
  return RUN_ALL_TESTS();
}

}  // namespace mrc::property

int main(int argc, char** argv) {
  return mrc::property::main_of_property_test(argc, argv);
}
