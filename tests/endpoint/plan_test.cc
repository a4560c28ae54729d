// SPDX-License-Identifier: BSD-3-Clause
#include "plan.h"

#include <gtest/gtest.h>

#include <string>

namespace mrc::endpoint {
namespace {

config::EndpointConfig with(config::WorkloadKind kind, std::uint32_t depth = 0) {
  config::EndpointConfig c;
  c.workload.kind = kind;
  c.workload.depth = depth;
  return c;
}

TEST(Plan, SlotsAndDepthFitEverySize) {
  for (const auto kind :
       {config::WorkloadKind::kWriteBw, config::WorkloadKind::kWriteImm, config::WorkloadKind::kWriteLat}) {
    for (const std::uint32_t depth : {0U, 1U, 7U, 256U}) {
      const config::EndpointConfig c = with(kind, depth);
      for (std::uint64_t size = 0; size <= kMaxMessageBytes; size = size == 0 ? 1 : size * 2) {
        const PhasePlan p = plan_phase(c, size);
        EXPECT_GE(p.stride_bytes, size);
        EXPECT_EQ(p.stride_bytes % kStrideAlign, 0U);
        EXPECT_GE(p.slots, 1U);
        EXPECT_GE(p.slots, p.depth) << size;
        EXPECT_GE(p.depth, 1U);
        EXPECT_LE(p.depth, c.qp.limits.max_send_wr);
        EXPECT_TRUE(kind == config::WorkloadKind::kWriteBw || p.slots <= c.qp.limits.max_recv_wr);
        EXPECT_TRUE(depth != 0 || size >= kSlotBudgetBytes / 2 || p.region_bytes() <= kSlotBudgetBytes)
            << size;
      }
    }
  }
}

TEST(Plan, ADepthThatIsAskedForIsKept) {
  EXPECT_EQ(plan_phase(with(config::WorkloadKind::kWriteBw, 100), 1 << 20).depth, 100U);
  EXPECT_EQ(plan_phase(with(config::WorkloadKind::kWriteLat, 100), 8).depth, 1U);
}

TEST(Plan, IterationsOrDuration) {
  config::EndpointConfig c = with(config::WorkloadKind::kWriteBw);
  EXPECT_EQ(plan_phase(c, 8).iterations, 5000U);
  c.workload.duration_s = 1;
  EXPECT_EQ(plan_phase(c, 8).iterations, 0U);
  c.workload.sweep_bytes = {1, 2, 3};
  EXPECT_EQ(plan_phases(c).size(), 3U);
}

Offer offer(std::uint8_t host) {
  Offer o;
  o.workload = {"write_bw", 1, 1, 64, 4096, false, true};
  o.mtu = 4096;
  o.udp_port = 4791;
  o.accept_udp_ports = {4791, 4971};
  MacAddress mac;
  mac.bytes = {2, 0, 0, 0, 0, host};
  IpAddress ip = *IpAddress::parse("fd00::1");
  ip.bytes[15] = host;
  o.addresses = {{{ip, mac}}};
  o.qps = {{3, 0, 0, 1, 0, 4096}};
  return o;
}

TEST(Plan, CompatibleEndsPass) {
  EXPECT_TRUE(check_peer(offer(1), offer(2), 4096));
  EXPECT_TRUE(check_offer(config::EndpointConfig{}, offer(2), 1ULL << 40, 4096));
}

TEST(Plan, EachIncompatibilityIsNamed) {
  const auto said = [](auto change, std::uint64_t bytes = 4096) {
    Offer theirs = offer(2);
    change(theirs);
    const Result<void> r = check_peer(offer(1), theirs, bytes);
    return r ? std::string() : r.error().message;
  };
  EXPECT_NE(said([](Offer& o) { o.mtu = 1024; }).find("qp.mtu is 4096 on one end and 1024"),
            std::string::npos);
  EXPECT_NE(said([](Offer& o) {
              o.mtu = 2048;
              o.mtu_fixed = false;
            }).find("qp.mtu is 4096 on one end, and the planes of the other carry at most 2048"),
            std::string::npos);
  EXPECT_NE(said([](Offer& o) { o.addresses[0].push_back(o.addresses[0][0]); }).find("1 planes"),
            std::string::npos);
  EXPECT_NE(said([](Offer& o) { o.addresses[0][0].ip = *IpAddress::parse("10.0.0.2"); }).find("IP versions"),
            std::string::npos);
  EXPECT_NE(said([](Offer& o) {
              o.addresses[0][0].ip = offer(1).addresses[0][0].ip;
            }).find("both ends are fd00::1"),
            std::string::npos);
  EXPECT_NE(said([](Offer& o) { o.udp_port = 5000; }).find("UDP ports 4791 and 5000"), std::string::npos);
  EXPECT_NE(said([](Offer& o) { o.accept_udp_ports = {4971}; }).find("does not listen"), std::string::npos);
  EXPECT_NE(said([](Offer& o) { o.qps.push_back(o.qps[0]); }).find("1 QPs on one end and 2"),
            std::string::npos);
  EXPECT_NE(said([](Offer&) {}, 8192).find("target has 4096 bytes, 8192 are needed"), std::string::npos);
}

TEST(Plan, ThePathMtuIsTheSmallerOneUnlessAnEndInsists) {
  struct Case {
    std::uint16_t own;
    bool own_fixed;
    std::uint16_t peer;
    bool peer_fixed;
    std::uint16_t agreed;  // 0: refused
  };
  for (const Case& c : {Case{4096, false, 1024, false, 1024}, Case{1024, false, 4096, false, 1024},
                        Case{2048, true, 4096, false, 2048}, Case{4096, false, 2048, true, 2048},
                        Case{4096, true, 2048, false, 0}, Case{2048, false, 4096, true, 0},
                        Case{1024, true, 1024, true, 1024}, Case{1024, true, 4096, true, 0}}) {
    Offer own = offer(1);
    Offer peer = offer(2);
    own.mtu = c.own;
    own.mtu_fixed = c.own_fixed;
    peer.mtu = c.peer;
    peer.mtu_fixed = c.peer_fixed;
    for (const auto& agreed : {agree_mtu(own, peer), agree_mtu(peer, own)}) {  // both ends come to the same
      EXPECT_EQ(agreed ? *agreed : 0, c.agreed) << c.own << " " << c.peer;
    }
  }
}

TEST(Plan, AnOfferBeyondTheLimitsIsRefusedBeforeMemoryIsTaken) {
  const config::EndpointConfig own;
  const auto said = [&](auto change) {
    Offer o = offer(2);
    change(o);
    const Result<void> r = check_offer(own, o, 1ULL << 40, 4096);
    return r ? std::string() : r.error().message;
  };
  EXPECT_NE(said([](Offer& o) { o.workload.kind = "read_bw"; }).find("'read_bw' is not known"),
            std::string::npos);
  EXPECT_NE(said([](Offer& o) { o.workload.qps = 2; }).find("2 QPs but 1 are described"), std::string::npos);
  EXPECT_NE(said([](Offer& o) { o.workload.region_bytes = 1ULL << 60; }).find("above the limit"),
            std::string::npos);
  EXPECT_NE(said([](Offer& o) { o.workload.region_bytes = 32; }).find("cannot hold a message"),
            std::string::npos);
}

TEST(Plan, TheServingEndNamesItsMemoryLimit) {
  const auto said = [](std::uint64_t limit_bytes, std::uint64_t free_bytes, bool both_ways,
                       std::uint64_t bytes_a_qp = 0) {
    config::EndpointConfig own;
    own.oob.memory_limit_bytes = limit_bytes;
    Offer o = offer(2);
    o.workload.region_bytes = 64ULL << 20;
    o.workload.bidirectional = both_ways;
    const Result<void> r = check_offer(own, o, free_bytes, bytes_a_qp);
    return r ? std::string() : r.error().message;
  };
  constexpr std::uint64_t kMib = 1ULL << 20;
  EXPECT_EQ(said(64 * kMib, 1, false), "");
  EXPECT_EQ(said(64 * kMib, 1 << 30, true),
            "the run needs 128 MiB of memory (128 for messages, 0 for QPs) at the serving end, which gives "
            "64 MiB at "
            "most "
            "(oob.memory_limit); use smaller messages, fewer QPs or a smaller --tx-depth");
  EXPECT_NE(said(64 * kMib, 1, false, 1).find("65 MiB of memory (64 for messages, 1 for QPs)"),
            std::string::npos)
      << "what the peer's number of QPs takes is part of it";
  EXPECT_EQ(said(0, 128 * kMib, false), "") << "half of what is free";
  EXPECT_NE(said(0, 127 * kMib, false).find("63 MiB at most (oob.memory_limit there: half of what is free)"),
            std::string::npos);
}

TEST(Plan, EvProfilesOfTheConfiguration) {
  config::EndpointConfig c;
  const Result<path::EvTable> standard = build_ev_table(c, true, 1);
  ASSERT_TRUE(standard) << standard.error().message;
  EXPECT_EQ(standard->size(), 128U);
  EXPECT_EQ(standard->planes(), 4U);
  config::EndpointConfig three;
  three.plane_count = 3;
  EXPECT_EQ(build_ev_table(three, true, 1)->size(), 129U) << "equal shares";
  c.workload.pin_ev = 5;
  const Result<path::EvTable> pinned = build_ev_table(c, true, 1);
  ASSERT_TRUE(pinned) << pinned.error().message;
  ASSERT_EQ(pinned->size(), 1U);
  EXPECT_EQ((*pinned)[0].udp_sport, (*standard)[5].udp_sport);
  EXPECT_EQ((*pinned)[0].port, (*standard)[5].port);

  config::EndpointConfig e;
  e.ev.mode = config::EvMode::kExplicit;
  e.ev.format = path::EvFormat::kStev;
  e.ev.values = {{"0x0102:0304", 0}, {"0xA", 3}};
  const Result<path::EvTable> given = build_ev_table(e, true, 1);
  ASSERT_TRUE(given) << given.error().message;
  EXPECT_EQ((*given)[0].udp_sport, 0x0102);
  EXPECT_EQ((*given)[0].flow_label, 0x0304);
  EXPECT_EQ((*given)[1].value[0], 0xA0) << "digits fill from the left";
  EXPECT_EQ((*given)[1].port, 3);

  config::EndpointConfig g;
  g.ev.mode = config::EvMode::kGenerated;
  g.ev.count_auto = false;
  g.ev.count = 64;
  g.ev.fields = {{16, 16, 0xC000, 0, 63, 0x3F}};
  const Result<path::EvTable> made = build_ev_table(g, true, 1);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->size(), 64U);
  g.ev.count_auto = true;
  EXPECT_EQ(build_ev_table(g, true, 1)->size(), 4 * 64U) << "all that the fields give, on each plane";
  g.ev.fields[0].init = 0x1FFFF;
  EXPECT_FALSE(build_ev_table(g, true, 1)) << "init beyond its width";
}

}  // namespace
}  // namespace mrc::endpoint
