// SPDX-License-Identifier: BSD-3-Clause
// Fuzz target of the frame decoder. Byte 0: bits 1-0 where the packet starts (Ethernet, IP, BTH), bit 2 the
// EV order, bits 7-3 how many bytes more than given the packet is said to have, times 16. The rest is the
// packet.
#include <cstdlib>

#include "../../wire/every_body.h"
#include "wire/decode.h"
#include "wire/icrc.h"

namespace {

using namespace mrc::wire;
using Span = std::span<const std::uint8_t>;

void require(bool ok) {
  if (!ok) std::abort();
}

DropReason decode_start(std::uint8_t kind, Span packet, std::uint32_t total, const DecodeOptions& options,
                        FrameView& f) {
  switch (kind & 3) {
    case 0:
      return decode_frame(packet, total, options, f);
    case 1:
      return decode_packet(packet, total, options, f);
    default:
      return decode_from_bth(packet, options, f);
  }
}

void check_icrcs(Span packet, const FrameView& f) {
  const IcrcCheck whole = check_icrc(packet, f);
  const std::size_t cut = f.body_offset + (packet.size() - f.body_offset) / 2;
  const Span chain[] = {packet.first(cut), packet.subspan(cut)};
  require(whole.ok() == check_icrc(chain, f).ok());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0 || size > 65536) return 0;
  DecodeOptions options;
  options.order = (data[0] & 4) != 0 ? EntropyOrder::kA : EntropyOrder::kB;
  options.verify_ip_checksum = false;  // else nearly nothing gets past it
  const Span packet(data + 1, size - 1);
  const auto total = static_cast<std::uint32_t>(packet.size() + (data[0] >> 3) * 16U);
  FrameView f;
  const DropReason reason = decode_start(data[0], packet, total, options, f);
  require(reason < DropReason::kCount);
  if (reason != DropReason::kNone) {
    require(f.error_offset <= total);
    return 0;
  }
  require(f.body_offset <= packet.size() && f.body_offset <= f.body_end && f.body_end <= total);
  require(f.has_icrc == (f.trim == Trim::kNone && (data[0] & 3) < 2));
  require(testing::decode_every_body(packet, f));
  if (f.has_icrc) check_icrcs(packet, f);
  return 0;
}
