// SPDX-License-Identifier: BSD-3-Clause
// Two QPs, a wire between them and virtual time: what every transport test drives. One thread, no sleep.
#pragma once

#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "transport/port_status.h"
#include "transport/qp.h"
#include "wire/sizes.h"

namespace mrc::transport::test {

/// A UDP profile of `count` EVs spread over `planes` ports.
inline std::shared_ptr<const path::EvTable> make_table(std::size_t count, std::size_t planes) {
  std::vector<path::EvValue> values(count);
  std::vector<std::uint8_t> ports(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto sport = static_cast<std::uint16_t>(0xC000 + i);
    values[i][0] = static_cast<std::uint8_t>(sport >> 8);
    values[i][1] = static_cast<std::uint8_t>(sport & 0xFF);
    ports[i] = static_cast<std::uint8_t>(i % planes);
  }
  auto table = path::EvTable::create(path::EvFormat::kUdp, path::EvOrder::kB, true, values, ports);
  if (!table) throw std::runtime_error(table.error().message);
  return std::make_shared<const path::EvTable>(*table);
}

/// All attributes of RESET -> RTS, both ends alike.
inline QpAttr default_attr() {
  QpAttr attr;
  attr.dest_qpn = 0x100;
  attr.sq_psn = attr.rq_psn = Psn{1000};
  attr.timeout = 10;  // 1.05 ms
  return attr;
}

/// RESET -> RTS in the three steps of 2.6; the first refusal, or "".
inline std::string bring_up(Qp& qp, const QpAttr& attr, Time now) {
  const auto init = qp.modify(QpState::kInit, attr, kAttrHint | kAttrEvProfileId | kAttrCcProfileId, now);
  if (!init) return init.error().message;
  const auto rtr = qp.modify(
      QpState::kRtr, attr,
      kAttrMaxWimmDest | kAttrMprDest | kAttrCap | kAttrAv | kAttrPathMtu | kAttrDestQpn | kAttrRqPsn, now);
  if (!rtr) return rtr.error().message;
  const auto rts = qp.modify(QpState::kRts, attr,
                             kAttrMaxWimm | kAttrMpr | kAttrRetryCnt | kAttrTimeout | kAttrSqPsn, now);
  return rts ? "" : rts.error().message;
}

struct PairConfig {
  QpLimits limits;
  QpPolicy policy;
  QpAttr attr = default_attr();
  std::int64_t window_bytes = 1 << 20;
  std::optional<cc::NsccParams> nscc;  ///< instead of the fixed window
  cc::SendTest send_test = cc::SendTest::kMrc;
  std::size_t evs = 16;
  std::size_t planes = 4;
  Duration one_way = microseconds(5);
  std::size_t memory_bytes = 1 << 22;
  std::size_t burst = 32;
  Time start{1'000'000'000};
};

/// What the wire does with one packet.
struct Fate {
  bool drop = false;
  wire::Trim trim = wire::Trim::kNone;
  bool ce = false;
  Duration extra;  ///< added to the one-way delay
  int copies = 1;
};

inline cc::Qpcc make_controller(const PairConfig& config) {
  if (config.nscc) return cc::Qpcc(cc::Nscc(*config.nscc, config.start), config.send_test);
  return cc::Qpcc(cc::FixedWindow(config.window_bytes), config.send_test);
}

class Pair {
 public:
  enum Side : std::size_t { kA = 0, kB = 1 };
  struct Data {
    TxDesc desc;
    std::vector<std::uint8_t> payload;
  };
  struct Packet {
    Side to{};
    Fate fate;
    std::variant<Data, ControlDesc> what;
    [[nodiscard]] const TxDesc* data() const {
      const auto* d = std::get_if<Data>(&what);
      return d != nullptr ? &d->desc : nullptr;
    }
    [[nodiscard]] const ControlDesc* control() const { return std::get_if<ControlDesc>(&what); }
  };
  struct End {
    std::vector<std::uint8_t> source, target;
    std::vector<Completion> completions;
    bool place = true;  ///< false: accepted packets wait in `unplaced`
    std::vector<Psn> unplaced;
    Access access = Access::kOk;
    std::uint32_t up_mask = 0xF;
    std::uint16_t credits = 64;
  };

