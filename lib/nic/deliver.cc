// SPDX-License-Identifier: BSD-3-Clause
// A packet at its home: check the ICRC before anything is placed, let the transport decide, copy.
#include <cstring>

#include "nic/core.h"
#include "wire/decode.h"
#include "wire/icrc.h"

namespace mrc::nic {
namespace {

using wire::DropReason;
using wire::FrameView;
using Bytes = std::span<const std::uint8_t>;

bool receives(const transport::Qp& qp) {
  return qp.state() == transport::QpState::kRtr || qp.state() == transport::QpState::kRts;
}

/// Why a Write was not placed. The QP has its own counters; this is what the capture and the sum of all drops
/// tell.
DropReason reason_of(transport::WriteVerdict verdict, const transport::Qp& qp, bool access_ok) {
  switch (verdict) {
    case transport::WriteVerdict::kDuplicate:
      return DropReason::kDuplicate;
    case transport::WriteVerdict::kError:
      return access_ok ? DropReason::kLength : DropReason::kAccess;  // NAK 0x61: form and length; 0x62
    default:
      return receives(qp) ? DropReason::kOutOfWindow : DropReason::kQpState;
  }
}

/// A trimmed Write: it becomes a NACK, if the QP is to send any.
DropReason take_trimmed(QpHome& home, Bytes frame, const FrameView& f, const wire::RxMeta& meta) {
  wire::TrimmedView view;
  const DropReason r = decode_trimmed(frame, f, view);
  if (r != DropReason::kNone) return r;
  const std::uint64_t ignored = home.qp.counters().rx_trimmed_ignored;
  home.qp.on_trimmed(view, meta);
  if (!receives(home.qp)) return DropReason::kQpState;
  return home.qp.counters().rx_trimmed_ignored != ignored ? DropReason::kTrimIgnored : DropReason::kNone;
}

/// Write: the check of the target stands before on_write (D17), the payload before placed().
DropReason take_write(WorkerCore& w, QpHome& home, Bytes frame, const FrameView& f,
                      const wire::RxMeta& meta) {
  wire::WriteView view;
  const DropReason r = decode_write(frame, f, view);
  if (r != DropReason::kNone) return r;
  home.qp.settle_length(view);
  const bool ok = view.payload_bytes == 0 ||
                  w.nic.memory.allows(view.rkey, view.va, view.payload_bytes, kAccessRemoteWrite);
  const transport::WriteVerdict verdict =
      home.qp.on_write(view, meta, ok ? transport::Access::kOk : transport::Access::kDenied);
  if (verdict != transport::WriteVerdict::kPlace) [[unlikely]]
    return reason_of(verdict, home.qp, ok);
  if (!ok) [[unlikely]] {  // nothing but this stands between a peer and our memory: not left to an assert
    home.qp.place_failed(view.bth.psn, wire::Syndrome::kRemoteAccess);
    return DropReason::kAccess;
  }
  const std::uint32_t at = f.bth_offset + wire::write_header_bytes(view.bth.opcode, view.bth.ts);
  // A Write of nothing has a target of the peer's fancy, null too, which memcpy must not be given.
  if (view.payload_bytes != 0) [[likely]]
    std::memcpy(reinterpret_cast<void*>(view.va), frame.data() + at, view.payload_bytes);
  home.qp.placed(view.bth.psn);
  return DropReason::kNone;
}

/// Decoded, and given to the QP.
template <class View, auto decode, auto take>
DropReason give(transport::Qp& qp, Bytes frame, const FrameView& f, const wire::RxMeta& meta) {
  View view;
  const DropReason r = decode(frame, f, view);
  if (r == DropReason::kNone) (qp.*take)(view, meta);
  return r;
}

DropReason take_control(QpHome& home, Bytes frame, const FrameView& f, const wire::RxMeta& meta) {
  using transport::Qp;
  // A probe to a QP in ERROR is for the QP to answer; it counts as not received all the same.
  const bool wanted =
      f.bth.opcode == wire::Opcode::kProbe ? receives(home.qp) : home.qp.state() == transport::QpState::kRts;
  DropReason r = DropReason::kOpcode;  // endpoint operations to a QP's number
  switch (f.bth.opcode) {
    case wire::Opcode::kSack:
      r = give<wire::SackView, wire::decode_sack, &Qp::on_sack>(home.qp, frame, f, meta);
      break;
    case wire::Opcode::kNack:
      r = give<wire::NackView, wire::decode_nack, &Qp::on_nack>(home.qp, frame, f, meta);
      break;
    case wire::Opcode::kAck:
      r = give<wire::AckView, wire::decode_ack, &Qp::on_ack>(home.qp, frame, f, meta);
      break;
    case wire::Opcode::kProbe:
      r = give<wire::ProbeView, wire::decode_probe, &Qp::on_probe>(home.qp, frame, f, meta);
      break;
    default:
      break;
  }
  return r != DropReason::kNone || wanted ? r : DropReason::kQpState;
}

bool icrc_ok(const WorkerCore& w, const Arrival& a) {
  if (w.nic.config.icrc == IcrcMode::kIgnore) return true;
  if (a.covered == 0) return wire::check_icrc(a.frame, a.f).ok();
  const std::uint32_t at = a.f.ip_offset + a.covered;
  return wire::icrc_extend(a.crc, a.frame.subspan(at, a.f.body_end - at)) ==
         wire::icrc_load(a.frame.data() + a.f.body_end);
}

}  // namespace

DropReason deliver(WorkerCore& w, const Arrival& a, Time now) {
  const FrameView& f = a.f;
  QpHome* home = w.find(f.dqp);
  if (home == nullptr) return DropReason::kUnknownQp;
  if (!is_from(home->peer_ips[a.plane], a.frame, f)) return DropReason::kNotForUs;
  const wire::RxMeta meta{now, f.entropy, static_cast<std::uint8_t>(a.plane), f.ce, f.trim};
  DropReason r = DropReason::kNone;
  if (f.trim != wire::Trim::kNone) {  // no ICRC is left to check (1.14)
    r = take_trimmed(*home, a.frame, f, meta);
  } else {
    if (!icrc_ok(w, a)) return DropReason::kIcrc;
    r = is_write(f.bth.opcode) ? take_write(w, *home, a.frame, f, meta)
                               : take_control(*home, a.frame, f, meta);
  }
  w.touch(*home);  // what is dropped may have to be answered, too
  if (r != DropReason::kNone) return r;
  ++w.stats.delivered;
  return DropReason::kNone;
}

}  // namespace mrc::nic
