// SPDX-License-Identifier: BSD-3-Clause
#include "fabric/output_queue.h"

#include <algorithm>

namespace mrc::fabric {

namespace {

bool is_trimmable(const Packet& p) {
  return p.dscp == wire::DscpClass::kTrimmable || p.dscp == wire::DscpClass::kTrimmableRetx;
}

/// 1.14: the cut never lengthens; a packet below the trim size still gets the class.
void trim(Packet& p, const TrimConfig& config, bool last_hop) {
  p.size_bytes = std::min(p.size_bytes, config.size_bytes);
  p.dscp = last_hop && config.last_hop_class ? wire::DscpClass::kTrimmedLasthop : wire::DscpClass::kTrimmed;
}

}  // namespace

bool ecn_marks(const EcnConfig& ecn, std::uint64_t left_behind_bytes, Rng& rng) {
  if (!ecn.enabled || left_behind_bytes <= ecn.min_bytes) return false;
  if (left_behind_bytes >= ecn.max_bytes) return true;
  const double span = static_cast<double>(ecn.max_bytes - ecn.min_bytes);
  const double above = static_cast<double>(left_behind_bytes - ecn.min_bytes);
  return rng.chance(ecn.max_probability * above / span);
}

Admission OutputQueue::admit(PacketPool& pool, const PortConfig& config, bool last_hop, std::uint32_t slot,
                             std::uint32_t serving_data_bytes, std::uint32_t serving_control_bytes,
                             Rng& rng) {
  const Packet& p = pool[slot].packet;
  if (is_control_class(config, p.dscp)) return admit_control(pool, config, slot, serving_control_bytes);
  const std::uint64_t wanted = bytes_[kData] + serving_data_bytes + p.size_bytes;
  if (config.data_queue_bytes == 0 || wanted <= config.data_queue_bytes) {
    push(pool, slot, kData);
    return {};
  }
  if (!config.trim.enabled || !is_trimmable(p)) return {DropReason::kQueueFull};
  const bool swapped = swap_with_last(pool, config, slot, rng);
  trim(pool[slot].packet, config.trim, last_hop);
  Admission a = admit_control(pool, config, slot, serving_control_bytes);
  a.trimmed = true;
  a.swapped = swapped;
  return a;
}

bool OutputQueue::swap_with_last(PacketPool& pool, const PortConfig& config, std::uint32_t slot, Rng& rng) {
  const std::uint32_t last = lists_[kData].tail;
  if (!config.trim.fair_coin || last == kNil || !is_trimmable(pool[last].packet) || rng.below(2) == 0) {
    return false;
  }
  // The arriving packet takes the place of the last one queued, which is trimmed in its stead.
  bytes_[kData] += pool[slot].packet.size_bytes;
  bytes_[kData] -= pool[last].packet.size_bytes;
  pool.swap_contents(slot, last);
  return true;
}

Admission OutputQueue::admit_control(PacketPool& pool, const PortConfig& config, std::uint32_t slot,
                                     std::uint32_t serving_bytes) {
  const std::uint64_t wanted = bytes_[kControl] + serving_bytes + pool[slot].packet.size_bytes;
  if (config.control_queue_bytes != 0 && wanted > config.control_queue_bytes) {
    return {DropReason::kControlQueueFull};
  }
  push(pool, slot, kControl);
  return {};
}

void OutputQueue::push(PacketPool& pool, std::uint32_t slot, std::uint8_t which) {
  bytes_[which] += pool[slot].packet.size_bytes;
  pool.append(lists_[which], slot);
}

std::uint32_t OutputQueue::pop(PacketPool& pool) {
  const std::uint8_t which = lists_[kControl].empty() ? kData : kControl;
  const std::uint32_t slot = pool.pop(lists_[which]);
  assert(bytes_[which] >= pool[slot].packet.size_bytes);
  bytes_[which] -= pool[slot].packet.size_bytes;
  return slot;
}

}  // namespace mrc::fabric
