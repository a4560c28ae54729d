// SPDX-License-Identifier: BSD-3-Clause
#include "sim/world.h"

#include <algorithm>
#include <cmath>
#include <fstream>

#include "sim/faults.h"

namespace mrc::sim {

namespace {

Time at_us(double us) {
  return Time{} + nanoseconds(std::llround(us * 1e3));
}

fabric::PortConfig port_of(const Scenario& s, double gbps, bool last_hop, bool between_switches) {
  const QueueScenario& q = s.queues;
  fabric::PortConfig p;
  p.rate_bps = static_cast<std::uint64_t>(gbps * 1e9);
  p.delay = s.network.delay;
  if (between_switches) p.jitter = s.network.jitter;
  p.data_queue_bytes = static_cast<std::uint32_t>(last_hop ? q.last_hop_bytes : q.data_bytes);
  p.control_queue_bytes = static_cast<std::uint32_t>(q.control_bytes);
  p.ecn = {.enabled = q.ecn,
           .min_bytes = static_cast<std::uint32_t>(q.ecn_min_bytes),
           .max_bytes = static_cast<std::uint32_t>(q.ecn_max_bytes),
           .max_probability = 1.0,
           .on_last_hop = q.ecn_last_hop};
  p.trim = {.enabled = q.trim,
            .size_bytes = static_cast<std::uint32_t>(q.trim_bytes),
            .last_hop_class = q.trim_last_hop_class,
            .fair_coin = q.trim_fair_coin};
  return p;
}

fabric::ClosSpec clos_of(const Scenario& s) {
  const NetworkScenario& n = s.network;
  const double up = n.uplink_gbps > 0 ? n.uplink_gbps : n.link_gbps;
  fabric::ClosSpec c;
  c.tiers = n.tiers;
  c.planes = n.planes;
  c.hosts = n.hosts;
  c.hosts_per_t0 = n.hosts_per_t0;
  c.t1 = n.t1;
  c.parallel = n.parallel;
  c.t0_per_pod = n.t0_per_pod;
  c.t2_per_t1 = n.t2_per_t1;
  c.host_port = port_of(s, n.link_gbps, false, false);
  c.host_port.data_queue_bytes = c.host_port.control_queue_bytes = 0;  // a host sends when its port is free
  c.host_port.ecn.enabled = false;
  c.t0_down = port_of(s, n.link_gbps, true, false);
  c.t0_up = c.t1_down = c.t1_up = c.t2_down = port_of(s, up, false, true);
  return c;
}

void slow_down(fabric::Topology& t, const SlowLinksScenario& slow) {
  for (std::uint32_t plane = 0; plane < t.planes; ++plane) {
    for (std::uint32_t k = 0; k < slow.number; ++k) {
      const fabric::LinkId up = uplink_of(t, plane, slow.tier, 0, 0, k);
      if (up == fabric::kNil) return;
      for (const fabric::LinkId id : {up, reverse_link(t, up)}) {
        if (id == (slow.direction == Direction::kDown ? up : fabric::kNil)) continue;
        if (slow.direction == Direction::kUp && id != up) continue;
        fabric::PortConfig& p = t.links[id].port;
        const auto part = [&](auto v) {
          return static_cast<decltype(v)>(static_cast<double>(v) * slow.fraction);
        };
        p.rate_bps = part(p.rate_bps);
        p.data_queue_bytes = part(p.data_queue_bytes);
        p.ecn.min_bytes = part(p.ecn.min_bytes);
        p.ecn.max_bytes = part(p.ecn.max_bytes);
      }
    }
  }
}

}  // namespace

Result<std::unique_ptr<World>> World::create(const Scenario& scenario, const WorldOptions& options) {
  std::unique_ptr<World> world(new World(scenario));
  if (auto ok = world->build(options); !ok) return ok.error();
  return world;
}

Result<void> World::build(const WorldOptions& options) {
  if (auto ok = make_matrix(); !ok) return ok;
  if (auto ok = make_evs(); !ok) return ok;
  if (auto ok = make_nscc(); !ok) return ok;
  if (auto ok = make_fabric(options); !ok) return ok;
  for (const Connection& c : matrix_.connections)
    if (auto pair = pair_of(c.src, c.dst); !pair) return pair.error();
  for (const Trigger& t : matrix_.triggers) triggers_[t.id].trigger = t;
  for (std::uint32_t i = 0; i < matrix_.connections.size(); ++i)
    if (matrix_.connections[i].trigger != kNoTrigger)
      triggers_[matrix_.connections[i].trigger].starts.push_back(i);
  sim_->on_flow_complete([this](const Flow& flow) { on_complete(flow); });
  sim_->on_flow_received([this](const Flow& flow) { count(connection_of(flow.id).recv_done_trigger); });
  if (scenario_.paths.denylist_coverage > 0) deny_dead_paths();
  return {};
}

Result<void> World::make_matrix() {
  const WorkloadScenario& w = scenario_.workload;
  const std::uint32_t hosts = scenario_.network.hosts;
  Rng rng(mix64(scenario_.seed ^ 0x3A7121ULL));
  switch (w.shape) {
    case Shape::kPointToPoint:
      matrix_ = make_point_to_point(hosts, w.src, w.dst, w.bytes);
      break;
    case Shape::kPermutation:
      matrix_ = make_permutation(hosts, w.bytes, rng);
      break;
    case Shape::kIncast:
      matrix_ = make_incast(hosts, w.dst, w.senders, w.bytes);
      break;
    case Shape::kRingAllReduce:
      matrix_ = make_ring_all_reduce(hosts, w.bytes);
      break;
    case Shape::kAllToAll:
      matrix_ = make_all_to_all(hosts, w.bytes);
      break;
    case Shape::kMix:
      matrix_ = make_mix(hosts, w.flows, w.elephants, w.bytes, w.mouse_bytes, w.span, rng);
      break;
    case Shape::kMatrix: {
      std::ifstream in(w.matrix);
      if (!in) return Error{"workload.matrix: cannot read '" + w.matrix + "'"};
      auto read = parse_matrix(in, w.matrix);
      if (!read) return read.error();
      matrix_ = std::move(*read);
      break;
    }
  }
  if (w.victim_src >= 0) {
    Connection c;
    c.src = static_cast<std::uint32_t>(w.victim_src);
    c.dst = static_cast<std::uint32_t>(w.victim_dst);
    c.id = static_cast<std::uint32_t>(matrix_.connections.size() + 1);
    c.size_bytes = w.victim_bytes;
    matrix_.connections.push_back(c);
  }
  for (const Connection& c : matrix_.connections)
    if (c.src >= hosts || c.dst >= hosts || c.size_bytes > kMaxMessageBytes)
      return Error{"workload.matrix: connection " + std::to_string(c.src) + "->" + std::to_string(c.dst) +
                   " of " + std::to_string(c.size_bytes) + " bytes; hosts are 0 to " +
                   std::to_string(hosts - 1) + ", messages have at most " + std::to_string(kMaxMessageBytes)};
  if (matrix_.connections.empty()) return Error{"workload: nothing to send"};
  return {};
}

// Ports in turn; a structured EV names an uplink of the T0 and one of the T1.
Result<void> World::make_evs() {
  const PathScenario& p = scenario_.paths;
  const NetworkScenario& n = scenario_.network;
  std::vector<path::EvValue> values(p.evs);
  std::vector<std::uint8_t> ports(p.evs);
  for (std::uint32_t i = 0; i < p.evs; ++i) {
    ports[i] = static_cast<std::uint8_t>(i % n.planes);
    const std::uint32_t way = i / n.planes;
    const std::uint32_t value = p.format == path::EvFormat::kUdp
                                    ? (0xC000 + i) << 16
                                    : (way / (n.t1 * n.parallel)) << 8 | (way % (n.t1 * n.parallel));
    for (std::size_t b = 0; b < 4; ++b) values[i][b] = static_cast<std::uint8_t>(value >> (24 - 8 * b));
  }
  auto table = path::EvTable::create(p.format, p.order, true, values, ports);
  if (!table) return table.error();
  evs_ = std::make_shared<path::EvTable>(std::move(*table));
  return {};
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

Result<void> World::make_fabric(const WorldOptions& options) {
  auto topology = fabric::make_clos(clos_of(scenario_));
  if (!topology) return topology.error();
  slow_down(*topology, scenario_.slow_links);
  auto plan = plan_faults(scenario_, *topology, *evs_);
  if (!plan) return plan.error();
  fabric::FabricConfig config;
  config.seed = mix64(scenario_.seed ^ 0xFAB71CULL);
  config.forwarding.mode = scenario_.network.forwarding;
  config.forwarding.fields[0] = {0, 8};
  if (scenario_.network.tiers == 3) config.forwarding.fields[1] = {8, 8};
  config.forwarding.low_half_in_sport = scenario_.paths.order == path::EvOrder::kA;
  config.schedule = plan->schedule;
  // Room for every window and the answers to it.
  std::uint64_t packets = scenario_.network.max_packets;
  if (packets == 0) {
    const std::uint64_t window = scenario_.qp.attr.mpr * kPsnsPerMprUnit;
    packets = std::clamp<std::uint64_t>(matrix_.connections.size() * window * 2, 1U << 14, 1U << 19);
  }
  config.max_packets = static_cast<std::uint32_t>(packets);
  auto network = fabric::Fabric::create(std::move(*topology), config);
  if (!network) return network.error();
  SimOptions sim;
  sim.seed = scenario_.seed;
  sim.sizes = scenario_.network.sizes == WireSizes::kHtsim ? SizeModel::htsim() : SizeModel::real(false);
  sim.check_invariants = options.check_invariants;
  sim.sample_interval = scenario_.run.sample;
  sim.series_step = scenario_.run.series;
  sim.port_status = scenario_.run.port_status;
  sim_ = std::make_unique<Simulation>(std::move(*network), sim);
  fault_texts_ = plan->texts;
  for (const FaultPlan::Begin& b : plan->begins) sim_->note_fault(b.at, b.label);
  return {};
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
Result<World::Pair*> World::pair_of(std::uint32_t src, std::uint32_t dst) {
  const auto [at, is_new] = pairs_.try_emplace({src, dst});
  Pair& pair = at->second;
  if (!is_new) return &pair;
  pair.qpcc = make_controller(true);
  for (std::uint32_t i = 0; i < scenario_.workload.qps; ++i) {
    QpSetup sender{scenario_.qp.limits, scenario_.qp.policy, scenario_.qp.attr, evs_, pair.qpcc};
    QpSetup receiver = sender;
    receiver.qpcc = make_controller(false);
    receiver.limits.max_send_wr = 1;
    sender.limits.max_recv_wr = 0;
    auto qp = sim_->connect(src, sender, dst, receiver);
    if (!qp) return qp.error();
    pair.qps.push_back(*qp);
  }
  return &pair;
}

const cc::Qpcc* World::controller(std::uint32_t src, std::uint32_t dst) const {
  const auto at = pairs_.find({src, dst});
  return at == pairs_.end() ? nullptr : at->second.qpcc;
}

// What a controller of the fabric knows before the job starts, as far as it knows it.
void World::deny_dead_paths() {
  fabric::Fabric& net = sim_->network();
  std::array<fabric::Outcome, 8> none;
  (void)net.advance(Time{}, none);  // the changes of time 0
  Rng rng(mix64(scenario_.seed ^ 0xDE41EDULL));
  const auto dead = [&](fabric::LinkId id) {
    const fabric::Link& link = net.link(id);
    return !link.up || link.faults().loss >= 1 || (!link.to.is_host && net.black_hole(link.to.id));
  };
  for (QpId id = 0; id < sim_->qps(); ++id) {
    for (std::size_t ev = 0; ev < evs_->size(); ++ev) {
      const auto index = static_cast<path::EvIndex>(ev);
      const auto path = net.path_of(sim_->host_of(id), (*evs_)[ev].port, sim_->view_of(id, index));
      if (!std::any_of(path.begin(), path.end(), dead)) continue;
      if (!rng.chance(scenario_.paths.denylist_coverage)) continue;
      sim_->qp(id).ev_set().set_state(index, path::EvState::kDenied, Time{1});
      ++denied_evs_;
    }
  }
}

// --- The workload
// -------------------------------------------------------------------------------------------

void World::start_round() {
  ++rounds_started_;
  round_start_ = sim_->now();
  open_ = matrix_.connections.size();
  for (auto& [id, t] : triggers_) {
    t.counted = 0;
    t.fired = false;
  }
  const Duration shift = round_start_ - Time{1};
  for (std::uint32_t i = 0; i < matrix_.connections.size(); ++i)
    if (matrix_.connections[i].trigger == kNoTrigger)
      start(i, Time{1} + matrix_.connections[i].start + shift);
}

void World::start(std::uint32_t connection, Time at) {
  const Connection& c = matrix_.connections[connection];
  Pair& pair = pairs_.at({c.src, c.dst});
  const QpId qp = pair.qps[pair.next];
  pair.next = (pair.next + 1) % pair.qps.size();
  flow_connection_.push_back(connection);
  sim_->send(qp, c.size_bytes, at, scenario_.workload.with_immediate);
}

void World::count(std::uint32_t trigger) {
  if (trigger == kNoTrigger) return;
  TriggerState& t = triggers_.at(trigger);
  ++t.counted;
  const bool due = t.trigger.type == TriggerType::kBarrier ? t.counted >= t.trigger.count : true;
  if (!due || (t.fired && t.trigger.type != TriggerType::kMultishot)) return;
  t.fired = true;
  for (const std::uint32_t c : t.starts) start(c, sim_->now());
}

void World::on_complete(const Flow& flow) {
  count(connection_of(flow.id).send_done_trigger);
  if (open_ == 0 || --open_ != 0) return;
  rounds_.push_back(sim_->now() - round_start_);
  if (rounds_started_ < scenario_.workload.rounds) start_round();
}

RunEnd World::run() {
  start_round();
  RunEnd end = sim_->run(at_us(scenario_.run.until_us));
  if (end.quiet && end.violation.empty()) {
    end.violation = sim_->check_at_rest();
    if (!end.violation.empty())
      end.violation += " (seed " + std::to_string(scenario_.seed) + ", " + std::to_string(end.at.ns) + " ns)";
  }
  return end;
}

std::uint64_t World::wire_bytes(std::uint64_t bytes) const {
  const std::uint32_t mtu = scenario_.qp.attr.path_mtu;
  const SizeModel sizes =
      scenario_.network.sizes == WireSizes::kHtsim ? SizeModel::htsim() : SizeModel::real(false);
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
  for (const Connection& c : matrix_.connections) {
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
