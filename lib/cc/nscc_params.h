// SPDX-License-Identifier: BSD-3-Clause
// Parameters of NSCC (UET 3.6.13, MRC 8.4): derivation from the link, and one named choice for each point on
// which the public sources differ.
#pragma once

#include <cstdint>
#include <limits>

#include "base/result.h"
#include "base/time.h"

namespace mrc::cc {

/// How the queueing delay is averaged for the depth of a decrease. UET asks for "about the last base RTT".
enum class DelayAverage : std::uint8_t {
  kWindow,       ///< weight min(1, dt / base RTT): that window, whatever the ACK rate (default)
  kEwmaHtsim,    ///< 1/80 an ACK; an unmarked sample above target enters as base RTT / 4
  kEwmaQuarter,  ///< 1/4 an ACK
  kLastSample,   ///< no average; for exact test vectors
};

/// Where sources disagree. The defaults follow the UET text where it speaks; htsim() is the UEC simulator.
struct NsccChoices {
  DelayAverage average = DelayAverage::kWindow;
  bool act_without_rtt = false;    ///< an ACK without valid RTT goes on with the average; else it only counts
  bool strict_due = false;         ///< QA and the adjust period are due after (>) their time; else at it (>=)
  bool clamp_every_ack = false;    ///< [MTU, wmax] on every ACK; else only where cwnd grows
  bool quick_sees_nacked = false;  ///< QA at a NACK still counts the trimmed packet as in flight
  bool loss_counts_as_drained = true;      ///< a lost packet counts towards the bytes QA ignores
  bool penalty_caps_at_inflight = true;    ///< responder penalty starts from min(cwnd, inflight)
  bool penalty_saves_window = true;        ///< and remembers the window for restore_cwnd
  bool drop_saved_without_restore = true;  ///< penalty ends without restore: forget the saved window
  bool integer_arithmetic = false;         ///< cwnd and inc/cwnd rounded down, base RTT in whole microseconds
  bool lasthop_credited =
      false;  ///< receiver credits manage the last hop: its trims do not cut (never in MRC)
  bool lasthop_arms_quick = false;     ///< even then they arm QA
  bool quick_on_delay_always = false;  ///< qa_threshold is 4 x target with trimming too, not out of reach
  bool grow_only_when_used = false;    ///< no increase while less than half of cwnd is in flight
  Duration clean_tolerance = microseconds(1);  ///< a delay below this is "no delay" (fast increase)

  static NsccChoices uet() { return {}; }
  static NsccChoices htsim();
};

/// Everything the algorithm needs, in its final units; fi, fi_scale and eta are absolute, as in
/// mrc_ctl_cc_nscc_cfg, which lacks only alpha and the MTU.
struct NsccParams {
  static constexpr Duration kNever{std::numeric_limits<std::int64_t>::max()};

  std::uint32_t mtu_bytes = 0;  ///< largest nominal packet; the floor of cwnd
  Duration base_rtt;            ///< configured, unloaded
  Duration target_delay;
  double alpha = 0;     ///< proportional gain: B per B received and ns of delay below target, before / cwnd
  double fi = 0;        ///< fair gain, B
  double fi_scale = 0;  ///< fast increase, B per B received
  double eta = 0;       ///< B per adjust period
  double gamma = 0.8;
  double max_md_jump = 0.5;         ///< smallest factor of one decrease
  std::int64_t max_cwnd_bytes = 0;  ///< also the initial cwnd
  bool disable_qa = false;
  std::uint8_t qa_gate = 3;
  Duration qa_threshold = kNever;
  std::int64_t adjust_bytes_threshold = 0;
  Duration adjust_period_threshold;
  Duration min_base_rtt;  ///< RTT samples below are dropped (D18); 0: off
  NsccChoices choices;

  /// First parameter that makes no sense: name, value, limit, fix.
  [[nodiscard]] Result<void> check() const;
};

/// What the parameters follow from.
struct NsccLink {
  double rate_bps = 0;          ///< sum over the planes: there is one window over all of them
  Duration base_rtt;            ///< unloaded RTT of an MTU packet over the longest path
  std::uint32_t mtu_bytes = 0;  ///< largest nominal packet
  bool trimming = true;         ///< the fabric trims instead of dropping
  std::uint32_t mss_bytes = 0;  ///< 0: mtu_bytes; htsim's gains use the packet without its header
};

/// Defaults of UET Table 3-82, scaled by the link (6.6): a = BDP / 150000 B.
[[nodiscard]] Result<NsccParams> derive_nscc(const NsccLink& link, const NsccChoices& choices = {});

}  // namespace mrc::cc
