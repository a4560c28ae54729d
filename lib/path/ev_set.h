// SPDX-License-Identifier: BSD-3-Clause
// The EVs of one QP: states (Figure 5, section 5.5), the choice at send time (D10), verdicts at the floor
// (D9).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "base/result.h"
#include "base/rng.h"
#include "base/time.h"
#include "path/ev_table.h"
#include "path/policy.h"
#include "wire/types.h"

namespace mrc::path {

enum class EvState : std::uint8_t { kGood, kSkip, kAssumedBad, kDenied };

/// Why an EV changed state; also the cause in an EV event.
enum class EvCause : std::uint8_t {
  kMark,        ///< SACK m = 1 (or 2)
  kTrimmed,     ///< NACK TRIMMED
  kLoss,        ///< inferred loss without trim notice (D9)
  kAckTimeout,  ///< local ACK timeout
  kProbeOk,     ///< reliability probe answered with m = 0 or 1 (C13)
  kSpurious,    ///< the transmission given up arrived after all (D9)
  kRotation,    ///< the cursor met a SKIP and restored it (MRC 11.2.2)
  kController,  ///< MODIFY_EV_STATE, or a RESET of the QP
  kFallback,    ///< nothing usable was left
};

struct EvChoice {
  EvIndex ev = kNoEv;  ///< kNoEv: nothing usable on a free port
  std::uint8_t port = 0;
  bool fallback = false;  ///< an EV that is not GOOD had to serve; counted
};

/// What choose() should keep away from: the EV and plane of a lost transmission (2.4, D10).
struct Avoid {
  EvIndex ev = kNoEv;
  int port = -1;  ///< prefer another plane when one is usable; -1: none
};

/// What a loss without trim notice led to (D9).
struct LossVerdict {
  bool bad = false;  ///< the EV is ASSUMED_BAD now
  Time plane_down_since =
      Time::never();  ///< its plane went DOWN: the first of the losses that show it left then
};

/// Counters of one set. Monotone; the owner reads them.
struct EvSetCounters {
  std::uint64_t skip_marks = 0;
  std::uint64_t skip_restored = 0;
  std::uint64_t assumed_bad = 0;
  std::uint64_t recovered = 0;
  std::uint64_t floor_hits = 0;        ///< demotion refused by ev_min_active
  std::uint64_t fallback_picks = 0;    ///< choices of an EV that was not GOOD, or of a plane that is DOWN
  std::uint64_t planes_down = 0;       ///< planes given up because they fell silent (D9)
  std::uint64_t planes_up = 0;         ///< of these, back
  std::uint64_t replaced = 0;          ///< a backup took the place of an EV that left the active set
  std::uint64_t passed_over = 0;       ///< an EV rested because its RTT stood out (RTT rerouting)
  std::uint64_t reverse_replaced = 0;  ///< the reverse EV of a plane gave way to the next one (D19)
};

/// Who picks the EV. kMrc: the specification's selector with its states, all this class is about. The others
/// (policy.h) are what the field compares it with: one instance a plane, planes in rotation, no state but
/// DENIED, nothing is ever condemned.
enum class Selector : std::uint8_t { kMrc, kOblivious, kBitmap, kScore, kReps, kSingle };

/// Thresholds of the verdicts. Durations are nanoseconds of the caller's clock.
struct EvSetConfig {
  std::uint32_t ev_min_active = 1;       ///< demotion needs (GOOD + SKIP) - 1 >= this; <= table size
  Duration base_rtt = microseconds(10);  ///< paces the fallback and the recovery probes (D9)
  Duration
      probe_interval{};  ///< first wait after a probe; 0: D9's, an answer's time and then 2, 4, 8 base RTTs
  Duration probe_backoff_max =
      milliseconds(10);    ///< the wait doubles up to this; below the first: it is fixed
  bool plane_rule = true;  ///< D9. Planes go DOWN when they fall silent; false: EVs are judged one by one
  bool trimming = true;    ///< false: a first loss within 8 base RTTs is forgiven (D9)
  std::uint8_t max_return_successes = 8;  ///< ceiling of the probe answers a relapsing EV needs; >= 1
  std::uint32_t event_capacity = 256;     ///< events kept until polled; >= 1
  bool report_skips = false;              ///< also report transitions into and out of SKIP
  Selector selector = Selector::kMrc;
  std::uint32_t active_evs =
      0;  ///< EVs in rotation, the same number a plane (rounded up), the rest backups. 0: all
  bool rtt_reroute = false;  ///< rest an EV whose RTT stands out against its plane's others
  /// What D10 is compared with: every EV has the same share, drawn before anybody looks which port is free,
  /// so that a plane carries as much as it has EVs.
  bool share_by_ev = false;
  bool any_plane_backup = false;  ///< what D9 is compared with: a backup may come from any plane

