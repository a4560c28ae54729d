// SPDX-License-Identifier: BSD-3-Clause
#include "config/ev_profile.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace mrc::config {
namespace {

/// Format widths and fields of a profile; nothing else.
path::EvProfile fields_of(const EvConfig& ev) {
  path::EvProfile p;
  p.format = ev.format;
  for (const EvFieldConfig& f : ev.fields) {
    p.format_widths.push_back(f.format_width);
    p.fields.push_back({f.width, f.init, f.min, f.max, f.mask});
  }
  return p;
}

}  // namespace

path::EvValue ev_bytes(std::string_view text) {
  std::string digits;
  for (const char c : text.substr(2)) {
    if (c != ':' && c != ' ') digits += c;
  }
  if (digits.size() % 2 != 0) digits += '0';
  path::EvValue value{};
  for (std::size_t i = 0; i < value.size() && 2 * i + 1 < digits.size(); ++i) {
    value[i] = static_cast<std::uint8_t>(std::stoul(digits.substr(2 * i, 2), nullptr, 16));
  }
  return value;
}

bool fabric_names_evs(const EndpointConfig& c) {
  return c.profile == Profile::kVirtual && path::is_srv6(c.ev.format);
}

std::size_t effective_ev_count(const EndpointConfig& c) {
  if (c.ev.mode == EvMode::kExplicit) return c.ev.values.size();
  if (!c.ev.count_auto) return c.ev.count;
  const std::size_t planes = c.planes.empty() ? c.plane_count : c.planes.size();
  if (fabric_names_evs(c)) return std::min<std::size_t>(kMaxEvs / planes, c.fabric.paths_per_plane) * planes;
  const path::EvProfile p = fields_of(c.ev);
  if (c.ev.mode == EvMode::kGenerated && path::check_fields(p.format, p.format_widths, p.fields))
    return std::min<std::uint64_t>(kMaxEvs / planes, path::combinations(p.fields)) * planes;
  return (c.ev.count + planes - 1) / planes * planes;
}

path::EvProfile ev_profile_of(const EndpointConfig& c, bool ipv6, std::uint64_t seed) {
  path::EvProfile p = fields_of(c.ev);
  p.order = c.ev.order;
  p.ipv6 = ipv6;
  p.seed = seed;
  p.api_ports.clear();
  const std::size_t planes = c.planes.empty() ? c.plane_count : c.planes.size();
  for (std::size_t i = 0; i < planes; ++i) p.api_ports.push_back(static_cast<std::uint8_t>(i + 1));
  p.mode = c.ev.mode == EvMode::kAuto       ? path::ProfileMode::kAuto
           : c.ev.mode == EvMode::kExplicit ? path::ProfileMode::kExplicit
                                            : path::ProfileMode::kGenerated;
  p.ev_count = static_cast<std::uint32_t>(effective_ev_count(c));
  if (p.mode == path::ProfileMode::kExplicit) {
    for (const EvValueConfig& v : c.ev.values) {
      p.evs.push_back({ev_bytes(v.ev), static_cast<std::uint8_t>(v.plane + 1)});
    }
  }
  return p;
}

}  // namespace mrc::config
