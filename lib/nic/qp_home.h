// SPDX-License-Identifier: BSD-3-Clause
// A QP where it lives: its number, its state machine, and what its worker knows of it.
#pragma once

#include <array>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "nic/app_queue.h"
#include "nic/nic.h"
#include "nic/slot_ring.h"
#include "nic/stats.h"
#include "transport/qp.h"
#include "wire/frame.h"
#include "wire/header_template.h"

namespace mrc::nic {

// QPN = worker (4 bits) | slot (14 bits) | generation (6 bits). Slot 0 stays unused: QPNs 0..2 are reserved.
inline constexpr unsigned kGenerationBits = 6;
inline constexpr unsigned kSlotBits = 14;
constexpr std::uint32_t make_qpn(unsigned worker, std::uint32_t slot, std::uint32_t generation) {
  return worker << (kSlotBits + kGenerationBits) | slot << kGenerationBits |
         (generation & ((1U << kGenerationBits) - 1));
}
constexpr unsigned worker_of(std::uint32_t qpn) {
  return qpn >> (kSlotBits + kGenerationBits);
}
constexpr std::uint32_t slot_of(std::uint32_t qpn) {
  return (qpn >> kGenerationBits) & ((1U << kSlotBits) - 1);
}

/// QPs of one worker that share a congestion controller. What one gives back another may use, so those that
/// wait for the window queue here, first come first served (D7).
struct CcGroup {
  const cc::Qpcc* cc = nullptr;
  std::uint32_t members = 0;
  SlotRing blocked;
};

/// The addresses of a peer, by plane.
using PeerIps = std::array<IpAddress, kMaxPlanes>;

/// Constant lengths: two loads and a compare, no call.
inline bool same_ip(const IpAddress& ip, bool v6, const std::uint8_t* wanted) {
  if (ip.v6 != v6) return false;
  return v6 ? std::memcmp(ip.bytes.data(), wanted, 16) == 0 : std::memcmp(ip.bytes.data(), wanted, 4) == 0;
}
inline bool is_from(const IpAddress& ip, std::span<const std::uint8_t> frame, const wire::FrameView& f) {
  return same_ip(ip, f.ipv6, frame.data() + f.ip_offset + (f.ipv6 ? 8 : 12));
}

/// A QP where it lives: the state machine and what its host knows of it.
struct QpHome {
  QpHome(std::uint32_t number, const QpParams& params, std::shared_ptr<cc::Qpcc> controller,
         std::uint64_t seed)
      : qpn(number),
        app(params.app),
        base_rtt(params.policy.base_rtt),
        cc(std::move(controller)),
        evs(params.evs),
        qp(number, params.limits, params.policy, evs, *cc, seed),
        ev_stats(evs->size()) {}

  const std::uint32_t qpn;
  bool dirty = false;          ///< on the worker's dirty list: wake() is to be read
  bool in_ready = false;       ///< on the ready ring: may have data to send
  bool in_control = false;     ///< on the control list
  bool in_completion = false;  ///< on the completion list (app queue only)
  bool in_blocked = false;     ///< waits in its group for the window
  AppQueue* const app;
  const Duration base_rtt;
  std::uint32_t dest_qpn = 0;
  const std::shared_ptr<cc::Qpcc> cc;
  CcGroup* group = nullptr;  ///< null: the controller is ours alone
  const std::shared_ptr<const path::EvTable> evs;
  transport::Qp qp;
  std::vector<EvStats> ev_stats;                ///< by EV index
  std::vector<wire::HeaderTemplate> templates;  ///< by plane; empty until the peer's address is set
  PeerIps peer_ips{};                           ///< all zero until it is set
};

}  // namespace mrc::nic
