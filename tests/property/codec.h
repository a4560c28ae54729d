// SPDX-License-Identifier: BSD-3-Clause
// Packets of a run as Ethernet frames through lib/wire and back: what the transport hands out must survive
// the wire, and a frame with flipped bits must not reach it.
#pragma once

#include <cstdint>

#include "packet.h"
#include "path/ev_table.h"
#include "wire/header_template.h"

namespace mrc::property {

class Codec {
 public:
  Codec();
  /// Fills packet.bytes from its view and payload.
  void encode(Packet& packet, std::uint32_t dqp, const path::EvEntry& ev) const;
  /// Decodes packet.bytes and replaces view, payload and metadata by what was read. False: the frame was
  /// refused. Throws a Violation when an undamaged frame is refused or reads differently, or when a damaged
  /// one passes.
  bool decode(Packet& packet) const;
  /// What a congested switch does to the ECN field of an IPv4 frame.
  static void mark_ce(std::vector<std::uint8_t>& frame);

 private:
  wire::HeaderTemplate path_;
};

}  // namespace mrc::property
