// SPDX-License-Identifier: BSD-3-Clause
// Private to the control calls: which worker, and what is said when there is none.
#pragma once

#include <string>

#include "nic/core.h"

namespace mrc::nic {

inline Time time_of(const WorkerCore& w) {
  return w.now.ns != 0 ? w.now : w.nic.clock.now();
}

inline Error no_worker(const NicCore& nic, unsigned worker) {
  return Error{"worker " + std::to_string(worker) + " does not exist; there are " +
               std::to_string(nic.workers.size())};
}
inline Error no_qp(std::uint32_t qpn) {
  return Error{"QP " + std::to_string(qpn) + " does not exist (never created, or destroyed since)"};
}

inline WorkerCore* owner_of(NicCore& nic, std::uint32_t qpn) {
  const unsigned worker = worker_of(qpn);
  return worker < nic.workers.size() ? nic.workers[worker].get() : nullptr;
}
/// Slots change in control calls only, so one may look at them while the worker runs.
inline QpHome* home_of(WorkerCore* w, std::uint32_t qpn) {
  return w == nullptr ? nullptr : w->find(qpn);
}

}  // namespace mrc::nic
