// SPDX-License-Identifier: BSD-3-Clause
// Every key of the endpoint's YAML with its limits and one line of documentation: the schema, in executable
// form. Loader, printer and `--help-config` all run over these functions.
#pragma once

#include <fmt/format.h>

#include "config/endpoint_config.h"
#include "config/schema.h"
#include "transport/retry_clock.h"
#include "wire/sizes.h"

namespace mrc::config {

inline constexpr Name<Profile> kProfiles[] = {
    {"virtual", Profile::kVirtual}, {"ring", Profile::kRing},          {"vhost", Profile::kVhost},
    {"memif", Profile::kMemif},     {"af_packet", Profile::kAfPacket}, {"af_xdp", Profile::kAfXdp},
    {"pcap", Profile::kPcap},       {"ethdev", Profile::kEthdev}};
inline constexpr Name<LinkRole> kLinkRoles[] = {
    {"auto", LinkRole::kAuto}, {"server", LinkRole::kServer}, {"client", LinkRole::kClient}};
inline constexpr Name<IdlePolicy> kIdlePolicies[] = {{"auto", IdlePolicy::kAuto},
                                                     {"spin", IdlePolicy::kSpin},
                                                     {"yield", IdlePolicy::kYield},
                                                     {"sleep", IdlePolicy::kSleep}};
inline constexpr Name<HugepageUse> kHugepageUses[] = {
    {"auto", HugepageUse::kAuto}, {"never", HugepageUse::kNever}, {"always", HugepageUse::kAlways}};
inline constexpr Name<EvMode> kEvModes[] = {
    {"auto", EvMode::kAuto}, {"explicit", EvMode::kExplicit}, {"generated", EvMode::kGenerated}};
inline constexpr Name<CcMode> kCcModes[] = {
    {"off", CcMode::kOff}, {"fixed", CcMode::kFixed}, {"nscc", CcMode::kNscc}};
inline constexpr Name<cc::SendTest> kSendTests[] = {{"mrc", cc::SendTest::kMrc}, {"uet", cc::SendTest::kUet}};

/// UET's send test lets no packet out that is larger than the window (D2): where that is smaller than a full
/// packet, nothing is ever sent and no timer runs (I3).
inline Result<void> check_window(cc::SendTest test, std::uint64_t window_bytes, bool timestamps,
                                 std::uint32_t pmtu) {
  const std::uint32_t full = wire::write_nominal_bytes(wire::Opcode::kWriteLastImm, timestamps, pmtu);
  if (test == cc::SendTest::kMrc || window_bytes >= full) return {};
  return Error{fmt::format(
      "cc.window: {} holds no packet of {} bytes, so that send_test uet never sends; raise it or use mrc",
      window_bytes, full)};
}
inline constexpr Name<WorkloadKind> kWorkloads[] = {{"write_bw", WorkloadKind::kWriteBw},
                                                    {"write_lat", WorkloadKind::kWriteLat},
                                                    {"write_imm", WorkloadKind::kWriteImm}};
inline constexpr Name<IcrcPolicy> kIcrcPolicies[] = {{"verify", IcrcPolicy::kVerify},
                                                     {"ignore", IcrcPolicy::kIgnore}};
inline constexpr Name<path::EvFormat> kEvFormats[] = {{"udp", path::EvFormat::kUdp},
                                                      {"stev", path::EvFormat::kStev},
                                                      {"srv6", path::EvFormat::kSrv6},
                                                      {"srv6_srh", path::EvFormat::kSrv6Srh}};
inline constexpr Name<path::EvOrder> kEvOrders[] = {{"B", path::EvOrder::kB}, {"A", path::EvOrder::kA}};
inline constexpr Name<path::Selector> kSelectors[] = {
    {"mrc", path::Selector::kMrc},       {"oblivious", path::Selector::kOblivious},
    {"bitmap", path::Selector::kBitmap}, {"score", path::Selector::kScore},
    {"reps", path::Selector::kReps},     {"single", path::Selector::kSingle}};
inline constexpr Name<wire::DscpClass> kDataClasses[] = {{"no_trim", wire::DscpClass::kNoTrim},
                                                         {"trimmable", wire::DscpClass::kTrimmable},
                                                         {"trimmable_retx", wire::DscpClass::kTrimmableRetx}};

template <class V>
void describe(V& v, PlaneConfig& c) {
  v.text(
      "device", c.device, kAnyText,
      "interface (af_*), socket path (vhost, memif; empty: made up, the same at both ends), PCI address or "
      "port name (ethdev), 'in.pcap,out.pcap' or 'live:INTERFACE' (pcap); not used by virtual and ring");
  v.text("ip", c.ip, kIpText, "our address on this plane; empty: made up");
  v.text("mac", c.mac, kMacText, "our MAC address; empty: the port's own, or made up");
  v.text("next_hop_mac", c.next_hop_mac, kMacText,
         "router towards the peer on this plane; empty: none, the peer's own address is used");
  v.integer("vlan", c.vlan, {0, 4094}, "802.1Q tag of what is sent, 0: none");
  v.integer("outer_vlan", c.outer_vlan, {0, 4094},
            "802.1ad service tag in front of it (QinQ), 0: none; needs vlan");
}

template <class V>
void describe(V& v, NetConfig& c) {
  v.integer("udp_port", c.udp_port, {1, 65535}, "UDP destination port we send to and listen on");
  v.flag("accept_alternate_port", c.accept_alternate_port,
         "listen on 4971 as well, the number one table prints");
  v.integer("hop_limit", c.hop_limit, {1, 255}, "IP hop limit or TTL");
  v.choice(
      "icrc", c.icrc, kIcrcPolicies,
      "a packet whose ICRC is wrong is dropped; ignore: no ICRC is looked at, which the results warn of");
}

template <class V>
void describe(V& v, DscpConfig& c) {
  v.integer("no_trim", c.no_trim, {0, 63}, "data that must not be trimmed");
  v.integer("trimmable", c.trimmable, {0, 63}, "data that switches may trim");
  v.integer("trimmable_retx", c.trimmable_retx, {0, 63}, "retransmitted data");
  v.integer("trimmed", c.trimmed, {0, 63}, "set by a switch that trimmed");
  v.integer("trimmed_lasthop", c.trimmed_lasthop, {0, 63}, "set by the last switch when it trimmed");
  v.integer("control", c.control, {0, 63}, "SACK, NACK, Transport ACK, responses");
}

template <class V>
void describe(V& v, EvFieldConfig& c) {
  v.integer("width", c.width, {1, 32}, "bits of the profile's field");
  v.integer("format_width", c.format_width, {1, 32}, "bits of the slot in the expanded EV");
  v.integer("init", c.init, {0, 0xFFFFFFFF}, "constant bits");
  v.integer("min", c.min, {0, 0xFFFFFFFF}, "smallest value of the masked bits, compacted");
  v.integer("max", c.max, {0, 0xFFFFFFFF},
            "largest value of the masked bits, compacted; min = max = 0: no limit");
  v.integer("mask", c.mask, {0, 0xFFFFFFFF}, "bits that come from the EV; 0: a constant field");
}

template <class V>
void describe(V& v, EvValueConfig& c) {
  v.text("ev", c.ev, kHexText, "the EV, first bit first");
  v.integer("plane", c.plane, {0, kMaxPlanes - 1}, "plane it leaves through, from 0");
}

template <class V>
void describe(V& v, DeniedEvConfig& c) {
  v.integer_or_none("index", c.index, {0, kMaxEvs - 1}, "an EV by its place in the profile");
  v.text("ev", c.ev, kHexText, "or all EVs of this value, as results print it; not with mode auto");
  v.integer_or_none("plane", c.plane, {0, kMaxPlanes - 1}, "with ev: on this plane alone");
}

template <class V>
void describe(V& v, EvConfig& c) {
  v.choice("format", c.format, kEvFormats, "how an EV is carried");
  v.choice("order", c.order, kEvOrders,
           "which half of a 32-bit EV is the UDP source port: B the high one, A the low one");
  v.choice("mode", c.mode, kEvModes,
           "auto: source ports of our choice, with srv6 on profile virtual its ways; explicit: 'values'; "
           "generated: from 'fields'");
  v.integer_or_auto(
      "count", c.count, c.count_auto, {1, kMaxEvs},
      "EVs in the profile, equal shares per plane; auto: 128 or just above, or all that 'fields' give");
  v.list("fields", c.fields, 16, "fields of a generated or explicit profile, leftmost bits first");
  v.list("values", c.values, kMaxEvs, "the EVs of an explicit profile");
  v.list("denied", c.denied, kMaxEvs, "EVs that our end never sends on (DENIED)");
}

template <class V>
void describe(V& v, PathsConfig& c) {
  v.choice("selector", c.selector, kSelectors, "who picks the EV of a packet");
  v.integer("active", c.active, {0, kMaxEvs},
            "EVs in rotation, the rest are backups on their planes; 0: all");
  v.flag("rtt_reroute", c.rtt_reroute, "rest an EV whose RTT stands out against its plane's others");
}

template <class V>
void describe(V& v, QpConfig& c) {
  v.integer_or_auto(
      "mtu", c.attr.path_mtu, c.mtu_auto, {kMinPmtu, kMaxPmtu},
      "payload of a full packet: 256, 512, 1024, 2048 or 4096; auto: the largest that all planes "
      "of both ends carry");
  v.integer("mpr", c.attr.mpr, {1, 255},
            "send window of our requestor, units of 128 packets; the peer's mpr_dest caps it");
  v.integer("mpr_dest", c.attr.mpr_dest, {1, 255},
            "receive window we offer (MAX_MPR_DEST), units of 128 packets");
  v.integer("max_wimm", c.attr.max_wimm, {1, 32768}, "WriteIMM in flight; the peer's max_wimm_dest caps it");
  v.integer("max_wimm_dest", c.attr.max_wimm_dest, {32, 32768},
            "WriteIMM our responder can hold (MAX_WIMM_DEST)");
  v.integer("timeout", c.attr.timeout, {1, transport::RetryClock::kMaxTimeout},
            "ACK timer T = 1.024 us x 2^timeout; 16 = 67 ms");
  v.integer("linear_cnt", c.attr.linear_cnt, {0, transport::RetryClock::kMaxLinear}, "retries after T each");
  v.integer("exp_cnt", c.attr.exp_cnt, {0, transport::RetryClock::kMaxExp},
            "retries with doubling intervals after those; 25: for ever");
  v.flag("dynamic_mpr", c.attr.dynamic_mpr,
         "the receive window may change while running, when both ends say so");
  v.flag(
      "receive_penalty", c.policy.receive_penalty,
      "responder flow control: SACKs ask nscc at the peer for a smaller window when messages wait here to be "
      "checked, from a quarter of their slots on");
  v.flag("trim_nack", c.attr.trim_nack, "answer trimmed packets with NACKs");
  v.integer("send_queue", c.limits.max_send_wr, {1, 32768}, "work requests posted and not completed");
  v.integer("recv_queue", c.limits.max_recv_wr, {1, 32768}, "receives posted for WriteIMM");
  v.flag("timestamps", c.policy.use_timestamps, "TSETH in every Write");
  v.micros("base_rtt_us", c.policy.base_rtt, 0.1, 1e6, "round trip of the unloaded network");
  v.integer("sack_threshold", c.policy.sack_gen_threshold, {256, 1U << 24},
            "bytes received that cause a SACK");
  v.integer("sack_min_add", c.policy.sack_min_add, {1, 65536}, "bytes that a small packet counts for");
  v.flag("ev_flush", c.policy.ev_flush, "a loss on an EV gives up everything sent on it later");
  v.flag("inflight_resync", c.policy.inflight_resync, "repair the in-flight account at quiet SACKs");
  v.flag("strict_rqmsn", c.policy.strict_rqmsn, "a wrong RQMSN is an invalid request");
  v.flag("reverse_probes", c.policy.reverse_probes,
         "a QP that only receives keeps the paths of its answers alive with EV Probes");
  v.flag("oow_nack", c.policy.oow_nack, "NACK packets above the receive window");
  v.choice("data_class", c.policy.data_class, kDataClasses, "DSCP class of data");
  v.choice("rtx_class", c.policy.rtx_class, kDataClasses, "DSCP class of retransmitted data");
  v.integer("ev_min_active", c.policy.ev.ev_min_active, {1, kMaxEvs},
            "EVs that stay in use whatever happens");
  v.micros("ev_probe_interval_us", c.policy.ev.probe_interval, 0, 1e7,
           "first wait between probes on an EV assumed bad; 0: follows the RTT");
}

template <class V>
void describe(V& v, CcConfig& c) {
  v.choice("mode", c.mode, kCcModes,
           "congestion control: off, a fixed window, or nscc, which needs qp.base_rtt_us and the rate to be "
           "right");
  v.bytes("window", c.window_bytes, {256, 1ULL << 32}, "fixed: bytes in flight to one destination");
  v.choice("send_test", c.send_test, kSendTests,
           "mrc: send while in flight < window; uet: while the packet fits");
  v.number("rate_gbps", c.rate_gbps, 0, 1e5, "nscc: of all planes together; 0: what the ports say");
  v.bytes("max_window", c.max_window_bytes, {0, 1ULL << 32},
          "nscc: the largest window and the first; 0: 1.5 x rate x base RTT");
  v.micros("target_delay_us", c.target_delay, 0, 1e6,
           "nscc: queueing that is aimed at; 0: 0.75 base RTT, without trimming 1");
  v.flag("quick_adapt", c.quick_adapt, "nscc: after trims the window becomes what arrived");
}

template <class V>
void describe(V& v, FabricConfig& c) {
  v.integer("paths_per_plane", c.paths_per_plane, {1, 256}, "parallel paths of each plane");
  v.micros("delay_us", c.delay, 0, 1e5, "one way");
  v.number("loss", c.loss, 0, 0.5, "probability that a path loses a packet");
  v.number_or_zero("link_gbps", c.link_gbps, kLeastGbps, 1600, "rate of each path, 0: no limit");
  v.bytes("queue", c.queue_bytes, {65536, 1U << 30}, "data queue of a path with a rate");
  v.flag("ecn", c.ecn, "a path with a rate marks what leaves a long queue");
  v.bytes("ecn_min", c.ecn_min_bytes, {0, 1U << 30}, "no mark up to here; 0: a quarter of queue");
  v.bytes("ecn_max", c.ecn_max_bytes, {0, 1U << 30}, "certain mark from here; 0: three quarters of queue");
  v.flag("trim", c.trim, "a full queue trims instead of dropping");
  v.integer("trim_size", c.trim_bytes, {64, 4096}, "bytes that are left of a trimmed packet");
}

template <class V>
void describe(V& v, WorkloadConfig& c) {
  v.choice("kind", c.kind, kWorkloads,
           "write_bw: Writes back to back; write_lat: ping-pong; write_imm: WriteIMM back to back");
  v.bytes("size", c.size_bytes, {0, kMaxMessageBytes}, "bytes of a message");
  v.sizes("sweep", c.sweep_bytes, kMaxSweep, {0, kMaxMessageBytes},
          "sizes to run one after the other, instead of size");
  v.integer("qps", c.qps, {1, kMaxQps}, "queue pairs");
  v.integer("iterations", c.iterations, {0, 1ULL << 40},
            "messages a QP and size; 0: duration, or 5000 (write_lat 1000)");
  v.number("duration_s", c.duration_s, 0, 86400, "seconds a size; 0: iterations");
  v.integer("depth", c.depth, {0, 32768},
            "messages outstanding a QP; 0: 128 (write_lat 1), fewer when they are large");
  v.flag("bidirectional", c.bidirectional, "both ends send");
  v.flag("verify", c.verify, "check every byte that arrives");
  v.integer_or_none("pin_ev", c.pin_ev, {0, kMaxEvs - 1}, "send everything on this EV");
  v.number("stall_timeout_s", c.stall_timeout_s, 1, 3600,
           "end when nothing moved for so long; above the retry budget");
}

template <class V>
void describe(V& v, EngineConfig& c) {
  v.integer("workers", c.workers, {1, kMaxWorkers}, "poll-mode workers, each with its own QPs and queues");
  v.text("lcores", c.lcores, kAnyText, "EAL --lcores; empty: one CPU a worker");
  v.choice("idle", c.idle, kIdlePolicies,
           "when a poll finds nothing; auto: spin, or yield when CPUs are fewer than pollers");
}

template <class V>
void describe(V& v, EalConfig& c) {
  v.choice("hugepages", c.hugepages, kHugepageUses, "auto: when enough are free");
  v.integer("memory_mb", c.memory_mb, {0, 1U << 20}, "memory given to DPDK; 0: as planned");
  v.text("file_prefix", c.file_prefix, kWordText, "EAL --file-prefix; empty: made up");
  v.texts("args", c.args, 64, kAnyText, "more EAL arguments");
}

template <class V>
void describe(V& v, CaptureConfig& c) {
  v.text("file", c.file, kAnyText, "pcapng file; empty: no capture");
  v.integer("snap_bytes", c.snap_bytes, {64, 8192}, "bytes kept of each packet");
  v.flag("drops_only", c.drops_only, "only packets that were dropped, with the reason as a comment");
}

template <class V>
void describe(V& v, OobConfig& c) {
  v.text("address", c.address, kIpText, "serve: listen here; run: connect here");
  v.integer("port", c.port, {0, 65535}, "TCP port; 0: serve picks one and prints it");
  v.number("connect_timeout_s", c.connect_timeout_s, 0.1, 3600, "how long run tries to connect");
  v.number("peer_timeout_s", c.peer_timeout_s, 1, 3600, "silence after which the peer counts as gone");
  v.bytes("memory_limit", c.memory_limit_bytes, {0, kMaxMemoryBytes},
          "serve: message memory that a run may take here, all QPs together; 0: half of what is free then");
}

template <class V>
void describe(V& v, EndpointConfig& c) {
  v.choice("profile", c.profile, kProfiles,
           "what the planes are; where nothing says it, vhost between the two processes 'serve' and 'run'");
  v.choice("role", c.role, kLinkRoles, "end of a vhost or memif link; auto: serve is the server");
  v.integer("seed", c.seed, {0, ~0ULL}, "all randomness; 0: drawn and printed");
  v.integer("plane_count", c.plane_count, {1, kMaxPlanes}, "planes when 'planes' is empty");
  v.list("planes", c.planes, kMaxPlanes, "one entry a plane");
  v.section("net", c.net, "addresses and headers");
  v.section("ev", c.ev, "entropy values, the paths");
  v.section("paths", c.paths, "which EVs a QP uses");
  v.section("qp", c.qp, "queue pairs");
  v.section("cc", c.cc, "congestion control");
  v.section("dscp", c.dscp, "traffic classes");
  v.section("fabric", c.fabric, "the virtual fabric (profile virtual)");
  v.section("workload", c.workload, "what run does");
  v.section("engine", c.engine, "workers and CPUs");
  v.section("eal", c.eal, "DPDK");
  v.section("capture", c.capture, "packets to a file");
  v.section("oob", c.oob, "TCP connection between the two ends");
}

}  // namespace mrc::config
