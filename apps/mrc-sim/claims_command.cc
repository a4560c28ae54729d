// SPDX-License-Identifier: BSD-3-Clause
#include "claims_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "parallel.h"
#include "report/atomic_file.h"
#include "run_command.h"
#include "sim/claims_page.h"
#include "sim/scenario.h"

namespace mrc::simapp {
namespace {

struct ClaimsOptions {
  std::string dir = "config/sim";
  unsigned seeds = 10;
  std::uint64_t first = 1;
  std::vector<std::string> only;
  std::string report;
  unsigned threads = 0;
};

/// A run and where its number goes.
struct Job {
  sim::Claim claim;
  bool control = false;
  std::uint64_t seed = 0;
  std::vector<double>* numbers = nullptr;
  std::vector<std::string>* failures = nullptr;
  Result<double> number = Error{"not run"};
};

void add_jobs(const ClaimsOptions& o, sim::MeasuredClaims& m, std::vector<Job>& jobs) {
  const auto seeds = [&](const sim::Claim& claim, bool control, std::vector<double>& numbers,
                         std::vector<std::string>& failures) {
    for (unsigned i = 0; i < o.seeds; ++i) jobs.push_back({claim, control, o.first + i, &numbers, &failures});
  };
  for (auto& [claim, r] : m.claims) {
    seeds(claim, false, r.with, r.failures);
    seeds(claim, true, r.without, r.failures);
  }
  for (auto& [curve, r] : m.curves) {
    r.by_point.resize(curve.points.size());
    r.of_control.resize(curve.points.size());
    for (std::size_t i = 0; i < curve.points.size(); ++i) {
      seeds(curve.at(i), false, r.by_point[i], r.failures);
      seeds(curve.at(i), true, r.of_control[i], r.failures);
    }
  }
}

sim::MeasuredClaims chosen(const ClaimsOptions& o) {
  sim::MeasuredClaims m;
  m.seeds = o.seeds;
  m.first_seed = o.first;
  const auto wanted = [&](const std::string& name) {
    return o.only.empty() || std::any_of(o.only.begin(), o.only.end(), [&](const std::string& part) {
             return name.find(part) != std::string::npos;
           });
  };
  for (sim::Claim& c : sim::claims())
    if (wanted(c.name)) m.claims.emplace_back(std::move(c), sim::ClaimResult{});
  if (sim::ClaimCurve c = sim::active_set_curve(); wanted(c.name))
    m.curves.emplace_back(std::move(c), sim::CurveResult{});
  return m;
}

ExitCode usage(const std::string& message) {
  fmt::print(stderr, "mrc-sim claims: {}\n", message);
  return ExitCode::kUsage;
}

/// Every scenario is there and loads: told once, before anything runs.
Result<void> check_scenarios(const ClaimsOptions& o, const sim::MeasuredClaims& m) {
  std::vector<std::string> files;
  for (const auto& [claim, r] : m.claims) files.push_back(claim.file);
  for (const auto& [curve, r] : m.curves) files.push_back(curve.file);
  for (const std::string& file : files)
    if (auto scenario = sim::load_scenario_file(o.dir + "/" + file); !scenario)
      return Error{fmt::format("{}; --dir DIRECTORY names config/sim of softmrc's source (now: {})",
                               scenario.error().message, o.dir)};
  return {};
}

ExitCode run(const ClaimsOptions& o) {
  sim::MeasuredClaims m = chosen(o);
  if ((m.claims.empty() && m.curves.empty()) || o.seeds == 0)
    return usage("no claim is left; --only takes a part of a name, --seeds 1 or more");
  if (auto ok = check_scenarios(o, m); !ok) return usage(ok.error().message);
  if (auto ok = claim_result("--report", o.report); !ok) return usage(ok.error().message);
  std::vector<Job> jobs;
  add_jobs(o, m, jobs);
  run_parallel(jobs.size(), o.threads, false, [&](std::size_t i) {
    jobs[i].number = sim::measure(jobs[i].claim, o.dir, jobs[i].control, jobs[i].seed);
  });
  for (const Job& job : jobs) {
    if (job.number)
      job.numbers->push_back(*job.number);
    else
      job.failures->push_back(job.number.error().message);
  }
  fmt::print("{} seeds from {}\n{}", o.seeds, o.first, sim::claims_header());
  for (auto& [claim, r] : m.claims) {
    sim::judge(claim, r);
    fmt::print("{}", sim::claim_line(claim, r));
  }
  for (auto& [curve, r] : m.curves) {
    sim::judge(curve, r);
    fmt::print("{}", sim::curve_lines(curve, r));
  }
  if (!o.report.empty())
    if (auto ok = report::write_file_atomically(o.report, report::html::write(sim::claims_page(m))); !ok)
      return usage("--report " + ok.error().message);
  return m.hold() ? ExitCode::kPass : ExitCode::kFailed;
}

}  // namespace

void add_claims_command(CLI::App& app, ExitCode& exit_code) {
  auto* command = app.add_subcommand(
      "claims",
      "What the field claims of MRC: each as a scenario, a limit, and a control with the feature off");
  auto o = std::make_shared<ClaimsOptions>();
  command->add_option("--dir", o->dir, "Where the scenarios are")->capture_default_str();
  command->add_option("--seeds", o->seeds, "Runs of each, with and without the feature")
      ->check(CLI::Range(0U, kMaxSeeds))
      ->capture_default_str();
  command->add_option("--first", o->first, "First seed")->capture_default_str();
  command->add_option("--only", o->only, "Claims whose name contains this; more than once: any of these");
  command->add_option("--report", o->report,
                      "Write the table with plots there: one HTML file, complete in itself");
  command->add_option("--threads", o->threads, "0: one a core")
      ->check(CLI::Range(0U, kMaxThreads))
      ->capture_default_str();
  command->callback([o, &exit_code] { exit_code = run(*o); });
}

}  // namespace mrc::simapp
