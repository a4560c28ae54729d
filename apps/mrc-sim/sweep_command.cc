// SPDX-License-Identifier: BSD-3-Clause
#include "sweep_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "parallel.h"
#include "report/atomic_file.h"
#include "run_command.h"
#include "sim/outcome.h"

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
  bool commands = false;
  bool quiet = false;
};

/// What of a run goes into the sweep's table.
struct Numbers {
  bool ok = false;
  std::string failure;
  double tail_us = 0, median_us = 0, round_p999_us = 0, goodput_gbps = 0;
  double rtx = 0, false_bad = 0, core_p99 = 0, repair_us = 0;
};

Numbers numbers_of(const sim::Outcome& o) {
  Numbers n;
  n.ok = o.pass();
  n.failure = o.verdict();
  n.tail_us = static_cast<double>(o.fct.max_ns) / 1e3;
  n.median_us = static_cast<double>(o.fct.median_ns) / 1e3;
  n.round_p999_us = static_cast<double>(o.rounds.p999_ns) / 1e3;
  n.goodput_gbps = o.goodput_bps / 1e9;
  n.rtx = static_cast<double>(o.count(o.packets, "rtx"));
  n.false_bad = static_cast<double>(o.count(o.evs, "false_assumed_bad"));
  for (const sim::QueueOutcome& q : o.queues)
    if (q.where != "host" && q.where != "last_hop")
      n.core_p99 = std::max(n.core_p99, static_cast<double>(q.p99_bytes));
  for (const sim::FaultOutcome& f : o.faults)
    n.repair_us = std::max(n.repair_us, static_cast<double>(f.last_repair_ns) / 1e3);
  return n;
}

Numbers run_one(const SweepOptions& o, const config::Settings& point, std::uint64_t seed) {
  config::Settings settings;
  std::string bad;
  (void)split_settings(o.settings, settings, bad);  // checked before
  settings.insert(settings.end(), point.begin(), point.end());
  settings.emplace_back("seed", std::to_string(seed));
  Numbers n;
  auto scenario = sim::load_scenario_file(o.file, settings);
  auto world =
      scenario ? sim::World::create(*scenario) : Result<std::unique_ptr<sim::World>>(scenario.error());
  if (!world) {
    n.failure = world.error().message;
    return n;
  }
  const sim::RunEnd end = (*world)->run();
  return numbers_of(sim::collect(**world, end, o.file));
}

std::string text_of(const config::Settings& point) {
  std::string out;
  for (const auto& [key, value] : point) out += (out.empty() ? "" : " ") + key + "=" + value;
  return out.empty() ? "as the file has it" : out;
}

