// SPDX-License-Identifier: BSD-3-Clause
// DCQCN (Zhu et al., SIGCOMM 2015), rate control of single-path RoCE: the sender's reaction point. The
// receiver's part, one CNP an interval while marked packets arrive, is in rc_receiver.h. Sans-IO; periods
// that passed are caught up with when somebody asks.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "base/time.h"

namespace mrc::sim {

struct DcqcnParams {
  double line_rate_bps = 0;  ///< start and ceiling
  double min_rate_bps = 1e6;
  double g = 1.0 / 256;                      ///< gain of alpha
  double initial_alpha = 1;                  ///< what the first CNP finds
  Duration alpha_period = microseconds(55);  ///< alpha decays once per period without CNP
  Duration timer = microseconds(55);         ///< a rate increase step per period,
  std::uint64_t byte_counter = 10'000'000;   ///< and one per so many bytes sent
  std::uint32_t fast_steps = 5;              ///< F: steps of fast recovery
  double additive_bps = 40e6;                ///< R_AI
  double hyper_bps = 400e6;                  ///< R_HAI; the paper names no value, QCN's ratio of ten
  double min_decrease = 0.5;                 ///< smallest factor of one cut
  /// Every cut moves the target to the rate before it. Off: only the first of a row does, the next ones after
  /// a step of the timer, so that a burst of CNPs does not forget where the rate came from.
  bool clamp_target = true;
  Duration min_cut_spacing = nanoseconds(0);  ///< CNPs that come sooner after a cut raise alpha only
  Duration cnp_interval = microseconds(50);   ///< N, at the receiver: at most one CNP a QP

  /// The published values.
  static DcqcnParams paper(double line_rate_bps);
  /// What common NICs come with (ConnectX-4 and later, vendor's documentation of defaults).
  static DcqcnParams nic(double line_rate_bps);

  /// First parameter that makes no sense: name, value, limit, fix.
  [[nodiscard]] Result<void> check() const;
};

/// Current and target rate of one QP. One owner; times never fall.
class Dcqcn {
 public:
  Dcqcn(const DcqcnParams& params, Time start);

  void on_cnp(Time now);
  void on_sent(std::uint64_t bytes, Time now);
  /// The rate to send the next packet with.
  [[nodiscard]] double rate_bps(Time now) {
    catch_up(now);
    return current_bps_;
  }
  [[nodiscard]] double target_bps() const { return target_bps_; }
  [[nodiscard]] double alpha() const { return alpha_; }

 private:
  void catch_up(Time now);
  void increase();

  DcqcnParams params_;
  double current_bps_;
  double target_bps_;
  double alpha_;
  bool limited_ = false;  ///< below the line rate: steps count only then
  Time alpha_due_ = Time::never();
  Time timer_due_ = Time::never();
  Time last_cut_;
  bool cut_before_ = false;
  std::uint64_t bytes_ = 0;
  std::uint32_t timer_steps_ = 0;
  std::uint32_t byte_steps_ = 0;
};

}  // namespace mrc::sim
