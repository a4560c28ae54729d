// SPDX-License-Identifier: BSD-3-Clause
// What must hold: the invariants that stop a run. They judge by models of their own (Outstanding, SackTruth).
#include <algorithm>
#include <utility>

#include "sim/simulation.h"

namespace mrc::sim {

namespace {

using path::EvCause;
using path::EvState;

constexpr unsigned kSilentEvs = 3;  // EVs that fall silent before their plane does (D9)

// The controller may deny what the floor would have kept.
std::size_t denied_evs(const path::EvSet& evs) {
  std::size_t n = 0;
  for (std::size_t ev = 0; ev < evs.table().size(); ++ev)
    n += evs.state(static_cast<path::EvIndex>(ev)) == EvState::kDenied ? 1 : 0;
  return n;
}

}  // namespace

void Simulation::violate(const std::string& what) {
  if (violation_.empty())
    violation_ = what + " (seed " + std::to_string(options_.seed) + ", " + std::to_string(now_.ns) + " ns)";
}

std::string Simulation::text_of(QpId id) const {
  return "QP " + std::to_string(id) + ": ";
}

// --- After every event
// ------------------------------------------------------------------------------------------------------

void Simulation::check(QpId id, Node& node) {
  const transport::Qp& qp = *node.qp;
  const auto window = static_cast<std::int32_t>(qp.attributes().mpr * kPsnsPerMprUnit);
  if (qp.max_psn_sent() - qp.unack_psn() > window) violate("more than MPR packets are outstanding (D2)");
  if (qp.placed_psn().after(qp.cack_psn())) violate("placed_psn is ahead of cack_psn (D4)");
  if (qp.ev_set().active() < qp.policy().ev.ev_min_active &&
      qp.ev_set().active() + denied_evs(qp.ev_set()) < qp.policy().ev.ev_min_active)
    violate("fewer EVs are active than ev_min_active (D9)");
  const Group& group = groups_[node.group];
  if (group.members.size() == 1 && qp.inflight_share_bytes() != group.qpcc->inflight_bytes())
    violate("inflight of the controller is not the share of its QP (D7)");
  if (node.checks.sent) check_sender(id, node);
  check_alive(id, node);
}

// I3, after any event: who owes a message has something to send or knows when to come back. Excepted are a
// host without ports, and a QP with nothing in flight whose window others fill: their news open it (D7).
void Simulation::check_alive(QpId id, const Node& node) {
  if (node.expected.empty() || hosts_[node.host].ports_up == 0) return;
  if (groups_[node.group].members.size() > 1 && node.qp->charged_bytes() == 0) return;
  const transport::Wake wake = node.qp->wake();
  if (!wake.tx_ready && !wake.control_ready && wake.deadline.is_never())
    violate(text_of(id) + "owes a message, has nothing to send and waits for no timer (I3)");
}

// What is charged is not known received, nor went with a plane that was given up (D7, D9). SKIPs and silent
// planes have their witness (I2).
void Simulation::check_sender(QpId id, Node& node) {
  const transport::Qp& qp = *node.qp;
  const path::EvSet& evs = qp.ev_set();
  Outstanding& sent = *node.checks.sent;
  const std::int64_t charged = qp.charged_bytes();
  if (charged < 0 || charged > sent.unknown_bytes())
    violate(text_of(id) + std::to_string(charged) + " bytes are charged, not known received are " +
            std::to_string(sent.unknown_bytes()) + " (D7)");
  const std::uint64_t marks = evs.counters().skip_marks;
  if (std::exchange(node.checks.skip_marks, marks) != marks && sent.marked() != now_)
    violate(text_of(id) + "an EV is skipped without a mark or a trim notice (I2)");
  const std::uint64_t down = evs.counters().planes_down;
  if (std::exchange(node.checks.planes_down, down) == down) return;
  const std::uint32_t silent = evs.silent_planes();
  sent.on_planes_out(silent != 0 ? silent : ~0U, now_);  // 0: it is back within the same event
  std::int64_t most = sent.unknown_bytes();
  for (std::uint8_t p = 0; p < fabric_->topology().planes; ++p) {
    if ((silent >> p & 1U) == 0) continue;
    // No answer can be back yet to what left so late: it left after the first that was lost.
    most -= sent.bytes_over(p, now_ - least_rtt_);
    if (sent.evs_with_losses(p) < kSilentEvs)
      violate(text_of(id) + "plane " + std::to_string(p) + " is given up, but fewer than three of its EVs " +
              "lost a packet (D9, I2)");
  }
  if (charged > most)
    violate(text_of(id) + std::to_string(charged) + " bytes are charged, at most " + std::to_string(most) +
            " can be under way beside a plane that is given up (D9)");
}

// --- What a sender sends
// ------------------------------------------------------------------------------------------------------

void Simulation::check_sent(QpId id, Node& node, const transport::TxDesc& d) {
  Checks& c = node.checks;
  const transport::Qp& qp = *node.qp;
  if (!c.sent) {
    const transport::QpAttr& attr = qp.attributes();
    const transport::RetryClock clock(attr.timeout, attr.linear_cnt, attr.exp_cnt);
    c.sent = std::make_unique<Outstanding>(
        attr.sq_psn, attr.mpr * kPsnsPerMprUnit, *node.evs,
        GiveUpRules{qp.policy().base_rtt, clock.enabled() ? clock.interval(0) : Duration{},
                    qp.policy().ev_flush, qp.policy().use_timestamps});
  }
  check_ev_of(id, node, d);
  if (d.rtx) check_again(id, node, d);
  c.sent->on_sent(d, now_);
}

// I9: what may carry data, as far as the sender knows, but for the counted fallback.
void Simulation::check_ev_of(QpId id, Node& node, const transport::TxDesc& d) {
  const path::EvSet& evs = node.qp->ev_set();
  const path::EvSetCounters& counters = evs.counters();
  const EvState state = evs.state(d.ev);
  const bool fell_back =
      std::exchange(node.checks.fallbacks, counters.fallback_picks) != counters.fallback_picks;
  if (state == EvState::kDenied) violate(text_of(id) + "data on a denied EV (D9)");
  const std::uint64_t restored = std::exchange(node.checks.skips_restored, counters.skip_restored);
  if (counters.skip_restored - restored > 1)
    violate(text_of(id) + "more than one SKIP was restored for one packet (D10)");
  if (fell_back) return;
  if (state == EvState::kAssumedBad) violate(text_of(id) + "data on an EV assumed bad (D10)");
  const Host& host = hosts_[node.host];
  std::uint32_t reachable = host.ports_up & host.peers[node.peer_index].ports.planes_up();
  if (reachable == 0) reachable = host.ports_up;  // a report that leaves no way is not believed
  if ((reachable >> d.port & 1U) == 0)
    violate(text_of(id) + "sends data to a port that its peer called down (D9, D19)");
  if ((evs.silent_planes() >> d.port & 1U) != 0)
    violate(text_of(id) + "sends data over a plane that fell silent (D9)");
}

// I2: there must be a reason. I9: and another EV, if another could carry it now.
void Simulation::check_again(QpId id, Node& node, const transport::TxDesc& d) {
  const transport::Qp& qp = *node.qp;
  const Outstanding& sent = *node.checks.sent;
  const std::uint64_t repeats =
      qp.counters().rtx_by_cause[static_cast<std::size_t>(transport::RtxCause::kTailRepeat)];
  if (std::exchange(node.checks.tail_repeats, repeats) != repeats) {  // D14 line 13
    if (sent.unknown_bytes() != 0)
      violate(text_of(id) + "repeats its last packet while others are missing (D14)");
    return;  // it was not lost on its EV: nothing was
  }
  if (const std::string objection = sent.objection(d.psn, now_); !objection.empty()) {
    violate(text_of(id) + "PSN " + std::to_string(d.psn.value()) + " " + objection);
  }
  if (qp.policy().ev.selector != path::Selector::kMrc || sent[d.psn].ev != d.ev) return;
  const path::EvSet& evs = qp.ev_set();
  if (evs.state(d.ev) != EvState::kGood) return;  // a fallback: it has no choice
  for (std::size_t i = 0; i < evs.table().size(); ++i) {
    const auto other = static_cast<path::EvIndex>(i);
    const std::uint8_t port = evs.table()[other].port;
    if (other == d.ev || evs.state(other) != EvState::kGood || !evs.listed(other)) continue;
    if (!evs.port_usable(port) || !fabric_->host_port_up(node.host, port)) continue;
    if (fabric_->port_free_at(node.host, port) > now_) continue;
    return violate(text_of(id) + "PSN " + std::to_string(d.psn.value()) +
                   " is sent again on the EV it was lost on, " + std::to_string(d.ev) + ", while " +
                   std::to_string(other) + " is usable (D10)");
  }
}

// --- What becomes of EVs
// ------------------------------------------------------------------------------------------------------

// I2: every demotion has its witness, of this very moment.
void Simulation::check_event(QpId id, const Node& node, const path::EvSet::Event& event) {
  const bool bad = event.to == EvState::kAssumedBad;
  if (!bad && event.to != EvState::kSkip) return;
  const bool by_loss = event.cause == EvCause::kLoss || event.cause == EvCause::kAckTimeout;
  const bool by_mark = event.cause == EvCause::kMark || (!bad && event.cause == EvCause::kTrimmed);
  const Outstanding* const sent = node.checks.sent.get();
  const Time witness = sent == nullptr ? Time{} : by_loss ? sent->lost_on(event.ev) : sent->marked();
  if ((!by_loss && !by_mark) || witness != event.at)
    violate(text_of(id) + "EV " + std::to_string(event.ev) + (bad ? " is assumed bad" : " is skipped") +
            " and nothing said so (D9, I2)");
  if (bad) check_probes(id, node);
}

// I9.
void Simulation::check_probes(QpId id, const Node& node) {
  const path::EvSet& evs = node.qp->ev_set();
  if (evs.counters().assumed_bad == 0) return;
  for (std::size_t i = 0; i < evs.table().size(); ++i) {
    const auto ev = static_cast<path::EvIndex>(i);
    if (evs.state(ev) == EvState::kAssumedBad && evs.probe_due(ev).is_never())
      violate(text_of(id) + "EV " + std::to_string(ev) + " is assumed bad and no probe is scheduled (D9)");
  }
}

// --- What a receiver says
// ------------------------------------------------------------------------------------------------------

SackTruth& Simulation::accepted_by(Node& node) {
  if (!node.checks.accepted)
    node.checks.accepted = std::make_unique<SackTruth>(node.qp->attributes().rq_psn,
                                                       node.qp->attributes().mpr_dest * kPsnsPerMprUnit,
                                                       node.qp->policy().first_rcvd_bytes);
  return *node.checks.accepted;
}

void Simulation::check_sack(QpId id, Node& node, const wire::SackView& sack) {
  if (const std::string objection = accepted_by(node).objection(sack); !objection.empty())
    violate(text_of(id) + "a SACK lies: " + objection + " (I6)");
}

// Each receive completes once (I5); a WriteIMM is delivered in order, once, and when it and all before it are
// in memory (D15).
void Simulation::check_delivered(QpId receiver, const transport::Completion& done) {
  if (qps_[receiver]->receives == 0) return violate("a receive completed that was not posted (I5)");
  --qps_[receiver]->receives;
  if (done.status != transport::WcStatus::kSuccess) return;
  Node& sender = *qps_[qps_[receiver]->peer];
  if (sender.immediates.empty() || sender.immediates.front() != done.immdt)
    return violate("immediate " + std::to_string(done.immdt) + " was delivered out of order or twice (D15)");
  sender.immediates.pop_front();
  for (const FlowId before : sender.expected) {
    if (flows_[before].placed_bytes != flows_[before].bytes)
      violate("immediate " + std::to_string(done.immdt) +
              " was delivered before its bytes were in memory (D15)");
    if (before == done.immdt) break;
  }
}

void Simulation::check_conservation() {
  if (!fabric_->conserves()) violate("the fabric does not conserve packets");
  const std::uint64_t sent = counters_.data_sent + counters_.control_sent;
  const fabric::FabricCounters& f = fabric_->counters();
  const std::uint64_t ended = counters_.delivered + counters_.corrupt_dropped + counters_.dropped;
  if (sent + f.duplicated != ended + counters_.refused + fabric_->in_flight())
    violate("packets sent are not received + dropped + in flight");
  for (const Group& group : groups_) {
    std::int64_t shares = 0;
    for (const QpId id : group.members) shares += qps_[id]->qp->inflight_share_bytes();
    if (shares != group.qpcc->inflight_bytes())
      violate("inflight of a controller is not the sum of its QPs' shares");
  }
}

std::string Simulation::check_at_rest(bool quiet) const {
  // Who has no port can only wait.
  const auto waits = [&](const Node& node) { return hosts_[node.host].ports_up == 0; };
  const auto stuck = std::count_if(flows_.begin(), flows_.end(), [&](const Flow& f) {
    return open_flows_ != 0 && f.completed.is_never() && !waits(*qps_[f.qp]);
  });
  if (stuck != 0) return std::to_string(stuck) + " flows never completed: the run is stuck (I3)";
  if (quiet && (tokens_.in_use() != 0 || fabric_->in_flight() != 0)) return "packets are left inside at rest";
  if (tokens_.data_in_use() != 0) return "data packets are left inside at rest";
  for (std::size_t id = 0; id < qps_.size(); ++id) {
    const transport::Qp& qp = *qps_[id]->qp;
    const std::int64_t share = qp.inflight_share_bytes();
    if (waits(*qps_[id])) continue;
    if (!qps_[id]->expected.empty() || !qps_[id]->waiting.empty())
      return "QP " + std::to_string(id) + " has requests that never completed (I5)";
    if (qps_[id]->receives != 0 &&
        (qp.state() == transport::QpState::kError ||
         (qps_[qps_[id]->peer]->immediates.empty() && !waits(*qps_[qps_[id]->peer]))))
      return "QP " + std::to_string(id) + " has receives that never completed (I5)";
    if (qp.charged_bytes() != 0) return "QP " + std::to_string(id) + " has charged packets at rest (D7)";
    // A lost last SACK leaves a rest that only the tail probe asks for (D14 line 10): a control without it
    // keeps that rest.
    const bool settled = share <= 0 || !qp.policy().tail_probe;
    if (!settled || share < -255)
      return "QP " + std::to_string(id) + " keeps " + std::to_string(share) +
             " bytes in flight at rest; the bound is -255..0 (D7)";
  }
  return {};
}

}  // namespace mrc::sim
