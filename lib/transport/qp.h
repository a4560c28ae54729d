// SPDX-License-Identifier: BSD-3-Clause
// One MRC queue pair: both halves, one machine of states, errors and flush. Sans-IO: bytes' meaning and a
// time go in, descriptors and a deadline come out. No clock, no allocation after construction, no log, no
// DPDK.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/result.h"
#include "cc/qpcc.h"
#include "path/ev_set.h"
#include "transport/qp_attr.h"
#include "transport/qp_context.h"
#include "transport/requestor.h"
#include "transport/responder.h"
#include "transport/reverse_probes.h"
#include "transport/types.h"

namespace mrc::transport {

/// A queue pair. Thread rule: one owner (its worker). Own bugs assert; peer input never does (it becomes a
/// counter, a NACK, a NAK or ERROR).
class Qp {
 public:
  /// `cc` outlives the QP; QPs to one destination share it. `seed` drives the EV shuffle only.
  /// Limits out of their documented range are own bugs: assert.
  Qp(std::uint32_t qpn, const QpLimits& limits, const QpPolicy& policy,
     std::shared_ptr<const path::EvTable> evs, cc::Qpcc& cc, std::uint64_t seed);
  ~Qp();
  Qp(const Qp&) = delete;
  Qp& operator=(const Qp&) = delete;

  // Control path
  // -----------------------------------------------------------------------------------------------
  /// State machine of 2.6: RESET -> INIT -> RTR -> RTS, RTS -> RTS (timers and max_wimm), any -> RESET /
  /// ERROR. Missing or out-of-range attributes are refused with what, the value and the limit; nothing
  /// changes then. RESET forgets requests, receives and completions that were not polled, as IBTA's does, and
  /// all that was learned of paths and peer: EVs are GOOD again unless DENIED, planes in service unless their
  /// link here is down.
  Result<void> modify(QpState to, const QpAttr& attr, std::uint32_t mask, Time now);
  [[nodiscard]] QpState state() const { return ctx_.state; }
  [[nodiscard]] std::uint32_t qpn() const { return ctx_.qpn; }
  [[nodiscard]] const QpAttr& attributes() const { return ctx_.attr; }
  [[nodiscard]] const QpLimits& limits() const { return ctx_.limits; }
  [[nodiscard]] const QpPolicy& policy() const { return ctx_.policy; }
  [[nodiscard]] const QpCounters& counters() const { return ctx_.counters; }
  [[nodiscard]] path::EvSet& ev_set() { return ctx_.ev_set; }
  [[nodiscard]] const path::EvSet& ev_set() const { return ctx_.ev_set; }
  [[nodiscard]] Psn unack_psn() const { return requestor_.unack_psn(); }  ///< requestor's cack (T7-4)
  [[nodiscard]] Psn max_psn_sent() const { return requestor_.max_psn_sent(); }
  [[nodiscard]] Psn cack_psn() const { return responder_.cack_psn(); }      ///< responder's (T7-5)
  [[nodiscard]] Psn placed_psn() const { return responder_.placed_psn(); }  ///< D4
  /// The configured one, or the smallest RTT seen when that is larger and may be learned (D8).
  [[nodiscard]] Duration base_rtt() const { return requestor_.base_rtt(); }
  [[nodiscard]] std::int64_t inflight_share_bytes() const { return requestor_.share_bytes(); }
  [[nodiscard]] std::int64_t charged_bytes() const {
    return requestor_.charged_bytes();
  }                                                                                ///< sum over SENT (D7)
  [[nodiscard]] unsigned retry_count() const { return requestor_.retry_count(); }  ///< k of D13
  /// Requests not completed that read any of [begin, begin + bytes), with `local` taken as an address.
  [[nodiscard]] std::size_t reading(std::uint64_t begin, std::uint64_t bytes) const {
    return requestor_.send_queue().reading(begin, bytes);
  }
  [[nodiscard]] bool send_idle() const;  ///< no WR outstanding, nothing charged
  /// Memory taken at construction beside the object itself.
  [[nodiscard]] std::size_t heap_bytes() const { return requestor_.bytes() + responder_.bytes(); }

  // Application
  // ------------------------------------------------------------------------------------------------
  /// Sends from RTS on; in ERROR the request is taken and completes flushed. A slot is free again when its
  /// completion was polled.
  PostResult post_send(const WorkRequest& wr);
  /// Receives from INIT on (2.6 has RTR, IBTA has INIT: a superset).
  PostResult post_recv(const RecvRequest& rr);
  /// Requests in posting order, receives in posting order; which of the two comes first alternates.
  std::size_t poll_completions(std::span<Completion> out);

