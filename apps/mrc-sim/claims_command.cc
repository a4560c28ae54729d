// SPDX-License-Identifier: BSD-3-Clause
#include "claims_command.h"

#include <fmt/format.h>

#include <memory>

#include "parallel.h"
#include "sim/claims.h"

namespace mrc::simapp {
namespace {

struct ClaimsOptions {
  std::string dir = "config/sim";
  unsigned seeds = 10;
  std::uint64_t first = 1;
  std::string only;
  unsigned threads = 0;
};

ExitCode run(const ClaimsOptions& o) {
  std::vector<sim::Claim> all = sim::claims();
  std::erase_if(all, [&](const sim::Claim& c) { return c.name.find(o.only) == std::string::npos; });
  if (all.empty() || o.seeds == 0) {
    fmt::print(stderr,
               "mrc-sim claims: no claim is left; --only takes a part of a name, --seeds 1 or more\n");
    return ExitCode::kUsage;
  }
  const std::size_t per_claim = std::size_t{o.seeds} * 2;
  std::vector<Result<double>> numbers(all.size() * per_claim, Result<double>(Error{"not run"}));
  run_parallel(numbers.size(), o.threads, false, [&](std::size_t i) {
    numbers[i] = sim::measure(all[i / per_claim], o.dir, i % 2 == 1, o.first + i % per_claim / 2);
  });
  fmt::print("{} seeds from {}\n{}", o.seeds, o.first, sim::claims_header());
  bool ok = true;
  for (std::size_t c = 0; c < all.size(); ++c) {
    sim::ClaimResult r;
    for (std::size_t i = 0; i < per_claim; ++i) {
      const Result<double>& n = numbers[c * per_claim + i];
      if (n)
        (i % 2 == 1 ? r.without : r.with).push_back(*n);
      else
        r.failures.push_back(n.error().message);
    }
    sim::judge(all[c], r);
    fmt::print("{}", sim::claim_line(all[c], r));
    ok = ok && r.failures.empty();
  }
  return ok ? ExitCode::kPass : ExitCode::kFailed;
}

}  // namespace

void add_claims_command(CLI::App& app, ExitCode& exit_code) {
  auto* command = app.add_subcommand(
      "claims",
      "What the field claims of MRC: each as a scenario, a limit, and a control with the feature off");
  auto o = std::make_shared<ClaimsOptions>();
  command->add_option("--dir", o->dir, "Where the scenarios are")->capture_default_str();
  command->add_option("--seeds", o->seeds, "Runs of each, with and without the feature")
      ->capture_default_str();
  command->add_option("--first", o->first, "First seed")->capture_default_str();
  command->add_option("--only", o->only, "Claims whose name contains this");
  command->add_option("--threads", o->threads, "0: one a core")->capture_default_str();
  command->callback([o, &exit_code] { exit_code = run(*o); });
}

}  // namespace mrc::simapp