  /// What does not fit a table of `ev_count` entries, in words for a person.
  [[nodiscard]] Result<void> check(std::size_t ev_count) const;
};

/// Per-QP EV state machine and selector. All memory is taken at construction. One owner thread, no clock.
/// Precondition: config.check(table->size()) passed. Indices out of range are own bugs and asserted.
///
/// Choice is O(1) amortised. A plane keeps its usable EVs (GOOD, SKIP) in one list split by a cursor into
/// "had its turn in this pass" and "still to come"; the next EV is drawn at random from the second part. That
/// is D10's list, reshuffled at each wrap, with the shuffle done one step a choice, so that no choice pays
/// for a whole pass, and an EV that falls or returns never forces a rebuild.
class EvSet {
 public:
  EvSet(std::shared_ptr<const EvTable> table, const EvSetConfig& config, std::uint64_t seed);
  /// Memory taken at construction beside the object itself and the table.
  [[nodiscard]] std::size_t heap_bytes() const;

  [[nodiscard]] const EvTable& table() const { return *table_; }
  [[nodiscard]] EvState state(EvIndex ev) const { return state_[ev]; }
  [[nodiscard]] std::size_t active() const { return active_; }  ///< GOOD + SKIP
  [[nodiscard]] const EvSetCounters& counters() const { return counters_; }

  /// The next EV for new data among planes whose bit is set in `free_ports` (D10). Equal shares per plane.
  EvChoice choose(Time now, std::uint32_t free_ports) {
    const std::uint32_t planes = usable_planes_ & free_ports;
    if (planes != 0) {
      if (config_.share_by_ev) return choose_by_share(planes, now);
      const std::uint8_t port = rotate(planes);
      if (!policies_.empty()) return {choose_by_policy(port, kNoEv, now), port, false};
      return {take(planes_[port], kNoEv, now), port, false};
    }
    return usable_planes_ != 0 ? EvChoice{} : choose_fallback(now, free_ports, kNoEv);
  }
  /// The EV for a retransmission (D10): never avoid.ev while there is a choice, rather not its plane, and
  /// among the rest the most recently proven one. kNoEv also while the only other EVs wait for
  /// their port.
  EvChoice choose_for_retransmission(Time now, std::uint32_t free_ports, Avoid avoid);
  /// The reverse EV of `port` for control traffic (C30, D19): newest proof of delivery, else always the same
  /// one; if that plane has none, another plane of `free_ports`; if no plane has, an ASSUMED_BAD one
  /// (fallback). Does not move the data cursor.
  [[nodiscard]] EvChoice choose_for_control(std::uint32_t free_ports, std::uint8_t port) const;
  /// The EV in rotation that follows `ev` on its plane, in table order; `ev` when there is no other.
  [[nodiscard]] EvIndex next_in_rotation(EvIndex ev) const;
  /// EV probes on the reverse EV of `port` were not answered (D19): what is proven up to `now` does not count
  /// for control packets any more, and the plane's next EV in rotation serves until there is newer proof. No
  /// verdict: states are left alone.
  void replace_reverse(std::uint8_t port, Time now);
  /// An answer that came late shows that a packet sent at `sent` did arrive: proofs from then on count again.
  void restore_reverse(std::uint8_t port, Time sent) {
    reverse_[port].void_until = earlier(reverse_[port].void_until, sent - nanoseconds(1));
  }
  /// When the newest packet known delivered on that plane left; Time{0}: none.
  [[nodiscard]] Time plane_proof(std::uint8_t port) const {
    return newest_[port] == kNoEv ? Time{} : proof_[newest_[port]];
  }
  /// When choose() gives kNoEv because only ASSUMED_BAD EVs are left, the time from which one may serve
  /// again (one packet per base RTT, D9). never(): waiting does not help, or something is usable.
  [[nodiscard]] Time next_fallback() const;

