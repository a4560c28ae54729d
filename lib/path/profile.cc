// SPDX-License-Identifier: BSD-3-Clause
// Modes and entry checks; the field arithmetic is in profile_fields.cc.
#include "path/profile.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "base/rng.h"

namespace mrc::path {
namespace {

using std::to_string;

struct Entries {
  std::vector<EvValue> values;
  std::vector<std::uint8_t> ports;
};

Error refuse(const std::string& what) {
  return Error{"EV profile: " + what};
}

Result<void> check_count(const EvProfile& p, std::uint64_t count, std::uint64_t align, const char* align_is) {
  if (count == 0) return refuse("ev_count is 0: a profile needs at least 1 EV");
  if (count > kMaxEvs)
    return refuse("ev_count is " + to_string(count) + "; the limit is " + to_string(kMaxEvs) + ": lower it");
  if (p.ev_count_align == 0) return refuse("ev_count_align is 0; it must be 1 or more");
  const std::uint64_t step = std::max<std::uint64_t>(std::lcm<std::uint64_t>(p.ev_count_align, align), 1);
  if (count % step != 0)
    return refuse("ev_count is " + to_string(count) + "; it must be a multiple of " + to_string(step) + " (" +
                  align_is + "): use " + to_string((count / step + 1) * step));
  return {};
}

Result<void> check_api_port(std::uint8_t port, const std::string& where) {
  if (port >= 1 && port <= kMaxPlanes) return {};
  return refuse(where + " has port " + to_string(port) + "; ports are counted from 1 to " +
                to_string(kMaxPlanes) + ": correct the port");
}

// AUTO and GENERATED: who gets which plane is ours to choose, and shares are equal (5.3, 5.4).
Result<void> check_spread(const EvProfile& p) {
  if (p.api_ports.empty()) return refuse("no ports: name at least one plane to put EVs on");
  std::uint32_t seen = 0;
  for (std::size_t i = 0; i < p.api_ports.size(); ++i) {
    if (auto r = check_api_port(p.api_ports[i], "ports[" + to_string(i) + "]"); !r) return r;
    const std::uint32_t bit = 1U << p.api_ports[i];
    if ((seen & bit) != 0)
      return refuse("port " + to_string(p.api_ports[i]) +
                    " is listed twice: planes get equal shares, list each once");
    seen |= bit;
  }
  if (!p.evs.empty())
    return refuse("EVs are listed but the mode is not EXPLICIT: remove them or change the mode");
  return check_count(p, p.ev_count, p.api_ports.size(), "ev_count_align and the number of planes");
}

Result<Entries> auto_entries(const EvProfile& p) {
  if (p.format != EvFormat::kUdp && p.format != EvFormat::kStev)
    return refuse(std::string("mode AUTO cannot make ") + to_string(p.format) +
                  " addresses: they name switches of the fabric; use EXPLICIT or GENERATED");
  if (!p.fields.empty()) return refuse("mode AUTO takes no fields: remove them or use GENERATED");
  // Distinct source ports of the dynamic range (as RoCEv2 senders use), so that a reflected entropy names one
  // EV, over IPv4 too.
  Rng rng(p.seed);
  static_assert(kMaxEvs <= wire::kDynamicPorts);
  std::vector<std::uint16_t> sports(wire::kDynamicPorts);
  std::iota(sports.begin(), sports.end(), wire::kFirstDynamicPort);
  Entries out;
  for (std::size_t i = 0; i < p.ev_count; ++i) {
    std::swap(sports[i], sports[i + rng.below(wire::kDynamicPorts - i)]);
    // A UDP EV is the source port, left-aligned: as order B has it.
    const bool stev = p.format == EvFormat::kStev;
    const auto label = static_cast<std::uint16_t>(stev ? rng.next() : 0);
    const std::uint32_t ev = wire::entropy_of(stev ? p.order : EvOrder::kB, sports[i], label);
    EvValue v{};
    for (std::size_t b = 0; b < sizeof ev; ++b) v[b] = static_cast<std::uint8_t>(ev >> (24 - 8 * b));
    out.values.push_back(v);
  }
  return out;
}

Result<Entries> generated_entries(const EvProfile& p) {
  if (p.fields.empty())
    return refuse("mode GENERATED without fields: describe the fields, or use AUTO or EXPLICIT");
  const std::uint64_t planes = p.api_ports.size();
  const std::uint64_t available = combinations(p.fields);
  if (p.ev_count / planes > available)
    return refuse("ev_count is " + to_string(p.ev_count) + " but the fields give " + to_string(available) +
                  " values on each of " + to_string(planes) +
                  " planes: widen a field's range or use ev_count " + to_string(available * planes));
  Entries out;
  for (std::uint64_t i = 0; i < p.ev_count; ++i) {
    auto value = expand(p.format_widths, p.fields, generated_ev(p.fields, i / planes));
    if (!value) return value.error();
    out.values.push_back(*value);
  }
  return out;
}

// C34: without fields the EV is taken as expanded already.
Result<Entries> explicit_entries(const EvProfile& p) {
  if (p.ev_count != 0 && p.ev_count != p.evs.size())
    return refuse("ev_count is " + to_string(p.ev_count) + " but " + to_string(p.evs.size()) +
                  " EVs are given: give all of them, or drop ev_count");
  if (auto r = check_count(p, p.evs.size(), 1, "ev_count_align"); !r) return r.error();
  Entries out;
  for (std::size_t i = 0; i < p.evs.size(); ++i) {
    const std::string where = "EV " + to_string(i);
    if (p.evs[i] == ProfileEv{})
      return refuse(where + " is unpopulated (value and port all zero): all " + to_string(p.evs.size()) +
                    " entries must be given before the profile is used");
    if (auto r = check_api_port(p.evs[i].api_port, where); !r) return r.error();
    auto value =
        p.fields.empty() ? Result<EvValue>(p.evs[i].ev) : expand(p.format_widths, p.fields, p.evs[i].ev);
    if (!value) return refuse(where + ": " + value.error().message);
    out.values.push_back(*value);
    out.ports.push_back(static_cast<std::uint8_t>(p.evs[i].api_port - 1));
  }
  return out;
}

Result<Entries> entries_of(const EvProfile& p) {
  if (p.mode == ProfileMode::kExplicit) return explicit_entries(p);
  if (auto r = check_spread(p); !r) return r.error();
  auto entries = p.mode == ProfileMode::kAuto ? auto_entries(p) : generated_entries(p);
  if (!entries) return entries;
  for (std::size_t i = 0; i < entries->values.size(); ++i)
    entries->ports.push_back(static_cast<std::uint8_t>(p.api_ports[i % p.api_ports.size()] - 1));
  return entries;
}

}  // namespace

Result<EvTable> build_table(const EvProfile& profile) {
  if (auto r = check_fields(profile.format, profile.format_widths, profile.fields); !r) return r.error();
  auto entries = entries_of(profile);
  if (!entries) return entries.error();
  return EvTable::create(profile.format, profile.order, profile.ipv6, entries->values, entries->ports);
}

}  // namespace mrc::path