  explicit Pair(const PairConfig& config = {})
      : config_(config),
        now_(config.start),
        table_(make_table(config.evs, config.planes)),
        cc_{make_controller(config), make_controller(config)},
        qp_{std::make_unique<Qp>(0x100, config.limits, config.policy, table_, cc_[0], 1),
            std::make_unique<Qp>(0x101, config.limits, config.policy, table_, cc_[1], 2)} {
    for (Side side : {kA, kB}) {
      end[side].source.resize(config.memory_bytes);
      end[side].target.resize(config.memory_bytes, 0xEE);
      for (std::size_t i = 0; i < config.memory_bytes; ++i) {
        end[side].source[i] = static_cast<std::uint8_t>((i * 131 + (i >> 8) * 7 + side) & 0xFF);
      }
      const std::string error = bring_up(*qp_[side], config.attr, now_);
      if (!error.empty()) throw std::runtime_error(error);
    }
  }

  Qp& a() { return *qp_[kA]; }
  Qp& b() { return *qp_[kB]; }
  cc::Qpcc& cc(Side side) { return cc_[side]; }
  [[nodiscard]] Time now() const { return now_; }
  [[nodiscard]] const path::EvTable& table() const { return *table_; }

  PostResult write(std::uint64_t id, std::uint32_t length, std::uint64_t offset = 0, Side from = kA) {
    return qp_[from]->post_send({id, WrOpcode::kRdmaWrite, false, length, 1, offset, offset, 0});
  }
  PostResult write_imm(std::uint64_t id, std::uint32_t length, std::uint32_t imm, Side from = kA) {
    return qp_[from]->post_send({id, WrOpcode::kRdmaWriteWithImm, true, length, 1, 0, 0, imm});
  }
  /// Target of the other side holds what `from` sent.
  [[nodiscard]] bool arrived(std::uint64_t offset, std::uint64_t length, Side from = kA) const {
    return std::memcmp(end[from].source.data() + offset, end[1 - from].target.data() + offset, length) == 0;
  }

  /// Lets both ends send what they may, now.
  void pump() {
    bool any = true;
    while (any) {
      any = false;
      for (Side side : {kA, kB}) any = pump_side(side) || any;
    }
  }
  /// Runs until nothing is on the wire and no timer is due before `until`.
  void run_until(Time until) {
    pump();
    while (true) {
      Time next = earlier(qp_[kA]->wake().deadline, qp_[kB]->wake().deadline);
      if (!wire_.empty()) next = earlier(next, wire_.begin()->first.first);
      if (next > until) break;
      now_ = later(now_, next);
      while (!wire_.empty() && wire_.begin()->first.first <= now_) {
        const Packet packet = std::move(wire_.begin()->second);
        wire_.erase(wire_.begin());
        deliver(packet);
      }
      for (auto& qp : qp_) {
        if (qp->wake().deadline <= now_) qp->on_timer(now_);
      }
      pump();
      collect();
    }
    now_ = later(now_, until);
    collect();
  }
  void run_for(Duration d) { run_until(now_ + d); }

  std::function<Fate(const Packet&)> on_wire;         ///< decides each packet's fate
  std::function<void(const Packet&)> on_sent;         ///< sees each packet when it is handed over
  std::vector<TxDesc> sent;                           ///< all data packets, both directions
  std::vector<std::pair<Side, ControlDesc>> control;  ///< all control packets, with their sender
  End end[2];

  /// Control packets of one kind from one side.
  [[nodiscard]] std::size_t count(Side from, wire::Opcode op) const {
    std::size_t n = 0;
    for (const auto& [side, desc] : control) n += side == from && desc.opcode == op ? 1 : 0;
    return n;
  }

