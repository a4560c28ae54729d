// SPDX-License-Identifier: BSD-3-Clause
#include "cc/nscc_params.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace mrc::cc {
namespace {

// UET Table 3-82: the gains were tuned for 100 Gb/s and 12 us and scale with the BDP from there.
constexpr double kReferenceBdpBytes = 150'000;
constexpr double kReferenceRttNs = 12'000;
constexpr double kWindowBdps = 1.5;

Error refuse(const std::string& name, double value, const std::string& limit, const std::string& fix) {
  return Error{"NSCC: " + name + " is " + std::to_string(value) + "; " + limit + ": " + fix};
}

bool positive(double v) {
  return std::isfinite(v) && v > 0;
}
bool non_negative(double v) {
  return std::isfinite(v) && v >= 0;
}

}  // namespace

NsccChoices NsccChoices::htsim() {
  NsccChoices c;
  c.average = DelayAverage::kEwmaHtsim;
  c.act_without_rtt = true;
  c.strict_due = true;
  c.clamp_every_ack = true;
  c.quick_sees_nacked = true;
  c.loss_counts_as_drained = false;
  c.penalty_caps_at_inflight = false;
  c.penalty_saves_window = false;
  c.integer_arithmetic = true;
  c.lasthop_arms_quick = true;
  c.quick_on_delay_always = true;
  return c;
}

Result<void> NsccParams::check() const {
  if (mtu_bytes == 0)
    return refuse("mtu", 0, "it must be above 0", "set the largest nominal packet in bytes");
  if (max_cwnd_bytes < mtu_bytes)
    return refuse("max_cwnd", static_cast<double>(max_cwnd_bytes),
                  "it must hold one packet of " + std::to_string(mtu_bytes) + " bytes", "raise it");
  const auto ns = [](Duration d) { return static_cast<double>(d.ns); };
  if (base_rtt.ns <= 0)
    return refuse("base_rtt", ns(base_rtt), "it must be above 0 ns", "set the unloaded RTT");
  if (target_delay.ns <= 0)
    return refuse("target_delay", ns(target_delay), "it must be above 0 ns", "use 0.75 of base_rtt");
  if (qa_threshold.ns <= 0)
    return refuse("qa_threshold", ns(qa_threshold), "it must be above 0 ns", "use 4 times target_delay");
  if (adjust_period_threshold.ns <= 0)
    return refuse("adjust_period_threshold", ns(adjust_period_threshold), "it must be above 0 ns",
                  "use base_rtt");
  if (adjust_bytes_threshold <= 0)
    return refuse("adjust_bytes_threshold", static_cast<double>(adjust_bytes_threshold), "it must be above 0",
                  "use 8 MTU");
  if (!positive(alpha)) return refuse("alpha", alpha, "it must be above 0", "derive it from the link");
  if (!non_negative(fi)) return refuse("fi", fi, "it must be 0 or more", "use 5 MTU x BDP / 150000");
  if (!non_negative(fi_scale))
    return refuse("fi_scale", fi_scale, "it must be 0 or more", "use 0.25 x BDP / 150000");
  if (!non_negative(eta)) return refuse("eta", eta, "it must be 0 or more", "use 0.15 MTU x BDP / 150000");
  if (!(gamma >= 0 && gamma <= 1)) return refuse("gamma", gamma, "it must lie in 0 to 1", "use 0.8");
  if (!(max_md_jump > 0 && max_md_jump <= 1))
    return refuse("max_md_jump", max_md_jump, "it must lie above 0 and up to 1", "use 0.5");
  if (qa_gate > 31) return refuse("qa_gate", qa_gate, "it is a shift of 0 to 31", "use 3");
  if (min_base_rtt.ns < 0 || min_base_rtt > base_rtt)
    return refuse("min_base_rtt", ns(min_base_rtt), "it must lie in 0 to base_rtt", "use 0 to switch it off");
  return {};
}

Result<NsccParams> derive_nscc(const NsccLink& link, const NsccChoices& choices) {
  if (!positive(link.rate_bps))
    return refuse("rate", link.rate_bps, "it must be above 0 bit/s", "set the sum of the planes' line rates");
  if (link.base_rtt.ns <= 0)
    return refuse("base_rtt", static_cast<double>(link.base_rtt.ns), "it must be above 0 ns",
                  "set the unloaded RTT");
  const double rtt_ns = static_cast<double>(link.base_rtt.ns);
  const double bdp = link.rate_bps / 8e9 * rtt_ns;
  const double a = bdp / kReferenceBdpBytes;
  const double mss = link.mss_bytes != 0 ? link.mss_bytes : link.mtu_bytes;

  NsccParams p;
  p.choices = choices;
  p.mtu_bytes = link.mtu_bytes;
  p.base_rtt = link.base_rtt;
  p.target_delay = {std::llround(rtt_ns * (link.trimming ? 0.75 : 1.0))};
  p.alpha = 4.0 * a * mss / kReferenceRttNs;  // scaling_b and target cancel
  p.fi = 5.0 * mss * a;
  p.fi_scale = 0.25 * a;
  p.eta = 0.15 * mss * a;
  // A window below one packet could never send.
  p.max_cwnd_bytes = std::max<std::int64_t>(std::llround(kWindowBdps * bdp), link.mtu_bytes);
  p.adjust_bytes_threshold = std::int64_t{8} * link.mtu_bytes;
  p.adjust_period_threshold = link.base_rtt;
  // With trimming the trims arm quick adapt and the delay threshold stays out of reach.
  if (!link.trimming || choices.quick_on_delay_always) p.qa_threshold = p.target_delay * 4;
  if (auto r = p.check(); !r) return r.error();
  return p;
}

}  // namespace mrc::cc
