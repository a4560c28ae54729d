// SPDX-License-Identifier: BSD-3-Clause
#include "sim/scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "config/loader.h"
#include "config/printer.h"
#include "sim/scenario_schema.h"
#include "wire/headers.h"

namespace mrc::sim {
namespace {

std::uint32_t full_packet_bytes(const Scenario& s) {
  transport::TxDesc d;
  d.opcode = wire::Opcode::kWriteMiddle;
  d.payload_bytes = s.qp.attr.path_mtu;
  d.ts = s.qp.policy.use_timestamps;
  return sizes_of(s).data_bytes(d);
}

Result<void> check_network(const Scenario& s) {
  const NetworkScenario& n = s.network;
  const std::uint32_t pod = n.hosts_per_t0 * (n.tiers == 3 ? n.t0_per_pod : 1);
  if (n.hosts % pod != 0)
    return Error{fmt::format("network.hosts: {} is no multiple of {} (hosts_per_t0{})", n.hosts, pod,
                             n.tiers == 3 ? " x t0_per_pod" : "")};
  std::uint32_t seen = 0;
  for (std::size_t i = 0; i < n.plane_speeds.size(); ++i) {
    const std::uint32_t plane = n.plane_speeds[i].plane;
    if (plane >= n.planes)
      return Error{
          fmt::format("network.plane_speeds[{}].plane: {} but planes are 0 to {}", i, plane, n.planes - 1)};
    if ((seen >> plane & 1U) != 0)
      return Error{fmt::format("network.plane_speeds[{}].plane: {} is there twice", i, plane)};
    seen |= 1U << plane;
  }
  if (s.slow_links.number != 0) {
    if (s.slow_links.tier == 1 && n.tiers == 2)
      return Error{"slow_links.tier: 1 lies between T1 and T2, but network.tiers is 2; use 0"};
    const std::uint64_t links = s.slow_links.tier == 0
                                    ? std::uint64_t{n.hosts / n.hosts_per_t0} * n.t1 * n.parallel
                                    : std::uint64_t{n.hosts / pod} * n.t1 * n.t2_per_t1;
    if (s.slow_links.number > links)
      return Error{fmt::format("slow_links.number: {} but tier {} has {} links a plane", s.slow_links.number,
                               s.slow_links.tier, links)};
  }
  if (s.queues.ecn_min_bytes > s.queues.ecn_max_bytes && s.queues.ecn_max_bytes != 0)
    return Error{fmt::format("queues.ecn_min: {} is above ecn_max {}", s.queues.ecn_min_bytes,
                             s.queues.ecn_max_bytes)};
  return {};
}

Result<void> check_paths(const Scenario& s) {
  if (s.paths.evs < s.network.planes)
    return Error{fmt::format("paths.evs: {} EVs for {} planes; each plane needs one at least", s.paths.evs,
                             s.network.planes)};
  if (s.paths.active != 0 && s.qp.policy.ev.ev_min_active > s.paths.active)
    return Error{fmt::format("qp.ev_min_active: {} is above paths.active {}", s.qp.policy.ev.ev_min_active,
                             s.paths.active)};
  if (s.qp.policy.ev.ev_min_active > s.paths.evs)
    return Error{
        fmt::format("qp.ev_min_active: {} is above paths.evs {}", s.qp.policy.ev.ev_min_active, s.paths.evs)};
  if (s.paths.active > s.paths.evs)
    return Error{fmt::format("paths.active: {} is above paths.evs {}", s.paths.active, s.paths.evs)};
  if (!is_valid_pmtu(s.qp.attr.path_mtu))
    return Error{fmt::format("qp.mtu: {} is not one of 256, 512, 1024, 2048, 4096", s.qp.attr.path_mtu)};
  if (s.network.forwarding == fabric::Forwarding::kStructured && s.paths.format != path::EvFormat::kStev)
    return Error{"network.forwarding: structured reads the fields of EVs; set paths.format to stev"};
  return {};
}

Result<void> check_hosts(const Scenario& s) {
  const WorkloadScenario& w = s.workload;
  const auto host = [&](const char* key, std::int64_t value) -> Result<void> {
    if (value < static_cast<std::int64_t>(s.network.hosts)) return {};
    return Error{fmt::format("workload.{}: {} but hosts are 0 to {}", key, value, s.network.hosts - 1)};
  };
  const bool pair = w.shape == Shape::kPointToPoint;
  if (pair || w.shape == Shape::kIncast)
    if (auto ok = host("dst", w.dst); !ok) return ok;
  if (pair)
    if (auto ok = host("src", w.src); !ok) return ok;
  if (pair && w.src == w.dst) return Error{fmt::format("workload.dst: {} is also src", w.dst)};
  if (w.shape == Shape::kIncast && w.senders >= s.network.hosts)
    return Error{fmt::format("workload.senders: {} but only {} hosts are not the receiver", w.senders,
                             s.network.hosts - 1)};
  if ((w.victim_src < 0) != (w.victim_dst < 0) || (w.victim_src >= 0 && w.victim_src == w.victim_dst))
    return Error{"workload.victim_src: a victim flow has two different ends; set victim_dst too"};
  if (auto ok = host("victim_src", w.victim_src); !ok) return ok;
  if (auto ok = host("victim_dst", w.victim_dst); !ok) return ok;
  if ((w.shape == Shape::kMatrix) == w.matrix.empty())
    return Error{"workload.matrix: shape matrix needs a file, other shapes take none"};
  return {};
}

Result<void> check_faults(const Scenario& s) {
  for (std::size_t i = 0; i < s.faults.size(); ++i) {
    const FaultScenario& f = s.faults[i];
    const auto bad = [&](std::string_view key, const std::string& what) {
      return Error{fmt::format("faults[{}].{}: {}", i, key, what)};
    };
    if (f.kind == FaultKind::kBlackHole && f.place != FaultPlace::kSwitch)
      return bad("place", "a black hole is a switch");
    if (f.place == FaultPlace::kEv && s.transport == TransportKind::kRc)
      return bad("place", "the baseline has no EVs; take uplink or switch");
    if (f.place == FaultPlace::kEv && f.kind != FaultKind::kLoss)
      return bad("kind", "an EV can only have loss");
    if (f.times > 1 && (f.for_us <= 0 || f.period_us <= f.for_us))
      return bad("period_us", "repeated faults need for_us > 0 and a longer period_us");
    if (f.rate_per_ms > 0 && f.window_us <= 0)
      return bad("rate_per_ms", "beginnings at a rate need a window_us to lie in");
    if (f.rate_per_ms > 0 && f.random && f.number != 1)
      return bad("number", "rate_per_ms says how many places are drawn, one a beginning; leave number out");
    if (f.random) continue;
    if (f.plane >= s.network.planes)
      return bad("plane", fmt::format("{} but planes are 0 to {}", f.plane, s.network.planes - 1));
    if (f.place == FaultPlace::kHostPort && f.host >= s.network.hosts)
      return bad("host", fmt::format("{} but hosts are 0 to {}", f.host, s.network.hosts - 1));
    if (f.place == FaultPlace::kEv && f.ev >= s.paths.evs)
      return bad("ev", fmt::format("{} but EVs are 0 to {}", f.ev, s.paths.evs - 1));
    if (f.place == FaultPlace::kUplink && f.tier + 2 > s.network.tiers)
      return bad("tier", fmt::format("{} has no uplinks: there are {} tiers", f.tier, s.network.tiers));
  }
  return {};
}

Result<void> check_cc(const Scenario& s) {
  if (s.cc.kind != CcKind::kFixed) return {};
  return config::check_window(s.cc.send_test, s.cc.window_bytes, s.qp.policy.use_timestamps,
                              s.qp.attr.path_mtu);
}

// UET's switch settings, in bandwidth-delay products of one plane.
void fill_queues(Scenario& s) {
  QueueScenario& q = s.queues;
  const double bdp = s.network.link_gbps / 8 * static_cast<double>(s.qp.policy.base_rtt.ns);
  const auto share = [&](double of) {
    return static_cast<std::uint64_t>(std::min(bdp * of, static_cast<double>(kMaxQueueBytes)));
  };
  // Small and fast networks still hold some packets.
  const std::uint64_t least = std::uint64_t{8} * full_packet_bytes(s);
  if (q.data_bytes == 0) q.data_bytes = std::max(share(q.trim ? 1 : 5), least);
  if (q.last_hop_bytes == 0) q.last_hop_bytes = std::max(share(q.trim ? 1.5 : 5), least);
  if (q.control_bytes == 0) q.control_bytes = std::max(share(1), least);
  if (q.ecn_min_bytes == 0) q.ecn_min_bytes = std::max(share(0.2), least / 4);
  if (q.ecn_max_bytes == 0) q.ecn_max_bytes = std::max(share(0.8), least);
}

}  // namespace

SizeModel sizes_of(const Scenario& s) {
  if (s.network.sizes == WireSizes::kHtsim) return SizeModel::htsim();
  if (s.transport == TransportKind::kRc || !path::is_srv6(s.paths.format)) return SizeModel::real();
  constexpr auto kOuter = static_cast<std::uint32_t>(sizeof(wire::Ipv6Header));
  constexpr auto kSrh = static_cast<std::uint32_t>(sizeof(wire::SrhHeader));
  return SizeModel::real(s.paths.format == path::EvFormat::kSrv6 ? kOuter : kOuter + kSrh);
}

PlaneSpeeds speeds_of(const NetworkScenario& n, std::uint32_t plane) {
  PlaneScenario own;
  for (const PlaneScenario& p : n.plane_speeds)
    if (p.plane == plane) own = p;
  const auto first = [](std::initializer_list<double> gbps) {
    return *std::find_if(gbps.begin(), gbps.end(), [](double g) { return g > 0; });
  };
  PlaneSpeeds v;
  v.link_gbps = first({own.link_gbps, n.link_gbps});
  v.uplink_gbps = first({own.uplink_gbps, n.uplink_gbps, v.link_gbps});
  v.core_gbps = first({own.core_gbps, own.uplink_gbps, n.core_gbps, v.uplink_gbps});
  return v;
}

double host_rate_bps(const NetworkScenario& n) {
  double gbps = 0;
  for (std::uint32_t plane = 0; plane < n.planes; ++plane) gbps += speeds_of(n, plane).link_gbps;
  return gbps * 1e9;
}

Duration base_rtt_of(const Scenario& s) {
  const NetworkScenario& n = s.network;
  const unsigned switch_links = n.tiers == 2 ? 2 : 4;
  const double bits = 8.0 * (full_packet_bytes(s) + sizes_of(s).control_bytes_of(wire::Opcode::kSack));
  double ns_a_bit = 0;  // of the slowest plane
  for (std::uint32_t plane = 0; plane < n.planes; ++plane) {
    const PlaneSpeeds v = speeds_of(n, plane);
    ns_a_bit = std::max(ns_a_bit, 2 / v.link_gbps + 2 / v.uplink_gbps + (n.tiers == 3 ? 2 / v.core_gbps : 0));
  }
  const double ns = bits * ns_a_bit + 2.0 * (2 + switch_links) * static_cast<double>(n.delay.ns);
  return nanoseconds(static_cast<std::int64_t>(std::ceil(ns)));
}

// The UEC simulator's setting, restated from its published parameters: one plane, three tiers, 100G, 1 us a
// link, queues of 43 packets, marks from 37350 to 145250 bytes, NSCC's formulas with an MTU of 4150.
Scenario preset_scenario(Preset preset) {
  Scenario s;
  s.preset = preset;
  s.qp.policy.base_rtt = Duration{};  // of the topology, unless set
  s.qp.policy.learn_base_rtt = false;
  s.qp.policy.reverse_probes = true;  // D19, as mrc-endpoint
  s.qp.attr.timeout = 10;             // D13. 1.05 ms: too long to be taken for a repair by SACKs
  if (preset != Preset::kHtsimCompat) return s;
  s.network = {.tiers = 3,
               .planes = 1,
               .hosts = 16,
               .hosts_per_t0 = 2,
               .t1 = 2,
               .t0_per_pod = 2,
               .t2_per_t1 = 2,
               .sizes = WireSizes::kHtsim};
  s.queues.data_bytes = s.queues.last_hop_bytes = 178450;
  s.queues.control_bytes = 356900;
  s.queues.trim_bytes = 64;
  s.queues.trim_fair_coin = true;
  s.queues.ecn_min_bytes = 37350;
  s.queues.ecn_max_bytes = 145250;
  s.queues.ecn_last_hop = true;
  s.paths.selector = path::Selector::kScore;
  s.detect = {.time_order = false, .ev_order = false, .tail_probe = false, .sack_first = true};
  s.qp.policy.ev_flush = false;
  s.qp.policy.reverse_probes = false;
  s.qp.attr.timeout = 7;  // 131 us; the nearest that the exponent of MRC can say to 100.66 us
  s.qp.attr.exp_cnt = 25;
  s.cc.variant = NsccVariant::kHtsim;
  s.cc.send_test = cc::SendTest::kUet;
  s.cc.mtu_bytes = 4150;
  s.cc.mss_bytes = 4086;
  s.workload.shape = Shape::kPermutation;
  s.workload.bytes = 2'000'000;
  return s;
}

Result<void> resolve_scenario(Scenario& s) {
  if (s.qp.mtu_auto) s.qp.attr.path_mtu = kMaxPmtu;  // every link of a simulated network carries it
  s.qp.mtu_auto = false;
  for (const auto check : {check_network, check_paths, check_hosts, check_faults, check_cc})
    if (Result<void> r = check(s); !r) return r;
  if (s.qp.policy.base_rtt.ns == 0) s.qp.policy.base_rtt = base_rtt_of(s);
  s.qp.limits.max_mpr = s.qp.attr.mpr;
  s.qp.limits.max_mpr_dest = s.qp.attr.mpr_dest;
  s.qp.limits.max_wimm_dest = s.qp.attr.max_wimm_dest;
  s.qp.policy.time_order = s.detect.time_order;
  s.qp.policy.ev_order = s.detect.ev_order;
  s.qp.policy.tail_probe = s.detect.tail_probe;
  s.qp.policy.sack_first = s.detect.sack_first;
  s.qp.policy.ev.plane_rule = s.detect.plane_rule;
  s.qp.policy.ev.selector = s.paths.selector;
  s.qp.policy.ev.active_evs = s.paths.active;
  s.qp.policy.ev.share_by_ev = s.paths.share_by_ev;
  s.qp.policy.ev.any_plane_backup = s.paths.any_plane_backup;
  s.qp.policy.ev.rtt_reroute = s.paths.rtt_reroute;
  fill_queues(s);
  return {};
}

Result<Scenario> load_scenario_text(std::string_view text, const std::string& name,
                                    const config::Settings& settings) {
  Result<config::YamlNode> tree = config::parse_yaml(text, name);
  if (!tree) return tree.error();
  for (const auto& [key, value] : settings)
    if (Result<void> r = config::set_in_tree(*tree, key, value); !r) return r.error();
  // The preset first: it decides what the other keys stand on.
  Preset preset = Preset::kNone;
  for (const config::YamlNode::Entry& e : tree->entries)
    for (const Name<Preset>& p : kPresets)
      if (e.key == "preset" && e.value.scalar == p.name) preset = p.value;
  Scenario scenario = preset_scenario(preset);
  config::Diagnostics diagnostics(name);
  config::Loader loader(*tree, diagnostics, "");
  describe(loader, scenario);
  loader.finish();
  if (!diagnostics.ok()) return diagnostics.error();
  if (Result<void> r = resolve_scenario(scenario); !r) {
    const std::string& message = r.error().message;
    const auto key = std::string_view(message).substr(0, message.find(':'));
    diagnostics.add(config::find_line(*tree, key), "", message);
    return diagnostics.error();
  }
  const std::filesystem::path matrix(scenario.workload.matrix);
  if (!matrix.empty() && matrix.is_relative())
    scenario.workload.matrix = (std::filesystem::path(name).parent_path() / matrix).string();
  return scenario;
}

Result<Scenario> load_scenario_file(const std::string& path, const config::Settings& settings) {
  Result<std::string> text = config::read_text_file(path);
  if (!text) return text.error();
  return load_scenario_text(*text, path, settings);
}

std::string print_scenario(const Scenario& scenario, bool annotate) {
  std::string out;
  config::Printer printer(out, annotate);
  Scenario copy = scenario;  // visitors take references; the printer only reads
  describe(printer, copy);
  return out;
}

}  // namespace mrc::sim
