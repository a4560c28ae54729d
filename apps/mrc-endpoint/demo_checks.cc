// SPDX-License-Identifier: BSD-3-Clause
#include "demo_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace mrc::endpoint {
namespace {

using fabric::DropReason;
using fabric::Kind;

constexpr std::array<const char*, transport::kRtxCauses> kCauseNames = {
    "trimmed",  "no resource", "out of window", "inferred loss",
    "EV flush", "ACK timeout", "tail repeat",   "plane down"};

/// Round trips that a repair may take when the thread is never away: the window fills and D14's probe asks,
/// its answer names the lost (D8), D9's flush takes what was sent meanwhile, and all of it goes again; about
/// six, and 6.0 to 13.5 in 36 runs on a machine with five times the work that it has cores for: what takes
/// the thread away for less than kAbsence is not counted. The rest is for one more loss of a retransmission.
constexpr std::int64_t kRepairRtts = 16;

constexpr std::uint32_t kMinPlanes = 2;
constexpr std::uint32_t kMinPaths = 4;    // of a plane
constexpr std::uint32_t kMaxPaths = 128;  // the QP's EVs, by default
constexpr std::uint64_t kMinBytes = 64ULL << 20;
constexpr std::uint64_t kMaxBytes = 1ULL << 40;

double micro(Duration d) {
  return static_cast<double>(d.ns) * 1e-3;
}

std::uint64_t writes(const fabric::PerKind& v) {
  return v[static_cast<std::size_t>(Kind::kData)] + v[static_cast<std::size_t>(Kind::kRetransmission)];
}

void count_planes(DemoWorld& world, DemoReport& r) {
  const nic::WorkerStats& s = world.worker(0).stats();
  std::uint64_t pkts = 0;
  std::uint64_t bytes = 0;
  for (std::uint32_t p = 0; p < r.options.planes; ++p) {
    r.plane_pkts.push_back(s.ports[p].tx_data_pkts);
    pkts += s.ports[p].tx_pkts;
    bytes += s.ports[p].tx_bytes;
  }
  r.rates = report::rates_of(r.bytes_verified >> 20, r.bytes_verified, pkts, bytes, r.seconds);
}

void count_evs(const DemoWorld& world, const nic::QpSnapshot& qp, DemoReport& r) {
  r.evs = qp.evs.size();
  r.ev_min_pkts = ~0ULL;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < qp.evs.size(); ++i) {
    const std::uint32_t plane = world.evs()[i].port;
    const std::uint32_t path = world.path_of(static_cast<path::EvIndex>(i));
    const bool hurt =
        (plane == r.dead_plane && path == r.dead_path) || (plane == r.lossy_plane && path == r.lossy_path);
    if (hurt) continue;
    ++r.evs_healthy;
    r.ev_min_pkts = std::min(r.ev_min_pkts, qp.evs[i].tx_pkts);
    r.ev_max_pkts = std::max(r.ev_max_pkts, qp.evs[i].tx_pkts);
    sum += qp.evs[i].tx_pkts;
  }
  r.ev_mean_pkts = r.evs_healthy == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(r.evs_healthy);
}

void count_losses(DemoWorld& world, const nic::QpSnapshot& qp, DemoReport& r) {
  const fabric::Fabric& f = world.net().fabric();
  r.lost_on_dead_path = writes(f.counters().dropped[static_cast<std::size_t>(DropReason::kLinkDown)]);
  r.lost_at_random = writes(f.counters().dropped[static_cast<std::size_t>(DropReason::kRandomLoss)]);
  r.carried_by_lossy_path = writes(f.counters_into(f.topology().find(r.lossy_plane, 1, r.lossy_path)).sent);
  r.rtx = qp.counters.tx_rtx;
  r.spurious = qp.counters.spurious_rtx;
  for (std::size_t i = 0; i < transport::kRtxCauses; ++i) {
    r.rtx_by_cause.emplace_back(kCauseNames[i], qp.counters.rtx_by_cause[i]);
  }
}

// The checks
// -----------------------------------------------------------------------------------------------------

DemoCheck check_bytes(const DemoReport& r) {
  const std::uint64_t due = r.interrupted ? r.bytes_posted : r.options.bytes;
  const bool ok = r.messages_bad == 0 && r.bytes_verified >= due && r.bytes_verified > 0;
  return {"every byte arrived as it was sent",
          r.messages_bad == 0 ? fmt::format("{} bytes compared, none differs", r.bytes_verified)
                              : fmt::format("{} messages differ; {}", r.messages_bad, r.first_bad),
          ok};
}

DemoCheck check_planes(const DemoReport& r) {
  std::uint64_t total = 0;
  for (const std::uint64_t n : r.plane_pkts) total += n;
  const double share = 1.0 / static_cast<double>(r.plane_pkts.size());
  double worst = total == 0 ? 1 : 0;
  std::string found;
  for (const std::uint64_t n : r.plane_pkts) {
    const double of_total = total == 0 ? 0 : static_cast<double>(n) / static_cast<double>(total);
    worst = std::max(worst, std::abs(of_total / share - 1));
    found += fmt::format("{}{:.2f} %", found.empty() ? "" : ", ", 100 * of_total);
  }
  return {"each plane carried its share of the data within 10 %", found, worst <= 0.10};
}

