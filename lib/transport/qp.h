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
#include "transport/types.h"

namespace mrc::transport {

/// Sizes fixed at construction; all memory follows from them.
struct QpLimits {
  std::uint32_t max_send_wr = 256;   ///< 1..32768
  std::uint32_t max_recv_wr = 256;   ///< 0..32768
  std::uint8_t max_mpr = 8;          ///< requestor window, units of 128 PSNs, 1..255
  std::uint8_t max_mpr_dest = 8;     ///< responder bitmap, units of 128 PSNs, 1..255
  std::uint16_t max_wimm_dest = 32;  ///< responder stash
};

/// Attributes of modify (mrc_qp_attr and the ibv subset of 2.6). The bit of each is named in QpAttrMask.
struct QpAttr {
  std::uint64_t ev_profile_id = 0;
  std::uint64_t cc_profile_id = 0;
  std::uint32_t dest_qpn = 0;  ///< 24 bits, > 2
  Psn sq_psn;
  Psn rq_psn;
  std::uint16_t path_mtu = 4096;
  std::uint8_t mpr = 8;              ///< as requestor: min(own, peer's MAX_MPR_DEST); 0 is refused
  std::uint8_t mpr_dest = 8;         ///< as responder
  std::uint16_t max_wimm = 32;       ///< as requestor: peer's MAX_WIMM_DEST
  std::uint16_t max_wimm_dest = 32;  ///< as responder
  std::uint8_t timeout = 16;         ///< T = 1.024 us x 2^timeout, 1..24; 0: no ACK timer (D13)
  std::uint8_t linear_cnt = 7;       ///< <= 7
  std::uint8_t exp_cnt = 7;          ///< <= 25; 25: never gives up
  bool dynamic_mpr = false;
  bool trim_nack = true;       ///< our responder answers trims with NACKs
  bool trim_nack_dest = true;  ///< the peer's responder does
};

/// Bits of `mask` in Qp::modify. Names follow mrc_qp_attr_mask and ibv_qp_attr_mask.
enum QpAttrMask : std::uint32_t {
  kAttrState = 1U << 0,
  kAttrEvProfileId = 1U << 1,
  kAttrCcProfileId = 1U << 2,
  kAttrHint = 1U << 3,
  kAttrAv = 1U << 4,
  kAttrPathMtu = 1U << 5,
  kAttrDestQpn = 1U << 6,
  kAttrRqPsn = 1U << 7,
  kAttrSqPsn = 1U << 8,
  kAttrMaxWimm = 1U << 9,
  kAttrMaxWimmDest = 1U << 10,
  kAttrMpr = 1U << 11,
  kAttrMprDest = 1U << 12,
  kAttrTimeout = 1U << 13,
  kAttrRetryCnt = 1U << 14,
  kAttrCap = 1U << 15,
};

/// Policies and thresholds: every contested choice of chapter 8 that is the transport's, one named parameter
/// each.
struct QpPolicy {
  Duration base_rtt = microseconds(10);      ///< configured unloaded RTT; reo and retry pacing scale with it
  bool use_timestamps = true;                ///< TSETH on every Write
  std::uint32_t sack_gen_threshold = 16384;  ///< SACK when the count reaches it (D5)
  std::uint32_t sack_min_add = 1024;
  bool ev_flush = true;         ///< D9
  bool inflight_resync = true;  ///< D7
  bool strict_rqmsn = false;    ///< D15
  bool oow_nack = true;         ///< C6: NACK 0x0B above the window
  wire::DscpClass data_class = wire::DscpClass::kTrimmable;
  wire::DscpClass rtx_class = wire::DscpClass::kTrimmableRetx;
  path::EvSetConfig ev;  ///< floor and probe interval
};

/// A queue pair. Thread rule: one owner (its worker). Own bugs assert; peer input never does (it becomes a
/// counter, a NACK, a NAK or ERROR).
class Qp {
 public:
  /// `cc` outlives the QP; QPs to one destination share it. `seed` drives the EV shuffle only.
  Qp(std::uint32_t qpn, const QpLimits& limits, const QpPolicy& policy,
     std::shared_ptr<const path::EvTable> evs, cc::Qpcc& cc, std::uint64_t seed);
  ~Qp();
  Qp(const Qp&) = delete;
  Qp& operator=(const Qp&) = delete;

  // Control path
  // -----------------------------------------------------------------------------------------------
  /// State machine of 2.6: RESET -> INIT -> RTR -> RTS, any -> RESET / ERROR. Missing or out-of-range
  /// attributes are refused with what, the value and the limit; nothing changes then.
  Result<void> modify(QpState to, const QpAttr& attr, std::uint32_t mask, Time now);
  [[nodiscard]] QpState state() const;
  [[nodiscard]] std::uint32_t qpn() const;
  [[nodiscard]] const QpAttr& attributes() const;
  [[nodiscard]] const QpCounters& counters() const;
  [[nodiscard]] path::EvSet& ev_set();
  [[nodiscard]] const path::EvSet& ev_set() const;
  [[nodiscard]] Psn unack_psn() const;  ///< requestor's cack (T7-4)
  [[nodiscard]] Psn max_psn_sent() const;
  [[nodiscard]] Psn cack_psn() const;    ///< responder's (T7-5)
  [[nodiscard]] Psn placed_psn() const;  ///< D4
  [[nodiscard]] std::int64_t inflight_share_bytes() const;
  [[nodiscard]] bool send_idle() const;  ///< no WR outstanding, nothing charged

  // Application
  // ------------------------------------------------------------------------------------------------
  PostResult post_send(const WorkRequest& wr);
  PostResult post_recv(const RecvRequest& rr);
  std::size_t poll_completions(std::span<Completion> out);

  // Sending. Call only with descriptors already reserved: what is returned counts as sent at `now` (D1)
  // ----------
  std::size_t next_packets(Time now, PortCredits& credits, std::span<TxDesc> out);
  std::size_t next_control(Time now, PortCredits& credits, std::span<ControlDesc> out);

  // Receiving
  // --------------------------------------------------------------------------------------------------
  void on_sack(const wire::SackView& sack, const wire::RxMeta& meta);
  void on_nack(const wire::NackView& nack, const wire::RxMeta& meta);
  void on_ack(const wire::AckView& ack, const wire::RxMeta& meta);
  void on_probe(const wire::ProbeView& probe, const wire::RxMeta& meta);
  WriteVerdict on_write(const wire::WriteView& write, const wire::RxMeta& meta, Access access);
  void on_trimmed(const wire::TrimmedView& packet, const wire::RxMeta& meta);
  void placed(Psn psn);                            ///< its payload is in memory: now it may be acknowledged
  void place_failed(Psn psn, wire::Syndrome nak);  ///< local failure: NAK when its turn comes (D17)

  // Time
  // -------------------------------------------------------------------------------------------------------
  /// Call when wake().deadline has passed and all receive queues were polled after it (D13).
  void on_timer(Time now);
  /// The host was away for `gap` (> base RTT): all deadlines move by it (D13).
  void on_poll_gap(Time now, Duration gap);
  void on_port_change(std::uint8_t port, bool up, Time now);
  [[nodiscard]] Wake wake() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mrc::transport
