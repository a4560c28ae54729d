// SPDX-License-Identifier: BSD-3-Clause
// The loop of virtual time: arrivals, starts, timers, then every host that something happened to sends.
#include "sim/simulation.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

#include "base/rng.h"
#include "sim/timer_targets.h"
#include "wire/sizes.h"

namespace mrc::sim {

namespace {

constexpr std::size_t kOutcomeBatch = 64;
constexpr std::uint32_t kFirstQpn = 16;

// The way of a QP into service with the attributes each step requires (2.6).
constexpr std::array<std::pair<transport::QpState, std::uint32_t>, 3> kToRts{{
    {transport::QpState::kInit,
     transport::kAttrHint | transport::kAttrEvProfileId | transport::kAttrCcProfileId},
    {transport::QpState::kRtr, transport::kAttrAv | transport::kAttrPathMtu | transport::kAttrDestQpn |
                                   transport::kAttrRqPsn | transport::kAttrMaxWimmDest |
                                   transport::kAttrMprDest | transport::kAttrCap},
    {transport::QpState::kRts, transport::kAttrSqPsn | transport::kAttrMaxWimm | transport::kAttrMpr |
                                   transport::kAttrRetryCnt | transport::kAttrTimeout},
}};

}  // namespace

Simulation::Simulation(std::unique_ptr<fabric::Fabric> fabric, const SimOptions& options)
    : fabric_(std::move(fabric)),
      options_(options),
      hosts_(fabric_->topology().hosts),
      depths_(fabric_->topology(), options.sample_interval),
      series_(fabric_->topology().planes, options.series_step) {
  for (const fabric::LinkSpec& link : fabric_->topology().links) {
    least_rtt_ = std::min(least_rtt_, link.port.delay * 4);  // a switch there, the same back
  }
  for (Host& host : hosts_) host.ports_up = (1U << fabric_->topology().planes) - 1;
}

Simulation::~Simulation() = default;

void Simulation::on_tick(std::uint64_t turns, std::function<bool(Time)> callback) {
  tick_turns_ = turns;
  tick_ = std::move(callback);
}

void Simulation::on_look(Time first, std::function<Time(Time)> callback) {
  next_look_ = first;
  look_ = std::move(callback);
}

RunEnd Simulation::run(Time until) {
  std::array<fabric::Outcome, kOutcomeBatch> outcomes;
  for (;;) {
    const Time next = earlier(fabric_->next_event(), timers_.next());
    const bool done = dirty_.empty() && (next.is_never() || next > until);
    if (done && options_.check_invariants) check_conservation();
    if (done || !violation_.empty()) return {now_, next.is_never() && violation_.empty(), violation_};
    if (dirty_.empty()) {
      if (depths_.next() <= next)
        in(Stage::kMeasuring, [&] { depths_.sample(*fabric_, next, open_flows_ != 0); });
      if (next_look_ <= next) in(Stage::kMeasuring, [&] { look(next); });
      now_ = later(now_, next);
    }
    // Arrivals first: a timer expires only after what arrived before it was looked at (D13).
    for (std::size_t n = outcomes.size(); n == outcomes.size();) {
      n = in(Stage::kFabric, [&] { return fabric_->advance(now_, outcomes); });
      for (std::size_t i = 0; i < n; ++i) deliver(outcomes[i]);
    }
    if (fabric_->host_port_changes() != port_changes_seen_) watch_ports();
    while (timers_.next() <= now_) on_time(timers_.pop().target);
    pumping_.swap(dirty_);
    for (const HostId host : pumping_) {
      hosts_[host].dirty = false;
      pump(host);
    }
    pumping_.clear();
    if (tick_turns_ != 0 && ++turns_ % tick_turns_ == 0) {
      if (options_.check_invariants) in(Stage::kChecks, [&] { check_conservation(); });
      if (!tick_(now_)) return {now_, false, violation_};
    }
  }
}

void Simulation::on_time(std::uint32_t target) {
  if ((target & kHostTarget) != 0) {
    hosts_[target & ~kHostTarget].armed = Time::never();
    mark_dirty(target & ~kHostTarget);
  } else if ((target & kFlowTarget) != 0) {
    start_flow(target & ~kFlowTarget);
  } else if ((target & kPlacementTarget) != 0) {
    placement_done(target & ~kPlacementTarget);
  } else {
    Node& node = *qps_[target];
    if (node.armed > now_) return;  // an older entry; a newer one stands
    node.armed = Time::never();
    if (node.qp->wake().deadline <= now_) {
      if (node.checks.sent) in(Stage::kChecks, [&] { node.checks.sent->on_timer(now_); });
      in(Stage::kTransport, [&] { node.qp->on_timer(now_); });
    }
    after_events(target);
  }
}

Result<QpId> Simulation::connect(HostId a, const QpSetup& at_a, HostId b, const QpSetup& at_b) {
  const auto first = static_cast<QpId>(qps_.size());
  const std::array<std::pair<HostId, const QpSetup*>, 2> ends{{{a, &at_a}, {b, &at_b}}};
  for (std::uint32_t i = 0; i < 2; ++i) {
    const auto& [host, setup] = ends[i];
    if (host >= hosts_.size())
      return Error{"host " + std::to_string(host) + " does not exist: the fabric has " +
                   std::to_string(hosts_.size()) + " hosts, from 0"};
    auto node = std::make_unique<Node>();
    node->host = host;
    node->peer = first + 1 - i;
    node->evs = setup->evs;
    node->qpcc = setup->qpcc;
    node->sent_by_ev.assign(setup->evs->size(), 0);
    node->fault_losses.assign(setup->evs->size(), 0);
    node->hit.assign(setup->evs->size(), 0);
    node->flow_hash = static_cast<std::uint32_t>(mix64(options_.seed ^ (std::uint64_t{first + i} << 20)));
    node->qp =
        std::make_unique<transport::Qp>(kFirstQpn + first + i, setup->limits, setup->policy, setup->evs,
                                        *setup->qpcc, mix64(options_.seed * 31 + first + i));
    transport::QpAttr attr = setup->attr;
    attr.dest_qpn = kFirstQpn + first + 1 - i;
    for (const auto& [state, mask] : kToRts)
      if (auto ok = node->qp->modify(state, attr, mask, now_); !ok) return ok.error();
    const auto [at, is_new] = group_of_.try_emplace(setup->qpcc, static_cast<std::uint32_t>(groups_.size()));
    if (is_new) groups_.push_back({setup->qpcc, {}});
    groups_[at->second].members.push_back(first + i);
    node->group = at->second;
    hosts_[host].qps.push_back(first + i);
    qps_.push_back(std::move(node));
  }
  add_peer(a, first);
  add_peer(b, first + 1);
  return first;
}

// --- Arrivals
// -----------------------------------------------------------------------------------------------

void Simulation::deliver(const fabric::Outcome& outcome) {
  const auto id = static_cast<TokenId>(outcome.packet.handle);
  const Token& token = tokens_[id];  // nothing below sends, so the pool stays where it is
  const QpId to = token.to_qp;
  if (outcome_) outcome_(outcome, token);
  if (!outcome.delivered()) {
    ++counters_.dropped;
    if (trace_) trace(TraceEvent::What::kDropped, outcome.packet, token, outcome.reason);
    note_drop(outcome, token);
    if (!outcome.shared) tokens_.release(id);
    return;
  }
  Node& node = *qps_[to];
  wire::RxMeta meta;
  meta.arrival = now_;
  meta.port = outcome.packet.plane;
  meta.ce = outcome.packet.ce;
  meta.entropy = fabric::entropy_of(outcome.packet, node.evs->order() == path::EvOrder::kA);
  if (outcome.packet.dscp == wire::DscpClass::kTrimmed) meta.trim = wire::Trim::kTrimmed;
  if (outcome.packet.dscp == wire::DscpClass::kTrimmedLasthop) meta.trim = wire::Trim::kTrimmedLasthop;
  if (outcome.packet.corrupted && meta.trim == wire::Trim::kNone) {
    ++counters_.corrupt_dropped;
    if (trace_) trace(TraceEvent::What::kDropped, outcome.packet, token);
    note_drop(outcome, token);
    if (!outcome.shared) tokens_.release(id);
    return;
  }
  ++counters_.delivered;
  if (trace_) trace(TraceEvent::What::kDelivered, outcome.packet, token);
  if (token.is_data) {
    deliver_data(to, token, meta);
  } else if (meta.trim != wire::Trim::kNone) {
    ++counters_.trimmed_opcode;  // 1.14. A probe that was trimmed has overtaken the data it was to follow
  } else if (token.control.opcode == wire::Opcode::kEndpointRequest ||
             token.control.opcode == wire::Opcode::kEndpointResponse) {
    deliver_endpoint(to, token.control, meta);
  } else {
    deliver_control(node, token, meta);
  }
  if (!outcome.shared) tokens_.release(id);
  after_events(to);
}

void Simulation::deliver_data(QpId id, const Token& token, const wire::RxMeta& meta) {
  Node& node = *qps_[id];
  const transport::TxDesc& d = token.data;
  const wire::BthView bth{d.opcode, d.se, d.a, d.rtx, d.ts, d.psn};
  if (meta.trim != wire::Trim::kNone) {
    node.qp->on_trimmed({bth, d.ts ? d.tx_timestamp : Tick{}}, meta);
    return;
  }
  wire::WriteView w;
  w.bth = bth;
  w.rqmsn = d.rqmsn;
  w.msn = d.msn;
  w.tx_timestamp = d.ts ? d.tx_timestamp : Tick{};
  w.va = d.va;
  w.rkey = d.rkey;
  w.dmalen = d.dmalen;
  w.immdt = d.immdt;
  w.payload_bytes = d.payload_bytes;
  w.pad_bytes = (4U - (d.payload_bytes & 3U)) & 3U;
  w.nominal_bytes = wire::write_nominal_bytes(d.opcode, d.ts, d.payload_bytes);
  const Intake intake = intake_ ? intake_(id, d) : Intake{};
  const transport::WriteVerdict verdict =
      in(Stage::kTransport, [&] { return node.qp->on_write(w, meta, intake.access); });
  if (verdict != transport::WriteVerdict::kPlace) return;
  if (options_.check_invariants)
    in(Stage::kChecks, [&] { accepted_by(node).accept(d.psn, w.nominal_bytes); });
  if (intake.fails || intake.to_memory.ns > 0)
    place_later({id, intake.fails, d, meta, token.payload_word}, intake.to_memory);
  else
    place(id, d, meta, token.payload_word);
}

void Simulation::place_later(const Placement& placement, Duration wait) {
  if (free_placements_.empty()) {
    free_placements_.push_back(static_cast<std::uint32_t>(placements_.size()));
    placements_.emplace_back();
  }
  const std::uint32_t index = free_placements_.back();
  free_placements_.pop_back();
  placements_[index] = placement;
  timers_.push(now_ + wait, kPlacementTarget | index);
}

void Simulation::placement_done(std::uint32_t index) {
  const Placement p = placements_[index];
  free_placements_.push_back(index);
  if (p.fails)
    qps_[p.to]->qp->place_failed(p.desc.psn, wire::Syndrome::kRemoteOperational);
  else
    place(p.to, p.desc, p.meta, p.payload_word);
  after_events(p.to);
}

// The payload is a function of its source address; it must arrive where that address maps to, and once.
void Simulation::place(QpId id, const transport::TxDesc& d, const wire::RxMeta& meta,
                       std::uint64_t payload_word) {
  const InStage payload(profile_, Stage::kPayload);
  Node& node = *qps_[id];
  const std::uint64_t source = d.va ^ kTargetBit;
  const auto flow_id = static_cast<FlowId>((source >> kFlowShift) - 1);
  if (flow_id >= flows_.size() || payload_word != mix64(source)) {
    violate("payload arrived at an address it does not belong to");
    return;
  }
  Flow& flow = flows_[flow_id];
  const std::uint64_t packet = (source - flow.source) / node.qp->attributes().path_mtu;
  std::uint64_t& word = flow.placed[packet / 64];
  if ((word >> (packet % 64) & 1U) != 0) violate("a packet was placed twice");
  word |= std::uint64_t{1} << (packet % 64);
  flow.placed_bytes += d.payload_bytes;
  placed_bytes_ += d.payload_bytes;
  series_.add(now_, meta.port, d.payload_bytes);
  faults_.received(now_, std::uint64_t{id} << 32 | d.psn.value());
  in(Stage::kTransport, [&] { node.qp->placed(d.psn); });
  if (placed_) placed_(d, now_);
  if (flow.placed_bytes != flow.bytes) return;
  flow.received = now_;
  if (flow_received_) flow_received_(flows_[flow_id]);
}

void Simulation::deliver_control(Node& node, const Token& token, const wire::RxMeta& meta) {
  const transport::ControlDesc& d = token.control;
  if (Outstanding* const sent = node.checks.sent.get()) {
    const InStage checks(profile_, Stage::kChecks);
    if (d.opcode == wire::Opcode::kSack) sent->on_sack(d.sack, token.sent, now_);
    if (d.opcode == wire::Opcode::kNack) sent->on_nack(d.nack, now_);
    if (d.opcode == wire::Opcode::kAck) sent->on_ack(d.ack);
  }
  const InStage transport(profile_, Stage::kTransport);
  switch (d.opcode) {
    case wire::Opcode::kSack:
      node.qp->on_sack(d.sack, meta);
      break;
    case wire::Opcode::kNack:
      node.qp->on_nack(d.nack, meta);
      break;
    case wire::Opcode::kAck:
      node.qp->on_ack(d.ack, meta);
      break;
    case wire::Opcode::kProbe:
      node.qp->on_probe(d.probe, meta);
      break;
    default:
      assert(false);
  }
}

void Simulation::forge_sack(QpId to, const wire::SackView& sack, const wire::RxMeta& meta) {
  if (qps_[to]->checks.sent) qps_[to]->checks.sent->on_sack(sack, now_, now_);
  qps_[to]->qp->on_sack(sack, meta);
}

// --- Flows
// --------------------------------------------------------------------------------------------------

FlowId Simulation::send(QpId qp, std::uint64_t bytes, Time at, bool with_immediate) {
  assert(bytes <= kMaxMessageBytes);
  Flow flow = new_flow(static_cast<FlowId>(flows_.size()), qp, bytes, later(at, now_));
  flow.with_immediate = with_immediate;
  const std::uint64_t packets = bytes / qps_[qp]->qp->attributes().path_mtu + 1;
  flow.placed.assign((packets + 63) / 64, 0);
  flows_.push_back(std::move(flow));
  ++open_flows_;
  // Started from the heap even when it is now: a flow may be sent out of a callback.
  timers_.push(flows_.back().start, kFlowTarget | flows_.back().id);
  return flows_.back().id;
}

void Simulation::start_flow(FlowId id) {
  const QpId qp = flows_[id].qp;
  qps_[qp]->waiting.push_back(id);
  if (flows_[id].with_immediate) {
    qps_[qps_[qp]->peer]->unposted.push_back(id);
    if (post_receives(qps_[qp]->peer)) after_events(qps_[qp]->peer);
  }
  post_waiting(qp);
  after_events(qp);
}

// Receives wait for room as requests do. Returns whether they have completed already: in ERROR they are
// flushed.
bool Simulation::post_receives(QpId id) {
  Node& node = *qps_[id];
  const std::size_t before = node.unposted.size();
  while (!node.unposted.empty() &&
         node.qp->post_recv({node.unposted.front()}) == transport::PostResult::kOk) {
    node.unposted.pop_front();
    ++node.receives;
  }
  return node.unposted.size() != before && node.qp->state() == transport::QpState::kError;
}

void Simulation::post_waiting(QpId id) {
  Node& node = *qps_[id];
  while (!node.waiting.empty()) {
    const Flow& flow = flows_[node.waiting.front()];
    // An application sends a WriteIMM when its receiver has posted for it (C15): both wait in the same order.
    const std::deque<FlowId>& unposted = qps_[node.peer]->unposted;
    if (!unposted.empty() && unposted.front() == flow.id) return;
    transport::WorkRequest wr;
    wr.wr_id = flow.id;
    wr.opcode =
        flow.with_immediate ? transport::WrOpcode::kRdmaWriteWithImm : transport::WrOpcode::kRdmaWrite;
    wr.length_bytes = static_cast<std::uint32_t>(flow.bytes);
    wr.local = flow.source;
    wr.remote_va = flow.source ^ kTargetBit;
    wr.immdt = flow.id;
    if (node.qp->post_send(wr) != transport::PostResult::kOk) return;
    node.expected.push_back(flow.id);
    if (flow.with_immediate) node.immediates.push_back(flow.id);
    node.waiting.pop_front();
  }
}

void Simulation::collect_completions(QpId id) {
  Node& node = *qps_[id];
  std::array<transport::Completion, 16> done;
  // Until there is none: what waits is posted between, and completes at once on a QP in ERROR.
  for (std::size_t n = 1; n != 0 && violation_.empty();) {
    n = node.qp->poll_completions(done);
    bool received = false;
    for (std::size_t i = 0; i < n; ++i) {
      if (done[i].opcode != transport::WcOpcode::kRdmaWrite) {
        check_delivered(id, done[i]);
        received = true;
        continue;
      }
      Flow& flow = flows_[done[i].wr_id];
      if (node.expected.empty() || node.expected.front() != flow.id)
        violate("flow " + std::to_string(flow.id) + " completed out of order or twice");  // I5
      else
        node.expected.pop_front();
      flow.completed = now_;
      flow.status = done[i].status;
      flow.failed = flow.status != transport::WcStatus::kSuccess;
      --open_flows_;
      if (!flow.failed && flow.placed_bytes != flow.bytes)
        violate("a flow completed with " + std::to_string(flow.placed_bytes) + " of " +
                std::to_string(flow.bytes) + " bytes placed");  // I5
      if (flow_complete_) flow_complete_(flows_[done[i].wr_id]);
    }
    if (n != 0) post_waiting(id);
    if (!received || node.unposted.empty()) continue;
    post_receives(id);
    post_waiting(node.peer);
    after_events(node.peer);
  }
}

}  // namespace mrc::sim
