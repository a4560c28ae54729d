// SPDX-License-Identifier: BSD-3-Clause
// Damage of every kind: the decoder answers with a reason and never reads outside its span (run with ASan,
// each input is a heap block of its exact size).
#include <gtest/gtest.h>

#include <array>
#include <memory>

#include "every_body.h"
#include "wire/decode.h"
#include "wire_testing.h"

namespace mrc::wire {
namespace {

using testing::Bytes;

/// Decodes everything there is to decode, whatever the opcode says.
DropReason decode_all(std::span<const std::uint8_t> bytes, std::uint32_t total) {
  const auto exact = std::make_unique<std::uint8_t[]>(bytes.size());
  std::copy(bytes.begin(), bytes.end(), exact.get());
  const std::span<const std::uint8_t> in(exact.get(), bytes.size());
  FrameView f;
  const DropReason r = decode_frame(in, total, {}, f);
  if (r != DropReason::kNone) {
    EXPECT_LE(f.error_offset, total);
    return r;
  }
  EXPECT_LE(f.body_end + (f.has_icrc ? 4 : 0), std::max<std::size_t>(total, bytes.size()));
  EXPECT_LE(f.body_offset, f.body_end);
  EXPECT_TRUE(testing::decode_every_body(in, f));
  if (f.trim != Trim::kNone) return DropReason::kNone;
  const std::span<const std::uint8_t> chain[] = {in, {}};
  const IcrcCheck whole = check_icrc(in, f);
  EXPECT_EQ(whole.ok(), check_icrc(chain, f).ok());
  return whole.ok() ? DropReason::kNone : DropReason::kIcrc;
}
DropReason decode_all(std::span<const std::uint8_t> bytes) {
  return decode_all(bytes, static_cast<std::uint32_t>(bytes.size()));
}

TEST(Malformed, EveryTruncationIsDropped) {
  Rng rng(23);
  for (const auto& shape : testing::all_shapes()) {
    const HeaderTemplate path = testing::path_of(shape);
    for (int i = 0; i < 20; ++i) {
      const Bytes frame = testing::random_frame(rng, path, testing::random_meta(rng));
      ASSERT_EQ(decode_all(frame), DropReason::kNone);
      const std::size_t limit = std::min<std::size_t>(frame.size(), 260);
      for (std::size_t n = 0; n < limit; ++n) {
        ASSERT_NE(decode_all(std::span(frame).first(n)), DropReason::kNone) << n;
        decode_all(std::span(frame).first(n), static_cast<std::uint32_t>(frame.size()));
      }
    }
  }
}

// ICRC covers everything but the masked fields, so random damage behind L2 is found, or hits a masked or L2
// field.
TEST(Malformed, RandomBitFlipsNeverCrash) {
  Rng rng(29);
  std::uint64_t accepted = 0;
  std::uint64_t dropped = 0;
  for (const auto& shape : testing::all_shapes()) {
    const HeaderTemplate path = testing::path_of(shape);
    for (int i = 0; i < 2000; ++i) {
      Bytes frame = testing::random_frame(rng, path, testing::random_meta(rng));
      const std::uint64_t flips = 1 + rng.below(4);
      for (std::uint64_t k = 0; k < flips; ++k) {
        const std::uint64_t range =
            rng.below(2) != 0 ? frame.size() : std::min<std::size_t>(frame.size(), 180);
        frame[rng.below(range)] ^= static_cast<std::uint8_t>(1U << rng.below(8));
      }
      (decode_all(frame) == DropReason::kNone ? accepted : dropped)++;
    }
  }
  EXPECT_GT(dropped, accepted);
  EXPECT_GT(accepted, 0U) << "MAC addresses are nobody's business here";
}

TEST(Malformed, RandomBytesBehindValidPrefixesNeverCrash) {
  Rng rng(31);
  for (const auto& shape : testing::all_shapes()) {
    const HeaderTemplate path = testing::path_of(shape);
    for (int i = 0; i < 1000; ++i) {
      Bytes frame = testing::random_frame(rng, path, testing::random_meta(rng));
      frame.resize(std::min<std::size_t>(frame.size(), rng.below(300)));
      const std::size_t keep = rng.below(frame.size() + 1);
      for (std::size_t k = keep; k < frame.size(); ++k) frame[k] = testing::u8(rng);
      decode_all(frame);
    }
  }
}

}  // namespace
}  // namespace mrc::wire
