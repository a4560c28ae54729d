// SPDX-License-Identifier: BSD-3-Clause
// What the fabric is told about a frame.
#include "virtual/frame_view.h"

#include "fixture.h"

namespace mrc::virt::test {
namespace {

using fabric::Kind;

class FrameViewTest : public VirtualTest {
 protected:
  fabric::Packet read(const FrameSpec& s) {
    rte_mbuf* m = make_write(s);
    fabric::Packet p;
    EXPECT_TRUE(FrameReader(wire::DecodeOptions{}, 2).read(m, s.from, p));
    EXPECT_EQ(p.size_bytes, m->pkt_len);
    rte_pktmbuf_free(m);
    return p;
  }
  template <class Encode, class View>
  fabric::Packet read_control(Encode encode, const View& view) {
    rte_mbuf* m = rte_pktmbuf_alloc(pool_);
    const wire::HeaderTemplate path = path_of({});
    std::uint8_t* end = static_cast<std::uint8_t*>(m->buf_addr) + 256;
    wire::SendMeta meta;
    meta.tos = wire::DscpMap{}.tos(wire::DscpClass::kControl);
    const std::uint32_t header = encode(path, meta, view, end);
    const std::uint32_t trailer = wire::seal(path, end, header, 0);
    m->data_off = static_cast<std::uint16_t>(256 - header);
    m->data_len = static_cast<std::uint16_t>(header + trailer);
    m->pkt_len = m->data_len;
    fabric::Packet p;
    EXPECT_TRUE(FrameReader(wire::DecodeOptions{}, 2).read(m, 0, p));
    rte_pktmbuf_free(m);
    return p;
  }
};

TEST_F(FrameViewTest, TellsKindsClassesAndEntropy) {
  const fabric::Packet p = read({.from = 1, .sport = 51234, .psn = 0xABCDEF});
  EXPECT_EQ(p.kind, Kind::kData);
  EXPECT_EQ(p.dst_host, 0U);
  EXPECT_EQ(p.sport, 51234);
  EXPECT_EQ(p.psn, 0xABCDEFU);
  EXPECT_EQ(p.dscp, wire::DscpClass::kTrimmable);
  EXPECT_TRUE(p.ect);
  EXPECT_FALSE(p.srv6);
  EXPECT_EQ(read({.rtx = true, .dscp = wire::DscpClass::kTrimmableRetx}).kind, Kind::kRetransmission);
  EXPECT_EQ(read({.dscp = wire::DscpClass::kNoTrim}).dscp, wire::DscpClass::kNoTrim);
}

TEST_F(FrameViewTest, TellsControlFromProbes) {
  const fabric::Packet sack = read_control(wire::encode_sack, wire::SackView{});
  EXPECT_EQ(sack.kind, Kind::kControl);
  EXPECT_EQ(sack.dscp, wire::DscpClass::kControl);
  EXPECT_FALSE(sack.ect);
  EXPECT_EQ(read_control(wire::encode_nack, wire::NackView{}).kind, Kind::kControl);
  EXPECT_EQ(read_control(wire::encode_ack, wire::AckView{}).kind, Kind::kControl);
  EXPECT_EQ(read_control(wire::encode_probe, wire::ProbeView{}).kind, Kind::kProbe);
  EXPECT_EQ(read_control(wire::encode_endpoint_request, wire::EndpointRequestView{}).kind, Kind::kProbe);
  EXPECT_EQ(read_control(wire::encode_endpoint_response, wire::EndpointResponseView{}).kind, Kind::kControl);
}

TEST_F(FrameViewTest, FlowsDifferByAddressNotByEntropy) {
  for (const bool ipv6 : {false, true}) {
    const auto flow = [&](std::uint16_t sport, std::uint8_t to) {
      return read({.sport = sport, .ipv6 = ipv6, .to_ip = to}).flow;
    };
    EXPECT_EQ(flow(1, 2), flow(2, 2));
    EXPECT_NE(flow(1, 2), flow(1, 3));
  }
}

TEST_F(FrameViewTest, ReadsAndWritesTheUsidsOfBothSrv6Forms) {
  std::array<std::uint8_t, 32> ev{};
  ev = {0xfc, 0xbb, 0xbb, 0xbb, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0xfc, 0xbb, 0xbb, 0xbb, 0, 7};
  for (const bool srh : {false, true}) {
    rte_mbuf* m = make_write({.srv6 = ev, .srh = srh});
    fabric::Packet p;
    ASSERT_TRUE(FrameReader(wire::DecodeOptions{}, 2).read(m, 0, p));
    EXPECT_TRUE(p.srv6);
    EXPECT_EQ(p.usid, (fabric::Address{0xfcbbbbbb00010002ULL, 0x0003000400050006ULL}));
    EXPECT_EQ(p.segments_left, srh ? 1 : 0);
    if (srh) {
      EXPECT_EQ(p.segment, (fabric::Address{0xfcbbbbbb00070000ULL, 0}));
    }
    const std::uint8_t hop_limit = rte_pktmbuf_mtod(m, std::uint8_t*)[14 + 7];
    p.usid = {0xfcbbbbbb00020003ULL, 0x0004000500060000ULL};
    p.segments_left = 0;
    p.hops = 3;
    ASSERT_TRUE(write_back(p, wire::DscpMap{}, pool_, m));
    const std::uint8_t* l3 = rte_pktmbuf_mtod(m, std::uint8_t*) + 14;
    const std::uint8_t want[] = {0xfc, 0xbb, 0xbb, 0xbb, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 0};
    EXPECT_EQ(std::memcmp(l3 + 24, want, 16), 0);
    EXPECT_EQ(l3[7], hop_limit - 3);
    if (srh) {
      EXPECT_EQ(l3[40 + 3], 0);
    }
    rte_pktmbuf_free(m);
  }
}

TEST_F(FrameViewTest, AnyBytesAreReadWithoutHarm) {
  Rng rng(5);
  const FrameReader reader(wire::DecodeOptions{}, 3);
  for (int i = 0; i < 20'000; ++i) {
    rte_mbuf* m = make_write({.ipv6 = rng.chance(0.5)});
    auto* bytes = rte_pktmbuf_mtod(m, std::uint8_t*);
    for (int k = 0; k < 4; ++k) bytes[rng.below(m->data_len)] = static_cast<std::uint8_t>(rng.next());
    const auto length = static_cast<std::uint16_t>(rng.below(m->data_len + 1U));
    m->data_len = length;
    m->pkt_len = length;
    fabric::Packet p;
    if (reader.read(m, 0, p)) {
      p.ce = rng.chance(0.5);
      p.corrupted = rng.chance(0.5);
      if (rng.chance(0.5)) p.dscp = wire::DscpClass::kTrimmed;
      p.size_bytes = std::min<std::uint32_t>(p.size_bytes, 64);
      EXPECT_TRUE(write_back(p, wire::DscpMap{}, pool_, m));
    }
    rte_pktmbuf_free(m);
  }
}

}  // namespace
}  // namespace mrc::virt::test
