// SPDX-License-Identifier: BSD-3-Clause
// From L2 to BTH: what is accepted, what is dropped, and why.
#include <gtest/gtest.h>

#include <set>

#include "sample_frame.h"

namespace mrc::wire {
namespace {

TEST(Frame, PlacesAndFields) {
  for (const auto& shape : testing::all_shapes()) {
    const Bytes frame = frame_with(shape, 0x12);
    FrameView f;
    ASSERT_EQ(reason_of(frame, f), DropReason::kNone);
    const Places at(shape);
    EXPECT_EQ(f.l3_offset, at.l3);
    EXPECT_EQ(f.ip_offset, at.ip);
    EXPECT_EQ(f.udp_offset, at.udp);
    EXPECT_EQ(f.bth_offset, at.bth);
    EXPECT_EQ(f.body_offset, at.bth + 12);
    EXPECT_EQ(f.body_end, frame.size() - 4);
    EXPECT_EQ(f.dqp, 0xB2U);
    EXPECT_EQ(f.udp_dport, 4791);
    EXPECT_EQ(f.entropy, shape.ipv6 ? 0x12345678U : 0x12340000U);
    EXPECT_TRUE(f.has_icrc);
  }
}

TEST(Frame, PortsFollowTheOptions) {
  Bytes frame = frame_with(kV4, 0x12);
  store_be16(&frame[Places(kV4).udp + 2], 4971);
  EXPECT_EQ(reason_of(frame), DropReason::kNone);  // C1
  DecodeOptions only;
  only.udp_ports = {4791, 4791};
  FrameView f;
  EXPECT_EQ(reason_of(frame, f, only), DropReason::kUdpPort);
  EXPECT_EQ(f.error_offset, Places(kV4).udp + 2);
}

TEST(Frame, TrailingEthernetPaddingIsNotPartOfThePacket) {
  for (const auto& shape : testing::all_shapes()) {
    Bytes frame = frame_with(shape, 0x12);
    const std::size_t end = frame.size();
    frame.resize(end + 30, 0);
    FrameView f;
    ASSERT_EQ(reason_of(frame, f), DropReason::kNone);
    EXPECT_EQ(f.body_end, end - 4);
    EXPECT_TRUE(check_icrc(frame, f).ok());
  }
}

// RFC 6040, 4.2.
TEST(Ecn, OuterAndInnerCombine) {
  const auto with = [](Ecn outer, Ecn inner) {
    Bytes frame = frame_with(kSrh, 0x10);
    const Places at(kSrh);
    frame[at.l3 + 1] = static_cast<std::uint8_t>(frame[at.l3 + 1] | static_cast<unsigned>(outer) << 4);
    frame[at.ip + 1] = static_cast<std::uint8_t>(frame[at.ip + 1] | static_cast<unsigned>(inner) << 4);
    return frame;
  };
  for (const Ecn inner : {Ecn::kNotEct, Ecn::kEct0, Ecn::kEct1, Ecn::kCe}) {
    for (const Ecn outer : {Ecn::kNotEct, Ecn::kEct0, Ecn::kEct1, Ecn::kCe}) {
      FrameView f;
      const DropReason r = reason_of(with(outer, inner), f);
      if (outer == Ecn::kCe && inner == Ecn::kNotEct) {
        EXPECT_EQ(r, DropReason::kEcnInvalid);
      } else {
        EXPECT_EQ(r, DropReason::kNone);
        EXPECT_EQ(f.ce, outer == Ecn::kCe || inner == Ecn::kCe);
      }
    }
  }
  FrameView f;
  EXPECT_EQ(reason_of(frame_with(kV4, 0x13), f), DropReason::kNone);
  EXPECT_TRUE(f.ce);
}

struct Damage {
  const char* name;
  Shape shape;
  std::size_t at;
  std::uint8_t value;
  DropReason reason;
  std::size_t error_at;
};

TEST(Frame, DropsWithReasonAndPlace) {
  const Places v4(kV4);
  const Places v6(kV6);
  const Places sr(kSrv6);
  const Places srh(kSrh);
  const Damage damages[] = {
      {"ARP", kV4, 13, 0x06, DropReason::kEthertype, 12},
      {"IPv4 header, IPv6 Ethertype", kV4, 12, 0x86, DropReason::kEthertype, 12},
      {"version 5", kV4, v4.l3, 0x55, DropReason::kIpVersion, v4.l3},
      {"IHL 4", kV4, v4.l3, 0x44, DropReason::kIpVersion, v4.l3},
      {"total length beyond the frame", kV4, v4.l3 + 2, 0x40, DropReason::kIpLength, v4.l3 + 2},
      {"total length 0", kV4, v4.l3 + 3, 0x00, DropReason::kIpLength, v4.l3 + 2},
      {"more fragments", kV4, v4.l3 + 6, 0x20, DropReason::kFragment, v4.l3 + 6},
      {"fragment offset", kV4, v4.l3 + 7, 0x01, DropReason::kFragment, v4.l3 + 6},
      {"TCP", kV4, v4.l3 + 9, 6, DropReason::kNotUdp, v4.l3 + 9},
      {"checksum", kV4, v4.l3 + 10, 0x00, DropReason::kIpChecksum, v4.l3 + 10},
      {"version 4 in IPv6", kV6, v6.l3, 0x40, DropReason::kIpVersion, v6.l3},
      {"payload length beyond the frame", kV6, v6.l3 + 4, 0x40, DropReason::kIpLength, v6.l3 + 4},
      {"hop-by-hop", kV6, v6.l3 + 6, 0, DropReason::kNotUdp, v6.l3 + 6},
      {"fragment header", kV6, v6.l3 + 6, 44, DropReason::kFragment, v6.l3 + 6},
      {"port", kV6, v6.udp + 2, 0, DropReason::kUdpPort, v6.udp + 2},
      {"UDP length", kV6, v6.udp + 5, 0x20, DropReason::kUdpLength, v6.udp + 4},
      {"RC SEND", kV6, v6.bth, 0x04, DropReason::kOpcode, v6.bth},
      {"undefined MRC opcode", kV6, v6.bth, 0xCC, DropReason::kOpcode, v6.bth},
      {"tver", kV6, v6.bth + 1, 0x01, DropReason::kTver, v6.bth + 1},
      {"pkey", kV6, v6.bth + 3, 0xFE, DropReason::kPkey, v6.bth + 2},
      {"two encapsulations", kSrv6, sr.ip + 6, 41, DropReason::kEncapsulation, sr.ip + 6},
      {"inner TCP", kSrv6, sr.ip + 6, 6, DropReason::kNotUdp, sr.ip + 6},
      {"inner fragment header", kSrv6, sr.ip + 6, 44, DropReason::kFragment, sr.ip + 6},
      {"inner length", kSrv6, sr.ip + 4, 0x40, DropReason::kIpLength, sr.ip + 4},
      {"inner version", kSrv6, sr.ip, 0x45, DropReason::kIpVersion, sr.ip},
      {"routing type 3", kSrh, srh.l3 + 42, 3, DropReason::kEncapsulation, srh.l3 + 42},
      {"SRH then UDP", kSrh, srh.l3 + 40, 17, DropReason::kEncapsulation, srh.l3 + 40},
      {"SRH longer than the packet", kSrh, srh.l3 + 41, 0xFF, DropReason::kTooShort, 0},
  };
  for (const Damage& d : damages) {
    SCOPED_TRACE(d.name);
    Bytes frame = frame_with(d.shape, 0x12);
    frame[d.at] = d.value;
    if (!d.shape.ipv6 && d.reason != DropReason::kIpChecksum && d.at > 14 + 3) fix_ipv4_checksum(frame, 14);
    FrameView f;
    const DropReason r = reason_of(frame, f);
    EXPECT_EQ(r, d.reason) << to_name(r);
    EXPECT_EQ(f.error_offset, d.reason == DropReason::kTooShort ? frame.size() : d.error_at);
  }
}

TEST(Frame, ThreeTagsAreTooMany) {
  Bytes frame = frame_with({false, 2, Encap::kNone}, 0x12);
  const std::uint8_t tag[] = {0x81, 0x00, 0x00, 0x01};
  frame.insert(frame.begin() + 12, tag, tag + 4);
  FrameView f;
  EXPECT_EQ(reason_of(frame, f), DropReason::kVlanDepth);
  EXPECT_EQ(f.error_offset, 20U);
}

TEST(Frame, Ipv4Options) {
  const Bytes plain = frame_with(kV4, 0x12);
  Bytes frame = plain;
  const std::uint8_t options[] = {1, 1, 1, 0};
  frame.insert(frame.begin() + 34, options, options + 4);
  frame[14] = 0x46;
  store_be16(&frame[16], load_be16(&frame[16]) + 4U);
  fix_ipv4_checksum(frame, 14);
  const Bytes covered(frame.begin() + 14, frame.end() - 4);
  icrc_store(&frame[frame.size() - 4], testing::reference_icrc(covered));
  FrameView f;
  ASSERT_EQ(reason_of(frame, f), DropReason::kNone);
  EXPECT_EQ(f.udp_offset, 38U);
  EXPECT_TRUE(check_icrc(frame, f).ok());
}

// C4. Keys are compared as RoCEv2 does; what leaves carries that of the default partition, full membership.
TEST(Frame, PartitionsMatchAsInIbta) {
  Bytes frame = frame_with(kV6, 0x12);
  std::uint8_t* pkey = &frame[Places(kV6).bth + 2];
  EXPECT_EQ(load_be16(pkey), 0xFFFF);
  const auto accepts = [&](std::uint16_t theirs, std::uint16_t ours, bool check = true) {
    store_be16(pkey, theirs);
    DecodeOptions options;
    options.pkey = ours;
    options.check_pkey = check;
    FrameView f;
    return reason_of(frame, f, options) == DropReason::kNone;
  };
  EXPECT_TRUE(accepts(0x7FFF, 0xFFFF));
  EXPECT_TRUE(accepts(0xFFFF, 0x7FFF));
  EXPECT_FALSE(accepts(0x7FFF, 0x7FFF));
  EXPECT_FALSE(accepts(0x8001, 0xFFFF));
  EXPECT_TRUE(accepts(0x0000, 0xFFFF, false));
}

// C2. IBTA's order: 0x80 is se. The other bit, m, is never set, and means nothing when it arrives.
TEST(Frame, SolicitedIsTheHighestBit) {
  for (const bool se : {false, true}) {
    WriteView w = sample_write();
    w.bth.se = se;
    Bytes frame = frame_with(kV6, 0x12, w);
    std::uint8_t& flags = frame[Places(kV6).bth + 1];
    EXPECT_EQ(flags & 0xC0, se ? 0x80 : 0);
    flags |= 0x40;
    FrameView f;
    ASSERT_EQ(reason_of(frame, f), DropReason::kNone);
    WriteView arrived;
    ASSERT_EQ(decode_write(frame, f, arrived), DropReason::kNone);
    EXPECT_EQ(arrived.bth.se, se);
  }
}

TEST(Frame, HeaderSplitIsToldFromTruncation) {
  for (const auto& shape : testing::all_shapes()) {
    const Bytes frame = frame_with(shape, 0x12);
    const auto total = static_cast<std::uint32_t>(frame.size());
    const std::size_t headers = Places(shape).bth + 12;
    for (std::size_t n = 0; n < headers; ++n) {
      FrameView f;
      EXPECT_EQ(decode_frame(std::span(frame).first(n), total, {}, f), DropReason::kHeaderSplit) << n;
      EXPECT_EQ(f.error_offset, n);
    }
    FrameView f;
    ASSERT_EQ(decode_frame(std::span(frame).first(headers), total, {}, f), DropReason::kNone);
    WriteView w;
    EXPECT_EQ(decode_write(std::span(frame).first(headers), f, w), DropReason::kHeaderSplit);
    EXPECT_EQ(decode_write(std::span(frame).first(headers + 24), f, w), DropReason::kNone);
    EXPECT_EQ(w.payload_bytes, kPayload);
  }
}

// C3: a PadCount that cannot be is not believed; an unpadded payload is accepted.
TEST(Write, PadCountIsTolerated) {
  WriteView w = sample_write();
  w.payload_bytes = 0;
  Bytes frame = frame_with(kV6, 0x12, w);
  frame[Places(kV6).bth + 1] = 0x30;
  FrameView f;
  ASSERT_EQ(reason_of(frame, f), DropReason::kNone);
  WriteView got;
  ASSERT_EQ(decode_write(frame, f, got), DropReason::kNone);
  EXPECT_EQ(got.payload_bytes, 0U);
  EXPECT_EQ(got.pad_bytes, 0U);

  w.payload_bytes = 5;
  frame = frame_with(kV6, 0x12, w);
  ASSERT_EQ(reason_of(frame, f), DropReason::kNone);
  ASSERT_EQ(decode_write(frame, f, got), DropReason::kNone);
  EXPECT_EQ(got.payload_bytes, 5U);
  EXPECT_EQ(got.pad_bytes, 3U);
  frame[Places(kV6).bth + 1] = 0;  // as a sender does that never uses PadCount
  ASSERT_EQ(reason_of(frame, f), DropReason::kNone);
  ASSERT_EQ(decode_write(frame, f, got), DropReason::kNone);
  EXPECT_EQ(got.payload_bytes, 8U);
}

TEST(Control, LengthMustFitTheOpcode) {
  const HeaderTemplate path = testing::path_of(kV6);
  for (const std::uint32_t extra : {0U, 4U}) {
    Buffer b;
    WriteView w = sample_write();
    w.bth.opcode = Opcode::kWriteMiddle;
    w.bth.ts = false;
    w.payload_bytes = 16 + extra;  // as long as a SACK when extra is 0: 20 + 16 = 36
    const std::uint32_t n = encode_write(path, {}, w, b.payload());
    Bytes frame = b.frame(n, w.payload_bytes + 4);
    frame[Places(kV6).bth] = static_cast<std::uint8_t>(Opcode::kSack);
    FrameView f;
    ASSERT_EQ(reason_of(frame, f), DropReason::kNone);
    SackView s;
    EXPECT_EQ(decode_sack(frame, f, s), extra == 0 ? DropReason::kNone : DropReason::kLength);
    NackView k;
    EXPECT_EQ(decode_nack(frame, f, k), DropReason::kLength);
  }
}

TEST(Opcodes, ExactlyTwelve) {
  std::set<int> found;
  for (int code = 0; code < 256; ++code) {
    if (is_opcode(static_cast<std::uint8_t>(code))) found.insert(code);
  }
  EXPECT_EQ(found, (std::set<int>{0xC6, 0xC7, 0xC8, 0xC9, 0xCA, 0xCB, 0xD1, 0xD8, 0xD9, 0xDC, 0xDD, 0xDE}));
}

TEST(DropReasons, NamesAreUniqueAndUsableAsKeys) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < kDropReasons; ++i) {
    const std::string_view name = to_name(static_cast<DropReason>(i));
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789"), std::string_view::npos)
        << name;
  }
  EXPECT_EQ(to_name(DropReason::kIcrc), "icrc");
  EXPECT_EQ(to_name(DropReason::kTrimmedOpcode), "trimmed_opcode");
  EXPECT_EQ(to_name(DropReason::kUnknownQp), "unknown_qp");
  DropCounters c;
  c.add(DropReason::kIcrc);
  c.add(DropReason::kFault, 2);
  EXPECT_EQ(c.total(), 3U);
}

