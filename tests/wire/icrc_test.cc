// SPDX-License-Identifier: BSD-3-Clause
// The ICRC against zlib with a mask of its own, against foreign packets, and over buffer chains.
#include "wire/icrc.h"

#include <gtest/gtest.h>

#include "wire/decode.h"
#include "wire_testing.h"

namespace mrc::wire {
namespace {

using testing::Buffer;
using testing::Bytes;
using testing::from_hex;

TEST(Icrc, EqualsZlibOnRandomPackets) {
  Rng rng(7);
  for (const auto& shape : testing::all_shapes()) {
    const HeaderTemplate path = testing::path_of(shape);
    for (int i = 0; i < 300; ++i) {
      const Bytes frame = testing::random_frame(rng, path, testing::random_meta(rng));
      const std::size_t ip = path.prefix_bytes() - path.inner_bytes();
      const Bytes covered(frame.begin() + static_cast<std::ptrdiff_t>(ip), frame.end() - 4);
      const std::uint32_t want = testing::reference_icrc(covered);
      ASSERT_EQ(icrc_load(&frame[frame.size() - 4]), want) << testing::to_hex(frame);
      FrameView f;
      ASSERT_EQ(decode_frame(frame, {}, f), DropReason::kNone);
      ASSERT_EQ(check_icrc(frame, f).want, want);
    }
  }
}

TEST(Icrc, EveryFlippedBitIsFoundUnlessMasked) {
  Rng rng(11);
  const HeaderTemplate path = testing::path_of({true, 0, Encap::kNone});
  Buffer b;
  WriteView w = testing::random_write(rng);
  w.payload_bytes = 64;
  const SendMeta meta{0xB2, 0x12, {0x1234, 0x5678, nullptr}};
  const std::uint32_t n = encode_write(path, meta, w, b.payload());
  const Bytes good = b.frame(n, 64 + seal(path, b.payload(), n, 64));
  std::size_t masked = 0;
  for (std::size_t bit = 14 * 8; bit < good.size() * 8; ++bit) {
    Bytes bad = good;
    bad[bit / 8] ^= static_cast<std::uint8_t>(0x80 >> (bit % 8));
    FrameView f;
    DecodeOptions options;
    if (decode_frame(bad, options, f) != DropReason::kNone || f.trim != Trim::kNone) continue;
    if (check_icrc(bad, f).ok()) ++masked;
  }
  // Class (less what reads as trimmed), flow label 20, hop limit 8, UDP checksum 16, BTH byte 4: 8.
  EXPECT_GE(masked, 20U + 8 + 16 + 8);
  EXPECT_LE(masked, 8U + 20 + 8 + 16 + 8);
}

// Packet of scapy's own RoCE tests (IPv4), bytes and value from there: its ICRC is 78f353f3.
TEST(Icrc, ScapyUcSendOnlyIpv4) {
  const Bytes frame = from_hex(
      "248a07a8fa22248a07a8fa22080045010040047840004011b4d5c0a80007c0a80007c00012b7002caca22460ffff000000d300"
      "cf1710"
      "4630818be28935d90e9a95505401be885e50000078f353f3");
  const std::span ip = std::span(frame).subspan(14);
  EXPECT_EQ(icrc_of(ip.data(), false, 20, static_cast<std::uint32_t>(ip.size() - 4)),
            icrc_load(&frame[frame.size() - 4]));
  EXPECT_EQ(testing::to_hex(std::span(frame).last(4)), "78f353f3");
}

// The same over IPv6 with traffic class, flow label and hop limit set: 3e5b743b.
TEST(Icrc, ScapyUcSendOnlyIpv6) {
  const Bytes frame = from_hex(
      "248a07a8fa22248a07a8fa2286dd6e21face002c11ff2022000000000000000000000000102320230000000000000000000000"
      "001024"
      "c00012b7002c9a5c2460ffff000000d300cf17104630818be28935d90e9a95505401be885e5000003e5b743b");
  const std::span ip = std::span(frame).subspan(14);
  EXPECT_EQ(icrc_of(ip.data(), true, 40, static_cast<std::uint32_t>(ip.size() - 4)),
            icrc_load(&frame[frame.size() - 4]));
}

// A chain of buffers cut anywhere behind the BTH gives the same answer, the ICRC itself may straddle.
TEST(Icrc, SegmentsGiveTheSameAnswer) {
  Rng rng(13);
  for (const auto& shape : testing::all_shapes()) {
    const HeaderTemplate path = testing::path_of(shape);
    for (int i = 0; i < 40; ++i) {
      const Bytes frame = testing::random_frame(rng, path, testing::random_meta(rng));
      const std::span<const std::uint8_t> all(frame);
      FrameView f;
      ASSERT_EQ(decode_frame(all, {}, f), DropReason::kNone);
      const IcrcCheck want = check_icrc(all, f);
      for (int k = 0; k < 20; ++k) {
        const std::size_t a = rng.between(f.body_offset, all.size());
        const std::size_t b = rng.between(a, all.size());
        const std::span<const std::uint8_t> chain[] = {all.first(a), all.subspan(a, b - a), all.subspan(b)};
        FrameView g;
        ASSERT_EQ(decode_frame(chain[0], static_cast<std::uint32_t>(all.size()), {}, g), DropReason::kNone);
        const IcrcCheck got = check_icrc(chain, g);
        ASSERT_EQ(got.want, want.want) << a << " " << b;
        ASSERT_EQ(got.got, want.got) << a << " " << b;
        if (a == all.size()) continue;
        const std::span<const std::uint8_t> cut[] = {all.first(a), all.subspan(a, all.size() - a - 1)};
        ASSERT_FALSE(check_icrc(cut, g).ok());
      }
    }
  }
}

TEST(Icrc, SourceFirstThenCopyIsTheSame) {
  Rng rng(17);
  const HeaderTemplate path = testing::path_of({true, 2, Encap::kSrv6Srh});
  for (std::uint32_t size = 0; size <= 70; ++size) {
    WriteView w = testing::random_write(rng);
    w.payload_bytes = size;
    Bytes source(size);
    for (auto& x : source) x = testing::u8(rng);
    const SendMeta meta = testing::random_meta(rng);
    Buffer b;
    const std::uint32_t n = encode_write(path, meta, w, b.payload());
    const IcrcPiece headers = icrc_piece(path, b.payload(), n, 0);
    std::uint32_t crc = 0;
    icrc_begin({&headers, 1}, &crc);
    crc = icrc_extend(crc, source);
    std::copy(source.begin(), source.end(), b.payload());
    const std::uint32_t padding = pad(b.payload(), size);
    crc = icrc_extend(crc, {b.payload() + size, padding});
    icrc_store(b.payload() + size + padding, crc);
    const Bytes one = b.frame(n, size + padding + kIcrcBytes);
    const Bytes two = b.frame(n, size + seal(path, b.payload(), n, size));
    EXPECT_EQ(one, two);
    EXPECT_EQ((one.size() - n) % 4, 0U);
  }
}

TEST(Icrc, MaskedBytesAreWhatTheCrcRunsOver) {
  Rng rng(19);
  for (const auto& shape : testing::all_shapes()) {
    const HeaderTemplate path = testing::path_of(shape);
    const Bytes frame = testing::random_frame(rng, path, testing::random_meta(rng));
    FrameView f;
    ASSERT_EQ(decode_frame(frame, {}, f), DropReason::kNone);
    Bytes out(frame.size() + 8);
    const std::size_t n = masked_bytes(frame, f, out);
    ASSERT_GT(n, 0U);
    EXPECT_EQ(::crc32(0, out.data(), static_cast<uInt>(n)), check_icrc(frame, f).want);
    EXPECT_EQ(masked_bytes(frame, f, std::span(out).first(n - 1)), 0U);
  }
}

}  // namespace
}  // namespace mrc::wire