  // Feedback. Unknown EV (kNoEv) is ignored.
  void on_mark(EvIndex ev, wire::EvMark mark, Time now);  ///< m of a SACK
  /// A SACK without mark: good news that only the other selectors live on.
  void on_clean(EvIndex ev, Time now) {
    if (!policies_.empty()) tell_policy(ev, PathFeedback::kGood, now);
  }
  void on_trimmed(EvIndex ev, Time now);  ///< NACK TRIMMED
  /// An RTT sample of a first transmission (D18). Does nothing unless rtt_reroute is on.
  void on_rtt(EvIndex ev, Duration rtt, Time now) {
    if (!rtts_.empty() && ev != kNoEv) judge_rtt(ev, rtt, now);
  }
  /// Loss or timeout without trim notice of a packet that left at `sent`: -> ASSUMED_BAD, or SKIP at the
  /// floor. The third EV of a plane to fall silent within 2 base RTTs takes the plane with it (D9).
  LossVerdict on_loss(EvIndex ev, EvCause cause, Time sent, Time now);
  void on_spurious(EvIndex ev, Time now);                         ///< -> GOOD without probe (D9)
  void on_probe_answer(EvIndex ev, wire::EvMark mark, Time now);  ///< -> GOOD, unless m = 2
  /// A packet that left at `sent` is known delivered: newest proof. One that left after its plane fell silent
  /// brings the plane back (D9).
  void on_delivered(EvIndex ev, Time sent, Time now) {
    if (ev == kNoEv || sent <= proof_[ev]) return;
    proof_[ev] = sent;
    const std::uint8_t port = (*table_)[ev].port;
    EvIndex& newest = newest_[port];
    if (newest == kNoEv || sent > proof_[newest]) newest = ev;
    if ((silent_ >> port & 1U) != 0) [[unlikely]]
      proof_on_silent_plane(ev, sent, now);
  }
  [[nodiscard]] Time proof(EvIndex ev) const { return proof_[ev]; }  ///< Time{0}: none yet
  void set_state(EvIndex ev, EvState state, Time now);               ///< MODIFY_EV_STATE: GOOD or DENIED
  /// RESET: nothing is known of any path any more, nor of the peer. Local links and DENIED stay as they are:
  /// those are not of the connection. Verdicts that end so are events (kController); counters go on.
  void forget(Time now);
  /// In the rotation: in the active set and not resting.
  [[nodiscard]] bool listed(EvIndex ev) const { return place_[ev] == kInSet && is_active(state_[ev]); }
  /// Whether both directions answer trims: known when a QP learns its peer's capabilities (D9).
  void set_trimming(bool on) { config_.trimming = on; }
  /// What the owner has measured: the base RTT that paces everything, and how long an answer may take.
  void set_pace(Duration base_rtt, Duration answer) {
    probe_deadline_stale_ = probe_deadline_stale_ || base_rtt != config_.base_rtt;
    config_.base_rtt = base_rtt;
    answer_wait_ = answer;
  }

  // Planes (D9). A plane out of service keeps the states and places of its EVs; they do not count against
  // ev_min_active.
  /// The local port's link.
  void set_port_usable(std::uint8_t port, bool usable);
  /// Ports on which the peer can be reached, bit p for plane p (MRC 7.4.8). A report that leaves no plane
  /// whose link is up is not believed. Returns the planes that this took out of service.
  std::uint32_t set_peer_ports(std::uint32_t up_mask);
  /// In service: link up here and there, and not silent.
  [[nodiscard]] bool port_usable(std::uint8_t port) const { return (in_service_ >> port & 1U) != 0; }
  [[nodiscard]] std::uint32_t silent_planes() const { return silent_; }  ///< given up, probed one at a time

  /// Next EV on a free port whose probe is due at `now`, or kNoEv. Marks it as probed. An ASSUMED_BAD EV of a
  /// plane in service, or on a silent plane its EVs in turn, one probe at a time. The first probe is due with
  /// the verdict; later ones at growing intervals, at most one a base RTT in the set (D9).
  EvIndex next_probe(Time now, std::uint32_t free_ports);
  /// When the next probe is due on a port with a link; never() when nothing there is to be probed. May lie in
  /// the past while its port is busy.
  [[nodiscard]] Time next_probe_deadline() const {
    if (probe_deadline_stale_) find_probe_deadline();
    return probe_deadline_;
  }

  /// When an ASSUMED_BAD EV is to be probed next, spacing and busy ports apart (D9).
  [[nodiscard]] Time probe_due(EvIndex ev) const { return health_[ev].probe_due; }

  /// Transitions since the last call, oldest first, bounded; `dropped` counts those that did not fit (5.6).
  struct Event {
    Time at;
    EvIndex ev;
    EvState from, to;
    EvCause cause;
  };
  std::size_t poll_events(std::span<Event> out, std::uint64_t& dropped);

