// SPDX-License-Identifier: BSD-3-Clause
#include "report/rates.h"

#include <gtest/gtest.h>

namespace mrc::report {
namespace {

TEST(Rates, NamesWhatTheyCount) {
  // 1000 frames of 1514 bytes (1518 with FCS, 1538 on the wire) in a tenth of a second.
  const Rates r = rates_of(500, 1'400'000, 1000, 1'514'000, 0.1);
  EXPECT_DOUBLE_EQ(r.goodput_bps, 112e6);
  EXPECT_DOUBLE_EQ(r.l2_bps, 1518 * 8 * 1e4);
  EXPECT_DOUBLE_EQ(r.l1_bps, 1538 * 8 * 1e4);
  EXPECT_DOUBLE_EQ(r.packets_per_s, 1e4);
  EXPECT_DOUBLE_EQ(r.messages_per_s, 5e3);
}

TEST(Rates, NoTimeGivesNoRate) {
  EXPECT_EQ(rates_of(1, 1, 1, 1, 0).l1_bps, 0);
  EXPECT_EQ(rates_of(1, 1, 1, 1, -1).goodput_bps, 0);
}

TEST(Rates, ACounterThatRunsBackwardsIsNotHuge) {
  EXPECT_EQ(delta(10, 7), 3U);
  EXPECT_EQ(delta(7, 10), 0U);
}

TEST(Windows, KeepsMinimumAverageMaximum) {
  Windows w;
  EXPECT_EQ(w.min(), 0);
  for (const double v : {4.0, 1.0, 7.0}) w.add(v);
  EXPECT_EQ(w.count(), 3U);
  EXPECT_EQ(w.min(), 1);
  EXPECT_EQ(w.max(), 7);
  EXPECT_EQ(w.average(), 4);
}

}  // namespace
}  // namespace mrc::report
