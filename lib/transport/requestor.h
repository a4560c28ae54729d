// SPDX-License-Identifier: BSD-3-Clause
// The sending half of a QP (chapter 2): segmentation and windows, what is known received, what is given up,
// timers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "transport/full_queues.h"
#include "transport/poll_gaps.h"
#include "transport/probe_table.h"
#include "transport/psn_window.h"
#include "transport/qp_context.h"
#include "transport/rtt_tracker.h"
#include "transport/send_queue.h"
#include "transport/seq.h"

namespace mrc::transport {

/// Thread rule: as Qp. Never fails by itself: an error of the connection waits in failed() for the Qp, which
/// ends both halves (D17). Sources: requestor.cc state and wake, requestor_send.cc D2 D3 D10,
/// requestor_feedback.cc SACK and ACK (D6 D15 D18), requestor_loss.cc D7 D8 D9 D11, requestor_timers.cc D13
/// D14.
class Requestor {
 public:
  explicit Requestor(QpContext& context);

  /// RTR -> RTS: first PSN, window, retry clock from the attributes.
  void start(Time now);
  /// RESET: as constructed.
  void reset();
  /// ERROR: everything not complete ends, the oldest with `status`; timers off; the share of inflight goes
  /// back (D17, D7).
  void stop(WcStatus status);
  /// Attributes changed while in RTS.
  void update_attributes();

  [[nodiscard]] SendQueue& send_queue() { return sq_; }
  [[nodiscard]] const SendQueue& send_queue() const { return sq_; }

  std::size_t next_packets(Time now, PortCredits& credits, std::span<TxDesc> out);
  std::size_t next_probes(Time now, PortCredits& credits, std::span<ControlDesc> out);

  void on_sack(const wire::SackView& sack, const wire::RxMeta& meta);
  void on_nack(const wire::NackView& nack, const wire::RxMeta& meta);
  void on_ack(const wire::AckView& ack, const wire::RxMeta& meta);
  void on_timer(Time now);
  void on_poll_gap(Time now, Duration gap);
  void on_port_change(std::uint8_t port, bool up, Time now);
  void on_peer_ports(std::uint32_t up_mask, Time now);

  /// The controller hears what this QP has to send and to wait for (Figure 4). After each event.
  void reschedule(Time now) {
    const auto waiting = [&] { return work_nominal_bytes(rtx_count_ != 0 ? Work::kRtx : Work::kNew); };
    ctx_.cc.on_work(told_, {sq_.has_unsent() || rtx_count_ != 0, unsettled()}, waiting, now);
  }
  [[nodiscard]] bool tx_ready() const;
  /// Work that waits for nothing but the window of the controller.
  [[nodiscard]] bool cc_blocked() const;
  [[nodiscard]] bool probe_ready() const { return probe_due_ || tail_probes_due_ != 0; }
  [[nodiscard]] Time deadline() const;
  [[nodiscard]] WcStatus failed() const { return failure_; }  ///< kSuccess: no

  [[nodiscard]] Psn unack_psn() const { return psn_of(cack_); }
  [[nodiscard]] Psn max_psn_sent() const { return psn_of(next_ - 1); }
  [[nodiscard]] std::int64_t share_bytes() const { return share_bytes_; }
  [[nodiscard]] std::int64_t charged_bytes() const { return charged_bytes_; }
  [[nodiscard]] unsigned retry_count() const { return k_; }
  [[nodiscard]] Duration reo(Time now) const { return rtt_.reo(now); }
  [[nodiscard]] Duration base_rtt() const { return rtt_.base(); }
  [[nodiscard]] std::size_t bytes() const { return window_.bytes() + sq_.bytes(); }

 private:
  enum class Work : std::uint8_t { kNone, kTailRepeat, kRtx, kNew };
  enum class Which : std::uint8_t { kNeither, kCurrent, kPrevious };
  /// The transmission that made the responder speak (D12).
  struct Trigger {
    path::EvIndex ev = path::kNoEv;
    std::optional<Time> sent;      ///< ts(S) of D8
    std::optional<Duration> rtt;   ///< D18
    bool retransmission = false;   ///< its class was that of retransmissions
    bool first_of_psn = false;     ///< a first transmission: what has a higher PSN left later
    bool repeated_report = false;  ///< a SACK told of it before
    bool probe = false;
    bool tail_probe = false;
  };

