// SPDX-License-Identifier: BSD-3-Clause
// Random histories of one EV set against the invariants of the EV machine (I9), judged from
// outside: states before and after each call. A failing seed prints itself.
#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "path/ev_set.h"
#include "tables.h"

namespace mrc::path {
namespace {

using wire::EvMark;

class History {
 public:
  explicit History(std::uint64_t seed) : rng_(seed) {
    const std::size_t planes = 1 + rng_.below(8);
    const std::size_t evs = rng_.chance(0.1) ? 1 : planes * (1 + rng_.below(16));
    config_.ev_min_active = static_cast<std::uint32_t>(rng_.below(evs + 1));
    config_.trimming = rng_.chance(0.7);
    config_.base_rtt = microseconds(10);
    config_.probe_interval = microseconds(static_cast<std::int64_t>(1 + rng_.below(100)));
    if (rng_.chance(0.5)) config_.probe_backoff_max = microseconds(500);
    config_.report_skips = rng_.chance(0.5);
    set_.emplace(table_of(evs, planes), config_, rng_.next());
    EXPECT_TRUE(config_.check(evs));
  }

  void run(int steps) {
    for (int i = 0; i < steps && !::testing::Test::HasFatalFailure(); ++i) {
      now_ = now_ + nanoseconds(static_cast<std::int64_t>(rng_.below(4000)));
      step();
    }
  }

  // With the ports up and time passing, every ASSUMED_BAD EV is probed, and an answer brings it back.
  void everything_returns() {
    for (std::uint8_t p = 0; p < kMaxPlanes; ++p) set_->set_port_usable(p, true);
    std::set<EvIndex> bad;
    for (EvIndex ev = 0; ev < size(); ++ev)
      if (state(ev) == EvState::kAssumedBad) bad.insert(ev);
    const auto n = static_cast<std::int64_t>(size());
    const Time end = now_ + (microseconds(600) + config_.base_rtt * n) * (config_.max_return_successes + 1);
    while (!bad.empty()) {
      const Time due = later(now_, set_->next_probe_deadline());
      ASSERT_LE(due, end) << bad.size() << " EVs never return";
      now_ = due;
      for (EvIndex ev = set_->next_probe(now_, kAll); ev != kNoEv; ev = set_->next_probe(now_, kAll)) {
        ASSERT_EQ(state(ev), EvState::kAssumedBad);
        set_->on_probe_answer(ev, EvMark::kNone, now_);
        if (state(ev) == EvState::kGood) bad.erase(ev);
      }
    }
    EXPECT_TRUE(set_->next_probe_deadline().is_never());
  }

 private:
  static constexpr std::uint32_t kAll = ~0U;

  std::size_t size() const { return set_->table().size(); }
  EvState state(EvIndex ev) const { return set_->state(ev); }
  static bool active(EvState s) { return s == EvState::kGood || s == EvState::kSkip; }
  EvIndex any_ev() { return static_cast<EvIndex>(rng_.below(size())); }
  std::size_t usable(std::uint32_t ports, EvIndex except = kNoEv) const {
    std::size_t n = 0;
    for (EvIndex ev = 0; ev < size(); ++ev)
      if (ev != except && active(before_[ev]) && (ports & up_ & 1U << set_->table()[ev].port) != 0) ++n;
    return n;
  }
  bool doubtful(std::uint32_t ports) const {
    for (EvIndex ev = 0; ev < size(); ++ev)
      if (before_[ev] == EvState::kAssumedBad && (ports & up_ & 1U << set_->table()[ev].port) != 0)
        return true;
    return false;
  }

  void step() {
    before_.clear();
    for (EvIndex ev = 0; ev < size(); ++ev) before_.push_back(state(ev));
    const std::size_t active_before = set_->active();
    const auto restored_before = set_->counters().skip_restored;
    bool by_controller = false;
    const std::uint64_t what = rng_.below(16);
    if (what < 6) {
      choose({}, false);
    } else if (what < 8) {
      const EvIndex lost = any_ev();
      choose({.ev = lost, .port = set_->table()[lost].port}, true);
    } else if (what == 15) {
      by_controller = true;
      set_->set_state(any_ev(), rng_.chance(0.4) ? EvState::kDenied : EvState::kGood, now_);
    } else {
      feed(what);
    }
    if (::testing::Test::HasFatalFailure()) return;
    check_states(active_before, by_controller);
    ASSERT_LE(set_->counters().skip_restored - restored_before, 1U);
  }

