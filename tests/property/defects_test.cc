// SPDX-License-Identifier: BSD-3-Clause
// The property tests tested: the transport compiled with one defect at a time must break a rule within the
// seeds of the normal run.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "base/seeded_defect.h"
#include "replay.h"
#include "run.h"

#ifndef MRC_SEEDED_DEFECTS
#error "compile this with -DMRC_SEEDED_DEFECTS, as the transport beside it"
#endif

namespace mrc::property {
namespace {

std::uint64_t seeds_each() {
  const char* text = std::getenv("MRC_PROPERTY_DEFECT_SEEDS");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : 200;
}

TEST(Defects, TheSoundTransportPassesTheSameSeeds) {
  active_defect = Defect::kNone;
  for (std::uint64_t seed = 1; seed <= seeds_each(); ++seed) {
    testing::replay_by("property_test --seed=", seed);
    const RunResult result = run(make_scenario(seed));
    ASSERT_TRUE(result.ok) << "seed " << seed << ": " << result.failure;
  }
}

TEST(Defects, EachIsFound) {
  std::printf("%-28s %9s %14s  %s\n", "defect", "first in", "found in", "rules broken");
  for (std::size_t i = 1; i < static_cast<std::size_t>(Defect::kCount); ++i) {
    const auto defect = static_cast<Defect>(i);
    active_defect = defect;
    std::uint64_t first = 0, found = 0;
    std::map<std::string, int> rules;
    // rare ones get more seeds, as many as a few normal runs have
    for (std::uint64_t seed = 1; seed <= seeds_each() * (found == 0 ? 20 : 1); ++seed) {
      testing::replay_by(std::string("defects_test, defect \"") + name_of(defect) + "\", seed ", seed);
      const RunResult result = run(make_scenario(seed));
      if (result.ok) continue;
      if (first == 0) first = seed;
      ++found;
      ++rules[result.failure.substr(0, result.failure.find(':'))];
    }
    active_defect = Defect::kNone;
    std::string list;
    for (const auto& [rule, count] : rules) list += rule + " x" + std::to_string(count) + "  ";
    std::printf("%-28s %9llu %8llu / %llu  %s\n", name_of(defect), static_cast<unsigned long long>(first),
                static_cast<unsigned long long>(found), static_cast<unsigned long long>(seeds_each()),
                list.c_str());
    EXPECT_GT(found, 0U) << "the defect \"" << name_of(defect) << "\" survived " << seeds_each() * 20
                         << " seeds";
  }
}

}  // namespace
}  // namespace mrc::property
