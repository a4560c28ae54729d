// SPDX-License-Identifier: BSD-3-Clause
// decode(encode(x)) == x for every header over every way to wrap it, with random values.
#include <gtest/gtest.h>

#include "wire/decode.h"
#include "wire_testing.h"

namespace mrc::wire {
namespace {

using testing::Buffer;
using testing::Bytes;

constexpr int kRounds = 300;

/// Seals, decodes the frame and compares everything but the view.
FrameView transmit(const HeaderTemplate& path, const testing::Shape& shape, const SendMeta& meta, Buffer& b,
                   std::uint32_t header_bytes, std::uint32_t payload_bytes, Bytes& frame) {
  const std::uint32_t trailer = seal(path, b.payload(), header_bytes, payload_bytes);
  frame = b.frame(header_bytes, payload_bytes + trailer);
  FrameView f;
  const DropReason r = decode_frame(frame, {}, f);
  EXPECT_EQ(r, DropReason::kNone) << to_name(r) << " at " << f.error_offset;
  EXPECT_TRUE(check_icrc(frame, f).ok());
  EXPECT_EQ(f.vlan_tags, shape.vlan_tags);
  EXPECT_EQ(f.ipv6, shape.ipv6);
  EXPECT_EQ(f.encapsulated, shape.encap != Encap::kNone);
  EXPECT_EQ(f.srh_offset != 0, shape.encap == Encap::kSrv6Srh);
  EXPECT_EQ(f.bth_offset, path.prefix_bytes());
  EXPECT_EQ(f.tos, meta.tos);
  EXPECT_EQ(f.inner_tos, meta.tos);
  EXPECT_EQ(f.udp_sport, meta.ev.udp_sport);
  EXPECT_EQ(f.flow_label, shape.ipv6 ? meta.ev.flow_label : 0);
  EXPECT_EQ(f.trim, Trim::kNone);
  EXPECT_FALSE(f.ce);
  return f;
}

class RoundTrip : public ::testing::TestWithParam<testing::Shape> {
 protected:
  template <class View, class Make, class Decode, class Encode>
  void control(Make make, Decode decode, Encode encode, bool endpoint) {
    const HeaderTemplate path = testing::path_of(GetParam());
    Rng rng(20260321);
    for (int i = 0; i < kRounds; ++i) {
      SCOPED_TRACE(i);
      const SendMeta meta = testing::random_meta(rng);
      const View sent = make(rng);
      Buffer b;
      Bytes frame;
      const std::uint32_t n = encode(path, meta, sent, b.payload());
      const FrameView f = transmit(path, GetParam(), meta, b, n, 0, frame);
      EXPECT_EQ(f.dqp, endpoint ? kEndpointDqp : meta.dqp);
      View got;
      ASSERT_EQ(decode(frame, f, got), DropReason::kNone);
      EXPECT_EQ(got, sent);
      if (::testing::Test::HasFailure()) return;
    }
  }
};

TEST_P(RoundTrip, Write) {
  const HeaderTemplate path = testing::path_of(GetParam());
  Rng rng(20260321);
  for (int i = 0; i < kRounds; ++i) {
    SCOPED_TRACE(i);
    const SendMeta meta = testing::random_meta(rng);
    const WriteView sent = testing::random_write(rng);
    Buffer b;
    for (std::uint32_t k = 0; k < sent.payload_bytes; ++k) b.payload()[k] = testing::u8(rng);
    const Bytes payload(b.payload(), b.payload() + sent.payload_bytes);
    Bytes frame;
    const std::uint32_t n = encode_write(path, meta, sent, b.payload());
    const FrameView f = transmit(path, GetParam(), meta, b, n, sent.payload_bytes, frame);
    EXPECT_EQ(f.dqp, meta.dqp);
    WriteView got;
    ASSERT_EQ(decode_write(frame, f, got), DropReason::kNone);
    EXPECT_EQ(got, sent);
    const auto at = frame.begin() + f.bth_offset + write_header_bytes(got.bth.opcode, got.bth.ts);
    EXPECT_EQ(Bytes(at, at + got.payload_bytes), payload);
    if (HasFailure()) return;
  }
}
TEST_P(RoundTrip, Sack) {
  control<SackView>(testing::random_sack, decode_sack, encode_sack, false);
}
TEST_P(RoundTrip, Nack) {
  control<NackView>(testing::random_nack, decode_nack, encode_nack, false);
}
TEST_P(RoundTrip, Ack) {
  control<AckView>(testing::random_ack, decode_ack, encode_ack, false);
}
TEST_P(RoundTrip, Probe) {
  control<ProbeView>(testing::random_probe, decode_probe, encode_probe, false);
}
TEST_P(RoundTrip, EndpointRequest) {
  control<EndpointRequestView>(testing::random_endpoint_request, decode_endpoint_request,
                               encode_endpoint_request, true);
}
TEST_P(RoundTrip, EndpointResponse) {
  control<EndpointResponseView>(testing::random_endpoint_response, decode_endpoint_response,
                                encode_endpoint_response, true);
}

std::string shape_name(const ::testing::TestParamInfo<testing::Shape>& info) {
  static constexpr const char* kEncap[] = {"", "Srv6", "Srv6Srh"};
  return std::string(info.param.ipv6 ? "Ipv6" : "Ipv4") + kEncap[static_cast<int>(info.param.encap)] +
         "Tags" + std::to_string(info.param.vlan_tags);
}
INSTANTIATE_TEST_SUITE_P(Shapes, RoundTrip, ::testing::ValuesIn(testing::all_shapes()), shape_name);

}  // namespace
}  // namespace mrc::wire
