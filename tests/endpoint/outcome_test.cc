// SPDX-License-Identifier: BSD-3-Clause
// What a result says from the start; two ends of one process become one, which says of which members it holds
// the sums.
#include "outcome.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace mrc::endpoint {
namespace {

using nlohmann::json;

/// An end with `n` of everything.
report::PhaseResult end_with(std::uint64_t n) {
  report::PhaseResult p;
  p.messages_offered = p.messages_completed = p.messages_received = n;
  p.bytes_completed = n;
  p.verification.messages = p.verification.bytes = n;
  p.planes.push_back({0, "fd00::1", "virtual0.0", true, n, n, n, n, n, 1.0});
  p.evs.push_back({0, 0, 0, "0xc000", "GOOD", n, n, n, n});
  p.ev_events.dropped = n;
  p.controllers.emplace_back().acks = n;
  p.retransmissions = p.transport = p.engine = p.drops = p.fabric = {{"count", n}};
  return p;
}

json phase_of(const report::PhaseResult& p) {
  report::RunResult run;
  run.phases.push_back(p);
  return json::parse(report::to_json(run))["phases"][0];
}

/// All whole numbers in it, added.
std::uint64_t sum_of(const json& j) {
  if (j.is_number_unsigned()) return j.get<std::uint64_t>();
  std::uint64_t sum = 0;
  if (j.is_structured()) {
    for (const json& member : j) sum += sum_of(member);
  }
  return sum;
}

TEST(Outcome, MembersOfBothEndsAreThoseListed) {
  report::PhaseResult run = end_with(1000);
  merge_receiver(run, end_with(7));
  const json before = phase_of(end_with(1000));
  const json peer = phase_of(end_with(7));
  const json after = phase_of(run);
  ASSERT_EQ(after["of_both_ends"].size(), 6U);
  for (const auto& [name, member] : after.items()) {
    if (name == "of_both_ends" || name == "conservation") continue;  // words
    const auto& listed = after["of_both_ends"];
    const bool summed = std::find(listed.begin(), listed.end(), name) != listed.end();
    EXPECT_EQ(sum_of(member), sum_of(before[name]) + (summed ? sum_of(peer[name]) : 0)) << name;
  }
}

TEST(Outcome, WarnsOfAnIcrcThatIsNotLookedAt) {
  Options options;
  EXPECT_TRUE(start_result(options, 1).warnings.empty());
  options.config.net.icrc = config::IcrcPolicy::kIgnore;
  const report::RunResult r = start_result(options, 1);
  ASSERT_EQ(r.warnings.size(), 1U);
  EXPECT_NE(r.warnings[0].find("net.icrc is ignore"), std::string::npos);
}

TEST(Outcome, OneEndAloneSumsNothing) {
  EXPECT_TRUE(phase_of(end_with(5))["of_both_ends"].empty());
}

}  // namespace
}  // namespace mrc::endpoint