  // requestor_send.cc
  [[nodiscard]] Work next_work() const;
  [[nodiscard]] bool permitted(Work work) const;
  [[nodiscard]] bool wimm_limit_reached() const;
  [[nodiscard]] std::uint32_t work_nominal_bytes(Work work) const;
  [[nodiscard]] Seq window_edge() const {
    return cack_ + mpr_pkts_ + (seeded_defect(Defect::kIgnoreMpr) ? 1U : 0U);
  }
  void send_new(Time now, const path::EvChoice& choice, TxDesc& out);
  void send_again(Time now, Seq seq, bool charged, const path::EvChoice& choice, TxDesc& out);
  void fill(const SendWr& wr, Seq seq, Time now, const path::EvChoice& choice, TxDesc& out) const;
  [[nodiscard]] bool ack_wanted(bool more, const TxDesc& sent) const;
  void note_sent(Time now, bool was_unsettled);
  [[nodiscard]] Seq tail_seq() const;
  std::size_t next_tail_probes(Time now, PortCredits& credits, std::span<ControlDesc> out);
  [[nodiscard]] path::EvIndex tail_probe_ev(std::uint32_t planes) const;
  void emit_probe(path::EvIndex ev, Time now, bool tail, PortCredits& credits, ControlDesc& out);
  void charge(std::uint32_t nominal_bytes);
  path::EvChoice choose_again(Seq seq, Time now, std::uint32_t free_ports);

  // requestor_feedback.cc
  [[nodiscard]] bool in_range(const wire::SackView& sack, Seq cack) const;
  Trigger find_trigger(const wire::SackView& sack, Seq ack, const wire::RxMeta& meta);
  Trigger find_probe(const wire::SackView& sack, const wire::RxMeta& meta);
  [[nodiscard]] path::EvIndex ev_of(std::uint32_t entropy) const;
  void received_up_to(Seq cack, Time now);
  void received_word(Seq base, std::uint64_t bits, Time now);
  void congestion(const wire::SackView& sack, Seq cack, const Trigger& trigger, Time now);
  void resync_share(const wire::SackView& sack, Seq cack);
  void note_mark(const wire::SackView& sack, const Trigger& trigger, Time now);
  void complete_up_to(Seq seq, Time now);
  void on_nak(const wire::AckView& ack, Seq seq, Time now);
  void progress(Time now);

  // requestor_loss.cc
  [[nodiscard]] Which which(const PsnRecord& record, const wire::SackView& sack) const;
  [[nodiscard]] Which which_nacked(const PsnRecord& record, std::uint32_t entropy, Tick tick) const;
  [[nodiscard]] Duration reo_of(unsigned plane, Time now) const;
  [[nodiscard]] Duration rtt_sample(Time sent, Tick reflected, Time now) const;
  void infer_losses(Seq base, std::uint64_t bitmap, const Trigger& trigger, Seq ack, Time now);
  void lose(Seq seq, RtxCause cause, Time now);
  void flush_planes(std::uint32_t planes, Time since, Time now);
  template <class Match>
  void flush_sent(RtxCause cause, Match match, Time now);
  void pace_evs(Time now) { ctx_.ev_set.set_pace(rtt_.base(), rtt_.srtt() + rtt_.reo(now)); }
  void give_up(Seq seq, RtxCause cause);
  void uncharge(Seq seq);
  void hold(Seq seq, RtxCause cause, Time until);
  void release_held(Seq seq);
  void nack_matched(wire::NackReason reason, Seq seq, Tick reflected, Time now);
  void note_spurious(path::EvIndex ev, Time now);

  // requestor_timers.cc
  void expire_packets(Time now);
  void release_due(Time now);
  void release_window_nacks();
  void count_retry();
  void check_probe_timer(Time now);
  void check_tail(Time now);
  void repeat_tail(Time now);
  [[nodiscard]] bool unsettled()
      const {  ///< something sent is not known received, or a request not acknowledged
    return (sent_count_ | rtx_count_ | held_count_ | offset_bytes_) != 0 || sq_.unacked() != 0;
  }
  [[nodiscard]] bool waiting() const;
  [[nodiscard]] bool only_ack_missing() const;
  [[nodiscard]] Duration interval() const { return ctx_.retry.interval(k_); }
  /// Bounds waits that double (D11, D14): interval(0), or as D9 bounds its own where there is no ACK timer.
  [[nodiscard]] Duration longest_wait() const {
    return ctx_.retry.enabled() ? ctx_.retry.interval(0) : milliseconds(10);
  }