  void feed(std::uint64_t what) {
    const EvIndex ev = any_ev();
    const auto mark = static_cast<EvMark>(rng_.below(4));
    switch (what) {
      case 8:
        set_->on_mark(ev, mark, now_);
        break;
      case 9:
        set_->on_trimmed(ev, now_);
        break;
      case 10: {
        const bool bad = set_->on_loss(ev, rng_.chance(0.5) ? EvCause::kLoss : EvCause::kAckTimeout, now_);
        ASSERT_EQ(bad, state(ev) == EvState::kAssumedBad);
        break;
      }
      case 11:
        set_->on_probe_answer(ev, mark, now_);
        break;
      case 12:
        set_->on_delivered(ev, now_ - microseconds(static_cast<std::int64_t>(rng_.below(20))));
        break;
      case 13:
        if (rng_.chance(0.3)) set_->on_spurious(ev, now_);
        if (const EvIndex probed = set_->next_probe(now_, kAll); probed != kNoEv) {
          ASSERT_EQ(state(probed), EvState::kAssumedBad);
        }
        break;
      default: {
        const auto port = static_cast<std::uint8_t>(rng_.below(set_->table().planes()));
        const bool up = rng_.chance(0.6);
        up_ = up ? up_ | 1U << port : up_ & ~(1U << port);
        set_->set_port_usable(port, up);
      }
    }
  }

  void choose(Avoid avoid, bool rtx) {
    const auto free = static_cast<std::uint32_t>(rng_.chance(0.5) ? kAll : rng_.next());
    const EvChoice c = rtx ? set_->choose_for_retransmission(now_, free, avoid) : set_->choose(now_, free);
    if (c.ev == kNoEv) {
      const bool waits = usable(free, rtx ? avoid.ev : kNoEv) == 0;
      const bool paced = !doubtful(free) || now_ < last_fallback_ + config_.base_rtt;
      ASSERT_TRUE(usable(kAll) == 0 ? paced : waits) << "an EV could have served";
      return;
    }
    ASSERT_EQ(c.port, set_->table()[c.ev].port);
    ASSERT_NE(free & up_ & 1U << c.port, 0U) << "port busy or down";
    ASSERT_NE(before_[c.ev], EvState::kDenied);
    if (c.fallback) {
      ASSERT_EQ(before_[c.ev], EvState::kAssumedBad);
      ASSERT_EQ(usable(kAll), 0U) << "fallback though an EV was usable";
      ASSERT_GE(now_, last_fallback_ + config_.base_rtt);
      last_fallback_ = now_;
      ASSERT_EQ(set_->counters().fallback_picks, ++fallbacks_) << "every fallback is counted";
      return;
    }
    ASSERT_EQ(state(c.ev), EvState::kGood) << "data on an EV that is not GOOD";
    if (rtx) {
      ASSERT_TRUE(c.ev != avoid.ev || usable(kAll, avoid.ev) == 0) << "on the EV it was lost on";
      const std::uint32_t lost_plane = 1U << avoid.port;
      ASSERT_TRUE(c.port != avoid.port || usable(free & ~lost_plane, avoid.ev) == 0)
          << "another plane was usable";
    }
  }

  void check_states(std::size_t active_before, bool by_controller) {
    std::size_t now_active = 0;
    for (EvIndex ev = 0; ev < size(); ++ev) {
      now_active += active(state(ev)) ? 1U : 0U;
      ASSERT_TRUE(before_[ev] != EvState::kDenied || state(ev) == EvState::kDenied || by_controller);
      const bool probe_owed = state(ev) == EvState::kAssumedBad && set_->port_usable(set_->table()[ev].port);
      ASSERT_TRUE(!probe_owed || !set_->next_probe_deadline().is_never())
          << "EV " << ev << " has no probe scheduled";
    }
    ASSERT_EQ(now_active, set_->active());
    ASSERT_TRUE(now_active >= active_before || by_controller || now_active >= config_.ev_min_active);
    std::vector<EvSet::Event> events(4);
    std::uint64_t dropped = 0;
    for (std::size_t n = set_->poll_events(events, dropped); n > 0; n = set_->poll_events(events, dropped))
      for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(state(events[i].ev), events[i].to);
    ASSERT_EQ(dropped, 0U);
  }

  Rng rng_;
  EvSetConfig config_;
  std::optional<EvSet> set_;
  std::vector<EvState> before_;
  Time now_ = Time{} + seconds(1);
  Time last_fallback_{};
  std::uint64_t fallbacks_ = 0;
  std::uint32_t up_ = kAll;
};

TEST(EvSetProperty, RandomHistories) {
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    History h(seed);
    h.run(400);
    if (!HasFatalFailure()) h.everything_returns();
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace mrc::path
