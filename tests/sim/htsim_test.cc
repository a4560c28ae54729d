// SPDX-License-Identifier: BSD-3-Clause
// The limits of the preset htsim-compat on networks that run in seconds. All rows, all matrices and the large
// network: `mrc-sim table --large`, in the nightly suite.
#include <gtest/gtest.h>

#include "sim/htsim_table.h"

namespace mrc::sim {
namespace {

HtsimResult run(const char* name, unsigned seeds) {
  const auto rows = htsim_rows();
  const HtsimRow& row = row_named(rows, name);
  const HtsimResult r = run_row(row, 1, seeds);
  for (const std::string& f : r.failures) ADD_FAILURE() << f << "\n" << table_header() << table_line(row, r);
  return r;
}

TEST(Htsim, OneFlow) {
  const HtsimResult r = run("one flow of 2 MB", 10);
  EXPECT_NEAR(r.median_us(), 176.2, 0.5);
  EXPECT_EQ(r.median_counts().fresh, 489U);  // htsim rounds 2 MB up to 490 packets
  EXPECT_NEAR(static_cast<double>(r.median_counts().ack), 124, 3);
}

TEST(Htsim, Incast) {
  run("incast 2:1, marks at the last hop", 10);
  run("incast 15:1, marks at the last hop", 10);
  run("incast 2:1, none there", 10);
  run("incast 15:1, none there", 10);
}

// One matrix of one path has 159 retransmissions where 279 are published, another 359: a draw, no verdict.
TEST(Htsim, FewMatricesDoNotJudgeMedians) {
  HtsimRow row;
  row.median = 1.1;
  row.worst = 1.5;
  row.published = {100, 0, 0, 0};
  const auto failures = [&row](std::size_t matrices, double of_ideal) {
    HtsimResult r;
    r.tail_us.assign(matrices, 100);
    r.over_ideal.assign(matrices, of_ideal);
    r.counts.assign(matrices, {300, 0, 0, 0});
    judge(row, r);
    return r.failures.size();
  };
  EXPECT_EQ(failures(kJudgedMatrices - 1, 1.2), 0U);
  EXPECT_EQ(failures(kJudgedMatrices, 1.2), 2U) << "the median and a count";
  EXPECT_EQ(failures(1, 1.6), 1U) << "no matrix may be so bad";
  EXPECT_EQ(failures(0, 1), 1U) << "nothing was run";
}

// Seeds 7 and 10 wait for the ACK timer: the packet that asked for news was trimmed, and the window fell
// below what is in flight. The tail probe asks instead (D14), so that no seed ends late.
TEST(Htsim, TheTailProbeEndsTheWaitOfAnIncast) {
  const auto rows = htsim_rows();
  const auto late = run_htsim(row_named(rows, "incast 15:1, none there"), 7);
  ASSERT_TRUE(late) << late.error().message;
  EXPECT_GT(late->tail_over_ideal(), 1.05) << "the control: without the probe it ends late";
  run("incast 15:1, none there, tail probe", 10);
}

TEST(Htsim, PermutationOf16) {
  const HtsimResult score = run("permutation 16, score", 10);
  run("permutation 16, mrc", 10);
  const HtsimResult single = run("permutation 16, one EV", 10);
  EXPECT_GT(single.median_us(), 1.7 * score.median_us()) << "the control: one path must be far worse";
}

TEST(Htsim, SlowCoreLinks) {
  const auto rows = htsim_rows();
  for (const HtsimPair& p : htsim_pairs()) {
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
      const auto better = run_htsim(row_named(rows, p.better), seed);
      const auto worse = run_htsim(row_named(rows, p.worse), seed);
      ASSERT_TRUE(better && worse);
      EXPECT_TRUE(better->pass() && worse->pass());
      EXPECT_LE(static_cast<double>(better->fct.max_ns), p.ratio * static_cast<double>(worse->fct.max_ns))
          << p.better << " seed " << seed;
    }
  }
}

}  // namespace
}  // namespace mrc::sim
