// SPDX-License-Identifier: BSD-3-Clause
// EV Probes of a QP that receives more than it sends (MRC 6.5.2, 7.4.7; D19): they keep one reverse EV a
// plane alive, over which SACKs, NACKs and ACKs leave.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "transport/qp_context.h"
#include "transport/rtt_tracker.h"

namespace mrc::transport {

/// While Writes or Reliability Probes arrive, one probe a base RTT, on the reverse EV of one plane after the
/// other; planes on which our own data is known to arrive need none. Two on one plane without an answer: the
/// next EV of that plane serves. What a Reliability Probe asked for is followed up until an answer comes. The
/// host carries the requests to its peer's endpoint (dqp 2) and brings the responses back. Thread rule: as
/// Qp. Nothing happens unless QpPolicy::reverse_probes is set.
class ReverseProbes {
 public:
  explicit ReverseProbes(QpContext& context);

  void reset();
  /// A Write arrived, or what was left of one.
  void heard(Time now) {
    if (armed_ || ++heard_ < ctx_.policy.reverse_probe_writes) [[likely]]
      return;
    if (!ctx_.can_receive()) return;  // late, of before a RESET: it must not arm what no timer would fire
    asked_ = false;
    arm(now);
  }
  /// A Reliability Probe arrived. The peer asks because it lacks our answers, and may send few Writes or none
  /// until it has them: this one does not wait for more.
  void asked(Time now) {
    if (!ctx_.can_receive()) return;
    asked_ = true;
    follow_ups_left_ = kFollowUps;
    if (!armed_) arm(now);
  }
  [[nodiscard]] bool ready() const { return ready_; }
  [[nodiscard]] Time deadline() const { return earlier(due_, follow_up_at_); }
  void on_timer(Time now);
  /// At most one Endpoint Request; its id is of this QP, the host may put its own on the wire.
  std::size_t next(Time now, PortCredits& credits, std::span<ControlDesc> out);
  /// The answer to the probe with this id.
  void on_answer(std::uint16_t id, Time now);
  void on_poll_gap(Time now, Duration gap);

 private:
  static constexpr unsigned kUnanswered = 2;      // D19
  static constexpr unsigned kFollowUps = 7;       // D19: four EVs of a plane for one Reliability Probe
  static constexpr std::size_t kRemembered = 16;  // an answer may come late
  struct Probe {
    Time sent;
    path::EvIndex ev = path::kNoEv;
    std::uint16_t id = 0;
    bool open = false;
  };
  struct Plane {
    Time overdue_at = Time::never();  ///< of its newest probe; never(): none is waited for
    Time proof;                       ///< newest that a probe gave
    Time data;                        ///< newest that our own data gave
    std::uint8_t unanswered = 0;      ///< probes in a row
  };

  void arm(Time now);
  [[nodiscard]] Duration pace() const;
  void note_data(std::uint8_t port);
  [[nodiscard]] bool upheld_by_data(std::uint8_t port, Time now);
  void judge(std::uint8_t port, Time now);
  [[nodiscard]] std::uint32_t planes_to_probe(Time now);
  [[nodiscard]] std::uint8_t pick(std::uint32_t planes) const;

  QpContext& ctx_;
  bool armed_ = true;  ///< a probe is due some time, or never is
  bool ready_ = false;
  bool asked_ = false;  ///< by a Reliability Probe, and no eight Writes came since
  std::uint32_t heard_ = 0;
  unsigned follow_ups_left_ = 0;       ///< of what a Reliability Probe asked for
  Time follow_up_at_ = Time::never();  ///< the answer to it is overdue then
  Time due_ = Time::never();
  Time last_;  ///< the newest probe, or when none was needed
  std::uint8_t last_plane_ = 0;
  std::uint32_t silent_run_ = 0;  ///< probes without an answer since the last answer of any
  bool ever_answered_ = false;    ///< a peer need not answer EV Probes at all
  Time gap_end_;
  RttTracker rtt_;
  std::array<Plane, kMaxPlanes> planes_{};
  std::array<Probe, kRemembered> probes_{};
  std::uint16_t next_id_ = 0;
};

}  // namespace mrc::transport
