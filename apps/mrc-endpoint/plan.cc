// SPDX-License-Identifier: BSD-3-Clause
#include "plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "config/ev_profile.h"

namespace mrc::endpoint {
namespace {

constexpr std::uint64_t kMib = 1ULL << 20;

bool accepts(const Offer& listener, std::uint16_t port) {
  const auto& ports = listener.accept_udp_ports;
  return std::find(ports.begin(), ports.end(), port) != ports.end();
}

}  // namespace

std::uint64_t stride_of(std::uint64_t size_bytes) {
  return std::max<std::uint64_t>(1, (size_bytes + kStrideAlign - 1) / kStrideAlign) * kStrideAlign;
}

bool uses_immediate(const std::string& kind) {
  return kind != config::name_of(config::WorkloadKind::kWriteBw);
}

bool run_receives(const Workload& w) {
  return w.bidirectional || w.kind == config::name_of(config::WorkloadKind::kWriteLat);
}

PhasePlan plan_phase(const config::EndpointConfig& c, std::uint64_t size_bytes) {
  const config::WorkloadConfig& w = c.workload;
  PhasePlan p;
  p.size_bytes = size_bytes;
  p.stride_bytes = stride_of(size_bytes);
  std::uint64_t slots =
      std::max<std::uint64_t>(kSlotBudgetBytes / p.stride_bytes, p.stride_bytes < (256ULL << 20) ? 2 : 1);
  slots = std::min<std::uint64_t>(slots, kMaxSlots);
  // A WriteIMM without a posted receive is an error of the connection: never more in flight than receives.
  if (uses_immediate(std::string(name_of(w.kind))))
    slots = std::min<std::uint64_t>(slots, c.qp.limits.max_recv_wr);
  const std::uint64_t wanted = effective_depth(w);
  // Half the slots travel while the other half is checked; a depth that was asked for gets the slots it
  // needs.
  if (w.depth > slots) slots = w.depth;
  p.slots = static_cast<std::uint32_t>(slots);
  const std::uint64_t room = w.depth != 0 ? slots : std::max<std::uint64_t>(1, slots / 2);
  p.depth = static_cast<std::uint32_t>(std::min({wanted, room, std::uint64_t{c.qp.limits.max_send_wr}}));
  p.iterations = effective_iterations(w);
  p.duration_s = w.duration_s;
  return p;
}

std::vector<PhasePlan> plan_phases(const config::EndpointConfig& c) {
  std::vector<PhasePlan> plans;
  for (const std::uint64_t size : effective_sizes(c.workload)) plans.push_back(plan_phase(c, size));
  return plans;
}

MemoryNeed memory_of(const Workload& w, std::uint64_t bytes_a_qp) {
  return {w.region_bytes * w.qps * (run_receives(w) ? 2 : 1), bytes_a_qp * w.qps};
}

std::string MemoryNeed::text() const {
  const auto mib = [](std::uint64_t b) { return (b + kMib - 1) / kMib; };
  return fmt::format("{} MiB of memory ({} for messages, {} for QPs)", mib(bytes()), mib(message_bytes),
                     mib(qp_bytes));
}

Result<void> check_offer(const config::EndpointConfig& own, const Offer& offer, std::uint64_t free_bytes,
                         std::uint64_t bytes_a_qp) {
  const Workload& w = offer.workload;
  if (w.kind != "write_bw" && w.kind != "write_lat" && w.kind != "write_imm") {
    return Error{fmt::format("workload '{}' is not known; known: write_bw, write_lat, write_imm", w.kind)};
  }
  if (offer.qps.size() != w.qps) {
    return Error{fmt::format("the workload has {} QPs but {} are described", w.qps, offer.qps.size())};
  }
  if (w.region_bytes == 0 || w.region_bytes < w.max_size_bytes) {
    return Error{
        fmt::format("region_bytes {} cannot hold a message of {} bytes", w.region_bytes, w.max_size_bytes)};
  }
  if (w.region_bytes > config::kMaxMemoryBytes / w.qps) {
    return Error{fmt::format("{} QPs x {} bytes of target memory is above the limit of {} bytes", w.qps,
                             w.region_bytes, config::kMaxMemoryBytes)};
  }
  const std::uint64_t limit = own.oob.memory_limit_bytes != 0 ? own.oob.memory_limit_bytes : free_bytes / 2;
  if (const MemoryNeed needed = memory_of(w, bytes_a_qp); needed.bytes() > limit) {
    return Error{fmt::format(
        "the run needs {} at the serving end, which gives {} MiB at most "
        "(oob.memory_limit{}); "
        "use smaller messages, fewer QPs or a smaller --tx-depth",
        needed.text(), limit / kMib, own.oob.memory_limit_bytes != 0 ? "" : " there: half of what is free")};
  }
  if (w.qps < own.engine.workers) {
    return Error{fmt::format("{} QPs cannot occupy our {} workers; use more QPs, or fewer workers here",
                             w.qps, own.engine.workers)};
  }
  return {};
}

Result<std::uint16_t> agree_mtu(const Offer& own, const Offer& peer) {
  const std::uint16_t mtu = std::min(own.mtu, peer.mtu);
  if (own.mtu_fixed && peer.mtu_fixed && own.mtu != peer.mtu) {
    return Error{fmt::format("qp.mtu is {} on one end and {} on the other; set the same on both, or auto",
                             own.mtu, peer.mtu)};
  }
  if ((own.mtu_fixed && own.mtu != mtu) || (peer.mtu_fixed && peer.mtu != mtu)) {
    return Error{fmt::format(
        "qp.mtu is {} on one end, and the planes of the other carry at most {}; set {} or auto, or "
        "raise the MTU of those planes",
        std::max(own.mtu, peer.mtu), mtu, mtu)};
  }
  return mtu;
}

Result<void> check_peer(const Offer& own, const Offer& peer, std::uint64_t target_bytes_needed) {
  if (Result<std::uint16_t> mtu = agree_mtu(own, peer); !mtu) return mtu.error();
  const std::size_t planes = own.addresses.front().size();
  if (planes != peer.addresses.front().size()) {
    return Error{fmt::format("{} planes on one end and {} on the other; plane i here is plane i there",
                             planes, peer.addresses.front().size())};
  }
  for (std::size_t i = 0; i < planes; ++i) {
    const PlaneAddress& a = own.addresses.front()[i];
    const PlaneAddress& b = peer.addresses.front()[i];
    if (a.ip.v6 != b.ip.v6) {
      return Error{fmt::format("plane {}: {} and {} are of different IP versions", i, a.ip.to_string(),
                               b.ip.to_string())};
    }
    if (a.ip == b.ip || a.mac == b.mac) {
      return Error{fmt::format("plane {}: both ends are {}; each end needs its own address", i,
                               a.ip == b.ip ? a.ip.to_string() : a.mac.to_string())};
    }
  }
  if (!accepts(peer, own.udp_port) || !accepts(own, peer.udp_port)) {
    return Error{fmt::format(
        "UDP ports {} and {}: one end does not listen on what the other sends to; set net.udp_port",
        own.udp_port, peer.udp_port)};
  }
  if (own.qps.size() != peer.qps.size()) {
    return Error{fmt::format("{} QPs on one end and {} on the other", own.qps.size(), peer.qps.size())};
  }
  for (std::size_t i = 0; i < peer.qps.size(); ++i) {
    if (peer.qps[i].target_bytes < target_bytes_needed) {
      return Error{fmt::format("QP {}: the target has {} bytes, {} are needed", i, peer.qps[i].target_bytes,
                               target_bytes_needed)};
    }
  }
  return {};
}

Result<path::EvTable> build_ev_table(const config::EndpointConfig& c, bool ipv6, std::uint64_t seed) {
  Result<path::EvTable> table = path::build_table(config::ev_profile_of(c, ipv6, seed));
  if (!table) return Error{fmt::format("ev: {}", table.error().message)};
  if (c.workload.pin_ev < 0) return table;
  if (static_cast<std::size_t>(c.workload.pin_ev) >= table->size()) {
    return Error{
        fmt::format("--pin-ev {}: the profile has EVs 0 to {}", c.workload.pin_ev, table->size() - 1)};
  }
  const path::EvEntry& pinned = (*table)[static_cast<std::size_t>(c.workload.pin_ev)];
  return path::EvTable::create(c.ev.format, c.ev.order, ipv6, std::span(&pinned.value, 1),
                               std::span(&pinned.port, 1));
}

}  // namespace mrc::endpoint
