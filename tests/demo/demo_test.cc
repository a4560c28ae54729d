// SPDX-License-Identifier: BSD-3-Clause
// The demo in small: it passes, and each thing that can go wrong in it makes it fail.
#include "demo.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "ethdev/eal.h"

namespace mrc::endpoint {
namespace {

class Environment : public ::testing::Environment {
 public:
  void SetUp() override {
    auto started = ethdev::Eal::init(ethdev::EalConfig::for_tests(1));
    if (!started) FAIL() << started.error().message;
    eal_.emplace(*std::move(started));
  }
  void TearDown() override { eal_.reset(); }

 private:
  std::optional<ethdev::Eal> eal_;
};
const auto* const environment = ::testing::AddGlobalTestEnvironment(new Environment);

DemoReport run(const DemoOptions& o) {
  auto r = run_demo(o);
  if (!r) throw std::runtime_error(r.error().message);
  return *std::move(r);
}

// In virtual time: what is checked is the protocol, not how often this thread gets a CPU.
DemoOptions small() {
  DemoOptions o;
  o.bytes = 256ULL << 20;
  o.poll_step = microseconds(5);
  return o;
}

std::vector<std::string> missed(const DemoReport& r) {
  std::vector<std::string> names;
  for (const DemoCheck& c : r.checks) {
    if (!c.ok) names.push_back(c.what);
  }
  return names;
}

TEST(Demo, PassesAndTellsWhatItMeasured) {
  const DemoReport r = run(small());
  EXPECT_TRUE(r.pass()) << to_text(r);
  EXPECT_GT(r.death.data_lost, 0U);
  EXPECT_GT(r.lost_at_random, 0U);
  EXPECT_GT(r.rates.goodput_bps, 0);
  EXPECT_GT(r.rates.l1_bps, r.rates.l2_bps);
  const auto j = nlohmann::json::parse(to_json(r));
  EXPECT_EQ(j["schema"], "softmrc.demo/1");
  EXPECT_EQ(j["pass"], true);
  EXPECT_EQ(j["checks"].size(), r.checks.size());
}

TEST(Demo, OnePlacementThatIsMissingFailsIt) {
  DemoOptions o = small();
  o.forget_message = 100;
  const DemoReport r = run(o);
  EXPECT_FALSE(r.pass());
  EXPECT_EQ(r.messages_bad, 1U);
  EXPECT_NE(r.first_bad.find("message 100"), std::string::npos) << r.first_bad;
  EXPECT_EQ(missed(r).front(), "every byte arrived as it was sent");
}

TEST(Demo, ADeathThatNobodyNoticedFailsIt) {
  DemoOptions o = small();
  o.spare_path = true;
  const DemoReport r = run(o);
  EXPECT_FALSE(r.pass());
  const auto names = missed(r);
  EXPECT_EQ(std::count(names.begin(), names.end(),
                       "once noticed at both ends, the dead path carried nothing but probes"),
            1);
}

}  // namespace
}  // namespace mrc::endpoint
