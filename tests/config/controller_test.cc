// SPDX-License-Identifier: BSD-3-Clause
// From configuration to congestion controller (MRC 8.4; 6.4).
#include <gtest/gtest.h>

#include "config/endpoint_config.h"

namespace mrc::config {
namespace {

constexpr Time kNow{1000};

EndpointConfig nscc() {
  EndpointConfig c;
  c.cc.mode = CcMode::kNscc;
  c.qp.policy.base_rtt = microseconds(12);
  return c;
}

TEST(Controller, OffNeverClosesAndFixedNeverMoves) {
  EndpointConfig c;
  c.cc.mode = CcMode::kOff;
  auto off = make_controller(c, 0, 1, kNow);
  ASSERT_TRUE(off);
  EXPECT_GT(cc::Qpcc(*off).cwnd_bytes(), std::int64_t{1} << 60);
  c.cc.mode = CcMode::kFixed;
  c.cc.window_bytes = 12345;
  auto fixed = make_controller(c, 0, 1, kNow);
  ASSERT_TRUE(fixed);
  EXPECT_EQ(cc::Qpcc(*fixed).cwnd_bytes(), 12345);
  EXPECT_EQ(cc::Qpcc(*fixed).windows(), nullptr);
}

TEST(Controller, NsccFollowsFromRateBaseRttAndMtu) {
  const auto a = make_controller(nscc(), 100e9, 1, kNow);
  ASSERT_TRUE(a) << a.error().message;
  const cc::NsccParams& p = std::get<cc::Nscc>(*a).params();
  EXPECT_EQ(p.base_rtt, microseconds(12));
  EXPECT_EQ(p.max_cwnd_bytes, 225'000) << "1.5 BDP";
  EXPECT_EQ(p.target_delay, microseconds(9));
  EXPECT_EQ(p.mtu_bytes, 4096U + 8 + 12 + 4 + 4 + 16 + 4 + 4 + 40)
      << "a full packet with all headers, nominal";
  EXPECT_EQ(p.min_base_rtt, microseconds(6)) << "D18";
  EXPECT_FALSE(p.disable_qa);
  const auto half = make_controller(nscc(), 100e9, 0.5, kNow);
  EXPECT_EQ(std::get<cc::Nscc>(*half).params().max_cwnd_bytes, 112'500)
      << "the other half is another worker's";
}

TEST(Controller, EveryParameterOfItCanBeSet) {
  EndpointConfig c = nscc();
  c.cc.max_window_bytes = 300'000;
  c.cc.target_delay = microseconds(5);
  c.cc.quick_adapt = false;
  c.qp.attr.trim_nack = false;
  const auto a = make_controller(c, 100e9, 1, kNow);
  ASSERT_TRUE(a);
  const cc::NsccParams& p = std::get<cc::Nscc>(*a).params();
  EXPECT_EQ(p.max_cwnd_bytes, 300'000);
  EXPECT_EQ(p.target_delay, microseconds(5));
  EXPECT_TRUE(p.disable_qa);
  c.cc.target_delay = {};
  EXPECT_EQ(std::get<cc::Nscc>(*make_controller(c, 100e9, 1, kNow)).params().target_delay, microseconds(12))
      << "no trims: a whole base RTT";
}

TEST(Controller, ARateThatNobodyKnowsIsRefused) {
  const auto a = make_controller(nscc(), 0, 1, kNow);
  ASSERT_FALSE(a);
  EXPECT_NE(a.error().message.find("cc.rate_gbps"), std::string::npos) << a.error().message;
  EndpointConfig tiny = nscc();
  tiny.cc.max_window_bytes = 1000;
  const auto small = make_controller(tiny, 100e9, 1, kNow);
  ASSERT_FALSE(small);
  EXPECT_NE(small.error().message.find("max_cwnd"), std::string::npos) << small.error().message;
}

TEST(Controller, TheRateOfThePlanes) {
  EndpointConfig c;
  c.profile = Profile::kEthdev;
  c.planes.resize(4);
  EXPECT_EQ(rate_of_planes(c, 100e9), 400e9);
  EXPECT_EQ(rate_of_planes(c, 0), 0);
  c.cc.rate_gbps = 200;
  EXPECT_EQ(rate_of_planes(c, 100e9), 200e9) << "what is set wins";
  EndpointConfig v;
  v.profile = Profile::kVirtual;
  v.fabric.paths_per_plane = 8;
  EXPECT_EQ(rate_of_planes(v, 10e9), 0) << "as fast as the core pumps";
  v.fabric.link_gbps = 0.5;
  EXPECT_EQ(rate_of_planes(v, 10e9), 16e9);
}

TEST(Controller, SaysWhatItIs) {
  EndpointConfig c;
  EXPECT_EQ(describe_controller(c, 0),
            "congestion control: a fixed window of 1048576 bytes to a destination");
  c.cc.mode = CcMode::kOff;
  EXPECT_EQ(describe_controller(c, 0), "congestion control: off");
  EXPECT_EQ(
      describe_controller(nscc(), 100e9),
      "congestion control: nscc for 100.0 Gb/s and a base RTT of 12.0 us: window up to 225000 bytes, target "
      "delay 9.0 us");
  EXPECT_NE(describe_controller(nscc(), 0).find("refused"), std::string::npos);
}

}  // namespace
}  // namespace mrc::config
