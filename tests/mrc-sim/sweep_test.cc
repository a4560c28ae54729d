// SPDX-License-Identifier: BSD-3-Clause
// Axes of a grid, and runs' results by point.
#include "sweep_command.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <fstream>

#include "parallel.h"
#include "sim/outcome.h"
#include "sweep_table.h"

namespace mrc::simapp {
namespace {

TEST(Grid, CommasWithinBracketsAndQuotesBelongToTheValue) {
  const auto points = expand_grid(
      {"faults=[],[{kind: loss, place: fabric}],[{kind: down, place: \"a,]b\"}, {}]", "paths.evs=8,16"});
  ASSERT_TRUE(points) << points.error().message;
  ASSERT_EQ(points->size(), 6U);
  EXPECT_EQ((*points)[0], (config::Settings{{"faults", "[]"}, {"paths.evs", "8"}}));
  EXPECT_EQ((*points)[3],
            (config::Settings{{"faults", "[{kind: loss, place: fabric}]"}, {"paths.evs", "16"}}));
  EXPECT_EQ((*points)[4],
            (config::Settings{{"faults", "[{kind: down, place: \"a,]b\"}, {}]"}, {"paths.evs", "8"}}));
}

TEST(Grid, MistakesAreNamed) {
  const std::pair<const char*, const char*> cases[] = {{"paths.evs", "key=value"},
                                                       {"paths.evs=", "key=value"},
                                                       {"paths.evs=8,,16", "an empty value"},
                                                       {"paths.evs=8,", "an empty value"},
                                                       {"faults=[{kind: loss},[]", "one ] is missing"},
                                                       {"workload.matrix='a", "one ' is missing"}};
  for (const auto& [axis, expected] : cases) {
    const auto points = expand_grid({axis});
    ASSERT_FALSE(points) << axis;
    EXPECT_NE(points.error().message.find(expected), std::string::npos) << points.error().message;
  }
}

TEST(Grid, TooManyPointsAreCountedNotMade) {
  std::vector<std::string> axes(40, "seed=1,2,3,4,5,6,7,8,9,10");
  EXPECT_EQ(expand_grid(axes).error().message, "--grid: more than 1000000 points");
}

TEST(Grid, AMistakeIsQuotedInPart) {
  const auto points = expand_grid({"a=" + std::string(200000, '[')});
  ASSERT_FALSE(points);
  EXPECT_LT(points.error().message.size(), 250U);
  EXPECT_EQ(expand_grid({"\x1b[31m"}).error().message.find('\x1b'), std::string::npos);
}

TEST(Parallel, EveryJobRunsOnceHoweverManyThreadsAreWanted) {
  for (const unsigned threads : {0U, 1U, 1'000'000U}) {
    std::vector<std::atomic<int>> runs(3000);
    run_parallel(runs.size(), threads, true, [&](std::size_t i) { ++runs[i]; });
    for (const auto& r : runs) ASSERT_EQ(r, 1) << threads;
  }
}

/// A directory with results of runs.
class Collect : public ::testing::Test {
 protected:
  std::string result(const char* name, std::uint64_t seed, const config::Settings& settings, bool ok = true) {
    sim::Outcome o;
    o.scenario = "s.yaml";
    o.seed = seed;
    o.settings = settings;
    o.finished = ok;
    o.fct.max_ns = static_cast<std::int64_t>(seed) * 1000;
    o.packets = {{"rtx", seed}};
    const std::string path = ::testing::TempDir() + "mrc_sweep_" + name;
    std::ofstream(path) << sim::to_json(o);
    return path;
  }
};

TEST_F(Collect, RunsGoToTheirPointsAndTheRestIsTold) {
  const auto points = collect_points(
      {result("a", 2, {{"x", "1"}, {"y", "8"}}), result("b", 1, {{"x", "1"}, {"y", "8"}}),
       result("c", 3, {{"x", "1"}, {"y", "8"}}), result("d", 7, {{"x", "1"}, {"y", "16"}}, false)});
  ASSERT_TRUE(points) << points.error().message;
  ASSERT_EQ(points->size(), 2U);
  EXPECT_EQ((*points)[0].settings, (config::Settings{{"y", "8"}})) << "all have x=1";
  ASSERT_EQ((*points)[0].runs.size(), 3U);
  EXPECT_EQ((*points)[0].runs[0].seed, 1U);
  EXPECT_EQ((*points)[0].runs[2].tail_us, 3);
  EXPECT_FALSE(all_pass(*points));
  const std::string text = sweep_text(*points);
  EXPECT_NE(text.find("1 to 3 seeds a point"), std::string::npos) << text;
  EXPECT_NE(text.find("seed 7: FAIL"), std::string::npos) << text;
  EXPECT_NE(sweep_json(*points).find("\"7\": \"FAIL"), std::string::npos);
}

TEST_F(Collect, WhatIsNoResultOrComesTwiceIsRefused) {
  const std::string a = result("e", 1, {{"y", "8"}});
  const std::string b = result("f", 1, {{"y", "8"}});
  const auto twice = collect_points({a, b});
  ASSERT_FALSE(twice);
  EXPECT_NE(twice.error().message.find("seed 1 of 's.yaml y=8' is there twice"), std::string::npos)
      << twice.error().message;
  const std::string other = ::testing::TempDir() + "mrc_sweep_g";
  std::ofstream(other) << R"({"schema": "softmrc.sweep/1"})";
  const auto wrong = collect_points({a, other});
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message.find("softmrc.sweep/1"), std::string::npos) << wrong.error().message;
  EXPECT_FALSE(collect_points({a, "/no/such/file"}));
  std::ofstream(other) << R"({"schema": )" << std::string(520'000, '[');
  EXPECT_NE(collect_points({other}).error().message.find("nested more than 16"), std::string::npos);
}

}  // namespace
}  // namespace mrc::simapp
