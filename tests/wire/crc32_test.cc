// SPDX-License-Identifier: BSD-3-Clause
// CRC-32 against zlib: long buffers, and short masked pieces alone, in step, and without carry-less
// multiplication.
#include "wire/crc32.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <memory>
#include <vector>

#include "base/rng.h"

namespace mrc::wire {
namespace {

std::vector<std::uint8_t> random_bytes(Rng& rng, std::size_t n) {
  std::vector<std::uint8_t> out(n);
  for (auto& b : out) b = static_cast<std::uint8_t>(rng.next());
  return out;
}
std::uint32_t zlib_crc(std::uint32_t seed, const std::vector<std::uint8_t>& bytes) {
  return static_cast<std::uint32_t>(::crc32(seed, bytes.data(), static_cast<uInt>(bytes.size())));
}

/// A piece in memory of exactly its size, so that a sanitizer sees a read outside.
struct Piece {
  Piece(Rng& rng, std::uint32_t bytes)
      : data(std::make_unique<std::uint8_t[]>(bytes)),
        mask(std::make_unique<std::uint8_t[]>(bytes)),
        masked(bytes) {
    for (std::uint32_t i = 0; i < bytes; ++i) {
      data[i] = static_cast<std::uint8_t>(rng.next());
      mask[i] = rng.below(4) == 0 ? static_cast<std::uint8_t>(rng.next()) : std::uint8_t{0};
      masked[i] = data[i] | mask[i];
    }
  }
  [[nodiscard]] MaskedPiece view() const {
    return {data.get(), mask.get(), static_cast<std::uint32_t>(masked.size())};
  }
  std::unique_ptr<std::uint8_t[]> data;
  std::unique_ptr<std::uint8_t[]> mask;
  std::vector<std::uint8_t> masked;
};

TEST(Crc32, EqualsZlib) {
  Rng rng(31);
  for (std::size_t n = 1; n < 700; ++n) {
    const auto bytes = random_bytes(rng, n);
    const auto seed = static_cast<std::uint32_t>(rng.next());
    ASSERT_EQ(crc32(seed, bytes.data(), n), zlib_crc(seed, bytes)) << n;
  }
}

TEST(Crc32, EveryShortLengthEqualsZlib) {
  Rng rng(32);
  for (std::uint32_t n = kMinShortBytes; n <= kMaxShortBytes; ++n) {
    const Piece piece(rng, n);
    const MaskedPiece view = piece.view();
    const auto seed = static_cast<std::uint32_t>(rng.next());
    std::uint32_t crc = 0;
    masked_crc32(seed, {&view, 1}, &crc);
    ASSERT_EQ(crc, zlib_crc(seed, piece.masked)) << n;
    ASSERT_EQ(masked_crc32_portable(seed, view), crc) << n;
  }
}

// Runs of equal lengths, broken anywhere: in step, alone, and what does not fit either.
TEST(Crc32, PiecesInStepDoNotMix) {
  Rng rng(33);
  for (int round = 0; round < 500; ++round) {
    std::vector<Piece> pieces;
    std::vector<MaskedPiece> views;
    auto bytes = static_cast<std::uint32_t>(kMinShortBytes + rng.below(kMaxShortBytes - kMinShortBytes + 1));
    for (std::uint64_t n = rng.below(33); n > 0; --n) {
      if (rng.below(5) == 0)
        bytes = static_cast<std::uint32_t>(kMinShortBytes + rng.below(kMaxShortBytes - kMinShortBytes + 1));
      pieces.emplace_back(rng, bytes);
    }
    for (const Piece& p : pieces) views.push_back(p.view());
    const auto seed = static_cast<std::uint32_t>(rng.next());
    std::vector<std::uint32_t> crc(pieces.size() + 1, 0x55555555);
    masked_crc32(seed, views, crc.data());
    for (std::size_t i = 0; i < pieces.size(); ++i) ASSERT_EQ(crc[i], zlib_crc(seed, pieces[i].masked)) << i;
    ASSERT_EQ(crc.back(), 0x55555555U);
  }
}

}  // namespace
}  // namespace mrc::wire
