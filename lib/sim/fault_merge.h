// SPDX-License-Identifier: BSD-3-Clause
// Several faults on one link: what the link is like while they last together, and again when some have ended.
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "fabric/change.h"
#include "fabric/topology.h"
#include "sim/fault_log.h"
#include "sim/scenario.h"

namespace mrc::sim {

/// One fault at one place, in [begin, end).
struct FaultSpan {
  Time begin;
  Time end;  ///< never(): for ever
  FaultId fault = kNoFault;
  FaultKind kind = FaultKind::kDown;
  double probability = 0;
  double fraction = 1;
  Duration delay{};
};

/// Together: a link is down while any of them wants it down; probabilities join as independent events; a slow
/// link keeps the product of the fractions; of delays the longest holds. The strongest answers for a loss, of
/// equals the first. When all have ended the link is as it was built.
class FaultMerge {
 public:
  explicit FaultMerge(const fabric::Topology& topology) : topology_(topology) {}

  void on_link(fabric::LinkId id, const FaultSpan& span) { add(links_[id], span); }
  /// A black hole; everything else happens to links.
  void on_switch(fabric::SwitchId id, const FaultSpan& span) { add(switches_[id], span); }
  /// Loss of one EV; the rule's probability is the span's.
  void on_ev(const fabric::EvRule& rule, const FaultSpan& span) {
    add(evs_[{rule.plane, rule.sport, rule.label}], span);
  }
  /// Spans added so far, over all places.
  [[nodiscard]] std::size_t size() const { return size_; }
  /// The most EV rules in force at one time.
  [[nodiscard]] std::size_t most_ev_rules() const;

  /// The changes, place by place and each in order of time; and who answers for what, from when on.
  std::vector<fabric::ScheduledChange> schedule(FaultCauses& causes) const;

 private:
  using Spans = std::vector<FaultSpan>;
  using EvKey = std::tuple<std::uint8_t, std::uint16_t, std::uint16_t>;

  void add(Spans& spans, const FaultSpan& span) {
    spans.push_back(span);
    ++size_;
  }
  void schedule_link(fabric::LinkId id, const Spans& spans, std::vector<fabric::ScheduledChange>& out,
                     FaultCauses& causes) const;
  void schedule_switch(fabric::SwitchId id, const Spans& spans, std::vector<fabric::ScheduledChange>& out,
                       FaultCauses& causes) const;
  static void schedule_ev(const EvKey& key, const Spans& spans, std::vector<fabric::ScheduledChange>& out,
                          FaultCauses& causes);

  const fabric::Topology& topology_;
  std::map<fabric::LinkId, Spans> links_;
  std::map<fabric::SwitchId, Spans> switches_;
  std::map<EvKey, Spans> evs_;
  std::size_t size_ = 0;
};

}  // namespace mrc::sim
