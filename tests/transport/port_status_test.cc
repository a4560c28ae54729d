// SPDX-License-Identifier: BSD-3-Clause
// Port Status Updates (MRC 7.4.8, D19): told until answered, in order, with ids that wrap.
#include "transport/port_status.h"

#include <gtest/gtest.h>

namespace mrc::transport {
namespace {

constexpr Time at_ms(std::int64_t ms) {
  return Time{} + milliseconds(ms);
}

TEST(PortReport, ToldEveryMillisecondUntilTheNewestIsAnswered) {  // D19
  PortReport report(0b1111);
  wire::EndpointRequestView request;
  std::uint8_t plane = 0;
  EXPECT_TRUE(report.deadline().is_never());
  report.change(0b1111, 1, at_ms(1));
  EXPECT_TRUE(report.deadline().is_never()) << "nothing changed";
  report.change(0b1011, 7, at_ms(10));
  EXPECT_EQ(report.deadline(), at_ms(10));
  ASSERT_TRUE(report.next_request(at_ms(10), 0b1111, request, plane));
  EXPECT_EQ(request.op, wire::EndpointOp::kPortStatusUpdate);
  EXPECT_EQ(request.request_id, 7);
  EXPECT_EQ(request.port_status_mask, 0b10110U) << "port N is bit N, counted from 1 (C21)";
  EXPECT_NE(plane, 2) << "not over the port that is down";
  EXPECT_FALSE(report.next_request(at_ms(10), 0b1111, request, plane));
  const std::uint8_t first = plane;
  ASSERT_TRUE(report.next_request(at_ms(11), 0b1111, request, plane));
  EXPECT_NE(plane, first) << "another way each time";
  // It changes again: the answer to the old request ends nothing.
  report.change(0b1001, 8, at_ms(12));
  report.on_response({.request_id = 7, .op = wire::EndpointOp::kPortStatusUpdate});
  ASSERT_TRUE(report.next_request(at_ms(12), 0b1111, request, plane));
  EXPECT_EQ(request.request_id, 8);
  report.on_response({.request_id = 8, .op = wire::EndpointOp::kEvProbe});
  EXPECT_FALSE(report.deadline().is_never()) << "the answer to something else";
  report.on_response({.request_id = 8, .op = wire::EndpointOp::kPortStatusUpdate});
  EXPECT_TRUE(report.deadline().is_never());
}

TEST(PortReport, GivesUpAfterASecond) {  // D19
  PortReport report(0b11);
  wire::EndpointRequestView request;
  std::uint8_t plane = 0;
  report.change(0b01, 1, at_ms(0));
  int sent = 0;
  for (int ms = 0; ms < 3000; ++ms) sent += report.next_request(at_ms(ms), 0b11, request, plane) ? 1 : 0;
  EXPECT_EQ(sent, 1000);
  EXPECT_TRUE(report.deadline().is_never());
  report.change(0b11, 2, at_ms(4000));
  EXPECT_TRUE(report.next_request(at_ms(4000), 0b11, request, plane)) << "the next change is told again";
}

TEST(PortReport, WaitsForAPlane) {
  PortReport report(0b11);
  wire::EndpointRequestView request;
  std::uint8_t plane = 0;
  report.change(0b01, 1, at_ms(0));
  EXPECT_FALSE(report.next_request(at_ms(0), 0b10, request, plane)) << "only the dead port is free";
  EXPECT_TRUE(report.next_request(at_ms(0), 0b11, request, plane));
  EXPECT_EQ(plane, 0);
}

wire::EndpointRequestView update(std::uint16_t id, std::uint32_t planes) {
  wire::EndpointRequestView r;
  r.op = wire::EndpointOp::kPortStatusUpdate;
  r.request_id = id;
  r.port_status_mask = port_status_mask(planes);
  return r;
}

TEST(PeerPorts, OlderUpdatesAreIgnoredForASecond) {  // D19
  PeerPorts ports;
  EXPECT_EQ(ports.planes_up() & 0xF, 0xFU) << "up until told otherwise";
  EXPECT_TRUE(ports.on_request(update(10, 0b0111), at_ms(0)));
  EXPECT_FALSE(ports.on_request(update(9, 0b1111), at_ms(1))) << "it was overtaken";
  EXPECT_EQ(ports.planes_up(), 0b0111U);
  EXPECT_FALSE(ports.on_request(update(10, 0b0111), at_ms(2))) << "the same again is no news";
  EXPECT_TRUE(ports.on_request(update(9, 0b1111), at_ms(1002))) << "a peer that counts from anew";
}

TEST(PeerPorts, IdsWrap) {
  PeerPorts ports;
  EXPECT_TRUE(ports.on_request(update(0xFFFF, 0b01), at_ms(0)));
  EXPECT_TRUE(ports.on_request(update(0, 0b11), at_ms(1)));
  EXPECT_FALSE(ports.on_request(update(0xFFFE, 0b01), at_ms(2)));
}

TEST(PeerPorts, AnEvProbeSaysNothingOfPorts) {
  PeerPorts ports;
  wire::EndpointRequestView probe = update(1, 0);
  probe.op = wire::EndpointOp::kEvProbe;
  EXPECT_FALSE(ports.on_request(probe, at_ms(0)));
  const wire::EndpointResponseView r = response_to(probe);
  EXPECT_EQ(r.request_id, 1);
  EXPECT_EQ(r.op, wire::EndpointOp::kEvProbe);
}

// C12. What stands in the word of a request without a timestamp is none.
TEST(EndpointResponse, MirrorsATimestampOnlyWhereThereIsOne) {
  wire::EndpointRequestView request = update(1, 0);
  request.tx_timestamp = Tick{0x1234};
  EXPECT_EQ(response_to(request).tx_timestamp, Tick{0x1234});
  request.has_timestamp = false;
  EXPECT_EQ(response_to(request).tx_timestamp, Tick{});
}

}  // namespace
}  // namespace mrc::transport
