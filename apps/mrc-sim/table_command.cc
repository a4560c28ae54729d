// SPDX-License-Identifier: BSD-3-Clause
#include "table_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>

#include "base/program_name.h"
#include "parallel.h"
#include "sim/htsim_table.h"

namespace mrc::simapp {
namespace {

struct TableOptions {
  unsigned seeds = 10;
  std::uint64_t first = 1;
  bool large = false;
  std::string only;
  unsigned threads = 0;
  bool commands = false;
};

struct Job {
  std::size_t row;
  std::uint64_t seed;
};

// Runs are independent; results are put in order of seed, so that the table does not depend on the threads.
std::vector<sim::HtsimResult> run_all(const std::vector<sim::HtsimRow>& rows, const TableOptions& o) {
  std::vector<Job> jobs;
  for (std::size_t row = 0; row < rows.size(); ++row)
    for (unsigned i = 0; i < o.seeds; ++i) jobs.push_back({row, o.first + i});
  std::vector<Result<sim::Outcome>> outcomes(jobs.size(), Result<sim::Outcome>(Error{"not run"}));
  run_parallel(jobs.size(), o.threads, false,
               [&](std::size_t i) { outcomes[i] = sim::run_htsim(rows[jobs[i].row], jobs[i].seed); });
  std::vector<sim::HtsimResult> results(rows.size());
  for (std::size_t i = 0; i < jobs.size(); ++i) sim::add_run(results[jobs[i].row], outcomes[i]);
  for (std::size_t row = 0; row < rows.size(); ++row) sim::judge(rows[row], results[row]);
  return results;
}

bool print_pairs(const std::vector<sim::HtsimRow>& rows, const std::vector<sim::HtsimResult>& results) {
  bool ok = true;
  const auto find = [&](const std::string& name) -> const sim::HtsimResult* {
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (rows[i].name == name) return &results[i];
    return nullptr;
  };
  for (const sim::HtsimPair& p : sim::htsim_pairs()) {
    const sim::HtsimResult* better = find(p.better);
    const sim::HtsimResult* worse = find(p.worse);
    if (better == nullptr || worse == nullptr || better->tail_us.size() != worse->tail_us.size()) continue;
    double most = 0;
    for (std::size_t i = 0; i < better->tail_us.size(); ++i)
      most = std::max(most, better->tail_us[i] / worse->tail_us[i]);
    ok = ok && most <= p.ratio;
    fmt::print("{} / {}: at most {:.3f} in any matrix (limit {}){}\n", p.better, p.worse, most, p.ratio,
               most <= p.ratio ? "" : "  FAIL");
  }
  return ok;
}

ExitCode run(const TableOptions& o) {
  std::vector<sim::HtsimRow> rows = sim::htsim_rows();
  std::erase_if(rows, [&](const sim::HtsimRow& r) {
    return (r.large && !o.large) || (!o.only.empty() && r.name.find(o.only) == std::string::npos);
  });
  if (rows.empty() || o.seeds == 0) {
    fmt::print(stderr,
               "mrc-sim table: no row is left; --only takes a part of a row's name, --seeds 1 or more\n");
    return ExitCode::kUsage;
  }
  if (o.commands) {
    for (const sim::HtsimRow& row : rows)
      for (unsigned i = 0; i < o.seeds; ++i)
        fmt::print("{}\n", sim::command_of(program_name(), row, o.first + i));
    return ExitCode::kPass;
  }
  const std::vector<sim::HtsimResult> results = run_all(rows, o);
  fmt::print("{} matrices a row, seeds {} to {}; a limit in brackets is the median's\n{}", o.seeds, o.first,
             o.first + o.seeds - 1, sim::table_header());
  if (o.seeds < sim::kJudgedMatrices)
    fmt::print("not judged: medians and counts, which need {} matrices; what must hold in every matrix is\n",
               sim::kJudgedMatrices);
  bool ok = true;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    fmt::print("{}", sim::table_line(rows[i], results[i]));
    ok = ok && results[i].failures.empty();
  }
  ok = print_pairs(rows, results) && ok;
  return ok ? ExitCode::kPass : ExitCode::kFailed;
}

}  // namespace

void add_table_command(CLI::App& app, ExitCode& exit_code) {
  auto* command = app.add_subcommand(
      "table", "The preset htsim-compat beside the UEC simulator's published numbers, with limits");
  auto o = std::make_shared<TableOptions>();
  command
      ->add_option("--seeds", o->seeds,
                   fmt::format("Matrices a row; medians are judged from {} on", sim::kJudgedMatrices))
      ->check(CLI::Range(0U, kMaxSeeds))
      ->capture_default_str();
  command->add_option("--first", o->first, "First seed")->capture_default_str();
  command->add_flag("--large", o->large, "Also the 1024-host rows");
  command->add_option("--only", o->only, "Rows whose name contains this");
  command->add_option("--threads", o->threads, "0: one a core")
      ->check(CLI::Range(0U, kMaxThreads))
      ->capture_default_str();
  command->add_flag("--print-commands", o->commands, "Print the runs as commands instead");
  command->callback([o, &exit_code] { exit_code = run(*o); });
}

}  // namespace mrc::simapp
