// SPDX-License-Identifier: BSD-3-Clause
#include "sim/world.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/rng.h"
#include "sim/faults.h"
#include "sim/network.h"
#include "sim/run_memory.h"

namespace mrc::sim {

namespace {

Time at_us(double us) {
  return Time{} + nanoseconds(std::llround(us * 1e3));
}

SimOptions sim_options(const Scenario& s, const WorldOptions& options) {
  SimOptions sim;
  sim.seed = s.seed;
  sim.sizes = sizes_of(s);
  sim.check_invariants = options.check_invariants;
  sim.sample_interval = s.run.sample;
  sim.series_step = s.run.series;
  sim.port_status = s.run.port_status;
  return sim;
}

// No packet is inside for longer: every queue full at the lowest speed, every delay at its most.
Duration longest_stay(const Scenario& s) {
  const NetworkScenario& n = s.network;
  double gbps = n.link_gbps;
  for (std::uint32_t plane = 0; plane < n.planes; ++plane) {
    const PlaneSpeeds v = speeds_of(n, plane);
    gbps = std::min({gbps, v.link_gbps, v.uplink_gbps, n.tiers == 3 ? v.core_gbps : gbps});
  }
  double slowest = 1;
  Duration more{};
  for (const FaultScenario& f : s.faults) {
    if (f.kind == FaultKind::kSlow) slowest = std::min(slowest, f.fraction);
    if (f.kind == FaultKind::kDelay || f.kind == FaultKind::kReorder) more = std::max(more, f.delay);
  }
  if (s.slow_links.number != 0) slowest *= s.slow_links.fraction;
  const double bytes =
      static_cast<double>(s.queues.data_bytes + s.queues.last_hop_bytes + s.queues.control_bytes) + kMaxPmtu;
  const double ns = bytes * 8 / (gbps * slowest) + static_cast<double>((n.delay + n.jitter + more).ns);
  constexpr double kMost = 1e18;  // longer than any run
  return nanoseconds(static_cast<std::int64_t>(std::min(ns * (n.tiers == 3 ? 6 : 4), kMost)));
}

}  // namespace

Result<std::unique_ptr<World>> World::create(const Scenario& scenario, const WorldOptions& options) {
  auto workload = Workload::create(scenario);
  if (!workload) return workload.error();
  std::unique_ptr<World> world(new World(scenario, std::move(*workload)));
  if (auto ok = world->build(options); !ok) return ok.error();
  return world;
}

Result<void> World::build(const WorldOptions& options) {
  const auto packets = packets_within_memory(scenario_, workload_);
  if (!packets) return packets.error();
  if (auto ok = make_nscc(); !ok) return ok;
  auto topology = make_topology(scenario_);
  if (!topology) return topology.error();
  auto evs = evs_.between(*topology, 0, scenario_.network.hosts - 1);
  if (!evs) return evs.error();
  auto plan = plan_faults(scenario_, *topology, **evs);
  if (!plan) return plan.error();
  auto network = make_fabric(scenario_, std::move(*topology), plan->schedule, *packets);
  if (!network) return network.error();
  fault_texts_ = std::move(plan->texts);
  if (scenario_.transport == TransportKind::kRc)
    rc_ = std::make_unique<RcSimulation>(
        std::move(*network),
        RcSimOptions{scenario_.seed, sizes_of(scenario_), scenario_.run.sample, scenario_.run.series});
  else
    sim_ = std::make_unique<Simulation>(std::move(*network), sim_options(scenario_, options));
  const auto join = [&](auto& sim) {
    sim.set_faults(std::move(plan->log));
    sim.on_flow_complete([this](const Flow& flow) { on_complete(flow); });
    sim.on_flow_received([this](const Flow& flow) { on_received(flow); });
  };
  if (is_rc())
    join(*rc_);
  else
    join(*sim_);
  for (const Connection& c : matrix().connections)
    if (auto ok = make_pair(c.src, c.dst); !ok) return ok;
  workload_.on_start([this](std::uint32_t connection, Time at) { start(connection, at); });
  return scenario_.paths.denylist_coverage > 0 && !is_rc() ? deny_dead_paths() : Result<void>{};
}

Result<void> World::make_nscc() {
  const CcScenario& c = scenario_.cc;
  const transport::QpPolicy& policy = scenario_.qp.policy;
  cc::NsccLink link;
  link.rate_bps = host_rate_bps(scenario_.network);
  link.base_rtt = policy.base_rtt;
  link.trimming = scenario_.queues.trim;
  const auto largest =
      scenario_.workload.with_immediate ? wire::Opcode::kWriteLastImm : wire::Opcode::kWriteMiddle;
  const std::uint32_t nominal =
      wire::write_nominal_bytes(largest, policy.use_timestamps, scenario_.qp.attr.path_mtu);
  link.mtu_bytes = c.mtu_bytes != 0 ? c.mtu_bytes : nominal;
  link.mss_bytes = c.mss_bytes;
  auto params = cc::derive_nscc(
      link, c.variant == NsccVariant::kHtsim ? cc::NsccChoices::htsim() : cc::NsccChoices::uet());
  if (!params) return params.error();
  nscc_ = *params;
  // The floor of the window takes the largest packet, whatever MTU the formulas have (I3 with UET's send
  // test).
  nscc_.mtu_bytes = std::max(nscc_.mtu_bytes, nominal);
  if (c.max_cwnd_bytes != 0) nscc_.max_cwnd_bytes = static_cast<std::int64_t>(c.max_cwnd_bytes);
  if (c.target_delay.ns != 0) nscc_.target_delay = c.target_delay;
  nscc_.min_base_rtt = c.min_base_rtt;
  nscc_.disable_qa = c.disable_qa;
  return nscc_.check();
}

cc::Qpcc* World::make_controller(bool sends) {
  const CcScenario& c = scenario_.cc;
  if (!sends || c.kind == CcKind::kOff) {
    controllers_.emplace_back(cc::FixedWindow::off(), c.send_test);
  } else if (c.kind == CcKind::kFixed) {
    controllers_.emplace_back(cc::FixedWindow(static_cast<std::int64_t>(c.window_bytes)), c.send_test);
  } else {
    controllers_.emplace_back(cc::Nscc(nscc_, Time{1}), c.send_test);
  }
  return &controllers_.back();
}

// One controller per destination of a host, shared by the QPs to it; the other end only answers.
Result<void> World::make_pair(std::uint32_t src, std::uint32_t dst) {
  const auto [at, is_new] = pairs_.try_emplace({src, dst});
  Pair& pair = at->second;
  if (!is_new) return {};
  if (!is_rc()) pair.qpcc = make_controller(true);
  for (std::uint32_t i = 0; i < scenario_.workload.qps; ++i) {
    auto qp = is_rc() ? connect_rc(src, dst, i) : connect_mrc(src, dst, pair.qpcc);
    if (!qp) return qp.error();
    pair.qps.push_back(*qp);
  }
  return {};
}

Result<QpId> World::connect_mrc(std::uint32_t src, std::uint32_t dst, cc::Qpcc* qpcc) {
  auto there = evs_.between(sim_->network().topology(), src, dst);
  auto back = there ? evs_.between(sim_->network().topology(), dst, src) : there;
  if (!back) return back.error();
  QpSetup sender{scenario_.qp.limits, scenario_.qp.policy, scenario_.qp.attr, *there, qpcc};
  QpSetup receiver = sender;
  receiver.evs = *back;
  receiver.qpcc = make_controller(false);
  receiver.limits.max_send_wr = 1;
  sender.limits.max_recv_wr = 0;
  return sim_->connect(src, sender, dst, receiver);
}

// The QPs of a pair in equal shares over the planes: what a bonding driver does at best.
Result<QpId> World::connect_rc(std::uint32_t src, std::uint32_t dst, std::uint32_t number) {
  const RcScenario& r = scenario_.rc;
  RcSetup setup;
  setup.config.mtu_bytes = scenario_.qp.attr.path_mtu;
  setup.config.window_bytes = r.window_bytes;
  setup.config.timeout = r.timeout;
  setup.config.retries = r.retries;
  const std::uint64_t first = mix64(scenario_.seed ^ (std::uint64_t{src} << 32 | dst));
  setup.plane = static_cast<std::uint8_t>((first + number) % scenario_.network.planes);
  const double port_bps = speeds_of(scenario_.network, *setup.plane).link_gbps * 1e9;
  if (r.dcqcn == RcRate::kPaper) setup.config.dcqcn = DcqcnParams::paper(port_bps);
  if (r.dcqcn == RcRate::kNic) setup.config.dcqcn = DcqcnParams::nic(port_bps);
  return rc_->connect(src, dst, setup);
}

const cc::Qpcc* World::controller(std::uint32_t src, std::uint32_t dst) const {
  const auto at = pairs_.find({src, dst});
  return at == pairs_.end() ? nullptr : at->second.qpcc;
}

// What a controller of the fabric knows before the job starts, as far as it knows it.
Result<void> World::deny_dead_paths() {
  fabric::Fabric& net = sim_->network();
  std::array<fabric::Outcome, 8> none;
  (void)net.advance(Time{}, none);  // the changes of time 0
  Rng rng(mix64(scenario_.seed ^ 0xDE41EDULL));
  const auto dead = [&](fabric::LinkId id) {
    const fabric::Link& link = net.link(id);
    return !link.up || link.faults().loss >= 1 || (!link.to.is_host && net.black_hole(link.to.id));
  };
  for (QpId id = 0; id < sim_->qps(); ++id) {
    const path::EvTable& evs = sim_->evs_of(id);
    std::size_t denied = 0;
    for (std::size_t ev = 0; ev < evs.size(); ++ev) {
      const auto index = static_cast<path::EvIndex>(ev);
      const auto path = net.path_of(sim_->host_of(id), evs[ev].port, sim_->view_of(id, index));
      if (!std::any_of(path.begin(), path.end(), dead)) continue;
      if (!rng.chance(scenario_.paths.denylist_coverage)) continue;
      sim_->qp(id).ev_set().set_state(index, path::EvState::kDenied, Time{1});
      ++denied;
    }
    if (denied == evs.size())
      return Error{"paths.denylist_coverage: all " + std::to_string(denied) + " EVs from host " +
                   std::to_string(sim_->host_of(id)) + " to host " +
                   std::to_string(sim_->host_of(sim_->peer_of(id))) +
                   " lead over links dead at the start; leave one at least to send on"};
    denied_evs_ += denied;
  }
  return {};
}

// --- The workload
// -------------------------------------------------------------------------------------------

void World::start(std::uint32_t connection, Time at) {
  const Connection& c = matrix().connections[connection];
  Pair& pair = pairs_.at({c.src, c.dst});
  const auto message = static_cast<std::uint32_t>(messages_.size());
  messages_.push_back({connection, c.size_bytes, later(at, now()), Time::never(), false, 0, 0});
  const auto send = [&](std::uint64_t bytes) {
    const QpId qp = pair.qps[pair.next];
    pair.next = (pair.next + 1) % pair.qps.size();
    message_of_flow_.push_back(message);
    ++messages_[message].parts_to_complete;
    ++messages_[message].parts_to_receive;
    if (is_rc())
      rc_->send(qp, bytes, at);
    else
      sim_->send(qp, bytes, at, scenario_.workload.with_immediate);
  };
  if (!scenario_.workload.stripe) return send(c.size_bytes);
  const std::uint64_t mtu = scenario_.qp.attr.path_mtu;
  const std::uint64_t packets = (c.size_bytes + mtu - 1) / mtu;
  const std::uint64_t part = (packets + pair.qps.size() - 1) / pair.qps.size() * mtu;
  std::uint64_t sent = 0;
  do {
    send(std::min(part, c.size_bytes - sent));
    sent += part;
  } while (sent < c.size_bytes);
}

void World::on_received(const Flow& flow) {
  Message& m = messages_[message_of_flow_[flow.id]];
  if (--m.parts_to_receive == 0) workload_.received(m.connection, now());
}

void World::on_complete(const Flow& flow) {
  Message& m = messages_[message_of_flow_[flow.id]];
  m.failed = m.failed || flow.failed;
  if (--m.parts_to_complete != 0) return;
  m.completed = now();
  workload_.completed(m.connection, now());  // may start others: m is gone
}

void World::on_tick(std::uint64_t turns, std::function<bool(Time)> callback) {
  if (is_rc())
    rc_->on_tick(turns, std::move(callback));
  else
    sim_->on_tick(turns, std::move(callback));
}

RunEnd World::run() {
  workload_.start_round(now());
  const Time until = at_us(scenario_.run.until_us);
  RunEnd end = is_rc() ? rc_->run(until) : sim_->run(until);
  Time last{};
  for (const Message& m : messages_) last = later(last, m.completed.is_never() ? end.at : m.completed);
  if (end.violation.empty() &&
      (end.quiet || (done() && end.at - last >= std::max(kSettle, longest_stay(scenario_))))) {
    end.violation = is_rc() ? rc_->check_at_rest() : sim_->check_at_rest(end.quiet);
    if (!end.violation.empty())
      end.violation += " (seed " + std::to_string(scenario_.seed) + ", " + std::to_string(end.at.ns) + " ns)";
  }
  return end;
}

std::uint64_t World::wire_bytes(std::uint64_t bytes) const {
  const std::uint32_t mtu = scenario_.qp.attr.path_mtu;
  const SizeModel sizes = sizes_of(scenario_);
  transport::TxDesc d;
  d.opcode = wire::Opcode::kWriteMiddle;
  d.ts = scenario_.qp.policy.use_timestamps;
  d.payload_bytes = static_cast<std::uint16_t>(mtu);
  const std::uint64_t full = bytes / mtu * sizes.data_bytes(d);
  d.payload_bytes = static_cast<std::uint16_t>(bytes % mtu);
  return full + (d.payload_bytes != 0 ? sizes.data_bytes(d) : 0);
}

Duration World::ideal() const {
  std::vector<std::uint64_t> out(scenario_.network.hosts);
  std::vector<std::uint64_t> in(scenario_.network.hosts);
  for (const Connection& c : matrix().connections) {
    const std::uint64_t bytes = wire_bytes(c.size_bytes);
    out[c.src] += bytes;
    in[c.dst] += bytes;
  }
  const std::uint64_t most =
      std::max(*std::max_element(out.begin(), out.end()), *std::max_element(in.begin(), in.end()));
  const double ns = static_cast<double>(most) * 8e9 / host_rate_bps(scenario_.network);
  return nanoseconds(std::llround(ns)) + scenario_.qp.policy.base_rtt;
}

}  // namespace mrc::sim
