// SPDX-License-Identifier: BSD-3-Clause
// The names and forms of mrc-decode's fields, over foreign vectors.
#include "report/packet_fields.h"

#include <gtest/gtest.h>

#include <fstream>

namespace mrc::report {
namespace {

using Json = nlohmann::ordered_json;
using Bytes = std::vector<std::uint8_t>;

Bytes vector(std::string_view name) {
  std::ifstream in(MRC_VECTORS);
  const auto doc = nlohmann::json::parse(in);
  Bytes out;
  for (const auto& v : doc.at("vectors")) {
    if (v.at("name") != name) continue;
    const std::string hex = v.at("hex");
    for (std::size_t i = 0; i < hex.size(); i += 2) {
      out.push_back(static_cast<std::uint8_t>(std::stoi(hex.substr(i, 2), nullptr, 16)));
    }
  }
  EXPECT_FALSE(out.empty()) << name;
  return out;
}

wire::DecodeOptions options() {
  wire::DecodeOptions o;
  o.check_pkey = false;
  return o;
}
DecodedPacket decode(const Bytes& b, PacketStart start) {
  return decode_any(b, static_cast<std::uint32_t>(b.size()), start, options());
}

TEST(Fields, Write) {
  const Bytes b = vector("V21 SRv6 uSID encapsulation of V02-IPv6-B");
  const Json j = to_json(decode(b, PacketStart::kIp));
  EXPECT_EQ(j.at("opcode"), 0xCA);
  EXPECT_EQ(j.at("op"), "RDMA Write Only");
  EXPECT_EQ(j.at("bth"),
            Json::parse(R"({"se":false,"m":false,"pad":0,"tver":0,"pkey":65535,"dqp":178,"a":false,
    "rtx":false,"ts":true,"psn":11259375})"));
  EXPECT_EQ(j.at("meth"), Json::parse(R"({"rqmsn":0,"msn":4660})"));
  EXPECT_EQ(j.at("tseth"), Json::parse(R"({"tx_timestamp":48879,"tsr":false,"ftype":1})"));
  EXPECT_EQ(j.at("reth"), Json::parse(R"({"va":"0x00007f0012345678","rkey":2712847316,"dmalen":8})"));
  EXPECT_FALSE(j.contains("immdt"));
  EXPECT_EQ(j.at("entropy"), 0x12345678);
  EXPECT_EQ(j.at("srv6").at("dst"), "cafe:cafe:43ba:48d6:a43d:e086::");
  EXPECT_EQ(j.at("srv6").at("segments"), Json::array());
  EXPECT_EQ(j.at("ip").at("src"), "fd00:a::1");
  EXPECT_EQ(j.at("trimmed"), false);
  EXPECT_EQ(j.at("payload_len"), 8);
  EXPECT_EQ(j.at("icrc"), Json::parse(R"({"ok":true,"got":3372879344,"want":3372879344})"));
  EXPECT_FALSE(j.contains("error"));
}

TEST(Fields, Control) {
  const Json sack = to_json(decode(vector("V14 SACK, every bit field at its limit"), PacketStart::kBth));
  EXPECT_EQ(sack.at("seth"), Json::parse(R"({"m":3,"pr":true,"ack_psn_offset":-32768,"probe_id":32768,
    "entropy":4294967295,"spdcid":65535,"dpdcid":65535,"cack_psn":16777215,"cc_type":0,"cc_fl":15,"mpr":255,
    "sack_offset":-1,"sack_bitmap":"0xffffffffffffffff"})"));
  EXPECT_EQ(sack.at("cc_state"), Json::parse(R"({"tx_timestamp":65535,"ooo_count":32767,"restore_cwnd":true,
    "rcv_cwnd_pen":127,"rcvd_bytes":16777215})"));
  EXPECT_FALSE(sack.contains("icrc")) << "absent where there is none";
  EXPECT_FALSE(sack.contains("entropy"));
  const Json nack = to_json(decode(vector("V15 NACK TRIMMED"), PacketStart::kBth));
  EXPECT_EQ(nack.at("neth"), Json::parse(R"({"nack_reason":1,"vendor_info":0,"entropy":305419896,"spdcid":178,
    "dpdcid":161,"nack_psn":260,"cc_type":2,"cc_fl":0,"tx_timestamp":48879})"));
  const Json probe = to_json(decode(vector("V17 Reliability Probe Request"), PacketStart::kBth));
  EXPECT_EQ(probe.at("peth"), Json::parse(R"({"vendor_info":0,"probe_id":31489,"spdcid":161,"dpdcid":178,
    "tx_timestamp":258,"tsr":false,"ftype":1})"));
  const Json request = to_json(decode(vector("V19 Endpoint Request, Port Status Update"), PacketStart::kBth));
  EXPECT_EQ(request.at("erth"),
            Json::parse(R"({"op":0,"vendor_info":0,"port_status_mask":13,"tx_timestamp":820,
    "tsr":false,"ftype":1})"));
  const Json response = to_json(decode(vector("V20-op0 Endpoint Response"), PacketStart::kBth));
  EXPECT_EQ(response.at("eeth"), Json::parse(R"({"op":0,"tx_timestamp":820})"));
  const Json ack = to_json(decode(vector("V09 Transport ACK"), PacketStart::kBth));
  EXPECT_EQ(ack.at("aeth"), Json::parse(R"({"syndrome":31,"msn":8})"));
  const Json imm =
      to_json(decode(vector("V06 Write Last with Immediate, SE=1 (IBTA bit 7)"), PacketStart::kBth));
  EXPECT_EQ(imm.at("immdt"), 0xCAFEF00D);
  EXPECT_EQ(imm.at("bth").at("se"), true);
}

TEST(Fields, BadIcrcMalformedSnappedTrimmed) {
  Bytes b = vector("V01-IPv4 full packet with ICRC");
  b.back() ^= 1;
  DecodedPacket p = decode(b, PacketStart::kIp);
  EXPECT_EQ(p.verdict, Verdict::kBadIcrc);
  EXPECT_EQ(p.error_byte, b.size() - 4);
  EXPECT_EQ(to_json(p).at("icrc").at("ok"), false);
  EXPECT_EQ(to_json(p).at("reason"), "icrc");
  EXPECT_TRUE(to_json(p).contains("reth"));
  b.back() ^= 1;

  const std::span<const std::uint8_t> head(b.data(), 59);
  p = decode_any(head, static_cast<std::uint32_t>(b.size()), PacketStart::kIp, options());
  EXPECT_EQ(p.verdict, Verdict::kIncomplete) << "RETH was cut by the snap length";
  p = decode_any(std::span(b).first(64), static_cast<std::uint32_t>(b.size()), PacketStart::kIp, options());
  EXPECT_EQ(p.verdict, Verdict::kFine);
  EXPECT_TRUE(to_json(p).at("snapped"));
  EXPECT_FALSE(to_json(p).contains("icrc"));
  EXPECT_EQ(to_json(p).at("payload_len"), 8);

  Bytes cut(b.begin(), b.begin() + 48);  // as short as that without a DSCP that says why
  p = decode(cut, PacketStart::kIp);
  EXPECT_EQ(p.verdict, Verdict::kMalformed);
  EXPECT_EQ(p.error_byte, 2U);
  EXPECT_NE(p.error.find("ip_length"), std::string::npos);
  EXPECT_EQ(p.error.find('\n'), std::string::npos);

  wire::DecodeOptions o = options();
  o.verify_ip_checksum = false;
  cut[1] = 16 << 2;
  p = decode_any(cut, 48, PacketStart::kIp, o);
  EXPECT_EQ(p.verdict, Verdict::kFine);
  const Json j = to_json(p);
  EXPECT_EQ(j.at("trimmed"), true);
  EXPECT_EQ(j.at("trimmed_lasthop"), true);
  EXPECT_TRUE(j.contains("meth"));
  EXPECT_FALSE(j.contains("reth"));
  EXPECT_FALSE(j.contains("icrc"));
  EXPECT_EQ(j.at("payload_len"), 0);
}

TEST(Fields, OtherTrafficIsNotMalformed) {
  Bytes b = vector("V01-IPv4 full packet with ICRC");
  b[9] = 6;
  b[10] = b[11] = 0;
  wire::DecodeOptions o = options();
  o.verify_ip_checksum = false;
  EXPECT_EQ(decode_any(b, static_cast<std::uint32_t>(b.size()), PacketStart::kIp, o).verdict,
            Verdict::kNotMrc);
}

TEST(Fields, SrhSegments) {
  // Outer IPv6 with an SRH of one segment in front of a packet known good.
  Bytes b = vector("V21 SRv6 uSID encapsulation of V02-IPv6-B");
  const Bytes srh = {41,   2,    4,    1,    0, 0, 0, 0, 0xDE, 0xCA, 0xFB, 0xAD,
                     0x77, 0x77, 0x88, 0x88, 0, 0, 0, 0, 0,    0,    0,    0};
  b.insert(b.begin() + 40, srh.begin(), srh.end());
  b[6] = 43;
  b[5] = static_cast<std::uint8_t>(b[5] + 24);
  const DecodedPacket p = decode(b, PacketStart::kIp);
  ASSERT_EQ(p.verdict, Verdict::kFine) << p.error;
  EXPECT_EQ(to_json(p).at("srv6").at("segments"), Json::parse(R"(["deca:fbad:7777:8888::"])"));
  EXPECT_EQ(to_json(p).at("srv6").at("segments_left"), 1);
  // A list that claims to be longer than the header is cut to it.
  b[44] = 200;
  EXPECT_EQ(to_json(decode(b, PacketStart::kIp)).at("srv6").at("segments").size(), 1U);
}

TEST(Fields, TextSaysTheSame) {
  const std::string text = to_text(decode(vector("V15-IPv6 full packet with ICRC"), PacketStart::kIp));
  EXPECT_NE(text.find("opcode   0xdd Reliability NACK"), std::string::npos) << text;
  EXPECT_NE(text.find("nack_reason=0x1 (TRIMMED)"), std::string::npos) << text;
  EXPECT_NE(text.find("icrc     de5992a5 ok"), std::string::npos) << text;
}

TEST(Fields, IcrcInputIsWhatTheCrcRunsOver) {
  const Bytes b = vector("V01-IPv4 full packet with ICRC");
  const auto input = icrc_input(decode(b, PacketStart::kIp));
  ASSERT_EQ(input.size(), b.size() - 4 + 8);
  EXPECT_EQ(input[0], 0xFF);
  EXPECT_EQ(input[8], 0x45);
  EXPECT_EQ(input[9], 0xFF) << "TOS is masked";
  EXPECT_TRUE(icrc_input(decode(vector("V09 Transport ACK"), PacketStart::kBth)).empty());
}

}  // namespace
}  // namespace mrc::report
