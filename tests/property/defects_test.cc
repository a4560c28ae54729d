// SPDX-License-Identifier: BSD-3-Clause
// The property tests tested: the transport compiled with one defect at a time must break a rule within the
// seeds of the normal run.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "base/seeded_defect.h"
#include "run.h"

#ifndef MRC_SEEDED_DEFECTS
#error "compile this with -DMRC_SEEDED_DEFECTS, as the transport beside it"
#endif

namespace mrc::property {
namespace {

struct Named {
  Defect defect;
  const char* name;
};

constexpr Named kDefects[] = {
    {Defect::kAckBeforePlaced, "ack before placed"},
    {Defect::kAcceptDuplicate, "accept duplicate"},
    {Defect::kForgetWrap, "forget PSN wrap"},
    {Defect::kSackBaseOffByOne, "SACK base off by one"},
    {Defect::kIgnoreMpr, "ignore MPR"},
    {Defect::kIgnoreWimmLimit, "ignore WriteIMM limit"},
    {Defect::kDeliverEarly, "deliver immediate early"},
    {Defect::kSameEv, "retransmit on the same EV"},
    {Defect::kCompleteTwice, "complete twice"},
    {Defect::kSackCompletes, "SACK completes"},
    {Defect::kLoseTimer, "lose timer"},
    {Defect::kUnchargeTwice, "uncharge twice"},
    {Defect::kCountDuplicates, "count duplicates"},
    {Defect::kNoReordering, "no reordering allowance"},
    {Defect::kKeepRetryCount, "keep retry count"},
    {Defect::kCountOldSack, "count an old SACK"},
    {Defect::kWrongOffset, "retransmit wrong offset"},
    {Defect::kDataOnSilentPlane, "data on a silent plane"},
    {Defect::kDownLastPlane, "the last plane goes down"},
    {Defect::kIgnorePeerPorts, "ignore the peer's ports"},
    {Defect::kShrinkRefuses, "shrinking refuses"},
    {Defect::kNoPlaneFlush, "no flush with the plane"},
    {Defect::kKeepReverseEv, "keep a reverse EV"},
};
static_assert(std::size(kDefects) + 1 == static_cast<std::size_t>(Defect::kCount), "every defect is tried");

std::uint64_t seeds_each() {
  const char* text = std::getenv("MRC_PROPERTY_DEFECT_SEEDS");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : 200;
}

TEST(Defects, TheSoundTransportPassesTheSameSeeds) {
  active_defect = Defect::kNone;
  for (std::uint64_t seed = 1; seed <= seeds_each(); ++seed) {
    const RunResult result = run(make_scenario(seed));
    ASSERT_TRUE(result.ok) << "seed " << seed << ": " << result.failure;
  }
}

TEST(Defects, EachIsFound) {
  std::printf("%-28s %9s %14s  %s\n", "defect", "first in", "found in", "rules broken");
  for (const Named& d : kDefects) {
    active_defect = d.defect;
    std::uint64_t first = 0, found = 0;
    std::map<std::string, int> rules;
    // rare ones get more seeds, as many as a few normal runs have
    for (std::uint64_t seed = 1; seed <= seeds_each() * (found == 0 ? 20 : 1); ++seed) {
      const RunResult result = run(make_scenario(seed));
      if (result.ok) continue;
      if (first == 0) first = seed;
      ++found;
      ++rules[result.failure.substr(0, result.failure.find(':'))];
    }
    active_defect = Defect::kNone;
    std::string list;
    for (const auto& [rule, count] : rules) list += rule + " x" + std::to_string(count) + "  ";
    std::printf("%-28s %9llu %8llu / %llu  %s\n", d.name, static_cast<unsigned long long>(first),
                static_cast<unsigned long long>(found), static_cast<unsigned long long>(seeds_each()),
                list.c_str());
    EXPECT_GT(found, 0U) << "the defect \"" << d.name << "\" survived " << seeds_each() * 20 << " seeds";
  }
}

}  // namespace
}  // namespace mrc::property
