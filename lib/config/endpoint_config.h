// SPDX-License-Identifier: BSD-3-Clause
// Everything a user can set of an endpoint, as checked structs. Values that belong to a library are that
// library's own structs, so that each default stands in one place. Which keys exist, their limits and their
// words: endpoint_schema.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "base/result.h"
#include "base/time.h"
#include "cc/qpcc.h"
#include "path/ev_set.h"
#include "path/ev_table.h"
#include "transport/qp.h"
#include "wire/dscp.h"

namespace mrc::config {

inline constexpr std::size_t kMaxQps = 4096;
inline constexpr std::size_t kMaxWorkers = 16;
inline constexpr std::uint64_t kMaxMemoryBytes = 64ULL << 30;
inline constexpr std::size_t kMaxSweep = 64;  ///< sizes of a sweep, phases of a run

/// What the planes are made of.
enum class Profile : std::uint8_t { kVirtual, kRing, kVhost, kMemif, kAfPacket, kAfXdp, kPcap, kEthdev };
/// Which end of a vhost or memif link this process is. kAuto: `serve` is the server.
enum class LinkRole : std::uint8_t { kAuto, kServer, kClient };
enum class IdlePolicy : std::uint8_t { kAuto, kSpin, kYield, kSleep };
enum class HugepageUse : std::uint8_t { kAuto, kNever, kAlways };
enum class EvMode : std::uint8_t { kAuto, kExplicit, kGenerated };
/// kOff: the PSN window (MPR) alone limits what is in flight. kFixed: a window that never moves. kNscc:
/// MRC 8.4.
enum class CcMode : std::uint8_t { kOff, kFixed, kNscc };
enum class WorkloadKind : std::uint8_t { kWriteBw, kWriteLat, kWriteImm };
enum class IcrcPolicy : std::uint8_t { kVerify, kIgnore };

/// One plane = one port. Empty addresses are filled in (fill_addresses).
struct PlaneConfig {
  std::string device;  ///< interface, socket path (fill_sockets), PCI address or port name; by profile
  std::string ip;
  std::string mac;
  std::string next_hop_mac;
  std::uint16_t vlan = 0;
  std::uint16_t outer_vlan = 0;
};

struct NetConfig {
  std::uint16_t udp_port = wire::kUdpPortRoce;  // C1
  bool accept_alternate_port = true;
  std::uint8_t hop_limit = 64;
  IcrcPolicy icrc = IcrcPolicy::kVerify;
};

/// Numbers of the DSCP classes (MRC 7.3; they are configuration, not protocol).
struct DscpConfig {
  std::uint8_t no_trim = wire::DscpMap::kDefault[0];
  std::uint8_t trimmable = wire::DscpMap::kDefault[1];
  std::uint8_t trimmable_retx = wire::DscpMap::kDefault[2];
  std::uint8_t trimmed = wire::DscpMap::kDefault[3];
  std::uint8_t trimmed_lasthop = wire::DscpMap::kDefault[4];
  std::uint8_t control = wire::DscpMap::kDefault[5];
};

/// A field of a GENERATED or EXPLICIT profile (5.3).
struct EvFieldConfig {
  std::uint8_t width = 16;
  std::uint8_t format_width = 16;
  std::uint32_t init = 0;
  std::uint32_t min = 0;
  std::uint32_t max = 0;
  std::uint32_t mask = 0;
};

struct EvValueConfig {
  std::string ev;  ///< hex bytes, left-aligned
  std::uint8_t plane = 0;
};

/// EVs that are never sent on: one by its index, or all of a value.
struct DeniedEvConfig {
  std::int32_t index = -1;
  std::string ev;           ///< hex bytes, as results print them
  std::int32_t plane = -1;  ///< with `ev`: on this plane alone
};

struct EvConfig {
  path::EvFormat format = path::EvFormat::kUdp;
  path::EvOrder order = path::EvOrder::kB;
  EvMode mode = EvMode::kAuto;
  bool count_auto = true;  ///< effective_ev_count() instead of `count`
  std::uint16_t count = 128;
  std::vector<EvFieldConfig> fields;
  std::vector<EvValueConfig> values;
  std::vector<DeniedEvConfig> denied;
};

/// Which of the EVs a QP uses; the scenario's section of the same name has the same keys.
struct PathsConfig {
  path::Selector selector = path::Selector::kMrc;
  std::uint32_t active = 0;  ///< EVs in rotation, the rest are backups on their planes; 0: all
  bool rtt_reroute = false;  ///< rest an EV whose RTT stands out
};

struct CcConfig {
  CcMode mode = CcMode::kFixed;
  std::uint64_t window_bytes = 1U << 20;
  cc::SendTest send_test = cc::SendTest::kMrc;
  // NSCC. What is 0 follows from the link: sum of the planes' rates, qp.base_rtt, qp.mtu.
  double rate_gbps = 0;  ///< sum over the planes; 0: as the ports say
  std::uint64_t max_window_bytes = 0;
  Duration target_delay{};
  bool quick_adapt = true;
};

struct QpConfig {
  bool mtu_auto = true;  ///< attr.path_mtu is what the planes carry, and the peer's when that is less
  transport::QpLimits limits;
  transport::QpAttr attr;
  transport::QpPolicy policy;
};

/// The virtual fabric between the two ends of `run --loopback` and the demo.
struct FabricConfig {
  std::uint16_t paths_per_plane = 8;
  Duration delay = microseconds(0);
  double loss = 0;       ///< of each packet, 0..1
  double link_gbps = 0;  ///< 0: as fast as the core pumps
  // What a path with a rate does when it has more than it can send.
  std::uint64_t queue_bytes = 1U << 20;
  bool ecn = false;
  std::uint64_t ecn_min_bytes = 0;  ///< ecn_min_of()
  std::uint64_t ecn_max_bytes = 0;  ///< ecn_max_of()
  bool trim = false;
  std::uint16_t trim_bytes = 128;
};
/// Where marks begin and where they are certain: as set, or a quarter and three quarters of the queue.
std::uint64_t ecn_min_of(const FabricConfig& f);
std::uint64_t ecn_max_of(const FabricConfig& f);

struct WorkloadConfig {
  WorkloadKind kind = WorkloadKind::kWriteBw;
  std::uint64_t size_bytes = 65536;
  std::vector<std::uint64_t> sweep_bytes;  ///< not empty: one phase a size, size_bytes unused
  std::uint32_t qps = 1;
  std::uint64_t iterations = 0;  ///< messages a QP and phase; 0: by duration, or the kind's default
  double duration_s = 0;         ///< of each phase; 0: by iterations
  std::uint32_t depth = 0;       ///< messages outstanding a QP; 0: the kind's default
  bool bidirectional = false;
  bool verify = true;
  std::int32_t pin_ev = -1;
  double stall_timeout_s = 30;  ///< without any progress
};

struct EngineConfig {
  std::uint32_t workers = 1;
  std::string lcores;  ///< EAL syntax; empty: one CPU a worker, shared when there are fewer
  IdlePolicy idle = IdlePolicy::kAuto;
};

struct EalConfig {
  HugepageUse hugepages = HugepageUse::kAuto;
  std::uint32_t memory_mb = 0;  ///< 0: what the plan needs
  std::string file_prefix;      ///< empty: one of our own a process
  std::vector<std::string> args;
};

struct CaptureConfig {
  std::string file;  ///< empty: off
  std::uint32_t snap_bytes = 256;
  bool drops_only = false;
};

/// The out-of-band TCP connection.
struct OobConfig {
  std::string address = "127.0.0.1";
  std::uint16_t port = 18515;  // perftest's
  double connect_timeout_s = 10;
  double peer_timeout_s = 10;
  std::uint64_t memory_limit_bytes =
      0;  ///< serve: message memory that a run may take; 0: half of what is free
};

struct EndpointConfig {
  EndpointConfig() { qp.policy.reverse_probes = true; }  // our engine carries them (D19)

