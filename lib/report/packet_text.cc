// SPDX-License-Identifier: BSD-3-Clause
// Text from the JSON of a packet, so that both always say the same.
#include <fmt/format.h>

#include "report/packet_fields.h"

namespace mrc::report {
namespace {

using Json = nlohmann::ordered_json;

/// Numbers that people know in hexadecimal.
bool is_hex(std::string_view key) {
  return key == "dqp" || key == "psn" || key == "cack_psn" || key == "nack_psn" || key == "entropy" ||
         key == "rkey" || key == "pkey" || key == "immdt" || key == "syndrome" || key == "spdcid" ||
         key == "dpdcid" || key == "probe_id" || key == "tx_timestamp" || key == "port_status_mask" ||
         key == "flow_label" || key == "tpid" || key == "nack_reason";
}

std::string value_text(std::string_view key, const Json& v) {
  if (v.is_string()) return v.get<std::string>();
  if (v.is_boolean()) return v.get<bool>() ? "1" : "0";
  if (v.is_number() && is_hex(key)) return fmt::format("0x{:x}", v.get<std::uint64_t>());
  if (v.is_array()) {
    std::string out;
    for (const Json& e : v) {
      if (!out.empty()) out += ",";
      out += e.is_object() ? fmt::format("{}", e.value("vid", 0)) : value_text(key, e);
    }
    return out.empty() ? "none" : out;
  }
  return v.dump();
}

const char* reason_name(int reason) {
  switch (reason) {
    case 0x01:
      return "TRIMMED";
    case 0x02:
      return "TRIMMED_LASTHOP";
    case 0x06:
      return "NO_BITMAP";
    case 0x07:
      return "NO_PKT_BUFFER";
    case 0x0A:
      return "NO_RESOURCE";
    case 0x0B:
      return "PSN_OOR_WINDOW";
    case 0x19:
      return "UNEXP_EVENT";
    default:
      return "unknown reason";
  }
}

/// What the number of a field is called, in parentheses behind it.
std::string gloss(std::string_view header, std::string_view key, const Json& v) {
  if (header == "neth" && key == "nack_reason") return fmt::format(" ({})", reason_name(v.get<int>()));
  if (header == "aeth" && key == "syndrome") return v.get<int>() < 0x20 ? " (ACK)" : " (NAK)";
  if ((header == "erth" || header == "eeth") && key == "op") {
    const int op = v.get<int>();
    return op == 0 ? " (Port Status Update)" : op == 1 ? " (EV Probe)" : " (reserved)";
  }
  if (key == "ecn") {
    static constexpr const char* kEcn[] = {" (Not-ECT)", " (ECT(1))", " (ECT(0))", " (CE)"};
    return kEcn[v.get<int>() & 3];
  }
  return "";
}

std::string header_line(const std::string& name, const Json& fields) {
  std::string line = fmt::format("  {:<8}", name);
  for (const auto& [key, value] : fields.items()) {
    line += fmt::format(" {}={}{}", key, value_text(key, value), gloss(name, key, value));
  }
  return line;
}

}  // namespace

std::string to_text(const DecodedPacket& p) {
  const Json json = to_json(p);
  std::string out;
  const auto add = [&](const std::string& line) {
    if (!out.empty()) out += '\n';
    out += line;
  };
  for (const auto& [key, value] : json.items()) {
    if (key == "icrc") {
      const std::uint32_t got = value.at("got");
      // As the bytes stand in the packet.
      const bool ok = value.at("ok").get<bool>();
      add(fmt::format("  icrc     {:08x} {}", __builtin_bswap32(got),
                      ok ? std::string("ok (bytes in packet order)")
                         : fmt::format("WRONG, should be {:08x} (bytes in packet order)",
                                       __builtin_bswap32(value.at("want").get<std::uint32_t>()))));
    } else if (value.is_object()) {
      add(header_line(key, value));
    } else if (key == "op") {
      add(fmt::format("  opcode   0x{:02x} {}", json.at("opcode").get<int>(), value.get<std::string>()));
    } else if (key == "trimmed") {
      if (value.get<bool>()) add("  trimmed  the payload was cut by a switch; no ICRC");
    } else if (key == "snapped") {
      add(fmt::format("  snapped  {} of {} bytes captured; ICRC not checked", p.bytes.size(),
                      p.original_bytes));
    } else if (key != "opcode" && key != "error" && key != "error_byte" && key != "reason") {
      add(fmt::format("  {:<8} {}", key, value_text(key, value)));
    }
  }
  return out;
}

}  // namespace mrc::report
