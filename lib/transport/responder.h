// SPDX-License-Identifier: BSD-3-Clause
// The receiving half of a QP (chapter 3): acceptance, completion in order, SACK, NACK, Transport ACK and NAK.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "transport/bit_ring.h"
#include "transport/control_queue.h"
#include "transport/qp_context.h"
#include "transport/receive_queue.h"
#include "transport/sack_builder.h"
#include "transport/seq.h"

namespace mrc::transport {

/// Thread rule: as Qp. failed() tells the Qp that a NAK is due, which ends both halves (D17). Sources:
/// responder.cc acceptance and placement, responder_control.cc what is sent back.
class Responder {
 public:
  explicit Responder(QpContext& context);

  void start();  ///< INIT -> RTR
  void reset();
  void stop();  ///< ERROR: receives are flushed, nothing is sent but the NAK that caused it

  [[nodiscard]] ReceiveQueue& receive_queue() { return rq_; }

  // C3. Some count the padding in BTH.pad, some pad silently.
  void settle_length(wire::WriteView& write) const {
    if (write.dmalen > kMaxMessageBytes) return;
    const std::uint32_t length = length_of(write.bth.opcode, write.dmalen);
    const std::uint32_t there = write.payload_bytes + write.pad_bytes;
    if (there != ((length + 3) & ~3U)) return;
    write.payload_bytes = length;
    write.pad_bytes = there - length;
  }
  WriteVerdict on_write(const wire::WriteView& write, const wire::RxMeta& meta, Access access);
  void on_trimmed(const wire::TrimmedView& packet, const wire::RxMeta& meta);
  void on_probe(const wire::ProbeView& probe, const wire::RxMeta& meta);
  void placed(Psn psn);
  void place_failed(Psn psn, wire::Syndrome nak);
  std::size_t next_control(Time now, PortCredits& credits, std::span<ControlDesc> out);

  /// Dynamic MPR (D16): the window that SACKs advertise from now on, in blocks, 1 to the attribute mpr_dest.
  void set_window(std::uint8_t blocks);
  [[nodiscard]] std::uint8_t window_blocks() const {
    return static_cast<std::uint8_t>(window_pkts_ / kPsnsPerMprUnit);
  }

  /// Responder flow control (6.5); percent of what receives that is in use.
  void set_occupancy(unsigned percent);
  [[nodiscard]] std::uint8_t penalty() const { return penalty_; }

  [[nodiscard]] bool control_ready() const { return sack_due_ || ack_due_ || nak_due_ || !queue_.empty(); }
  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] Psn cack_psn() const { return psn_of(cack_); }
  [[nodiscard]] Psn placed_psn() const { return psn_of(placed_); }
  [[nodiscard]] std::size_t bytes() const;

 private:
  /// A WriteIMM whose last packet is here but whose turn has not come (D15).
  struct Stashed {
    std::uint32_t immdt = 0;
    std::uint32_t byte_len = 0;
    std::uint16_t rqmsn = 0;
    bool solicited = false;
  };

  /// Highest PSN that is accepted (C9). The window of the attribute, however small the one that SACKs
  /// advertise: a peer may put an older, larger one on a newer cack, which Transport ACKs bring without a
  /// window and SACKs in another order than they were sent.
  [[nodiscard]] Seq edge() const {
    return cack_ + (seeded_defect(Defect::kShrinkRefuses) ? window_pkts_ : accepted_pkts_);
  }
  WriteVerdict duplicate(const wire::WriteView& write, const wire::RxMeta& meta, Seq seq);
  WriteVerdict refuse(const wire::WriteView& write, const wire::RxMeta& meta, wire::NackReason reason);
  WriteVerdict fail_at(Seq seq, wire::Syndrome nak);
  void push_nack(const wire::BthView& bth, Tick tx_timestamp, const wire::RxMeta& meta,
                 wire::NackReason reason);
  /// Payload of a packet at this place of its message (1.12).
  [[nodiscard]] std::uint32_t length_of(wire::Opcode op, std::uint32_t dmalen) const {
    if (!wire::is_last(op)) return pmtu_;
    if (wire::is_first(op) || dmalen == 0) return dmalen;
    return ((dmalen - 1) & (pmtu_ - 1)) + 1;
  }
  [[nodiscard]] bool well_formed(const wire::WriteView& write) const;
  void accept(const wire::WriteView& write, Seq seq);
  void ask(Seq seq);
  void advance_cack();
  bool pass(Seq seq);
  bool deliver(Seq seq);
  void triggers(const wire::WriteView& write, const wire::RxMeta& meta);
  void note_trigger(const wire::BthView& bth, Tick tx_timestamp, const wire::RxMeta& meta, bool ce);
  void check_nak();
  void heard(const wire::RxMeta& meta) {
    heard_port_ = meta.port;
    heard_entropy_ = meta.entropy;
  }
  void owe(bool& due);
  void in_error(const wire::RxMeta& meta);

  // responder_control.cc
  void build_sack(const ControlTrigger& trigger, wire::SackView& out);
  void build_nack(const ControlTrigger& trigger, wire::NackView& out) const;
  void build_ack(bool nak, wire::AckView& out) const;
  bool route(std::uint8_t port, std::uint32_t entropy, PortCredits& credits, ControlDesc& out) const;

  QpContext& ctx_;

  // What every packet touches.
  Seq cack_ = 0;  // received up to here; drives SACK (D4)
  Seq max_rcv_ = 0;
  Seq placed_ = 0;    // in memory up to here; drives Transport ACK (D4)
  Seq ar_ = 0;        // highest PSN that asked (D5, C31)
  Seq ar_shown_ = 0;  // a SACK showed cack at or above this
  std::uint64_t rcvd_bytes_ = 0;
  std::uint32_t ooo_count_ = 0;
  std::uint32_t trigger_bytes_ = 0;
  std::uint32_t pmtu_ = 0;
  std::uint32_t window_pkts_ = 0;    // as SACKs advertise it
  std::uint32_t accepted_pkts_ = 0;  // by the attribute mpr_dest
  bool sack_due_ = false;
  bool ack_due_ = false;
  bool nak_due_ = false;
  bool failed_ = false;
  std::uint8_t penalty_ = 0;     // 6.5
  bool told_penalty_ = false;    // a SACK asked for a smaller window: the peer may have saved a larger one
  std::uint8_t heard_port_ = 0;  // of the newest Write or probe
  std::uint8_t ack_port_ = 0;    // ... that made an ACK or NAK due
  std::uint32_t heard_entropy_ = 0;
  std::uint32_t ack_entropy_ = 0;
  ControlTrigger sack_trigger_;

  BitRing received_;   // above cack
  BitRing in_memory_;  // above placed
  BitRing last_;       // last-of-message, above placed
  BitRing imm_;        // ... with immediate data
  BitRing asked_;      // AckReq, above placed: a Transport ACK is owed when placed passes it
  SackWalk walk_;

  // Messages and errors.
  std::uint64_t messages_ = 0;   // completed
  std::uint64_t delivered_ = 0;  // WriteIMMs
  std::uint32_t stash_count_ = 0;
  std::unique_ptr<Stashed[]> stash_;
  ReceiveQueue rq_;
  Seq failing_ = 0;  // 0: none; lowest PSN that can not be executed
  wire::Syndrome failing_nak_{};
  Time nak_repeat_at_;
  ControlQueue queue_;
};

}  // namespace mrc::transport
