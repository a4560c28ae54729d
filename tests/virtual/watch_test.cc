// SPDX-License-Identifier: BSD-3-Clause
// What can be learned about a path while it lives, dies and comes back.
#include "fixture.h"

namespace mrc::virt::test {
namespace {

using What = Observation::What;
using fabric::Kind;

class WatchTest : public VirtualTest {
 protected:
  std::vector<Observation> observations() {
    std::vector<Observation> all;
    Observation o[8];
    for (std::size_t n = 1; n != 0;) {
      n = net_->take_observations(o);
      all.insert(all.end(), o, o + n);
    }
    return all;
  }
};

TEST_F(WatchTest, RecordsTheStoryOfADeath) {
  start(parallel(microseconds(10)));
  ASSERT_TRUE(net_->watch_path(0, 1));
  net_->poll(Time{1});
  send({.sport = 1, .psn = 11});
  send({.sport = 2, .psn = 12});
  net_->poll(Time{100});
  ASSERT_TRUE(net_->set_path_up(0, 1, false));
  net_->poll(Time{200});
  send({.from = 1, .sport = 1, .psn = 13, .rtx = true});
  net_->poll(Time{300});
  ASSERT_TRUE(net_->set_path_up(0, 1, true));
  net_->poll(Time{400});
  send({.sport = 1, .psn = 14});
  net_->poll(Time{500});
  send({.sport = 1, .psn = 15});
  net_->poll(Time{600});
  net_->poll(Time{100'000});
  receive(1, 0);

  const auto o = observations();
  ASSERT_EQ(o.size(), 7U);
  EXPECT_EQ(o[0].what, What::kFirstEntered);
  EXPECT_EQ(o[0].at, Time{100});
  EXPECT_EQ(o[1].what, What::kDown);
  EXPECT_EQ(o[1].at, Time{200});
  EXPECT_EQ(o[2].what, What::kDropped);
  EXPECT_EQ(o[2].psn, 11U);
  EXPECT_EQ(o[2].at, Time{200});
  EXPECT_EQ(o[2].from, 0U);
  EXPECT_EQ(o[2].reason, fabric::DropReason::kLinkDown);
  EXPECT_EQ(o[3].what, What::kDropped);
  EXPECT_EQ(o[3].psn, 13U);
  EXPECT_EQ(o[3].kind, Kind::kRetransmission);
  EXPECT_EQ(o[3].from, 1U);
  EXPECT_EQ(o[4].what, What::kFirstEntered);
  EXPECT_EQ(o[4].kind, Kind::kRetransmission);
  EXPECT_EQ(o[5].what, What::kUp);
  EXPECT_EQ(o[6].what, What::kFirstEntered);
  EXPECT_EQ(o[6].kind, Kind::kData);
  EXPECT_EQ(o[6].at, Time{500});

  WatchTotals t;
  ASSERT_TRUE(net_->watch_totals(0, 1, t));
  EXPECT_EQ(t.kinds[static_cast<std::size_t>(Kind::kData)].entered, 3U);
  EXPECT_EQ(t.kinds[static_cast<std::size_t>(Kind::kData)].last_entered, Time{600});
  EXPECT_EQ(t.kinds[static_cast<std::size_t>(Kind::kRetransmission)].entered, 1U);
  EXPECT_FALSE(net_->watch_totals(0, 2, t));
}

TEST_F(WatchTest, ItsMemoryIsBoundedAndLossIsCounted) {
  VirtualConfig c = parallel();
  c.observations = 64;
  start(c);
  ASSERT_TRUE(net_->watch_path(0, 1));
  ASSERT_TRUE(net_->watch_path(0, 1)) << "twice is once";
  ASSERT_TRUE(net_->set_path_up(0, 1, false));
  for (std::uint32_t i = 0; i < 500; ++i) {
    send({.sport = 1, .psn = i});
    net_->poll(Time{1 + i});
  }
  EXPECT_EQ(observations().size(), 64U);
  WatchTotals t;
  ASSERT_TRUE(net_->watch_totals(0, 1, t));
  EXPECT_EQ(t.observations_lost, 502U - 64U);  // 500 drops, kDown, kFirstEntered
  EXPECT_EQ(net_->counters().bad_command, 0U);
}

}  // namespace
}  // namespace mrc::virt::test
