// SPDX-License-Identifier: BSD-3-Clause
#include "sim/fault_log.h"

#include <algorithm>

namespace mrc::sim {

FaultId FaultCauses::of(const fabric::Outcome& o) const {
  using fabric::DropReason;
  std::uint64_t where = 0;
  Time when = o.at;
  if (o.delivered()) {
    if (!o.packet.corrupted) return kNoFault;
    where = key(LossCause::kCorrupt, o.corrupted_at);
    when = o.corrupted_when;
  } else if (o.reason == DropReason::kLinkDown) {
    where = key(LossCause::kDown, o.link);
  } else if (o.reason == DropReason::kRandomLoss) {
    where = key(LossCause::kLoss, o.link);
  } else if (o.reason == DropReason::kBlackHole) {
    where = key(LossCause::kBlackHole, o.link);
  } else if (o.reason == DropReason::kEvLoss) {
    where = ev_key(o.packet.plane, o.packet.sport, o.packet.label);
  } else {
    return kNoFault;
  }
  const auto found = steps_.find(where);
  if (found == steps_.end()) return kNoFault;
  const std::vector<Step>& steps = found->second;
  const auto after =
      std::upper_bound(steps.begin(), steps.end(), when, [](Time t, const Step& s) { return t < s.at; });
  return after == steps.begin() ? kNoFault : std::prev(after)->fault;
}

FaultId FaultLog::add(Time at) {
  records_.push_back({});
  records_.back().at = at;
  return static_cast<FaultId>(records_.size() - 1);
}

void FaultLog::lost_data(FaultId fault, Time sent, std::uint64_t key, bool received_already) {
  if (fault == kNoFault) return;
  FaultRecord& r = records_[fault];
  ++r.lost_data;
  r.last_sent_into = later(r.last_sent_into, sent);
  if (received_already) return;
  const auto [from, to] = missing_.equal_range(key);
  if (std::any_of(from, to, [&](const auto& known) { return known.second == fault; })) return;
  missing_.emplace(key, fault);
  ++r.open;
}

void FaultLog::repair(Time now, std::uint64_t key) {
  const auto [from, to] = missing_.equal_range(key);
  for (auto it = from; it != to; ++it) {
    records_[it->second].last_repair = now;
    --records_[it->second].open;
  }
  missing_.erase(from, to);
}

}  // namespace mrc::sim