double median_of(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  const std::size_t n = v.size();
  return n % 2 == 1 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

using Column = std::pair<const char*, double Numbers::*>;
constexpr Column kColumns[] = {{"tail_us", &Numbers::tail_us},
                               {"median_us", &Numbers::median_us},
                               {"round_p999_us", &Numbers::round_p999_us},
                               {"goodput_gbps", &Numbers::goodput_gbps},
                               {"rtx_pkts", &Numbers::rtx},
                               {"false_assumed_bad", &Numbers::false_bad},
                               {"core_queue_p99_bytes", &Numbers::core_p99},
                               {"last_repair_us", &Numbers::repair_us}};

void print_commands(const SweepOptions& o, const std::vector<config::Settings>& points) {
  for (const config::Settings& point : points) {
    for (unsigned i = 0; i < o.seeds; ++i) {
      std::string line = fmt::format("mrc-sim run -q {} --seed {}", shell_quoted(o.file), o.first + i);
      for (const std::string& s : o.settings) line += " --set " + shell_quoted(s);
      for (const auto& [key, value] : point) line += " --set " + shell_quoted(key + "=" + value);
      fmt::print("{}\n", line);
    }
  }
}

ExitCode usage(const std::string& message) {
  fmt::print(stderr, "mrc-sim sweep: {}\n", message);
  return ExitCode::kUsage;
}

ExitCode print_results(const SweepOptions& o, const std::vector<config::Settings>& points,
                       const std::vector<Numbers>& all) {
  nlohmann::ordered_json json;
  json["schema"] = "softmrc.sweep/1";
  json["scenario"] = o.file;
  json["seeds"] = {o.first, o.first + o.seeds - 1};
  json["points"] = nlohmann::ordered_json::array();
  fmt::print("{} seeds a point, medians\n{:<48}", o.seeds, "point");
  for (const Column& c : kColumns) fmt::print(" {:>20}", c.first);
  fmt::print("\n");
  bool ok = true;
  for (std::size_t p = 0; p < points.size(); ++p) {
    nlohmann::ordered_json point;
    point["settings"] = nlohmann::ordered_json::object();
    for (const auto& [key, value] : points[p]) point["settings"][key] = value;
    fmt::print("{:<48}", text_of(points[p]));
    for (const Column& c : kColumns) {
      std::vector<double> values;
      for (unsigned i = 0; i < o.seeds; ++i) values.push_back(all[p * o.seeds + i].*c.second);
      fmt::print(" {:>20.3f}", median_of(values));
      point[c.first] = values;
    }
    std::string failure;
    for (unsigned i = 0; i < o.seeds && failure.empty(); ++i)
      if (!all[p * o.seeds + i].ok)
        failure = fmt::format("  seed {}: {}", o.first + i, all[p * o.seeds + i].failure);
    fmt::print("{}\n", failure);
    ok = ok && failure.empty();
    json["points"].push_back(point);
  }
  if (!o.json.empty())
    if (auto written = report::write_file_atomically(o.json, json.dump(1) + "\n"); !written)
      return usage(written.error().message);
  return ok ? ExitCode::kPass : ExitCode::kFailed;
}

ExitCode run(const SweepOptions& o) {
  config::Settings ignored;
  std::string bad;
  if (!split_settings(o.settings, ignored, bad))
    return usage(fmt::format("--set '{}': it takes key=value", bad));
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
  std::vector<Numbers> all(points->size() * o.seeds);
  run_parallel(all.size(), o.threads, o.quiet,
               [&](std::size_t i) { all[i] = run_one(o, (*points)[i / o.seeds], o.first + i % o.seeds); });
  return print_results(o, *points, all);
}

}  // namespace

Result<std::vector<config::Settings>> expand_grid(const std::vector<std::string>& axes) {
  std::vector<config::Settings> points(1);
  for (const std::string& axis : axes) {
    const auto at = axis.find('=');
    if (at == std::string::npos || at == 0 || at + 1 == axis.size())
      return Error{fmt::format("--grid '{}': it takes key=value,value,...", axis)};
    std::vector<config::Settings> more;
    for (const config::Settings& point : points) {
      std::string values = axis.substr(at + 1) + ",";
      for (std::size_t comma = values.find(','); comma != std::string::npos; comma = values.find(',')) {
        if (comma == 0) return Error{fmt::format("--grid '{}': an empty value", axis)};
        more.push_back(point);
        more.back().emplace_back(axis.substr(0, at), values.substr(0, comma));
        values.erase(0, comma + 1);
      }
    }
    if (more.size() > kMaxRuns) return Error{fmt::format("--grid: more than {} points", kMaxRuns)};
    points = std::move(more);
  }
  return points;
}

void add_sweep_command(CLI::App& app, ExitCode& exit_code) {
  auto* command =
      app.add_subcommand("sweep", "A grid of settings with several seeds each, over the local cores");
  auto o = std::make_shared<SweepOptions>();
  command->add_option("SCENARIO", o->file, "YAML file")->required();
  command->add_option("--grid", o->grid, "An axis: key=value,value,...; several make a grid");
  command->add_option("--set", o->settings, "key=value over the file, for all points");
  command->add_option("--seeds", o->seeds, "Runs a point")->capture_default_str();
  command->add_option("--first", o->first, "First seed")->capture_default_str();
  command->add_option("--threads", o->threads, "0: one a core")->capture_default_str();
  command->add_option("--json", o->json, "Write every run's numbers there");
  command->add_flag("--print-commands", o->commands,
                    "Print one command a run, for any batch system, and end");
  command->add_flag("-q,--quiet", o->quiet, "No progress");
  command->callback([o, &exit_code] { exit_code = run(*o); });
}

}  // namespace mrc::simapp
