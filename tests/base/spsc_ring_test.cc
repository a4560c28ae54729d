// SPDX-License-Identifier: BSD-3-Clause
#include "base/spsc_ring.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <thread>

namespace mrc {
namespace {

TEST(SpscRing, FullAndEmptyAreResults) {
  SpscRing<int> ring(3);
  EXPECT_EQ(ring.capacity(), 4U);
  std::array<int, 6> in{1, 2, 3, 4, 5, 6};
  EXPECT_EQ(ring.push(in), 4U);
  EXPECT_FALSE(ring.push(7));
  std::array<int, 6> out{};
  EXPECT_EQ(ring.pop(out), 4U);
  EXPECT_EQ(out[3], 4);
  EXPECT_EQ(ring.pop(out), 0U);
}

TEST(SpscRing, KeepsOrderAcrossThreads) {
  SpscRing<std::uint64_t> ring(64);
  constexpr std::uint64_t kItems = 200'000;
  std::thread producer([&] {
    for (std::uint64_t i = 0; i < kItems;) {
      std::array<std::uint64_t, 7> burst;
      std::size_t n = 0;
      while (n < burst.size() && i + n < kItems) {
        burst[n] = i + n;
        ++n;
      }
      const std::size_t sent = ring.push(std::span<const std::uint64_t>(burst.data(), n));
      i += sent;
      if (sent == 0) std::this_thread::yield();
    }
  });
  std::uint64_t expected = 0;
  while (expected < kItems) {
    std::array<std::uint64_t, 5> burst;
    const std::size_t n = ring.pop(burst);
    for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(burst[i], expected++);
    if (n == 0) std::this_thread::yield();
  }
  producer.join();
  EXPECT_EQ(ring.size(), 0U);
}

}  // namespace
}  // namespace mrc
