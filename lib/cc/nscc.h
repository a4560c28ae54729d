// SPDX-License-Identifier: BSD-3-Clause
// NSCC, the network-signal congestion controller of UET that MRC 8.4 takes over: one window from ECN marks,
// queueing delay, trims and losses. Sans-IO: no clock, no allocation.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "cc/nscc_params.h"
#include "cc/signals.h"

namespace mrc::cc {

/// The whole state of one controller (UET Table 3-77), open for golden models and tests. Bytes are nominal;
/// reals, because increments per ACK are fractions of a byte.
struct NsccState {
  double cwnd = 0;
  double wmax = 0;
  double inc = 0;             ///< increase gathered since the last adjustment, B x B
  std::int64_t ach = 0;       ///< received in this quick-adapt window
  std::int64_t rcv = 0;       ///< received since the last adjustment
  std::int64_t clean = 0;     ///< received without delay in a row
  std::int64_t ign_goal = 0;  ///< after quick adapt: how much was in flight,
  std::int64_t ign_done = 0;  ///< and how much of it has drained
  double saved = 0;           ///< window before the responder's penalty; 0: none
  double avg_ns = 0;          ///< average queueing delay
  Duration base;              ///< smallest RTT seen
  Time qa_end;                ///< Time{0}: no window opened yet
  Time t_adj;                 ///< last adjustment by period
  Time t_dec;                 ///< last multiplicative decrease
  Time t_avg;                 ///< last sample in the average
  bool trig = false;          ///< a trim armed quick adapt
  bool fast = false;          ///< in fast increase
};

/// One controller. Signals come after Qpcc changed inflight by them; `inflight` is that new value. One owner
/// thread. Precondition: params.check() passed.
class Nscc {
 public:
  /// `start`: the present; no decrease happens in the first base RTT.
  Nscc(const NsccParams& params, Time start);

  [[nodiscard]] std::int64_t cwnd_bytes() const { return static_cast<std::int64_t>(state_.cwnd); }
  void on_ack(const AckSignal& s, std::int64_t inflight, Time now);
  void on_nack(const NackSignal& s, std::int64_t inflight, Time now);
  /// Inferred loss and ACK timeout alike: the packet leaves the window, nothing more.
  void on_loss(std::int64_t nominal_bytes, Time now);

  [[nodiscard]] const NsccParams& params() const { return params_; }
  [[nodiscard]] const NsccState& state() const { return state_; }
  void set_state(const NsccState& state) { state_ = state; }

 private:
  [[nodiscard]] double floor_bytes() const { return params_.mtu_bytes; }
  [[nodiscard]] bool due(Duration elapsed, Duration period) const {
    return params_.choices.strict_due ? elapsed > period : elapsed >= period;
  }
  void set_cwnd(double cwnd);
  void clamp();
  void lower_base(Duration sample);
  void add_to_average(double delay_ns, bool marked, Time now);
  bool apply_penalty(const AckSignal& s, std::int64_t inflight);
  bool quick_adapt(bool loss, bool marked, double delay_ns, std::int64_t inflight, Time now);
  void react(const AckSignal& s, double delay_ns, bool limited, std::int64_t inflight, Time now);
  void increase_proportional(std::int64_t bytes, double delay_ns);
  void decrease(Time now);
  void adjust(Time now);

  NsccParams params_;
  NsccState state_;
};

}  // namespace mrc::cc
