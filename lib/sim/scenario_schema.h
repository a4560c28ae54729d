// SPDX-License-Identifier: BSD-3-Clause
// Every key of a scenario with its limits and one line of documentation. The section qp is the endpoint's.
#pragma once

#include "config/endpoint_schema.h"
#include "fabric/topology.h"
#include "sim/matrix.h"
#include "sim/scenario.h"

namespace mrc::sim {

using config::Name;

inline constexpr Name<Preset> kPresets[] = {{"none", Preset::kNone}, {"htsim-compat", Preset::kHtsimCompat}};
inline constexpr Name<WireSizes> kWireSizes[] = {{"real", WireSizes::kReal}, {"htsim", WireSizes::kHtsim}};
inline constexpr Name<TransportKind> kTransports[] = {{"mrc", TransportKind::kMrc},
                                                      {"rc", TransportKind::kRc}};
inline constexpr Name<RcRate> kRcRates[] = {
    {"off", RcRate::kOff}, {"paper", RcRate::kPaper}, {"nic", RcRate::kNic}};
inline constexpr Name<UsidKind> kUsidKinds[] = {{"un", UsidKind::kNode}, {"ua", UsidKind::kAdjacency}};
inline constexpr Name<fabric::PlaneEncoding> kPlaneEncodings[] = {
    {"usid", fabric::PlaneEncoding::kInUsid}, {"locator", fabric::PlaneEncoding::kInLocator}};
inline constexpr Name<CcKind> kCcKinds[] = {
    {"nscc", CcKind::kNscc}, {"fixed", CcKind::kFixed}, {"off", CcKind::kOff}};
inline constexpr Name<NsccVariant> kNsccVariants[] = {{"uet", NsccVariant::kUet},
                                                      {"htsim", NsccVariant::kHtsim}};
inline constexpr Name<Shape> kShapes[] = {{"point_to_point", Shape::kPointToPoint},
                                          {"permutation", Shape::kPermutation},
                                          {"incast", Shape::kIncast},
                                          {"ring_all_reduce", Shape::kRingAllReduce},
                                          {"all_to_all", Shape::kAllToAll},
                                          {"mix", Shape::kMix},
                                          {"matrix", Shape::kMatrix}};
inline constexpr Name<FaultKind> kFaultKinds[] = {
    {"down", FaultKind::kDown},           {"black_hole", FaultKind::kBlackHole},
    {"loss", FaultKind::kLoss},           {"slow", FaultKind::kSlow},
    {"delay", FaultKind::kDelay},         {"corrupt", FaultKind::kCorrupt},
    {"duplicate", FaultKind::kDuplicate}, {"reorder", FaultKind::kReorder}};
inline constexpr Name<FaultPlace> kFaultPlaces[] = {
    {"host_port", FaultPlace::kHostPort}, {"uplink", FaultPlace::kUplink}, {"switch", FaultPlace::kSwitch},
    {"plane", FaultPlace::kPlane},        {"fabric", FaultPlace::kFabric}, {"ev", FaultPlace::kEv}};
inline constexpr Name<Direction> kDirections[] = {
    {"both", Direction::kBoth}, {"up", Direction::kUp}, {"down", Direction::kDown}};
inline constexpr Name<fabric::Forwarding> kForwardings[] = {{"ecmp", fabric::Forwarding::kEcmp},
                                                            {"modulo", fabric::Forwarding::kModulo},
                                                            {"structured", fabric::Forwarding::kStructured}};

inline constexpr double kMaxUs = 1e9;

template <class V>
void describe(V& v, PlaneScenario& c) {
  v.integer("plane", c.plane, {0, kMaxPlanes - 1}, "which");
  v.number_or_zero("link_gbps", c.link_gbps, config::kLeastGbps, 3200, "host ports; 0: as network.link_gbps");
  v.number_or_zero("uplink_gbps", c.uplink_gbps, config::kLeastGbps, 3200,
                   "T0 to T1; 0: as network.uplink_gbps, else as link_gbps here");
  v.number_or_zero("core_gbps", c.core_gbps, config::kLeastGbps, 3200,
                   "T1 to T2; 0: as uplink_gbps here, else as network.core_gbps");
}

template <class V>
void describe(V& v, NetworkScenario& c) {
  v.integer("tiers", c.tiers, {2, 3}, "switch tiers");
  v.integer("planes", c.planes, {1, kMaxPlanes}, "independent networks, one port of each host in each");
  v.integer("hosts", c.hosts, {2, fabric::kMaxHosts}, "a multiple of hosts_per_t0 (x t0_per_pod)");
  v.integer("hosts_per_t0", c.hosts_per_t0, {1, 4096}, "hosts below a T0");
  v.integer("t1", c.t1, {1, 4096}, "T1s of a plane (two tiers) or of a pod (three)");
  v.integer("parallel", c.parallel, {1, 256}, "cables between a T0 and a T1");
  v.integer("t0_per_pod", c.t0_per_pod, {1, 4096}, "three tiers: T0s of a pod");
  v.integer("t2_per_t1", c.t2_per_t1, {1, 4096}, "three tiers: uplinks of a T1, each to a T2 of its own");
  v.number("link_gbps", c.link_gbps, config::kLeastGbps, 3200,
           "host ports, and all links unless uplink_gbps is set");
  v.number_or_zero("uplink_gbps", c.uplink_gbps, config::kLeastGbps, 3200,
                   "links between T0 and T1; 0: as link_gbps");
  v.number_or_zero("core_gbps", c.core_gbps, config::kLeastGbps, 3200,
                   "three tiers: links between T1 and T2; 0: as uplink_gbps");
  v.list("plane_speeds", c.plane_speeds, kMaxPlanes,
         "planes with other speeds; their queues and marks in proportion to link_gbps");
  v.micros("delay_us", c.delay, 0, 1e5, "propagation of every link");
  v.micros("jitter_us", c.jitter, 0, 1e5, "uniform extra delay of links between switches; order is kept");
  v.choice("sizes", c.sizes, kWireSizes, "bytes on the wire: real headers, or the UEC simulator's");
  v.choice("forwarding", c.forwarding, kForwardings, "how switches choose among equal links");
  v.integer("max_packets", c.max_packets, {0, 1U << 26},
            "packets inside at one time; 0: by the windows, within run.memory");
}

template <class V>
void describe(V& v, QueueScenario& c) {
  constexpr std::uint64_t kMax = kMaxQueueBytes;
  v.bytes("data", c.data_bytes, {0, kMax}, "data queue of a port; 0: 1 plane BDP, without trimming 5");
  v.bytes("last_hop", c.last_hop_bytes, {0, kMax}, "of ports to hosts; 0: 1.5 plane BDP, without trimming 5");
  v.bytes("control", c.control_bytes, {0, kMax}, "control queue of a port; 0: 1 plane BDP");
  v.flag("trim", c.trim, "a full data queue trims instead of dropping");
  v.bytes("trim_size", c.trim_bytes, {64, 4096}, "what is left of a trimmed packet");
  v.flag("trim_last_hop_class", c.trim_last_hop_class, "ports to hosts trim to TRIMMED_LASTHOP");
  v.flag("trim_fair_coin", c.trim_fair_coin,
         "trim the arriving packet or the last one queued, one half each");
  v.flag("ecn", c.ecn, "mark on dequeue");
  v.bytes("ecn_min", c.ecn_min_bytes, {0, kMax}, "no mark up to here; 0: 0.2 plane BDP");
  v.bytes("ecn_max", c.ecn_max_bytes, {0, kMax}, "certain mark from here; 0: 0.8 plane BDP");
  v.flag("ecn_last_hop", c.ecn_last_hop, "ports to hosts mark as well");
}

template <class V>
void describe(V& v, SlowLinksScenario& c) {
  v.integer("number", c.number, {0, 65536}, "how many, counted from the first switch of the tier");
  v.integer("tier", c.tier, {0, 1}, "0: T0 to T1, 1: T1 to T2");
  v.choice("direction", c.direction, kDirections, "which way is slow");
  v.number("fraction", c.fraction, 0.001, 1, "of the speed; queue and marks shrink with it");
}

template <class V>
void describe(V& v, PathScenario& c) {
  v.integer("evs", c.evs, {1, kMaxEvs}, "EVs of a QP, equal shares per plane");
  v.choice("format", c.format, config::kEvFormats, "how an EV is carried");
  v.choice("order", c.order, config::kEvOrders, "which half of a 32-bit EV is the UDP source port");
  v.choice("usids", c.usids, kUsidKinds,
           "srv6: a way names its switches (un), parallel cables by hash, or its cables (ua)");
  v.choice("usid_planes", c.usid_planes, kPlaneEncodings,
           "srv6: where the plane shows, in uSIDs or locators");
  v.choice("selector", c.selector, config::kSelectors, "who picks the EV of a packet");
  v.integer("active", c.active, {0, kMaxEvs},
            "EVs in rotation, the rest are backups on their planes; 0: all");
  v.flag("any_plane_backup", c.any_plane_backup,
         "a backup may come from another plane than the EV that it replaces");
  v.flag("share_by_ev", c.share_by_ev,
         "each EV has the same share, whatever port is free; else each plane, and free ports first");
  v.flag("rtt_reroute", c.rtt_reroute, "rest an EV whose RTT stands out against its plane's others");
  v.number("denylist_coverage", c.denylist_coverage, 0, 1,
           "share of the EVs over links dead at the start that are denied");
}

template <class V>
void describe(V& v, DetectScenario& c) {
  v.flag("time_order", c.time_order, "infer losses by send time");
  v.flag("ev_order", c.ev_order, "infer losses by order on one EV");
  v.flag("tail_probe", c.tail_probe, "probe when everything waits for news");
  v.flag("plane_rule", c.plane_rule, "a plane whose EVs fall silent together is given up as a whole");
  v.flag("sack_first", c.sack_first, "a SACK for the first packet of a connection");
}

template <class V>
void describe(V& v, CcScenario& c) {
  v.choice("kind", c.kind, kCcKinds, "nscc, a fixed window, or none");
  v.choice("variant", c.variant, kNsccVariants, "NSCC by the UET text, or as the UEC simulator has it");
  v.choice("send_test", c.send_test, config::kSendTests,
           "mrc: send while in flight < window; uet: while the packet fits");
  v.bytes("window", c.window_bytes, {256, 1ULL << 40}, "of kind fixed");
  v.bytes("max_cwnd", c.max_cwnd_bytes, {0, 1ULL << 40}, "largest and first window; 0: 1.5 BDP");
  v.micros("target_us", c.target_delay, 0, 1e6,
           "target queueing delay; 0: 0.75 base RTT, without trimming 1");
  v.integer("mtu", c.mtu_bytes, {0, 65536}, "of the formulas; 0: nominal size of a full packet");
  v.integer("mss", c.mss_bytes, {0, 65536}, "of the gains; 0: mtu");
  v.micros("min_base_rtt_us", c.min_base_rtt, 0, 1e6, "samples below are not believed; 0: off");
  v.flag("disable_qa", c.disable_qa, "no quick adapt");
}

template <class V>
void describe(V& v, RcScenario& c) {
  v.choice("dcqcn", c.dcqcn, kRcRates, "rate control: off, as published, or as common NICs come");
  v.bytes("window", c.window_bytes, {0, 1ULL << 40}, "payload without acknowledgement, of a QP; 0: no limit");
  v.micros("timeout_us", c.timeout, 1, kMaxUs, "without progress until everything is sent again");
  v.integer("retries", c.retries, {0, 7}, "timeouts in a row; one more fails the QP");
}

template <class V>
void describe(V& v, WorkloadScenario& c) {
  v.choice("shape", c.shape, kShapes, "who sends to whom");
  v.bytes("bytes", c.bytes, {1, kMaxMessageBytes}, "of a message; ring_all_reduce: of a node");
  v.integer("src", c.src, {0, fabric::kMaxHosts - 1}, "point_to_point: sender");
  v.integer("dst", c.dst, {0, fabric::kMaxHosts - 1}, "point_to_point, incast: receiver");
  v.integer("senders", c.senders, {1, fabric::kMaxHosts - 1}, "incast");
  v.integer_or_none("victim_src", c.victim_src, {0, fabric::kMaxHosts - 1}, "one more flow starts here");
  v.integer_or_none("victim_dst", c.victim_dst, {0, fabric::kMaxHosts - 1}, "and ends here");
  v.bytes("victim_bytes", c.victim_bytes, {1, kMaxMessageBytes}, "of that flow");
  v.integer("flows", c.flows, {1, kMaxConnections}, "mix: how many");
  v.number("elephants", c.elephants, 0, 1, "mix: share of flows of `bytes`; the others have mouse_bytes");
  v.bytes("mouse_bytes", c.mouse_bytes, {1, kMaxMessageBytes}, "mix: of a small flow");
  v.micros("span_us", c.span, 0.001, kMaxUs, "mix: flows start within");
  v.text("matrix", c.matrix, config::kAnyText, "matrix: a .cm file, relative to the scenario's");
  v.integer("rounds", c.rounds, {1, 1U << 20}, "all of it again when all of it is done");
  v.integer("qps", c.qps, {1, 4096}, "QPs of a pair of hosts, messages in turn");
  v.flag("stripe", c.stripe, "each message over all QPs of its pair, in equal parts, instead of in turn");
  v.flag("shuffle", c.shuffle, "who is who in the shape is drawn from the seed");
  v.flag("with_immediate", c.with_immediate, "WriteIMM instead of Write");
}

template <class V>
void describe(V& v, FaultScenario& c) {
  v.number("at_us", c.at_us, 0, kMaxUs, "begins");
  v.number("window_us", c.window_us, 0, kMaxUs,
           "begins at a time drawn from the seed, at_us to at_us + window_us");
  v.number("rate_per_ms", c.rate_per_ms, 0, 1e6, "so often on average in the window, times drawn; 0: once");
  v.number("for_us", c.for_us, 0, kMaxUs, "lasts; 0: for ever");
  v.integer("times", c.times, {1, 1U << 20}, "how often");
  v.number("period_us", c.period_us, 0, kMaxUs, "from one beginning to the next");
  v.choice("kind", c.kind, kFaultKinds, "what happens");
  v.choice("place", c.place, kFaultPlaces, "where");
  v.flag("random", c.random, "places are drawn from the seed, none twice");
  v.integer("plane", c.plane, {0, kMaxPlanes - 1}, "host_port, uplink, switch, plane");
  v.integer("tier", c.tier, {0, 2}, "uplink, switch: tier of the switch");
  v.integer("index", c.index, {0, 1U << 17}, "uplink, switch: its number in the tier");
  v.integer("uplink", c.uplink, {0, 65535}, "uplink: number at the switch");
  v.integer("number", c.number, {1, 65536}, "uplinks in a row, or places drawn");
  v.integer("host", c.host, {0, fabric::kMaxHosts - 1}, "host_port");
  v.integer("ev", c.ev, {0, kMaxEvs - 1}, "ev: loss on this EV of every QP");
  v.choice("direction", c.direction, kDirections, "uplink, host_port: up is away from the host");
  v.number("probability", c.probability, 0, 1, "loss, corrupt, duplicate, reorder: of a packet");
  v.number("fraction", c.fraction, 0.0001, 1, "slow: of the speed");
  v.micros("delay_us", c.delay, 0, 1e6, "delay: of the link; reorder: how long a packet is held back");
}

template <class V>
void describe(V& v, RunScenario& c) {
  v.number("until_us", c.until_us, 1, kMaxUs, "the run ends here at the latest");
  v.flag("cut", c.cut,
         "it is meant to end there with flows open, as a rate is measured; else that is a failure");
  v.micros("sample_us", c.sample, 0, 1e6, "between samples of queue depths; 0: none");
  v.micros("series_us", c.series, 0.1, 1e6, "step of the series of bytes received; doubles in long runs");
  v.bytes("memory", c.memory_bytes, {1U << 20, 1ULL << 44},
          "a run that may take more is refused before it is built");
  v.flag("port_status", c.port_status, "hosts tell their peers of ports that go down or up");
}

template <class V>
void describe(V& v, Scenario& c) {
  v.choice("preset", c.preset, kPresets, "what the defaults are");
  v.integer("seed", c.seed, {0, ~0ULL}, "all randomness");
  v.choice("transport", c.transport, kTransports,
           "mrc, or the single-path baseline, for which paths, qp but its mtu, detect and cc say nothing");
  v.section("network", c.network, "switches and links");
  v.section("queues", c.queues, "output queues, trimming, marking");
  v.section("slow_links", c.slow_links, "links that are slow from the start");
  v.section("paths", c.paths, "entropy values");
  v.section("qp", c.qp, "queue pairs");
  v.section("detect", c.detect, "how losses are found");
  v.section("cc", c.cc, "congestion control");
  v.section("rc", c.rc, "the single-path baseline");
  v.section("workload", c.workload, "who sends what");
  v.list("faults", c.faults, kMaxFaults, "what breaks");
  v.section("run", c.run, "length and measurements");
}

}  // namespace mrc::sim
