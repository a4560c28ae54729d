// SPDX-License-Identifier: BSD-3-Clause
// Random signals against what must hold for any of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/rng.h"
#include "bench.h"

namespace mrc::cc {
namespace {

using wire::NackReason;

NsccParams random_params(Rng& rng) {
  NsccChoices c = rng.chance(0.3) ? NsccChoices::htsim() : NsccChoices::uet();
  c.average = static_cast<DelayAverage>(rng.below(4));
  c.drop_saved_without_restore = rng.chance(0.5);
  c.grow_only_when_used = rng.chance(0.2);
  NsccParams p = derived({.rate_bps = 1e9 * static_cast<double>(rng.between(1, 800)),
                          .base_rtt = nanoseconds(static_cast<std::int64_t>(rng.between(2000, 50000))),
                          .mtu_bytes = static_cast<std::uint32_t>(rng.between(300, 4200)),
                          .trimming = rng.chance(0.5)},
                         c);
  p.disable_qa = rng.chance(0.2);
  return p;
}

class Signals {
 public:
  explicit Signals(std::uint64_t seed) : rng_(seed), params_(random_params(rng_)), bench_(params_, 0) {
    Nscc fresh(params_, Time{});
    bench_ = Bench(params_, fresh.state().cwnd, static_cast<std::int64_t>(rng_.below(200000)));
  }

  void step() {
    t_ += static_cast<std::int64_t>(rng_.below(4000));
    const NsccState before = bench_.s();
    const std::uint64_t what = rng_.below(20);
    std::optional<std::int64_t> delay;
    if (rng_.chance(0.9))
      delay = static_cast<std::int64_t>(rng_.below(60000)) - (rng_.chance(0.01) ? 3000 : 0);
    if (delay && rng_.chance(0.3)) delay = 0;
    const auto size = static_cast<std::int64_t>(params_.mtu_bytes);
    if (what < 14) {
      const auto bytes = static_cast<std::int64_t>(256 * rng_.below(60));
      const auto pen = static_cast<std::uint8_t>(rng_.chance(0.1) ? rng_.below(128) : 0);
      bench_.ack(t_, bytes, rng_.chance(0.4), delay, pen, rng_.chance(0.5));
    } else if (what < 17) {
      constexpr NackReason kReasons[] = {NackReason::kTrimmed, NackReason::kTrimmedLasthop,
                                         NackReason::kNoResource};
      bench_.nack(t_, kReasons[rng_.below(3)], size, delay);
    } else if (what < 18) {
      bench_.loss(t_, size);
    } else {
      bench_.qpcc().on_sent(4 * size);
    }
    check(before, bench_.s());
  }

 private:
  void check(const NsccState& before, const NsccState& after) {
    ASSERT_GE(after.cwnd, params_.mtu_bytes);
    // restore_cwnd may bring back a window from before the base fell.
    ASSERT_LE(after.cwnd, std::max({after.wmax, before.cwnd, before.saved}));
    ASSERT_GE(after.inc, 0);
    ASSERT_LE(after.base, before.base) << "the base only falls";
    if (after.qa_end != before.qa_end) {
      ASSERT_GE(at(t_), before.qa_end) << "quick adapt judged twice in a window";
      ASSERT_EQ(after.qa_end, at(t_) + after.base + params_.target_delay);
    }
    if (after.t_dec != before.t_dec) {
      ASSERT_GT(at(t_) - before.t_dec, after.base) << "two decreases in a base RTT";
      ++decreases_;
    }
  }

 public:
  [[nodiscard]] int decreases() const { return decreases_; }
  [[nodiscard]] const NsccState& state() const { return bench_.s(); }

 private:
  Rng rng_;
  NsccParams params_;
  Bench bench_;
  std::int64_t t_ = 1;
  int decreases_ = 0;
};

TEST(NsccProperty, RandomSignals) {
  int decreases = 0;
  int judged = 0;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Signals s(seed);
    for (int i = 0; i < 500 && !HasFatalFailure(); ++i) s.step();
    if (HasFatalFailure()) return;
    decreases += s.decreases();
    judged += s.state().qa_end != Time{} ? 1 : 0;
  }
  EXPECT_GT(decreases, 1000);
  EXPECT_GT(judged, 500);
}

}  // namespace
}  // namespace mrc::cc
