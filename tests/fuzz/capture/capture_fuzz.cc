// SPDX-License-Identifier: BSD-3-Clause
// Fuzz target of the capture reader, and of the packet printer behind it where that is built.
#include <cstdlib>
#include <sstream>

#include "report/capture_reader.h"
#ifdef MRC_HAVE_TOOLS
#include "report/packet_fields.h"
#endif

namespace {

void require(bool ok) {
  if (!ok) std::abort();
}

void use(const mrc::report::CapturedPacket& packet) {
  require(packet.original_bytes >= packet.bytes.size());
#ifdef MRC_HAVE_TOOLS
  const auto decoded = mrc::report::decode_any(
      packet.bytes, packet.original_bytes, mrc::report::PacketStart::kEthernet, mrc::wire::DecodeOptions{});
  require(!to_text(decoded).empty() || decoded.verdict != mrc::report::Verdict::kFine);
  (void)icrc_input(decoded);
#endif
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto in = std::make_unique<std::istringstream>(std::string(reinterpret_cast<const char*>(data), size));
  auto reader = mrc::report::CaptureReader::from_stream(std::move(in), "fuzz");
  if (!reader) {
    require(!reader.error().message.empty());
    return 0;
  }
  mrc::report::CapturedPacket packet;
  for (;;) {
    const auto more = reader->next(packet);
    if (!more) require(!more.error().message.empty());
    if (!more || !*more) return 0;
    require(packet.interface_id < reader->interfaces().size());
    use(packet);
  }
}
