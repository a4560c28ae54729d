// SPDX-License-Identifier: BSD-3-Clause
// A fabric with a virtual clock: inject, run, look at what came out.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "fabric/fabric.h"

namespace mrc::fabric::test {

inline Topology checked(Result<Topology> t) {
  if (!t) ADD_FAILURE() << t.error().message;
  return t ? *std::move(t) : Topology{};
}

inline std::unique_ptr<Fabric> make_fabric(Topology topology, FabricConfig config = {}) {
  auto f = Fabric::create(std::move(topology), std::move(config));
  if (!f) ADD_FAILURE() << f.error().message;
  return f ? *std::move(f) : nullptr;
}

inline Packet data(std::uint64_t handle, HostId to, std::uint16_t sport, std::uint32_t bytes = 4150) {
  Packet p;
  p.handle = handle;
  p.size_bytes = bytes;
  p.dst_host = to;
  p.sport = sport;
  p.kind = Kind::kData;
  p.dscp = wire::DscpClass::kTrimmable;
  p.ect = true;
  p.psn = static_cast<std::uint32_t>(handle);
  return p;
}

inline Packet control(std::uint64_t handle, HostId to, std::uint16_t sport) {
  Packet p = data(handle, to, sport, 64);
  p.kind = Kind::kControl;
  p.dscp = wire::DscpClass::kControl;
  return p;
}

/// Everything that happens until `until`, in order, a few outcomes at a time.
inline std::vector<Outcome> run(Fabric& f, Time until) {
  std::vector<Outcome> all;
  Outcome burst[3];
  for (std::size_t n = 1; n > 0;) {
    n = f.advance(until, burst);
    all.insert(all.end(), burst, burst + n);
  }
  EXPECT_TRUE(f.conserves());
  return all;
}

inline std::vector<Outcome> run_out(Fabric& f) {
  return run(f, Time{Time::never().ns - 1});
}

inline Change on(Action action, Scope scope, std::uint32_t id) {
  Change c;
  c.action = action;
  c.target = {scope, id};
  return c;
}

constexpr std::uint64_t kGbps = 1'000'000'000;

}  // namespace mrc::fabric::test
