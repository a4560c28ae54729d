// SPDX-License-Identifier: BSD-3-Clause
#include "sim/dcqcn.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <string>

namespace mrc::sim {

DcqcnParams DcqcnParams::paper(double line_rate_bps) {
  DcqcnParams p;
  p.line_rate_bps = line_rate_bps;
  return p;
}

DcqcnParams DcqcnParams::nic(double line_rate_bps) {
  DcqcnParams p;
  p.line_rate_bps = line_rate_bps;
  p.g = 5.0 / 1024;  // dce_tcp_g 1019 is the weight of the past
  p.initial_alpha = 1023.0 / 1024;
  p.alpha_period = microseconds(1);
  p.timer = microseconds(300);
  p.byte_counter = 32767 * 64;
  p.fast_steps = 1;
  p.additive_bps = 5e6;
  p.hyper_bps = 50e6;
  p.clamp_target = false;
  p.min_cut_spacing = microseconds(4);
  p.cnp_interval = microseconds(4);
  return p;
}

Result<void> DcqcnParams::check() const {
  const auto refuse = [](const char* name, double value, const char* limit) {
    return Error{std::string("DCQCN: ") + name + " is " + std::to_string(value) + "; it must " + limit};
  };
  if (!(line_rate_bps > 0) || !std::isfinite(line_rate_bps))
    return refuse("line_rate_bps", line_rate_bps, "be above 0: give the host port's rate");
  if (!(min_rate_bps > 0 && min_rate_bps <= line_rate_bps))
    return refuse("min_rate_bps", min_rate_bps, "lie above 0 and up to the line rate: use 1e6");
  if (!(g > 0 && g <= 1)) return refuse("g", g, "lie above 0 and up to 1: use 1/256");
  if (!(initial_alpha >= 0 && initial_alpha <= 1))
    return refuse("initial_alpha", initial_alpha, "lie in 0 to 1: use 1");
  if (!(min_decrease > 0 && min_decrease <= 1))
    return refuse("min_decrease", min_decrease, "lie above 0 and up to 1: use 0.5");
  if (alpha_period.ns <= 0 || timer.ns <= 0)
    return refuse("alpha_period or timer", 0, "be above 0 ns: use 55000");
  if (byte_counter == 0) return refuse("byte_counter", 0, "be above 0: use 10000000");
  if (!(additive_bps >= 0 && hyper_bps >= 0))
    return refuse("additive_bps or hyper_bps", -1, "be 0 or more: use 40e6 and 400e6");
  if (cnp_interval.ns < 0 || min_cut_spacing.ns < 0)
    return refuse("cnp_interval or min_cut_spacing", -1, "be 0 ns or more");
  return {};
}

Dcqcn::Dcqcn(const DcqcnParams& params, Time start)
    : params_(params),
      current_bps_(params.line_rate_bps),
      target_bps_(params.line_rate_bps),
      alpha_(params.initial_alpha),
      last_cut_(start) {
  assert(params.check());
}

// A cut: the target remembers where we came from, the counters of the way back start anew.
void Dcqcn::on_cnp(Time now) {
  catch_up(now);
  alpha_due_ = now + params_.alpha_period;
  if (!cut_before_ || now - last_cut_ >= params_.min_cut_spacing) {
    if (params_.clamp_target || !limited_ || timer_steps_ > 0) target_bps_ = current_bps_;
    current_bps_ *= std::max(1 - alpha_ / 2, params_.min_decrease);
    current_bps_ = std::max(current_bps_, params_.min_rate_bps);
    last_cut_ = now;
    cut_before_ = true;
    limited_ = true;
    timer_due_ = now + params_.timer;
    bytes_ = 0;
    timer_steps_ = byte_steps_ = 0;
  }
  alpha_ = (1 - params_.g) * alpha_ + params_.g;
}

void Dcqcn::on_sent(std::uint64_t bytes, Time now) {
  catch_up(now);
  if (!limited_) return;
  for (bytes_ += bytes; limited_ && bytes_ >= params_.byte_counter; bytes_ -= params_.byte_counter) {
    ++byte_steps_;
    increase();
  }
}

void Dcqcn::catch_up(Time now) {
  if (alpha_due_ <= now) {
    const std::int64_t periods = (now - alpha_due_).ns / params_.alpha_period.ns + 1;
    alpha_ *= std::pow(1 - params_.g, static_cast<double>(periods));
    alpha_due_ = alpha_due_ + params_.alpha_period * periods;
  }
  while (limited_ && timer_due_ <= now) {
    timer_due_ = timer_due_ + params_.timer;
    ++timer_steps_;
    increase();
  }
}

// Halves the way back to the target for F steps; then the target itself climbs, slowly while only one of the
// two counters is past F, in growing strides when both are.
void Dcqcn::increase() {
  const std::uint32_t most = std::max(timer_steps_, byte_steps_);
  const std::uint32_t least = std::min(timer_steps_, byte_steps_);
  if (least > params_.fast_steps)
    target_bps_ += params_.hyper_bps * (least - params_.fast_steps);
  else if (most >= params_.fast_steps)
    target_bps_ += params_.additive_bps;
  target_bps_ = std::min(target_bps_, params_.line_rate_bps);
  current_bps_ = (current_bps_ + target_bps_) / 2;
  if (current_bps_ < params_.line_rate_bps * 0.9999) return;
  current_bps_ = target_bps_ = params_.line_rate_bps;
  limited_ = false;
}

}  // namespace mrc::sim
