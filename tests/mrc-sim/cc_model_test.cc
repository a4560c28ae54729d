// SPDX-License-Identifier: BSD-3-Clause
// What `mrc-sim cc` prints is lib/cc's own state: random histories through both, compared bit by bit.
#include "cc_model.h"

#include <gtest/gtest.h>

#include <bit>
#include <limits>

#include "base/rng.h"
#include "cc_keys.h"

namespace mrc::simapp {
namespace {

constexpr const char* kConfig = R"({"rate_bps":100e9,"base_rtt_ns":12000,"mtu_bytes":4096,"preset":")";

std::string config(bool htsim) {
  return std::string(kConfig) + (htsim ? "htsim" : "uet") + "\"}";
}

void same(const char* key, const Json& printed, double v) {
  EXPECT_EQ(std::bit_cast<std::uint64_t>(printed.get<double>()), std::bit_cast<std::uint64_t>(v + 0.0))
      << key;
}
void same(const char* key, const Json& printed, std::int64_t v) {
  EXPECT_EQ(printed.get<std::int64_t>(), v) << key;
}
void same(const char* key, const Json& printed, bool v) {
  EXPECT_EQ(printed.get<bool>(), v) << key;
}
void same(const char* key, const Json& printed, Time v) {
  same(key, printed, v.ns);
}
void same(const char* key, const Json& printed, Duration v) {
  same(key, printed, v.ns);
}

void compare(const std::string& line, const cc::Qpcc& direct) {
  const Json printed = Json::parse(line);
  each_state_key(std::get<cc::Nscc>(direct.algorithm()).state(),
                 [&](const char* key, const auto& v) { same(key, printed.at(key), v); });
  EXPECT_EQ(printed.at("inflight").get<std::int64_t>(), direct.inflight_bytes());
  EXPECT_EQ(printed.at("may_send").get<bool>(), direct.may_send(4096));
  EXPECT_EQ(printed.at("ack_req").get<bool>(), direct.wants_ack(4096, 16384));
}

/// One random event, at the library itself and as a line.
class Both {
 public:
  Both(bool htsim, std::uint64_t seed) : rng_(seed) {
    EXPECT_TRUE(model_.apply(config(htsim)));
    const cc::NsccLink link{.rate_bps = 100e9, .base_rtt = nanoseconds(12000), .mtu_bytes = 4096};
    const auto params = cc::derive_nscc(link, htsim ? cc::NsccChoices::htsim() : cc::NsccChoices::uet());
    direct_.emplace(cc::Nscc(*params, Time{}));
  }

  void step() {
    at_.ns += static_cast<std::int64_t>(rng_.below(3000));
    Json line{{"t_ns", at_.ns}};
    switch (rng_.below(5)) {
      case 0:
        nack(line);
        break;
      case 1:
        line.update({{"event", rng_.below(2) == 0 ? "loss" : "timeout"}, {"bytes", 4136}});
        if (rng_.below(4) != 0) return;  // losses are rare, or nothing but the floor is seen
        direct_->on_loss(4136, at_);
        break;
      case 2:
        line.update({{"event", "send"}, {"bytes", 4136}});
        direct_->on_sent(4136);
        break;
      default:
        ack(line);
    }
    const auto printed = model_.apply(line.dump());
    ASSERT_TRUE(printed) << printed.error().message;
    compare(*printed, *direct_);
  }

  [[nodiscard]] const cc::NsccState& state() const {
    return std::get<cc::Nscc>(direct_->algorithm()).state();
  }

 private:
  void ack(Json& line) {
    cc::AckSignal s{.newly_received_bytes = static_cast<std::int64_t>(rng_.below(65)) * 256,
                    .marked = rng_.below(3) == 0,
                    .rcv_cwnd_pen = static_cast<std::uint8_t>(rng_.below(8) == 0 ? rng_.below(128) : 0),
                    .restore_cwnd = rng_.below(8) == 0};
    if (rng_.below(6) != 0) s.rtt = nanoseconds(static_cast<std::int64_t>(11000 + rng_.below(30000)));
    line.update({{"event", "ack"},
                 {"bytes", s.newly_received_bytes},
                 {"marked", s.marked},
                 {"pen", s.rcv_cwnd_pen},
                 {"restore", s.restore_cwnd}});
    if (s.rtt) line["rtt_ns"] = s.rtt->ns;
    direct_->on_ack(s, at_);
  }
  void nack(Json& line) {
    const ReasonName& reason = kReasons[rng_.below(std::size(kReasons))];
    const bool charged = rng_.below(4) != 0;
    line.update({{"event", "nack"}, {"bytes", 4136}, {"reason", reason.name}, {"charged", charged}});
    direct_->on_nack({.reason = reason.value, .charged_bytes = charged ? 4136 : 0, .nominal_bytes = 4136},
                     at_);
  }

  Rng rng_;
  CcModel model_;
  std::optional<cc::Qpcc> direct_;
  Time at_;
};

TEST(CcModel, PrintsTheStateOfTheLibraryBitByBit) {
  unsigned fractions = 0;
  for (const bool htsim : {false, true}) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      Both both(htsim, seed);
      for (int i = 0; i < 300; ++i) {
        both.step();
        if (::testing::Test::HasFailure()) FAIL() << "seed " << seed << ", event " << i;
        fractions += both.state().cwnd != std::trunc(both.state().cwnd) ? 1 : 0;
      }
    }
  }
  EXPECT_GT(fractions, 500U) << "the histories must meet non-integers";
}

TEST(CcModel, ARefusedLineChangesNothing) {
  CcModel model;
  ASSERT_TRUE(model.apply(config(false)));
  ASSERT_TRUE(model.apply(R"({"t_ns":1000,"event":"ack","bytes":4096,"delay_ns":3000})"));
  const cc::Qpcc before = model.qpcc();
  for (const char* bad : {R"({"t_ns":2000,"event":"ack","bytes":4096,"delay_ns":3000,"pen":200})",
                          R"({"t_ns":2000,"event":"nack","bytes":4096,"reason":"?"})",
                          R"({"event":"config","rate_bps":1})", "{"})
    EXPECT_FALSE(model.apply(bad)) << bad;
  const auto after = model.apply(R"({"t_ns":1000,"event":"send","bytes":0})");
  ASSERT_TRUE(after);
  compare(*after, before);
}

TEST(ExactNumber, ReadsBackAsTheSameDouble) {
  EXPECT_EQ(exact_number(100000), "100000");
  EXPECT_EQ(exact_number(9e11), "900000000000");
  EXPECT_EQ(exact_number(-0.0), "0");
  EXPECT_EQ(exact_number(614.4), "614.4");
  EXPECT_EQ(exact_number(0.1 + 0.2), "0.30000000000000004");
  Rng rng(7);
  for (int i = 0; i < 100000; ++i) {
    const auto v = std::bit_cast<double>(rng.next());
    if (!std::isfinite(v) || v == 0) continue;
    ASSERT_EQ(std::bit_cast<std::uint64_t>(Json::parse(exact_number(v)).get<double>()),
              std::bit_cast<std::uint64_t>(v));
  }
}

}  // namespace
}  // namespace mrc::simapp
