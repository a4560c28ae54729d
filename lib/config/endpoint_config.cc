// SPDX-License-Identifier: BSD-3-Clause
#include "config/endpoint_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "config/address_rule.h"
#include "config/denylist.h"
#include "config/endpoint_schema.h"
#include "config/ev_profile.h"
#include "config/loader.h"
#include "config/printer.h"

namespace mrc::config {
namespace {

template <class E, std::size_t N>
std::string_view find_name(const Name<E> (&names)[N], E value) {
  for (const Name<E>& n : names) {
    if (n.value == value) return n.name;
  }
  return "?";
}

bool needs_device(Profile p) {
  return p != Profile::kVirtual && p != Profile::kRing;
}

bool must_name_devices(Profile p) {
  return needs_device(p) && !joins_by_sockets(p);
}

bool any_ipv4(const EndpointConfig& config) {
  return std::any_of(config.planes.begin(), config.planes.end(), [](const PlaneConfig& p) {
    return !p.ip.empty() && p.ip.find(':') == std::string::npos;
  });
}

Result<void> check_planes(const EndpointConfig& c) {
  if (c.planes.empty() && must_name_devices(c.profile)) {
    return Error{
        fmt::format("planes: profile {} needs one entry a plane with its 'device'", name_of(c.profile))};
  }
  std::set<std::string> devices;
  std::set<std::string> addresses;
  bool any4 = false;
  bool any6 = false;
  for (std::size_t i = 0; i < c.planes.size(); ++i) {
    const PlaneConfig& p = c.planes[i];
    if (must_name_devices(c.profile) && p.device.empty()) {
      return Error{fmt::format("planes[{}].device: profile {} needs it", i, name_of(c.profile))};
    }
    if (!p.device.empty() && !devices.insert(p.device).second) {
      return Error{fmt::format("planes[{}].device: '{}' is used by another plane; each plane has its own", i,
                               p.device)};
    }
    if (!p.ip.empty() && !addresses.insert(p.ip).second) {
      return Error{
          fmt::format("planes[{}].ip: {} is used by another plane; each plane has its own", i, p.ip)};
    }
    if (const auto ip = IpAddress::parse(p.ip); ip && !not_a_host(*ip).empty()) {
      return Error{fmt::format("planes[{}].ip: {} is {}; a plane has the unicast address of one host", i,
                               p.ip, not_a_host(*ip))};
    }
    if (p.outer_vlan != 0 && p.vlan == 0) {
      return Error{fmt::format("planes[{}].outer_vlan: {} needs vlan as well", i, p.outer_vlan)};
    }
    (p.ip.find(':') == std::string::npos ? any4 : any6) |= !p.ip.empty();
  }
  if (any4 && any6) return Error{"planes: IPv4 and IPv6 addresses are mixed; use one family on all planes"};
  return {};
}

Result<void> check_denied(const EndpointConfig& c, const path::EvTable& table) {
  const EvConfig& ev = c.ev;
  for (std::size_t i = 0; i < ev.denied.size() && ev.mode == EvMode::kAuto; ++i) {
    if (ev.denied[i].ev.empty()) continue;
    return Error{
        fmt::format("ev.denied[{}].ev: mode auto draws its values from the seed; give an 'index'", i)};
  }
  if (!ev.denied.empty() && c.workload.pin_ev >= 0)
    return Error{"ev.denied: workload.pin_ev leaves one EV; set one of the two"};
  if (const auto denied = denied_evs(ev, table); !denied) return denied.error();
  return {};
}

/// The table that check_ev can know: where the fabric names the EVs, as many of another format stand in.
Result<path::EvTable> table_of(const EndpointConfig& c, bool ipv6) {
  if (!fabric_names_evs(c)) return path::build_table(ev_profile_of(c, ipv6, 1));
  EndpointConfig named = c;
  named.ev.format = path::EvFormat::kUdp;
  named.ev.count = static_cast<std::uint16_t>(effective_ev_count(c));
  named.ev.count_auto = false;
  return path::build_table(ev_profile_of(named, ipv6, 1));
}

Result<void> check_named_ways(const EndpointConfig& c, std::size_t planes, std::size_t count) {
  if (!fabric_names_evs(c)) return {};
  if (c.ev.mode != EvMode::kAuto) {
    return Error{fmt::format(
        "ev.mode: {}: on profile virtual the fabric's switches have the uSIDs, other addresses lead nowhere; "
        "use mode auto, or a profile with a network of your own",
        find_name(kEvModes, c.ev.mode))};
  }
  if (count > planes * c.fabric.paths_per_plane) {
    return Error{fmt::format(
        "ev.count: {} EVs, but {} planes have fabric.paths_per_plane {} ways each; use at most {}, "
        "or auto",
        count, planes, c.fabric.paths_per_plane, planes * c.fabric.paths_per_plane)};
  }
  return {};
}

Result<void> check_fabric(const EndpointConfig& c) {
  const FabricConfig& f = c.fabric;
  for (const auto& [on, key] : {std::pair{f.ecn, "ecn"}, {f.trim, "trim"}}) {
    if (on && f.link_gbps == 0)
      return Error{fmt::format("fabric.{}: needs fabric.link_gbps; a path without a rate has no queue", key)};
  }
  if (f.ecn && ecn_min_of(f) > ecn_max_of(f)) {
    return Error{fmt::format("fabric.ecn_min: {} is above ecn_max, {}", ecn_min_of(f), ecn_max_of(f))};
  }
  if (f.ecn && ecn_max_of(f) > f.queue_bytes)
    return Error{fmt::format("fabric.ecn_max: {} is above fabric.queue, {}", ecn_max_of(f), f.queue_bytes)};
  return {};
}

Result<void> check_ev(const EndpointConfig& c) {
  const std::size_t planes = c.planes.empty() ? c.plane_count : c.planes.size();
  const EvConfig& ev = c.ev;
  if (ev.mode == EvMode::kExplicit && ev.values.empty()) {
    return Error{"ev.values: mode explicit needs the EVs; give a list, or use mode auto"};
  }
  if (ev.mode == EvMode::kGenerated && ev.fields.empty()) {
    return Error{"ev.fields: mode generated needs fields; give a list, or use mode auto"};
  }
  if (ev.mode != EvMode::kExplicit && !ev.values.empty()) {
    return Error{
        fmt::format("ev.values: only mode explicit uses them, mode is {}", find_name(kEvModes, ev.mode))};
  }
  const std::size_t count = effective_ev_count(c);
  if (count < planes) {
    return Error{fmt::format("ev.count: {} EVs for {} planes; each plane needs one at least", count, planes)};
  }
  if (c.qp.policy.ev.ev_min_active > count) {
    return Error{fmt::format("qp.ev_min_active: {} is above the number of EVs, {}",
                             c.qp.policy.ev.ev_min_active, count)};
  }
  if (c.paths.active > count)
    return Error{fmt::format("paths.active: {} is above the number of EVs, {}", c.paths.active, count)};
  if (c.paths.active != 0 && c.qp.policy.ev.ev_min_active > c.paths.active)
    return Error{fmt::format("qp.ev_min_active: {} is above paths.active {}", c.qp.policy.ev.ev_min_active,
                             c.paths.active)};
  for (std::size_t i = 0; i < ev.values.size(); ++i) {
    if (ev.values[i].plane >= planes) {
      return Error{fmt::format("ev.values[{}].plane: {} but there are planes 0 to {}", i, ev.values[i].plane,
                               planes - 1)};
    }
    if (ev.values[i].ev.empty()) return Error{fmt::format("ev.values[{}].ev: missing", i)};
  }
  const bool v4 = any_ipv4(c);
  if (v4 && ev.format >= path::EvFormat::kSrv6) {
    return Error{
        fmt::format("ev.format: {} needs IPv6 addresses on the planes", find_name(kEvFormats, ev.format))};
  }
  if (Result<void> r = check_named_ways(c, planes, count); !r) return r;
  const Result<path::EvTable> table = table_of(c, !v4);
  if (!table) return Error{"ev: " + table.error().message};
  if (Result<void> r = check_denied(c, *table); !r) return r;
  if (c.workload.pin_ev >= 0 && static_cast<std::size_t>(c.workload.pin_ev) >= count) {
    return Error{fmt::format("workload.pin_ev: {} but there are EVs 0 to {}", c.workload.pin_ev, count - 1)};
  }
  return {};
}

Result<void> check_dscp(const DscpConfig& d) {
  const std::array<std::pair<std::string_view, std::uint8_t>, 6> classes{
      {{"no_trim", d.no_trim},
       {"trimmable", d.trimmable},
       {"trimmable_retx", d.trimmable_retx},
       {"trimmed", d.trimmed},
       {"trimmed_lasthop", d.trimmed_lasthop},
       {"control", d.control}}};
  // Trimmed packets are recognised by DSCP alone (section 1.14), control must not be taken for data
  // (MRC 7.3).
  for (const std::size_t i : {std::size_t{3}, std::size_t{4}, std::size_t{5}}) {
    for (std::size_t j = 0; j < classes.size(); ++j) {
      const bool both_trimmed = (i == 3 && j == 4) || (i == 4 && j == 3);
      if (i != j && !both_trimmed && classes[i].second == classes[j].second) {
        return Error{
            fmt::format("dscp.{}: {} is also dscp.{}; a receiver tells them apart by this number alone",
                        classes[i].first, classes[i].second, classes[j].first)};
      }
    }
  }
  return {};
}

Result<void> check_workload(const EndpointConfig& c) {
  const WorkloadConfig& w = c.workload;
  if (w.iterations != 0 && w.duration_s != 0) {
    return Error{"workload: iterations and duration_s are both set; keep one"};
  }
  if (w.depth > c.qp.limits.max_send_wr) {
    return Error{
        fmt::format("workload.depth: {} is above qp.send_queue {}", w.depth, c.qp.limits.max_send_wr)};
  }
  for (const std::uint64_t size : effective_sizes(w)) {
    if (size > kMaxMemoryBytes / w.qps) {
      return Error{fmt::format("workload: {} QPs x {} bytes is above the limit of {} bytes", w.qps, size,
                               kMaxMemoryBytes)};
    }
  }
  return {};
}

}  // namespace

Result<void> check_endpoint(const EndpointConfig& c) {
  if (!is_valid_pmtu(c.qp.attr.path_mtu)) {
    return Error{
        fmt::format("qp.mtu: {} is not one of 256, 512, 1024, 2048, 4096, auto", c.qp.attr.path_mtu)};
  }
  for (const auto check : {check_planes, check_ev, check_fabric, check_workload}) {
    if (Result<void> r = check(c); !r) return r;
  }
  if (c.cc.mode == CcMode::kFixed) {
    const Result<void> r =
        check_window(c.cc.send_test, c.cc.window_bytes, c.qp.policy.use_timestamps, c.qp.attr.path_mtu);
    if (!r) return r;
  }
  return check_dscp(c.dscp);
}

Result<EndpointConfig> load_endpoint_text(std::string_view text, const std::string& name,
                                          const Settings& settings, Profile unsaid) {
  Result<YamlNode> tree = parse_yaml(text, name);
  if (!tree) return tree.error();
  for (const auto& [key, value] : settings) {
    if (Result<void> r = set_in_tree(*tree, key, value); !r) return r.error();
  }
  EndpointConfig config;
  config.profile = unsaid;
  Diagnostics diagnostics(name);
  Loader loader(*tree, diagnostics, "");
  describe(loader, config);
  loader.finish();
  if (!diagnostics.ok()) return diagnostics.error();
  if (Result<void> r = check_endpoint(config); !r) {
    const std::string& message = r.error().message;
    diagnostics.add(find_line(*tree, std::string_view(message).substr(0, message.find(':'))), "", message);
    return diagnostics.error();
  }
  return config;
}

Result<EndpointConfig> load_endpoint_file(const std::string& path) {
  Result<std::string> text = read_text_file(path);
  if (!text) return text.error();
  return load_endpoint_text(*text, path);
}

std::string quoted(std::string_view text) {
  return Printer::quote(text);
}

std::string print_endpoint(const EndpointConfig& config, bool annotate) {
  std::string out;
  Printer printer(out, annotate);
  EndpointConfig copy = config;  // visitors take references; the printer only reads
  describe(printer, copy);
  return out;
}

namespace {

void fill(EndpointConfig& config, std::uint8_t host, bool v4) {
  for (std::size_t i = 0; i < config.planes.size(); ++i) {
    PlaneConfig& p = config.planes[i];
    if (p.ip.empty())
      p.ip = v4 ? fmt::format("10.77.{}.{}", i, host) : fmt::format("fd4d:5243:{:x}::{:x}", i, host);
    // The pcap driver gives every port of every process the same one.
    if (p.mac.empty() && (!needs_device(config.profile) || config.profile == Profile::kPcap))
      p.mac = fmt::format("02:4d:52:{:02x}:{:02x}:01", host, i);
  }
}

}  // namespace

void fill_addresses(EndpointConfig& config, std::uint8_t host) {
  if (config.planes.empty()) config.planes.resize(config.plane_count);
  fill(config, host, any_ipv4(config));
}

EndpointConfig other_end(const EndpointConfig& config, std::uint8_t host) {
  EndpointConfig other = config;
  for (PlaneConfig& p : other.planes) {
    for (std::string* own : {&p.ip, &p.mac, &p.next_hop_mac}) own->clear();
  }
  fill(other, host, any_ipv4(config));
  return other;
}

bool joins_by_sockets(Profile p) {
  return p == Profile::kVhost || p == Profile::kMemif;
}

void fill_sockets(EndpointConfig& config, const std::string& directory) {
  if (!joins_by_sockets(config.profile)) return;
  if (config.planes.empty()) config.planes.resize(config.plane_count);
  for (std::size_t i = 0; i < config.planes.size(); ++i) {
    std::string& device = config.planes[i].device;
    if (device.empty()) device = fmt::format("{}/{}{}.sock", directory, name_of(config.profile), i);
  }
}

std::uint64_t ecn_min_of(const FabricConfig& f) {
  return f.ecn_min_bytes != 0 ? f.ecn_min_bytes : f.queue_bytes / 4;
}

std::uint64_t ecn_max_of(const FabricConfig& f) {
  return f.ecn_max_bytes != 0 ? f.ecn_max_bytes : f.queue_bytes / 4 * 3;
}

std::uint32_t effective_depth(const WorkloadConfig& w) {
  if (w.kind == WorkloadKind::kWriteLat) return 1;
  return w.depth != 0 ? w.depth : 128;
}

std::uint64_t effective_iterations(const WorkloadConfig& w) {
  if (w.iterations != 0) return w.iterations;
  if (w.duration_s > 0) return 0;
  return w.kind == WorkloadKind::kWriteLat ? 1000 : 5000;
}

std::vector<std::uint64_t> effective_sizes(const WorkloadConfig& w) {
  return w.sweep_bytes.empty() ? std::vector<std::uint64_t>{w.size_bytes} : w.sweep_bytes;
}

std::string_view name_of(Profile p) {
  return find_name(kProfiles, p);
}

std::string_view name_of(WorkloadKind k) {
  return find_name(kWorkloads, k);
}

std::string_view name_of(CcMode m) {
  return find_name(kCcModes, m);
}

}  // namespace mrc::config
