// SPDX-License-Identifier: BSD-3-Clause
#include "sim/run_memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/limits.h"
#include "fabric/packet_pool.h"
#include "sim/network.h"
#include "sim/token.h"

namespace mrc::sim {

namespace {

// Bytes, rounded up from resident sets of runs that differ in one number (x86-64, libstdc++). Vectors that
// grow hold up to three times what is in them.
constexpr double kPairOfQps = 65536;  // what does not depend on the scenario
constexpr double kPairOfRcQps = 8192;
constexpr double kEvOfPair = 240;        // state, health and counters at both ends, and the checks'
constexpr double kEvOfSrv6Tables = 240;  // there and back
constexpr double kPacketOfWindow = 64;   // the requestor's record and the checks'
constexpr double kPacketOfAcceptance = 28;
constexpr double kSendRequest = 68;
constexpr double kReceive = 28;
constexpr double kFlow = 400;
constexpr double kLink = 1200;
constexpr double kHost = 2048;
constexpr double kPacketInside = sizeof(fabric::Slot) + 3 * sizeof(Token);
constexpr double kRest = 16 << 20;  // the program, histograms, series

constexpr std::uint32_t kLeastPackets = 1U << 14;
constexpr std::uint32_t kFewestPackets = 1U << 18;  // where there is room: address space that nobody may use
constexpr std::uint32_t kMostPackets = 1U << 22;
constexpr double kPacketsAWindow = 32;  // answers, and repetitions that overtake a long way's first news

double bytes_of_pair(const Scenario& s) {
  if (s.transport == TransportKind::kRc) return kPairOfRcQps;
  const bool srv6 = path::is_srv6(s.paths.format);
  return kPairOfQps + s.paths.evs * (kEvOfPair + (srv6 ? kEvOfSrv6Tables : 0)) +
         s.qp.attr.mpr * kPsnsPerMprUnit * kPacketOfWindow +
         s.qp.attr.mpr_dest * kPsnsPerMprUnit * kPacketOfAcceptance + s.qp.limits.max_send_wr * kSendRequest +
         s.qp.limits.max_recv_wr * kReceive;
}

}  // namespace

Result<std::uint32_t> packets_within_memory(const Scenario& s, const Workload& w) {
  const WorkloadScenario& load = s.workload;
  const double qps = static_cast<double>(w.pairs()) * load.qps;
  const double parts = load.stripe ? load.qps : 1;
  const double flows = static_cast<double>(w.starts()) * load.rounds * parts;
  if (flows > static_cast<double>(kMaxFlows))
    return Error{fmt::format(
        "workload: {} messages in {} rounds{}; {} are possible: fewer workload.rounds, flows or hosts",
        w.starts(), load.rounds, load.stripe ? fmt::format(", each over {} QPs", load.qps) : "", kMaxFlows)};
  const double bits = static_cast<double>(w.matrix().total_bytes()) / s.qp.attr.path_mtu / 8;
  const double of_qps = qps * bytes_of_pair(s);
  const double of_flows = flows * kFlow + bits * load.rounds;
  const double of_network = static_cast<double>(links_of(s)) * kLink + s.network.hosts * kHost + kRest;
  const double left = static_cast<double>(s.run.memory_bytes) - of_qps - of_flows - of_network;
  const double wanted = s.network.max_packets != 0 ? s.network.max_packets : kLeastPackets;
  const double fit = left / kPacketInside;
  if (fit < wanted) {
    constexpr double kMiB = 1 << 20;
    return Error{fmt::format(
        "run.memory: allows {:.0f} MiB, but {} pairs of hosts with {} QPs of {} EVs may take {:.0f} MiB, "
        "{:.0f} "
        "messages {:.0f} MiB, {} links {:.0f} MiB, {:.0f} packets {:.0f} MiB; make one of them smaller or "
        "run.memory larger",
        static_cast<double>(s.run.memory_bytes) / kMiB, w.pairs(), load.qps, s.paths.evs, of_qps / kMiB,
        flows, of_flows / kMiB, links_of(s), of_network / kMiB, wanted, wanted * kPacketInside / kMiB)};
  }
  if (s.network.max_packets != 0) return s.network.max_packets;
  const double by_windows = qps * s.qp.attr.mpr * kPsnsPerMprUnit * kPacketsAWindow;
  return static_cast<std::uint32_t>(
      std::min(fit, std::clamp<double>(by_windows, kFewestPackets, kMostPackets)));
}

}  // namespace mrc::sim
