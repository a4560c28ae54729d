// SPDX-License-Identifier: BSD-3-Clause
// What both halves of a QP share: identity, attributes, policy, paths, congestion control, counters.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "base/seeded_defect.h"
#include "cc/qpcc.h"
#include "path/ev_set.h"
#include "transport/qp_attr.h"
#include "transport/retry_clock.h"
#include "transport/types.h"

namespace mrc::transport {

struct QpContext {
  QpContext(std::uint32_t number, const QpLimits& sizes, const QpPolicy& choices,
            std::shared_ptr<const path::EvTable> table, cc::Qpcc& controller, std::uint64_t seed)
      : qpn(number),
        limits(sizes),
        policy(choices),
        cc(controller),
        evs(std::move(table)),
        ev_set(evs, ev_config(), seed) {}

  /// One base RTT paces everything.
  [[nodiscard]] path::EvSetConfig ev_config() const {
    path::EvSetConfig config = policy.ev;
    config.base_rtt = policy.base_rtt;
    return config;
  }

  /// Own number first, the peer's second (C10).
  [[nodiscard]] std::uint16_t spdcid() const { return static_cast<std::uint16_t>(qpn); }
  [[nodiscard]] std::uint16_t dpdcid() const { return static_cast<std::uint16_t>(attr.dest_qpn); }
  [[nodiscard]] bool can_receive() const { return state == QpState::kRtr || state == QpState::kRts; }

  std::uint32_t qpn;
  QpState state = QpState::kReset;
  QpLimits limits;
  QpPolicy policy;
  QpAttr attr;
  RetryClock retry;
  cc::Qpcc& cc;
  std::shared_ptr<const path::EvTable> evs;
  path::EvSet ev_set;
  QpCounters counters;
};

}  // namespace mrc::transport
