// SPDX-License-Identifier: BSD-3-Clause
// How long a death costs (D8, D9, D14): medians and tails over many seeds, and the control that must miss
// them.
//
//   failover_test              200 seeds a cell; MRC_FAILOVER_SEEDS=N or --seeds=N for more
//   failover_test --seed=N     one seed of every cell, printed
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "run.h"

namespace mrc::failover {
namespace {

std::uint64_t g_seeds = 200;

struct Cell {
  std::vector<double> rtts;
  std::uint32_t runs = 0;
  std::uint32_t hit = 0;    ///< runs in which the death swallowed something
  std::uint32_t moved = 0;  ///< runs in which the death had to strike elsewhere to meet a packet
  std::uint32_t by_timer = 0, spurious = 0, most_spurious = 0, verdicts = 0, false_verdicts = 0,
                unrepaired = 0;

  [[nodiscard]] double quantile(double q) const {
    if (rtts.empty()) return 0;
    const auto at = static_cast<std::size_t>(q * static_cast<double>(rtts.size()));
    return rtts[std::min(at, rtts.size() - 1)];
  }
};

Cell measure(Conditions setup) {
  const char* who = setup.ev_order_only ? "control:" : "";
  Cell cell;
  for (setup.seed = 1; setup.seed <= g_seeds; ++setup.seed) {
    const Outcome o = run(setup);
    EXPECT_EQ(o.violation, "") << "seed " << setup.seed;
    ++cell.runs;
    cell.unrepaired += o.repaired ? 0 : 1;
    cell.by_timer += o.by_timer;
    cell.spurious += o.spurious;
    cell.most_spurious = std::max(cell.most_spurious, o.spurious);
    cell.verdicts += o.verdicts;
    cell.false_verdicts += o.false_verdicts;
    if (o.lost == 0) continue;
    ++cell.hit;
    cell.moved += o.moved != 0 ? 1 : 0;
    cell.rtts.push_back(o.repair_rtts);
  }
  std::sort(cell.rtts.begin(), cell.rtts.end());
  std::printf(
      "%-8s %-8s %-10s %-5s queueing %3.1f  median %5.2f  p99 %6.2f  max %6.2f RTT; %u/%u hit, %u moved, %u "
      "by timer, "
      "%u spurious (most %u), %u verdicts, %u false\n",
      who, name(setup.workload), name(setup.fault), setup.nscc ? "nscc" : "fixed",
      static_cast<double>(setup.queueing.ns) / static_cast<double>(kBaseRtt.ns), cell.quantile(0.5),
      cell.quantile(0.99), cell.rtts.empty() ? 0 : cell.rtts.back(), cell.hit, cell.runs, cell.moved,
      cell.by_timer, cell.spurious, cell.most_spurious, cell.verdicts, cell.false_verdicts);
  return cell;
}

/// Workload, fault, queueing, NSCC.
class Failover : public ::testing::TestWithParam<std::tuple<Workload, Fault, bool, bool>> {};

TEST_P(Failover, IsRepairedWithinAFewRoundTrips) {
  Conditions setup;
  const bool queueing = std::get<2>(GetParam());
  setup.workload = std::get<0>(GetParam());
  setup.fault = std::get<1>(GetParam());
  setup.queueing = queueing ? kBaseRtt / 2 : Duration{};
  setup.nscc = std::get<3>(GetParam());
  const Cell cell = measure(setup);
  EXPECT_GE(cell.hit, cell.runs * 95 / 100) << "deaths that hurt nobody prove nothing";
  EXPECT_EQ(cell.unrepaired, 0U);
  EXPECT_LE(cell.quantile(0.5), 4.5);
  EXPECT_LE(cell.quantile(0.99), setup.workload == Workload::kStream && !queueing ? 5.0 : 6.5);
  EXPECT_EQ(cell.by_timer, 0U);
  EXPECT_LE(cell.most_spurious, 2U);
  EXPECT_EQ(cell.false_verdicts, 0U);
}

TEST_P(Failover, TheEvOrderRuleAloneMissesIt) {
  Conditions setup;
  setup.workload = std::get<0>(GetParam());
  setup.fault = std::get<1>(GetParam());
  setup.queueing = std::get<2>(GetParam()) ? kBaseRtt / 2 : Duration{};
  setup.nscc = std::get<3>(GetParam());
  setup.ev_order_only = true;
  const std::uint64_t seeds = std::exchange(g_seeds, std::min<std::uint64_t>(g_seeds, 10));
  const Cell cell = measure(setup);
  g_seeds = seeds;
  EXPECT_GT(cell.quantile(0.5), 6.5) << "the control meets the limit: this test proves nothing";
}

INSTANTIATE_TEST_SUITE_P(All, Failover,
                         ::testing::Combine(::testing::ValuesIn(kWorkloads), ::testing::ValuesIn(kFaults),
                                            ::testing::Bool(), ::testing::Bool()));

// The control of "no false verdicts": EVs condemned for a loss that the observer does not count are such.
TEST(FalseVerdicts, AreCounted) {
  for (const Workload w : kWorkloads) {
    for (const bool unseen : {false, true}) {
      Conditions setup;
      setup.workload = w;
      setup.unseen_loss = unseen;
      const Outcome o = run(setup);
      EXPECT_GT(o.verdicts, 0U) << name(w);
      EXPECT_EQ(o.false_verdicts != 0, unseen) << name(w);
    }
  }
}

int print_seed(std::uint64_t seed) {
  for (const Workload w : kWorkloads)
    for (const Fault f : kFaults)
      for (const int i : {0, 1, 2, 3}) {
        const bool queueing = (i & 1) != 0;
        const bool nscc = (i & 2) != 0;
        const Outcome o = run({w, f, queueing ? kBaseRtt / 2 : Duration{}, false, nscc, seed});
        std::printf(
            "%-8s %-10s %-5s %d: lost %u, repaired after %.2f RTT, spurious %u, timer %u, %u verdicts, false "
            "%u %s%s\n",
            name(w), name(f), nscc ? "nscc" : "fixed", queueing ? 1 : 0, o.lost, o.repair_rtts, o.spurious,
            o.by_timer, o.verdicts, o.false_verdicts, o.repaired ? "" : "NOT REPAIRED ", o.violation.c_str());
      }
  return 0;
}

}  // namespace

int main_of_failover_test(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (const char* seeds = std::getenv("MRC_FAILOVER_SEEDS")) g_seeds = std::strtoull(seeds, nullptr, 10);
  for (int i = 1; i < argc; ++i) {
    const std::string_view arg = argv[i];
    const auto number = [&arg] { return std::strtoull(arg.substr(arg.find('=') + 1).data(), nullptr, 10); };
    if (arg.starts_with("--seed=")) return print_seed(number());
    if (arg.starts_with("--seeds=")) g_seeds = number();
  }
  if (g_seeds == 0) {
    std::fprintf(stderr, "failover_test: 0 seeds test nothing; --seeds=N with N > 0\n");
    return 2;
  }
  return RUN_ALL_TESTS();
}

}  // namespace mrc::failover

int main(int argc, char** argv) {
  return mrc::failover::main_of_failover_test(argc, argv);
}
