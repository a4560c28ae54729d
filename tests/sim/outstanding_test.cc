// SPDX-License-Identifier: BSD-3-Clause
#include "sim/outstanding.h"

#include <gtest/gtest.h>

namespace mrc::sim {
namespace {

constexpr Psn kFirst{0xFFFFFE};  // wraps behind the second packet

path::EvTable table() {
  std::vector<path::EvValue> values(4);
  std::vector<std::uint8_t> ports(4);
  for (std::size_t i = 0; i < 4; ++i) {
    values[i][1] = static_cast<std::uint8_t>(i + 1);
    ports[i] = static_cast<std::uint8_t>(i % 2);
  }
  auto made = path::EvTable::create(path::EvFormat::kUdp, path::EvOrder::kB, true, values, ports);
  EXPECT_TRUE(made);
  return std::move(*made);
}

Time us(std::int64_t n) {
  return Time{} + microseconds(n);
}

struct OutstandingTest : testing::Test {
  path::EvTable evs = table();
  GiveUpRules rules{microseconds(10), microseconds(100), true, true};

  void send(Outstanding& o, int packet, path::EvIndex ev, Time at) {
    transport::TxDesc d;
    d.opcode = wire::Opcode::kWriteMiddle;
    d.psn = kFirst + packet;
    d.payload_bytes = 1024;
    d.ev = ev;
    d.port = evs[ev].port;
    o.on_sent(d, at);
  }
  /// Covers all from the first packet on; `bits` of them are received, up to `cack` packets without a hole.
  wire::SackView sack(int cack, std::uint64_t bits, Time trigger, path::EvIndex ev) const {
    wire::SackView s;
    s.cack_psn = kFirst + (cack - 1);
    s.sack_offset = static_cast<std::int16_t>(1 - cack);
    s.sack_bitmap = bits;
    s.ack_psn_offset = 0;
    s.tx_timestamp = tick_of(trigger);
    s.entropy = evs[ev].entropy;
    return s;
  }
};

TEST_F(OutstandingTest, ASackThatCoversWithZeroIsAWitnessOnceTheTriggerLeftLateEnough) {
  Outstanding o(kFirst, 128, evs, rules);
  send(o, 0, 0, us(1));
  send(o, 1, 1, us(2));
  send(o, 2, 2, us(8));
  o.on_sack(sack(1, 0b101, us(8), 2), us(15), us(20));
  EXPECT_NE(o.objection(kFirst + 1, us(20)), "") << "the trigger left less than a base RTT later";
  EXPECT_EQ(o.lost_on(1), Time{});
  EXPECT_NE(o.objection(kFirst, us(20)).find("known received"), std::string::npos);
  send(o, 3, 0, us(13));
  o.on_sack(sack(1, 0b1101, us(13), 0), us(20), us(25));
  EXPECT_EQ(o.objection(kFirst + 1, us(25)), "");
  EXPECT_EQ(o.lost_on(1), us(25));
  send(o, 1, 3, us(26));
  EXPECT_NE(o.objection(kFirst + 1, us(27)), "") << "that witness was of the transmission before";
}

TEST_F(OutstandingTest, LaterOnTheSameEvIsAWitness) {
  Outstanding o(kFirst, 128, evs, rules);
  send(o, 0, 1, us(1));
  send(o, 1, 1, us(2));
  o.on_sack(sack(0, 0b10, us(2), 1), us(5), us(8));
  EXPECT_EQ(o.objection(kFirst, us(8)), "");
}

TEST_F(OutstandingTest, ALossTakesAlongWhatLeftLaterOnItsEvAndNothingElse) {
  for (const bool flush : {true, false}) {
    rules.ev_flush = flush;
    Outstanding o(kFirst, 128, evs, rules);
    send(o, 0, 1, us(1));
    send(o, 1, 2, us(2));
    send(o, 2, 1, us(12));
    send(o, 3, 3, us(13));
    o.on_sack(sack(0, 0b1000, us(13), 3), us(18), us(22));
    EXPECT_EQ(o.objection(kFirst, us(22)), "");
    EXPECT_EQ(o.objection(kFirst + 2, us(22)).empty(), flush);
    send(o, 4, 1, us(23));
    EXPECT_NE(o.objection(kFirst + 4, us(23)), "") << "it left after the loss was known";
  }
}

TEST_F(OutstandingTest, ANackIsAWitnessOfTheTransmissionThatItNames) {
  Outstanding o(kFirst, 128, evs, rules);
  send(o, 0, 1, us(1));
  wire::NackView n;
  n.reason = wire::NackReason::kTrimmed;
  n.nack_psn = kFirst;
  n.entropy = evs[1].entropy;
  n.tx_timestamp = tick_of(us(1));
  send(o, 0, 2, us(6));
  o.on_nack(n, us(8));
  EXPECT_NE(o.objection(kFirst, us(8)), "") << "it names the transmission before";
  n.tx_timestamp = tick_of(us(6));
  o.on_nack(n, us(9));
  EXPECT_EQ(o.objection(kFirst, us(9)), "");
  EXPECT_EQ(o.marked(), us(9));
  EXPECT_EQ(o.lost_on(2), Time{}) << "a trim notice condemns nobody";
}

TEST_F(OutstandingTest, TimersAndPlanesThatLeaveServiceAreWitnesses) {
  Outstanding o(kFirst, 128, evs, rules);
  send(o, 0, 1, us(1));
  send(o, 1, 0, us(90));
  o.on_timer(us(100));
  EXPECT_EQ(o.lost_on(1), Time{});
  EXPECT_NE(o.objection(kFirst, us(100)), "");
  o.on_timer(us(101));
  EXPECT_EQ(o.objection(kFirst, us(101)), "");
  EXPECT_EQ(o.lost_on(1), us(101));
  EXPECT_NE(o.objection(kFirst + 1, us(101)), "");
  o.on_planes_out(1U << evs[0].port, us(102));
  EXPECT_EQ(o.objection(kFirst + 1, us(103)), "");
}

TEST_F(OutstandingTest, BytesAreThoseNotKnownReceived) {
  Outstanding o(kFirst, 128, evs, rules);
  for (int i = 0; i < 4; ++i) send(o, i, static_cast<path::EvIndex>(i), us(i + 1));
  const std::int64_t all = o.unknown_bytes();
  EXPECT_EQ(all % 4, 0);
  o.on_sack(sack(1, 0b0101, us(4), 0), us(5), us(6));
  EXPECT_EQ(o.unknown_bytes(), all / 2);
  EXPECT_EQ(o.bytes_over(1, us(0)), all / 2);
  EXPECT_EQ(o.bytes_over(1, us(2)), all / 4);
  wire::AckView ack;
  ack.psn = kFirst + 3;
  o.on_ack(ack);
  EXPECT_EQ(o.unknown_bytes(), 0);
}

}  // namespace
}  // namespace mrc::sim
