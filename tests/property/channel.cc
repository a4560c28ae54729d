// SPDX-License-Identifier: BSD-3-Clause
#include "channel.h"

#include <algorithm>
#include <array>

#include "codec.h"
#include "violation.h"

namespace mrc::property {

Channel::Channel(const Scenario& scenario) : s_(scenario), rng_(Rng(scenario.seed).fork(0xC4A)) {
  for (auto& last : last_on_ev_) last.assign(s_.evs, Time{0});
}

bool Channel::is_dead(const Packet& p, Duration t) const {
  if (s_.kind == Kind::kDeadChannel && t >= s_.death &&
      (s_.dead_direction < 0 || s_.dead_direction == p.from))
    return true;
  if (!faults_at(t)) return false;
  return std::any_of(s_.outages.begin(), s_.outages.end(), [&](const Outage& o) {
    return (o.direction < 0 || o.direction == p.from) && o.plane == p.meta.port &&
           (o.ev < 0 || o.ev == p.ev) && t >= o.from && t < o.to;
  });
}

void Channel::send(Packet packet, Time now) {
  ++counters_.sent;
  const Duration t = now - s_.start;
  const Link& link = s_.link[packet.from][packet.meta.port];
  const bool faults = faults_at(t);
  if (is_dead(packet, t)) {
    ++counters_.lost;
    return;
  }
  if (faults) {
    if (packet.is_data() ? rng_.chance(link.loss) : rng_.chance(link.control_loss)) {
      ++counters_.lost;
      return;
    }
    if (rng_.chance(link.corrupt)) corrupt(packet);
    if (packet.corrupted && packet.bytes.empty()) {  // a bad ICRC is a drop at the receiver
      ++counters_.corrupted;
      return;
    }
    if (packet.is_data() && rng_.chance(link.mark)) {
      packet.meta.ce = true;
      if (!packet.bytes.empty() && !packet.corrupted) Codec::mark_ce(packet.bytes);
      ++counters_.marked;
    }
    if (packet.is_write() && !packet.corrupted && lose_write(packet, link, now)) return;
    if (rng_.chance(packet.is_data() ? link.duplicate : link.control_duplicate)) {
      ++counters_.duplicated;
      schedule(packet, now + draw_delay(packet, link, faults));
    }
  }
  const Duration delay = draw_delay(packet, link, faults);
  schedule(std::move(packet), now + delay);
}

/// Trims, or refuses for lack of resources; true when the packet is gone.
bool Channel::lose_write(Packet& p, const Link& link, Time now) {
  const bool trimmable = p.dscp == wire::DscpClass::kTrimmable || p.dscp == wire::DscpClass::kTrimmableRetx;
  if (trimmable && rng_.chance(link.trim)) {
    trim(p, wire::Trim::kTrimmed);
  } else if (trimmable && rng_.chance(link.trim_lasthop)) {
    trim(p, wire::Trim::kTrimmedLasthop);
  } else if (rng_.chance(link.resource_nack) &&
             resource_nacks_[p.from][std::get<wire::WriteView>(p.view).bth.psn.value()]++ == 0) {
    inject_resource_nack(p, now);
    ++counters_.lost;
    return true;
  }
  return false;
}

void Channel::corrupt(Packet& p) {
  p.corrupted = true;
  if (p.bytes.empty()) return;
  // behind the IPv4 header: its own checksum guards that, and the ICRC masks parts of it. The UDP checksum
  // and BTH byte 4 are masked as well.
  constexpr std::size_t kUdp = 14 + 20, kChecksum = kUdp + 6, kVariant = kUdp + 8 + 4;
  const std::vector<std::uint8_t> sent = p.bytes;
  for (std::uint64_t flips = rng_.between(1, 4); flips > 0 || p.bytes == sent;) {
    const auto at = static_cast<std::size_t>(rng_.between(kUdp, p.bytes.size() - 1));
    if (at == kChecksum || at == kChecksum + 1 || at == kVariant) continue;
    p.bytes[at] = static_cast<std::uint8_t>(p.bytes[at] ^ (1U << rng_.below(8)));
    if (flips > 0) --flips;
  }
}

void Channel::trim(Packet& p, wire::Trim how) {
  const auto& write = std::get<wire::WriteView>(p.view);
  const wire::TrimmedView left{write.bth, rng_.chance(0.9) ? write.tx_timestamp : Tick{0}};  // C26
  p.view = left;
  p.meta.trim = how;
  p.payload.clear();
  p.bytes.clear();
  ++counters_.trimmed;
}

void Channel::inject_resource_nack(const Packet& p, Time now) {
  static constexpr std::array kReasons = {wire::NackReason::kNoBitmap, wire::NackReason::kNoPktBuffer,
                                          wire::NackReason::kNoResource, static_cast<wire::NackReason>(0x55)};
  const auto& write = std::get<wire::WriteView>(p.view);
  wire::NackView nack;
  nack.reason = kReasons[rng_.below(kReasons.size())];
  nack.entropy = p.meta.entropy;
  nack.nack_psn = write.bth.psn;
  nack.tx_timestamp = write.tx_timestamp;
  Packet back;
  back.view = nack;
  back.from = 1 - p.from;
  back.meta.port = p.meta.port;
  back.sent = now;
  ++counters_.injected;
  const Duration there = draw_delay(p, s_.link[p.from][p.meta.port], true);
  const Duration and_back = draw_delay(back, s_.link[back.from][p.meta.port], true);
  schedule(std::move(back), now + there + and_back);
}

Duration Channel::draw_delay(const Packet& p, const Link& link, bool faults) {
  Duration delay = link.delay;
  if (link.jitter.ns > 0) delay += Duration{static_cast<std::int64_t>(rng_.below(link.jitter.ns + 1))};
  if (faults && rng_.chance(p.is_data() ? link.straggle : link.control_straggle))
    delay += Duration{static_cast<std::int64_t>(rng_.below(s_.policy.base_rtt.ns * 20))};
  return delay;
}

void Channel::schedule(Packet packet, Time at) {
  if (packet.is_data() && packet.ev != path::kNoEv && s_.link[packet.from][packet.meta.port].fifo_per_ev) {
    Time& last = last_on_ev_[packet.from][packet.ev];
    last = at = later(at, last);
  }
  std::size_t slot = slots_.size();
  if (free_.empty()) {
    slots_.push_back(std::move(packet));
  } else {
    slot = free_.back();
    free_.pop_back();
    slots_[slot] = std::move(packet);
  }
  queue_.push({at, order_++, slot});
}

std::optional<Packet> Channel::take(Time now) {
  if (queue_.empty() || queue_.top().at > now) return std::nullopt;
  const Entry entry = queue_.top();
  queue_.pop();
  free_.push_back(entry.slot);
  ++counters_.delivered;
  Packet packet = std::move(slots_[entry.slot]);
  packet.meta.arrival = entry.at;
  return packet;
}

void Channel::check_conservation() const {
  const std::uint64_t in = counters_.sent + counters_.injected + counters_.duplicated;
  const std::uint64_t out = counters_.delivered + counters_.lost + counters_.corrupted + queue_.size();
  if (in != out) violate("channel", in, " packets went in, ", out, " came out or are under way");
}

}  // namespace mrc::property
