// SPDX-License-Identifier: BSD-3-Clause
// What tests/failover measures in virtual time, in real time: ports, mbufs, frames, the poll loop.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "live_run.h"

namespace mrc::failover {
namespace {

double median(std::vector<double> v) {
  if (v.empty()) return 0;
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

void tell(const char* who, const LiveConditions& c, const LiveOutcome& o) {
  std::printf(
      "%s: %zu deaths counted, %u left out (thread away for over half a base RTT of %.1f ms), %u met "
      "nothing; "
      "%llu packets lost; median %.2f, max %.2f RTT; %llu retransmissions by timer; %llu messages\n",
      who, o.rtts.size(), o.absent, static_cast<double>(c.base_rtt.ns) * 1e-6, o.missed,
      static_cast<unsigned long long>(o.lost_pkts), median(o.rtts),
      o.rtts.empty() ? 0 : *std::max_element(o.rtts.begin(), o.rtts.end()),
      static_cast<unsigned long long>(o.by_timer), static_cast<unsigned long long>(o.messages));
}

TEST(LiveFailover, FiftyDeathsAreRepairedWithinFiveRoundTrips) {
  LiveConditions c;
  c.base_rtt = calm_base_rtt();
  const LiveOutcome o = run_live(c);
  tell("all rules", c, o);
  ASSERT_EQ(o.error, "");
  EXPECT_TRUE(o.intact);
  if (o.rtts.size() < c.deaths)
    GTEST_SKIP() << "this machine is too busy to measure: in " << o.absent << " of "
                 << o.absent + o.rtts.size() << " deaths the thread was away for over half a base RTT";
  EXPECT_LE(median(o.rtts), 5.0);
}

TEST(LiveFailover, TheEvOrderRuleAloneMissesIt) {
  LiveConditions c;
  c.base_rtt = calm_base_rtt();
  c.deaths = 6;
  c.ev_order_only = true;
  c.time_limit = seconds(30);
  const LiveOutcome o = run_live(c);
  tell("EV order alone", c, o);
  ASSERT_EQ(o.error, "");
  EXPECT_TRUE(o.intact);
  if (o.rtts.size() < c.deaths) GTEST_SKIP() << "this machine is too busy to measure";
  EXPECT_GT(median(o.rtts), 6.5) << "the control meets the limit: this test proves nothing";
}

}  // namespace
}  // namespace mrc::failover
