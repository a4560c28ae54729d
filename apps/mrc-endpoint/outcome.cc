// SPDX-License-Identifier: BSD-3-Clause
#include "outcome.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <thread>

#include "report/atomic_file.h"
#include "report/say.h"

namespace mrc::endpoint {
namespace {

std::string machine() {
  utsname u{};
  ::uname(&u);
  std::string cpu = "unknown CPU";
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("model name", 0) != 0) continue;
    cpu = line.substr(std::min(line.find(':') + 2, line.size()));
    break;
  }
  return fmt::format("{} x {}, {} {}", std::thread::hardware_concurrency(), cpu, u.sysname, u.release);
}

void add(report::Verification& a, const report::Verification& b) {
  a.messages += b.messages;
  a.bytes += b.bytes;
  a.messages_bad += b.messages_bad;
  if (a.first_bad.empty()) a.first_bad = b.first_bad;
}

void add(report::Counters& a, const report::Counters& b) {
  for (const auto& [name, value] : b) {
    const auto it = std::find_if(a.begin(), a.end(), [&, n = &name](const auto& x) { return x.first == *n; });
    if (it == a.end()) {
      a.emplace_back(name, value);
    } else {
      it->second += value;
    }
  }
}

}  // namespace

report::RunResult start_result(const Options& options, std::uint64_t seed) {
  report::RunResult r;
  r.tool = "mrc-endpoint";
  r.version = SOFTMRC_VERSION;
  r.started_utc = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  r.command = options.command_line;
  r.role = options.command == Command::kServe ? "serve"
           : options.command == Command::kRun ? "run"
                                              : "loopback";
  r.profile = config::name_of(options.config.profile);
  r.machine = machine();
  r.seed = seed;
  if (options.config.net.icrc == config::IcrcPolicy::kIgnore) {
    r.warnings.emplace_back(
        "net.icrc is ignore: this end takes packets without checking their ICRC, so damaged ones are placed "
        "and their headers believed; only for tests with a peer that makes none");
  }
  return r;
}

void merge_receiver(report::PhaseResult& run, const report::PhaseResult& serve) {
  add(run.verification, serve.verification);
  run.messages_received += serve.messages_received;
  add(run.transport, serve.transport);
  add(run.retransmissions, serve.retransmissions);
  add(run.drops, serve.drops);
  add(run.engine, serve.engine);
  run.of_both_ends = {"verification", "messages_received", "transport", "retransmissions", "drops", "engine"};
  run.conserved = run.conserved && serve.conserved;
  run.conservation = fmt::format("run end: {}; serve end: {}", run.conservation, serve.conservation);
}

ExitCode judge(report::RunResult& result, const std::optional<ExchangeFailure>& failure,
               const std::string& capture_failure) {
  result.failures = report::find_failures(result);
  ExitCode code = result.failures.empty() ? ExitCode::kPass : ExitCode::kTestFailed;
  if (!capture_failure.empty()) {
    result.failures.push_back(capture_failure);
    if (code == ExitCode::kPass) code = ExitCode::kUsage;  // as with any file that cannot be written
  }
  if (failure) {
    // What cut the run short comes first; blanks are its consequence.
    result.failures.insert(result.failures.begin(), failure->message);
    code = failure->code;
  }
  result.exit_code = static_cast<int>(code);
  return code;
}

ExitCode publish(report::RunResult& result, const Options& options, ExitCode code) {
  std::fflush(stderr);
  code = publish_json(result, options, code);
  result.exit_code = static_cast<int>(code);
  report::say(options.json_path == "-" ? stderr : stdout, "{}", report::to_table(result, {options.show_evs}));
  std::fflush(stdout);
  return code;
}

ExitCode publish_json(report::RunResult& result, const Options& options, ExitCode code) {
  if (options.json_path.empty()) return code;
  if (Result<void> r = report::write_file_atomically(options.json_path, report::to_json(result)); !r) {
    result.failures.push_back("--json " + r.error().message);
    report::say(stderr, "mrc-endpoint: {}\n", result.failures.back());
    return code == ExitCode::kPass ? ExitCode::kUsage : code;
  }
  return code;
}

}  // namespace mrc::endpoint
