// SPDX-License-Identifier: BSD-3-Clause
// Byte vectors made by another program (see README.md): each is decoded, compared with its description, and
// encoded again to the same bytes.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "wire/decode.h"
#include "wire_testing.h"

namespace mrc::wire {
namespace {

using testing::Buffer;
using testing::Bytes;
using testing::from_hex;
using testing::to_hex;

std::map<std::string, Bytes> load_vectors(std::string_view kind) {
  std::ifstream in(MRC_VECTORS);
  const auto doc = nlohmann::json::parse(in);
  std::map<std::string, Bytes> out;
  for (const auto& v : doc.at("vectors")) {
    if (v.at("kind") != kind) continue;
    Bytes bytes = from_hex(v.at("hex").get<std::string>());
    EXPECT_EQ(bytes.size(), v.at("len").get<std::size_t>());
    out[v.at("name")] = std::move(bytes);
  }
  return out;
}

/// The view that belongs to the opcode, encoded again with `path`; returns the whole frame without ICRC.
Bytes reencode(const Bytes& bytes, const FrameView& f, const HeaderTemplate& path, const SendMeta& meta) {
  Buffer b;
  std::uint32_t n = 0;
  std::uint32_t payload = 0;
  DropReason r = DropReason::kNone;
  const auto control = [&](auto view, auto decode, auto encode) {
    r = decode(bytes, f, view);
    n = encode(path, meta, view, b.payload());
  };
  switch (f.bth.opcode) {
    case Opcode::kSack:
      control(SackView{}, decode_sack, encode_sack);
      break;
    case Opcode::kNack:
      control(NackView{}, decode_nack, encode_nack);
      break;
    case Opcode::kAck:
      control(AckView{}, decode_ack, encode_ack);
      break;
    case Opcode::kProbe:
      control(ProbeView{}, decode_probe, encode_probe);
      break;
    case Opcode::kEndpointRequest:
      control(EndpointRequestView{}, decode_endpoint_request, encode_endpoint_request);
      break;
    case Opcode::kEndpointResponse:
      control(EndpointResponseView{}, decode_endpoint_response, encode_endpoint_response);
      break;
    default: {
      WriteView w;
      r = decode_write(bytes, f, w);
      n = encode_write(path, meta, w, b.payload());
      payload = w.payload_bytes;
      std::copy_n(bytes.begin() + f.bth_offset + write_header_bytes(w.bth.opcode, w.bth.ts), payload,
                  b.payload());
    }
  }
  EXPECT_EQ(r, DropReason::kNone) << to_name(r);
  const std::uint32_t trailer = f.has_icrc ? seal(path, b.payload(), n, payload) : 0;
  return b.frame(n, payload + trailer);
}

TEST(Vectors, IbDecodeAndEncodeToTheSameBytes) {
  const auto vectors = load_vectors("ib");
  EXPECT_EQ(vectors.size(), 21U);
  const HeaderTemplate path = testing::path_of({});
  for (const auto& [name, bytes] : vectors) {
    SCOPED_TRACE(name);
    FrameView f;
    ASSERT_EQ(decode_from_bth(bytes, {}, f), DropReason::kNone);
    SendMeta meta;
    meta.dqp = f.dqp;
    const Bytes frame = reencode(bytes, f, path, meta);
    EXPECT_EQ(to_hex(std::span(frame).subspan(path.prefix_bytes())), to_hex(bytes));
  }
}

PathAddress address_from(const Bytes& packet, const FrameView& f) {
  PathAddress a;
  a.src_ip.v6 = a.dst_ip.v6 = f.ipv6;
  a.udp_dport = f.udp_dport;
  const auto* ip = packet.data() + f.ip_offset;
  const std::size_t n = f.ipv6 ? 16 : 4;
  const std::size_t at = f.ipv6 ? 8 : 12;
  std::copy_n(ip + at, n, a.src_ip.bytes.begin());
  std::copy_n(ip + at + n, n, a.dst_ip.bytes.begin());
  if (f.encapsulated) {
    a.encap = Encap::kSrv6;
    std::copy_n(packet.data() + f.l3_offset + 8, 16, a.outer_src_ip.bytes.begin());
  }
  return a;
}

TEST(Vectors, IpDecodeAndEncodeToTheSameBytesWithIcrc) {
  const auto vectors = load_vectors("ip");
  EXPECT_EQ(vectors.size(), 9U);
  for (const auto& [name, bytes] : vectors) {
    SCOPED_TRACE(name);
    FrameView f;
    ASSERT_EQ(decode_packet(bytes, static_cast<std::uint32_t>(bytes.size()), {}, f), DropReason::kNone);
    EXPECT_TRUE(check_icrc(bytes, f).ok());
    SendMeta meta;
    meta.dqp = f.dqp;
    meta.tos = f.tos;
    meta.ev = {f.udp_sport, f.flow_label, bytes.data() + f.l3_offset + 24};
    const HeaderTemplate path = *HeaderTemplate::create(address_from(bytes, f));
    const Bytes frame = reencode(bytes, f, path, meta);
    EXPECT_EQ(to_hex(std::span(frame).subspan(sizeof(EthernetHeader))), to_hex(bytes));
  }
}

FrameView frame_of(const Bytes& bytes, const DecodeOptions& options = {}) {
  FrameView f;
  EXPECT_EQ(decode_packet(bytes, static_cast<std::uint32_t>(bytes.size()), options, f), DropReason::kNone);
  return f;
}

// The meaning of the bytes, typed from the vectors' descriptions.
TEST(Vectors, WriteFieldsMeanWhatTheDescriptionSays) {
  const auto v = load_vectors("ib");
  FrameView f;
  WriteView w;
  ASSERT_EQ(decode_from_bth(v.at("V02 Write Only, ts=1"), {}, f), DropReason::kNone);
  ASSERT_EQ(decode_write(v.at("V02 Write Only, ts=1"), f, w), DropReason::kNone);
  EXPECT_EQ(f.dqp, 0xB2U);
  EXPECT_EQ(w.bth, (BthView{Opcode::kWriteOnly, false, false, false, true, Psn{0xABCDEF}}));
  EXPECT_EQ(w.msn, Msn{0x1234});
  EXPECT_EQ(w.tx_timestamp, Tick{0xBEEF});
  EXPECT_EQ(w.va, 0x00007F0012345678ULL);
  EXPECT_EQ(w.rkey, 0xA1B2C3D4U);
  EXPECT_EQ(w.dmalen, 8U);
  EXPECT_EQ(w.payload_bytes, 8U);

  const Bytes& imm = v.at("V06 Write Last with Immediate, SE=1 (IBTA bit 7)");
  ASSERT_EQ(decode_from_bth(imm, {}, f), DropReason::kNone);
  ASSERT_EQ(decode_write(imm, f, w), DropReason::kNone);
  EXPECT_EQ(w.bth, (BthView{Opcode::kWriteLastImm, true, true, false, false, Psn{0x11}}));
  EXPECT_EQ(w.rqmsn, Rqmsn{5});
  EXPECT_EQ(w.msn, Msn{9});
  EXPECT_EQ(w.immdt, 0xCAFEF00DU);
  EXPECT_EQ(w.dmalen, 264U);

  const Bytes& rtx = v.at("V08 retransmitted Write Middle, a=1 rtx=1 ts=1 (headers)");
  ASSERT_EQ(decode_from_bth(rtx, {}, f), DropReason::kNone);
  ASSERT_EQ(decode_write(rtx, f, w), DropReason::kNone);
  EXPECT_EQ(w.bth, (BthView{Opcode::kWriteMiddle, false, true, true, true, Psn{0x102}}));
  EXPECT_TRUE(w.tsr);
  EXPECT_EQ(w.tx_timestamp, Tick{0x42});
}

TEST(Vectors, SackFieldsMeanWhatTheDescriptionSays) {
  const auto v = load_vectors("ib");
  FrameView f;
  SackView s;
  const Bytes& hole = v.at("V11 SACK, one hole");
  ASSERT_EQ(decode_from_bth(hole, {}, f), DropReason::kNone);
  ASSERT_EQ(decode_sack(hole, f, s), DropReason::kNone);
  EXPECT_EQ(f.dqp, 0xA1U);
  EXPECT_EQ(f.bth.psn, s.cack_psn);
  SackView want;
  want.ack_psn_offset = 3;
  want.entropy = 0x12345678;
  want.spdcid = 0xB2;
  want.dpdcid = 0xA1;
  want.cack_psn = Psn{0x100};
  want.sack_offset = 1;
  want.sack_bitmap = 6;
  want.tx_timestamp = Tick{0xBEEF};
  want.ooo_count = 2;
  want.rcvd_bytes = RcvdUnits{0x20};
  EXPECT_EQ(s, want);
  EXPECT_EQ(s.ack_psn(), Psn{0x103});
  EXPECT_EQ(s.sack_base(), Psn{0x101});

  const Bytes& limit = v.at("V14 SACK, every bit field at its limit");
  ASSERT_EQ(decode_from_bth(limit, {}, f), DropReason::kNone);
  ASSERT_EQ(decode_sack(limit, f, s), DropReason::kNone);
  EXPECT_EQ(s.m, EvMark::kReserved);
  EXPECT_TRUE(s.pr);
  EXPECT_EQ(s.ack_psn_offset, -32768);
  EXPECT_EQ(s.sack_offset, -1);
  EXPECT_EQ(s.cc_type, 0);
  EXPECT_EQ(s.cc_fl, 0xF);
  EXPECT_EQ(s.mpr, 0xFF);
  EXPECT_EQ(s.sack_bitmap, ~0ULL);
  EXPECT_EQ(s.ooo_count, 0x7FFF);
  EXPECT_TRUE(s.restore_cwnd);
  EXPECT_EQ(s.rcv_cwnd_pen, 0x7F);
  EXPECT_EQ(s.rcvd_bytes, RcvdUnits{0xFFFFFF});

  const Bytes& dup = v.at("V25 SACK triggered by a retransmitted duplicate, BTH.rtx mirrored");
  ASSERT_EQ(decode_from_bth(dup, {}, f), DropReason::kNone);
  ASSERT_EQ(decode_sack(dup, f, s), DropReason::kNone);
  EXPECT_TRUE(s.rtx);
  EXPECT_EQ(s.ack_psn(), Psn{0x110});
  EXPECT_EQ(s.rcvd_bytes, RcvdUnits{0x480});
}

TEST(Vectors, OtherControlFieldsMeanWhatTheDescriptionSays) {
  const auto v = load_vectors("ib");
  FrameView f;
  NackView n;
  ASSERT_EQ(decode_from_bth(v.at("V15 NACK TRIMMED"), {}, f), DropReason::kNone);
  ASSERT_EQ(decode_nack(v.at("V15 NACK TRIMMED"), f, n), DropReason::kNone);
  EXPECT_EQ(n, (NackView{NackReason::kTrimmed, 0, 0x12345678, 0xB2, 0xA1, Psn{0x104}, 2, 0, Tick{0xBEEF}}));
  ASSERT_EQ(decode_from_bth(v.at("V16 NACK PSN_OOR_WINDOW"), {}, f), DropReason::kNone);
  ASSERT_EQ(decode_nack(v.at("V16 NACK PSN_OOR_WINDOW"), f, n), DropReason::kNone);
  EXPECT_EQ(n, (NackView{NackReason::kPsnOorWindow, 0, 0x12345678, 0xB2, 0xA1, Psn{0x900}, 2, 0, Tick{0}}));

  AckView a;
  ASSERT_EQ(decode_from_bth(v.at("V09 Transport ACK"), {}, f), DropReason::kNone);
  ASSERT_EQ(decode_ack(v.at("V09 Transport ACK"), f, a), DropReason::kNone);
  EXPECT_EQ(a, (AckView{Psn{0x456}, 0x1F, 8}));
  EXPECT_TRUE(a.is_ack());
  ASSERT_EQ(decode_from_bth(v.at("V10-62 Transport NAK, remote access"), {}, f), DropReason::kNone);
  ASSERT_EQ(decode_ack(v.at("V10-62 Transport NAK, remote access"), f, a), DropReason::kNone);
  EXPECT_EQ(a, (AckView{Psn{0x457}, 0x62, 8}));
  EXPECT_FALSE(a.is_ack());

  ProbeView p;
  ASSERT_EQ(decode_from_bth(v.at("V17 Reliability Probe Request"), {}, f), DropReason::kNone);
  ASSERT_EQ(decode_probe(v.at("V17 Reliability Probe Request"), f, p), DropReason::kNone);
  EXPECT_EQ(p, (ProbeView{0, 0x7B01, 0xA1, 0xB2, Tick{0x0102}, false, true}));

  EndpointRequestView q;
  ASSERT_EQ(decode_from_bth(v.at("V18 Endpoint Request, EV Probe"), {}, f), DropReason::kNone);
  ASSERT_EQ(decode_endpoint_request(v.at("V18 Endpoint Request, EV Probe"), f, q), DropReason::kNone);
  EXPECT_EQ(f.dqp, kEndpointDqp);
  EXPECT_EQ(q, (EndpointRequestView{0xBEE5, EndpointOp::kEvProbe, 0, 0, Tick{0x333}, false, true}));
  ASSERT_EQ(decode_from_bth(v.at("V19 Endpoint Request, Port Status Update"), {}, f), DropReason::kNone);
  ASSERT_EQ(decode_endpoint_request(v.at("V19 Endpoint Request, Port Status Update"), f, q),
            DropReason::kNone);
  EXPECT_EQ(q, (EndpointRequestView{7, EndpointOp::kPortStatusUpdate, 0, 0xD, Tick{0x334}, false, true}));

  EndpointResponseView r;
  ASSERT_EQ(decode_from_bth(v.at("V20-op0 Endpoint Response"), {}, f), DropReason::kNone);
  ASSERT_EQ(decode_endpoint_response(v.at("V20-op0 Endpoint Response"), f, r), DropReason::kNone);
  EXPECT_EQ(r, (EndpointResponseView{7, EndpointOp::kPortStatusUpdate, Tick{0x334}}));
  Bytes op1 = v.at("V20-op0 Endpoint Response");
  op1[13] = 0x04;  // C5: op in bits 3:2
  ASSERT_EQ(decode_endpoint_response(op1, f, r), DropReason::kNone);
  EXPECT_EQ(r.op, EndpointOp::kEvProbe);
}

// C7: both half orders, IPv4 and IPv6, and what the responder reflects.
TEST(Vectors, EntropyInBothOrders) {
  const auto v = load_vectors("ip");
  DecodeOptions order_a;
  order_a.order = EntropyOrder::kA;
  EXPECT_EQ(
      frame_of(v.at("V02-IPv6-A full packet, EV 12345678, low half in the UDP source port"), order_a).entropy,
      0x12345678U);
  EXPECT_EQ(frame_of(v.at("V02-IPv6-B full packet, EV 12345678, high half in the UDP source port")).entropy,
            0x12345678U);
  EXPECT_EQ(frame_of(v.at("V11-IPv4 full packet with ICRC")).entropy, 0x12340000U);
  EXPECT_EQ(frame_of(v.at("V11-IPv4 full packet with ICRC"), order_a).entropy, 0x00001234U);
  EXPECT_EQ(frame_of(v.at("V21 SRv6 uSID encapsulation of V02-IPv6-B")).entropy, 0x12345678U);
}

// The three-packet message of V03..V05 with its payload; the ICRC bytes are in the vectors' notes.
TEST(Vectors, SegmentedMessageHasTheNotedIcrcs) {
  const auto v = load_vectors("ib");
  const struct {
    const char* name;
    std::uint16_t sport;
    std::uint32_t offset, bytes;
    const char* icrc;
  } packets[] = {
      {"V03 Write First of 3 (headers)", 0xC001, 0, 256, "c2ee4501"},
      {"V04 Write Middle of 3 (headers)", 0xC002, 256, 256, "7e597fd4"},
      {"V05 Write Last of 3 (headers)", 0xC003, 512, 88, "80651c10"},
  };
  const HeaderTemplate path = testing::path_of({});
  for (const auto& p : packets) {
    SCOPED_TRACE(p.name);
    FrameView f;
    WriteView w;
    ASSERT_EQ(decode_from_bth(v.at(p.name), {}, f), DropReason::kNone);
    ASSERT_EQ(decode_write(v.at(p.name), f, w), DropReason::kNone);
    w.payload_bytes = p.bytes;
    Buffer b;
    for (std::uint32_t i = 0; i < p.bytes; ++i) b.payload()[i] = static_cast<std::uint8_t>(p.offset + i);
    const SendMeta meta{f.dqp, 0x02, {p.sport, 0, nullptr}};
    const std::uint32_t n = encode_write(path, meta, w, b.payload());
    const Bytes frame = b.frame(n, p.bytes + seal(path, b.payload(), n, p.bytes));
    EXPECT_EQ(to_hex(std::span(frame).last(4)), p.icrc);
  }
}

}  // namespace
}  // namespace mrc::wire
