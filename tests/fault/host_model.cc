// SPDX-License-Identifier: BSD-3-Clause
#include "host_model.h"

namespace mrc::fault {

HostModel::HostModel(const HostLimits& limits, const sim::Simulation& sim)
    : limits_(limits), sim_(sim), hosts_(sim.network().topology().hosts) {}

sim::Intake HostModel::operator()(sim::QpId to, const transport::TxDesc& d) {
  using transport::Access;
  Host& host = hosts_[sim_.host_of(to)];
  const auto flow = static_cast<sim::FlowId>(((d.va ^ sim::kTargetBit) >> sim::kFlowShift) - 1);
  if (flow >= sim_.flows().size()) return {};  // an address of nobody: the simulation judges that
  sim::Intake answer;
  if (to == limits_.failing_qp && ++seen_ > limits_.fails_after) return {Access::kUnexpEvent, {}, false};
  if (flow == limits_.denied_message) return {Access::kDenied, {}, false};
  answer.fails = flow == limits_.unplaced_message;
  const bool next = d.psn == sim_.qp(to).cack_psn() + 1;
  if (limits_.contexts != 0 && !has_context(host, flow, next)) return {Access::kNoResource, {}, false};
  if (limits_.memory_bps == 0) return answer;

  // A duplicate takes its turn on the bus as well: it is recognised behind it.
  const Time now = sim_.now();
  const Time start = bus_start(later(host.bus_free, now));
  const auto waiting = static_cast<std::uint64_t>((start - now).ns) * limits_.memory_bps / 8'000'000'000ULL;
  if (limits_.buffer_bytes != 0 && waiting + d.payload_bytes > limits_.buffer_bytes)
    return {Access::kNoPktBuffer, {}, false};
  const auto takes = static_cast<std::int64_t>(d.payload_bytes * 8'000'000'000ULL / limits_.memory_bps);
  host.bus_free = start + nanoseconds(takes + 1);
  answer.to_memory = host.bus_free - now;
  return answer;
}

// Held from the first packet that comes until all of the message is in memory. One is always kept for the
// message with the packet that must come next: those behind it may need the window to move before they end.
bool HostModel::has_context(Host& host, sim::FlowId flow, bool next) {
  const auto done = [&](sim::FlowId f) {
    const sim::Flow& it = sim_.flows()[f];
    return !it.received.is_never() || !it.completed.is_never();
  };
  if (host.open.count(flow) != 0 || done(flow)) return true;
  std::erase_if(host.open, done);
  if (host.open.size() >= limits_.contexts && !next) return false;
  host.open.insert(flow);
  return true;
}

Time HostModel::bus_start(Time from) const {
  if (limits_.stall_every.ns == 0) return from;
  const std::int64_t into = (from - Time{}).ns % limits_.stall_every.ns;
  return into < limits_.stall.ns ? from + nanoseconds(limits_.stall.ns - into) : from;
}

}  // namespace mrc::fault
