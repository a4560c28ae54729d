// SPDX-License-Identifier: BSD-3-Clause
// Random histories of one EV set against the invariants of the EV machine (I9), judged from
// outside: states before and after each call. A failing seed prints itself.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "../property/replay.h"
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
    if (rng_.chance(0.2)) config_.probe_interval = {};  // D9's own intervals
    config_.probe_backoff_max = rng_.chance(0.5) ? microseconds(500) : Duration{};
    config_.plane_rule = rng_.chance(0.8);
    config_.report_skips = rng_.chance(0.5);
    if (rng_.chance(0.4)) config_.active_evs = static_cast<std::uint32_t>(1 + rng_.below(evs));
    config_.ev_min_active =
        std::min(config_.ev_min_active, config_.active_evs == 0 ? evs_u32(evs) : config_.active_evs);
    config_.rtt_reroute = rng_.chance(0.4);
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
    set_->set_peer_ports(kAll);
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
        ASSERT_TRUE(state(ev) == EvState::kAssumedBad || silent(ev));
        set_->on_delivered(ev, now_, now_);
        ASSERT_FALSE(silent(ev)) << "the first answer brings the plane back";
        set_->on_probe_answer(ev, EvMark::kNone, now_);
        if (state(ev) == EvState::kGood) bad.erase(ev);
      }
    }
    while (!set_->next_probe_deadline().is_never()) {  // silent planes without a condemned EV
      ASSERT_LE(set_->next_probe_deadline(), end);
      now_ = later(now_, set_->next_probe_deadline());
      if (const EvIndex ev = set_->next_probe(now_, kAll); ev != kNoEv) set_->on_delivered(ev, now_, now_);
    }
    EXPECT_TRUE(set_->next_probe_deadline().is_never());
  }

 private:
  static constexpr std::uint32_t kAll = ~0U;

  std::size_t size() const { return set_->table().size(); }
  EvState state(EvIndex ev) const { return set_->state(ev); }
  static std::uint32_t evs_u32(std::size_t n) { return static_cast<std::uint32_t>(n); }
  static bool active(EvState s) { return s == EvState::kGood || s == EvState::kSkip; }
  EvIndex any_ev() { return static_cast<EvIndex>(rng_.below(size())); }
  bool silent(EvIndex ev) const { return (set_->silent_planes() >> set_->table()[ev].port & 1U) != 0; }
  std::uint32_t reachable() const {
    const std::uint32_t all = (1U << set_->table().planes()) - 1U;
    return (up_ & peer_ & all) != 0 ? up_ & peer_ : up_;
  }
  std::uint32_t in_service() const { return reachable() & ~set_->silent_planes(); }
  std::size_t usable(std::uint32_t ports, EvIndex except = kNoEv) const {
    std::size_t n = 0;
    for (EvIndex ev = 0; ev < size(); ++ev)
      if (ev != except && listed_[ev] && (ports & in_service() & 1U << set_->table()[ev].port) != 0) ++n;
    return n;
  }
  /// An EV that may serve when none is usable: 1 GOOD on a silent plane, 2 condemned, 3 where the peer says
  /// no; 0: DENIED, or no link.
  int last_resort(EvIndex ev) const {
    const std::uint32_t bit = 1U << set_->table()[ev].port;
    if ((up_ & bit) == 0 || before_[ev] == EvState::kDenied) return 0;
    if ((reachable() & bit) == 0) return listed_[ev] || before_[ev] == EvState::kAssumedBad ? 3 : 0;
    if (listed_[ev]) return 1;
    return before_[ev] == EvState::kAssumedBad ? 2 : 0;
  }
  int best_resort(std::uint32_t ports) const {
    int best = 0;
    for (EvIndex ev = 0; ev < size(); ++ev) {
      const int rank = (ports >> set_->table()[ev].port & 1U) != 0 ? last_resort(ev) : 0;
      if (rank != 0 && (best == 0 || rank < best)) best = rank;
    }
    return best;
  }

  void step() {
    look();
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

  void look() {
    before_.clear();
    listed_.clear();
    for (EvIndex ev = 0; ev < size(); ++ev) {
      before_.push_back(state(ev));
      listed_.push_back(set_->listed(ev));
      ASSERT_TRUE(!listed_.back() || active(state(ev)));
    }
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
        for (int i = 0; i < 6; ++i)
          set_->on_rtt(any_ev(), microseconds(static_cast<std::int64_t>(rng_.chance(0.1) ? 50 : 10)), now_);
        break;
      case 10: {
        lose(ev);
        if (!rng_.chance(0.2)) break;
        for (EvIndex other = 0; other < size(); ++other) {  // its plane dies
          if (set_->table()[other].port != set_->table()[ev].port || rng_.chance(0.3)) continue;
          look();
          lose(other);
          if (::testing::Test::HasFatalFailure()) return;
        }
        break;
      }
      case 11:
        set_->on_probe_answer(ev, mark, now_);
        break;
      case 12:
        deliver(ev, now_ - microseconds(static_cast<std::int64_t>(rng_.below(20))));
        break;
      case 13:
        if (rng_.chance(0.3)) set_->on_spurious(ev, now_);
        if (const EvIndex probed = set_->next_probe(now_, kAll); probed != kNoEv) {
          ASSERT_TRUE(state(probed) == EvState::kAssumedBad || silent(probed));
          ASSERT_NE(state(probed), EvState::kDenied);
          if (rng_.chance(0.3)) {
            deliver(probed, now_);
            set_->on_probe_answer(probed, EvMark::kNone, now_);
          }
        }
        break;
      case 14:
        if (rng_.chance(0.5)) {
          peer_ = rng_.chance(0.5) ? kAll : static_cast<std::uint32_t>(rng_.next());
          const std::uint32_t before = in_service();
          const std::uint32_t lost = set_->set_peer_ports(peer_);
          ASSERT_EQ(lost & in_service(), 0U);
          ASSERT_TRUE(lost == 0 || (lost & before) == 0 || (reachable() & lost) == 0);
          break;
        }
        [[fallthrough]];
      default: {
        const auto port = static_cast<std::uint8_t>(rng_.below(set_->table().planes()));
        const bool up = rng_.chance(0.6);
        up_ = up ? up_ | 1U << port : up_ & ~(1U << port);
        set_->set_port_usable(port, up);
      }
    }
  }

  /// The rule of D9, kept apart: the newest three losses by silence of a plane, close together, nothing later
  /// known delivered, another plane in service.
  void lose(EvIndex ev) {
    const Time sent = now_ - microseconds(static_cast<std::int64_t>(rng_.below(30)));
    const std::uint8_t port = set_->table()[ev].port;
    const bool was_active = active(before_[ev]);
    const bool was_silent = silent(ev);
    const bool others = usable(~(1U << port)) != 0;  // before the verdict, which changes this plane only
    const LossVerdict v =
        set_->on_loss(ev, rng_.chance(0.5) ? EvCause::kLoss : EvCause::kAckTimeout, sent, now_);
    ASSERT_EQ(v.bad, state(ev) == EvState::kAssumedBad);
    if (v.plane_down_since.is_never()) {
      ASSERT_EQ(silent(ev), was_silent);
      return;
    }
    ASSERT_TRUE(config_.plane_rule && was_active && !was_silent && silent(ev));
    ASSERT_TRUE(others) << "the last usable plane never goes DOWN";
    ASSERT_LE(sent - v.plane_down_since, config_.base_rtt * 2);
    ASSERT_LT(proven_[port], v.plane_down_since) << "something later was delivered";
    first_lost_[port] = v.plane_down_since;
    ++downs_;
    ASSERT_EQ(set_->counters().planes_down, downs_);
  }

  void deliver(EvIndex ev, Time sent) {
    const std::uint8_t port = set_->table()[ev].port;
    const bool was_silent = silent(ev);
    const bool newest_of_ev = sent > set_->proof(ev);
    set_->on_delivered(ev, sent, now_);
    proven_[port] = later(proven_[port], sent);
    const bool back = newest_of_ev && sent > first_lost_[port];
    ASSERT_EQ(silent(ev), was_silent && !back);
  }

  void choose(Avoid avoid, bool rtx) {
    const auto free = static_cast<std::uint32_t>(rng_.chance(0.5) ? kAll : rng_.next());
    const EvChoice c = rtx ? set_->choose_for_retransmission(now_, free, avoid) : set_->choose(now_, free);
    if (c.ev == kNoEv) {
      const bool waits = usable(free, rtx ? avoid.ev : kNoEv) == 0;
      const bool paced = best_resort(free) == 0 || now_ < last_fallback_ + config_.base_rtt;
      ASSERT_TRUE(usable(kAll) == 0 ? paced : waits) << "an EV could have served";
      return;
    }
    ASSERT_EQ(c.port, set_->table()[c.ev].port);
    ASSERT_NE(free & up_ & 1U << c.port, 0U) << "port busy or down";
    ASSERT_NE(before_[c.ev], EvState::kDenied);
    if (c.fallback) {
      ASSERT_TRUE(rtx || last_resort(c.ev) == best_resort(free)) << "the order of last resorts";
      ASSERT_NE(last_resort(c.ev), 0);
      ASSERT_EQ(usable(kAll), 0U) << "fallback though an EV was usable";
      ASSERT_GE(now_, last_fallback_ + config_.base_rtt);
      last_fallback_ = now_;
      ASSERT_EQ(set_->counters().fallback_picks, ++fallbacks_) << "every fallback is counted";
      return;
    }
    ASSERT_EQ(state(c.ev), EvState::kGood) << "data on an EV that is not GOOD";
    ASSERT_NE(in_service() & 1U << c.port, 0U) << "data on a plane that is DOWN";
    if (rtx) {
      ASSERT_TRUE(c.ev != avoid.ev || usable(kAll, avoid.ev) == 0) << "on the EV it was lost on";
      const std::uint32_t lost_plane = 1U << avoid.port;
      ASSERT_TRUE(c.port != avoid.port || usable(free & ~lost_plane, avoid.ev) == 0)
          << "another plane was usable";
    }
  }

  void check_states(std::size_t active_before, bool by_controller) {
    std::size_t good_or_skip = 0;
    std::map<std::uint8_t, std::size_t> on_plane;
    for (EvIndex ev = 0; ev < size(); ++ev) {
      good_or_skip += active(state(ev)) ? 1U : 0U;
      on_plane[set_->table()[ev].port] += set_->listed(ev) ? 1U : 0U;
      ASSERT_TRUE(before_[ev] != EvState::kDenied || state(ev) == EvState::kDenied || by_controller);
      const bool probe_owed = state(ev) == EvState::kAssumedBad && set_->port_usable(set_->table()[ev].port);
      ASSERT_TRUE(!probe_owed || !set_->next_probe_deadline().is_never())
          << "EV " << ev << " has no probe scheduled";
    }
    const std::size_t now_active = set_->active();
    ASSERT_LE(now_active, good_or_skip);
    ASSERT_TRUE(config_.active_evs != 0 || now_active == good_or_skip);
    for (const auto& [port, n] : on_plane) {
      const std::size_t places = (config_.active_evs + on_plane.size() - 1) / on_plane.size();
      ASSERT_TRUE(config_.active_evs == 0 || n <= places) << "plane " << int{port};
    }
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
  std::vector<bool> listed_;
  Time now_ = Time{} + seconds(1);
  Time last_fallback_{};
  std::uint64_t fallbacks_ = 0;
  std::uint32_t up_ = kAll;
  std::uint32_t peer_ = kAll;
  Time proven_[kMaxPlanes]{};
  Time first_lost_[kMaxPlanes]{};
  std::uint64_t downs_ = 0;

 public:
  [[nodiscard]] std::uint64_t downs() const { return downs_; }
  [[nodiscard]] std::uint64_t ups() const { return set_->counters().planes_up; }
};

TEST(EvSetProperty, RandomHistories) {
  std::uint64_t downs = 0;
  std::uint64_t ups = 0;
  const testing::SeedRange seeds = testing::seeds_to_run(3000);
  for (std::uint64_t seed = seeds.first; seed <= seeds.last; ++seed) {
    SCOPED_TRACE("MRC_TEST_SEED=" + std::to_string(seed));
    testing::replay_by("path_test --gtest_filter=EvSetProperty.* with MRC_TEST_SEED=", seed);
    History h(seed);
    h.run(400);
    if (!HasFatalFailure()) h.everything_returns();
    if (HasFatalFailure()) return;
    downs += h.downs();
    ups += h.ups();
  }
  if (!seeds.whole()) return;
  EXPECT_GT(downs, 1000U) << "too few planes fell silent to say anything";
  EXPECT_GT(ups, 1000U);
}

}  // namespace
}  // namespace mrc::path
