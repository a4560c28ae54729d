// SPDX-License-Identifier: BSD-3-Clause
#include "path/ev_table.h"

#include <algorithm>
#include <numeric>
#include <string>

namespace mrc::path {
namespace {

// SRv6 EVs are consumed on the way, so what the responder can reflect is sender-private (C36). We put the EV
// index there: the low bits of a source port in the dynamic range, and the flow label, so that ECMP hashing
// of the inner or outer header still varies with the EV.
static_assert(kMaxEvs <= wire::kDynamicPorts);

std::uint16_t half_at(const EvValue& value, std::size_t byte) {
  return static_cast<std::uint16_t>((value[byte] << 8) | value[byte + 1]);
}

EvEntry entry_of(EvFormat format, EvOrder order, bool ipv6, const EvValue& value, std::uint8_t port,
                 std::size_t index) {
  EvEntry e;
  e.value = value;
  e.port = port;
  switch (format) {
    case EvFormat::kUdp:
      e.udp_sport = half_at(value, 0);
      break;  // 5.1: entirely in the source port, flow label constant
    case EvFormat::kStev: {
      const auto fields = wire::fields_of(order, std::uint32_t{half_at(value, 0)} << 16 | half_at(value, 2));
      e.udp_sport = fields.udp_sport;
      e.flow_label = fields.flow_label;
      break;
    }
    case EvFormat::kSrv6:
    case EvFormat::kSrv6Srh:
      e.udp_sport = static_cast<std::uint16_t>(wire::kFirstDynamicPort + index);
      e.flow_label = static_cast<std::uint16_t>(index);
      break;
  }
  if (!ipv6) e.flow_label = 0;  // 5.1: IPv4 has none
  e.entropy = wire::entropy_of(order, e.udp_sport, e.flow_label);
  return e;
}

}  // namespace

std::size_t width_bytes(EvFormat format) {
  switch (format) {
    case EvFormat::kUdp:
      return 2;
    case EvFormat::kStev:
      return 4;
    case EvFormat::kSrv6:
      return 16;
    case EvFormat::kSrv6Srh:
      return 32;
  }
  return 0;
}

const char* to_string(EvFormat format) {
  switch (format) {
    case EvFormat::kUdp:
      return "UDP";
    case EvFormat::kStev:
      return "STEV";
    case EvFormat::kSrv6:
      return "SRv6";
    case EvFormat::kSrv6Srh:
      return "SRv6+SRH";
  }
  return "?";
}

Result<EvTable> EvTable::create(EvFormat format, EvOrder order, bool ipv6, std::span<const EvValue> values,
                                std::span<const std::uint8_t> ports) {
  const auto count = std::to_string(values.size());
  if (values.empty()) return Error{"EV table: 0 EVs; a QP needs at least 1: give one EV a plane or more"};
  if (values.size() > kMaxEvs)
    return Error{"EV table: " + count + " EVs; the limit is " + std::to_string(kMaxEvs) +
                 ": use fewer EVs in the profile"};
  if (ports.size() != values.size())
    return Error{"EV table: " + count + " values but " + std::to_string(ports.size()) +
                 " ports: give one port for each value"};
  EvTable table;
  table.format_ = format;
  table.order_ = order;
  table.entries_.reserve(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (ports[i] >= kMaxPlanes)
      return Error{"EV table: EV " + std::to_string(i) + " is on plane " + std::to_string(ports[i]) +
                   "; planes are numbered 0 to " + std::to_string(kMaxPlanes - 1) + ": correct its port"};
    const auto beyond = values[i].begin() + static_cast<std::ptrdiff_t>(width_bytes(format));
    if (std::any_of(beyond, values[i].end(), [](std::uint8_t b) { return b != 0; }))
      return Error{"EV table: EV " + std::to_string(i) + " has bits beyond the " +
                   std::to_string(8 * width_bytes(format)) + " that " + to_string(format) +
                   " carries: left-align the value and pad it with zeros"};
    table.entries_.push_back(entry_of(format, order, ipv6, values[i], ports[i], i));
    table.planes_ = std::max<std::size_t>(table.planes_, ports[i] + 1U);
  }
  table.by_entropy_.resize(values.size());
  std::iota(table.by_entropy_.begin(), table.by_entropy_.end(), 0U);
  std::stable_sort(table.by_entropy_.begin(), table.by_entropy_.end(), [&](std::uint32_t a, std::uint32_t b) {
    return table.entries_[a].entropy < table.entries_[b].entropy;
  });
  return table;
}

int EvTable::find_unique(std::uint32_t entropy, int port) const {
  auto it = std::lower_bound(by_entropy_.begin(), by_entropy_.end(), entropy,
                             [this](std::uint32_t i, std::uint32_t e) { return entries_[i].entropy < e; });
  int found = -1;
  for (; it != by_entropy_.end() && entries_[*it].entropy == entropy; ++it) {
    if (port >= 0 && entries_[*it].port != port) continue;
    if (found >= 0) return -1;  // D12: a bare entropy names an EV only when it is unique
    found = static_cast<int>(*it);
  }
  return found;
}

}  // namespace mrc::path
