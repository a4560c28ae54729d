// SPDX-License-Identifier: BSD-3-Clause
#include "cc/nscc.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace mrc::cc {
namespace {

double to_ns(Duration d) {
  return static_cast<double>(d.ns);
}

}  // namespace

Nscc::Nscc(const NsccParams& params, Time start) : params_(params) {
  assert(params_.check());
  state_.cwnd = state_.wmax = static_cast<double>(params_.max_cwnd_bytes);
  state_.base = params_.base_rtt;
  state_.t_adj = state_.t_dec = state_.t_avg = start;
}

void Nscc::set_cwnd(double cwnd) {
  state_.cwnd = params_.choices.integer_arithmetic ? std::floor(cwnd) : cwnd;
}

void Nscc::clamp() {
  set_cwnd(std::max(std::min(state_.cwnd, state_.wmax), floor_bytes()));
}

// The base only falls. The ceiling follows it, in the proportion in which max_cwnd was configured (1.5 BDP in
// UET); cwnd itself stays until it next grows.
void Nscc::lower_base(Duration sample) {
  if (sample >= state_.base) return;
  state_.base = sample;
  double base_ns = to_ns(sample);
  if (params_.choices.integer_arithmetic) base_ns = std::floor(base_ns / 1000) * 1000;
  const double ceiling = static_cast<double>(params_.max_cwnd_bytes) * base_ns / to_ns(params_.base_rtt);
  state_.wmax = std::max(ceiling, floor_bytes());
  if (params_.choices.integer_arithmetic) state_.wmax = std::floor(state_.wmax);
}

void Nscc::add_to_average(double delay_ns, bool marked, Time now) {
  double weight = 1;
  switch (params_.choices.average) {
    case DelayAverage::kWindow:
      weight = std::min(1.0, to_ns(now - state_.t_avg) / to_ns(state_.base));
      break;
    case DelayAverage::kEwmaHtsim:
      weight = 0.0125;
      if (!marked && delay_ns > to_ns(params_.target_delay)) delay_ns = to_ns(state_.base) * 0.25;
      break;
    case DelayAverage::kEwmaQuarter:
      weight = 0.25;
      break;
    case DelayAverage::kLastSample:
      break;
  }
  state_.avg_ns += std::max(weight, 0.0) * (delay_ns - state_.avg_ns);
  state_.t_avg = now;
}

// Responder flow control (MRC 7.5.1). True while the responder limits us: its bytes do not increase the
// window.
bool Nscc::apply_penalty(const AckSignal& s, std::int64_t inflight) {
  const NsccChoices& c = params_.choices;
  if (s.rcv_cwnd_pen > 0) {
    if (c.penalty_saves_window && state_.saved == 0) state_.saved = state_.cwnd;
    double cwnd = state_.cwnd;
    if (c.penalty_caps_at_inflight) cwnd = std::min(cwnd, static_cast<double>(inflight));
    const std::int64_t cut = (std::int64_t{s.rcv_cwnd_pen} * s.newly_received_bytes) >> 7;
    set_cwnd(std::max(floor_bytes(), cwnd - static_cast<double>(cut)));
    return true;
  }
  if (state_.saved > 0) {
    if (s.restore_cwnd) set_cwnd(state_.saved);
    // Kept, it would suppress the next save.
    if (s.restore_cwnd || c.drop_saved_without_restore) state_.saved = 0;
  }
  return false;
}

void Nscc::on_ack(const AckSignal& s, std::int64_t inflight, Time now) {
  state_.ign_done += s.newly_received_bytes;
  state_.rcv += s.newly_received_bytes;
  state_.ach += s.newly_received_bytes;
  const bool limited = apply_penalty(s, inflight);
  double delay_ns = state_.avg_ns;
  if (s.rtt && *s.rtt >= params_.min_base_rtt) {  // D18
    lower_base(*s.rtt);
    delay_ns = to_ns(*s.rtt - state_.base);
    add_to_average(delay_ns, s.marked, now);
  } else if (!params_.choices.act_without_rtt) {
    return;
  }
  if (!quick_adapt(false, s.marked, delay_ns, inflight, now)) react(s, delay_ns, limited, inflight, now);
  if (params_.choices.clamp_every_ack) clamp();
}

// The four quadrants of Table 8-1. The sample chooses the quadrant, the average the depth of the cut.
void Nscc::react(const AckSignal& s, double delay_ns, bool limited, std::int64_t inflight, Time now) {
  const bool unused = params_.choices.grow_only_when_used &&
                      static_cast<double>(inflight + s.newly_received_bytes) < state_.cwnd / 2;
  const bool below = delay_ns < to_ns(params_.target_delay);
  if (s.marked) {
    if (!below) decrease(now);  // below target: left to the choice of paths
  } else if (!limited && !unused) {
    if (below)
      increase_proportional(s.newly_received_bytes, delay_ns);
    else
      state_.inc += params_.fi * static_cast<double>(s.newly_received_bytes);
  }
  if (params_.choices.clamp_every_ack) clamp();
  if (due(now - state_.t_adj, params_.adjust_period_threshold) || state_.rcv > params_.adjust_bytes_threshold)
    adjust(now);
}