 private:
  /// One plane: list_[begin, begin + size) holds its usable EVs, the first `cursor` had their turn.
  struct Plane {
    std::uint16_t begin = 0;
    std::uint16_t size = 0;
    std::uint16_t cursor = 0;
    std::uint16_t good = 0;    ///< how many of them are GOOD
    std::uint16_t quota = 0;   ///< places in the active set
    std::uint16_t in_set = 0;  ///< of these, taken
  };
  /// What only verdicts and probes touch.
  struct Health {
    Time verdict;        ///< when it fell
    Time last_fallback;  ///< when it last served as a fallback
    Time probe_due;
    Time last_loss;
    Time returned;                      ///< when it last came back to GOOD
    std::uint16_t probes = 0;           ///< sent since the verdict
    std::uint8_t successes_needed = 1;  ///< for the next return
    std::uint8_t successes_left = 1;
  };
  /// place_: kInSet of the active set, and kResting when its RTT stood out. 0: a backup, or condemned.
  static constexpr std::uint8_t kInSet = 1;
  static constexpr std::uint8_t kResting = 2;
  struct EvRtt {
    std::int64_t srtt_ns = 0;
    Time back;  ///< while it rests: until when; after: since when it is back
    std::uint8_t samples = 0;
    std::uint8_t above = 0;  ///< samples in a row that stood out
    std::uint8_t rests = 0;
  };
  struct PlaneRtt {
    std::int64_t sum_ns = 0;  ///< of the smoothed RTTs of EVs with enough samples
    std::int32_t count = 0;
  };
  static constexpr std::size_t kVerdicts = 3;  ///< EVs that must fall silent before their plane does (D9)
  struct PlaneHealth {
    struct Silence {
      Time sent;  ///< when the packet left whose loss condemned `ev`
      EvIndex ev = kNoEv;
    };
    std::array<Silence, kVerdicts> silences{};  ///< the newest, by send time, oldest first
    Time first_lost;                            ///< while silent: what left later was not delivered
    Time probe_due;
    std::uint16_t probes = 0;
    EvIndex next_ev = 0;      ///< whose turn it is to be probed, or the next on this plane
    EvIndex next_proven = 0;  ///< the same among those that delivered something and are not condemned
  };

  /// A reverse EV that was replaced: what serves until a proof newer than `void_until` (D19).
  struct Reverse {
    Time void_until;
    EvIndex ev = kNoEv;
  };

  static constexpr bool is_active(EvState s) { return s == EvState::kGood || s == EvState::kSkip; }

  // Choice (ev_set.cc)
  std::uint8_t rotate(std::uint32_t planes) {
    const std::uint32_t later = planes & ~((2U << last_plane_) - 1U);
    last_plane_ = static_cast<std::uint8_t>(__builtin_ctz(later != 0 ? later : planes));
    return last_plane_;
  }
  /// Uniform in [0, bound) from half a random word: a choice needs few bits, and the generator is the
  /// longest part of it. The bias is below bound / 2^32.
  std::uint32_t draw(std::uint32_t bound) {
    std::uint64_t word = std::exchange(spare_, 0);
    if (word == 0) {
      const std::uint64_t fresh = rng_.next();
      spare_ = static_cast<std::uint32_t>(fresh >> 32);
      word = fresh & 0xFFFFFFFF;
    }
    return static_cast<std::uint32_t>(word * bound >> 32);
  }
  EvIndex visit(Plane& plane) {
    if (plane.cursor == plane.size) plane.cursor = 0;
    EvIndex* const at = &list_[plane.begin + plane.cursor];
    const auto left = static_cast<std::uint32_t>(plane.size - plane.cursor);
    EvIndex* const drawn = at + draw(left);
    const EvIndex ev = *drawn;
    *drawn = *at;
    *at = ev;
    ++plane.cursor;
    return ev;
  }
  EvIndex take(Plane& plane, EvIndex exclude, Time now) {
    const EvIndex ev = visit(plane);
    if (state_[ev] == EvState::kGood && ev != exclude) return ev;
    return take_slow(plane, ev, exclude, now);
  }
  void restore(EvIndex ev, Time now);
  EvIndex take_slow(Plane& plane, EvIndex first, EvIndex exclude, Time now);
  EvIndex newest_proof_on(std::size_t port, EvIndex exclude) const;
  EvIndex newest_proof(std::uint32_t planes, EvIndex exclude) const;
  EvIndex reverse_ev(std::uint32_t planes) const;
  EvChoice choose_among(std::uint32_t planes, EvIndex exclude, Time now);
  EvChoice choose_fallback(Time now, std::uint32_t free_ports, EvIndex exclude);
  EvChoice fallback_among(std::uint32_t planes, EvIndex exclude, Time now);
  EvIndex oldest_verdict(std::uint32_t planes, EvIndex exclude) const;
  std::size_t usable_on_up_planes() const;