  QpContext& ctx_;

  // What every packet touches.
  Seq cack_ = 0;  // unack_psn: everything up to it is known received
  Seq next_ = 0;  // next new packet
  std::uint32_t mpr_pkts_ = 0;
  std::uint32_t sent_count_ = 0;
  std::uint32_t rtx_count_ = 0;
  std::uint32_t held_count_ = 0;
  std::uint32_t offset_bytes_ = 0;  // of the current request, already sent
  std::uint32_t pmtu_ = 0;
  std::uint32_t full_nominal_bytes_ = 0;  // of a packet with a whole PMTU of payload
  std::uint8_t pmtu_shift_ = 0;
  bool probe_due_ = false;
  bool tail_repeat_due_ = false;
  bool wimm_stalled_ = false;
  WcStatus failure_ = WcStatus::kSuccess;
  wire::DscpClass data_class_{};
  wire::DscpClass rtx_class_{};
  std::int64_t share_bytes_ = 0;          // of the shared inflight (D7)
  std::int64_t charged_bytes_ = 0;        // sum over SENT
  Time packet_deadline_ = Time::never();  // no ACK timer of a SENT packet ends before this
  Time probe_deadline_ = Time::never();   // D14
  Time stall_deadline_ = Time::never();   // D9. Work, permission, but no EV
  Seq rtx_low_ = 0;                       // nothing is in RTX below
  std::uint32_t wimm_inflight_ = 0;
  std::uint32_t wrs_since_ackreq_ = 0;
  std::uint32_t wimm_since_ackreq_ = 0;
  std::uint32_t k_ = 0;  // D13
  Msn next_msn_;
  Rqmsn next_rqmsn_;

  SendQueue sq_;
  PsnWindow window_;
  RttTracker rtt_;
  FullQueues full_queues_;

  // What news touch.
  Seq first_ = 0;         // sq_psn
  Seq newest_cack_ = 0;   // of SACKs, D6 rule 5
  RcvdUnits rcvd_units_;  // last rcvd_bytes
  Seq acked_ = 0;         // of Transport ACKs
  Duration budget_;       // sum of all intervals (D13)
  Time held_deadline_ = Time::never();
  Time tail_deadline_ = Time::never();
  Time progress_deadline_ = Time::never();
  Time tail_not_before_;
  Time resource_counted_at_;
  std::uint32_t probe_run_ = 0;  // probe timer expiries without news
  std::uint32_t tail_answers_ = 0;
  std::uint8_t tail_probes_due_ = 0;
  path::EvIndex repeat_ev_ = path::kNoEv;  // of the last repeat of the tail
  cc::QpWork told_;
  std::uint32_t tail_planes_ = 0;  // planes that no tail probe of this round asked yet
  static constexpr std::uint32_t kTailRounds = 64;
  std::uint32_t tail_round_ = 0;     // rounds over the planes without news, modulo kTailRounds
  Time tail_since_ = Time::never();  // since then nothing but a Transport ACK is missing
  PollGaps gaps_;
  ProbeTable probes_;
};

// Retransmissions before new data, lowest PSN first (D2).
inline Requestor::Work Requestor::next_work() const {
  if (tail_repeat_due_ && only_ack_missing()) return Work::kTailRepeat;
  // A dynamic MPR that shrank leaves retransmissions beyond the edge waiting (D16); what is new lies beyond
  // them.
  if (rtx_count_ != 0) return rtx_low_ <= window_edge() ? Work::kRtx : Work::kNone;
  if (!sq_.has_unsent() || next_ > window_edge() || wimm_limit_reached()) return Work::kNone;
  return Work::kNew;
}

// A WriteIMM is in flight from its first packet to the Transport ACK; at the limit all behind it waits (D15,
// C33).
inline bool Requestor::wimm_limit_reached() const {
  if (seeded_defect(Defect::kIgnoreWimmLimit)) return false;
  return offset_bytes_ == 0 && wimm_inflight_ >= ctx_.attr.max_wimm && sq_.current().with_immediate();
}

inline bool Requestor::permitted(Work work) const {
  return work == Work::kTailRepeat || ctx_.cc.may_send([&] { return work_nominal_bytes(work); });
}

}  // namespace mrc::transport
