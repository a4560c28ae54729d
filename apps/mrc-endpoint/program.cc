// SPDX-License-Identifier: BSD-3-Clause
#include "program.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <random>

#include "capture_thread.h"
#include "console.h"
#include "doorman.h"
#include "end.h"
#include "ethdev/eal.h"
#include "ethdev/machine_facts.h"
#include "fabric_paths.h"
#include "network.h"
#include "nic/clock.h"
#include "oob_socket.h"
#include "outcome.h"
#include "plane_devices.h"
#include "report/atomic_file.h"
#include "report/say.h"
#include "run_page.h"
#include "session.h"
#include "setup_watch.h"
#include "signals.h"
#include "socket_directory.h"

namespace mrc::endpoint {
namespace {

constexpr Duration kSocketInterval = microseconds(20);
constexpr Duration kLinkInterval = milliseconds(100);
constexpr unsigned kCleanUpSeconds = 3;
constexpr Duration kFlushTimeout = seconds(2);
constexpr Duration kSetUpPatience = seconds(30);  ///< for DPDK; it takes a second, more with much memory

/// What is left when something before the first packet goes wrong.
struct Failure {
  ExitCode code;
  std::string message;
};

std::uint64_t draw_seed(const Options& options) {
  if (options.config.seed != 0) return options.config.seed;
  return (std::uint64_t{std::random_device{}()} << 32 | std::random_device{}()) | 1;
}

/// A signal is the reason for whatever failed after it.
std::optional<Failure> or_interrupted(std::optional<Failure> failure) {
  if (signals_seen() == 0) return failure;
  return Failure{ExitCode::kTestFailed, "interrupted while setting up"};
}

/// Everything of one end, in order of construction.
struct Host {
  config::EndpointConfig config;
  std::unique_ptr<End> end;
  std::unique_ptr<Session> session;
  std::unique_ptr<CaptureThread> capture;
};

std::vector<bool> links_of(const Host& host) {
  std::vector<bool> up(host.config.planes.size());
  for (unsigned p = 0; p < up.size(); ++p) up[p] = host.end->nic().link_up(p);
  return up;
}

class Program {
 public:
  explicit Program(const Options& options)
      : options_(options),
        console_(options.quiet),
        seed_(draw_seed(options)),
        result_(start_result(options, seed_)) {}

  ExitCode run();

 private:
  std::optional<Failure> start();
  std::optional<Failure> connect();
  void warn_of_reach();
  std::optional<Failure> build();
  std::optional<Failure> build_while_greeting();
  Result<std::unique_ptr<Network>> open_network(Ends ends,
                                                const std::vector<config::EndpointConfig>& configs);
  std::optional<Failure> add_end(std::size_t i);
  [[nodiscard]] double port_bps() const;
  void start_sessions();
  void loop_pair();
  void loop_socket();
  void common_step(Time now, std::size_t packets);
  void finish();
  ExitCode write_report(ExitCode code);
  [[nodiscard]] bool loopback() const { return options_.command == Command::kLoopback; }
  [[nodiscard]] Time now() const { return clock_->now(); }

