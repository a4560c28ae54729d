// SPDX-License-Identifier: BSD-3-Clause
#include "cc/nscc_params.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "bench.h"

namespace mrc::cc {
namespace {

struct Row {
  const char* name;
  double gbps, rtt_us;
  std::uint32_t mtu, mss;
  bool trimming;
  double bdp, target_us, alpha, fi, fi_scale, eta, max_cwnd;
  std::int64_t gate, qa_period_ns;
  double pi;         ///< B that a window of bytes without delay adds by proportional increase
  double tolerance;  ///< relative; 1e-5 where the row itself is rounded or base RTT is not whole ns
};

// What one window of bytes that met no delay adds, where fast increase does not take over.
double proportional_step(NsccParams p) {
  p.choices.clean_tolerance = {};
  p.adjust_period_threshold = kHuge;
  p.adjust_bytes_threshold = 1;
  const std::int64_t window = p.max_cwnd_bytes / 2;
  Bench b(p, static_cast<double>(window), window);
  b.ack(1000, window, false, 0);
  return b.cwnd() - static_cast<double>(window);
}

class Derivation : public ::testing::TestWithParam<Row> {};

// Vector 1: every row of the table of derived examples.
TEST_P(Derivation, Vector1) {
  const Row& r = GetParam();
  const auto near = [&](double v, double expected) { EXPECT_NEAR(v, expected, expected * r.tolerance); };
  const NsccParams p = derived({.rate_bps = r.gbps * 1e9,
                                .base_rtt = nanoseconds(static_cast<std::int64_t>(r.rtt_us * 1000 + 0.5)),
                                .mtu_bytes = r.mtu,
                                .trimming = r.trimming,
                                .mss_bytes = r.mss});
  near(static_cast<double>(p.target_delay.ns), r.target_us * 1000);
  near(p.alpha, r.alpha);
  near(p.fi, r.fi);
  near(p.fi_scale, r.fi_scale);
  near(p.eta, r.eta);
  near(static_cast<double>(p.max_cwnd_bytes), r.max_cwnd);
  near(static_cast<double>(p.max_cwnd_bytes), 1.5 * r.bdp);
  near(static_cast<double>(p.max_cwnd_bytes >> p.qa_gate), static_cast<double>(r.gate));
  near(static_cast<double>((p.base_rtt + p.target_delay).ns), static_cast<double>(r.qa_period_ns));
  near(proportional_step(p), r.pi);
  EXPECT_EQ(p.gamma, 0.8);
  EXPECT_EQ(p.max_md_jump, 0.5);
  EXPECT_EQ(p.adjust_bytes_threshold, 8 * r.mtu);
  EXPECT_EQ(p.adjust_period_threshold, p.base_rtt);
  EXPECT_EQ(p.qa_threshold, r.trimming ? NsccParams::kNever : p.target_delay * 4);
}

INSTANTIATE_TEST_SUITE_P(Rows, Derivation,
                         ::testing::Values(Row{"g100", 100, 12, 4096, 0, true, 150000, 9, 1.365333, 20480,
                                               .25, 614.4, 225000, 28125, 21000, 12288, 1e-6},
                                           Row{"g400", 400, 12, 4096, 0, true, 600000, 9, 5.461333, 81920,
                                               1.0, 2457.6, 900000, 112500, 21000, 49152, 1e-6},
                                           Row{"g400_notrim", 400, 12, 4096, 0, false, 600000, 12, 5.461333,
                                               81920, 1.0, 2457.6, 900000, 112500, 24000, 65536, 1e-6},
                                           Row{"g800", 800, 12, 4096, 0, true, 1200000, 9, 10.92267, 163840,
                                               2.0, 4915.2, 1800000, 225000, 21000, 98304, 1e-6},
                                           Row{"g400_8us", 400, 8, 4096, 0, true, 400000, 6, 3.640889,
                                               54613.3, .66667, 1638.4, 600000, 75000, 14000, 21845, 2e-5},
                                           Row{"htsim", 100, 14.02272, 4150, 4086, true, 175284, 10.51704,
                                               1.59158, 23873.7, .29214, 716.21, 262926, 32865, 24540, 16739,
                                               4e-5}),
                         [](const auto& param_info) { return param_info.param.name; });

// ... and the row of the simulator that scales its gains by another BDP, so that only what follows from rate
// and RTT is the same.
TEST(NsccParams, Vector1OfTheRowWithAReferenceOfItsOwn) {
  const NsccParams p =
      derived({.rate_bps = 400e9, .base_rtt = microseconds(6), .mtu_bytes = 4184, .trimming = false});
  EXPECT_EQ(p.target_delay, microseconds(6));
  EXPECT_EQ(p.max_cwnd_bytes, 450000) << "1.5 BDP of 300000 B";
  EXPECT_EQ(p.max_cwnd_bytes >> p.qa_gate, 56250);
  EXPECT_EQ(p.base_rtt + p.target_delay, microseconds(12));
  EXPECT_EQ(p.fi, 2 * 5 * 4184) << "a = 2 by the reference of 150000 B";
}

// Observation of the same table: at target <= 15 us fair increase is at least proportional, per window.
TEST(NsccParams, FairIsAtLeastProportional) {
  for (const double gbps : {100.0, 400.0, 800.0}) {
    const NsccParams p = derived({.rate_bps = gbps * 1e9, .base_rtt = microseconds(12), .mtu_bytes = 4096});
    EXPECT_GE(p.fi, p.alpha * static_cast<double>(p.target_delay.ns));
  }
}

TEST(NsccParams, AWindowHoldsAtLeastOnePacket) {
  const NsccParams p = derived({.rate_bps = 1e9, .base_rtt = microseconds(10), .mtu_bytes = 4184});
  EXPECT_EQ(p.max_cwnd_bytes, 4184);
}

TEST(NsccParams, LinksThatMakeNoSenseAreRefused) {
  EXPECT_FALSE(derive_nscc({.rate_bps = 0, .base_rtt = microseconds(12), .mtu_bytes = 4096}));
  EXPECT_FALSE(derive_nscc({.rate_bps = 1e9, .base_rtt = {}, .mtu_bytes = 4096}));
  EXPECT_FALSE(derive_nscc({.rate_bps = 1e9, .base_rtt = microseconds(12), .mtu_bytes = 0}));
}

TEST(NsccParams, EveryParameterIsChecked) {
  const std::pair<const char*, std::function<void(NsccParams&)>> spoils[] = {
      {"mtu", [](NsccParams& p) { p.mtu_bytes = 0; }},
      {"max_cwnd", [](NsccParams& p) { p.max_cwnd_bytes = 4095; }},
      {"base_rtt", [](NsccParams& p) { p.base_rtt = {}; }},
      {"target_delay", [](NsccParams& p) { p.target_delay = {}; }},
      {"qa_threshold", [](NsccParams& p) { p.qa_threshold = {}; }},
      {"adjust_period_threshold", [](NsccParams& p) { p.adjust_period_threshold = {}; }},
      {"adjust_bytes_threshold", [](NsccParams& p) { p.adjust_bytes_threshold = 0; }},
      {"alpha", [](NsccParams& p) { p.alpha = 0; }},
      {"fi", [](NsccParams& p) { p.fi = -1; }},
      {"fi_scale", [](NsccParams& p) { p.fi_scale = std::numeric_limits<double>::quiet_NaN(); }},
      {"eta", [](NsccParams& p) { p.eta = std::numeric_limits<double>::infinity(); }},
      {"gamma", [](NsccParams& p) { p.gamma = 1.5; }},
      {"max_md_jump", [](NsccParams& p) { p.max_md_jump = 0; }},
      {"qa_gate", [](NsccParams& p) { p.qa_gate = 32; }},
      {"min_base_rtt", [](NsccParams& p) { p.min_base_rtt = microseconds(13); }},
  };
  for (const auto& [name, spoil] : spoils) {
    NsccParams p = derived(kV1);
    spoil(p);
    const auto r = p.check();
    ASSERT_FALSE(r) << name;
    EXPECT_NE(r.error().message.find(std::string("NSCC: ") + name + " is"), std::string::npos)
        << r.error().message;
  }
}

}  // namespace
}  // namespace mrc::cc