  // Sending. Call only with descriptors already reserved: what is returned counts as sent at `now` (D1)
  // ----------
  std::size_t next_packets(Time now, PortCredits& credits, std::span<TxDesc> out) {
    const std::size_t n = requestor_.next_packets(now, credits, out);
    requestor_.reschedule(now);
    return n;
  }
  std::size_t next_control(Time now, PortCredits& credits, std::span<ControlDesc> out);

  // Receiving
  // --------------------------------------------------------------------------------------------------
  void on_sack(const wire::SackView& sack, const wire::RxMeta& meta);
  void on_nack(const wire::NackView& nack, const wire::RxMeta& meta);
  void on_ack(const wire::AckView& ack, const wire::RxMeta& meta);
  void on_probe(const wire::ProbeView& probe, const wire::RxMeta& meta) {
    reverse_.asked(meta.arrival);
    responder_.on_probe(probe, meta);
  }
  /// The Endpoint Response to an EV Probe of this QP, with the request id that next_control gave it (D19).
  void on_ev_probe_answer(const wire::EndpointResponseView& response, Time now) {
    reverse_.on_answer(response.request_id, now);
  }
  /// Before the host looks at memory: the length of a Write follows from position and dmalen; a pad field
  /// that disagrees is ignored (C3). Leaves `write` as it is when the bytes do not fit; on_write refuses it
  /// then.
  void settle_length(wire::WriteView& write) const { responder_.settle_length(write); }
  WriteVerdict on_write(const wire::WriteView& write, const wire::RxMeta& meta, Access access);
  void on_trimmed(const wire::TrimmedView& packet, const wire::RxMeta& meta) {
    reverse_.heard(meta.arrival);
    responder_.on_trimmed(packet, meta);
  }
  /// The payload of a packet with verdict kPlace has been copied: a Transport ACK may cover it. Each once, in
  /// any order; a QP that went to ERROR meanwhile ignores it.
  void placed(Psn psn);
  /// Dynamic MPR (D16): fewer or more blocks of 128 PSNs than the peer may have had outstanding so far, at
  /// least one, at most the attribute mpr_dest. Told by the next SACK. Does nothing without the capability.
  void set_mpr_dest(std::uint8_t blocks) { responder_.set_window(blocks); }
  [[nodiscard]] std::uint8_t mpr_dest() const { return responder_.window_blocks(); }  ///< as advertised
  /// Responder flow control (6.5): how full, in percent, is what takes in the packets of this QP: buffers, a
  /// queue before the application. SACKs carry a penalty from a quarter on, the largest from three quarters
  /// on. Does nothing unless QpPolicy::receive_penalty. RESET forgets it.
  void set_receive_occupancy(unsigned percent) { responder_.set_occupancy(percent); }
  [[nodiscard]] std::uint8_t receive_penalty() const { return responder_.penalty(); }  ///< as told, 0..127
  void place_failed(Psn psn, wire::Syndrome nak);  ///< local failure: NAK when its turn comes (D17)

  // Time
  // -------------------------------------------------------------------------------------------------------
  /// Call when wake().deadline has passed and all receive queues were polled after it (D13).
  void on_timer(Time now);
  /// The host was away for `gap` (> base RTT) and is back `now`: all deadlines move by it (D13).
  void on_poll_gap(Time now, Duration gap) {
    requestor_.on_poll_gap(now, gap);
    reverse_.on_poll_gap(now, gap);
  }
  void on_port_change(std::uint8_t port, bool up, Time now) { requestor_.on_port_change(port, up, now); }
  /// The ports on which the peer says it can be reached, bit p for plane p (MRC 7.4.8, D9, D19).
  void on_peer_ports(std::uint32_t up_mask, Time now) { requestor_.on_peer_ports(up_mask, now); }
  [[nodiscard]] Wake wake() const;
  /// There is work to send, and only the congestion controller holds it back. With a shared controller news
  /// of any sibling may end that, so the host asks again after those (D7).
  [[nodiscard]] bool cc_blocked() const { return requestor_.cc_blocked(); }
  /// The controller, shared with the QPs to the same destination.
  [[nodiscard]] const cc::Qpcc& controller() const { return ctx_.cc; }

 private:
  void enter_error(WcStatus status);

  QpContext ctx_;
  Requestor requestor_;
  Responder responder_;
  ReverseProbes reverse_;
  std::uint32_t given_mask_ = 0;  // attributes given since RESET
  bool receives_first_ = false;
};

}  // namespace mrc::transport
