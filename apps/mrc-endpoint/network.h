// SPDX-License-Identifier: BSD-3-Clause
// From a configuration to running ports: EAL, virtual devices or physical ones, the virtual fabric or rings,
// and one or two Nics on them. Everything that knows a profile's peculiarities is here.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "config/endpoint_config.h"
#include "fabric/fabric.h"
#include "nic/config.h"

namespace mrc::endpoint {

enum class Ends : std::uint8_t { kServe, kRun, kBoth };

/// Thread rule: made and destroyed on the set-up thread; pump() on one thread.
class Network {
 public:
  /// `configs`: one an end (two for kBoth), addresses filled in. Starts EAL: once a process.
  static Result<std::unique_ptr<Network>> create(Ends ends,
                                                 const std::vector<config::EndpointConfig>& configs);
  ~Network();
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  /// What Nic::create needs, for end 0 or 1.
  [[nodiscard]] const nic::NicConfig& nic_config(std::size_t end) const;
  /// Payload of a packet that all planes carry: qp.mtu, or what stands for `auto`.
  [[nodiscard]] std::uint16_t path_mtu() const;
  /// The fabric between the ends; nothing to do for other profiles.
  std::size_t pump(Time now);
  /// What pump() drives, to be looked at by the pumping thread; null for other profiles.
  [[nodiscard]] const fabric::Fabric* fabric() const;
  /// A few times a second: brings a memif port back when its peer has returned. Set-up thread; workers may
  /// poll, since bursts of these ports are guarded. Touches no other port: their links are asked by the
  /// workers.
  void tend();
  [[nodiscard]] std::vector<std::string> port_names(std::size_t end) const;
  /// CPU of worker w, by plan; workers may share one.
  [[nodiscard]] unsigned cpu_of_worker(std::size_t end, unsigned worker) const;
  /// Several pollers share a CPU or wait for the kernel: an idle poll should yield.
  [[nodiscard]] bool should_yield() const;
  [[nodiscard]] std::vector<std::string> describe() const;
  /// (set-up thread, when nobody polls any more) frees what is inside the fabric.
  void drain();

 private:
  struct Impl;
  explicit Network(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Which CPUs the workers of an end poll on: engine.lcores, or one each of those allowed, `run` from the
/// other side so that two processes on one machine do not meet while there are CPUs enough.
Result<std::vector<unsigned>> plan_cpus(const config::EndpointConfig& config, Ends ends,
                                        const std::vector<unsigned>& allowed);

}  // namespace mrc::endpoint
