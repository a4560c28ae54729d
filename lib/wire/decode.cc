// SPDX-License-Identifier: BSD-3-Clause
#include "wire/decode.h"

namespace mrc::wire {
namespace {

/// Control packets carry their headers and nothing else (IBTA packet length check).
DropReason check_exact(std::span<const std::uint8_t> first, const FrameView& frame, std::uint32_t n) {
  return frame.body_bytes() != n ? DropReason::kLength : check_body(first, frame, n);
}

}  // namespace

std::uint32_t body_header_bytes(Opcode op, bool ts) {
  switch (op) {
    case Opcode::kAck:
      return sizeof(Aeth);
    case Opcode::kEndpointRequest:
      return sizeof(Erth);
    case Opcode::kEndpointResponse:
      return sizeof(Eeth);
    case Opcode::kSack:
      return sizeof(Seth) + sizeof(CcState);
    case Opcode::kNack:
      return sizeof(Neth);
    case Opcode::kProbe:
      return sizeof(Peth);
    default:
      return write_header_bytes(op, ts) - static_cast<std::uint32_t>(sizeof(Bth));
  }
}

DropReason decode_trimmed(std::span<const std::uint8_t> first, const FrameView& frame, TrimmedView& out) {
  if (!is_write(frame.bth.opcode)) return DropReason::kTrimmedOpcode;
  out.bth = frame.bth;
  out.tx_timestamp = Tick{};
  constexpr std::uint32_t kThroughTseth = sizeof(Meth) + sizeof(Tseth);
  if (frame.bth.ts && check_body(first, frame, kThroughTseth) == DropReason::kNone) {  // C26
    out.tx_timestamp = decode_timestamp(first.data() + frame.body_offset + sizeof(Meth)).reflected();
  }
  return DropReason::kNone;
}

DropReason decode_sack(std::span<const std::uint8_t> first, const FrameView& frame, SackView& out) {
  const DropReason r = check_exact(first, frame, sizeof(Seth) + sizeof(CcState));
  if (r != DropReason::kNone) return r;
  const auto s = load_header<Seth>(first.data() + frame.body_offset);
  const auto cc = load_header<CcState>(first.data() + frame.body_offset + sizeof(Seth));
  out.rtx = frame.bth.rtx;
  out.m = static_cast<EvMark>((s.m_pr >> kSethMShift) & 3);
  out.pr = (s.m_pr & kSethPr) != 0;
  out.ack_psn_offset = static_cast<std::int16_t>(s.ack_psn_offset.get());
  out.entropy = s.entropy;
  out.spdcid = s.spdcid;
  out.dpdcid = s.dpdcid;
  out.cack_psn = Psn{s.cack_psn};
  out.cc_type = s.cc_type_fl >> 4;
  out.cc_fl = s.cc_type_fl & 0x0F;
  out.mpr = s.mpr;
  out.sack_offset = static_cast<std::int16_t>(s.sack_offset.get());
  out.sack_bitmap = s.sack_bitmap;
  out.tx_timestamp = Tick{cc.tx_timestamp.get()};
  out.ooo_count = cc.ooo_count & 0x7FFF;
  out.restore_cwnd = (cc.restore_pen & kCcRestore) != 0;
  out.rcv_cwnd_pen = cc.restore_pen & 0x7F;
  out.rcvd_bytes = RcvdUnits{cc.rcvd_bytes};
  return DropReason::kNone;
}

DropReason decode_nack(std::span<const std::uint8_t> first, const FrameView& frame, NackView& out) {
  const DropReason r = check_exact(first, frame, sizeof(Neth));
  if (r != DropReason::kNone) return r;
  const auto h = load_header<Neth>(first.data() + frame.body_offset);
  out.reason = static_cast<NackReason>(h.nack_reason);
  out.vendor_info = h.vendor_info;
  out.entropy = h.entropy;
  out.spdcid = h.spdcid;
  out.dpdcid = h.dpdcid;
  out.nack_psn = Psn{h.nack_psn};
  out.cc_type = h.cc_type_fl >> 4;
  out.cc_fl = h.cc_type_fl & 0x0F;
  out.tx_timestamp = Tick{h.tx_timestamp.get()};
  return DropReason::kNone;
}

DropReason decode_ack(std::span<const std::uint8_t> first, const FrameView& frame, AckView& out) {
  const DropReason r = check_exact(first, frame, sizeof(Aeth));
  if (r != DropReason::kNone) return r;
  const std::uint32_t w = load_be32(first.data() + frame.body_offset);
  out.psn = frame.bth.psn;
  out.syndrome = static_cast<std::uint8_t>(w >> 24);
  out.msn = w & 0xFFFFFF;
  return DropReason::kNone;
}

DropReason decode_probe(std::span<const std::uint8_t> first, const FrameView& frame, ProbeView& out) {
  const DropReason r = check_exact(first, frame, sizeof(Peth));
  if (r != DropReason::kNone) return r;
  const std::uint8_t* p = first.data() + frame.body_offset;
  const auto h = load_header<Peth>(p);
  const Timestamp t = decode_timestamp(p + offsetof(Peth, timestamp));
  out.vendor_info = h.vendor_info;
  out.probe_id = h.probe_id;
  out.spdcid = h.spdcid;
  out.dpdcid = h.dpdcid;
  out.tx_timestamp = t.tick;
  out.tsr = t.tsr;
  out.has_timestamp = t.valid;
  return DropReason::kNone;
}

DropReason decode_endpoint_request(std::span<const std::uint8_t> first, const FrameView& frame,
                                   EndpointRequestView& out) {
  const DropReason r = check_exact(first, frame, sizeof(Erth));
  if (r != DropReason::kNone) return r;
  const std::uint8_t* p = first.data() + frame.body_offset;
  const auto h = load_header<Erth>(p);
  const Timestamp t = decode_timestamp(p + offsetof(Erth, timestamp));
  out.request_id = static_cast<std::uint16_t>(frame.bth.psn.value());
  out.op = static_cast<EndpointOp>(h.op & kErthOpMask);
  out.vendor_info = h.vendor_info;
  out.port_status_mask = h.port_status_mask;
  out.tx_timestamp = t.tick;
  out.tsr = t.tsr;
  out.has_timestamp = t.valid;
  return DropReason::kNone;
}

DropReason decode_endpoint_response(std::span<const std::uint8_t> first, const FrameView& frame,
                                    EndpointResponseView& out) {
  const DropReason r = check_exact(first, frame, sizeof(Eeth));
  if (r != DropReason::kNone) return r;
  const auto h = load_header<Eeth>(first.data() + frame.body_offset);
  out.request_id = static_cast<std::uint16_t>(frame.bth.psn.value());
  out.op = static_cast<EndpointOp>((h.op >> kEethOpShift) & 3);
  out.tx_timestamp = Tick{h.tx_timestamp.get()};
  return DropReason::kNone;
}

}  // namespace mrc::wire
