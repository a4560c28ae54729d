// SPDX-License-Identifier: BSD-3-Clause
// Set-up: the state machine of 2.6 and the attributes each transition needs (T10-1, MRC 10.1.2).
#include <array>
#include <optional>
#include <string>

#include "transport/qp.h"

namespace mrc::transport {

namespace {

constexpr std::array kAttrNames = {
    "STATE",  "EV_PROFILE_ID", "CC_PROFILE_ID", "HINT", "AV",       "PATH_MTU", "DEST_QPN",  "RQ_PSN",
    "SQ_PSN", "MAX_WIMM",      "MAX_WIMM_DEST", "MPR",  "MPR_DEST", "TIMEOUT",  "RETRY_CNT", "CAP"};
constexpr std::uint32_t kKnownAttrs = (1U << kAttrNames.size()) - 1;
constexpr std::array kStateNames = {"RESET", "INIT", "RTR", "RTS", "ERROR"};

struct Transition {
  QpState from, to;
  std::uint32_t required;
  std::uint32_t optional;
};

// The table of mrc.h, and nothing beside it (C35); tolerant where OCP contradicts itself: MPR and MAX_WIMM
// are accepted at RTR already and count for RTS then.
constexpr std::uint32_t kEarly = kAttrMpr | kAttrMaxWimm;
constexpr std::array<Transition, 4> kTransitions = {{
    {QpState::kReset, QpState::kInit, kAttrHint | kAttrEvProfileId | kAttrCcProfileId, 0},
    {QpState::kInit, QpState::kRtr,
     kAttrMaxWimmDest | kAttrMprDest | kAttrCap | kAttrAv | kAttrPathMtu | kAttrDestQpn | kAttrRqPsn, kEarly},
    {QpState::kRtr, QpState::kRts, kAttrMaxWimm | kAttrMpr | kAttrRetryCnt | kAttrTimeout | kAttrSqPsn, 0},
    {QpState::kRts, QpState::kRts, 0, kAttrMaxWimm | kAttrRetryCnt | kAttrTimeout},
}};

std::string name_of(QpState state) {
  return kStateNames[static_cast<std::size_t>(state)];
}

std::string names_of(std::uint32_t mask) {
  std::string out;
  for (std::size_t bit = 0; bit < 32; ++bit) {
    if ((mask >> bit & 1) == 0) continue;
    if (!out.empty()) out += ", ";
    out += bit < kAttrNames.size() ? kAttrNames[bit] : "bit " + std::to_string(bit);
  }
  return out;
}

Error bad(const std::string& what, std::uint64_t value, const std::string& limit) {
  return {what + " = " + std::to_string(value) + ": must be " + limit};
}

const Transition* find(QpState from, QpState to) {
  for (const Transition& t : kTransitions) {
    if (t.from == from && t.to == to) return &t;
  }
  return nullptr;
}

// First value of `mask` that is out of range.
std::optional<Error> check_values(const QpAttr& a, std::uint32_t mask, const QpLimits& limits) {
  const auto has = [mask](QpAttrMask bit) { return (mask & bit) != 0; };
  const auto up_to = [](std::uint64_t low, std::uint64_t high) {
    return std::to_string(low) + ".." + std::to_string(high);
  };
  if (has(kAttrPathMtu) && !is_valid_pmtu(a.path_mtu)) {
    return bad("path_mtu", a.path_mtu, "256, 512, 1024, 2048 or 4096");
  }
  if (has(kAttrDestQpn) && (a.dest_qpn <= 2 || a.dest_qpn > 0xFFFFFF)) {
    return bad("dest_qpn", a.dest_qpn, "3..16777215 (0, 1 and 2 are reserved)");
  }
  if (has(kAttrMpr) && (a.mpr == 0 || a.mpr > limits.max_mpr)) {
    return bad("mpr", a.mpr, up_to(1, limits.max_mpr) + " (units of 128 PSNs; limit max_mpr of this QP)");
  }
  if (has(kAttrMprDest) && (a.mpr_dest == 0 || a.mpr_dest > limits.max_mpr_dest)) {
    return bad("mpr_dest", a.mpr_dest,
               up_to(1, limits.max_mpr_dest) + " (units of 128 PSNs; limit max_mpr_dest of this QP)");
  }
  if (has(kAttrMaxWimm) && a.max_wimm == 0) return bad("max_wimm", 0, "at least 1");
  if (has(kAttrMaxWimmDest) && (a.max_wimm_dest == 0 || a.max_wimm_dest > limits.max_wimm_dest)) {
    return bad("max_wimm_dest", a.max_wimm_dest,
               up_to(1, limits.max_wimm_dest) + " (limit max_wimm_dest of this QP)");
  }
  if (has(kAttrTimeout) && a.timeout > RetryClock::kMaxTimeout) {
    return bad("timeout", a.timeout,
               up_to(0, RetryClock::kMaxTimeout) + " (1.024 us x 2^timeout; 0: no ACK timer)");
  }
  if (has(kAttrRetryCnt) && a.linear_cnt > RetryClock::kMaxLinear) {
    return bad("linear_cnt", a.linear_cnt, up_to(0, RetryClock::kMaxLinear));
  }
  if (has(kAttrRetryCnt) && a.exp_cnt > RetryClock::kMaxExp) {
    return bad("exp_cnt", a.exp_cnt, up_to(0, RetryClock::kMaxExp) + " (the highest never gives up)");
  }
  return std::nullopt;
}

void copy_values(QpAttr& to, const QpAttr& from, std::uint32_t mask) {
  const auto has = [mask](QpAttrMask bit) { return (mask & bit) != 0; };
  if (has(kAttrEvProfileId)) to.ev_profile_id = from.ev_profile_id;
  if (has(kAttrCcProfileId)) to.cc_profile_id = from.cc_profile_id;
  if (has(kAttrPathMtu)) to.path_mtu = from.path_mtu;
  if (has(kAttrDestQpn)) to.dest_qpn = from.dest_qpn;
  if (has(kAttrRqPsn)) to.rq_psn = from.rq_psn;
  if (has(kAttrSqPsn)) to.sq_psn = from.sq_psn;
  if (has(kAttrMaxWimm)) to.max_wimm = from.max_wimm;
  if (has(kAttrMaxWimmDest)) to.max_wimm_dest = from.max_wimm_dest;
  if (has(kAttrMpr)) to.mpr = from.mpr;
  if (has(kAttrMprDest)) to.mpr_dest = from.mpr_dest;
  if (has(kAttrTimeout)) to.timeout = from.timeout;
  if (has(kAttrRetryCnt)) {
    to.linear_cnt = from.linear_cnt;
    to.exp_cnt = from.exp_cnt;
  }
  if (has(kAttrCap)) {
    to.dynamic_mpr = from.dynamic_mpr;
    to.trim_nack = from.trim_nack;
    to.trim_nack_dest = from.trim_nack_dest;
  }
}

}  // namespace

Result<void> Qp::modify(QpState to, const QpAttr& attr, std::uint32_t mask, Time now) {
  mask &= ~kAttrState;
  if (to == QpState::kReset) {
    requestor_.reset();
    responder_.reset();
    reverse_.reset();
    ctx_.ev_set.forget(now);
    ctx_.ev_set.set_pace(ctx_.policy.base_rtt, {});
    ctx_.attr = QpAttr{};
    ctx_.state = QpState::kReset;
    given_mask_ = 0;
    return {};
  }
  if (to == QpState::kError) {
    if (ctx_.state == QpState::kReset) return Error{"RESET -> ERROR: a QP in RESET has nothing to flush"};
    enter_error(WcStatus::kWrFlushErr);
    return {};
  }
  const std::string step = name_of(ctx_.state) + " -> " + name_of(to);
  const Transition* transition = find(ctx_.state, to);
  if (transition == nullptr) {
    return Error{
        step +
        ": no such transition; allowed are RESET -> INIT -> RTR -> RTS, RTS -> RTS, any -> RESET or ERROR"};
  }
  const std::uint32_t missing = transition->required & ~(mask | (given_mask_ & kEarly));
  if (missing != 0) return Error{step + ": missing attributes " + names_of(missing)};
  const std::uint32_t extra = mask & ~(transition->required | transition->optional);
  if (extra != 0) {
    return Error{step + ": attributes not allowed here: " + names_of(extra) +
                 ((extra & ~kKnownAttrs) != 0 ? " (unknown bits)" : "")};
  }
  if (auto error = check_values(attr, mask, ctx_.limits)) return Error{step + ": " + error->message};

  copy_values(ctx_.attr, attr, mask);
  given_mask_ |= mask;
  const QpState from = std::exchange(ctx_.state, to);
  if (to == QpState::kRtr) responder_.start();
  if (to == QpState::kRts && from == QpState::kRtr) requestor_.start(now);
  if (from == QpState::kRts) requestor_.update_attributes();
  return {};
}

}  // namespace mrc::transport
