// SPDX-License-Identifier: BSD-3-Clause
// A decoded packet as JSON (one object) and as lines of text, with the field names of MRC 1.0.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "report/packet_decode.h"

namespace mrc::report {

/// Objects by header: bth, meth, tseth, reth, immdt, aeth, seth, cc_state, neth, peth, erth, eeth; entropy,
/// srv6, trimmed, payload_len, icrc; eth, ip and udp around them. 64-bit values are strings "0x...",
/// addresses strings in their usual notation, single bits booleans, everything else numbers. A header that is
/// not there has no key. A packet that is not fine has `error` (one line), `error_byte` and `reason` (the
/// drop counter's name).
nlohmann::ordered_json to_json(const DecodedPacket& packet);

/// The same for people: one line a header, indented by two; no line feed at the end.
std::string to_text(const DecodedPacket& packet);

/// "10.0.0.1", "fd00:a::1" (RFC 5952).
std::string ip_text(std::span<const std::uint8_t> address);
std::string mac_text(std::span<const std::uint8_t> address);

}  // namespace mrc::report
