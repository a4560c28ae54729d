// SPDX-License-Identifier: BSD-3-Clause
#include "program.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <random>

#include "connection.h"
#include "console.h"
#include "hosts.h"
#include "outcome.h"
#include "plane_devices.h"
#include "report/atomic_file.h"
#include "report/say.h"
#include "run_page.h"
#include "signals.h"
#include "socket_directory.h"

namespace mrc::endpoint {
namespace {

constexpr Duration kLinkInterval = milliseconds(100);
constexpr unsigned kCleanUpSeconds = 3;

std::uint64_t draw_seed(const Options& options) {
  if (options.config.seed != 0) return options.config.seed;
  return (std::uint64_t{std::random_device{}()} << 32 | std::random_device{}()) | 1;
}

/// Sockets that nobody named lie where everybody may write.
Result<void> claim_made_up_sockets(const config::EndpointConfig& c) {
  const std::string directory = socket_directory();
  const bool used = std::any_of(c.planes.begin(), c.planes.end(), [&](const config::PlaneConfig& plane) {
    return plane.device.starts_with(directory + "/");
  });
  return used ? claim_socket_directory(directory) : Result<void>{};
}

/// The course of one run.
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
  void loop_pair();
  void loop_socket();
  void common_step(Time now, std::size_t packets);
  void finish();
  ExitCode write_report(ExitCode code);
  [[nodiscard]] bool loopback() const { return options_.command == Command::kLoopback; }
  [[nodiscard]] Time now() const { return hosts_.now(); }

  const Options& options_;
  Console console_;
  const std::uint64_t seed_;
  report::RunResult result_;
  Connection connection_{options_, console_};
  Hosts hosts_{options_, seed_, console_, result_};
  Time next_links_;
  bool stop_passed_on_ = false;
  std::optional<ExchangeFailure> failure_;
  std::string capture_failure_;
  std::optional<LiveSampler> sampler_;  ///< of the last host, when a report is wanted
};

/// `run` connects first: it then knows that the peer's sockets and ports exist before it starts EAL. A
/// server's must exist before its peer connects to them.
std::optional<Failure> Program::start() {
  if (const Result<void> r = claim_made_up_sockets(options_.config); !r)
    return Failure{ExitCode::kUsage, r.error().message};
  const auto clock = [this] { return now(); };
  // A device that is not here has nothing to do with the peer, nor with DPDK: it is said before either is
  // waited for.
  const Ends ends = options_.command == Command::kRun ? Ends::kRun : Ends::kServe;
  if (const Result<void> r = check_devices(options_.config, ends); !loopback() && !r)
    return Failure{ExitCode::kUsage, r.error().message};
  if (options_.command == Command::kRun) {
    std::optional<Failure> failure = connection_.open(clock);
    return failure ? failure : connection_.greet_during([this] { return hosts_.build(); }, clock);
  }
  std::optional<Failure> failure = or_interrupted(hosts_.build());
  return failure || loopback() ? failure : connection_.open(clock);
}

void Program::common_step(Time t, std::size_t packets) {
  Session& shown = *hosts_.shown().session;
  if (signals_seen() != 0 && !stop_passed_on_) {
    stop_passed_on_ = true;
    console_.log("interrupted: finishing what is posted (again to end at once)");
    shown.request_stop();
  }
  if (t >= next_links_) {
    next_links_ = t + kLinkInterval;
    hosts_.tend(t);
    console_.progress(shown.progress(), t);
  }
  if (packets == 0 && (hosts_.network().should_yield() || !hosts_.shown().end->inline_polling()))
    sched_yield();
}

/// Both ends in this process: their lines go from one exchange to the other.
void Program::loop_pair() {
  Host& serve = hosts_.all()[0];
  Host& run = hosts_.all()[1];
  Session& a = *serve.session;
  Session& b = *run.session;
  Network& network = hosts_.network();
  while (!a.over() || !b.over()) {
    std::size_t packets = run.end->poll();
    packets += network.pump(now());
    packets += serve.end->poll();
    packets += network.pump(now());
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
  Host& host = hosts_.shown();
  Session& s = *host.session;
  while (!s.over()) {
    const std::size_t packets = host.end->poll();
    const Time t = now();
    s.step(t);
    connection_.carry(s.exchange(), t);
    common_step(t, packets);
  }
  // The peer may still wait for packets of ours (an acknowledgement that was lost): serve it until it has
  // closed.
  const Time end = now() + milliseconds(s.failure() ? 0 : 50);
  connection_.say_rest(s.exchange());
  while (now() < end) host.end->poll();
  connection_.flush();
  failure_ = s.failure();
}

void Program::finish() {
  console_.end_progress();
  const auto& warnings = hosts_.shown().session->warnings();
  result_.warnings.insert(result_.warnings.end(), warnings.begin(), warnings.end());
  result_.phases = hosts_.shown().session->take_results();
  for (std::string& w : report::find_warnings(result_.phases)) result_.warnings.push_back(std::move(w));
  if (loopback()) {
    const std::vector<report::PhaseResult> serve = hosts_.all()[0].session->take_results();
    for (const std::string& w : report::find_warnings(serve)) result_.warnings.push_back("serve end: " + w);
    for (std::size_t i = 0; i < serve.size() && i < result_.phases.size(); ++i) {
      merge_receiver(result_.phases[i], serve[i]);
    }
  }
  for (Host& host : hosts_.all()) host.session.reset();
  for (Host& host : hosts_.all()) {
    if (host.capture == nullptr) continue;
    if (Result<void> r = host.capture->finish(); !r) {
      if (!capture_failure_.empty()) capture_failure_ += "; ";
      capture_failure_ +=
          fmt::format("capture: {}; {} packets are not in it", r.error().message, host.capture->lost());
    }
    console_.log(fmt::format("capture: {} packets in {}", host.capture->packets(), host.capture->path()));
  }
  // Whoever polls the ports is their only consumer; the fabric empties full ones when it is drained.
  for (Host& host : hosts_.all()) host.end->stop();
  hosts_.network().drain();
  for (Host& host : hosts_.all()) {
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
  const report::html::Page page = page_of(result_, hosts_.shown().config, *sampler_);
  if (Result<void> r = report::write_file_atomically(options_.report_path, report::html::write(page)); !r) {
    result_.failures.push_back("--report " + r.error().message);
    report::say(stderr, "mrc-endpoint: {}\n", result_.failures.back());
    code = code == ExitCode::kPass ? ExitCode::kUsage : code;
    result_.exit_code = static_cast<int>(code);
    return code;
  }
  report::say(stderr, "report: {}\n", options_.report_path);
  return code;
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
  if (!options_.report_path.empty()) sampler_.emplace();
  const std::vector<std::string>& warnings = connection_.warnings();
  result_.warnings.insert(result_.warnings.end(), warnings.begin(), warnings.end());
  hosts_.start_sessions(connection_.take_exchange(), sampler_ ? &*sampler_ : nullptr);
  loopback() ? loop_pair() : loop_socket();
  finish();
  const ExitCode code = judge(result_, failure_, capture_failure_);
  if (failure_) report::say(stderr, "mrc-endpoint: {}\n", failure_->message);
  // The table comes last: its verdict is the exit code.
  const ExitCode published = publish(result_, options_, write_report(code));
  exit_within(kCleanUpSeconds, static_cast<int>(published));
  return published;
}

}  // namespace

ExitCode run_program(const Options& options) {
  return Program(options).run();
}

}  // namespace mrc::endpoint
