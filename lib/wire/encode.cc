// SPDX-License-Identifier: BSD-3-Clause
#include "wire/encode.h"

#include <cassert>

namespace mrc::wire {
namespace {

/// Prefix and BTH of a packet whose MRC headers take `mrc_bytes` and end at `end`. Returns the first body
/// byte.
inline std::uint8_t* begin_control(const HeaderTemplate& path, const SendMeta& meta, std::uint32_t dqp,
                                   Opcode op, std::uint32_t flags_and_psn, std::uint32_t mrc_bytes,
                                   std::uint8_t* end) {
  std::uint8_t* bth = end - mrc_bytes;
  path.write_prefix(bth, mrc_bytes + kIcrcBytes, meta.tos, meta.ev);
  store_bth(bth, op, 0, path.pkey(), dqp, flags_and_psn);
  return bth + sizeof(Bth);
}

/// C12: ftype 1 with a timestamp, 0 without.
Tseth timestamp_word(Tick tick, bool tsr, bool valid) {
  return {static_cast<std::uint16_t>(tick.value()),
          static_cast<std::uint16_t>((tsr ? kTsr : 0U) | (valid ? kFtypeTimestamp : 0U))};
}

}  // namespace

std::uint32_t encode_sack(const HeaderTemplate& path, const SendMeta& meta, const SackView& sack,
                          std::uint8_t* end) {
  std::uint8_t* p = begin_control(path, meta, meta.dqp, Opcode::kSack,
                                  flags_psn(false, sack.rtx, false, sack.cack_psn), kSackBytes, end);
  // Straight words, not a struct: built on the stack its small stores would stall the copy out of it.
  const auto half = [](auto v) { return std::uint32_t{static_cast<std::uint16_t>(v)}; };
  const std::uint32_t m_pr = static_cast<std::uint32_t>(sack.m) << kSethMShift | (sack.pr ? kSethPr : 0U);
  const std::uint32_t cc_type_fl = std::uint32_t{sack.cc_type} << 4 | (sack.cc_fl & 0x0FU);
  const std::uint32_t restore_pen = (sack.restore_cwnd ? kCcRestore : 0U) | (sack.rcv_cwnd_pen & 0x7FU);
  store_be32(p, m_pr << 16 | half(sack.ack_psn_offset));
  store_be32(p + offsetof(Seth, entropy), sack.entropy);
  store_be32(p + offsetof(Seth, spdcid), half(sack.spdcid) << 16 | sack.dpdcid);
  store_be32(p + offsetof(Seth, reserved), sack.cack_psn.value());
  store_be32(p + offsetof(Seth, cc_type_fl),
             cc_type_fl << 24 | half(sack.mpr) << 16 | half(sack.sack_offset));
  store_be64(p + offsetof(Seth, sack_bitmap), sack.sack_bitmap);
  p += sizeof(Seth);
  store_be32(p, half(sack.tx_timestamp.value()) << 16 | (sack.ooo_count & 0x7FFFU));
  store_be32(p + offsetof(CcState, restore_pen), restore_pen << 24 | sack.rcvd_bytes.value());
  return path.prefix_bytes() + kSackBytes;
}

std::uint32_t encode_nack(const HeaderTemplate& path, const SendMeta& meta, const NackView& nack,
                          std::uint8_t* end) {
  std::uint8_t* p =
      begin_control(path, meta, meta.dqp, Opcode::kNack, nack.nack_psn.value(), kNackBytes, end);
  Neth h{};
  h.nack_reason = static_cast<std::uint8_t>(nack.reason);
  h.vendor_info = nack.vendor_info;
  h.entropy = nack.entropy;
  h.spdcid = nack.spdcid;
  h.dpdcid = nack.dpdcid;
  h.nack_psn = nack.nack_psn.value();
  h.cc_type_fl = static_cast<std::uint8_t>(nack.cc_type << 4 | (nack.cc_fl & 0x0F));
  h.tx_timestamp = static_cast<std::uint16_t>(nack.tx_timestamp.value());
  store_header(p, h);
  return path.prefix_bytes() + kNackBytes;
}

std::uint32_t encode_ack(const HeaderTemplate& path, const SendMeta& meta, const AckView& ack,
                         std::uint8_t* end) {
  std::uint8_t* p = begin_control(path, meta, meta.dqp, Opcode::kAck, ack.psn.value(), kAckBytes, end);
  store_be32(p, std::uint32_t{ack.syndrome} << 24 | (ack.msn & 0xFFFFFF));
  return path.prefix_bytes() + kAckBytes;
}

std::uint32_t encode_probe(const HeaderTemplate& path, const SendMeta& meta, const ProbeView& probe,
                           std::uint8_t* end) {
  std::uint8_t* p = begin_control(path, meta, meta.dqp, Opcode::kProbe, 0, kProbeBytes, end);  // T7-6: psn 0
  Peth h{};
  h.vendor_info = probe.vendor_info;
  h.probe_id = probe.probe_id;
  h.spdcid = probe.spdcid;
  h.dpdcid = probe.dpdcid;
  h.timestamp = timestamp_word(probe.tx_timestamp, probe.tsr, probe.has_timestamp);
  store_header(p, h);
  return path.prefix_bytes() + kProbeBytes;
}

std::uint32_t encode_endpoint_request(const HeaderTemplate& path, const SendMeta& meta,
                                      const EndpointRequestView& request, std::uint8_t* end) {
  std::uint8_t* p = begin_control(path, meta, kEndpointDqp, Opcode::kEndpointRequest, request.request_id,
                                  kEndpointRequestBytes, end);
  Erth h{};
  h.op = static_cast<std::uint8_t>(request.op) & kErthOpMask;
  h.vendor_info = request.vendor_info;
  h.port_status_mask = request.port_status_mask;
  h.timestamp = timestamp_word(request.tx_timestamp, request.tsr, request.has_timestamp);
  store_header(p, h);
  return path.prefix_bytes() + kEndpointRequestBytes;
}

std::uint32_t encode_endpoint_response(const HeaderTemplate& path, const SendMeta& meta,
                                       const EndpointResponseView& response, std::uint8_t* end) {
  std::uint8_t* p = begin_control(path, meta, kEndpointDqp, Opcode::kEndpointResponse, response.request_id,
                                  kEndpointResponseBytes, end);
  Eeth h{};
  h.op = static_cast<std::uint8_t>((static_cast<unsigned>(response.op) & 3) << kEethOpShift);
  h.tx_timestamp = static_cast<std::uint16_t>(response.tx_timestamp.value());
  store_header(p, h);
  return path.prefix_bytes() + kEndpointResponseBytes;
}

}  // namespace mrc::wire
