// SPDX-License-Identifier: BSD-3-Clause
#include "fault_run.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>

#include "judge.h"
#include "transport/rtx_names.h"
#include "watch.h"

namespace mrc::fault {
namespace {

constexpr auto kSuccess = transport::WcStatus::kSuccess;
constexpr Duration kSlice = milliseconds(1);
constexpr Duration kMostTime = seconds(4);      ///< virtual; the longest back-off is far below
constexpr Duration kSettle = milliseconds(20);  ///< longer than a QP asks a peer that is gone (D7)
constexpr std::uint64_t kTurns = 16;            ///< of the loop, between two looks at the states

/// The world of a scenario.
class World {
 public:
  World(const Scenario& s, bool trace) : s_(s), actors_(Rng(s.seed).fork(0xAC7)) {
    auto topology = fabric::make_clos(s.clos);
    auto network = fabric::Fabric::create(std::move(*topology), s.fabric);
    sim::SimOptions options;
    options.seed = s.seed;
    sim_ = std::make_unique<sim::Simulation>(std::move(*network), options);
    evs_ = table();
    for (const auto& [a, b] : s.pairs) {
      const auto qp = sim_->connect(a, setup(a, b, s.attr[0]), b, setup(b, a, s.attr[1]));
      if (!qp) failure_ = qp.error().message;
    }
    watch_ = std::make_unique<Watch>(s, *sim_, trace);
    if (s.hosts.memory_bps != 0 || s.hosts.contexts != 0 || allowed_error(s.kind) != kSuccess)
      sim_->on_intake(HostModel(s.hosts, *sim_));
    sim_->on_tick(kTurns, [this](Time now) { return tick(now); });
  }

  RunResult run() {
    RunResult out;
    if (failure_.empty()) play();
    out.failure = failure_;
    out.virtual_time = sim_->now() - Time{};
    out.packets = sim_->counters().data_sent;
    out.coverage = coverage();
    out.counts = faulted_ && out.packets >= 200 && sim_->qps() >= 2;
    return out;
  }

 private:
  std::shared_ptr<const path::EvTable> table() const {
    std::vector<path::EvValue> values(s_.evs);
    std::vector<std::uint8_t> ports(s_.evs);
    for (std::uint32_t i = 0; i < s_.evs; ++i) {
      values[i][0] = 0xC0;
      values[i][1] = static_cast<std::uint8_t>(i);
      ports[i] = static_cast<std::uint8_t>(i % s_.clos.planes);
    }
    auto made = path::EvTable::create(path::EvFormat::kUdp, path::EvOrder::kB, true, values, ports);
    return std::make_shared<path::EvTable>(std::move(*made));
  }

  cc::Qpcc* controller(fabric::HostId from, fabric::HostId to, const transport::QpAttr& attr) {
    cc::Qpcc*& known = controllers_[{from, to}];
    if (known != nullptr && s_.shared_controller) return known;
    if (s_.window_bytes != 0) {
      qpccs_.push_back(std::make_unique<cc::Qpcc>(cc::FixedWindow(s_.window_bytes)));
    } else {
      const auto params = cc::derive_nscc({.rate_bps = 100e9 * s_.clos.planes,
                                           .base_rtt = s_.policy.base_rtt,
                                           .mtu_bytes = attr.path_mtu + 84U,
                                           .trimming = s_.policy.ev.trimming});
      qpccs_.push_back(std::make_unique<cc::Qpcc>(cc::Nscc(*params, Time{1})));
    }
    return known = qpccs_.back().get();
  }

  sim::QpSetup setup(fabric::HostId from, fabric::HostId to, const transport::QpAttr& attr) {
    sim::QpSetup out;
    out.limits = s_.limits;
    out.policy = s_.policy;
    out.attr = attr;
    out.evs = evs_;
    out.qpcc = controller(from, to, attr);
    return out;
  }

  bool tick(Time now) {
    watch_->look();
    const auto qp = static_cast<sim::QpId>(actors_.below(sim_->qps()));
    transport::Qp& chosen = sim_->qp(qp);
    if (actors_.chance(s_.shrink))
      chosen.set_mpr_dest(static_cast<std::uint8_t>(actors_.below(s_.attr[0].mpr_dest + 2U)));
    if (actors_.chance(s_.deny)) control_evs(chosen.ev_set(), now);
    return watch_->failure().empty();
  }

  // Denies one of a quarter of the EVs, so that never all are denied, or permits any; one that is not GOOD
  // rather than one that is.
  void control_evs(path::EvSet& evs, Time now) {
    const bool deny = actors_.chance(0.5);
    path::EvIndex ev = 0;
    for (int tries = 0; tries < 8; ++tries) {
      ev = static_cast<path::EvIndex>(actors_.below(deny ? s_.evs / 4 : s_.evs));
      if (evs.state(ev) != path::EvState::kGood) break;
    }
    evs.set_state(ev, deny ? path::EvState::kDenied : path::EvState::kGood, now);
  }

  [[nodiscard]] bool all_done() const {
    for (const sim::Flow& f : sim_->flows())
      if (f.completed.is_never()) return false;
    return true;
  }

  void play() {
    for (const Message& m : s_.messages) sim_->send(m.qp, m.bytes, m.at, m.with_immediate);
    sim::RunEnd end;
    Time until = sim_->now();
    do {
      until = until + kSlice;
      end = sim_->run(until);
    } while (end.violation.empty() && watch_->failure().empty() && !end.quiet && !all_done() &&
             until - Time{} < kMostTime);
    if (end.violation.empty() && all_done()) end = sim_->run(until + kSettle);  // what is on its way
    failure_ = end.violation.empty() ? watch_->failure() : end.violation;
    if (failure_.empty()) failure_ = judge(s_, *sim_);
  }

