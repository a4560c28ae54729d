// SPDX-License-Identifier: BSD-3-Clause
// One packet between two hosts of a property run, as decoded views with the truth about it beside them.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "path/ev_set.h"
#include "wire/types.h"

namespace mrc::property {

struct Packet {
  using View = std::variant<wire::WriteView, wire::TrimmedView, wire::SackView, wire::NackView, wire::AckView,
                            wire::ProbeView, wire::EndpointRequestView, wire::EndpointResponseView>;
  View view;
  wire::RxMeta meta;  ///< as the receiver sees it; arrival is set on delivery
  wire::DscpClass dscp = wire::DscpClass::kControl;
  path::EvIndex ev = path::kNoEv;  ///< of the sender's table
  int from = 0;
  Time sent;
  bool corrupted = false;             ///< bits of `bytes` were flipped: the receiver must refuse it
  std::vector<std::uint8_t> payload;  ///< Writes
  std::vector<std::uint8_t> bytes;    ///< as on the wire; empty when the run does not use lib/wire

  [[nodiscard]] bool is_write() const { return std::holds_alternative<wire::WriteView>(view); }
  /// Shares the fate of data: Writes and probes.
  [[nodiscard]] bool is_data() const { return is_write() || std::holds_alternative<wire::ProbeView>(view); }
};

}  // namespace mrc::property
