// SPDX-License-Identifier: BSD-3-Clause
// Trimmed packets: what a switch cut is still known by its DSCP (1.14, C12, C26).
#include <gtest/gtest.h>

#include "sample_frame.h"

namespace mrc::wire {
namespace {

/// What a switch does to a packet it trims: new DSCP on the outermost header, a cut, perhaps new lengths.
Bytes trimmed(Bytes frame, const Shape& shape, std::uint8_t dscp, std::size_t keep, bool new_lengths) {
  const Places at(shape);
  const std::size_t before = frame.size();
  frame.resize(keep);
  const auto cut = static_cast<std::uint32_t>(before - keep);
  std::uint8_t* p = &frame[at.l3];
  if (shape.ipv6) {
    store_be32(p, (load_be32(p) & ~(0xFCU << 20)) | std::uint32_t{dscp} << 22);
  } else {
    p[1] = static_cast<std::uint8_t>((p[1] & 3) | dscp << 2);
  }
  if (new_lengths) {
    const std::size_t off = shape.ipv6 ? 4 : 2;
    store_be16(p + off, load_be16(p + off) - cut);
    if (at.ip != at.l3) store_be16(&frame[at.ip + 4], load_be16(&frame[at.ip + 4]) - cut);
    store_be16(&frame[at.udp + 4], load_be16(&frame[at.udp + 4]) - cut);
  }
  if (!shape.ipv6) fix_ipv4_checksum(frame, at.l3);
  return frame;
}

// 1.14, C26: any cut behind the BTH, lengths old or new, both trimmed classes, over every encapsulation.
TEST(Trimmed, EveryCutPointBehindTheBth) {
  for (const auto& shape : testing::all_shapes()) {
    const Bytes whole = frame_with(shape, 0x12);
    const Places at(shape);
    for (const bool new_lengths : {false, true}) {
      for (std::size_t keep = at.bth; keep < whole.size(); ++keep) {
        SCOPED_TRACE(::testing::Message() << "keep " << keep << " new lengths " << new_lengths);
        const std::uint8_t dscp = keep % 2 == 0 ? 12 : 16;
        const Bytes frame = trimmed(whole, shape, dscp, keep, new_lengths);
        FrameView f;
        const DropReason r = reason_of(frame, f);
        if (keep < at.bth + 12) {
          ASSERT_EQ(r, DropReason::kTooShort);
          continue;
        }
        ASSERT_EQ(r, DropReason::kNone) << to_name(r);
        EXPECT_EQ(f.trim, dscp == 12 ? Trim::kTrimmed : Trim::kTrimmedLasthop);
        EXPECT_FALSE(f.has_icrc);
        EXPECT_EQ(f.dqp, 0xB2U);
        EXPECT_EQ(f.body_end, keep);
        EXPECT_EQ(f.entropy, shape.ipv6 ? 0x12345678U : 0x12340000U);
        TrimmedView t;
        ASSERT_EQ(decode_trimmed(frame, f, t), DropReason::kNone);
        EXPECT_EQ(t.bth, sample_write().bth);
        EXPECT_EQ(t.tx_timestamp, keep >= at.bth + 20 ? Tick{0xBEEF} : Tick{0});
      }
    }
    if (HasFailure()) return;
  }
}

TEST(Trimmed, WithoutTsethTheTimestampIsZero) {
  WriteView w = sample_write();
  w.bth.ts = false;
  const Bytes frame = trimmed(frame_with(kV4, 0x12, w), kV4, 12, 128, false);
  FrameView f;
  ASSERT_EQ(reason_of(frame, f), DropReason::kNone);
  TrimmedView t{};
  ASSERT_EQ(decode_trimmed(frame, f, t), DropReason::kNone);
  EXPECT_EQ(t.tx_timestamp, Tick{0});
}

// C12: another ftype than 1 means that there is none, whole or trimmed.
TEST(Frame, TimestampOfAnotherTypeIsNone) {
  Bytes frame = frame_with(kV4, 0x12);
  const std::size_t ftype = Places(kV4).bth + sizeof(Bth) + sizeof(Meth) + 3;
  ASSERT_EQ(frame[ftype], kFtypeTimestamp);
  FrameView f;
  WriteView w;
  TrimmedView t;
  for (const unsigned type : {1U, 0U, 2U, 15U}) {
    frame[ftype] = static_cast<std::uint8_t>(type);
    ASSERT_EQ(reason_of(frame, f), DropReason::kNone);
    ASSERT_EQ(decode_write(frame, f, w), DropReason::kNone);
    EXPECT_EQ(w.tx_timestamp, type == 1 ? Tick{0xBEEF} : Tick{0});
    ASSERT_EQ(reason_of(trimmed(frame, kV4, 12, 128, false), f), DropReason::kNone);
    ASSERT_EQ(decode_trimmed(frame, f, t), DropReason::kNone);
    EXPECT_EQ(t.tx_timestamp, w.tx_timestamp);
  }
}

TEST(Trimmed, PaddedToTheEthernetMinimumWithNewLengths) {
  const Places at(kV4);
  Bytes frame = trimmed(frame_with(kV4, 0x12), kV4, 12, at.bth + 12, true);
  frame.resize(60, 0);
  FrameView f;
  ASSERT_EQ(reason_of(frame, f), DropReason::kNone);
  EXPECT_EQ(f.body_end, at.bth + 12);
  TrimmedView t;
  ASSERT_EQ(decode_trimmed(frame, f, t), DropReason::kNone);
  EXPECT_EQ(t.tx_timestamp, Tick{0}) << "padding is no TSETH";
}

TEST(Trimmed, InnerDscpCountsToo) {
  Bytes frame = frame_with(kSrv6, 0x12);
  std::uint8_t* inner = &frame[Places(kSrv6).ip];
  store_be32(inner, (load_be32(inner) & ~(0xFCU << 20)) | 12U << 22);
  FrameView f;
  ASSERT_EQ(reason_of(frame, f), DropReason::kNone);
  EXPECT_EQ(f.trim, Trim::kTrimmed);
}

TEST(Trimmed, OnlyWrites) {
  const HeaderTemplate path = testing::path_of(kV6);
  Buffer b;
  const SendMeta meta{0xA1, DscpMap{}.tos(DscpClass::kTrimmed), {1, 2, nullptr}};
  const std::uint32_t n = encode_sack(path, meta, SackView{}, b.payload());
  const Bytes frame = b.frame(n, seal(path, b.payload(), n, 0));
  FrameView f;
  ASSERT_EQ(reason_of(frame, f), DropReason::kNone);
  TrimmedView t;
  EXPECT_EQ(decode_trimmed(frame, f, t), DropReason::kTrimmedOpcode);
}

TEST(Trimmed, NumbersAreConfiguration) {  // C22
  DecodeOptions options;
  options.dscp = DscpMap({0, 4, 8, 9, 17, 46});
  const Bytes frame = trimmed(frame_with(kV4, 0x12), kV4, 9, 80, false);
  FrameView f;
  EXPECT_EQ(reason_of(frame, f, options), DropReason::kNone);
  EXPECT_EQ(f.trim, Trim::kTrimmed);
  EXPECT_EQ(reason_of(frame), DropReason::kIpLength) << "not trimmed by the default numbers";
}

}  // namespace
}  // namespace mrc::wire
