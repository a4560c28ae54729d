// SPDX-License-Identifier: BSD-3-Clause
#include "fabric/link.h"

#include <cassert>

namespace mrc::fabric {

namespace {
constexpr std::uint64_t kFsPerNs = 1'000'000;
}

Link::Link(const LinkSpec& spec, std::uint64_t seed)
    : from(spec.from), to(spec.to), config(spec.port), plane(spec.plane), rng(seed) {
  refresh();
}

void Link::refresh() {
  fs_per_byte_ = config.rate_bps == 0 ? 0 : 8 * 1'000'000'000'000'000ULL / config.rate_bps;
  has_faults_ = faults_.any();
  immediate_ = config.rate_bps == 0 && config.delay.ns == 0 && config.jitter.ns == 0 && !has_faults_;
}

void Link::set_rate(std::uint64_t rate_bps) {
  config.rate_bps = rate_bps;
  refresh();
}
void Link::set_delay(Duration delay) {
  assert(delay.ns >= 0);
  config.delay = delay;
  refresh();
}
void Link::set_jitter(Duration jitter) {
  assert(jitter.ns >= 0);
  config.jitter = jitter;
  refresh();
}
void Link::set_faults(const LinkFaults& f) {
  faults_ = f;
  refresh();
}

void Link::start_service(const Packet& packet, std::uint32_t slot, Time now) {
  assert(now >= busy_until && !service_pending);
  const std::uint64_t fs = packet.size_bytes * fs_per_byte_ + carry_fs_;
  carry_fs_ = fs % kFsPerNs;
  busy_until = now + nanoseconds(static_cast<std::int64_t>(fs / kFsPerNs));
  serving = slot;
  serving_bytes = packet.size_bytes;
  serving_control = is_control_class(config, packet.dscp);
}

void Link::stop_service(Time now) {
  assert(queue.empty() && wire.empty());
  serving = kNil;
  service_pending = false;
  busy_until = earlier(busy_until, now);
  last_arrival_ = now;
}

Time Link::arrival_after(Time departure) {
  Time at = departure + config.delay;
  if (config.jitter.ns > 0) {
    at = at +
         nanoseconds(static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(config.jitter.ns) + 1)));
  }
  // A wire is a FIFO: a shorter delay set at run time, or less jitter, overtakes nothing.
  last_arrival_ = later(at, last_arrival_);
  return last_arrival_;
}

}  // namespace mrc::fabric
