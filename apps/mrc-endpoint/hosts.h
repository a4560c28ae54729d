// SPDX-License-Identifier: BSD-3-Clause
// What this process has of a run: the ports, and for its end, or for both, a Nic and a session.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "capture_thread.h"
#include "console.h"
#include "end.h"
#include "failure.h"
#include "live_sampler.h"
#include "network.h"
#include "nic/clock.h"
#include "options.h"
#include "report/result.h"
#include "session.h"

namespace mrc::endpoint {

/// Everything of one end, in order of construction.
struct Host {
  config::EndpointConfig config;
  std::unique_ptr<End> end;
  std::unique_ptr<Session> session;
  std::unique_ptr<CaptureThread> capture;
};

/// Thread rule: the main thread.
class Hosts {
 public:
  /// All outlive it; `result` learns what runs (effective, link_speed_bps).
  Hosts(const Options& options, std::uint64_t seed, Console& console, report::RunResult& result)
      : options_(options), seed_(seed), console_(console), result_(result) {}

  /// Ports, then Nics. Takes seconds. Errors: a configuration or machine that does not do.
  std::optional<Failure> build();
  /// As late as possible: a physical port knows its speed when its link is up. `exchange`: begun already, or
  /// null with both ends here. `sampler`: of the last host; null: none is wanted.
  void start_sessions(std::unique_ptr<Exchange> exchange, LiveSampler* sampler);
  /// A few times a second: links, and what the ports need.
  void tend(Time now);

  [[nodiscard]] Time now() const { return clock_->now(); }  ///< once built
  [[nodiscard]] Network& network() { return *network_; }
  /// With both ends here the first serves and the second runs.
  [[nodiscard]] std::vector<Host>& all() { return hosts_; }
  /// The one that people hear about.
  [[nodiscard]] Host& shown() { return hosts_.back(); }

 private:
  [[nodiscard]] bool loopback() const { return options_.command == Command::kLoopback; }
  [[nodiscard]] std::vector<config::EndpointConfig> configure(Ends ends) const;
  Result<std::unique_ptr<Network>> open_network(Ends ends,
                                                const std::vector<config::EndpointConfig>& configs);
  std::optional<Failure> add_end(std::size_t i);
  void await_link();
  [[nodiscard]] double port_bps() const;

  const Options& options_;
  const std::uint64_t seed_;
  Console& console_;
  report::RunResult& result_;
  std::unique_ptr<Network> network_;
  std::optional<nic::TscClock> clock_;
  std::vector<Host> hosts_;
};

}  // namespace mrc::endpoint
