// SPDX-License-Identifier: BSD-3-Clause
// One QP against hand-made packets: the peer is the test.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "pair.h"

namespace mrc::transport::test {

inline PairConfig with_mtu(std::uint16_t mtu) {
  PairConfig config;
  config.attr.path_mtu = mtu;
  return config;
}

/// A requestor whose peer is played by the test.
class Sender {
 public:
  explicit Sender(const PairConfig& config = {})
      : table(make_table(config.evs, config.planes)),
        cc(make_controller(config)),
        qp(0x100, config.limits, config.policy, table, cc, 1),
        now(config.start),
        first(config.attr.sq_psn) {
    const std::string error = bring_up(qp, config.attr, now);
    if (!error.empty()) throw std::runtime_error(error);
  }

  PostResult post(std::uint32_t length, bool imm = false, std::uint64_t id = 0) {
    return qp.post_send({id, imm ? WrOpcode::kRdmaWriteWithImm : WrOpcode::kRdmaWrite, imm, length, 0x77,
                         0x10000, 0x2000, imm ? 0xFEEDU : 0U});
  }
  /// Everything that may be sent now, at most `limit` packets.
  std::vector<TxDesc> send(std::size_t limit = 100000, std::uint32_t up_mask = 0xF) {
    std::vector<TxDesc> out(limit);
    PortCredits credits;
    credits.up_mask = up_mask;
    credits.credits.fill(60000);
    out.resize(qp.next_packets(now, credits, out));
    return out;
  }
  std::vector<ControlDesc> control(std::uint32_t up_mask = 0xF) {
    std::vector<ControlDesc> out(256);
    PortCredits credits;
    credits.up_mask = up_mask;
    credits.credits.fill(60000);
    out.resize(qp.next_control(now, credits, out));
    return out;
  }
  /// The SACK that `trigger` would cause, with everything up to `cack` received and `bits` from cack + 1 on.
  [[nodiscard]] wire::SackView sack_for(const TxDesc& trigger, Psn cack, std::uint64_t bits = 0) const {
    wire::SackView s;
    s.cack_psn = cack;
    s.ack_psn_offset = static_cast<std::int16_t>(trigger.psn - cack);
    s.entropy = (*table)[trigger.ev].entropy;
    s.tx_timestamp = trigger.tx_timestamp;
    s.rtx = trigger.rtx;
    s.sack_offset = 1;
    s.sack_bitmap = bits;
    s.ooo_count = static_cast<std::uint16_t>(__builtin_popcountll(bits));
    s.rcvd_bytes = rcvd;
    return s;
  }
  void sack(const wire::SackView& s) {
    wire::RxMeta meta;
    meta.arrival = now;
    qp.on_sack(s, meta);
  }
  void ack(Psn psn, std::uint32_t msn, wire::Syndrome syndrome = wire::Syndrome::kAck) {
    wire::RxMeta meta;
    meta.arrival = now;
    qp.on_ack({psn, static_cast<std::uint8_t>(syndrome), msn}, meta);
  }
  void nack(const TxDesc& packet, wire::NackReason reason, bool with_timestamp = true) {
    wire::NackView n;
    n.reason = reason;
    n.nack_psn = packet.psn;
    n.entropy = (*table)[packet.ev].entropy;
    if (with_timestamp) n.tx_timestamp = packet.tx_timestamp;
    wire::RxMeta meta;
    meta.arrival = now;
    qp.on_nack(n, meta);
  }
  /// What a responder answers to a probe.
  void answer(const ControlDesc& probe, Psn cack, std::uint64_t bits = 0,
              wire::EvMark mark = wire::EvMark::kNone) {
    wire::SackView s;
    s.pr = true;
    s.m = mark;
    s.ack_psn_offset = static_cast<std::int16_t>(probe.probe.probe_id);
    s.entropy = probe.entropy;
    s.tx_timestamp = probe.probe.tx_timestamp;
    s.cack_psn = cack;
    s.sack_offset = 1;
    s.sack_bitmap = bits;
    s.ooo_count = static_cast<std::uint16_t>(__builtin_popcountll(bits));
    s.rcvd_bytes = rcvd;
    sack(s);
  }
  /// The responder's byte count grows by `packets`.
  void count(std::span<const TxDesc> packets) {
    for (const TxDesc& d : packets) bytes += wire::write_nominal_bytes(d.opcode, d.ts, d.payload_bytes);
    rcvd = RcvdUnits{static_cast<std::uint32_t>(((bytes + 255) >> 8) & RcvdUnits::kMask)};
  }
  void wait(Duration d) { now = now + d; }
  void tick() { qp.on_timer(now); }
  std::vector<Completion> poll() {
    std::vector<Completion> out(64);
    out.resize(qp.poll_completions(out));
    return out;
  }
  [[nodiscard]] std::uint64_t rtx(RtxCause cause) const {
    return qp.counters().rtx_by_cause[static_cast<std::size_t>(cause)];
  }

