// SPDX-License-Identifier: BSD-3-Clause
#include "judge.h"

#include <numeric>

namespace mrc::fault {
namespace {

using transport::QpState;
using transport::WcStatus;

std::string qp_text(sim::QpId id) {
  return "QP " + std::to_string(id) + " ";
}

// I3, I5, I10.
std::string judge_flows(const Scenario& s, const sim::Simulation& sim) {
  std::uint64_t failed = 0;
  for (const sim::Flow& f : sim.flows()) {
    if (f.completed.is_never())
      return "flow " + std::to_string(f.id) + " never completed: the run is stuck (I3)";
    if (!f.failed && f.placed_bytes != f.bytes) return "flow " + std::to_string(f.id) + " lacks bytes (I5)";
    if (!f.failed && (f.id == s.hosts.denied_message || f.id == s.hosts.unplaced_message))
      return "flow " + std::to_string(f.id) + " succeeded, but its memory refused it (D17)";
    failed += f.failed ? 1 : 0;
  }
  if (allowed_error(s.kind) == WcStatus::kSuccess && failed != 0)
    return std::to_string(failed) + " flows failed although the network came back (I10)";
  return {};
}

// D17: successes, then the error or nothing but flushes, then flushes. A QP whose peer is gone may also give
// up.
std::string judge_order(const Scenario& s, const sim::Simulation& sim, sim::QpId id) {
  bool over = false;
  const bool peer_gone = sim.qp(sim.peer_of(id)).state() == QpState::kError;
  for (const sim::Flow& f : sim.flows()) {
    if (f.qp != id) continue;
    const bool allowed =
        f.status == allowed_error(s.kind) || (f.status == WcStatus::kRetryExcErr && peer_gone);
    if (f.status == WcStatus::kSuccess ? over : f.status != WcStatus::kWrFlushErr && (over || !allowed))
      return "flow " + std::to_string(f.id) + " of " + qp_text(id) + "ended with status " +
             std::to_string(static_cast<int>(f.status)) + (over ? ", behind one that failed" : "") + " (D17)";
    over = over || f.status != WcStatus::kSuccess;
  }
  if (over && sim.qp(id).state() != QpState::kError) return qp_text(id) + "failed and is not in ERROR (D17)";
  return {};
}

std::string judge_rest(const Scenario& s, const sim::Simulation& sim, sim::QpId id) {
  const transport::Qp& qp = sim.qp(id);
  const transport::QpCounters& c = qp.counters();
  const std::int64_t share = qp.inflight_share_bytes();
  if (qp.state() == QpState::kError && (share != 0 || qp.charged_bytes() != 0))
    return qp_text(id) + "has bytes in flight in ERROR (D7, D17)";
  if (qp.state() != QpState::kRts) return {};
  if (qp.charged_bytes() != 0 || !qp.send_idle()) return qp_text(id) + "has charged packets at rest (D7)";
  if (share > 0 || share < -255)
    return qp_text(id) + "keeps " + std::to_string(share) + " bytes in flight at rest (D7)";
  if (std::accumulate(c.rtx_by_cause.begin(), c.rtx_by_cause.end(), std::uint64_t{0}) < c.tx_rtx)
    return qp_text(id) + "retransmitted without a cause (I2)";
  if (s.kind == Kind::kBenign &&
      (c.tx_rtx != 0 || c.timer_expiries != 0 || qp.ev_set().counters().assumed_bad != 0))
    return qp_text(id) + "retransmitted, or blamed an EV, though nothing was lost (I2)";
  return {};
}

}  // namespace

std::string judge(const Scenario& s, const sim::Simulation& sim) {
  if (std::string wrong = judge_flows(s, sim); !wrong.empty()) return wrong;
  if (!sim.network().conserves()) return "the fabric does not conserve packets";
  for (sim::QpId id = 0; id < sim.qps(); ++id) {
    if (std::string wrong = judge_order(s, sim, id); !wrong.empty()) return wrong;
    if (std::string wrong = judge_rest(s, sim, id); !wrong.empty()) return wrong;
  }
  return {};
}

}  // namespace mrc::fault