  Coverage coverage() {
    Coverage out;
    out.add(std::string("kind: ") + name(s_.kind), 1);
    faults(out);
    errors(out);
    watch_->count(out);
    Coverage qps;
    for (sim::QpId id = 0; id < sim_->qps(); ++id) of_qp(qps, id);
    for (const auto& [what, count] : qps.counts()) out.add(what, count.times);
    return out;
  }

  void faults(Coverage& out) {
    using fabric::DropReason;
    const fabric::FabricCounters& f = sim_->network().counters();
    fabric::LinkCounters links;
    for (fabric::LinkId l = 0; l < sim_->network().topology().links.size(); ++l)
      links += sim_->network().link(l).counters;
    std::uint64_t hits = links.corrupted + f.duplicated + links.reordered;
    for (const DropReason r :
         {DropReason::kLinkDown, DropReason::kRandomLoss, DropReason::kEvLoss, DropReason::kBlackHole}) {
      const std::uint64_t n = fabric::sum(f.dropped[static_cast<std::size_t>(r)]);
      out.add(std::string("dropped: ") + fabric::name(r), n);
      hits += n;
    }
    out.add("fabric: corrupted", links.corrupted);
    out.add("fabric: duplicated", f.duplicated);
    out.add("fabric: reordered", links.reordered);
    out.add("fabric: trimmed", links.trimmed);
    faulted_ = hits != 0;
  }

  void errors(Coverage& out) const {
    static constexpr std::pair<transport::WcStatus, const char*> kErrors[] = {
        {transport::WcStatus::kWrFlushErr, "WR_FLUSH"},
        {transport::WcStatus::kRemInvReqErr, "REM_INV_REQ"},
        {transport::WcStatus::kRemAccessErr, "REM_ACCESS"},
        {transport::WcStatus::kRemOpErr, "REM_OP"},
        {transport::WcStatus::kRetryExcErr, "RETRY_EXC"}};
    for (const auto& [status, text] : kErrors)
      out.add(std::string("request: ") + text,
              static_cast<std::uint64_t>(
                  std::count_if(sim_->flows().begin(), sim_->flows().end(),
                                [&, s = status](const sim::Flow& f) { return f.status == s; })));
  }

  void of_qp(Coverage& out, sim::QpId id) const {
    static constexpr const char* kReasons[] = {"TRIMMED",       "TRIMMED_LASTHOP", "NO_BITMAP",
                                               "NO_PKT_BUFFER", "NO_RESOURCE",     "PSN_OOR_WINDOW",
                                               "UNEXP_EVENT"};
    const transport::Qp& qp = sim_->qp(id);
    const transport::QpCounters& c = qp.counters();
    for (std::size_t i = 0; i < transport::kRtxCauses; ++i)
      out.add(std::string("rtx: ") + transport::kRtxCauseNames[i], c.rtx_by_cause[i]);
    for (std::size_t i = 0; i < std::size(kReasons); ++i)
      out.add(std::string("NACK: ") + kReasons[i], c.rx_nack_by_reason[i]);
    const path::EvSetCounters& e = qp.ev_set().counters();
    out.add("EV: held by the floor", e.floor_hits);
    out.add("EV: fallback", e.fallback_picks);
    out.add("EV: replaced by a backup", e.replaced);
    out.add("QP: WriteIMM stall", c.wimm_stalls);
    out.add("QP: spurious retransmission", c.spurious_rtx);
    out.add("QP: probe", c.tx_probe);
    wraps(out, id, c);
  }

  void wraps(Coverage& out, sim::QpId id, const transport::QpCounters& c) const {
    std::uint64_t messages = 0;
    std::uint64_t immediates = 0;
    for (const sim::Flow& f : sim_->flows()) {
      if (f.qp != id || f.failed) continue;
      ++messages;
      immediates += f.with_immediate ? 1 : 0;
    }
    const auto wrapped = [](std::uint64_t first, std::uint64_t added, std::uint64_t mask) {
      return first + added > mask ? 1U : 0U;
    };
    const transport::QpAttr& a = s_.attr[id % 2];
    out.add("wrap: PSN", wrapped(a.sq_psn.value(), c.tx_new, Psn::kMask));
    out.add("wrap: MSN", wrapped(s_.policy.first_msn.value(), messages, Msn::kMask));
    out.add("wrap: RQMSN", wrapped(s_.policy.first_rqmsn.value(), immediates, Rqmsn::kMask));
    out.add("wrap: rcvd_bytes",
            wrapped(s_.policy.first_rcvd_bytes.value(), c.rx_placed_bytes / 256, RcvdUnits::kMask));
  }

  const Scenario& s_;
  std::shared_ptr<const path::EvTable> evs_;
  std::vector<std::unique_ptr<cc::Qpcc>> qpccs_;
  std::map<std::pair<fabric::HostId, fabric::HostId>, cc::Qpcc*> controllers_;
  std::unique_ptr<sim::Simulation> sim_;
  std::unique_ptr<Watch> watch_;
  Rng actors_;
  std::string failure_;
  bool faulted_ = false;
};

}  // namespace

RunResult run(const Scenario& scenario, bool trace) {
  return World(scenario, trace).run();
}

}  // namespace mrc::fault
