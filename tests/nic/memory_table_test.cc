// SPDX-License-Identifier: BSD-3-Clause
#include "nic/memory_table.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>

namespace mrc::nic {
namespace {

TEST(MemoryTable, BoundsAreExactAndDoNotWrap) {
  MemoryTable table(4, 1);
  std::array<char, 100> bytes{};
  const auto keys = table.add(bytes.data(), bytes.size(), kAccessRemoteWrite);
  ASSERT_TRUE(keys);
  const auto base = reinterpret_cast<std::uint64_t>(bytes.data());
  const std::uint32_t k = keys->rkey;
  EXPECT_TRUE(table.allows(k, base, 100, kAccessRemoteWrite));
  EXPECT_TRUE(table.allows(k, base + 99, 1, kAccessRemoteWrite));
  EXPECT_TRUE(table.allows(k, base + 100, 0, kAccessRemoteWrite));
  EXPECT_FALSE(table.allows(k, base + 99, 2, kAccessRemoteWrite));
  EXPECT_FALSE(table.allows(k, base - 1, 1, kAccessRemoteWrite));
  EXPECT_FALSE(table.allows(k, base, 101, kAccessRemoteWrite));
  constexpr auto kMax = std::numeric_limits<std::uint64_t>::max();
  EXPECT_FALSE(table.allows(k, base + 10, kMax, kAccessRemoteWrite));
  EXPECT_FALSE(table.allows(k, kMax, 2, kAccessRemoteWrite));
  EXPECT_FALSE(table.allows(k, kMax - 5, base, kAccessRemoteWrite));
}

TEST(MemoryTable, WrongKeysAndRightsMiss) {
  MemoryTable table(2, 7);
  std::array<char, 8> bytes{};
  const auto base = reinterpret_cast<std::uint64_t>(bytes.data());
  const auto local = table.add(bytes.data(), bytes.size(), kAccessLocal);
  ASSERT_TRUE(local);
  EXPECT_TRUE(table.allows(local->lkey, base, 8, kAccessLocal));
  EXPECT_FALSE(table.allows(local->lkey, base, 8, kAccessRemoteWrite));
  EXPECT_FALSE(table.allows(local->lkey ^ 1, base, 8, kAccessLocal));
  EXPECT_FALSE(table.allows(0, base, 0, kAccessLocal));
  EXPECT_FALSE(table.allows(0xFFFFFFFF, base, 1, kAccessLocal));
}

TEST(MemoryTable, ClosedKeysStayClosedWhenTheSlotIsGivenAgain) {
  MemoryTable table(1, 3);
  std::array<char, 8> bytes{};
  const auto base = reinterpret_cast<std::uint64_t>(bytes.data());
  for (int round = 0; round < 50; ++round) {
    const auto keys = table.add(bytes.data(), bytes.size(), kAccessRemoteWrite);
    ASSERT_TRUE(keys);
    EXPECT_NE(keys->rkey, 0U);
    EXPECT_FALSE(table.add(bytes.data(), bytes.size(), 0));  // full, as configured
    EXPECT_TRUE(table.close(keys->rkey));
    EXPECT_FALSE(table.close(keys->rkey));
    EXPECT_FALSE(table.allows(keys->rkey, base, 8, kAccessLocal));
    table.release(keys->rkey);
  }
  EXPECT_EQ(table.regions(), 0U);
}

TEST(MemoryTable, RefusesNonsense) {
  MemoryTable table(1, 3);
  std::array<char, 8> bytes{};
  EXPECT_FALSE(table.add(nullptr, 8, 0));
  EXPECT_FALSE(table.add(bytes.data(), 0, 0));
  EXPECT_FALSE(table.add(bytes.data(), std::numeric_limits<std::size_t>::max(), 0));
  EXPECT_FALSE(table.add(bytes.data(), 8, 0x100));
}

}  // namespace
}  // namespace mrc::nic
