// SPDX-License-Identifier: BSD-3-Clause
// The names under which NSCC's state, parameters and choices stand in JSON lines: one table each, for reading
// and for writing.
#pragma once

#include "cc/nscc.h"

namespace mrc::simapp {

/// `f(name, member)` for each member. Names of the state are those of the published state tables; times and
/// durations are nanoseconds.
template <class State, class F>
void each_state_key(State& s, F&& f) {
  f("cwnd", s.cwnd);
  f("wmax", s.wmax);
  f("inc", s.inc);
  f("ach", s.ach);
  f("rcv", s.rcv);
  f("qa_end", s.qa_end);
  f("ign_goal", s.ign_goal);
  f("ign_done", s.ign_done);
  f("trig", s.trig);
  f("fast", s.fast);
  f("clean", s.clean);
  f("saved", s.saved);
  f("base", s.base);
  f("avg", s.avg_ns);
  f("t_adj", s.t_adj);
  f("t_dec", s.t_dec);
  f("t_avg", s.t_avg);
}

template <class Params, class F>
void each_param_key(Params& p, F&& f) {
  f("target_delay_ns", p.target_delay);
  f("alpha", p.alpha);
  f("fi", p.fi);
  f("fi_scale", p.fi_scale);
  f("eta", p.eta);
  f("gamma", p.gamma);
  f("max_md_jump", p.max_md_jump);
  f("max_cwnd_bytes", p.max_cwnd_bytes);
  f("disable_qa", p.disable_qa);
  f("qa_gate", p.qa_gate);
  f("qa_threshold_ns", p.qa_threshold);
  f("adjust_bytes_threshold", p.adjust_bytes_threshold);
  f("adjust_period_threshold_ns", p.adjust_period_threshold);
  f("min_base_rtt_ns", p.min_base_rtt);
}

template <class Choices, class F>
void each_choice_key(Choices& c, F&& f) {
  f("average", c.average);
  f("act_without_rtt", c.act_without_rtt);
  f("strict_due", c.strict_due);
  f("clamp_every_ack", c.clamp_every_ack);
  f("quick_sees_nacked", c.quick_sees_nacked);
  f("loss_counts_as_drained", c.loss_counts_as_drained);
  f("penalty_caps_at_inflight", c.penalty_caps_at_inflight);
  f("penalty_saves_window", c.penalty_saves_window);
  f("drop_saved_without_restore", c.drop_saved_without_restore);
  f("integer_arithmetic", c.integer_arithmetic);
  f("lasthop_credited", c.lasthop_credited);
  f("lasthop_arms_quick", c.lasthop_arms_quick);
  f("quick_on_delay_always", c.quick_on_delay_always);
  f("grow_only_when_used", c.grow_only_when_used);
  f("clean_tolerance_ns", c.clean_tolerance);
}

struct AverageName {
  const char* name;
  cc::DelayAverage value;
};
inline constexpr AverageName kAverages[] = {
    {"window", cc::DelayAverage::kWindow},
    {"ewma_htsim", cc::DelayAverage::kEwmaHtsim},
    {"ewma_quarter", cc::DelayAverage::kEwmaQuarter},
    {"last_sample", cc::DelayAverage::kLastSample},
};

struct ReasonName {
  const char* name;
  wire::NackReason value;
};
inline constexpr ReasonName kReasons[] = {
    {"TRIMMED", wire::NackReason::kTrimmed},        {"TRIMMED_LASTHOP", wire::NackReason::kTrimmedLasthop},
    {"NO_BITMAP", wire::NackReason::kNoBitmap},     {"NO_PKT_BUFFER", wire::NackReason::kNoPktBuffer},
    {"NO_RESOURCE", wire::NackReason::kNoResource}, {"PSN_OOR_WINDOW", wire::NackReason::kPsnOorWindow},
    {"UNEXP_EVENT", wire::NackReason::kUnexpEvent},
};

}  // namespace mrc::simapp