  const Options& options_;
  Console console_;
  const std::uint64_t seed_;
  report::RunResult result_;
  OobSocket socket_;
  std::unique_ptr<Network> network_;
  std::optional<nic::TscClock> clock_;
  std::vector<Host> hosts_;  // loopback: [0] serves, [1] runs
  Time next_links_;
  bool stop_passed_on_ = false;
  std::optional<ExchangeFailure> failure_;
  std::string capture_failure_;
  std::unique_ptr<Exchange> exchange_;  ///< until the session has it
  std::optional<LiveSampler> sampler_;  ///< of the last host, when a report is wanted
};

std::string software() {
  return "softmrc " SOFTMRC_VERSION;
}

Duration peer_timeout(const config::EndpointConfig& c) {
  return nanoseconds(static_cast<std::int64_t>(c.oob.peer_timeout_s * 1e9));
}

/// The TCP connection comes first: `run` then knows that the peer's sockets and ports exist before it starts
/// EAL.
std::optional<Failure> Program::connect() {
  const config::OobConfig& oob = options_.config.oob;
  if (!loopback()) warn_of_reach();
  if (options_.command == Command::kRun) {
    Result<OobSocket> s = OobSocket::connect(
        oob.address, oob.port, nanoseconds(static_cast<std::int64_t>(oob.connect_timeout_s * 1e9)),
        &signals_seen());
    if (!s) return Failure{signals_seen() != 0 ? ExitCode::kTestFailed : ExitCode::kPeer, s.error().message};
    socket_ = *std::move(s);
  } else if (options_.command == Command::kServe) {
    Result<OobListener> l = OobListener::listen(oob.address, oob.port);
    if (!l) return Failure{ExitCode::kUsage, l.error().message};
    Doorman door(*std::move(l), software(), peer_timeout(options_.config),
                 [this](const std::string& line) { console_.log(line); });
    report::say(stderr, "serving on {} port {}\n", oob.address,
                door.port());  // scripts wait for it: not quiet
    std::optional<Guest> guest;
    while (!guest) {
      if (signals_seen() != 0) return Failure{ExitCode::kTestFailed, "interrupted before a peer connected"};
      guest = door.step(now());
    }
    socket_ = std::move(guest->socket);
    exchange_ = std::move(guest->exchange);
    console_.log(fmt::format("connection from {}", socket_.peer_name()));
    if (door.strangers() != 0) {
      result_.warnings.push_back(fmt::format(
          "{} connections to the exchange's port were no peer and were refused", door.strangers()));
    }
  }
  return std::nullopt;
}

/// Planes that reach other machines and an exchange that does not, or the other way round.
void Program::warn_of_reach() {
  const config::Profile p = options_.config.profile;
  const std::string& address = options_.config.oob.address;
  const bool far =
      p == config::Profile::kAfPacket || p == config::Profile::kAfXdp || p == config::Profile::kEthdev;
  const bool local = address.starts_with("127.") || address == "::1";
  if (far && local && options_.command == Command::kServe) {
    console_.log(
        fmt::format("listening on {}: only this machine reaches it; for a peer on another one: --listen "
                    "ADDRESS, or --listen 0.0.0.0 for all addresses",
                    address));
  }
  if (config::joins_by_sockets(p) && !local) {
    console_.log(fmt::format(
        "profile {} joins two processes of this machine; if {} is for a peer on another one, both need "
        "planes that reach it: --profile af_packet --device INTERFACE, or another",
        config::name_of(p), address));
  }
}

std::optional<Failure> Program::add_end(std::size_t i) {
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

Result<std::unique_ptr<Network>> Program::open_network(Ends ends,
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

/// SRv6 over the virtual fabric: each end has the addresses of the ways to the other one.
Result<void> name_fabric_ways(config::EndpointConfig& c, std::size_t end) {
  if (!config::fabric_names_evs(c)) return {};
  const Result<fabric::Topology> topology = virtual_topology(c);
  if (!topology) return topology.error();
  return name_ways(c, *topology, static_cast<fabric::HostId>(end));
}

std::optional<Failure> Program::build() {
  const Ends ends = loopback()                            ? Ends::kBoth
                    : options_.command == Command::kServe ? Ends::kServe
                                                          : Ends::kRun;
  std::vector<config::EndpointConfig> configs;
  for (std::size_t i = 0; i < (loopback() ? 2U : 1U); ++i) {
    configs.push_back(options_.config);
    configs.back().seed = seed_;
    const bool serves = ends == Ends::kServe || (ends == Ends::kBoth && i == 0);
    fill_addresses(configs.back(), serves ? 1 : 2);
    if (ends == Ends::kBoth && i == 1) {
      // One file describes the serving end; the other end has made-up addresses of the same family.
      for (config::PlaneConfig& p : configs.back().planes) p.ip.clear();
      for (config::PlaneConfig& p : configs.back().planes) p.mac.clear();
      for (config::PlaneConfig& p : configs.back().planes) p.next_hop_mac.clear();
      fill_addresses(configs.back(), 2);
    }
    if (Result<void> r = name_fabric_ways(configs.back(), i); !r)
      return Failure{ExitCode::kUsage, r.error().message};
    hosts_.push_back({configs.back(), nullptr, nullptr, nullptr});
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
  for (const std::string& line : hosts_.back().end->nic().describe()) result_.effective.push_back(line);
  for (const std::string& line : result_.effective) console_.log(line);
  return std::nullopt;
}

/// Of one plane. Rings, sockets and kernel interfaces name a speed that limits nothing.
double Program::port_bps() const {
  return options_.config.profile == config::Profile::kEthdev ? hosts_.back().end->nic().link_bps(0) : 0;
}

/// As late as possible: a physical port knows its speed when its link is up.
void Program::start_sessions() {
  result_.link_speed_bps = port_bps();
  const config::EndpointConfig& last = hosts_.back().config;
  result_.effective.push_back(config::describe_controller(last, config::rate_of_planes(last, port_bps())));
  console_.log(result_.effective.back());
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    SessionOptions o;
    o.software = software();
    o.free_memory_bytes = ethdev::read_machine_facts().memory_available_bytes;
    if (!loopback()) o.exchange = std::move(exchange_);
    o.seed = seed_;
    o.port_bps = port_bps();
    o.port_names = network_->port_names(i);
    o.clock = [this] { return now(); };
    o.log = [this](const std::string& line) { console_.log(line); };
    if (!options_.report_path.empty() && i + 1 == hosts_.size()) o.sampler = &sampler_.emplace();
    o.fabric = network_->fabric();
    const bool serves = options_.command == Command::kServe || (loopback() && i == 0);
    hosts_[i].session = std::make_unique<Session>(serves ? ExchangeRole::kServe : ExchangeRole::kRun,
                                                  hosts_[i].config, *hosts_[i].end, std::move(o), now());
  }
}

void Program::common_step(Time t, std::size_t packets) {
  Session& shown = *hosts_.back().session;
  if (signals_seen() != 0 && !stop_passed_on_) {
    stop_passed_on_ = true;
    console_.log("interrupted: finishing what is posted (again to end at once)");
    shown.request_stop();
  }
  if (t >= next_links_) {
    next_links_ = t + kLinkInterval;
    network_->tend();
    for (Host& host : hosts_) host.session->note_links(links_of(host), t);
    console_.progress(shown.progress(), t);
  }
  if (packets == 0 && (network_->should_yield() || !hosts_[0].end->inline_polling())) sched_yield();
}

/// Both ends in this process: their lines go from one exchange to the other.
void Program::loop_pair() {
  Session& a = *hosts_[0].session;
  Session& b = *hosts_[1].session;
  while (!a.over() || !b.over()) {
    std::size_t packets = hosts_[1].end->poll();
    packets += network_->pump(now());
    packets += hosts_[0].end->poll();
    packets += network_->pump(now());
    const Time t = now();
    a.step(t);
    b.step(t);
    if (b.exchange().has_output()) a.exchange().on_bytes(b.exchange().take_output(), t);
    if (a.exchange().has_output()) b.exchange().on_bytes(a.exchange().take_output(), t);
    common_step(t, packets);
  }
  failure_ = b.failure() ? b.failure() : a.failure();
}

void Program::loop_socket() {
  Host& host = hosts_[0];
  Session& s = *host.session;
  Time next_io;
  std::string in;
  while (!s.over()) {
    const std::size_t packets = host.end->poll();
    const Time t = now();
    s.step(t);
    if (s.exchange().has_output() && !socket_.send(s.exchange().take_output())) {
      s.exchange().on_disconnect(socket_.error());
    }
    if (t >= next_io && !s.over()) {
      next_io = t + kSocketInterval;
      in.clear();
      const bool open = socket_.receive(in);
      if (!in.empty()) s.exchange().on_bytes(in, t);
      if (!open) s.exchange().on_disconnect(socket_.error());
      if (open && !socket_.send("")) s.exchange().on_disconnect(socket_.error());
    }
    common_step(t, packets);
  }
  // The peer may still wait for packets of ours (an acknowledgement that was lost): serve it until it has
  // closed.
  const Time end = now() + milliseconds(s.failure() ? 0 : 50);
  if (s.exchange().has_output()) socket_.send(s.exchange().take_output());
  while (now() < end) host.end->poll();
  socket_.flush(kFlushTimeout);
  failure_ = s.failure();
}

void Program::finish() {
  console_.end_progress();
  const auto& warnings = hosts_.back().session->warnings();
  result_.warnings.insert(result_.warnings.end(), warnings.begin(), warnings.end());
  result_.phases = hosts_.back().session->take_results();
  for (std::string& w : report::find_warnings(result_.phases)) result_.warnings.push_back(std::move(w));
  if (loopback()) {
    const std::vector<report::PhaseResult> serve = hosts_[0].session->take_results();
    for (const std::string& w : report::find_warnings(serve)) result_.warnings.push_back("serve end: " + w);
    for (std::size_t i = 0; i < serve.size() && i < result_.phases.size(); ++i) {
      merge_receiver(result_.phases[i], serve[i]);
    }
  }
  for (Host& host : hosts_) host.session.reset();
  for (Host& host : hosts_) {
    if (host.capture == nullptr) continue;
    if (Result<void> r = host.capture->finish(); !r) {
      if (!capture_failure_.empty()) capture_failure_ += "; ";
      capture_failure_ +=
          fmt::format("capture: {}; {} packets are not in it", r.error().message, host.capture->lost());
    }
    console_.log(fmt::format("capture: {} packets in {}", host.capture->packets(), host.capture->path()));
  }
  network_->drain();
  for (Host& host : hosts_) {
    const nic::MbufAccount a = host.end->finish();
    // Rings in this process give everything back; a driver may keep mbufs in its queues until it is closed.
    if (loopback() && !a.balanced()) {
      result_.warnings.push_back(fmt::format("{} of {} payload and {} of {} control mbufs are still out",
                                             a.payload_out, a.payload_total, a.control_out, a.control_total));
    }
  }
}

/// An unwritable file makes the exit code kUsage when it was a pass.
ExitCode Program::write_report(ExitCode code) {
  if (!sampler_) return code;
  const report::html::Page page = page_of(result_, hosts_.back().config, *sampler_);
  if (Result<void> r = report::write_file_atomically(options_.report_path, report::html::write(page)); !r) {
    report::say(stderr, "mrc-endpoint: --report {}\n", r.error().message);
    return code == ExitCode::kPass ? ExitCode::kUsage : code;
  }
  report::say(stderr, "report: {}\n", options_.report_path);
  return code;
}

/// Set-up takes seconds, during which the peer hears from us: hello first, then pings.
std::optional<Failure> Program::build_while_greeting() {
  const std::string hello = Exchange::greeting(ExchangeRole::kRun, software());
  SetupPulse pulse(socket_, hello, encode(Ping{}), Exchange::kPingInterval);
  std::optional<Failure> failure = build();
  const std::string heard = pulse.finish();
  failure = or_interrupted(std::move(failure));
  if (failure) {
    socket_.send(encode(Abort{static_cast<int>(ExitCode::kPeer), failure->message}));
    socket_.flush(kFlushTimeout);
    return failure;
  }
  exchange_ =
      std::make_unique<Exchange>(ExchangeRole::kRun, software(), peer_timeout(options_.config), now());
  exchange_->take_back_greeting();
  exchange_->on_bytes(heard, now());
  return std::nullopt;
}

std::optional<Failure> Program::start() {
  std::optional<Failure> failure;
  const std::string directory = socket_directory();
  const auto& planes = options_.config.planes;
  if (std::any_of(planes.begin(), planes.end(),
                  [&](const auto& plane) { return plane.device.starts_with(directory + "/"); })) {
    if (const Result<void> r = claim_socket_directory(directory); !r)
      return Failure{ExitCode::kUsage, r.error().message};
  }
  // A server's devices must exist before its peer connects to them; a client starts its own after the
  // connection.
  if (options_.command == Command::kRun) {
    // An interface that is not here has nothing to do with the peer: it is said before that one is waited
    // for.
    if (const Result<void> r = check_kernel_planes(options_.config, Ends::kRun); !r)
      return Failure{ExitCode::kUsage, r.error().message};
    failure = connect();
    return failure ? failure : build_while_greeting();
  }
  failure = build();
  failure = or_interrupted(std::move(failure));
  return failure ? failure : connect();
}

ExitCode Program::run() {
  catch_signals();
  if (!options_.report_path.empty()) {
    if (const Result<void> r = report::claim_result_file(options_.report_path); !r) {
      report::say(stderr, "mrc-endpoint: --report {}\n", r.error().message);
      return ExitCode::kUsage;
    }
  }
  // What is wrong by configuration is told at once, quiet or not, and again with the result.
  for (const std::string& w : result_.warnings) report::say(stderr, "mrc-endpoint: warning: {}\n", w);
  if (const std::optional<Failure> failure = start()) {
    console_.end_progress();
    report::say(stderr, "mrc-endpoint: {}\n", failure->message);
    result_.failures = {failure->message};
    result_.exit_code = static_cast<int>(failure->code);
    const ExitCode published = publish_json(result_, options_, failure->code);
    exit_within(kCleanUpSeconds, static_cast<int>(published));
    return published;
  }
  console_.log(fmt::format("seed {}", seed_));
  start_sessions();
  loopback() ? loop_pair() : loop_socket();
  finish();
  const ExitCode code = judge(result_, failure_, capture_failure_);
  if (failure_) report::say(stderr, "mrc-endpoint: {}\n", failure_->message);
  const ExitCode published = publish(result_, options_, code);
  const ExitCode reported = write_report(published);
  exit_within(kCleanUpSeconds, static_cast<int>(reported));
  return reported;
}

}  // namespace

ExitCode run_program(const Options& options) {
  return Program(options).run();
}

}  // namespace mrc::endpoint
