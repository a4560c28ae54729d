// SPDX-License-Identifier: BSD-3-Clause
// The loop of virtual time: arrivals, starts, timers, then every host that something happened to sends.
#include "sim/simulation.h"

#include <array>
#include <cassert>
#include <utility>

#include "base/rng.h"
#include "wire/sizes.h"

namespace mrc::sim {

namespace {

// Targets of the timer heap: QPs and hosts and flows in one number space.
constexpr std::uint32_t kHostTarget = 1U << 31;
constexpr std::uint32_t kFlowTarget = 1U << 30;
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
    : fabric_(std::move(fabric)), options_(options), hosts_(fabric_->topology().hosts) {}

Simulation::~Simulation() = default;

RunEnd Simulation::run(Time until) {
  std::array<fabric::Outcome, kOutcomeBatch> outcomes;
  watch_ports();
  for (;;) {
    const Time next = earlier(fabric_->next_event(), timers_.next());
    if (next.is_never() && dirty_.empty()) return {now_, true, violation_};
    if (next > until && dirty_.empty()) return {now_, false, violation_};
    if (dirty_.empty()) now_ = later(now_, next);
    // Arrivals first: a timer expires only after what arrived before it was looked at (D13).
    for (std::size_t n = outcomes.size(); n == outcomes.size();) {
      n = fabric_->advance(now_, outcomes);
      for (std::size_t i = 0; i < n; ++i) deliver(outcomes[i]);
    }
    watch_ports();
    while (timers_.next() <= now_) on_time(timers_.pop().target);
    std::vector<HostId> dirty;
    dirty.swap(dirty_);
    for (const HostId host : dirty) {
      pump(host);
    }
    if (!violation_.empty()) return {now_, false, violation_};
  }
}

void Simulation::on_time(std::uint32_t target) {
  if ((target & kHostTarget) != 0) {
    hosts_[target & ~kHostTarget].armed = Time::never();
    mark_dirty(target & ~kHostTarget);
  } else if ((target & kFlowTarget) != 0) {
    start_flow(target & ~kFlowTarget);
  } else {
    Node& node = *qps_[target];
    if (node.armed > now_) return;  // an older entry; a newer one stands
    node.armed = Time::never();
    if (node.qp->wake().deadline <= now_) node.qp->on_timer(now_);
    after_events(target);
  }
}

// A local port that dies or returns is known to the host at once (2.4 of the design: link state of the own
// port).
void Simulation::watch_ports() {
  const std::uint32_t planes = fabric_->topology().planes;
  for (HostId h = 0; h < hosts_.size(); ++h) {
    std::uint32_t up = 0;
    for (std::uint32_t p = 0; p < planes; ++p)
      up |= fabric_->host_port_up(h, static_cast<std::uint8_t>(p)) ? 1U << p : 0U;
    const std::uint32_t changed = up ^ hosts_[h].ports_up;
    hosts_[h].ports_up = up;
    if (changed == 0) continue;
    for (QpId id = 0; id < qps_.size(); ++id) {
      if (qps_[id]->host != h) continue;
      for (std::uint32_t p = 0; p < planes; ++p)
        if ((changed >> p & 1U) != 0)
          qps_[id]->qp->on_port_change(static_cast<std::uint8_t>(p), (up >> p & 1U) != 0, now_);
      after_events(id);
    }
    report_ports(h);
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
    node->flow_hash = static_cast<std::uint32_t>(mix64(options_.seed ^ (std::uint64_t{first + i} << 20)));
    node->qp =
        std::make_unique<transport::Qp>(kFirstQpn + first + i, setup->limits, setup->policy, setup->evs,
                                        *setup->qpcc, mix64(options_.seed * 31 + first + i));
    transport::QpAttr attr = setup->attr;
    attr.dest_qpn = kFirstQpn + first + 1 - i;
    for (const auto& [state, mask] : kToRts)
      if (auto ok = node->qp->modify(state, attr, mask, now_); !ok) return ok.error();
    qps_.push_back(std::move(node));
  }
  add_peer(a, b, first);
  add_peer(b, a, first + 1);
  return first;
}

// --- Arrivals
// -----------------------------------------------------------------------------------------------

void Simulation::deliver(const fabric::Outcome& outcome) {
  const auto id = static_cast<TokenId>(outcome.packet.handle);
  const Token token = tokens_[id];  // sending in reaction may grow the pool
  if (!outcome.shared) tokens_.release(id);
  if (outcome_) outcome_(outcome, token);
  if (!outcome.delivered()) return;
  Node& node = *qps_[token.to_qp];
  wire::RxMeta meta;
  meta.arrival = now_;
  meta.port = outcome.packet.plane;
  meta.ce = outcome.packet.ce;
  meta.entropy = fabric::entropy_of(outcome.packet, node.evs->order() == path::EvOrder::kA);
  if (outcome.packet.dscp == wire::DscpClass::kTrimmed) meta.trim = wire::Trim::kTrimmed;
  if (outcome.packet.dscp == wire::DscpClass::kTrimmedLasthop) meta.trim = wire::Trim::kTrimmedLasthop;
  if (outcome.packet.corrupted && meta.trim == wire::Trim::kNone) {
    ++counters_.corrupt_dropped;
    return;
  }
  ++counters_.delivered;
  if (token.is_data) {
    deliver_data(node, token, meta);
  } else if (token.control.opcode == wire::Opcode::kEndpointRequest ||
             token.control.opcode == wire::Opcode::kEndpointResponse) {
    deliver_endpoint(node, token.control, meta);
  } else {
    deliver_control(node, token.control, meta);
  }
  after_events(token.to_qp);
}

void Simulation::deliver_data(Node& node, const Token& token, const wire::RxMeta& meta) {
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
  if (node.qp->on_write(w, meta, transport::Access::kOk) != transport::WriteVerdict::kPlace) return;

  // The payload is a function of its source address; it must arrive where that address maps to, and once.
  const std::uint64_t source = d.va ^ kTargetBit;
  const auto flow_id = static_cast<FlowId>((source >> kFlowShift) - 1);
  if (flow_id >= flows_.size() || token.payload_word != mix64(source)) {
    violate("payload arrived at an address it does not belong to");
    return;
  }
  Flow& flow = flows_[flow_id];
  const std::uint64_t offset = source - flow.source;
  const std::uint64_t packet = offset / node.qp->attributes().path_mtu;
  std::uint64_t& word = flow.placed[packet / 64];
  if ((word >> (packet % 64) & 1U) != 0) violate("a packet was placed twice");
  word |= std::uint64_t{1} << (packet % 64);
  flow.placed_bytes += d.payload_bytes;
  node.qp->placed(d.psn);
  if (placed_) placed_(d, now_);
}

void Simulation::deliver_control(Node& node, const transport::ControlDesc& d, const wire::RxMeta& meta) {
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

// What every event on a QP is followed by: completions, its place in the host's lists, its timer.
void Simulation::after_events(QpId id) {
  Node& node = *qps_[id];
  collect_completions(id);
  if (options_.check_invariants) check(id);
  const transport::Wake wake = node.qp->wake();
  Host& host = hosts_[node.host];
  if (wake.tx_ready && !node.in_tx) {
    node.in_tx = true;
    host.tx.push_back(id);
  }
  if (wake.control_ready && !node.in_control) {
    node.in_control = true;
    host.control.push_back(id);
  }
  if (node.in_tx || node.in_control) mark_dirty(node.host);
  if (wake.deadline < node.armed) {
    node.armed = later(wake.deadline, now_ + nanoseconds(1));
    timers_.push(node.armed, id);
  }
}

void Simulation::mark_dirty(HostId host) {
  if (hosts_[host].dirty) return;
  hosts_[host].dirty = true;
  dirty_.push_back(host);
}

// --- Flows
// --------------------------------------------------------------------------------------------------

FlowId Simulation::send(QpId qp, std::uint64_t bytes, Time at, bool with_immediate) {
  assert(bytes <= kMaxMessageBytes);
  Flow flow;
  flow.id = static_cast<FlowId>(flows_.size());
  flow.qp = qp;
  flow.bytes = bytes;
  flow.source = (std::uint64_t{flow.id} + 1) << kFlowShift;
  flow.with_immediate = with_immediate;
  flow.start = at;
  const std::uint64_t packets = bytes / qps_[qp]->qp->attributes().path_mtu + 1;
  flow.placed.assign((packets + 63) / 64, 0);
  flows_.push_back(std::move(flow));
  const FlowId id = flows_.back().id;
  if (at <= now_)
    start_flow(id);
  else
    timers_.push(at, kFlowTarget | id);
  return id;
}

void Simulation::start_flow(FlowId id) {
  const QpId qp = flows_[id].qp;
  qps_[qp]->waiting.push_back(id);
  if (flows_[id].with_immediate) (void)qps_[qps_[qp]->peer]->qp->post_recv({id});
  post_waiting(qp);
  after_events(qp);
}

void Simulation::post_waiting(QpId id) {
  Node& node = *qps_[id];
  while (!node.waiting.empty()) {
    const Flow& flow = flows_[node.waiting.front()];
    transport::WorkRequest wr;
    wr.wr_id = flow.id;
    wr.opcode =
        flow.with_immediate ? transport::WrOpcode::kRdmaWriteWithImm : transport::WrOpcode::kRdmaWrite;
    wr.length_bytes = static_cast<std::uint32_t>(flow.bytes);
    wr.local = flow.source;
    wr.remote_va = flow.source ^ kTargetBit;
    if (node.qp->post_send(wr) != transport::PostResult::kOk) return;
    node.waiting.pop_front();
  }
}

void Simulation::collect_completions(QpId id) {
  std::array<transport::Completion, 16> done;
  for (std::size_t n = done.size(); n == done.size();) {
    n = qps_[id]->qp->poll_completions(done);
    for (std::size_t i = 0; i < n; ++i) {
      if (done[i].opcode != transport::WcOpcode::kRdmaWrite) continue;
      Flow& flow = flows_[done[i].wr_id];
      flow.completed = now_;
      flow.failed = done[i].status != transport::WcStatus::kSuccess;
      if (!flow.failed && flow.placed_bytes != flow.bytes)
        violate("a flow completed with " + std::to_string(flow.placed_bytes) + " of " +
                std::to_string(flow.bytes) + " bytes placed");  // I5
      if (flow_complete_) flow_complete_(flows_[done[i].wr_id]);
    }
    if (n != 0) post_waiting(id);
  }
}

// --- Sending
// ------------------------------------------------------------------------------------------------

transport::PortCredits Simulation::free_ports(HostId host) const {
  transport::PortCredits credits;
  for (std::uint32_t p = 0; p < fabric_->topology().planes; ++p) {
    const auto plane = static_cast<std::uint8_t>(p);
    if (!fabric_->host_port_up(host, plane)) continue;
    credits.up_mask |= 1U << p;
    credits.credits[p] = fabric_->port_free_at(host, plane) <= now_ ? 1 : 0;
  }
  return credits;
}

// One packet a free port at a time: the EV is chosen when serialisation starts, from the freshest feedback
// (D1).
void Simulation::pump(HostId id) {
  Host& host = hosts_[id];
  transport::PortCredits credits = free_ports(id);
  // A QP may be ready and yet send nothing: its EVs are on busy ports. Who asks for a turn meanwhile has it
  // in this loop, or when a port is free; to come back at the same instant would never end.
  host.dirty = true;
  while (credits.free_mask() != 0) {
    if (!pump_endpoint(id, credits) && !pump_control(id, credits) && !pump_data(id, credits)) break;
    credits = free_ports(id);
  }
  host.dirty = false;
  const Time report = endpoint_deadline(host);
  if (host.tx.empty() && host.control.empty() && report.is_never()) return;
  Time wake = report > now_ ? report : Time::never();  // what is due already waits for a port
  for (std::uint32_t p = 0; p < fabric_->topology().planes; ++p) {
    const Time free_at = fabric_->port_free_at(id, static_cast<std::uint8_t>(p));
    if ((credits.up_mask >> p & 1U) != 0 && free_at > now_) wake = earlier(wake, free_at);
  }
  if (wake < host.armed) {
    host.armed = wake;
    timers_.push(wake, kHostTarget | id);
  }
}

bool Simulation::pump_control(HostId id, transport::PortCredits& credits) {
  Host& host = hosts_[id];
  for (std::size_t tries = host.control.size(); tries > 0; --tries) {
    const QpId qp = host.control.front();
    host.control.pop_front();
    Node& node = *qps_[qp];
    node.in_control = false;
    transport::ControlDesc d;
    const std::size_t n = node.qp->next_control(now_, credits, std::span(&d, 1));
    if (n == 1) {
      const TokenId token = tokens_.acquire();
      tokens_[token].is_data = false;
      tokens_[token].control = d;
      fabric::Packet view;
      view.size_bytes = options_.sizes.control_bytes_of(d.opcode);
      view.kind = d.opcode == wire::Opcode::kProbe ? fabric::Kind::kProbe : fabric::Kind::kControl;
      view.dscp = d.dscp;
      ++counters_.control_sent;
      inject(qp, d.ev, d.entropy, d.port, token, view);
    }
    after_events(qp);
    if (n == 1) return true;
  }
  return false;
}

bool Simulation::pump_data(HostId id, transport::PortCredits& credits) {
  Host& host = hosts_[id];
  for (std::size_t tries = host.tx.size(); tries > 0; --tries) {
    const QpId qp = host.tx.front();
    host.tx.pop_front();
    Node& node = *qps_[qp];
    node.in_tx = false;
    transport::TxDesc d;
    const std::size_t n = node.qp->next_packets(now_, credits, std::span(&d, 1));
    if (n == 1) {
      const TokenId token = tokens_.acquire();
      tokens_[token].is_data = true;
      tokens_[token].data = d;
      tokens_[token].payload_word = mix64(d.source);
      fabric::Packet view;
      view.size_bytes = options_.sizes.data_bytes(d);
      view.kind = d.rtx ? fabric::Kind::kRetransmission : fabric::Kind::kData;
      view.dscp = d.dscp;
      view.ect = true;
      view.psn = d.psn.value();
      ++node.sent_by_ev[d.ev];
      ++counters_.data_sent;
      inject(qp, d.ev, 0, d.port, token, view);
    }
    after_events(qp);
    if (n == 1) return true;
  }
  return false;
}

void Simulation::inject(QpId from, path::EvIndex ev, std::uint32_t entropy, std::uint8_t port, TokenId token,
                        fabric::Packet view) {
  const Node& node = *qps_[from];
  view.handle = token;
  view.dst_host = qps_[node.peer]->host;
  view.flow = node.flow_hash;
  if (ev != path::kNoEv) {
    const path::EvEntry& entry = (*node.evs)[ev];
    view.sport = entry.udp_sport;
    view.label = entry.flow_label;
  } else {
    const bool low_in_sport = node.evs->order() == path::EvOrder::kA;
    view.sport = static_cast<std::uint16_t>(low_in_sport ? entropy : entropy >> 16);
    view.label = static_cast<std::uint16_t>(low_in_sport ? entropy >> 16 : entropy);
  }
  tokens_[token].to_qp = node.peer;
  const fabric::DropReason refused = fabric_->inject(node.host, port, view, now_);
  if (refused != fabric::DropReason::kNone) tokens_.release(token);  // counted by the fabric
}

// --- Invariants
// ---------------------------------------------------------------------------------------------

void Simulation::violate(const std::string& what) {
  if (violation_.empty())
    violation_ = what + " (seed " + std::to_string(options_.seed) + ", " + std::to_string(now_.ns) + " ns)";
}

void Simulation::check(QpId id) {
  const transport::Qp& qp = *qps_[id]->qp;
  const auto window = static_cast<std::int32_t>(qp.attributes().mpr * kPsnsPerMprUnit);
  if (qp.max_psn_sent() - qp.unack_psn() > window) violate("more than MPR packets are outstanding (D2)");
  if (qp.placed_psn().after(qp.cack_psn())) violate("placed_psn is ahead of cack_psn (D4)");
}

}  // namespace mrc::sim
