// SPDX-License-Identifier: BSD-3-Clause
// Sender and receiver of the single-path baseline, packet by packet.
#include <gtest/gtest.h>

#include "sim/rc_receiver.h"
#include "sim/rc_sender.h"

namespace mrc::sim {
namespace {

Time us(std::int64_t t) {
  return Time{} + microseconds(t);
}

RcConfig config(std::uint64_t window_pkts = 8) {
  RcConfig c;
  c.window_bytes = window_pkts * c.mtu_bytes;
  c.timeout = microseconds(100);
  c.retries = 2;
  return c;
}

std::vector<RcPacket> drain(RcSender& s, Time now) {
  std::vector<RcPacket> out;
  for (RcPacket p; s.next_packet(now, 100, p);) out.push_back(p);
  return out;
}

TEST(RcSender, PacketsOfMessages) {
  RcSender s(config(), us(0));
  s.post(0, 3 * 4096 + 1, 1000, us(0));
  s.post(1, 0, 1 << 20, us(0));
  const auto p = drain(s, us(0));
  ASSERT_EQ(p.size(), 5U);
  EXPECT_TRUE(p[0].first && !p[0].last);
  EXPECT_TRUE(p[3].last && p[3].ack_req);
  EXPECT_EQ(p[3].payload_bytes, 1U);
  EXPECT_EQ(p[3].source, 1000U + 3 * 4096);
  EXPECT_TRUE(p[4].first && p[4].last);
  EXPECT_EQ(p[4].payload_bytes, 0U);
  EXPECT_FALSE(s.pop_completed());
  s.on_ack(4, us(1));
  EXPECT_EQ(s.pop_completed(), FlowId{0});
  EXPECT_FALSE(s.pop_completed());
  s.on_ack(5, us(1));
  EXPECT_EQ(s.pop_completed(), FlowId{1});
  EXPECT_TRUE(s.wake(us(1)).deadline.is_never()) << "nothing outstanding, no timer";
}

TEST(RcSender, TheWindowNeverWaitsForAnAcknowledgementNobodyAskedFor) {
  for (const std::uint64_t window : {1, 2, 3, 8, 40}) {
    RcSender s(config(window), us(0));
    s.post(0, 1 << 20, 0, us(0));
    bool asked = false;
    const auto sent = drain(s, us(0));
    EXPECT_EQ(sent.size(), window);
    for (const RcPacket& p : sent) asked = asked || p.ack_req;
    EXPECT_TRUE(asked) << window;
  }
}

TEST(RcSender, GoesBackToTheMissingPacket) {
  RcSender s(config(), us(0));
  s.post(0, 2 * 4096, 0, us(0));
  s.post(1, 20 * 4096, 1 << 20, us(0));
  ASSERT_EQ(drain(s, us(0)).size(), 8U);
  s.on_nak(1, us(5));
  const auto again = drain(s, us(5));
  ASSERT_EQ(again.size(), 8U) << "window from 1";
  EXPECT_EQ(again[0].seq, 1U);
  EXPECT_TRUE(again[0].rtx && again[0].last);
  EXPECT_TRUE(again[6].rtx && !again[7].rtx);
  EXPECT_EQ(again[1].source, std::uint64_t{1} << 20);
  EXPECT_EQ(s.counters().go_backs, 1U);
  EXPECT_EQ(s.counters().tx_rtx, 7U);
  s.on_nak(0, us(6));
  EXPECT_TRUE(drain(s, us(6)).empty()) << "an old NAK says nothing";
  s.on_nak(100, us(6));
  s.on_ack(100, us(6));
  EXPECT_EQ(s.unacked(), 1U) << "never sent";
}

TEST(RcSender, TimeoutsResendAndAtLastFail) {
  RcSender s(config(), us(0));
  s.post(0, 4 * 4096, 0, us(0));
  ASSERT_EQ(drain(s, us(0)).size(), 4U);
  EXPECT_EQ(s.wake(us(0)).deadline, us(100));
  s.on_timer(us(99));
  EXPECT_TRUE(drain(s, us(99)).empty());
  for (const std::int64_t t : {100, 200}) {
    s.on_timer(us(t));
    EXPECT_EQ(drain(s, us(t)).size(), 4U);
  }
  s.on_ack(1, us(250));
  EXPECT_EQ(s.wake(us(250)).deadline, us(350)) << "progress restarts the timer";
  for (const std::int64_t t : {350, 450}) s.on_timer(us(t));
  EXPECT_FALSE(s.failed()) << "progress restarted the count";
  s.on_timer(us(550));
  EXPECT_TRUE(s.failed());
  EXPECT_TRUE(drain(s, us(600)).empty());
  EXPECT_FALSE(s.wake(us(600)).ready);
}

TEST(RcSender, PacesAtItsRate) {
  RcConfig c = config(1000);
  c.dcqcn = DcqcnParams::paper(100e9);
  RcSender s(c, us(0));
  s.post(0, 1000 * 4096, 0, us(0));
  RcPacket p;
  ASSERT_TRUE(s.next_packet(us(0), 104, p));
  EXPECT_FALSE(s.wake(us(0)).ready);
  EXPECT_EQ(s.wake(us(0)).deadline, us(0) + nanoseconds(336)) << "4200 B at 100 Gb/s";
  s.on_cnp(us(0));
  ASSERT_TRUE(s.next_packet(us(1), 104, p));
  EXPECT_EQ(s.wake(us(1)).deadline, us(1) + nanoseconds(672)) << "at half of it";
}

TEST(RcSender, PacingIsNoTimeout) {
  RcConfig c = config(1000);
  c.dcqcn = DcqcnParams::paper(100e9);
  RcSender s(c, us(0));
  s.post(0, 2 * 4096, 0, us(0));
  for (int i = 0; i < 40; ++i) s.on_cnp(us(0));  // 1 Mb/s: 33.6 ms a packet
  RcPacket p;
  ASSERT_TRUE(s.next_packet(us(0), 104, p));
  s.on_timer(us(100));
  EXPECT_EQ(s.counters().timeouts, 1U);
  for (std::int64_t t = 200; t < 30000; t += 100) s.on_timer(us(t));
  EXPECT_EQ(s.counters().timeouts, 1U) << "its retransmission has not left yet";
  EXPECT_FALSE(s.failed());
  ASSERT_TRUE(s.next_packet(us(40000), 104, p));
  EXPECT_EQ(p.seq, 0U);
}

TEST(RcReceiver, InOrderOrNotAtAll) {
  RcReceiver r(microseconds(50));
  const auto data = [](std::uint64_t seq, bool ask = false) {
    RcPacket p;
    p.seq = seq;
    p.ack_req = ask;
    return p;
  };
  RcPacket c;
  EXPECT_EQ(r.on_data(data(0), false, us(0)), RcVerdict::kPlace);
  EXPECT_FALSE(r.next_control(c));
  EXPECT_EQ(r.on_data(data(2), false, us(0)), RcVerdict::kDrop);
  ASSERT_TRUE(r.next_control(c));
  EXPECT_EQ(c.kind, RcKind::kNak);
  EXPECT_EQ(c.seq, 1U);
  EXPECT_EQ(r.on_data(data(3), false, us(0)), RcVerdict::kDrop);
  EXPECT_FALSE(r.next_control(c)) << "one NAK a sequence error";
  EXPECT_EQ(r.on_data(data(1, true), false, us(1)), RcVerdict::kPlace);
  ASSERT_TRUE(r.next_control(c));
  EXPECT_EQ(c.kind, RcKind::kAck);
  EXPECT_EQ(c.seq, 2U);
  EXPECT_EQ(r.on_data(data(0), false, us(1)), RcVerdict::kDuplicate);
  ASSERT_TRUE(r.next_control(c)) << "the acknowledgement may have been lost";
  EXPECT_EQ(c.seq, 2U);
  EXPECT_EQ(r.on_data(data(4), false, us(1)), RcVerdict::kDrop);
  EXPECT_TRUE(r.next_control(c)) << "a new sequence error, a new NAK";
}

TEST(RcReceiver, OneCnpAnInterval) {
  RcReceiver r(microseconds(50));
  RcPacket c;
  unsigned cnps = 0;
  for (std::uint64_t i = 0; i < 200; ++i) {
    RcPacket p;
    p.seq = i;
    (void)r.on_data(p, true, us(static_cast<std::int64_t>(i)));
    while (r.next_control(c)) cnps += c.kind == RcKind::kCnp ? 1 : 0;
  }
  EXPECT_EQ(cnps, 4U);
  EXPECT_EQ(r.counters().rx_ce, 200U);
}

}  // namespace
}  // namespace mrc::sim
