// SPDX-License-Identifier: BSD-3-Clause
#include "run.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <vector>

#include "base/rng.h"
#include "sim/simulation.h"
#include "wire/sizes.h"

namespace mrc::failover {
namespace {

using fabric::Action;
using fabric::Scope;

constexpr std::uint32_t kPlanes = 4;
constexpr std::uint32_t kPaths = 8;
constexpr std::size_t kEvs = 128;
constexpr std::uint64_t kLinkRate = 100'000'000'000;
constexpr std::int64_t kBdpBytes = 500'000;  // 400 Gb/s x 10 us
constexpr std::uint64_t kMessageBytes = 1 << 20;
// Four links a way: serialisation of a data packet and of a SACK, and what is missing to 10 us.
constexpr Duration kLinkDelay = nanoseconds(1077);
constexpr Time kStart{1'000'000};

std::shared_ptr<const path::EvTable> make_table(Rng& rng) {
  std::vector<path::EvValue> values(kEvs);
  std::vector<std::uint8_t> ports(kEvs);
  for (std::size_t i = 0; i < kEvs; ++i) {
    const std::uint64_t bits = rng.next();
    values[i][0] = static_cast<std::uint8_t>(0xC0 | (bits & 0x3F));
    values[i][1] = static_cast<std::uint8_t>(bits >> 8);
    values[i][2] = static_cast<std::uint8_t>(bits >> 16);
    values[i][3] = static_cast<std::uint8_t>(i);
    ports[i] = static_cast<std::uint8_t>(i % kPlanes);
  }
  auto table = path::EvTable::create(path::EvFormat::kStev, path::EvOrder::kB, true, values, ports);
  if (!table) throw std::runtime_error(table.error().message);
  return std::make_shared<const path::EvTable>(std::move(*table));
}

fabric::Topology make_topology() {
  fabric::ClosSpec clos;
  clos.planes = kPlanes;
  clos.hosts = 2;
  clos.t1 = kPaths;
  for (fabric::PortConfig* p : {&clos.host_port, &clos.t0_down, &clos.t0_up, &clos.t1_down}) {
    p->rate_bps = kLinkRate;
    p->delay = kLinkDelay;
    p->data_queue_bytes = 200'000;
    p->control_queue_bytes = 200'000;
    p->trim.enabled = true;
  }
  auto topology = fabric::make_clos(clos);
  if (!topology) throw std::runtime_error(topology.error().message);
  return std::move(*topology);
}

/// Every way from the sender's leaf to a spine takes a new random time longer every half RTT, until `end`.
/// Answers are control packets, which no queue of data holds up.
void add_queueing(std::vector<fabric::ScheduledChange>& schedule, const fabric::Topology& t, Duration most,
                  Time end, Rng& rng) {
  if (most.ns == 0) return;
  for (fabric::LinkId id = 0; id < t.links.size(); ++id) {
    const fabric::LinkSpec& link = t.links[id];
    if (link.from.is_host || link.to.is_host || t.switches[link.from.id].tier != 0) continue;
    if (t.switches[link.from.id].index != 0) continue;
    for (Time at = kStart; at < end; at = at + kBaseRtt / 2) {
      fabric::Change c;
      c.action = Action::kDelay;
      c.target = {Scope::kLink, id};
      c.duration = kLinkDelay +
                   Duration{static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(most.ns + 1)))};
      schedule.push_back({at, c});
    }
  }
}

fabric::Change death(const Conditions& setup, const fabric::Topology& t, Rng& rng) {
  const auto plane = static_cast<std::uint32_t>(rng.below(kPlanes));
  const auto path = static_cast<std::uint32_t>(rng.below(kPaths));
  fabric::Change c;
  c.action = Action::kDown;
  switch (setup.fault) {
    case Fault::kLink: {
      const fabric::SwitchSpec& leaf = t.switches[t.find(plane, 0, 0)];
      c.target = {Scope::kCable, leaf.up[path]};
      break;
    }
    case Fault::kBlackHole:
      c.action = Action::kBlackHole;
      c.target = {Scope::kSwitch, t.find(plane, 1, path)};
      break;
    case Fault::kPlane:
      c.action = Action::kBlackHole;
      c.target = {Scope::kSwitch, t.find(plane, 0, static_cast<std::uint32_t>(rng.below(2)))};
      break;
    case Fault::kPeerPort:
      c.target = {Scope::kHostPort, 1 * kPlanes + plane};
      break;
  }
  return c;
}

