// SPDX-License-Identifier: BSD-3-Clause
// Sizes, attributes and policies of a QP: everything that is configuration, nothing that moves.
#pragma once

#include <cstdint>

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
  std::uint8_t mpr = QpLimits().max_mpr;  ///< as requestor: min(own, peer's MAX_MPR_DEST); 0 is refused
  std::uint8_t mpr_dest = QpLimits().max_mpr_dest;         ///< as responder
  std::uint16_t max_wimm = QpLimits().max_wimm_dest;       ///< as requestor: peer's MAX_WIMM_DEST
  std::uint16_t max_wimm_dest = QpLimits().max_wimm_dest;  ///< as responder
  std::uint8_t timeout = 16;    ///< T = 1.024 us x 2^timeout, 1..24; 0: no ACK timer (D13)
  std::uint8_t linear_cnt = 7;  ///< <= 7
  std::uint8_t exp_cnt = 7;     ///< <= 25; 25: never gives up
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
  Duration base_rtt =
      path::EvSetConfig().base_rtt;  ///< configured unloaded RTT; reo and retry pacing scale with it
  /// Raise base_rtt to the smallest RTT seen: set too small, ordinary jitter would look like loss (D8). Off
  /// where base_rtt is known exactly (simulator).
  bool learn_base_rtt = true;
  bool use_timestamps = true;                ///< TSETH on every Write
  std::uint32_t sack_gen_threshold = 16384;  ///< SACK when the count reaches it (D5)
  bool sack_beyond_threshold = false;        ///< C18. Only when the count exceeds it
  std::uint32_t sack_min_add = 1024;
  bool ev_flush = true;         ///< D9
  bool inflight_resync = true;  ///< D7
  bool strict_rqmsn = false;    ///< D15
  bool oow_nack = true;         ///< C6. NACK 0x0B above the window
  bool time_order = true;       ///< D8. Losses by send time; false leaves the EV-order rule alone
  bool ev_order = true;         ///< D8. Losses by order on one EV; both off: NACKs and the ACK timer alone
  bool sack_first = false;      ///< also a SACK for the first packet of the connection, as UET
  bool tail_probe = true;       ///< D14. Probe when everything waits for news
  /// D19. Keep reverse EVs alive with EV Probes while receiving. The host must carry Endpoint Requests and
  /// Responses of its QPs (ControlDesc, on_ev_probe_answer).
  bool reverse_probes = false;
  std::uint32_t reverse_probe_writes = 8;  ///< Writes that arrive between two of them, at least
  /// 6.5. SACKs ask the peer for a smaller window when the host says that what receives fills up
  /// (Qp::set_receive_occupancy).
  bool receive_penalty = false;
  Msn first_msn;               ///< C23. Number of the first message, the same at both ends
  Rqmsn first_rqmsn;           ///< C23. Number of the first WriteIMM, the same at both ends
  RcvdUnits first_rcvd_bytes;  ///< where CC_STATE.rcvd_bytes starts; 0 on the wire, moved to test its wrap
  wire::DscpClass data_class = wire::DscpClass::kTrimmable;  ///< kNoTrim when the peer lacks TRIM_NACK (1.15)
  wire::DscpClass rtx_class = wire::DscpClass::kTrimmableRetx;
  path::EvSetConfig ev;  ///< floor and probe interval
};

}  // namespace mrc::transport
