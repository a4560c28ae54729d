// SPDX-License-Identifier: BSD-3-Clause
// Frames that belong to no QP, frames in pieces, garbage; and what a capture says of them.
#include <algorithm>
#include <cstring>

#include "nic/core.h"
#include "two_nics.h"
#include "wire/decode.h"
#include "wire/icrc.h"

namespace mrc::nic {
namespace {

using wire::DropReason;
using Bytes = std::vector<std::uint8_t>;

/// What a test puts in front of a port's receive queue, and what the port was given to send.
struct Wire {
  static inline std::vector<rte_mbuf*> inbound;
  static inline std::vector<Bytes> outbound;
  static inline rte_mempool* pool = nullptr;

  static std::uint16_t rx(std::uint16_t port, std::uint16_t queue, rte_mbuf** pkts, std::uint16_t n) {
    if (inbound.empty()) return rte_eth_rx_burst(port, queue, pkts, n);
    const auto k = static_cast<std::uint16_t>(std::min<std::size_t>(n, inbound.size()));
    std::copy_n(inbound.begin(), k, pkts);
    inbound.erase(inbound.begin(), inbound.begin() + k);
    return k;
  }
  static std::uint16_t tx(std::uint16_t, std::uint16_t, rte_mbuf** pkts, std::uint16_t n) {
    for (std::uint16_t i = 0; i < n; ++i) {
      const auto* p = rte_pktmbuf_mtod(pkts[i], const std::uint8_t*);
      outbound.emplace_back(p, p + pkts[i]->data_len);
    }
    rte_pktmbuf_free_bulk(pkts, n);
    return n;
  }
  /// Splits every received frame after `at` bytes into two segments.
  static std::uint16_t rx_split(std::uint16_t port, std::uint16_t queue, rte_mbuf** pkts, std::uint16_t n) {
    const std::uint16_t got = rte_eth_rx_burst(port, queue, pkts, n);
    for (std::uint16_t i = 0; i < got; ++i) {
      rte_mbuf* m = pkts[i];
      const std::uint32_t at = 60 + (m->pkt_len * 7) % 90;
      rte_mbuf* rest = m->data_len > at ? rte_pktmbuf_alloc(pool) : nullptr;
      if (rest == nullptr) continue;
      const std::uint32_t bytes = m->data_len - at;
      std::memcpy(rte_pktmbuf_append(rest, static_cast<std::uint16_t>(bytes)),
                  rte_pktmbuf_mtod_offset(m, void*, at), bytes);
      m->data_len = static_cast<std::uint16_t>(at);
      m->next = rest;
      m->nb_segs = 2;
    }
    return got;
  }
  static void put(const Bytes& frame) {
    rte_mbuf* m = rte_pktmbuf_alloc(pool);
    ASSERT_NE(m, nullptr);
    std::memcpy(rte_pktmbuf_append(m, static_cast<std::uint16_t>(frame.size())), frame.data(), frame.size());
    inbound.push_back(m);
  }
};

class Frames : public ::testing::Test {
 protected:
  void SetUp() override {
    Wire::outbound.clear();
    Wire::pool = rte_pktmbuf_pool_create("frames_test", 2047, 0, 0, 8192, SOCKET_ID_ANY);
    ASSERT_NE(Wire::pool, nullptr);
  }
  void TearDown() override {
    EXPECT_EQ(rte_mempool_in_use_count(Wire::pool), 0U) << "received mbufs leaked";
    rte_mempool_free(Wire::pool);
  }
  /// One plane, one Nic that hears what put() says and whose frames land in outbound.
  static Wiring tapped() {
    Wiring s;
    s.planes = 1;
    s.evs = 1;
    s.rx_tap[0] = Wire::rx;
    s.tx_tap[0] = Wire::tx;
    return s;
  }
  /// Header template from host 1 to host 0 on plane 0.
  static wire::HeaderTemplate path_to(const TwoNics& net) {
    wire::PathAddress a;
    a.src_mac = net.host[1].planes[0].mac;
    a.dst_mac = net.host[0].planes[0].mac;
    a.src_ip = net.host[1].planes[0].ip;
    a.dst_ip = net.host[0].planes[0].ip;
    return *wire::HeaderTemplate::create(a);
  }
  static Bytes endpoint_request(const TwoNics& net, wire::EndpointOp op) {
    const wire::HeaderTemplate path = path_to(net);
    std::array<std::uint8_t, 512> buffer{};
    wire::EndpointRequestView request;
    request.request_id = 0x1234;
    request.op = op;
    request.tx_timestamp = Tick{0xBEEF};
    wire::SendMeta meta;
    meta.ev.udp_sport = 0xC0DE;
    std::uint8_t* end = buffer.data() + wire::kPayloadOffset;
    const std::uint32_t n = encode_endpoint_request(path, meta, request, end);
    const std::uint32_t tail = wire::seal(path, end, n, 0);
    return {end - n, end + tail};
  }
};

TEST_F(Frames, EndpointRequestsAreAnsweredInTheControlClass) {
  for (const auto op : {wire::EndpointOp::kEvProbe, wire::EndpointOp::kPortStatusUpdate}) {
    TwoNics net(tapped());
    Wire::outbound.clear();
    Wire::put(endpoint_request(net, op));
    net.run([] { return false; }, 2);
    ASSERT_EQ(Wire::outbound.size(), 1U);
    const Bytes& frame = Wire::outbound[0];
    wire::FrameView f;
    ASSERT_EQ(decode_frame(frame, wire::DecodeOptions{}, f), DropReason::kNone);
    EXPECT_TRUE(wire::check_icrc(frame, f).ok());
    EXPECT_EQ(f.dqp, wire::kEndpointDqp);
    EXPECT_EQ(f.udp_sport, 0xC0DE) << "the way back keeps the entropy";
    EXPECT_EQ(f.tos >> 2, wire::DscpMap().number(wire::DscpClass::kControl));
    wire::EndpointResponseView r;
    ASSERT_EQ(decode_endpoint_response(frame, f, r), DropReason::kNone);
    EXPECT_EQ(r.request_id, 0x1234);
    EXPECT_EQ(r.op, op);
    EXPECT_EQ(r.tx_timestamp, Tick{0xBEEF});
    EXPECT_EQ(net.host[0].nic->snapshot(0).endpoint, 1U);
    TwoNics::expect_conserved(net.host[0]);
  }
}

TEST_F(Frames, ArpIsAnsweredAndOthersAreCounted) {
  TwoNics net(tapped());
  Bytes arp(42, 0);
  std::fill_n(arp.begin(), 6, 0xFF);
  arp[6] = 2;
  const Bytes head{8, 6, 0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 9, 10, 0, 0, 77};
  std::copy(head.begin(), head.end(), arp.begin() + 12);
  std::copy_n(net.host[0].planes[0].ip.bytes.begin(), 4, arp.begin() + 38);
  Wire::put(arp);
  arp[41] ^= 1;  // somebody else's address
  Wire::put(arp);
  net.run([] { return false; }, 2);
  ASSERT_EQ(Wire::outbound.size(), 1U);
  EXPECT_TRUE(std::equal(Wire::outbound[0].begin() + 22, Wire::outbound[0].begin() + 28,
                         net.host[0].planes[0].mac.bytes.begin()));
  const WorkerStats s = net.host[0].nic->snapshot(0);
  EXPECT_EQ(s.neighbour, 1U);
  EXPECT_EQ(s.drops[DropReason::kEthertype], 1U);
  TwoNics::expect_conserved(net.host[0]);
}

TEST_F(Frames, GarbageAndStrangersBecomeCountedDrops) {
  TwoNics net(tapped());
  Rng rng(5);
  const Bytes good = endpoint_request(net, wire::EndpointOp::kEvProbe);
  for (int i = 0; i < 500; ++i) {  // any byte of a valid packet, any cut, pure noise
    Bytes frame = good;
    for (int k = 0; k < 3; ++k) frame[rng.below(frame.size())] = static_cast<std::uint8_t>(rng.next());
    frame.resize(1 + rng.below(frame.size()));
    Wire::put(frame);
    Bytes noise(1 + rng.below(1500));
    for (auto& b : noise) b = static_cast<std::uint8_t>(rng.next());
    Wire::put(noise);
  }
  net.run([] { return Wire::inbound.empty(); });
  const WorkerStats s = net.host[0].nic->snapshot(0);
  EXPECT_GE(s.drops.total(), 900U);
  EXPECT_EQ(s.delivered, 0U);
  TwoNics::expect_conserved(net.host[0]);

  Bytes other = endpoint_request(net, wire::EndpointOp::kEvProbe);
  other[5] ^= 1;  // another MAC
  Wire::put(other);
  net.run([] { return Wire::inbound.empty(); });
  EXPECT_EQ(net.host[0].nic->snapshot(0).drops[DropReason::kNotForUs], s.drops[DropReason::kNotForUs] + 1);
}

/// A Transport ACK for host 0's QP, its IPv4 header `options` bytes longer, `padding` bytes behind the
/// packet.
Bytes odd_ack(const TwoNics& net, const wire::HeaderTemplate& path, std::uint32_t options,
              std::size_t padding) {
  std::array<std::uint8_t, 512> buffer{};
  std::uint8_t* end = buffer.data() + wire::kPayloadOffset;
  wire::SendMeta meta;
  meta.dqp = net.host[0].qpn;
  wire::AckView ack;
  ack.psn = Psn{0xFFFFEF};
  ack.syndrome = 0x1F;
  const std::uint32_t n = encode_ack(path, meta, ack, end);
  Bytes frame(end - n, end + wire::seal(path, end, n, 0));
  if (options != 0) {
    frame.insert(frame.begin() + 34, options, 1);  // NOPs
    frame[14] = static_cast<std::uint8_t>(0x45 + options / 4);
    const std::size_t total = frame.size() - 14;
    frame[16] = static_cast<std::uint8_t>(total >> 8);
    frame[17] = static_cast<std::uint8_t>(total);
    frame[24] = frame[25] = 0;
    std::uint32_t sum = 0;
    for (std::size_t i = 14; i < 34 + options; i += 2) sum += frame[i] * 256U + frame[i + 1];
    sum = (sum & 0xFFFF) + (sum >> 16);
    frame[24] = static_cast<std::uint8_t>(~sum >> 8);
    frame[25] = static_cast<std::uint8_t>(~sum);
    const auto covered = static_cast<std::uint32_t>(frame.size() - 18);
    wire::icrc_store(&frame[frame.size() - 4], wire::icrc_of(&frame[14], false, 20 + options, covered));
  }
  frame.resize(frame.size() + padding);
  return frame;
}

TEST_F(Frames, ShortPacketsInLongFramesAndIpOptionsAreCheckedAsOthers) {
  TwoNics net(tapped());
  std::uint64_t good = 0;
  std::uint64_t bad = 0;
  for (const std::uint32_t options : {0U, 4U, 40U}) {
    for (const std::size_t padding : {std::size_t{0}, std::size_t{600}}) {
      Bytes frame = odd_ack(net, path_to(net), options, padding);
      Wire::put(frame);
      ++good;
      frame[frame.size() - padding - 1] ^= 1;  // the ICRC
      Wire::put(frame);
      ++bad;
    }
  }
  net.run([] { return Wire::inbound.empty(); });
  const WorkerStats s = net.host[0].nic->snapshot(0);
  EXPECT_EQ(s.drops[DropReason::kIcrc], bad);
  EXPECT_EQ(s.delivered, good);
}

TEST_F(Frames, FramesInTwoSegmentsAreReceivedWhole) {
  Wiring s;
  s.attr.path_mtu = 4096;
  s.rx_tap = {Wire::rx_split, Wire::rx_split};
  TwoNics net(s);
  Host& a = net.host[0];
  ASSERT_EQ(TwoNics::post(a, TwoNics::write(a, net.host[1], 1, 0, 500'000)), PostStatus::kOk);
  std::vector<transport::Completion> done;
  ASSERT_TRUE(net.run([&] {
    net.drain_cq(a, done);
    return !done.empty();
  }));
  EXPECT_EQ(done[0].status, transport::WcStatus::kSuccess);
  EXPECT_TRUE(std::equal(a.source.begin(), a.source.begin() + 500'000, net.host[1].target.begin()));
  const WorkerStats stats = net.host[1].nic->snapshot(0);
  EXPECT_GE(stats.linearized, 123U);
  EXPECT_EQ(stats.drops.total(), 0U);
}

TEST_F(Frames, CaptureTellsDirectionPlaneAndDropReason) {
  Wiring s = tapped();
  s.nic.capture_ring = 64;
  s.nic.capture_snap_bytes = 60;
  TwoNics net(s);
  Wire::put(endpoint_request(net, wire::EndpointOp::kEvProbe));
  Bytes bad = endpoint_request(net, wire::EndpointOp::kEvProbe);
  bad.back() ^= 1;
  Wire::put(bad);
  net.run([] { return false; }, 2);
  std::array<CaptureRecord, 8> records;
  ASSERT_EQ(net.host[0].nic->capture(0)->poll(records), 3U);
  std::size_t out = 0;
  std::size_t dropped = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(records[i].bytes.size(), 60U);
    EXPECT_GT(records[i].frame_bytes, 60U);
    EXPECT_EQ(records[i].plane, 0U);
    out += records[i].outbound ? 1 : 0;
    dropped += records[i].drop == DropReason::kIcrc ? 1 : 0;
  }
  EXPECT_EQ(out, 1U);
  EXPECT_EQ(dropped, 1U);
  EXPECT_EQ(net.host[1].nic->capture(0)->poll(records), 0U);
}

// The reader works on one batch while the worker goes on: what it looks at is not written over.
TEST(CaptureRing, ABatchStaysWhileTheRingTurns) {
  CaptureRing ring(4, 8);
  std::array<CaptureRecord, 4> batch;
  const auto put = [&ring](std::uint8_t value) {
    const std::array<std::uint8_t, 16> frame = {value, value};
    return ring.put(Time{1}, 0, false, DropReason::kNone, frame, 16);
  };
  for (std::uint8_t i = 0; i < 200; i = static_cast<std::uint8_t>(i + 4)) {
    for (std::uint8_t k = 0; k < 4; ++k) ASSERT_TRUE(put(static_cast<std::uint8_t>(i + k)));
    EXPECT_FALSE(put(255)) << "full";
    ASSERT_EQ(ring.poll(batch), 4U);
    for (int k = 0; k < 4; ++k) EXPECT_TRUE(put(254)) << "the worker fills the ring again";
    for (std::uint8_t k = 0; k < 4; ++k) {
      EXPECT_EQ(batch[k].bytes.size(), 8U);
      EXPECT_EQ(batch[k].bytes[1], i + k);
    }
    ASSERT_EQ(ring.poll(batch), 4U);
  }
}

TEST_F(Frames, AFullCaptureRingLosesFramesNotTime) {
  Wiring s = tapped();
  s.nic.capture_ring = 2;
  TwoNics net(s);
  for (int i = 0; i < 20; ++i) Wire::put(endpoint_request(net, wire::EndpointOp::kEvProbe));
  net.run([] { return Wire::inbound.empty(); });
  EXPECT_GT(net.host[0].nic->snapshot(0).capture_lost, 0U);
  EXPECT_EQ(net.host[0].nic->snapshot(0).endpoint, 20U);
}

}  // namespace
}  // namespace mrc::nic
