// SPDX-License-Identifier: BSD-3-Clause
#include "run_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>

#include "base/printable.h"
#include "base/program_name.h"
#include "base/shell_quoted.h"
#include "progress.h"
#include "report/atomic_file.h"
#include "sim/outcome.h"
#include "sim/outcome_page.h"
#include "sim/replay.h"
#include "sim/sampler.h"
#include "speed.h"

namespace mrc::simapp {
namespace {

constexpr std::uint64_t kTurnsPerTick = 1U << 14;

struct RunOptions {
  std::string file;
  std::string seed;
  std::string json;
  std::string report;
  std::string trace;
  std::string replay;
  std::string matrix;
  std::vector<std::string> settings;
  bool no_invariants = false;
  bool no_series = false;
  bool profile = false;
  bool quiet = false;
  bool print = false;
};

// How far back the trace of a violation goes.
constexpr std::int64_t kReplayBaseRtts = 10;
constexpr std::size_t kReplayLines = 30;  // on standard error

std::string replay_command(const RunOptions& o, const sim::Scenario& scenario) {
  std::string command =
      fmt::format("{} run {} --seed {}", program_name(), shell_quoted(o.file), scenario.seed);
  for (const std::string& s : o.settings) command += " --set " + shell_quoted(s);
  return command + " --replay FILE";
}

// The seed once more, with what happened around the violation: all of it into the file, else its last lines.
void show_violation(const RunOptions& o, const sim::Scenario& scenario, const sim::RunEnd& end) {
  fmt::print(stderr, "mrc-sim run: {}\n", end.violation);
  const auto lines = sim::replay(scenario, end, scenario.qp.policy.base_rtt * kReplayBaseRtts);
  if (!lines) {
    fmt::print(stderr, "mrc-sim run: no trace: {}\n", lines.error().message);
    return;
  }
  if (!o.replay.empty()) {
    const std::string text = fmt::format("{}\n", fmt::join(*lines, "\n"));
    if (auto ok = report::write_file_atomically(o.replay, text); !ok)
      fmt::print(stderr, "mrc-sim run: --replay: {}\n", ok.error().message);
    else
      fmt::print(stderr, "mrc-sim run: {} lines around it are in {}\n", lines->size(), o.replay);
    return;
  }
  const std::size_t shown = std::min(lines->size(), kReplayLines);
  fmt::print(stderr, "{}\n",
             fmt::join(lines->end() - static_cast<std::ptrdiff_t>(shown), lines->end(), "\n"));
  fmt::print(stderr, "mrc-sim run: the last {} of {} lines around it; all of them: {}\n", shown,
             lines->size(), replay_command(o, scenario));
}

ExitCode usage(const std::string& message) {
  fmt::print(stderr, "mrc-sim run: {}\n", printable_lines(message));
  return ExitCode::kUsage;
}

ExitCode run(const RunOptions& o) {
  config::Settings settings;
  std::string bad;
  if (!split_settings(o.settings, settings, bad))
    return usage(fmt::format("--set '{}': it takes key=value, for example --set paths.evs=64",
                             printable_excerpt(bad)));
  if (!o.seed.empty()) settings.emplace_back("seed", o.seed);
  auto scenario = sim::load_scenario_file(o.file, settings);
  if (!scenario) return usage(scenario.error().message);
  if (o.print) {
    std::cout << sim::print_scenario(*scenario, true);
    return ExitCode::kPass;
  }
  auto world = sim::World::create(*scenario, {.check_invariants = !o.no_invariants});
  if (!world) return usage(o.file + ": " + world.error().message);
  if ((*world)->is_rc() && !o.trace.empty())
    return usage("--trace shows MRC's packets; transport rc has --report, --json and the table");
  // Before the run: minutes of work are not to end in a file that cannot be written.
  for (const auto& [option, path] :
       {std::pair{"--json", &o.json}, {"--report", &o.report}, {"--replay", &o.replay}})
    if (auto ok = claim_result(option, *path); !ok) return usage(ok.error().message);
  std::ofstream trace;
  if (!o.trace.empty()) {
    trace.open(o.trace);
    if (!trace) return usage(fmt::format("--trace '{}': cannot be written", o.trace));
    (*world)->sim().on_trace([&](const sim::TraceEvent& e) { trace << sim::to_text(e) << '\n'; });
  }
  if (!o.matrix.empty()) {
    std::ostringstream text;
    sim::write_matrix(text, (*world)->matrix());
    if (auto ok = report::write_file_atomically(o.matrix, text.str()); !ok)
      return usage("--matrix " + ok.error().message);
  }
  std::optional<sim::Sampler> sampler;
  if (!o.report.empty() && !(*world)->is_rc()) sampler.emplace(**world);
  sim::Profile profile(profile_ticks);
  if (o.profile && !(*world)->is_rc()) (*world)->sim().set_profile(&profile);
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
  if (!o.trace.empty() && !trace.flush())
    return usage(fmt::format("--trace '{}': cannot be written: is the disk full?", o.trace));
  if (!o.json.empty()) {
    if (auto ok = report::write_file_atomically(o.json, sim::to_json(outcome, true, !o.no_series)); !ok)
      return usage("--json " + ok.error().message);
  }
  if (!o.report.empty()) {
    if (sampler) sampler->finish(end.at);
    const report::html::Page page = sampler ? sampler->page(outcome) : sim::series_page(outcome, *scenario);
    if (auto ok = report::write_file_atomically(o.report, report::html::write(page)); !ok)
      return usage("--report " + ok.error().message);
  }
  const Usage usage_now = usage_so_far();
  if (!o.quiet) std::cerr << speed_line(outcome.hops, seconds, usage_now, !o.no_invariants);
  if (o.profile && profile.total() != 0) std::cerr << profile_line(profile, usage_now.cpu_seconds);
  if (!end.violation.empty()) show_violation(o, *scenario, end);
  return outcome.pass() ? ExitCode::kPass : ExitCode::kFailed;
}

}  // namespace

Result<void> claim_result(const char* option, const std::string& path) {
  if (path.empty()) return {};
  if (auto ok = report::claim_result_file(path); !ok)
    return Error{fmt::format("{} {}", option, ok.error().message)};
  return {};
}

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
  command->add_option("--replay", o->replay,
                      "When an invariant breaks: write what happened around it there, from a second run");
  command->add_option("--matrix", o->matrix, "Write who sends what to whom there, in htsim's .cm syntax");
  command->add_flag("--no-invariants", o->no_invariants, "Run without the checks, to see what they cost");
  command->add_flag("--no-series", o->no_series, "Leave the bytes over time out of the JSON");
  command->add_flag("--profile", o->profile, "Say on standard error where the time went");
  command->add_flag("-q,--quiet", o->quiet, "No progress and no speed on standard error");
  command->add_flag("--print", o->print,
                    "Print the scenario with every key, its value and its words, and end");
  command->callback([o, &exit_code] { exit_code = run(*o); });
}

}  // namespace mrc::simapp