  Profile profile = Profile::kVirtual;
  LinkRole role = LinkRole::kAuto;
  std::uint64_t seed = 0;  ///< 0: drawn at start and printed
  std::vector<PlaneConfig> planes;
  std::uint32_t plane_count = 4;  ///< used when `planes` is empty
  NetConfig net;
  EvConfig ev;
  PathsConfig paths;
  QpConfig qp;
  CcConfig cc;
  DscpConfig dscp;
  FabricConfig fabric;
  WorkloadConfig workload;
  EngineConfig engine;
  EalConfig eal;
  CaptureConfig capture;
  OobConfig oob;
};

/// Settings on top of a file: a dotted key ("qp.mtu", "planes[1].ip", "eal.args[+]" to append) and a value in
/// YAML.
using Settings = std::vector<std::pair<std::string, std::string>>;

/// Parses and checks. Errors: one line each, "name:line: key: what", joined by newlines; what a setting
/// caused is told as "command line: key: what". `unsaid`: the profile when neither says one.
Result<EndpointConfig> load_endpoint_text(std::string_view text, const std::string& name,
                                          const Settings& settings = {}, Profile unsaid = Profile::kVirtual);
/// `text` as a YAML scalar that is text, whatever is in it.
std::string quoted(std::string_view text);
Result<EndpointConfig> load_endpoint_file(const std::string& path);

/// Bits per second of all planes together: cc.rate_gbps, else what `port_bps` of a plane and the virtual
/// fabric's links give; 0: nobody knows.
double rate_of_planes(const EndpointConfig& config, double port_bps);
/// Whether make_controller will do, as far as can be told before a port is open: only physical ones tell a
/// rate. Errors: what is missing, and the setting that mends it.
Result<void> check_controller(const EndpointConfig& config);
/// The controller of one destination as configured; `share` of the rate is its own, the rest that of others
/// to the same destination. Errors: parameters that NSCC cannot work with, by name and limit.
Result<cc::Qpcc::Algorithm> make_controller(const EndpointConfig& config, double rate_bps, double share,
                                            Time now);

/// One line for people: which controller, and what it was made from.
std::string describe_controller(const EndpointConfig& config, double rate_bps);

/// Checks what no single value can tell (D2, 2.6, 5.3 ...): run after command line options changed values
/// too.
Result<void> check_endpoint(const EndpointConfig& config);

/// The configuration as YAML that loads to the same values; with `annotate` every key carries its
/// documentation.
std::string print_endpoint(const EndpointConfig& config, bool annotate);

/// Gives every plane an address (IPv6 fd4d:5243:<plane>::<host>, MAC 02:4d:52:<host>:<plane>:01) where none
/// is set, and makes `planes` as long as plane_count when it was empty. `host` 1 is the serving end, 2 the
/// other.
/// Where a plane has an IPv4 address, 10.77.<plane>.<host> instead.
void fill_addresses(EndpointConfig& config, std::uint8_t host);
/// The other end of `config`, whose addresses are filled in, in the same process: what is its own is made up,
/// of the same family.
EndpointConfig other_end(const EndpointConfig& config, std::uint8_t host);

/// Whether planes of this profile are sockets between two processes, which can be made up.
bool joins_by_sockets(Profile p);
/// Gives every plane of such a profile a socket in `directory` where none is set, and makes `planes` as long
/// as plane_count when it was empty. Both ends get the same names.
void fill_sockets(EndpointConfig& config, const std::string& directory);

/// SRv6 on the virtual fabric: its switches name the ways, so that no list can.
bool fabric_names_evs(const EndpointConfig& config);
/// EVs of the profile: those listed, the number set, or for `auto` 128 and a few more for equal shares, or
/// all that the fields give.
std::size_t effective_ev_count(const EndpointConfig& config);
/// Messages outstanding a QP, iterations: the set value or the kind's default.
std::uint32_t effective_depth(const WorkloadConfig& w);
std::uint64_t effective_iterations(const WorkloadConfig& w);  ///< 0: duration decides
/// The sizes to run, in order.
std::vector<std::uint64_t> effective_sizes(const WorkloadConfig& w);

std::string_view name_of(Profile p);
std::string_view name_of(WorkloadKind k);
std::string_view name_of(CcMode m);

}  // namespace mrc::config
