// SPDX-License-Identifier: BSD-3-Clause
// From a view to bytes. Headers are written right-justified in front of `end` (the payload of a Write, the
// ICRC of everything else); `end` must have kPayloadOffset bytes before it, all of which may be overwritten.
// Each function returns the number of header bytes: the frame starts at end - n. The ICRC comes last: seal()
// in icrc.h.
#pragma once

#include <cassert>
#include <cstdint>

#include "wire/decode.h"
#include "wire/header_template.h"
#include "wire/headers.h"
#include "wire/sizes.h"
#include "wire/types.h"

namespace mrc::wire {

/// What a packet has besides its view.
struct SendMeta {
  std::uint32_t dqp = 0;  ///< 24 bits; Endpoint Requests and Responses always go to kEndpointDqp
  std::uint8_t tos = 0;   ///< DscpMap::tos
  EvBits ev;
};

/// BTH byte 8 above the PSN.
constexpr std::uint32_t flags_psn(bool a, bool rtx, bool ts, Psn psn) {
  return (a ? std::uint32_t{kBthA} << 24 : 0) | (rtx ? std::uint32_t{kBthRtx} << 24 : 0) |
         (ts ? std::uint32_t{kBthTs} << 24 : 0) | psn.value();
}
inline void store_bth(std::uint8_t* p, Opcode op, std::uint32_t byte1, std::uint32_t pkey, std::uint32_t dqp,
                      std::uint32_t flags_and_psn) {
  store_be32(p, static_cast<std::uint32_t>(op) << 24 | byte1 << 16 | pkey);
  store_be32(p + 4, dqp & kQpnMask);
  store_be32(p + 8, flags_and_psn);
}

/// `write.payload_bytes` is the true length; PadCount follows from it (C3). pad_bytes and nominal_bytes are
/// not read. Inline: in the datapath the view then never becomes memory.
inline std::uint32_t encode_write(const HeaderTemplate& path, const SendMeta& meta, const WriteView& write,
                                  std::uint8_t* end) {
  const Opcode op = write.bth.opcode;
  assert(is_write(op));
  const std::uint32_t mrc_bytes = write_header_bytes(op, write.bth.ts);
  const std::uint32_t pad = pad_bytes(write.payload_bytes);
  std::uint8_t* p = end - mrc_bytes;
  path.write_prefix(p, mrc_bytes + write.payload_bytes + pad + kIcrcBytes, meta.tos, meta.ev);
  store_bth(p, op, (write.bth.se ? kBthSe : 0U) | pad << kBthPadShift, path.pkey(), meta.dqp,
            flags_psn(write.bth.a, write.bth.rtx, write.bth.ts, write.bth.psn));
  p += sizeof(Bth);
  store_be32(p, write.rqmsn.value() << 16 | write.msn.value());
  p += sizeof(Meth);
  if (write.bth.ts) {
    store_be32(p, write.tx_timestamp.value() << 16 | (write.tsr ? kTsr : 0U) | kFtypeTimestamp);
    p += sizeof(Tseth);
  }
  store_be64(p, write.va);
  store_be32(p + 8, write.rkey);
  store_be32(p + 12, write.dmalen);
  if (has_immediate(op)) store_be32(p + sizeof(Reth), write.immdt);
  return path.prefix_bytes() + mrc_bytes;
}
/// `se_m_pad`, BTH byte 1, is 0 in all of these. BTH.psn = cack_psn (T7-6), BTH.rtx mirrors (C41).
std::uint32_t encode_sack(const HeaderTemplate& path, const SendMeta& meta, const SackView& sack,
                          std::uint8_t* end);
std::uint32_t encode_nack(const HeaderTemplate& path, const SendMeta& meta, const NackView& nack,
                          std::uint8_t* end);
std::uint32_t encode_ack(const HeaderTemplate& path, const SendMeta& meta, const AckView& ack,
                         std::uint8_t* end);
std::uint32_t encode_probe(const HeaderTemplate& path, const SendMeta& meta, const ProbeView& probe,
                           std::uint8_t* end);
std::uint32_t encode_endpoint_request(const HeaderTemplate& path, const SendMeta& meta,
                                      const EndpointRequestView& request, std::uint8_t* end);
std::uint32_t encode_endpoint_response(const HeaderTemplate& path, const SendMeta& meta,
                                       const EndpointResponseView& response, std::uint8_t* end);

}  // namespace mrc::wire
