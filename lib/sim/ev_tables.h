// SPDX-License-Identifier: BSD-3-Clause
// The EVs of a scenario in each format: ECMP entropy, structured, SRv6 templates.
#pragma once

#include <map>
#include <memory>
#include <utility>

#include "base/result.h"
#include "fabric/topology.h"
#include "path/ev_table.h"
#include "sim/scenario.h"

namespace mrc::sim {

/// UDP and STEV values lead anywhere, so that one table serves all. SRv6 values name every switch on the way
/// and the host: a table for each rack and destination. Topologies given are always the same one.
class EvTables {
 public:
  explicit EvTables(const Scenario& scenario) : scenario_(scenario) {}

  /// What QPs of `src` to `dst` have. EV i is on plane i % planes, and takes way i / planes through it.
  Result<std::shared_ptr<const path::EvTable>> between(const fabric::Topology& topology, fabric::HostId src,
                                                       fabric::HostId dst);

 private:
  Result<path::EvValue> value_of(const fabric::Topology& topology, fabric::HostId src, fabric::HostId dst,
                                 std::uint32_t ev) const;
  Result<path::EvValue> template_of(const fabric::Topology& topology, fabric::HostId src, fabric::HostId dst,
                                    std::uint32_t plane, std::uint32_t way) const;

  const Scenario& scenario_;
  std::map<std::pair<std::uint32_t, fabric::HostId>, std::shared_ptr<const path::EvTable>> tables_;
};

}  // namespace mrc::sim