DemoCheck check_evs(const DemoReport& r) {
  const bool ok = r.evs_healthy > 0 && static_cast<double>(r.ev_min_pkts) >= 0.5 * r.ev_mean_pkts &&
                  static_cast<double>(r.ev_max_pkts) <= 2.0 * r.ev_mean_pkts && r.ev_min_pkts > 0;
  return {"each EV of a healthy path carried half to twice the mean",
          fmt::format("{} of {} EVs: {} to {} packets, mean {:.0f}", r.evs_healthy, r.evs, r.ev_min_pkts,
                      r.ev_max_pkts, r.ev_mean_pkts),
          ok};
}

DemoCheck check_retransmissions(const DemoReport& r) {
  std::uint64_t by_cause = 0;
  std::string found;
  for (const auto& [cause, n] : r.rtx_by_cause) {
    by_cause += n;
    if (n != 0) found += fmt::format("{}{} {}", found.empty() ? "" : ", ", cause, n);
  }
  const std::uint64_t lost = r.lost_on_dead_path + r.lost_at_random;
  return {"every lost packet was sent again, every retransmission has a cause",
          fmt::format("{} lost, {} sent again: {}", lost, r.rtx, found.empty() ? "none" : found),
          r.rtx >= lost && by_cause >= r.rtx};
}

DemoCheck check_random_loss(const DemoReport& r) {
  const double n = static_cast<double>(r.carried_by_lossy_path);
  const double want = n * r.options.loss;
  const double sigma = std::sqrt(want * (1 - r.options.loss));
  const bool ok = n > 0 && std::abs(static_cast<double>(r.lost_at_random) - want) <= 5 * sigma + 1;
  return {fmt::format("plane {} path {} lost {:.4g} % of its packets", r.lossy_plane, r.lossy_path,
                      100 * r.options.loss),
          fmt::format("{} of {}, {:.1f} +- {:.1f} expected", r.lost_at_random, r.carried_by_lossy_path, want,
                      sigma),
          ok};
}

DemoCheck check_repair(const DemoReport& r) {
  const std::string what = fmt::format(
      "what died on plane {} path {} was acknowledged within {} round trips and twice what the thread was "
      "away",
      r.dead_plane, r.dead_path, kRepairRtts);
  const DeathStory& d = r.death;
  if (d.down.ns == 0 || d.data_lost == 0) return {what, "nothing died on it", false};
  if (d.repaired.ns == 0)
    return {what, fmt::format("{} packets lost, never acknowledged", d.data_lost), false};
  const Duration took = d.repaired - d.down;
  const Duration limit = r.base_rtt * kRepairRtts + r.absent * 2;
  return {
      what,
      fmt::format("{} packets lost; {:.0f} us = {:.1f} round trips (the thread was away for {:.0f} us of it)",
                  d.data_lost, micro(took), static_cast<double>(took.ns) / static_cast<double>(r.base_rtt.ns),
                  micro(r.absent)),
      took <= limit};
}

DemoCheck check_silence(const DemoReport& r) {
  const DeathStory& d = r.death;
  const bool ok = d.detected.ns != 0 && d.data_after_detection == 0 && d.control_after_detection == 0 &&
                  d.probes_after_detection > 0 && d.observations_lost == 0;
  return {"once noticed at both ends, the dead path carried nothing but probes",
          d.detected.ns == 0
              ? "it was never noticed"
              : fmt::format("noticed after {:.0f} us; then {} data, {} control packets, {} probes",
                            micro(d.detected - d.down), d.data_after_detection, d.control_after_detection,
                            d.probes_after_detection),
          ok};
}

DemoCheck check_return(const DemoReport& r) {
  const DeathStory& d = r.death;
  const bool ok = d.up.ns != 0 && d.data_again.ns != 0;
  return {"data went over it again after it came up",
          ok ? fmt::format("{:.0f} us after it came up ({:.1f} ms dead)", micro(d.data_again - d.up),
                           micro(d.up - d.down) * 1e-3)
             : "none was seen",
          ok};
}

}  // namespace

const char* mark_of(const DemoCheck& c) {
  return !c.judged ? "--" : c.ok ? "ok" : "MISS";
}

bool DemoReport::pass() const {
  return !checks.empty() &&
         std::all_of(checks.begin(), checks.end(), [](const DemoCheck& c) { return c.ok || !c.judged; });
}

std::vector<DemoCheck> judge(const DemoReport& r, bool balanced) {
  // Shares, the loss rate and the story of the path need the whole run; bytes and books never do.
  const bool whole = !r.interrupted || r.death.data_again.ns != 0;
  std::vector<DemoCheck> checks{check_bytes(r), check_retransmissions(r)};
  for (const auto check :
       {check_planes, check_evs, check_random_loss, check_repair, check_silence, check_return}) {
    checks.push_back(check(r));
    checks.back().judged = whole;
  }
  checks.push_back({"the books are balanced: every packet and every buffer is accounted for",
                    balanced ? "yes" : "no", balanced});
  return checks;
}

