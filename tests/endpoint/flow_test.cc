// SPDX-License-Identifier: BSD-3-Clause
#include "flow.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "base/rng.h"

namespace mrc::endpoint {
namespace {

FlowPlan plan(std::uint64_t size, std::uint32_t slots, std::uint32_t depth, std::uint64_t iterations) {
  FlowPlan p;
  p.key = {42, 7, 1, 0};
  p.size_bytes = size;
  p.stride_bytes = (size + 63) / 64 * 64;
  p.slots = slots;
  p.depth = depth;
  p.iterations = iterations;
  return p;
}

/// A perfect network of zero length, or one that forgets a piece.
struct Pair {
  explicit Pair(const FlowPlan& p)
      : memory(p.stride_bytes * p.slots + 1), sender(p), receiver(p, memory.data()) {
    while (!receiver.prepared()) receiver.prepare_some(100);
  }
  void place(std::uint64_t message, std::uint64_t skip_from = ~0ULL, std::uint64_t skip_bytes = 0) {
    const FlowPlan& p = sender.plan();
    PatternKey key = p.key;
    key.message = message;
    std::vector<unsigned char> data(p.size_bytes);
    fill_pattern(key, 0, data.data(), data.size());
    for (std::uint64_t i = 0; i < p.size_bytes; ++i) {
      if (i < skip_from || i >= skip_from + skip_bytes) memory[sender.slot_offset(message) + i] = data[i];
    }
  }
  std::vector<unsigned char> memory;
  SendFlow sender;
  ReceiveFlow receiver;
};

TEST(Flow, MovesAndVerifiesEveryMessage) {
  for (const std::uint64_t size : {0U, 1U, 63U, 64U, 5000U, 40000U}) {
    Pair pair(plan(size, 4, 2, 25));
    while (!pair.sender.done()) {
      while (pair.sender.may_post()) pair.place(pair.sender.post());
      while (pair.sender.completed() < pair.sender.posted()) pair.sender.on_completed();
      ASSERT_TRUE(pair.receiver.announce(pair.sender.completed()));
      while (!pair.receiver.idle()) pair.receiver.check_some(10000);
      ASSERT_TRUE(pair.sender.on_released(pair.receiver.released()));
    }
    EXPECT_EQ(pair.receiver.released(), 25U);
    EXPECT_EQ(pair.receiver.bytes_checked(), 25 * size);
    EXPECT_EQ(pair.receiver.bad(), 0U) << pair.receiver.first_bad();
  }
}

// The reason for the poison: whatever piece of whatever message is not placed, in a slot used for the first
// time or again, is found.
TEST(Flow, ASkippedPlacementIsAlwaysFound) {
  Rng rng(3);
  for (int round = 0; round < 200; ++round) {
    const std::uint64_t size = 1 + rng.below(9000);
    Pair pair(plan(size, 3, 3, 12));
    const std::uint64_t victim = rng.below(12);
    const std::uint64_t from = rng.below(size);
    const std::uint64_t bytes = 1 + rng.below(size - from);
    for (std::uint64_t m = 0; m < 12; ++m) {
      pair.sender.post();
      if (m == victim) {
        pair.place(m, from, bytes);
      } else {
        pair.place(m);
      }
      ASSERT_TRUE(pair.receiver.announce(m + 1));
      while (!pair.receiver.idle()) pair.receiver.check_some(~0ULL);
    }
    EXPECT_EQ(pair.receiver.bad(), 1U) << "size " << size << " message " << victim << " from " << from;
    EXPECT_NE(pair.receiver.first_bad().find("(never written)"), std::string::npos)
        << pair.receiver.first_bad();
  }
}

TEST(Flow, SenderKeepsDepthSlotsAndCount) {
  SendFlow f(plan(8, 4, 2, 6));
  EXPECT_TRUE(f.may_post());
  f.post();
  f.post();
  EXPECT_FALSE(f.may_post()) << "depth";
  EXPECT_FALSE(f.waits_for_release());
  f.on_completed();
  f.on_completed();
  f.post();
  f.post();
  f.on_completed();
  EXPECT_FALSE(f.may_post()) << "slots";
  EXPECT_TRUE(f.waits_for_release());
  EXPECT_FALSE(f.on_released(5)) << "more than was sent";
  EXPECT_TRUE(f.on_released(4));
  EXPECT_FALSE(f.on_released(3)) << "backwards";
  f.post();
  f.on_completed();
  f.post();
  EXPECT_FALSE(f.done());
  f.on_completed();
  f.on_completed();
  EXPECT_TRUE(f.done());
  EXPECT_FALSE(f.may_post()) << "count";
}

TEST(Flow, StopEndsAfterWhatWasPosted) {
  SendFlow f(plan(8, 8, 8, 0));
  f.post();
  EXPECT_FALSE(f.done());
  f.stop();
  EXPECT_FALSE(f.may_post());
  EXPECT_FALSE(f.done());
  f.on_completed();
  EXPECT_TRUE(f.done());
}

TEST(Flow, ReceiverRefusesImpossibleCounts) {
  Pair pair(plan(8, 4, 4, 0));
  EXPECT_FALSE(pair.receiver.announce(5)) << "more messages than slots";
  EXPECT_TRUE(pair.receiver.announce(4));
  EXPECT_FALSE(pair.receiver.announce(3)) << "backwards";
}

TEST(Flow, WithoutVerificationNothingIsTouched) {
  FlowPlan p = plan(100, 2, 2, 0);
  p.verify = false;
  Pair pair(p);
  const std::vector<unsigned char> before = pair.memory;
  ASSERT_TRUE(pair.receiver.announce(2));
  EXPECT_TRUE(pair.receiver.idle());
  EXPECT_EQ(pair.receiver.bytes_checked(), 0U);
  EXPECT_EQ(pair.memory, before);
}

}  // namespace
}  // namespace mrc::endpoint
