// SPDX-License-Identifier: BSD-3-Clause
// Everything that can be set of a run in virtual time, as checked structs. Which keys exist, their limits and
// their words: scenario_schema.h. Values that belong to a library are that library's own structs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "cc/qpcc.h"
#include "config/endpoint_config.h"
#include "fabric/switch.h"
#include "fabric/usid.h"
#include "path/ev_set.h"
#include "sim/rc_types.h"
#include "sim/size_model.h"

namespace mrc::sim {

enum class Preset : std::uint8_t { kNone, kHtsimCompat };
enum class WireSizes : std::uint8_t { kReal, kHtsim };
enum class TransportKind : std::uint8_t { kMrc, kRc };
enum class RcRate : std::uint8_t { kOff, kPaper, kNic };  ///< DCQCN as published, as NICs come, or none
enum class UsidKind : std::uint8_t { kNode, kAdjacency };
enum class CcKind : std::uint8_t { kNscc, kFixed, kOff };
enum class NsccVariant : std::uint8_t { kUet, kHtsim };
enum class Shape : std::uint8_t {
  kPointToPoint,
  kPermutation,
  kIncast,
  kRingAllReduce,
  kAllToAll,
  kMix,
  kMatrix,  ///< from a .cm file
};
enum class FaultKind : std::uint8_t {
  kDown,
  kBlackHole,
  kLoss,
  kSlow,
  kDelay,
  kCorrupt,
  kDuplicate,
  kReorder
};
enum class FaultPlace : std::uint8_t { kHostPort, kUplink, kSwitch, kPlane, kFabric, kEv };
enum class Direction : std::uint8_t { kBoth, kUp, kDown };

/// A plane with speeds of its own; 0: as the whole network has it.
struct PlaneScenario {
  std::uint32_t plane = 0;
  double link_gbps = 0;
  double uplink_gbps = 0;
  double core_gbps = 0;
};

/// Shape, speed and distance (fabric::ClosSpec).
struct NetworkScenario {
  std::uint32_t tiers = 2;
  std::uint32_t planes = 4;
  std::uint32_t hosts = 4;
  std::uint32_t hosts_per_t0 = 2;
  std::uint32_t t1 = 4;
  std::uint32_t parallel = 1;
  std::uint32_t t0_per_pod = 1;
  std::uint32_t t2_per_t1 = 1;
  double link_gbps = 100;
  double uplink_gbps = 0;  ///< 0: as link_gbps
  double core_gbps = 0;    ///< 0: as uplink_gbps
  std::vector<PlaneScenario> plane_speeds;
  Duration delay = microseconds(1);
  Duration jitter{};
  WireSizes sizes = WireSizes::kReal;
  fabric::Forwarding forwarding = fabric::Forwarding::kEcmp;
  std::uint32_t max_packets = 0;  ///< 0: by the windows, within run.memory (run_memory.h)
};

/// Output queues. Zeros follow from the bandwidth-delay product of one plane, as UET advises for switches.
struct QueueScenario {
  std::uint64_t data_bytes = 0;      ///< 0: one plane BDP with trimming, five without
  std::uint64_t last_hop_bytes = 0;  ///< 0: one and a half plane BDP with trimming, five without
  std::uint64_t control_bytes = 0;   ///< 0: one plane BDP
  bool trim = true;
  std::uint64_t trim_bytes = 128;
  bool trim_last_hop_class = true;
  bool trim_fair_coin = false;
  bool ecn = true;
  std::uint64_t ecn_min_bytes = 0;  ///< 0: a fifth of the plane BDP
  std::uint64_t ecn_max_bytes = 0;  ///< 0: four fifths
  bool ecn_last_hop = false;
};

/// Links that are slow from the start, queue and marks in proportion: the first `number` of a tier.
struct SlowLinksScenario {
  std::uint32_t number = 0;
  std::uint32_t tier = 1;  ///< 0: between T0 and T1, 1: between T1 and T2
  Direction direction = Direction::kDown;
  double fraction = 0.25;
};

struct PathScenario {
  std::uint32_t evs = 128;
  path::EvFormat format = path::EvFormat::kUdp;
  path::EvOrder order = path::EvOrder::kB;
  UsidKind usids = UsidKind::kNode;  ///< SRv6: what a way's uSIDs name
  fabric::PlaneEncoding usid_planes = fabric::PlaneEncoding::kInUsid;
  path::Selector selector = path::Selector::kMrc;
  std::uint32_t active = 0;       ///< EVs in rotation, the rest are backups on their planes; 0: all
  bool share_by_ev = false;       ///< packets are dealt to EVs, not to planes
  bool any_plane_backup = false;  ///< not only of the plane whose EV it replaces
  bool rtt_reroute = false;       ///< rest an EV whose RTT stands out
  double denylist_coverage = 0;  ///< of the EVs that lead over a link dead at the start, this share is DENIED
};

/// How a loss is found: what a comparison switches off.
struct DetectScenario {
  bool time_order = true;
  bool ev_order = true;
  bool tail_probe = true;
  bool plane_rule = true;
  bool sack_first = false;
};

struct CcScenario {
  CcKind kind = CcKind::kNscc;
  NsccVariant variant = NsccVariant::kUet;
  cc::SendTest send_test = cc::SendTest::kMrc;
  std::uint64_t window_bytes = 1U << 20;  ///< fixed
  std::uint64_t max_cwnd_bytes = 0;       ///< 0: derived
  Duration target_delay{};                ///< 0: derived
  std::uint32_t mtu_bytes = 0;            ///< in the formulas; 0: nominal size of a full packet
  std::uint32_t mss_bytes = 0;            ///< in the gains; 0: mtu
  Duration min_base_rtt{};
  bool disable_qa = false;
};

/// The single-path baseline (rc_types.h).
struct RcScenario {
  RcRate dcqcn = RcRate::kOff;
  std::uint64_t window_bytes = 0;
  Duration timeout = RcConfig().timeout;
  std::uint32_t retries = RcConfig().retries;
};

struct WorkloadScenario {
  Shape shape = Shape::kPointToPoint;
  std::uint64_t bytes = 1U << 20;
  std::uint32_t src = 0;
  std::uint32_t dst = 1;  ///< also the receiver of an incast
  std::uint32_t senders = 1;
  std::int32_t victim_src = -1;  ///< one more flow, of victim_bytes
  std::int32_t victim_dst = -1;
  std::uint64_t victim_bytes = 1U << 20;
  std::uint32_t flows = 100;  ///< mix
  double elephants = 0.1;
  std::uint64_t mouse_bytes = 4096;
  Duration span = microseconds(100);
  std::string matrix;        ///< file
  std::uint32_t rounds = 1;  ///< the workload again when all of it is done
  std::uint32_t qps = 1;     ///< per pair of hosts; messages in turn
  bool stripe = false;       ///< or each message over all of them
  bool shuffle = false;      ///< the hosts of the shape in random order
  bool with_immediate = false;
};

struct FaultScenario {
  double at_us = 0;
  double window_us = 0;    ///< above 0: the beginning is drawn from the seed, at_us to at_us + window_us
  double rate_per_ms = 0;  ///< above 0: as many beginnings as a Poisson process has in the window
  double for_us = 0;       ///< 0: for ever
  std::uint32_t times = 1;
  double period_us = 0;
  FaultKind kind = FaultKind::kDown;
  FaultPlace place = FaultPlace::kUplink;
  bool random = false;  ///< plane, tier's index, uplink, host or EV drawn from the seed, none twice
  std::uint32_t plane = 0;
  std::uint32_t tier = 0;
  std::uint32_t index = 0;
  std::uint32_t uplink = 0;
  std::uint32_t number = 1;  ///< uplinks in a row, or places drawn
  std::uint32_t host = 0;
  std::uint32_t ev = 0;
  Direction direction = Direction::kBoth;
  double probability = 1;
  double fraction = 0.25;
  Duration delay{};
};

struct RunScenario {
  double until_us = 1e6;
  bool cut = false;  ///< until_us ends flows by design
  Duration sample = microseconds(1);
  Duration series = microseconds(10);
  std::uint64_t memory_bytes = 8ULL << 30;
  bool port_status = true;  ///< hosts tell their peers of ports that go down or up
};

struct Scenario {
  Preset preset = Preset::kNone;
  std::uint64_t seed = 1;
  TransportKind transport = TransportKind::kMrc;
  NetworkScenario network;
  QueueScenario queues;
  SlowLinksScenario slow_links;
  PathScenario paths;
  config::QpConfig qp;
  DetectScenario detect;
  CcScenario cc;
  RcScenario rc;
  WorkloadScenario workload;
  std::vector<FaultScenario> faults;
  RunScenario run;
};

inline constexpr std::size_t kMaxFaults = 4096;
inline constexpr std::uint64_t kMaxQueueBytes = 1ULL << 31;

/// The defaults that a preset starts from.
Scenario preset_scenario(Preset preset);

/// Parses and checks; the preset's values stand where the text gives none. Errors: one line each,
/// "name:line: key: what". A relative workload.matrix is looked for beside the file `name`.
Result<Scenario> load_scenario_text(std::string_view text, const std::string& name,
                                    const config::Settings& settings = {});
Result<Scenario> load_scenario_file(const std::string& path, const config::Settings& settings = {});
/// Checks across values; also fills what follows from others (base RTT, queues, marks, packet memory).
Result<void> resolve_scenario(Scenario& scenario);
/// As YAML that loads to the same values; with `annotate` every key carries its documentation.
std::string print_scenario(const Scenario& scenario, bool annotate);

/// Bytes on the wire: htsim's, or real headers as the EVs' format needs them; RC has no SRv6.
SizeModel sizes_of(const Scenario& scenario);
/// Round trip of a full data packet and its SACK over the longest way, empty network.
Duration base_rtt_of(const Scenario& scenario);
/// Speeds of a plane: host ports, links between T0 and T1, links between T1 and T2.
struct PlaneSpeeds {
  double link_gbps = 0, uplink_gbps = 0, core_gbps = 0;
};
PlaneSpeeds speeds_of(const NetworkScenario& network, std::uint32_t plane);
/// Bits per second of one host over all planes.
double host_rate_bps(const NetworkScenario& network);

}  // namespace mrc::sim
