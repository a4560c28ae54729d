// SPDX-License-Identifier: BSD-3-Clause
// A peer that sends anything: fields near what is plausible, and far from it, at any moment and in any state.
// Whatever it sends may become a drop, a NACK, a NAK or ERROR; it may not break an assertion, a count or the
// order of completions.
#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <memory>

#include "base/rng.h"
#include "bring_up.h"
#include "path/ev_table.h"
#include "replay.h"
#include "transport/qp.h"
#include "violation.h"

namespace mrc::property {
namespace {

using transport::QpState;

class HostileRun {
 public:
  HostileRun(std::uint64_t seed, cc::Qpcc& qpcc) : rng_(seed), qpcc_(qpcc) {
    std::vector<path::EvValue> values(kEvs);
    std::vector<std::uint8_t> ports(kEvs);
    for (std::uint8_t i = 0; i < kEvs; ++i) {
      values[i][0] = 0xC0;
      values[i][1] = i;
      ports[i] = i % kPlanes;
    }
    auto table = path::EvTable::create(path::EvFormat::kUdp, {}, false, values, ports);
    if (!table) violate("path", table.error().message);
    table_ = std::make_shared<const path::EvTable>(std::move(*table));
    limits_.max_send_wr = static_cast<std::uint32_t>(rng_.between(1, 16));
    limits_.max_recv_wr = static_cast<std::uint32_t>(rng_.between(0, 16));
    limits_.max_mpr = limits_.max_mpr_dest = static_cast<std::uint8_t>(rng_.between(1, 3));
    limits_.max_wimm_dest = static_cast<std::uint16_t>(rng_.between(1, 4));
    transport::QpPolicy policy;
    policy.oow_nack = rng_.chance(0.8);
    policy.strict_rqmsn = rng_.chance(0.3);
    policy.inflight_resync = rng_.chance(0.5);
    qp_ = std::make_unique<transport::Qp>(0x123456, limits_, policy, table_, qpcc_, seed);
    bring_up();
  }

  void advance() {
    now_ = now_ + nanoseconds(static_cast<std::int64_t>(rng_.below(rng_.chance(0.02) ? 3'000'000 : 3000)));
    step();
    drain();
    check();
  }
  [[nodiscard]] std::int64_t share_bytes() const { return qp_->inflight_share_bytes(); }

 private:
  static constexpr std::uint8_t kEvs = 6;
  static constexpr std::uint8_t kPlanes = 2;

  void bring_up() {
    attr_.dest_qpn = 77;
    attr_.sq_psn = Psn{static_cast<std::uint32_t>(rng_.next() & 0xFFFFFF)};
    attr_.rq_psn = Psn{static_cast<std::uint32_t>(rng_.next() & 0xFFFFFF)};
    attr_.path_mtu = 256;
    attr_.mpr = limits_.max_mpr;
    attr_.mpr_dest = limits_.max_mpr_dest;
    attr_.max_wimm = static_cast<std::uint16_t>(rng_.between(1, 4));
    attr_.max_wimm_dest = limits_.max_wimm_dest;
    attr_.timeout = static_cast<std::uint8_t>(rng_.between(5, 9));
    attr_.linear_cnt = static_cast<std::uint8_t>(rng_.below(8));
    attr_.exp_cnt = static_cast<std::uint8_t>(rng_.below(26));
    attr_.dynamic_mpr = rng_.chance(0.5);
    attr_.trim_nack = rng_.chance(0.8);
    property::bring_up(*qp_, attr_, now_);
  }

  void reset() {
    const auto done = qp_->modify(QpState::kReset, attr_, transport::kAttrState, now_);
    if (!done) violate("MRC 6.1", done.error().message);
    if (qp_->inflight_share_bytes() != 0)
      violate("I1", "after RESET the share is ", qp_->inflight_share_bytes());
    placing_.clear();
    sends_.clear();
    receives_.clear();
  }