/// A spine at which every packet is lost at random. The observer looks for what the death swallowed alone.
fabric::Change loss_nobody_counts(const fabric::Topology& t) {
  fabric::Change c;
  c.action = Action::kFaults;
  c.target = {Scope::kSwitch, t.find(0, 1, 0)};
  c.faults.loss = 1;
  return c;
}

/// When the death comes: anywhere in the stream once it runs, anywhere in the message, or in its last 5 us.
Time time_of_death(Workload w, Rng& rng) {
  const auto within = [&](std::int64_t from_ns, std::int64_t to_ns) {
    return kStart + Duration{from_ns + static_cast<std::int64_t>(
                                           rng.below(static_cast<std::uint64_t>(to_ns - from_ns)))};
  };
  const std::int64_t sending_ns = kMessageBytes * 8 / 400;  // at line rate
  switch (w) {
    case Workload::kStream:
      return within(50'000, 70'000);
    case Workload::kMessage:
      return within(1'000, sending_ns);
    case Workload::kTail:
      return within(sending_ns - 5'000, sending_ns);
  }
  return kStart;
}

sim::QpSetup qp_setup(const Conditions& setup, std::shared_ptr<const path::EvTable> evs, cc::Qpcc& qpcc) {
  sim::QpSetup s;
  s.evs = std::move(evs);
  s.qpcc = &qpcc;
  s.attr.timeout = 10;
  s.policy.base_rtt = kBaseRtt;
  s.policy.learn_base_rtt = false;
  s.policy.reverse_probes = true;
  if (setup.ev_order_only) {
    s.policy.time_order = s.policy.ev_flush = s.policy.tail_probe = false;
    s.policy.ev.plane_rule = false;
  }
  return s;
}

cc::Qpcc make_controller(const Conditions& setup) {
  if (!setup.nscc) return cc::Qpcc(cc::FixedWindow(kBdpBytes * 3 / 2));
  cc::NsccLink link;
  link.rate_bps = static_cast<double>(kLinkRate) * kPlanes;
  link.base_rtt = kBaseRtt;
  link.mtu_bytes = wire::write_nominal_bytes(wire::Opcode::kWriteMiddle, true, 4096);
  const auto params = cc::derive_nscc(link);
  if (!params) throw std::runtime_error(params.error().message);
  return cc::Qpcc(cc::Nscc(*params, kStart));
}

/// What the death did, seen from the wire.
class Observer {
 public:
  explicit Observer(Time death) : death_(death) {}
  void sent_or_lost(const fabric::Outcome& o, const sim::Token& token) {
    if (!token.is_data) return;
    if (token.data.rtx) rtx_.push_back(token.data.psn.value());
    if (o.delivered() || o.at < death_) return;
    if (o.reason != fabric::DropReason::kLinkDown && o.reason != fabric::DropReason::kBlackHole) return;
    ++lost_;
    if (!accepted_.contains(token.data.psn.value())) waiting_.insert(token.data.psn.value());
    hit_.insert(token.data.psn.value());
    evs_.insert(token.data.ev);
  }
  void placed(const transport::TxDesc& d, Time now) {
    accepted_.insert(d.psn.value());
    if (waiting_.erase(d.psn.value()) != 0) last_repair_ = now;
  }
  void fill(Outcome& out) const {
    out.lost = lost_;
    out.repair_rtts =
        lost_ == 0 ? 0 : static_cast<double>((last_repair_ - death_).ns) / static_cast<double>(kBaseRtt.ns);
    out.repaired = waiting_.empty();
    for (const std::uint32_t psn : rtx_) out.spurious += hit_.contains(psn) ? 0 : 1;
  }
  [[nodiscard]] bool was_hit(path::EvIndex ev) const { return evs_.contains(ev); }

 private:
  Time death_;
  Time last_repair_;
  std::uint32_t lost_ = 0;
  std::set<std::uint32_t> waiting_;  ///< PSNs lost and not accepted yet
  std::set<std::uint32_t> hit_;
  std::set<std::uint32_t> accepted_;
  std::set<path::EvIndex> evs_;
  std::vector<std::uint32_t> rtx_;
};

constexpr std::uint64_t kPlaces = 8;

Outcome run_at(const Conditions& setup, std::uint64_t place) {
  Rng rng(mix64(setup.seed * 1000 + static_cast<std::uint64_t>(setup.workload) * 10 +
                static_cast<std::uint64_t>(setup.fault)));
  const Time dies = time_of_death(setup.workload, rng);
  const Time end = dies + microseconds(300);
  fabric::Topology topology = make_topology();
  fabric::FabricConfig config;
  config.seed = rng.next();
  Rng where = Rng(setup.seed).fork(place);
  config.schedule.push_back({dies, death(setup, topology, where)});
  if (setup.unseen_loss) config.schedule.push_back({kStart, loss_nobody_counts(topology)});
  add_queueing(config.schedule, topology, setup.queueing, end, rng);
  auto fabric = fabric::Fabric::create(std::move(topology), config);
  if (!fabric) throw std::runtime_error(fabric.error().message);

  sim::SimOptions options;
  options.seed = rng.next();
  options.port_status = !setup.ev_order_only;
  options.sizes = sim::SizeModel::htsim();
  sim::Simulation sim(std::move(*fabric), options);
  const auto evs = make_table(rng);
  cc::Qpcc forward = make_controller(setup);
  cc::Qpcc back = make_controller(setup);
  auto qp = sim.connect(0, qp_setup(setup, evs, forward), 1, qp_setup(setup, evs, back));
  if (!qp) throw std::runtime_error(qp.error().message);

  Outcome out;
  Observer observer(dies);
  sim.on_outcome([&](const fabric::Outcome& o, const sim::Token& t) { observer.sent_or_lost(o, t); });
  sim.on_placed([&](const transport::TxDesc& d, Time now) { observer.placed(d, now); });
  // The simulation takes the events as they come: after the run none is left to ask for.
  sim.on_ev_event([&](sim::QpId id, const path::EvSet::Event& e) {
    if (e.to != path::EvState::kAssumedBad) return;
    ++out.verdicts;
    if (id == *qp && !observer.was_hit(e.ev)) ++out.false_verdicts;
  });
  const int messages = setup.workload == Workload::kStream ? 16 : 1;
  for (int i = 0; i < messages; ++i) static_cast<void>(sim.send(*qp, kMessageBytes, kStart));
  const sim::RunEnd ended = sim.run(kStart + milliseconds(20));

  observer.fill(out);
  out.violation = ended.violation;
  for (const sim::Flow& flow : sim.flows()) {
    if (!flow.completed.is_never() && !flow.failed && flow.placed_bytes == flow.bytes) continue;
    out.repaired = false;
    const transport::Wake wake = sim.qp(*qp).wake();
    if (out.violation.empty())
      out.violation = "flow " + std::to_string(flow.id) + (flow.failed ? " failed: " : " did not end: ") +
                      std::to_string(flow.placed_bytes) + " of " + std::to_string(flow.bytes) +
                      " B placed by " + std::to_string(sim.now().ns) + " ns; QP state " +
                      std::to_string(static_cast<int>(sim.qp(*qp).state())) + ", next timer " +
                      std::to_string(wake.deadline.ns) + (wake.tx_ready ? ", ready" : "") +
                      (wake.control_ready ? ", control" : "") + ", charged " +
                      std::to_string(sim.qp(*qp).charged_bytes()) + ", k " +
                      std::to_string(sim.qp(*qp).retry_count()) + (ended.quiet ? ", quiet" : "");
  }
  const transport::QpCounters& c = sim.qp(*qp).counters();
  out.by_timer = static_cast<std::uint32_t>(
      c.rtx_by_cause[static_cast<std::size_t>(transport::RtxCause::kAckTimeout)] + c.timer_expiries);
  return out;
}

}  // namespace

const char* name(Workload w) {
  constexpr const char* kNames[] = {"stream", "message", "tail"};
  return kNames[static_cast<std::size_t>(w)];
}
const char* name(Fault f) {
  constexpr const char* kNames[] = {"link", "black hole", "plane", "peer port"};
  return kNames[static_cast<std::size_t>(f)];
}

Outcome run(const Conditions& setup) {
  Outcome out;
  // A death that nobody's packets meet says nothing: it strikes elsewhere, at the same time.
  for (std::uint32_t place = 0; place < kPlaces && out.lost == 0; ++place) {
    out = run_at(setup, place);
    out.moved = place;
  }
  return out;
}

}  // namespace mrc::failover
