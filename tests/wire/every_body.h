// SPDX-License-Identifier: BSD-3-Clause
// Every body decoder over one frame, whatever its opcode: the host's dispatch is not what keeps them safe.
#pragma once

#include <cstdint>
#include <span>

#include "wire/decode.h"

namespace mrc::wire::testing {

/// False: a Write was decoded with more payload and padding than the body has. Nothing here depends on a test
/// framework: fuzz targets use it as well.
[[nodiscard]] inline bool decode_every_body(std::span<const std::uint8_t> packet, const FrameView& f) {
  WriteView w;
  const bool ok =
      decode_write(packet, f, w) != DropReason::kNone || w.payload_bytes + w.pad_bytes <= f.body_bytes();
  TrimmedView t;
  SackView s;
  NackView n;
  AckView a;
  ProbeView p;
  EndpointRequestView q;
  EndpointResponseView r;
  (void)decode_trimmed(packet, f, t);
  (void)decode_sack(packet, f, s);
  (void)decode_nack(packet, f, n);
  (void)decode_ack(packet, f, a);
  (void)decode_probe(packet, f, p);
  (void)decode_endpoint_request(packet, f, q);
  (void)decode_endpoint_response(packet, f, r);
  return ok;
}

}  // namespace mrc::wire::testing
