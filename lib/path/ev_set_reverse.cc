// SPDX-License-Identifier: BSD-3-Clause
// The reverse EVs: one a plane, for control packets (C30, D19).
#include <cassert>

#include "path/ev_set.h"

namespace mrc::path {

// Of each of `planes` its reverse EV, of these the one with the newest proof. Every plane has EVs in
// rotation.
EvIndex EvSet::reverse_ev(std::uint32_t planes) const {
  EvIndex best = kNoEv;
  for (; planes != 0; planes &= planes - 1) {
    const auto port = static_cast<std::size_t>(__builtin_ctz(planes));
    const Reverse& replaced = reverse_[port];
    EvIndex ev = newest_proof_on(port, kNoEv);
    const bool counts = ev != kNoEv && proof_[ev] > replaced.void_until;
    if (!counts && replaced.ev != kNoEv && listed(replaced.ev)) ev = replaced.ev;
    if (ev == kNoEv) ev = list_[planes_[port].begin];
    if (best == kNoEv || proof_[ev] > proof_[best]) best = ev;
  }
  return best;
}

EvChoice EvSet::choose_for_control(std::uint32_t free_ports, std::uint8_t port) const {
  const std::uint32_t wanted = 1U << port;
  for (const std::uint32_t planes :
       {usable_planes_ & free_ports & wanted, usable_planes_ & free_ports & ~wanted}) {
    if (planes == 0) continue;
    const EvIndex ev = reverse_ev(planes);
    return {ev, (*table_)[ev].port, false};
  }
  // An answer is worth sending even over a doubtful path: silence would condemn the peer's paths too.
  for (const std::uint32_t planes : {free_ports & port_up_ & wanted, free_ports & port_up_ & ~wanted}) {
    EvIndex ev = reverse_ev(planes & populated());
    if (ev == kNoEv || proof_[ev] == Time{}) {
      if (const EvIndex bad = oldest_verdict(planes, kNoEv); bad != kNoEv) ev = bad;
    }
    if (ev != kNoEv) return {ev, (*table_)[ev].port, true};
  }
  return {};
}

EvIndex EvSet::next_in_rotation(EvIndex ev) const {
  const std::uint8_t port = (*table_)[ev].port;
  EvIndex next = ev;
  do {
    next = static_cast<EvIndex>(next + 1U == table_->size() ? 0U : next + 1U);
  } while (next != ev && ((*table_)[next].port != port || !listed(next)));
  return next;
}

// In table order, so that one that failed is not met again before all others of its plane.
void EvSet::replace_reverse(std::uint8_t port, Time now) {
  assert(port < kMaxPlanes);
  if (planes_[port].size == 0) return;
  const EvIndex failed = reverse_ev(1U << port);
  const EvIndex next = next_in_rotation(failed);
  reverse_[port] = {now, next};
  counters_.reverse_replaced += next != failed ? 1 : 0;
}

}  // namespace mrc::path
