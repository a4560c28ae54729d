// SPDX-License-Identifier: BSD-3-Clause
#include "sweep_command.h"

#include <fmt/format.h>

#include <memory>

#include "base/printable.h"
#include "base/program_name.h"
#include "base/shell_quoted.h"
#include "parallel.h"
#include "report/atomic_file.h"
#include "run_command.h"
#include "sim/outcome.h"
#include "sweep_table.h"

namespace mrc::simapp {
namespace {

constexpr std::size_t kMaxRuns = 1'000'000;

struct SweepOptions {
  std::string file;
  std::vector<std::string> grid;
  std::vector<std::string> settings;
  unsigned seeds = 10;
  std::uint64_t first = 1;
  unsigned threads = 0;
  std::string json;
  std::string prefix = "sweep-";
  std::vector<std::string> files;
  bool commands = false;
  bool quiet = false;
};

SweepRun run_one(const SweepOptions& o, const config::Settings& point, std::uint64_t seed) {
  config::Settings settings;
  std::string bad;
  (void)split_settings(o.settings, settings, bad);  // checked before
  settings.insert(settings.end(), point.begin(), point.end());
  settings.emplace_back("seed", std::to_string(seed));
  const auto failed = [&](const std::string& why) {
    SweepRun r;
    r.seed = seed;
    r.verdict = "FAIL: " + why;
    return r;
  };
  auto scenario = sim::load_scenario_file(o.file, settings);
  if (!scenario) return failed(scenario.error().message);
  auto world = sim::World::create(*scenario);
  if (!world) return failed(world.error().message);
  const sim::RunEnd end = (*world)->run();
  const auto run = sweep_run_of(sim::to_json(sim::collect(**world, end, o.file), false, false));
  return run ? *run : failed(run.error().message);
}

// Numbered, so that a shell's list of the files is in the order of the points.
void print_commands(const SweepOptions& o, const std::vector<config::Settings>& points) {
  std::size_t number = 0;
  for (const config::Settings& point : points) {
    for (unsigned i = 0; i < o.seeds; ++i) {
      std::string line =
          fmt::format("{} run -q {} --seed {}", program_name(), shell_quoted(o.file), o.first + i);
      for (const std::string& s : o.settings) line += " --set " + shell_quoted(s);
      for (const auto& [key, value] : point) line += " --set " + shell_quoted(key + "=" + value);
      fmt::print("{} --no-series --json {}\n", line,
                 shell_quoted(fmt::format("{}{:06}.json", o.prefix, number++)));
    }
  }
}

ExitCode usage(const std::string& message) {
  fmt::print(stderr, "mrc-sim sweep: {}\n", printable_lines(message));
  return ExitCode::kUsage;
}

ExitCode print_results(const SweepOptions& o, const std::vector<SweepPoint>& points) {
  fmt::print("{}", printable_lines(sweep_text(points)));
  if (!o.json.empty())
    if (auto written = report::write_file_atomically(o.json, sweep_json(points)); !written)
      return usage("--json " + written.error().message);
  return all_pass(points) ? ExitCode::kPass : ExitCode::kFailed;
}

ExitCode collect(const SweepOptions& o) {
  if (!o.file.empty() || !o.grid.empty() || !o.settings.empty() || o.commands)
    return usage(
        "--collect takes the files of runs alone; scenario, --grid, --set and --print-commands belong to "
        "runs");
  const auto points = collect_points(o.files);
  return points ? print_results(o, *points) : usage(points.error().message);
}

ExitCode run(const SweepOptions& o) {
  if (!o.files.empty()) return collect(o);
  if (o.file.empty()) return usage("which scenario? A YAML file, or --collect with the results of runs");
  config::Settings ignored;
  std::string bad;
  if (!split_settings(o.settings, ignored, bad))
    return usage(fmt::format("--set '{}': it takes key=value", printable_excerpt(bad)));
  auto points = expand_grid(o.grid);
  if (!points) return usage(points.error().message);
  if (o.seeds == 0 || points->size() > kMaxRuns / o.seeds)
    return usage(
        fmt::format("{} points x {} seeds; 1 to {} runs are possible", points->size(), o.seeds, kMaxRuns));
  // What is wrong with a point is told before anything runs.
  for (const config::Settings& point : *points) {
    config::Settings settings = ignored;
    settings.insert(settings.end(), point.begin(), point.end());
    if (auto s = sim::load_scenario_file(o.file, settings); !s) return usage(s.error().message);
  }
  if (o.commands) {
    print_commands(o, *points);
    return ExitCode::kPass;
  }
  if (auto ok = claim_result("--json", o.json); !ok) return usage(ok.error().message);
  std::vector<SweepPoint> table;
  for (const config::Settings& point : *points)
    table.push_back({o.file, point, std::vector<SweepRun>(o.seeds)});
  run_parallel(table.size() * o.seeds, o.threads, o.quiet, [&](std::size_t i) {
    table[i / o.seeds].runs[i % o.seeds] = run_one(o, (*points)[i / o.seeds], o.first + i % o.seeds);
  });
  return print_results(o, table);
}

}  // namespace

Result<std::vector<std::string>> split_values(std::string_view text) {
  std::vector<std::string> values(1);
  std::string open;  // brackets and quotes that wait for their end
  for (const char c : text) {
    const bool quoted = !open.empty() && (open.back() == '"' || open.back() == '\'');
    if (!open.empty() && c == open.back())
      open.pop_back();
    else if (!quoted && (c == '[' || c == '{'))
      open += c == '[' ? ']' : '}';
    else if (!quoted && (c == '"' || c == '\''))
      open += c;
    if (c == ',' && open.empty())
      values.emplace_back();
    else
      values.back() += c;
  }
  if (!open.empty())
    return Error{fmt::format("'{}' has no end: one {} is missing", printable_excerpt(text), open.back())};
  for (const std::string& v : values)
    if (v.empty()) return Error{"an empty value"};
  return values;
}

Result<std::vector<config::Settings>> expand_grid(const std::vector<std::string>& axes) {
  std::vector<std::vector<std::string>> values;
  std::size_t product = 1;  // known before any point is made
  for (const std::string& axis : axes) {
    const auto at = axis.find('=');
    if (at == std::string::npos || at == 0 || at + 1 == axis.size())
      return Error{fmt::format("--grid '{}': it takes key=value,value,...", printable_excerpt(axis))};
    auto split = split_values(std::string_view(axis).substr(at + 1));
    if (!split) return Error{fmt::format("--grid '{}': {}", printable_excerpt(axis), split.error().message)};
    if (product > kMaxRuns / split->size())
      return Error{fmt::format("--grid: more than {} points", kMaxRuns)};
    product *= split->size();
    values.push_back(std::move(*split));
  }
  std::vector<config::Settings> points(1);
  for (std::size_t a = 0; a < axes.size(); ++a) {
    std::vector<config::Settings> more;
    for (const config::Settings& point : points) {
      for (const std::string& value : values[a]) {
        more.push_back(point);
        more.back().emplace_back(axes[a].substr(0, axes[a].find('=')), value);
      }
    }
    points = std::move(more);
  }
  return points;
}

void add_sweep_command(CLI::App& app, ExitCode& exit_code) {
  auto* command =
      app.add_subcommand("sweep", "A grid of settings with several seeds each, over the local cores");
  auto o = std::make_shared<SweepOptions>();
  command->add_option("SCENARIO", o->file, "YAML file");
  command->add_option("--grid", o->grid,
                      "An axis: key=value,value,...; several make a grid. Commas within brackets or quotes "
                      "belong to a value");
  command->add_option("--set", o->settings, "key=value over the file, for all points");
  command->add_option("--seeds", o->seeds, "Runs a point")->capture_default_str();
  command->add_option("--first", o->first, "First seed")->capture_default_str();
  command->add_option("--threads", o->threads, "0: one a core")
      ->check(CLI::Range(0U, kMaxThreads))
      ->capture_default_str();
  command->add_option("--json", o->json, "Write every run's numbers there");
  command->add_flag("--print-commands", o->commands,
                    "Print one command a run, for any batch system, and end");
  command->add_option("--prefix", o->prefix, "--print-commands: begin of the names of the runs' result files")
      ->capture_default_str();
  command->add_option("--collect", o->files, "Instead of running: the table of these results of runs");
  command->add_flag("-q,--quiet", o->quiet, "No progress");
  command->callback([o, &exit_code] { exit_code = run(*o); });
}

}  // namespace mrc::simapp