void Nscc::increase_proportional(std::int64_t bytes, double delay_ns) {
  const auto received = static_cast<double>(bytes);
  if (delay_ns < to_ns(params_.choices.clean_tolerance)) {
    state_.clean += bytes;
    // A whole window without delay: the path is empty, grow without the detour over inc.
    if (state_.fast || static_cast<double>(state_.clean) > state_.cwnd) {
      state_.fast = true;
      set_cwnd(std::min(state_.cwnd + received * params_.fi_scale, state_.wmax));
      return;
    }
  } else {
    state_.clean = 0;
  }
  state_.fast = false;
  state_.inc += params_.alpha * received * (to_ns(params_.target_delay) - delay_ns);
}

void Nscc::decrease(Time now) {
  state_.fast = false;
  state_.clean = 0;
  const double target = to_ns(params_.target_delay);
  if (state_.avg_ns <= target || now - state_.t_dec <= state_.base) return;
  const double factor = 1 - params_.gamma * (state_.avg_ns - target) / state_.avg_ns;
  set_cwnd(std::max(state_.cwnd * std::max(factor, params_.max_md_jump), floor_bytes()));
  state_.t_dec = now;
}

void Nscc::adjust(Time now) {
  const double step = state_.inc / state_.cwnd;
  state_.cwnd += params_.choices.integer_arithmetic ? std::floor(step) : step;
  if (now - state_.t_adj >= params_.adjust_period_threshold) {
    state_.t_adj = now;
    state_.cwnd += params_.eta;
  }
  set_cwnd(std::max(std::min(state_.cwnd, state_.wmax), floor_bytes()));
  state_.inc = 0;
  state_.rcv = 0;
}

// Once a window of base RTT + target, after a trim, a loss or a huge delay: what arrived in the window is
// what the network carries, so that becomes cwnd; what was in flight then must drain before marks count
// again.
bool Nscc::quick_adapt(bool loss, bool marked, double delay_ns, std::int64_t inflight, Time now) {
  if (params_.disable_qa) return false;
  bool handled = false;
  if (state_.ign_done < state_.ign_goal && marked) {
    handled = true;
  } else if (params_.choices.strict_due ? now > state_.qa_end : now >= state_.qa_end) {
    const bool reason = state_.trig || loss || delay_ns > to_ns(params_.qa_threshold);
    const auto gate = static_cast<std::int64_t>(state_.wmax) >> params_.qa_gate;
    if (state_.qa_end != Time{} && reason && state_.ach < gate) {
      set_cwnd(std::max(static_cast<double>(state_.ach), floor_bytes()));
      state_.ign_goal = inflight;
      state_.ign_done = 0;
      state_.trig = false;
      handled = true;
    }
    state_.ach = 0;
    state_.qa_end = now + state_.base + params_.target_delay;
  }
  if (handled) {
    state_.inc = 0;
    state_.rcv = 0;
  }
  return handled;
}

void Nscc::on_nack(const NackSignal& s, std::int64_t inflight, Time now) {
  if (s.rtt && *s.rtt >= params_.min_base_rtt) lower_base(*s.rtt);
  const bool trimmed = s.reason == wire::NackReason::kTrimmed;
  const bool lasthop = s.reason == wire::NackReason::kTrimmedLasthop;
  if (!trimmed && !lasthop) return;  // the responder's shortages are no congestion of the network
  add_to_average(to_ns(params_.base_rtt), true, now);
  state_.ign_done += s.nominal_bytes;
  const bool cuts = trimmed || !params_.choices.lasthop_credited;
  if (!cuts && !params_.choices.lasthop_arms_quick) return;
  state_.trig = true;
  const std::int64_t seen = params_.choices.quick_sees_nacked ? inflight + s.charged_bytes : inflight;
  if (!quick_adapt(true, true, 0, seen, now) && cuts)
    set_cwnd(std::max(state_.cwnd - static_cast<double>(s.nominal_bytes), floor_bytes()));
}

void Nscc::on_loss(std::int64_t nominal_bytes, Time) {
  set_cwnd(std::max(state_.cwnd - static_cast<double>(nominal_bytes), floor_bytes()));
  if (params_.choices.loss_counts_as_drained) state_.ign_done += nominal_bytes;
}

}  // namespace mrc::cc
