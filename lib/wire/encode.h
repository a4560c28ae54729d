// SPDX-License-Identifier: BSD-3-Clause
// From a view to bytes. Headers are written right-justified in front of `end` (the payload of a Write, the
// ICRC of everything else); `end` must have kPayloadOffset bytes before it, all of which may be overwritten.
// Each function returns the number of header bytes: the frame starts at end - n. The ICRC comes last: seal()
// in icrc.h.
#pragma once

#include <cstdint>

#include "wire/decode.h"
#include "wire/header_template.h"
#include "wire/headers.h"
#include "wire/types.h"

namespace mrc::wire {

/// What a packet has besides its view.
struct SendMeta {
  std::uint32_t dqp = 0;  ///< 24 bits; Endpoint Requests and Responses always go to kEndpointDqp
  std::uint8_t tos = 0;   ///< DscpMap::tos
  EvBits ev;
};

/// Zero bytes behind a payload (1.12).
constexpr std::uint32_t pad_bytes(std::uint32_t payload_bytes) {
  return (4 - (payload_bytes & 3)) & 3;
}

/// `write.payload_bytes` is the true length; PadCount follows from it (C3). pad_bytes and nominal_bytes are
/// not read.
std::uint32_t encode_write(const HeaderTemplate& path, const SendMeta& meta, const WriteView& write,
                           std::uint8_t* end);
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