 private:
  bool pump_side(Side side) {
    PortCredits credits;
    credits.up_mask = end[side].up_mask;
    credits.credits.fill(end[side].credits);
    std::vector<ControlDesc> controls(config_.burst);
    const std::size_t n = qp_[side]->next_control(now_, credits, controls);
    for (std::size_t i = 0; i < n; ++i) {
      control.emplace_back(side, controls[i]);
      launch({static_cast<Side>(1 - side), {}, controls[i]});
    }
    std::vector<TxDesc> descs(config_.burst);
    const std::size_t m = qp_[side]->next_packets(now_, credits, descs);
    for (std::size_t i = 0; i < m; ++i) {
      sent.push_back(descs[i]);
      const auto* from = end[side].source.data() + descs[i].source;
      launch({static_cast<Side>(1 - side), {}, Data{descs[i], {from, from + descs[i].payload_bytes}}});
    }
    return n + m != 0;
  }
  void launch(Packet packet) {
    if (on_sent) on_sent(packet);
    if (on_wire) packet.fate = on_wire(packet);
    if (packet.fate.drop) return;
    for (int i = 0; i < packet.fate.copies; ++i) {
      wire_.emplace(std::make_pair(now_ + config_.one_way + packet.fate.extra, order_++), packet);
    }
  }
  void deliver(const Packet& packet) {
    Qp& qp = *qp_[packet.to];
    wire::RxMeta meta;
    meta.arrival = now_;
    meta.ce = packet.fate.ce;
    meta.trim = packet.fate.trim;
    if (const TxDesc* d = packet.data()) {
      meta.port = d->port;
      meta.entropy = (*table_)[d->ev].entropy;
      deliver_data(qp, packet, *d, meta);
      return;
    }
    const ControlDesc& c = *packet.control();
    meta.port = c.port;
    meta.entropy = c.entropy;
    switch (c.opcode) {
      case wire::Opcode::kSack:
        qp.on_sack(c.sack, meta);
        break;
      case wire::Opcode::kNack:
        qp.on_nack(c.nack, meta);
        break;
      case wire::Opcode::kAck:
        qp.on_ack(c.ack, meta);
        break;
      case wire::Opcode::kProbe:
        qp.on_probe(c.probe, meta);
        break;
      case wire::Opcode::kEndpointRequest: {  // the host answers for its endpoint
        ControlDesc answer;
        answer.opcode = wire::Opcode::kEndpointResponse;
        answer.port = c.port;
        answer.response = response_to(c.request);
        launch({static_cast<Side>(1 - packet.to), {}, answer});
        break;
      }
      case wire::Opcode::kEndpointResponse:
        qp.on_ev_probe_answer(c.response, now_);
        break;
      default:
        throw std::logic_error("not a control packet");
    }
  }
  void deliver_data(Qp& qp, const Packet& packet, const TxDesc& d, const wire::RxMeta& meta) {
    wire::BthView bth{d.opcode, d.se, d.a, d.rtx, d.ts, d.psn};
    if (packet.fate.trim != wire::Trim::kNone) {
      qp.on_trimmed({bth, d.tx_timestamp}, meta);
      return;
    }
    wire::WriteView w;
    w.bth = bth;
    w.rqmsn = d.rqmsn;
    w.msn = d.msn;
    w.tx_timestamp = d.tx_timestamp;
    w.va = d.va;
    w.rkey = d.rkey;
    w.dmalen = d.dmalen;
    w.immdt = d.immdt;
    w.payload_bytes = d.payload_bytes;
    w.nominal_bytes = wire::write_nominal_bytes(d.opcode, d.ts, d.payload_bytes);
    End& e = end[packet.to];
    if (qp.on_write(w, meta, e.access) != WriteVerdict::kPlace) return;
    const auto& payload = std::get<Data>(packet.what).payload;
    if (!payload.empty()) std::memcpy(e.target.data() + d.va, payload.data(), payload.size());
    if (e.place) {
      qp.placed(d.psn);
    } else {
      e.unplaced.push_back(d.psn);
    }
  }
  void collect() {
    for (Side side : {kA, kB}) {
      Completion batch[32];
      while (const std::size_t n = qp_[side]->poll_completions(batch)) {
        end[side].completions.insert(end[side].completions.end(), batch, batch + n);
      }
    }
  }

  PairConfig config_;
  Time now_;
  std::shared_ptr<const path::EvTable> table_;
  cc::Qpcc cc_[2];
  std::unique_ptr<Qp> qp_[2];
  std::map<std::pair<Time, std::uint64_t>, Packet> wire_;
  std::uint64_t order_ = 0;
};

}  // namespace mrc::transport::test