  std::shared_ptr<const path::EvTable> table;
  cc::Qpcc cc;
  Qp qp;
  Time now;
  Psn first;
  RcvdUnits rcvd;
  std::uint64_t bytes = 0;
};

/// A responder whose peer is played by the test. PMTU 1024 unless the attributes say otherwise.
class Receiver {
 public:
  static PairConfig defaults() {
    PairConfig config;
    config.attr.path_mtu = 1024;
    return config;
  }
  explicit Receiver(const PairConfig& config = defaults())
      : table(make_table(config.evs, config.planes)),
        cc(cc::FixedWindow(config.window_bytes)),
        qp(0x101, config.limits, config.policy, table, cc, 1),
        now(config.start),
        first(config.attr.rq_psn),
        pmtu(config.attr.path_mtu) {
    const std::string error = bring_up(qp, config.attr, now);
    if (!error.empty()) throw std::runtime_error(error);
  }

  /// A one-packet Write with PSN first + index.
  [[nodiscard]] wire::WriteView only(std::int32_t index, std::uint32_t length = 1024,
                                     bool imm = false) const {
    return packet(imm ? wire::Opcode::kWriteOnlyImm : wire::Opcode::kWriteOnly, index, length, length);
  }
  [[nodiscard]] wire::WriteView packet(wire::Opcode op, std::int32_t index, std::uint32_t payload,
                                       std::uint32_t dmalen) const {
    wire::WriteView w;
    w.bth.opcode = op;
    w.bth.psn = first + index;
    w.bth.ts = true;
    w.tx_timestamp = Tick{static_cast<std::uint32_t>(100 + index)};
    w.dmalen = dmalen;
    w.payload_bytes = payload;
    w.nominal_bytes = wire::write_nominal_bytes(op, true, payload);
    w.immdt = static_cast<std::uint32_t>(0xF000 + index);
    return w;
  }
  [[nodiscard]] wire::RxMeta meta(std::uint8_t port = 0, bool ce = false) const {
    wire::RxMeta m;
    m.arrival = now;
    m.port = port;
    m.ce = ce;
    m.entropy = 0xABCD0000U + port;
    return m;
  }
  /// Accepts and places.
  WriteVerdict write(const wire::WriteView& w, std::uint8_t port = 0, bool ce = false,
                     Access access = Access::kOk) {
    const WriteVerdict v = qp.on_write(w, meta(port, ce), access);
    if (v == WriteVerdict::kPlace) qp.placed(w.bth.psn);
    return v;
  }
  std::vector<ControlDesc> control(std::uint32_t up_mask = 0xF, std::size_t limit = 256) {
    std::vector<ControlDesc> out(limit);
    PortCredits credits;
    credits.up_mask = up_mask;
    credits.credits.fill(60000);
    out.resize(qp.next_control(now, credits, out));
    return out;
  }
  std::vector<wire::SackView> sacks() {
    return views<wire::SackView>(wire::Opcode::kSack, &ControlDesc::sack);
  }
  std::vector<wire::NackView> nacks() {
    return views<wire::NackView>(wire::Opcode::kNack, &ControlDesc::nack);
  }
  std::vector<wire::AckView> acks() { return views<wire::AckView>(wire::Opcode::kAck, &ControlDesc::ack); }
  /// Drains control packets and keeps them for sacks(), nacks(), acks().
  void drain() { last = control(); }
  std::vector<Completion> poll() {
    std::vector<Completion> out(256);
    out.resize(qp.poll_completions(out));
    return out;
  }

  std::shared_ptr<const path::EvTable> table;
  cc::Qpcc cc;
  Qp qp;
  Time now;
  Psn first;
  std::uint32_t pmtu;
  std::vector<ControlDesc> last;

 private:
  template <class View>
  std::vector<View> views(wire::Opcode op, View ControlDesc::*member) const {
    std::vector<View> out;
    for (const ControlDesc& c : last) {
      if (c.opcode == op) out.push_back(c.*member);
    }
    return out;
  }
};

}  // namespace mrc::transport::test
