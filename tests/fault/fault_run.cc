// SPDX-License-Identifier: BSD-3-Clause
#include "fault_run.h"

#include <array>
#include <numeric>

namespace mrc::fault {
namespace {

constexpr Duration kSlice = milliseconds(1);
constexpr Duration kMostTime = seconds(4);  ///< virtual; the longest back-off is far below
constexpr Duration kSettle = milliseconds(2);

/// The world of a scenario.
class World {
 public:
  explicit World(const Scenario& s) : s_(s) {
    auto topology = fabric::make_clos(s.clos);
    auto network = fabric::Fabric::create(std::move(*topology), s.fabric);
    sim::SimOptions options;
    options.seed = s.seed;
    sim_ = std::make_unique<sim::Simulation>(std::move(*network), options);
    evs_ = table();
    for (const auto& [a, b] : s.pairs) {
      const auto qp = sim_->connect(a, setup(s.attr[0]), b, setup(s.attr[1]));
      if (!qp) failure_ = qp.error().message;
    }
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

  sim::QpSetup setup(const transport::QpAttr& attr) {
    if (s_.window_bytes != 0) {
      qpccs_.push_back(std::make_unique<cc::Qpcc>(cc::FixedWindow(s_.window_bytes)));
    } else {
      const auto params = cc::derive_nscc({.rate_bps = 100e9 * s_.clos.planes,
                                           .base_rtt = s_.policy.base_rtt,
                                           .mtu_bytes = attr.path_mtu + 84U,
                                           .trimming = s_.policy.ev.trimming});
      qpccs_.push_back(std::make_unique<cc::Qpcc>(cc::Nscc(*params, Time{1})));
    }
    sim::QpSetup out;
    out.limits = s_.limits;
    out.policy = s_.policy;
    out.attr = attr;
    out.evs = evs_;
    out.qpcc = qpccs_.back().get();
    return out;
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
    } while (end.violation.empty() && !end.quiet && !all_done() && until - Time{} < kMostTime);
    if (end.violation.empty() && all_done()) end = sim_->run(until + kSettle);  // what is on its way
    failure_ = end.violation;
    if (failure_.empty()) failure_ = judge();
  }

  std::string judge() const {
    std::uint64_t failed = 0;
    for (const sim::Flow& f : sim_->flows()) {
      if (f.completed.is_never())
        return "flow " + std::to_string(f.id) + " never completed: the run is stuck (I3)";
      if (!f.failed && f.placed_bytes != f.bytes) return "flow " + std::to_string(f.id) + " lacks bytes (I5)";
      failed += f.failed ? 1 : 0;
    }
    if (s_.kind != Kind::kDead && failed != 0)
      return std::to_string(failed) + " flows failed although the network came back (I10)";
    if (!sim_->network().conserves()) return "the fabric does not conserve packets";
    for (sim::QpId id = 0; id < sim_->qps(); ++id) {
      const transport::Qp& qp = sim_->qp(id);
      if (qp.state() != transport::QpState::kRts) continue;
      const std::int64_t share = qp.inflight_share_bytes();
      if (qp.charged_bytes() != 0 || !qp.send_idle())
        return "QP " + std::to_string(id) + " has charged packets at rest (D7)";
      if (share > 0 || share < -255)
        return "QP " + std::to_string(id) + " keeps " + std::to_string(share) +
               " bytes in flight at rest (D7)";
      const transport::QpCounters& c = qp.counters();
      if (std::accumulate(c.rtx_by_cause.begin(), c.rtx_by_cause.end(), std::uint64_t{0}) < c.tx_rtx)
        return "QP " + std::to_string(id) + " retransmitted without a cause (I2)";
    }
    return {};
  }

  Coverage coverage() {
    Coverage out;
    out.add(std::string("kind: ") + name(s_.kind));
    faults(out);
    for (sim::QpId id = 0; id < sim_->qps(); ++id) of_qp(out, id);
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

  void of_qp(Coverage& out, sim::QpId id) const {
    static constexpr const char* kCauses[] = {"NACK trimmed", "NACK resource", "NACK window", "inferred loss",
                                              "EV flush",     "ACK timeout",   "tail repeat"};
    static constexpr const char* kReasons[] = {"TRIMMED",       "TRIMMED_LASTHOP", "NO_BITMAP",
                                               "NO_PKT_BUFFER", "NO_RESOURCE",     "PSN_OOR_WINDOW",
                                               "UNEXP_EVENT"};
    const transport::Qp& qp = sim_->qp(id);
    const transport::QpCounters& c = qp.counters();
    for (std::size_t i = 0; i < std::size(kCauses); ++i)
      if (i != static_cast<std::size_t>(transport::RtxCause::kNackResource))
        out.add(std::string("rtx: ") + kCauses[i], c.rtx_by_cause[i]);
    // A simulated host never runs out of buffers, and never refuses: those three reasons are not met here.
    for (const std::size_t i : {0, 1, 5})
      out.add(std::string("NACK: ") + kReasons[i], c.rx_nack_by_reason[i]);
    const path::EvSetCounters& e = qp.ev_set().counters();
    out.add("EV: to SKIP", e.skip_marks);
    out.add("EV: SKIP to GOOD", e.skip_restored);
    out.add("EV: to ASSUMED_BAD", e.assumed_bad);
    out.add("EV: ASSUMED_BAD to GOOD", e.recovered);
    out.add("EV: held by the floor", e.floor_hits);
    out.add("QP: error", qp.state() == transport::QpState::kError ? 1 : 0);
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
  std::unique_ptr<sim::Simulation> sim_;
  std::string failure_;
  bool faulted_ = false;
};

}  // namespace

RunResult run(const Scenario& scenario) {
  return World(scenario).run();
}

}  // namespace mrc::fault
