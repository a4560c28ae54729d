// SPDX-License-Identifier: BSD-3-Clause
#include "pattern.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <vector>

namespace mrc::endpoint {
namespace {

using Bytes = std::vector<unsigned char>;

TEST(Pattern, FilledIsRightAtEveryLengthAndOffset) {
  for (const std::size_t n : {0U, 1U, 7U, 8U, 9U, 255U, 256U, 257U, 4095U, 4096U, 5000U}) {
    for (const std::size_t offset : {0U, 8U, 4096U}) {
      Bytes b(n + 1, 0xEE);
      const PatternKey key{1, 2, 3, 4};
      fill_pattern(key, offset, b.data(), n);
      EXPECT_EQ(b[n], 0xEE) << "wrote beyond its end";
      EXPECT_FALSE(check_pattern(key, offset, b.data(), n)) << n << " at " << offset;
    }
  }
}

TEST(Pattern, NothingMayBeNowhere) {
  const PatternKey key{1, 2, 3, 4};
  fill_pattern(key, 0, nullptr, 0);
  fill_poison(key, 0, nullptr, 0);
  EXPECT_FALSE(check_pattern(key, 0, nullptr, 0));
}

TEST(Pattern, PiecesMakeTheWhole) {
  const PatternKey key{9, 0, 0, 77};
  Bytes whole(4096);
  Bytes pieces(4096);
  fill_pattern(key, 0, whole.data(), whole.size());
  for (std::size_t at = 0; at < 4096; at += 512) fill_pattern(key, at, pieces.data() + at, 512);
  EXPECT_EQ(whole, pieces);
}

TEST(Pattern, EverySingleByteCounts) {
  const PatternKey key{5, 6, 7, 8};
  Bytes b(1031);
  fill_pattern(key, 16, b.data(), b.size());
  for (std::size_t i = 0; i < b.size(); ++i) {
    b[i] ^= 0x10;
    const auto m = check_pattern(key, 16, b.data(), b.size());
    ASSERT_TRUE(m) << i;
    EXPECT_EQ(m->offset, 16 + i);
    EXPECT_FALSE(m->poison);
    b[i] ^= 0x10;
  }
}

TEST(Pattern, PoisonDiffersInEveryByteAndIsRecognised) {
  const PatternKey key{1, 1, 0, 3};
  for (std::size_t i = 0; i < 300; ++i) {
    Bytes b(300);
    fill_pattern(key, 0, b.data(), b.size());
    Bytes p(300);
    fill_poison(key, 0, p.data(), p.size());
    ASSERT_NE(b[i], p[i]);
    b[i] = p[i];  // one byte was not placed
    const auto m = check_pattern(key, 0, b.data(), b.size());
    ASSERT_TRUE(m);
    EXPECT_EQ(m->offset, i);
    EXPECT_TRUE(m->poison);
  }
}

TEST(Pattern, AnotherMessageFlowPhaseOrSeedDiffers) {
  const PatternKey base{10, 20, 30, 40};
  Bytes b(64);
  fill_pattern(base, 0, b.data(), b.size());
  for (const PatternKey& other : {PatternKey{11, 20, 30, 40}, PatternKey{10, 21, 30, 40},
                                  PatternKey{10, 20, 31, 40}, PatternKey{10, 20, 30, 41}}) {
    EXPECT_TRUE(check_pattern(other, 0, b.data(), b.size()));
  }
  EXPECT_TRUE(check_pattern(base, 8, b.data(), b.size())) << "the same bytes at another offset";
}

TEST(Pattern, WordsOfManyMessagesDoNotRepeat) {
  std::set<std::uint64_t> words;
  for (std::uint64_t message = 0; message < 100; ++message) {
    Bytes b(8 * 100);
    fill_pattern({1, 2, 3, message}, 0, b.data(), b.size());
    for (std::size_t i = 0; i < 100; ++i) {
      std::uint64_t w = 0;
      std::memcpy(&w, b.data() + 8 * i, 8);
      EXPECT_TRUE(words.insert(w).second);
    }
  }
}

}  // namespace
}  // namespace mrc::endpoint
