// SPDX-License-Identifier: BSD-3-Clause
#include "sim/rc_simulation.h"

#include <array>
#include <cassert>
#include <utility>

#include "base/rng.h"
#include "wire/types.h"

namespace mrc::sim {
namespace {

// Targets of the timer heap: connections, ports and flows in one number space.
constexpr std::uint32_t kPortTarget = 1U << 31;
constexpr std::uint32_t kFlowTarget = 1U << 30;
constexpr std::size_t kOutcomeBatch = 64;

}  // namespace

RcSimulation::RcSimulation(std::unique_ptr<fabric::Fabric> fabric, const RcSimOptions& options)
    : fabric_(std::move(fabric)),
      options_(options),
      depths_(fabric_->topology(), options.sample_interval),
      series_(fabric_->topology().planes, options.series_step) {
  ports_.resize(std::size_t{fabric_->topology().hosts} * fabric_->topology().planes);
}

Result<QpId> RcSimulation::connect(HostId a, HostId b, const RcSetup& setup) {
  const fabric::Topology& topology = fabric_->topology();
  for (const HostId host : {a, b})
    if (host >= topology.hosts)
      return Error{"host " + std::to_string(host) + " does not exist: the fabric has " +
                   std::to_string(topology.hosts) + " hosts, from 0"};
  const auto id = static_cast<QpId>(qps_.size());
  const std::uint64_t hash = mix64(options_.seed ^ mix64(std::uint64_t{id} << 20));
  const auto plane = setup.plane.value_or(static_cast<std::uint8_t>((hash >> 48) % topology.planes));
  if (plane >= topology.planes)
    return Error{"plane " + std::to_string(plane) + " does not exist: the fabric has " +
                 std::to_string(topology.planes) + ", from 0"};
  if (setup.config.mtu_bytes == 0 || setup.config.timeout.ns <= 0)
    return Error{"RC: mtu_bytes or timeout is 0; both must be above 0: use 4096 and 67108864 ns"};
  if (setup.config.dcqcn)
    if (auto ok = setup.config.dcqcn->check(); !ok) return ok.error();
  const Duration cnp = setup.config.dcqcn ? setup.config.dcqcn->cnp_interval : DcqcnParams{}.cnp_interval;
  const auto sport =
      setup.sport.value_or(static_cast<std::uint16_t>(wire::kFirstDynamicPort + hash % wire::kDynamicPorts));
  qps_.push_back({RcSender(setup.config, now_), RcReceiver(cnp), a, b, plane, sport,
                  static_cast<std::uint32_t>(hash >> 16), Time::never(), false, false});
  return id;
}

FlowId RcSimulation::send(QpId qp, std::uint64_t bytes, Time at) {
  assert(qp < qps_.size());
  flows_.push_back(new_flow(static_cast<FlowId>(flows_.size()), qp, bytes, at));
  ++open_flows_;
  timers_.push(later(at, now_), kFlowTarget | flows_.back().id);
  return flows_.back().id;
}

RunEnd RcSimulation::run(Time until) {
  std::array<fabric::Outcome, kOutcomeBatch> outcomes;
  for (;;) {
    const Time next = earlier(fabric_->next_event(), timers_.next());
    // Timers of what is done are left in the heap; nobody waits for them.
    const bool done = open_flows_ == 0 && fabric_->in_flight() == 0;
    if ((next.is_never() || done) && dirty_.empty()) return {now_, true, violation_};
    if (next > until && dirty_.empty()) return {now_, false, violation_};
    if (dirty_.empty()) {
      depths_.sample(*fabric_, next, open_flows_ != 0);
      now_ = later(now_, next);
    }
    for (std::size_t n = outcomes.size(); n == outcomes.size();) {
      n = fabric_->advance(now_, outcomes);
      for (std::size_t i = 0; i < n; ++i) deliver(outcomes[i]);
    }
    wake_stalled();
    while (timers_.next() <= now_) on_time(timers_.pop().target);
    std::vector<std::uint32_t> dirty;
    dirty.swap(dirty_);
    for (const std::uint32_t port : dirty) {
      ports_[port].dirty = false;
      pump(port);
    }
    if (!violation_.empty()) return {now_, false, violation_};
    if (tick_turns_ != 0 && ++turns_ % tick_turns_ == 0 && !tick_(now_)) return {now_, false, violation_};
  }
}

void RcSimulation::on_tick(std::uint64_t turns, std::function<bool(Time)> callback) {
  tick_turns_ = turns;
  tick_ = std::move(callback);
}

bool RcSimulation::conserves() const {
  const std::uint64_t sent = counters_.data_sent + counters_.control_sent;
  const std::uint64_t ended = counters_.delivered + counters_.corrupt_dropped + counters_.dropped;
  return fabric_->conserves() &&
         sent + fabric_->counters().duplicated == ended + counters_.refused + fabric_->in_flight();
}

std::string RcSimulation::check_at_rest() const {
  const auto stuck = std::count_if(flows_.begin(), flows_.end(), [&](const Flow& f) {
    const Connection& c = qps_[f.qp];
    const bool waits = !fabric_->host_port_up(c.src, c.plane);  // it can do nothing else
    return open_flows_ != 0 && f.completed.is_never() && !waits;
  });
  if (stuck != 0) return std::to_string(stuck) + " flows never ended: the run is stuck";
  if (fabric_->in_flight() != 0) return "packets are left inside at rest";
  return conserves() ? "" : "packets sent are not received + dropped + in flight";
}

void RcSimulation::on_time(std::uint32_t target) {
  if ((target & kPortTarget) != 0) {
    ports_[target & ~kPortTarget].armed = Time::never();
    mark_dirty(target & ~kPortTarget);
  } else if ((target & kFlowTarget) != 0) {
    const Flow& flow = flows_[target & ~kFlowTarget];
    qps_[flow.qp].sender.post(flow.id, flow.bytes, flow.source, now_);
    after_events(flow.qp);
  } else {
    Connection& c = qps_[target];
    if (c.armed > now_) return;  // an older entry; a newer one stands
    c.armed = Time::never();
    c.sender.on_timer(now_);
    after_events(target);
  }
}

void RcSimulation::deliver(const fabric::Outcome& outcome) {
  const auto number = static_cast<std::uint32_t>(outcome.packet.handle);
  const Token token = tokens_[number];
  if (!outcome.shared) free_tokens_.push_back(number);
  const bool corrupted = outcome.packet.corrupted && !outcome.packet.trimmed();
  ++(!outcome.delivered() ? counters_.dropped : corrupted ? counters_.corrupt_dropped : counters_.delivered);
  if (!outcome.delivered() || corrupted) return note_loss(token, outcome);
  if (outcome.packet.trimmed()) return;  // a torso with a bad ICRC to RoCE
  const QpId id = token.qp;
  const RcPacket& p = token.packet;
  Connection& c = qps_[id];
  switch (p.kind) {
    case RcKind::kData:
      if (c.receiver.on_data(p, outcome.packet.ce, now_) == RcVerdict::kPlace) place(id, p);
      break;
    case RcKind::kAck:
      c.sender.on_ack(p.seq, now_);
      break;
    case RcKind::kNak:
      c.sender.on_nak(p.seq, now_);
      break;
    case RcKind::kCnp:
      c.sender.on_cnp(now_);
      break;
  }
  after_events(id);
}

void RcSimulation::note_loss(const Token& token, const fabric::Outcome& outcome) {
  if (!outcome.delivered() && !is_silent_loss(outcome.reason)) return;
  const FaultId fault = faults_.causes().of(outcome);
  if (token.packet.kind != RcKind::kData) return faults_.lost_other(fault);
  const bool received = token.packet.seq < qps_[token.qp].receiver.expected();
  faults_.lost_data(fault, token.sent, std::uint64_t{token.qp} << 32 | token.packet.seq, received);
}

// In order means: the payload's source address is the next of its flow.
void RcSimulation::place(QpId id, const RcPacket& p) {
  Flow& flow = flows_[(p.source >> kFlowShift) - 1];
  if (flow.qp != id || p.source - flow.source != flow.placed_bytes) violate("a payload arrived out of place");
  flow.placed_bytes += p.payload_bytes;
  placed_bytes_ += p.payload_bytes;
  series_.add(now_, qps_[id].plane, p.payload_bytes);
  faults_.received(now_, std::uint64_t{id} << 32 | p.seq);
  if (!p.last) return;
  if (flow.placed_bytes != flow.bytes) violate("a flow ended short of its bytes");
  if (flow_received_) flow_received_(Flow(flow));
}

void RcSimulation::after_events(QpId id) {
  const auto complete = [&](FlowId f, bool failed) {
    flows_[f].completed = now_;
    flows_[f].failed = failed;
    --open_flows_;
    if (!failed && flows_[f].placed_bytes != flows_[f].bytes)
      violate("a flow completed before it was placed");
    if (flow_complete_) flow_complete_(Flow(flows_[f]));
  };
  while (const auto f = qps_[id].sender.pop_completed()) complete(*f, false);
  if (qps_[id].sender.failed())
    for (FlowId f = 0; f < flows_.size(); ++f)
      if (flows_[f].qp == id && flows_[f].start <= now_ && flows_[f].completed.is_never()) complete(f, true);

  Connection& c = qps_[id];
  const RcWake wake = c.sender.wake(now_);
  if (wake.ready && !c.in_tx) {
    c.in_tx = true;
    ports_[port_id(c.src, c.plane)].tx.push_back(id);
  }
  if (c.receiver.control_ready() && !c.in_control) {
    c.in_control = true;
    ports_[port_id(c.dst, c.plane)].control.push_back(id);
  }
  if (c.in_tx) mark_dirty(port_id(c.src, c.plane));
  if (c.in_control) mark_dirty(port_id(c.dst, c.plane));
  if (wake.deadline < c.armed) {
    c.armed = later(wake.deadline, now_ + nanoseconds(1));
    timers_.push(c.armed, id);
  }
}

// Ports that were down when somebody wanted to send, and are up again.
void RcSimulation::wake_stalled() {
  const std::uint32_t planes = fabric_->topology().planes;
  std::erase_if(stalled_, [&](std::uint32_t id) {
    const bool up = fabric_->host_port_up(id / planes, static_cast<std::uint8_t>(id % planes));
    if (up) {
      ports_[id].stalled = false;
      mark_dirty(id);
    }
    return up;
  });
}

void RcSimulation::mark_dirty(std::uint32_t port) {
  if (ports_[port].dirty) return;
  ports_[port].dirty = true;
  dirty_.push_back(port);
}

// One packet at a time while the port is free, control first, connections in turn: as Simulation does.
void RcSimulation::pump(std::uint32_t id) {
  Port& port = ports_[id];
  const std::uint32_t planes = fabric_->topology().planes;
  const HostId host = id / planes;
  const auto plane = static_cast<std::uint8_t>(id % planes);
  if (!fabric_->host_port_up(host, plane)) {  // there is no other path: wait, while the timers run
    if (!std::exchange(port.stalled, true)) stalled_.push_back(id);
    return;
  }
  while (fabric_->port_free_at(host, plane) <= now_)
    if (!pump_control(port) && !pump_data(port)) break;
  if (port.tx.empty() && port.control.empty()) return;
  const Time free_at = fabric_->port_free_at(host, plane);
  if (free_at > now_ && free_at < port.armed) {
    port.armed = free_at;
    timers_.push(free_at, kPortTarget | id);
  }
}

bool RcSimulation::pump_control(Port& port) {
  while (!port.control.empty()) {
    const QpId id = port.control.front();
    port.control.pop_front();
    qps_[id].in_control = false;
    RcPacket p;
    const bool sent = qps_[id].receiver.next_control(p);
    if (sent) inject(id, true, p);
    after_events(id);
    if (sent) return true;
  }
  return false;
}

bool RcSimulation::pump_data(Port& port) {
  while (!port.tx.empty()) {
    const QpId id = port.tx.front();
    port.tx.pop_front();
    qps_[id].in_tx = false;
    RcPacket p;
    const bool sent = qps_[id].sender.next_packet(now_, rc_wire_bytes(options_.sizes, RcPacket{}), p);
    if (sent) inject(id, false, p);
    after_events(id);
    if (sent) return true;
  }
  return false;
}

void RcSimulation::inject(QpId id, bool from_receiver, const RcPacket& packet) {
  const Connection& c = qps_[id];
  if (free_tokens_.empty()) {
    free_tokens_.push_back(static_cast<std::uint32_t>(tokens_.size()));
    tokens_.emplace_back();
  }
  const std::uint32_t token = free_tokens_.back();
  free_tokens_.pop_back();
  tokens_[token] = {id, now_, packet};
  const bool data = packet.kind == RcKind::kData;
  fabric::Packet view;
  view.handle = token;
  view.size_bytes = rc_wire_bytes(options_.sizes, packet);
  view.dst_host = from_receiver ? c.src : c.dst;
  view.flow = c.flow_hash;
  view.sport = c.sport;
  view.psn = static_cast<std::uint32_t>(packet.seq & 0xFFFFFF);
  view.kind = !data        ? fabric::Kind::kControl
              : packet.rtx ? fabric::Kind::kRetransmission
                           : fabric::Kind::kData;
  view.dscp = data ? wire::DscpClass::kNoTrim : wire::DscpClass::kControl;
  view.ect = data;
  const HostId from = from_receiver ? c.dst : c.src;
  ++(data ? counters_.data_sent : counters_.control_sent);
  const fabric::DropReason refused = fabric_->inject(from, c.plane, view, now_);
  if (refused == fabric::DropReason::kNone) return;
  ++counters_.refused;
  if (refused == fabric::DropReason::kNoSlot)
    violate("the packet memory of the network is full: set network.max_packets to more than " +
            std::to_string(fabric_->in_flight()));
  free_tokens_.push_back(token);
}

RcCounters RcSimulation::total() const {
  RcCounters sum;
  for (const Connection& c : qps_) {
    const RcCounters& s = c.sender.counters();
    const RcCounters& r = c.receiver.counters();
    sum.tx_new += s.tx_new;
    sum.tx_rtx += s.tx_rtx;
    sum.go_backs += s.go_backs;
    sum.timeouts += s.timeouts;
    sum.rx_cnp += s.rx_cnp;
    sum.rx_in_order += r.rx_in_order;
    sum.rx_duplicate += r.rx_duplicate;
    sum.rx_out_of_order += r.rx_out_of_order;
    sum.rx_ce += r.rx_ce;
    sum.tx_ack += r.tx_ack;
    sum.tx_nak += r.tx_nak;
    sum.tx_cnp += r.tx_cnp;
  }
  return sum;
}

void RcSimulation::violate(const std::string& what) {
  if (violation_.empty())
    violation_ = what + " (seed " + std::to_string(options_.seed) + ", " + std::to_string(now_.ns) + " ns)";
}

}  // namespace mrc::sim
