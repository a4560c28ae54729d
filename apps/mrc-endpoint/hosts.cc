// SPDX-License-Identifier: BSD-3-Clause
#include "hosts.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>

#include "connection.h"
#include "ethdev/eal.h"
#include "ethdev/machine_facts.h"
#include "fabric_paths.h"
#include "setup_watch.h"
#include "signals.h"

namespace mrc::endpoint {
namespace {

constexpr Duration kSetUpPatience = seconds(30);  ///< for DPDK; it takes a second, more with much memory

constexpr Duration kLinkPatience = seconds(5);  ///< for a link that comes up; negotiation takes a few

std::vector<bool> links_of(const Host& host) {
  std::vector<bool> up(host.config.planes.size());
  for (unsigned p = 0; p < up.size(); ++p) up[p] = host.end->nic().link_up(p);
  return up;
}

/// SRv6 over the virtual fabric: each end has the addresses of the ways to the other one.
Result<void> name_fabric_ways(config::EndpointConfig& c, std::size_t end) {
  if (!config::fabric_names_evs(c)) return {};
  const Result<fabric::Topology> topology = virtual_topology(c);
  if (!topology) return topology.error();
  return name_ways(c, *topology, static_cast<fabric::HostId>(end));
}

}  // namespace

std::optional<Failure> Hosts::add_end(std::size_t i) {
  Host& host = hosts_[i];
  std::vector<unsigned> cpus;
  for (unsigned w = 0; w < host.config.engine.workers; ++w) cpus.push_back(network_->cpu_of_worker(i, w));
  nic::NicConfig nic_config = network_->nic_config(i);
  nic_config.seed = seed_ + i;
  Result<std::unique_ptr<End>> end = End::create(nic_config, cpus);
  if (!end) return Failure{ExitCode::kUsage, end.error().message};
  host.end = *std::move(end);
  if (host.config.capture.file.empty()) return std::nullopt;
  const std::string path = i == 0 ? host.config.capture.file : host.config.capture.file + ".run";
  Result<std::unique_ptr<CaptureThread>> capture =
      CaptureThread::start(host.end->nic(), path, network_->port_names(i), host.config.capture.drops_only);
  if (!capture) return Failure{ExitCode::kUsage, capture.error().message};
  host.capture = *std::move(capture);
  return std::nullopt;
}

Result<std::unique_ptr<Network>> Hosts::open_network(Ends ends,
                                                     const std::vector<config::EndpointConfig>& configs) {
  std::vector<std::string> devices;
  for (const config::PlaneConfig& p : configs.front().planes) {
    if (!p.device.empty()) devices.push_back(p.device);
  }
  const config::EndpointConfig& c = options_.config;
  const Duration patience = kSetUpPatience + seconds(c.eal.memory_mb / 512);
  std::string what = fmt::format("the ports did not come up within {} s", patience.ns / 1'000'000'000);
  if (!devices.empty()) {
    what += fmt::format("; a {} peer that does not answer does that ({})", config::name_of(c.profile),
                        fmt::join(devices, ", "));
  }
  if (!c.eal.args.empty()) what += fmt::format("; or EAL arguments: {}", fmt::join(c.eal.args, " "));
  const SetupWatchdog watchdog(patience, what, static_cast<int>(ExitCode::kUsage), signals_seen());
  Result<std::unique_ptr<Network>> network = Network::create(ends, configs);
  if (!network && watchdog.barked()) return Error{what};
  return network;
}

/// One an end, with all addresses.
std::vector<config::EndpointConfig> Hosts::configure(Ends ends) const {
  config::EndpointConfig c = options_.config;
  c.seed = seed_;
  fill_addresses(c, ends == Ends::kRun ? 2 : 1);
  if (ends != Ends::kBoth) return {c};
  return {c, other_end(c, 2)};  // one file describes the serving end
}

std::optional<Failure> Hosts::build() {
  const Ends ends = loopback()                            ? Ends::kBoth
                    : options_.command == Command::kServe ? Ends::kServe
                                                          : Ends::kRun;
  std::vector<config::EndpointConfig> configs = configure(ends);
  for (std::size_t i = 0; i < configs.size(); ++i) {
    if (Result<void> r = name_fabric_ways(configs[i], i); !r)
      return Failure{ExitCode::kUsage, r.error().message};
    hosts_.push_back({configs[i], nullptr, nullptr, nullptr});
  }
  Result<std::unique_ptr<Network>> network = open_network(ends, configs);
  if (!network) return Failure{ExitCode::kUsage, network.error().message};
  network_ = *std::move(network);
  for (Host& host : hosts_) host.config.qp.attr.path_mtu = network_->path_mtu();
  clock_.emplace();
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    if (auto failure = add_end(i)) return failure;
  }
  if (hosts_[0].end->inline_polling()) ethdev::set_this_thread_cpus({network_->cpu_of_worker(0, 0)});
  result_.effective = network_->describe();
  for (const std::string& line : shown().end->nic().describe()) result_.effective.push_back(line);
  for (const std::string& line : result_.effective) console_.log(line);
  return std::nullopt;
}

/// A physical port has no link for a while after it was started, and knows its speed when it has: somebody
/// must ask it again. The peer hears nothing from us meanwhile; without a link in time the session says so.
void Hosts::await_link() {
  if (options_.config.profile != config::Profile::kEthdev) return;
  const Duration patience{static_cast<std::int64_t>(options_.config.oob.peer_timeout_s * 1e9 / 4)};
  End& end = *shown().end;
  for (const Time until = now() + std::min(patience, kLinkPatience);
       !end.nic().link_up(0) && now() < until && signals_seen() == 0;) {
    if (end.poll() == 0) sched_yield();
  }
}

/// Of one plane. Rings, sockets and kernel interfaces name a speed that limits nothing.
double Hosts::port_bps() const {
  return options_.config.profile == config::Profile::kEthdev ? hosts_.back().end->nic().link_bps(0) : 0;
}

void Hosts::start_sessions(std::unique_ptr<Exchange> exchange, LiveSampler* sampler) {
  await_link();
  result_.link_speed_bps = port_bps();
  const config::EndpointConfig& last = shown().config;
  result_.effective.push_back(config::describe_controller(last, config::rate_of_planes(last, port_bps())));
  console_.log(result_.effective.back());
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    SessionOptions o;
    o.software = software();
    o.free_memory_bytes = ethdev::read_machine_facts().memory_available_bytes;
    o.exchange = std::move(exchange);
    o.seed = seed_;
    o.port_bps = port_bps();
    o.port_names = network_->port_names(i);
    o.clock = [this] { return now(); };
    o.log = [this](const std::string& line) { console_.log(line); };
    if (i + 1 == hosts_.size()) o.sampler = sampler;
    o.fabric = network_->fabric();
    const bool serves = options_.command == Command::kServe || (loopback() && i == 0);
    hosts_[i].session = std::make_unique<Session>(serves ? ExchangeRole::kServe : ExchangeRole::kRun,
                                                  hosts_[i].config, *hosts_[i].end, std::move(o), now());
  }
}

void Hosts::tend(Time now) {
  network_->tend();
  for (Host& host : hosts_) host.session->note_links(links_of(host), now);
}

}  // namespace mrc::endpoint
