// SPDX-License-Identifier: BSD-3-Clause
// Responder flow control (6.5): the Nic hears how much of what arrived the application has not looked at yet.
#pragma once

#include <vector>

#include "base/time.h"
#include "nic/nic.h"
#include "phase_runner.h"
#include "qp_set.h"

namespace mrc::endpoint {

/// Thread rule: the control thread of the Nic. For QPs with QpPolicy::receive_penalty.
class ReceiveOccupancy {
 public:
  /// Both outlive it.
  ReceiveOccupancy(nic::Nic& nic, const QpSet& qps) : nic_(nic), qps_(qps), told_(qps.size(), 0) {}

  /// Called often; says news in steps of some percent, as each is a word to a worker.
  void tell(const PhaseRunner& phase, Time now);

 private:
  nic::Nic& nic_;
  const QpSet& qps_;
  std::vector<unsigned> told_;  // percent, by QP
  Time next_;
};

}  // namespace mrc::endpoint