  // Other selectors (ev_set_policy.cc)
  void make_policies(std::uint64_t seed);
  EvIndex choose_by_policy(std::uint8_t port, EvIndex avoid, Time now);
  void tell_policy(EvIndex ev, PathFeedback what, Time now);

  // States (ev_set_feedback.cc)
  void transition(EvIndex ev, EvState to, EvCause cause, Time now);
  bool demote(EvIndex ev, EvCause cause, Time now);
  void list_insert(EvIndex ev);
  void list_remove(EvIndex ev);
  // The active set (ev_set_active.cc)
  void fill_active_set();
  void leave_set(EvIndex ev, EvState from);
  void enter_set(EvIndex ev);
  void join(EvIndex ev);
  [[nodiscard]] bool has_place(std::uint8_t port) const;
  EvChoice choose_by_share(std::uint32_t planes, Time now);
  [[nodiscard]] EvIndex best_backup(std::uint8_t port) const;
  // RTT rerouting (ev_set_rtt.cc)
  void judge_rtt(EvIndex ev, Duration rtt, Time now);
  void rest(EvIndex ev, Time now);
  void end_rest(EvIndex ev, Time now);
  void forget_rtt(EvIndex ev);
  void end_rests(Time now);
  void condemn(EvIndex ev, Time now);
  void record(const Event& event);

  // Planes (ev_set_planes.cc)
  void refresh_usable();
  Time judge_plane(EvIndex ev, Time sent, Time now);
  void forget_silence(EvIndex ev);
  void proof_on_silent_plane(EvIndex ev, Time sent, Time now);
  [[nodiscard]] std::uint32_t populated() const;  ///< planes with a GOOD or SKIP EV, in service or not
  [[nodiscard]] std::uint32_t reachable() const;  ///< planes whose link is up here and, as believed, there

  // Probes (ev_set_probes.cc)
  [[nodiscard]] EvIndex probe_ev_of_silent(std::uint8_t port) const;
  [[nodiscard]] EvIndex next_of_silent(std::uint8_t port, bool proven) const;
  [[nodiscard]] Time spaced(Time due, std::uint16_t probes) const;
  [[nodiscard]] Duration probe_wait(std::uint16_t probes) const;
  void find_probe_deadline() const;

  // Hot
  std::uint32_t usable_planes_ = 0;  ///< up and with a usable EV
  std::uint8_t last_plane_ = kMaxPlanes - 1;
  std::vector<EvIndex> list_;
  std::vector<EvState> state_;
  std::vector<std::uint8_t> place_;
  Rng rng_;
  std::uint32_t spare_ = 0;  ///< the other half, 0: used up
  std::array<Plane, kMaxPlanes> planes_{};
  std::uint8_t drawn_plane_ = kMaxPlanes;  ///< with share_by_ev: waits for its port; kMaxPlanes: none
  std::vector<Policy> policies_;           ///< one a plane; empty: Selector::kMrc
  // Cold
  std::vector<EvIndex> ordinal_;   ///< of each EV its number on its plane; with policies_
  std::vector<EvIndex> by_plane_;  ///< EVs in order of plane, planes_[p].begin first; with policies_
  std::shared_ptr<const EvTable> table_;
  EvSetConfig config_;
  EvSetCounters counters_;
  std::uint32_t port_up_ = ~0U;
  std::uint32_t peer_up_ = ~0U;
  std::uint32_t silent_ = 0;
  std::uint32_t in_service_ = ~0U;
  std::array<PlaneHealth, kMaxPlanes> plane_health_{};
  Duration answer_wait_{};  ///< 0: two base RTTs
  mutable Time probe_deadline_ = Time::never();
  mutable bool probe_deadline_stale_ = true;
  std::size_t active_ = 0;
  std::vector<Time> proof_;
  std::array<EvIndex, kMaxPlanes> newest_{};  ///< of each plane the EV with the newest proof, in any state
  std::array<Reverse, kMaxPlanes> reverse_{};
  std::vector<Health> health_;
  std::vector<EvRtt> rtts_;  ///< empty: rtt_reroute is off
  std::array<PlaneRtt, kMaxPlanes> plane_rtts_{};
  Time next_rest_end_ = Time::never();
  std::vector<EvIndex> bad_;  ///< the ASSUMED_BAD ones, capacity reserved
  Time last_fallback_{};
  Time last_recovery_probe_{};
  std::vector<Event> events_;  ///< ring, event_capacity slots
  std::size_t event_head_ = 0;
  std::size_t event_count_ = 0;
  std::uint64_t events_dropped_ = 0;
};

}  // namespace mrc::path
