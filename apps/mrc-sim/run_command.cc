// SPDX-License-Identifier: BSD-3-Clause
#include "run_command.h"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>

#include "progress.h"
#include "report/atomic_file.h"
#include "sim/outcome.h"
#include "sim/sampler.h"

namespace mrc::simapp {
namespace {

constexpr std::uint64_t kTurnsPerTick = 1U << 14;

struct RunOptions {
  std::string file;
  std::string seed;
  std::string json;
  std::string report;
  std::string trace;
  std::string matrix;
  std::vector<std::string> settings;
  bool no_invariants = false;
  bool no_series = false;
  bool quiet = false;
  bool print = false;
};

const char* word(sim::TraceEvent::What what) {
  switch (what) {
    case sim::TraceEvent::What::kSent:
      return "sent";
    case sim::TraceEvent::What::kDelivered:
      return "delivered";
    case sim::TraceEvent::What::kDropped:
      return "dropped";
  }
  return "?";
}

const char* word(wire::EndpointOp op) {
  return op == wire::EndpointOp::kEvProbe ? "ev probe" : "port status";
}

// One line a packet and event: time, what, QPs, what it is, EV and plane, and why it ended.
void write_trace(std::ostream& out, const sim::TraceEvent& e) {
  const bool data = e.token->is_data;
  const auto& c = e.token->control;
  fmt::print(out, "{} {} qp {} to {} plane {} ", e.at.ns, word(e.what), e.from_qp, e.to_qp, e.packet->plane);
  if (data) {
    const auto& d = e.token->data;
    fmt::print(out, "write psn {} bytes {} ev {}{}{}", d.psn.value(), d.payload_bytes, d.ev,
               d.rtx ? " rtx" : "", d.a ? " ackreq" : "");
  } else if (c.opcode == wire::Opcode::kSack) {
    fmt::print(out, "sack cack {} offset {} bitmap {:016x} m {}{}", c.sack.cack_psn.value(),
               c.sack.sack_offset, c.sack.sack_bitmap, static_cast<int>(c.sack.m), c.sack.pr ? " probe" : "");
  } else if (c.opcode == wire::Opcode::kNack) {
    fmt::print(out, "nack psn {} reason {:#04x}", c.nack.nack_psn.value(), static_cast<int>(c.nack.reason));
  } else if (c.opcode == wire::Opcode::kAck) {
    fmt::print(out, "ack psn {} syndrome {:#04x}", c.ack.psn.value(), c.ack.syndrome);
  } else if (c.opcode == wire::Opcode::kProbe) {
    fmt::print(out, "probe id {} ev {}", c.probe.probe_id, c.ev);
  } else if (c.opcode == wire::Opcode::kEndpointRequest) {
    fmt::print(out, "{} id {}", word(c.request.op), c.request.request_id);
  } else {
    fmt::print(out, "{} answer id {}", word(c.response.op), c.response.request_id);
  }
  fmt::print(out, "{}{}{}{}\n", e.packet->ce ? " ce" : "", e.packet->trimmed() ? " trimmed" : "",
             e.what == sim::TraceEvent::What::kDropped ? " because " : "",
             e.what == sim::TraceEvent::What::kDropped ? fabric::name(e.reason) : "");
}

std::string replay_command(const RunOptions& o, const sim::Scenario& scenario) {
  std::string command = fmt::format("mrc-sim run {} --seed {}", shell_quoted(o.file), scenario.seed);
  for (const std::string& s : o.settings) command += " --set " + shell_quoted(s);
  return command + " --trace trace.txt";
}

ExitCode usage(const std::string& message) {
  fmt::print(stderr, "mrc-sim run: {}\n", message);
  return ExitCode::kUsage;
}

ExitCode run(const RunOptions& o) {
  config::Settings settings;
  std::string bad;
  if (!split_settings(o.settings, settings, bad))
    return usage(fmt::format("--set '{}': it takes key=value, for example --set paths.evs=64", bad));
  if (!o.seed.empty()) settings.emplace_back("seed", o.seed);
  auto scenario = sim::load_scenario_file(o.file, settings);
  if (!scenario) return usage(scenario.error().message);
  if (o.print) {
    std::cout << sim::print_scenario(*scenario, true);
    return ExitCode::kPass;
  }
  auto world = sim::World::create(*scenario, {.check_invariants = !o.no_invariants});
  if (!world) return usage(o.file + ": " + world.error().message);
  if ((*world)->is_rc() && (!o.trace.empty() || !o.report.empty()))
    return usage("--trace and --report show MRC's packets and EVs; transport rc has --json and the table");
  std::ofstream trace;
  if (!o.trace.empty()) {
    trace.open(o.trace);
    if (!trace) return usage(fmt::format("--trace '{}': cannot be written", o.trace));
    (*world)->sim().on_trace([&](const sim::TraceEvent& e) { write_trace(trace, e); });
  }
  if (!o.matrix.empty()) {
    std::ostringstream text;
    sim::write_matrix(text, (*world)->matrix());
    if (auto ok = report::write_file_atomically(o.matrix, text.str()); !ok) return usage(ok.error().message);
  }
  std::optional<sim::Sampler> sampler;
  if (!o.report.empty()) sampler.emplace(**world);
  Progress progress(o.quiet);
  const auto total = static_cast<double>((*world)->total_bytes());
  (*world)->on_tick(kTurnsPerTick, [&](Time now) {
    const double by_bytes = static_cast<double>((*world)->placed_bytes()) / total;
    const double by_time = static_cast<double>(now.ns) / 1e3 / scenario->run.until_us;
    progress.show(std::max(by_bytes, by_time), fmt::format("{:.3f} ms", static_cast<double>(now.ns) / 1e6),
                  static_cast<double>((*world)->network().counters().hops) / 1e6, "M hops/s");
    return true;
  });
  const sim::RunEnd end = (*world)->run();
  const double seconds = progress.seconds();
  progress.end();
  sim::Outcome outcome = sim::collect(**world, end, o.file);
  for (const auto& [key, value] : settings)
    if (key != "seed") outcome.settings.emplace_back(key, value);
  std::cout << sim::to_table(outcome) << std::flush;
  if (!o.json.empty()) {
    if (auto ok = report::write_file_atomically(o.json, sim::to_json(outcome, true, !o.no_series)); !ok)
      return usage(ok.error().message);
  }
  if (sampler) {
    sampler->finish(end.at);
    if (auto ok = report::write_file_atomically(o.report, report::html::write(sampler->page(outcome))); !ok)
      return usage(ok.error().message);
  }
  if (!o.quiet) {
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    const double cpu =
        static_cast<double>(used.ru_utime.tv_sec) + static_cast<double>(used.ru_utime.tv_usec) / 1e6;
    fmt::print(
        stderr,
        "{} packet-hops in {:.2f} s ({:.2f} s of CPU): {:.2f} M hops per CPU second, {} MiB, invariants {}\n",
        outcome.hops, seconds, cpu, static_cast<double>(outcome.hops) / cpu / 1e6, used.ru_maxrss / 1024,
        o.no_invariants ? "off" : "on");
  }
  if (!end.violation.empty())
    fmt::print(stderr, "mrc-sim run: {}\n  once more, with a trace: {}\n", end.violation,
               replay_command(o, *scenario));
  return outcome.pass() ? ExitCode::kPass : ExitCode::kFailed;
}

}  // namespace

bool split_settings(const std::vector<std::string>& words, config::Settings& out, std::string& bad) {
  for (const std::string& w : words) {
    const auto at = w.find('=');
    if (at == std::string::npos || at == 0) {
      bad = w;
      return false;
    }
    out.emplace_back(w.substr(0, at), w.substr(at + 1));
  }
  return true;
}

std::string shell_quoted(const std::string& word) {
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("._-/=,:+@%").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (plain) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

void add_run_command(CLI::App& app, ExitCode& exit_code) {
  auto* command =
      app.add_subcommand("run", "One scenario in virtual time; the same seed gives the same bytes out");
  auto o = std::make_shared<RunOptions>();
  command->add_option("SCENARIO", o->file, "YAML file; config/sim has examples")->required();
  command->add_option("--seed", o->seed, "Instead of the scenario's");
  command->add_option("--set", o->settings, "key=value over the file, dotted: --set workload.bytes=8M");
  command->add_option("--json", o->json, "Write the result there");
  command->add_option("--report", o->report,
                      "Write a report there: one HTML file with plots, complete in itself");
  command->add_option("--trace", o->trace, "Write a line a packet and event there");
  command->add_option("--matrix", o->matrix, "Write who sends what to whom there, in htsim's .cm syntax");
  command->add_flag("--no-invariants", o->no_invariants, "Run without the checks, to see what they cost");
  command->add_flag("--no-series", o->no_series, "Leave the bytes over time out of the JSON");
  command->add_flag("-q,--quiet", o->quiet, "No progress and no speed on standard error");
  command->add_flag("--print", o->print,
                    "Print the scenario with every key, its value and its words, and end");
  command->callback([o, &exit_code] { exit_code = run(*o); });
}

}  // namespace mrc::simapp