TEST(Dscp, DefaultsAndValidity) {  // C22: no number is built in, each class has one
  constexpr DscpMap map;
  EXPECT_EQ(map.tos(DscpClass::kControl), 0xB8);
  EXPECT_EQ(map.tos(DscpClass::kTrimmable), 4 << 2 | 2);
  EXPECT_EQ(map.trim_of_tos(12 << 2 | 3), Trim::kTrimmed);
  EXPECT_EQ(map.trim_of_tos(16 << 2), Trim::kTrimmedLasthop);
  EXPECT_EQ(map.trim_of_tos(0xB8), Trim::kNone);
  const DscpMap other({1, 5, 9, 13, 17, 45});
  EXPECT_EQ(other.tos(DscpClass::kNoTrim), 1 << 2 | 2);
  EXPECT_EQ(other.tos(DscpClass::kTrimmableRetx), 9 << 2 | 2);
  EXPECT_EQ(other.tos(DscpClass::kControl), 45 << 2);
  EXPECT_EQ(other.trim_of_tos(17 << 2), Trim::kTrimmedLasthop);
  EXPECT_EQ(other.trim_of_tos(12 << 2), Trim::kNone) << "TRIMMED by default, not here";
  EXPECT_TRUE(DscpMap::is_valid(DscpMap::kDefault));
  EXPECT_TRUE(DscpMap::is_valid({0, 0, 0, 1, 2, 46})) << "data classes may share a number";
  EXPECT_FALSE(DscpMap::is_valid({0, 4, 8, 4, 16, 46})) << "trimmed must be told from trimmable";
  EXPECT_FALSE(DscpMap::is_valid({0, 4, 8, 12, 12, 46}));
  EXPECT_FALSE(DscpMap::is_valid({0, 4, 8, 12, 64, 46}));
}

TEST(Template, RefusesWhatCannotBe) {
  PathAddress a = testing::address_of(kV4);
  a.encap = Encap::kSrv6;
  EXPECT_FALSE(HeaderTemplate::create(a));
  a = testing::address_of(kV4);
  a.dst_ip.v6 = true;
  EXPECT_FALSE(HeaderTemplate::create(a));
  a = testing::address_of(kV4);
  a.vlan_tags = 3;
  EXPECT_FALSE(HeaderTemplate::create(a));
  HeaderTemplate t = testing::path_of(kV4);
  t.set_dst_mac({{9, 8, 7, 6, 5, 4}});
  Buffer b;
  const std::uint32_t n = encode_ack(t, {}, {}, b.payload());
  EXPECT_EQ(testing::to_hex(b.frame(n, 0)).substr(0, 24), "090807060504020000000001");
}

}  // namespace
}  // namespace mrc::wire
