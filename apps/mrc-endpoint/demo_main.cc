// SPDX-License-Identifier: BSD-3-Clause
// `mrc-endpoint demo`: options, EAL, printing.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "demo.h"
#include "ethdev/eal.h"
#include "report/say.h"

namespace mrc::endpoint {

namespace {

double giga(double bps) {
  return bps * 1e-9;
}

ExitCode fail(const std::string& message, ExitCode code) {
  report::say(stderr, "mrc-endpoint demo: {}\n", message);
  return code;
}

/// Empty: written, or not asked for.
std::string write_json(const std::string& path, const DemoReport& r) {
  if (path.empty()) return {};
  if (path == "-") {
    report::say(stdout, "{}", to_json(r));
    return {};
  }
  std::ofstream out(path);
  out << to_json(r);
  out.close();
  return out ? std::string() : fmt::format("{}: cannot be written", path);
}

}  // namespace

std::string to_text(const DemoReport& r) {
  std::string out = fmt::format(
      "{} MiB as one QP over {} planes x {} paths of the virtual fabric, {} EVs, {:.0f} us each way, seed "
      "{}\n"
      "{:.2f} s on one core for both ends, the network and the check of every byte\n"
      "  goodput {:.2f} Gb/s, L2 (frames with FCS) {:.2f} Gb/s, L1 (with preamble and gap) {:.2f} Gb/s\n",
      r.bytes_verified >> 20, r.options.planes, r.options.paths, r.evs,
      static_cast<double>(r.options.delay.ns) * 1e-3, r.options.seed, r.seconds, giga(r.rates.goodput_bps),
      giga(r.rates.l2_bps), giga(r.rates.l1_bps));
  for (const DemoCheck& c : r.checks) {
    out += fmt::format("{} {}\n       {}\n", c.ok ? "[ ok ]" : "[MISS]", c.what, c.found);
  }
  out += r.pass() ? "demo: pass\n" : "demo: FAIL\n";
  return out;
}

std::string to_json(const DemoReport& r) {
  nlohmann::ordered_json j;
  j["schema"] = "softmrc.demo/1";
  j["pass"] = r.pass();
  j["seed"] = r.options.seed;
  j["seconds"] = r.seconds;
  j["bytes_verified"] = r.bytes_verified;
  j["goodput_bps"] = r.rates.goodput_bps;
  j["l2_bps"] = r.rates.l2_bps;
  j["l1_bps"] = r.rates.l1_bps;
  j["plane_data_pkts"] = r.plane_pkts;
  j["evs"] = {
      {"count", r.evs}, {"healthy", r.evs_healthy}, {"min_pkts", r.ev_min_pkts}, {"max_pkts", r.ev_max_pkts}};
  for (const auto& [cause, n] : r.rtx_by_cause) j["retransmissions"][cause] = n;
  j["spurious_pkts"] = r.spurious;
  const DeathStory& d = r.death;
  const auto since_death = [&](Time t) {
    return t.ns == 0 ? nlohmann::json() : nlohmann::json((t - d.down).ns);
  };
  j["path_death"] = {{"plane", r.dead_plane},
                     {"path", r.dead_path},
                     {"data_lost_pkts", d.data_lost},
                     {"detected_ns", since_death(d.detected)},
                     {"repaired_ns", since_death(d.repaired)},
                     {"up_ns", since_death(d.up)},
                     {"data_again_ns", since_death(d.data_again)},
                     {"base_rtt_ns", r.base_rtt.ns},
                     {"longest_absence_ns", r.longest_absence.ns}};
  for (const DemoCheck& c : r.checks)
    j["checks"].push_back({{"what", c.what}, {"found", c.found}, {"ok", c.ok}});
  return j.dump(2) + "\n";
}

ExitCode demo_main(const std::vector<std::string>& args) {
  DemoOptions o;
  double delay_us = static_cast<double>(o.delay.ns) * 1e-3;
  double loss_percent = 100 * o.loss;
  std::string json_path;
  CLI::App app{
      "Two endpoints in one process, one QP over all paths; one path dies and returns, another loses "
      "packets.",
      "mrc-endpoint demo"};
  app.add_option("--bytes", o.bytes, "bytes to move; 512MB, 2GiB ...")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(std::uint64_t{64} << 20, std::uint64_t{1} << 40))
      ->default_str("2GiB");
  app.add_option("--seed", o.seed, "all randomness")->capture_default_str();
  app.add_option("--planes", o.planes, "planes")->check(CLI::Range(1, 16))->capture_default_str();
  app.add_option("--paths", o.paths, "paths of each plane")->check(CLI::Range(2, 64))->capture_default_str();
  app.add_option("--delay-us", delay_us, "of each path, one way")
      ->check(CLI::Range(1.0, 1e5))
      ->capture_default_str();
  app.add_option("--loss-percent", loss_percent, "of one path")
      ->check(CLI::Range(0.0, 50.0))
      ->capture_default_str();
  app.add_option("--json", json_path, "write the result as JSON; - for standard output");
  try {
    std::vector<std::string> reversed(args.rbegin(), args.rend());
    app.parse(reversed);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? ExitCode::kPass : ExitCode::kUsage;
  }
  o.delay = nanoseconds(static_cast<std::int64_t>(delay_us * 1000));
  o.loss = loss_percent / 100;
  ethdev::EalConfig ec;
  ec.program = "mrc-endpoint";
  auto eal = ethdev::Eal::init(ec);
  if (!eal) return fail(eal.error().message, ExitCode::kUnsupported);
  auto r = run_demo(o);
  if (!r) return fail(r.error().message, ExitCode::kTransport);
  report::say(stdout, "{}", to_text(*r));
  if (const std::string e = write_json(json_path, *r); !e.empty()) return fail(e, ExitCode::kUsage);
  return r->pass() ? ExitCode::kPass : ExitCode::kTestFailed;
}

}  // namespace mrc::endpoint
