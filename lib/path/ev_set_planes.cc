// SPDX-License-Identifier: BSD-3-Clause
// Planes in and out of service (D9): a link that is down here, a port that the peer calls down, and a plane
// that fell silent.
#include <algorithm>
#include <cassert>

#include "base/seeded_defect.h"
#include "path/ev_set.h"

namespace mrc::path {
namespace {

constexpr std::int64_t kSilenceRtts = 2;  // the losses that condemn a plane left within so many base RTTs

}  // namespace

std::uint32_t EvSet::populated() const {
  std::uint32_t mask = 0;
  for (std::size_t p = 0; p < planes_.size(); ++p)
    if (planes_[p].size != 0) mask |= 1U << p;
  return mask;
}

// Never the last one: a peer that we hear can be reached somehow.
std::uint32_t EvSet::reachable() const {
  const std::uint32_t links = port_up_ & ((1U << table_->planes()) - 1U);
  if (seeded_defect(Defect::kIgnorePeerPorts)) return port_up_;
  return (links & peer_up_) != 0 ? port_up_ & peer_up_ : port_up_;
}

void EvSet::refresh_usable() {
  in_service_ = reachable() & ~(seeded_defect(Defect::kDataOnSilentPlane) ? 0U : silent_);
  usable_planes_ = populated() & in_service_;
}

void EvSet::set_port_usable(std::uint8_t port, bool usable) {
  assert(port < kMaxPlanes);
  const std::uint32_t bit = 1U << port;
  port_up_ = usable ? port_up_ | bit : port_up_ & ~bit;
  probe_deadline_stale_ = true;
  refresh_usable();
}

std::uint32_t EvSet::set_peer_ports(std::uint32_t up_mask) {
  const std::uint32_t before = in_service_ & ((1U << table_->planes()) - 1U);
  peer_up_ = up_mask;
  probe_deadline_stale_ = true;
  refresh_usable();
  return before & ~in_service_;
}

// `ev` was condemned by the loss of a packet that left at `sent`. When the newest three of its plane left
// close together and nothing that left later is known delivered, it is not the EVs but the plane. Returns
// when the first of them left; never(): the plane stays.
Time EvSet::judge_plane(EvIndex ev, Time sent, Time now) {
  if (!config_.plane_rule) return Time::never();
  const std::uint8_t port = (*table_)[ev].port;
  const std::uint32_t bit = 1U << port;
  PlaneHealth& plane = plane_health_[port];
  auto& newest = plane.silences;
  forget_silence(ev);
  if (sent <= newest[0].sent) return Time::never();
  newest[0] = {sent, ev};
  std::sort(newest.begin(), newest.end(), [](const auto& a, const auto& b) { return a.sent < b.sent; });

  const EvIndex proven = newest_[port];
  const auto& oldest = newest[seeded_defect(Defect::kHastyPlane) ? 1 : 0];
  const Time first = oldest.sent;
  if (oldest.ev == kNoEv || newest[kVerdicts - 1].sent - first > config_.base_rtt * kSilenceRtts ||
      (proven != kNoEv && proof_[proven] >= first))
    return Time::never();
  const bool others = (populated() & in_service_ & ~bit) != 0 || seeded_defect(Defect::kDownLastPlane);
  if ((in_service_ & bit) == 0 || !others) return Time::never();
  silent_ |= bit;
  plane.first_lost = first;
  plane.probe_due = now;
  plane.probes = 0;
  plane.next_ev = ev;
  plane.next_proven = proven == kNoEv ? ev : proven;
  probe_deadline_stale_ = true;
  ++counters_.planes_down;
  refresh_usable();
  return first;
}

void EvSet::forget_silence(EvIndex ev) {
  auto& newest = plane_health_[(*table_)[ev].port].silences;
  for (auto at = newest.begin(); at != newest.end(); ++at) {
    if (at->ev != ev) continue;
    std::move_backward(newest.begin(), at, at + 1);
    newest[0] = {};
    return;
  }
}

// Something that left after the plane fell silent arrived: UP. The EV it came over returns with this answer
// (on_probe_answer), the others are probed at one a base RTT.
void EvSet::proof_on_silent_plane(EvIndex ev, Time sent, Time now) {
  const std::uint8_t port = (*table_)[ev].port;
  PlaneHealth& plane = plane_health_[port];
  if (sent <= plane.first_lost) return;
  silent_ &= ~(1U << port);
  plane.silences = {};
  ++counters_.planes_up;
  health_[ev].successes_left = 1;
  for (const EvIndex bad : bad_) {
    if ((*table_)[bad].port != port) continue;
    health_[bad].probe_due = now;
    health_[bad].probes = 1;  // not an immediate one: they keep their distance
  }
  probe_deadline_stale_ = true;
  refresh_usable();
}

}  // namespace mrc::path
