// SPDX-License-Identifier: BSD-3-Clause
#include "fabric/event_heap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/rng.h"

namespace mrc::fabric {
namespace {

TEST(EventHeap, GivesEventsInOrderOfTimeThenServiceThenAge) {
  EventHeap heap(8);
  heap.push(Time{20}, EventType::kArrival, 1);
  heap.push(Time{10}, EventType::kArrival, 2);
  heap.push(Time{10}, EventType::kService, 3);
  heap.push(Time{10}, EventType::kArrival, 4);
  std::vector<std::uint32_t> order;
  for (; !heap.empty(); heap.pop()) order.push_back(heap.top().target);
  EXPECT_EQ(order, (std::vector<std::uint32_t>{3, 2, 4, 1}));
}

TEST(EventHeap, SortsLikeAStableSort) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Rng rng(seed);
    EventHeap heap(500);
    std::vector<std::pair<std::int64_t, std::uint32_t>> expected;
    for (std::uint32_t i = 0; i < 500; ++i) {
      const auto at = static_cast<std::int64_t>(rng.below(40));
      heap.push(Time{at}, EventType::kArrival, i);
      expected.emplace_back(at, i);
    }
    heap.remove_if([](const Event& e) { return e.target % 7 == 0; });
    std::erase_if(expected, [](const auto& e) { return e.second % 7 == 0; });
    std::stable_sort(expected.begin(), expected.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [at, target] : expected) {
      ASSERT_FALSE(heap.empty()) << "seed " << seed;
      ASSERT_EQ(heap.top().at.ns, at) << "seed " << seed;
      ASSERT_EQ(heap.top().target, target) << "seed " << seed;
      heap.pop();
    }
    ASSERT_TRUE(heap.empty());
  }
}

}  // namespace
}  // namespace mrc::fabric
