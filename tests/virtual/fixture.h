// SPDX-License-Identifier: BSD-3-Clause
// Hosts without a NIC: they build frames, send and receive them with rte_eth_* and count their mbufs.
#pragma once

#include <gtest/gtest.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

#include "ethdev/port.h"
#include "virtual/frame_view.h"
#include "virtual/virtual_fabric.h"
#include "wire/encode.h"
#include "wire/icrc.h"

namespace mrc::virt::test {

inline constexpr std::uint32_t kMbufs = 8191;

struct FrameSpec {
  fabric::HostId from = 0;
  std::uint32_t plane = 0;
  std::uint16_t sport = 50000;
  std::uint32_t psn = 0;
  bool rtx = false;
  bool ipv6 = false;
  std::uint32_t payload_bytes = 64;
  wire::DscpClass dscp = wire::DscpClass::kTrimmable;
  std::optional<std::array<std::uint8_t, 32>> srv6;  ///< carrier, segment
  bool srh = false;
  std::uint8_t to_ip = 2;  ///< last byte of the destination address
};

/// Owns a pool; every test must give back what it took.
class VirtualTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto pool = ethdev::make_pool("virtual_test", kMbufs, 2048 + 512, 64);
    ASSERT_TRUE(pool) << pool.error().message;
    pool_ = *pool;
  }
  void TearDown() override {
    net_.reset();
    EXPECT_EQ(rte_mempool_avail_count(pool_), kMbufs) << "an mbuf did not come back";
    rte_mempool_free(pool_);
  }

  void start(VirtualConfig config) {
    auto net = VirtualFabric::create(std::move(config));
    if (!net) throw std::runtime_error(net.error().message);
    net_ = *std::move(net);
  }

  wire::HeaderTemplate path_of(const FrameSpec& s) const {
    wire::PathAddress a;
    a.dst_mac = port_mac(1 - s.from % 2, s.plane);
    a.src_mac = port_mac(s.from, s.plane);
    a.src_ip.bytes = {10, 0, 0, 1};
    a.dst_ip.bytes = {10, 0, 0, s.to_ip};
    if (s.ipv6 || s.srv6.has_value()) {
      a.src_ip = {{0xfd, 1}, true};
      a.dst_ip = {{0xfd, 2}, true};
      a.dst_ip.bytes[15] = s.to_ip;
    }
    if (s.srv6) a.encap = s.srh ? wire::Encap::kSrv6Srh : wire::Encap::kSrv6;
    auto t = wire::HeaderTemplate::create(a);
    EXPECT_TRUE(t);
    return *t;
  }

  /// A Write with a right ICRC.
  rte_mbuf* make_write(const FrameSpec& s) {
    rte_mbuf* m = rte_pktmbuf_alloc(pool_);
    EXPECT_NE(m, nullptr);
    const wire::HeaderTemplate path = path_of(s);
    wire::WriteView w;
    w.bth.opcode = wire::Opcode::kWriteOnly;
    w.bth.rtx = s.rtx;
    w.bth.psn = Psn{s.psn};
    w.payload_bytes = w.dmalen = s.payload_bytes;
    wire::SendMeta meta;
    meta.dqp = 0x123456;
    meta.tos = wire::DscpMap{}.tos(s.dscp);
    meta.ev.udp_sport = s.sport;
    if (s.srv6) meta.ev.srv6 = s.srv6->data();
    std::uint8_t* payload = static_cast<std::uint8_t*>(m->buf_addr) + 256;
    std::memset(payload, static_cast<int>(s.psn & 0xFF), s.payload_bytes);
    const std::uint32_t header = wire::encode_write(path, meta, w, payload);
    const std::uint32_t trailer = wire::seal(path, payload, header, s.payload_bytes);
    m->data_off = static_cast<std::uint16_t>(256 - header);
    m->data_len = static_cast<std::uint16_t>(header + s.payload_bytes + trailer);
    m->pkt_len = m->data_len;
    return m;
  }

  void send(const FrameSpec& s) { send_mbuf(s.from, s.plane, make_write(s)); }
  void send_mbuf(fabric::HostId from, std::uint32_t plane, rte_mbuf* m) {
    ASSERT_EQ(rte_eth_tx_burst(net_->port_id(from, plane), 0, &m, 1), 1);
  }

  /// Everything a host has received on a plane; frees the mbufs.
  struct Received {
    std::vector<std::uint8_t> bytes;
    wire::FrameView view;
    wire::DropReason reason = wire::DropReason::kNone;
    [[nodiscard]] bool icrc_ok() const { return wire::check_icrc(bytes, view).ok(); }
  };
  std::vector<Received> receive(fabric::HostId host, std::uint32_t plane, std::uint16_t queue = 0) {
    std::vector<Received> all;
    rte_mbuf* burst[32];
    for (std::uint16_t n = 1; n != 0;) {
      n = rte_eth_rx_burst(net_->port_id(host, plane), queue, burst, 32);
      for (std::uint16_t i = 0; i < n; ++i) all.push_back(take(burst[i]));
    }
    return all;
  }

  rte_mempool* pool_ = nullptr;
  std::unique_ptr<VirtualFabric> net_;

 private:
  static Received take(rte_mbuf* m) {
    Received r;
    r.bytes.resize(rte_pktmbuf_pkt_len(m));
    std::uint8_t* at = r.bytes.data();
    for (const rte_mbuf* s = m; s != nullptr; s = s->next) {
      std::memcpy(at, rte_pktmbuf_mtod(s, const void*), rte_pktmbuf_data_len(s));
      at += rte_pktmbuf_data_len(s);
    }
    rte_pktmbuf_free(m);
    r.reason = wire::decode_frame(r.bytes, wire::DecodeOptions{}, r.view);
    return r;
  }
};

inline VirtualConfig parallel(Duration delay = {}) {
  VirtualConfig c;
  c.planes = 2;
  c.paths = 4;
  c.path.delay = delay;
  c.forwarding.mode = fabric::Forwarding::kModulo;
  return c;
}

}  // namespace mrc::virt::test