std::uint64_t smallest_bytes(const DemoOptions& o) {
  // In round trips, and not more a round trip than a core moves or what is outstanding.
  constexpr double kRoundTrips = 100;
  constexpr double kCoreGbps = 10;
  constexpr double kOutstandingBytes = 12ULL << 20;
  const double paths_gbps = o.path_gbps > 0 ? o.path_gbps * o.planes * o.paths : kCoreGbps;
  const double rtt_s = static_cast<double>(o.delay.ns) * 2e-9;
  const double a_round_trip = std::min(kOutstandingBytes, std::min(paths_gbps, kCoreGbps) * 1e9 / 8 * rtt_s);
  const auto wanted = static_cast<std::uint64_t>(kRoundTrips * a_round_trip);
  constexpr std::uint64_t kMib = 1ULL << 20;
  return std::max(kMinBytes, (wanted + kMib - 1) / kMib * kMib);
}

namespace {

Result<void> check_path_rate(const DemoOptions& o) {
  constexpr double kMinGbps = 0.05;
  constexpr double kMaxGbps = 100;
  if (o.path_gbps != 0 && !(o.path_gbps >= kMinGbps && o.path_gbps <= kMaxGbps))
    return Error{fmt::format(
        "--path-gbps {}: 0 for no limit, or from {} to {}; below that a full queue alone takes longer than "
        "all that is measured here",
        o.path_gbps, kMinGbps, kMaxGbps)};
  constexpr double kMostSeconds = 3600;
  const double all_gbps = o.path_gbps * o.planes * o.paths;
  const double seconds = all_gbps > 0 ? static_cast<double>(o.bytes) * 8e-9 / all_gbps : 0;
  if (seconds > kMostSeconds)
    return Error{
        fmt::format("--bytes {}: over {} paths of {} Gb/s they take {:.0f} s or more; at most {:.0f}: use "
                    "--bytes {} or less, or a larger --path-gbps",
                    o.bytes, o.planes * o.paths, o.path_gbps, seconds, kMostSeconds,
                    static_cast<std::uint64_t>(static_cast<double>(o.bytes) * kMostSeconds / seconds))};
  return {};
}

}  // namespace

Result<void> check_options(const DemoOptions& o) {
  constexpr Duration kMinDelay = microseconds(100);
  constexpr Duration kMaxDelay = milliseconds(2);
  constexpr double kMaxLoss = 0.1;
  if (o.planes < kMinPlanes || o.planes > kMaxPlanes) {
    return Error{fmt::format(
        "--planes {}: from {} to {}; with one plane there is none to send on while it is in doubt", o.planes,
        kMinPlanes, kMaxPlanes)};
  }
  if (o.paths < kMinPaths || o.planes * o.paths > kMaxPaths) {
    return Error{fmt::format(
        "--planes {} --paths {}: from {} paths a plane to {} in all; with fewer the one that dies is a third "
        "of its "
        "plane or more, and even shares cannot be told; with more some have none of the QP's {} EVs",
        o.planes, o.paths, kMinPaths, kMaxPaths, kMaxPaths)};
  }
  if (o.delay < kMinDelay || o.delay > kMaxDelay) {
    return Error{
        fmt::format("--delay-us {}: from {} to {}; below that a round trip is shorter than the rounds of the "
                    "one thread that "
                    "serves both ends, so the repair could not be told in round trips; above it the window "
                    "holds too little "
                    "of a round trip for even shares",
                    o.delay.ns / 1000, kMinDelay.ns / 1000, kMaxDelay.ns / 1000)};
  }
  if (!(o.loss >= 0 && o.loss <= kMaxLoss)) {
    return Error{
        fmt::format("--loss-percent {}: from 0 to {}; above that the repair of the dead path is lost too "
                    "often on the other one",
                    100 * o.loss, 100 * kMaxLoss)};
  }
  if (auto ok = check_path_rate(o); !ok) return ok;
  if (o.bytes > kMaxBytes) return Error{fmt::format("--bytes {}: at most {}", o.bytes, kMaxBytes)};
  if (const std::uint64_t least = smallest_bytes(o); o.bytes < least) {
    return Error{
        fmt::format("--bytes {}: at least {}MB with {} planes of {} paths and {} us one way; with fewer "
                    "there are too few round "
                    "trips to tell even shares and the story of the path",
                    o.bytes, least >> 20, o.planes, o.paths, o.delay.ns / 1000)};
  }
  return {};
}

Result<void> measure(DemoWorld& world, DemoReport& r) {
  auto qp = world.nic(0).query_qp(world.qpn(0));
  if (!qp) return qp.error();
  count_planes(world, r);
  count_evs(world, *qp, r);
  count_losses(world, *qp, r);
  auto controller = world.nic(0).query_cc(world.qpn(0));
  if (!controller) return controller.error();
  r.controller = *std::move(controller);
  const bool balanced = world.settle();
  r.checks = judge(r, balanced);
  return {};
}

}  // namespace mrc::endpoint