  void step() {
    switch (rng_.below(16)) {
      case 0:
      case 1:
        post();
        break;
      case 2:
      case 3:
      case 4:
        send();
        break;
      case 5:
      case 6:
        qp_->on_sack(random_sack(), meta());
        break;
      case 7:
        qp_->on_nack(random_nack(), meta());
        break;
      case 8:
        qp_->on_ack(random_ack(), meta());
        break;
      case 9:
        qp_->on_probe(random_probe(), meta());
        break;
      case 10:
      case 11:
      case 12:
        write();
        break;
      case 13:
        place();
        break;
      case 14:
        trimmed();
        break;
      default:
        rare();
        break;
    }
    if (qp_->wake().deadline <= now_) qp_->on_timer(now_);
  }

  void rare() {
    if (qp_->state() == QpState::kError && rng_.chance(0.5)) {
      reset();
      bring_up();
    }
    switch (rng_.below(40)) {
      case 0:
        qp_->on_poll_gap(now_, Duration{static_cast<std::int64_t>(rng_.below(200'000))});
        break;
      case 1: {
        const auto port = static_cast<std::uint8_t>(rng_.below(kPlanes));
        up_ ^= 1U << port;
        qp_->on_port_change(port, (up_ >> port & 1U) != 0, now_);
        break;
      }
      case 2:
        reset();
        bring_up();
        break;
      default:
        break;
    }
  }

  void post() {
    if (rng_.chance(0.4)) {
      if (qp_->post_recv({.wr_id = next_id_}) == transport::PostResult::kOk) receives_.push_back(next_id_++);
      return;
    }
    transport::WorkRequest wr;
    wr.wr_id = next_id_;
    wr.length_bytes = static_cast<std::uint32_t>(rng_.below(rng_.chance(0.1) ? 60'000 : 2000));
    if (rng_.chance(0.5)) wr.opcode = transport::WrOpcode::kRdmaWriteWithImm;
    if (qp_->post_send(wr) == transport::PostResult::kOk) sends_.push_back(next_id_++);
  }

  transport::PortCredits credits() {
    transport::PortCredits c;
    for (std::size_t p = 0; p < kPlanes; ++p) c.credits[p] = static_cast<std::uint16_t>(rng_.below(8));
    c.up_mask = up_;
    return c;
  }

  void send() {
    std::array<transport::TxDesc, 8> data;
    std::array<transport::ControlDesc, 8> control;
    transport::PortCredits c = credits();
    qp_->next_packets(now_, c, data);
    qp_->next_control(now_, c, control);
  }

  wire::RxMeta meta() {
    wire::RxMeta m;
    m.arrival = now_;
    m.entropy =
        rng_.chance(0.9) ? (*table_)[rng_.below(kEvs)].entropy : static_cast<std::uint32_t>(rng_.next());
    m.port = static_cast<std::uint8_t>(rng_.below(kPlanes));
    m.ce = rng_.chance(0.2);
    return m;
  }

  /// Mostly near `around`, sometimes anywhere.
  Psn near(Psn around) {
    if (rng_.chance(0.05)) return Psn{static_cast<std::uint32_t>(rng_.next() & 0xFFFFFF)};
    return around + (static_cast<std::int32_t>(rng_.below(80)) - 40);
  }
  std::int16_t any16() {
    return static_cast<std::int16_t>(rng_.chance(0.8) ? static_cast<std::int64_t>(rng_.below(60)) - 20
                                                      : static_cast<std::int64_t>(rng_.next()));
  }

  wire::SackView random_sack() {
    wire::SackView s;
    s.rtx = rng_.chance(0.2);
    s.m = static_cast<wire::EvMark>(rng_.chance(0.8) ? 0 : rng_.below(4));
    s.pr = rng_.chance(0.2);
    s.ack_psn_offset = any16();
    s.entropy = meta().entropy;
    s.cack_psn = near(rng_.chance(0.5) ? qp_->unack_psn() : qp_->max_psn_sent());
    s.mpr = static_cast<std::uint8_t>(rng_.below(256));
    s.sack_offset = rng_.chance(0.7) ? std::int16_t{1} : any16();
    s.sack_bitmap = rng_.next() & rng_.next() & (rng_.chance(0.7) ? 0xFF : ~std::uint64_t{0});
    s.tx_timestamp = tick_of(now_ - nanoseconds(static_cast<std::int64_t>(rng_.below(100'000))));
    s.ooo_count = static_cast<std::uint16_t>(rng_.below(0x8000));
    s.rcv_cwnd_pen = static_cast<std::uint8_t>(rng_.below(128));
    s.restore_cwnd = rng_.chance(0.5);
    s.rcvd_bytes = RcvdUnits{static_cast<std::uint32_t>(rng_.below(rng_.chance(0.1) ? 1 << 24 : 3000))};
    return s;
  }

  wire::NackView random_nack() {
    static constexpr std::uint8_t kCodes[] = {1, 2, 6, 7, 10, 11, 25, 0, 3, 255};
    wire::NackView n;
    n.reason = static_cast<wire::NackReason>(kCodes[rng_.below(rng_.chance(0.05) ? std::size(kCodes) : 6)]);
    n.entropy = meta().entropy;
    n.nack_psn = near(qp_->unack_psn());
    n.tx_timestamp = tick_of(now_ - nanoseconds(static_cast<std::int64_t>(rng_.below(100'000))));
    return n;
  }

  wire::AckView random_ack() {
    wire::AckView a;
    a.psn = near(rng_.chance(0.5) ? qp_->unack_psn() : qp_->max_psn_sent());
    a.syndrome = rng_.chance(0.97) ? std::uint8_t{0x1F} : static_cast<std::uint8_t>(rng_.next());
    a.msn = static_cast<std::uint32_t>(rng_.next() & 0xFFFFFF);
    return a;
  }

  wire::ProbeView random_probe() {
    wire::ProbeView p;
    p.probe_id = static_cast<std::uint16_t>(rng_.next());
    p.has_timestamp = rng_.chance(0.8);
    return p;
  }

  void write() {
    wire::WriteView w;
    w.bth.opcode = static_cast<wire::Opcode>(0xC6 + rng_.below(6));
    w.bth.a = rng_.chance(0.3);
    w.bth.rtx = rng_.chance(0.3);
    w.bth.ts = rng_.chance(0.9);
    w.bth.se = rng_.chance(0.1);
    w.bth.psn = near(qp_->cack_psn() + 10);
    w.dmalen = static_cast<std::uint32_t>(rng_.chance(0.95) ? 256 : rng_.below(3000));
    if (!wire::is_first(w.bth.opcode) || !wire::is_last(w.bth.opcode)) w.dmalen += 256;
    w.payload_bytes = rng_.chance(0.98) ? 256 : static_cast<std::uint32_t>(rng_.below(5000));
    w.rqmsn = Rqmsn{static_cast<std::uint32_t>(rng_.below(4))};
    w.nominal_bytes = w.payload_bytes + 88;
    const auto access = rng_.chance(0.99) ? transport::Access::kOk : transport::Access::kDenied;
    if (qp_->on_write(w, meta(), access) == transport::WriteVerdict::kPlace) placing_.push_back(w.bth.psn);
  }

  void trimmed() {
    wire::TrimmedView t;
    t.bth.opcode = wire::Opcode::kWriteMiddle;
    t.bth.psn = near(qp_->cack_psn());
    wire::RxMeta m = meta();
    m.trim = rng_.chance(0.5) ? wire::Trim::kTrimmed : wire::Trim::kTrimmedLasthop;
    qp_->on_trimmed(t, m);
  }

  /// The host's side keeps its contract: each accepted packet is placed once, or fails, in any order.
  void place() {
    for (std::uint64_t n = rng_.below(6); n > 0 && !placing_.empty(); --n) {
      const std::size_t i = rng_.below(placing_.size());
      const Psn psn = placing_[i];
      placing_.erase(placing_.begin() + static_cast<std::ptrdiff_t>(i));
      if (rng_.chance(0.002)) {
        qp_->place_failed(psn, wire::Syndrome::kRemoteOperational);
      } else {
        qp_->placed(psn);
      }
    }
  }

  void drain() {
    std::array<transport::Completion, 4> wcs;
    for (std::size_t n; (n = qp_->poll_completions(wcs)) > 0;) {
      for (std::size_t i = 0; i < n; ++i) {
        auto& posted = wcs[i].opcode == transport::WcOpcode::kRdmaWrite ? sends_ : receives_;
        if (posted.empty() || posted.front() != wcs[i].wr_id)
          violate("I5", "completion of ", wcs[i].wr_id, " is not of the oldest posted");
        posted.pop_front();
      }
    }
  }

  void check() {
    if (qp_->state() == QpState::kError && !(sends_.empty() && receives_.empty()))
      violate("I5", "in ERROR ", sends_.size(), " requests and ", receives_.size(),
              " receives are not flushed");
    const std::int32_t in_window = qp_->max_psn_sent() - qp_->unack_psn();
    if (in_window < 0 || in_window > std::int32_t{attr_.mpr} * 128)
      violate("D2", in_window, " PSNs are outstanding");
    if (qp_->placed_psn().after(qp_->cack_psn())) violate("D4", "placed beyond what is received");
    // What the window of a shared controller holds back is set going by news of the sibling that fills it
    // (D7).
    const bool waits_for_sibling = qp_->cc_blocked() && qpcc_.inflight_bytes() != share_bytes();
    const transport::Wake wake = qp_->wake();
    if (qp_->state() == QpState::kRts && !qp_->send_idle() && !wake.tx_ready && !wake.control_ready &&
        !waits_for_sibling && wake.deadline.is_never())
      violate("I3", "unfinished work, no packet and no deadline");
  }

  Rng rng_;
  cc::Qpcc& qpcc_;
  std::shared_ptr<const path::EvTable> table_;
  transport::QpLimits limits_;
  transport::QpAttr attr_;
  std::unique_ptr<transport::Qp> qp_;
  Time now_{5'000'000'000};
  std::uint32_t up_ = (1U << kPlanes) - 1;
  std::uint64_t next_id_ = 1;
  std::deque<std::uint64_t> sends_, receives_;
  std::vector<Psn> placing_;
};

/// Two QPs on one controller (I1): its inflight is the sum of their shares, and 0 when both are gone.
void attack(std::uint64_t seed) {
  cc::Qpcc qpcc(cc::FixedWindow(1 << (12 + seed % 9)));
  {
    HostileRun runs[] = {{seed * 2, qpcc}, {seed * 2 + 1, qpcc}};
    for (int i = 0; i < 400; ++i) {
      for (HostileRun& r : runs) r.advance();
      const std::int64_t sum = runs[0].share_bytes() + runs[1].share_bytes();
      if (qpcc.inflight_bytes() != sum)
        violate("I1", "the controller holds ", qpcc.inflight_bytes(), " B, its QPs ", sum);
    }
  }
  if (qpcc.inflight_bytes() != 0)
    violate("I1", "without QPs the controller holds ", qpcc.inflight_bytes(), " B");
}

TEST(Hostile, NothingAPeerSendsBreaksTheQp) {
  const auto [first, last] = testing::seeds_to_run(1000);
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    testing::replay_by("property_test --gtest_filter=Hostile.* with MRC_TEST_SEED=", seed);
    try {
      attack(seed);
    } catch (const Violation& broken) {
      FAIL() << "MRC_TEST_SEED=" << seed << ": " << broken.what();
    }
  }
}

}  // namespace
}  // namespace mrc::property
